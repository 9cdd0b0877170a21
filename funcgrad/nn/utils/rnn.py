"""Sequences of different lengths: padded, packed, and back, as ``torch.nn.utils.rnn`` does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._public import publish
from funcgrad._types import Array
from funcgrad.autograd import tensor
from funcgrad.numpy.extend import known_value

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class PackedSequence(NamedTuple):
    """Sequences without padding: the elements of all at step 0, then those at step 1, and so on.

    Args:
        data: ``f32[elements, ...]``.
        batch_sizes: ``i64[steps]``: the number of sequences that reach each step.
        sorted_indices: ``i64[batch]``: the sequences, longest first; ``None`` if they were sorted.
        unsorted_indices: ``i64[batch]``: the inverse permutation.
    """

    data: Any
    batch_sizes: Any
    sorted_indices: Any = None
    unsorted_indices: Any = None

    is_cuda = property(lambda self: self.data.is_cuda, doc="Whether the elements are on a GPU of PyTorch's.")

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """Return the sequences with elements of another dtype; the arguments are those of ``Tensor.to``."""
        return self._replace(data=self.data.to(*args, **kwargs))

    def double(self) -> PackedSequence:
        """Return the sequences with elements of float64."""
        return self.to(np.float64)

    def float(self) -> PackedSequence:
        """Return the sequences with elements of float32."""
        return self.to(np.float32)

    def half(self) -> PackedSequence:
        """Return the sequences with elements of float16."""
        return self.to(np.float16)

    def long(self) -> PackedSequence:
        """Return the sequences with elements of int64."""
        return self.to(np.int64)

    def int(self) -> PackedSequence:
        """Return the sequences with elements of int32."""
        return self.to(np.int32)

    def cpu(self) -> PackedSequence:
        """Return the sequences, whose elements are on the CPU if they are NumPy's."""
        return self.to("cpu")

    def pin_memory(self) -> PackedSequence:
        """Return the sequences: there is no memory to pin."""
        return self

    def is_pinned(self) -> bool:
        """Return ``False``."""
        return False


def known_integers(name: str, argument: str, x: Array) -> np.ndarray:
    """Return integers that make shapes; refuse traced ones."""
    value = known_value(x) if hasattr(x, "dtype") else np.asarray(x)
    if value is None:
        raise TypeError(f"{name}: {argument} is traced; needed known integers, which make shapes. Close over them.")
    return value.astype(np.int64)


def _integers(values: Array) -> Array:
    return tensor(np.asarray(values, np.int64))


def invert_permutation(permutation: Array) -> Any:
    """Return the inverse of a permutation; ``None`` for ``None``.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn.utils.rnn import invert_permutation
        >>> invert_permutation(tensor([2, 0, 1]))
        tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    return _integers(np.argsort(known_integers("invert_permutation", "permutation", permutation)))


def pack_padded_sequence(
    input: Array, lengths: Array, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack padded sequences.

    Args:
        input: ``f32[steps, batch, ...]``, or ``f32[batch, steps, ...]``.
        lengths: the length of each sequence.
        batch_first: whether the batch is the first axis.
        enforce_sorted: refuse sequences that are not sorted by length, longest first.

    Returns:
        The packed sequences.

    Raises:
        RuntimeError: the lengths do not fit; the texts are PyTorch's.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn.utils.rnn import pack_padded_sequence
        >>> pack_padded_sequence(tensor([[1, 2], [3, 0]]), [2, 1], batch_first=True).data
        tensor([1, 3, 2])

    Source: ``torch.nn.utils.rnn.pack_padded_sequence``.
    """
    sizes = known_integers("pack_padded_sequence", "lengths", lengths)
    x = fnp.swapaxes(input, 0, 1) if batch_first else input
    order = None
    if not enforce_sorted:
        order = np.argsort(-sizes, kind="stable")
        sizes, x = sizes[order], fnp.take(x, order, axis=1)
    elif (np.diff(sizes) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass "
            "`enforce_sorted=False` to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you "
            "do not need ONNX exportability."
        )
    if len(sizes) != x.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(sizes)} (batch_size={x.shape[1]})"
        )
    if len(sizes) and sizes[-1] <= 0:
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if len(sizes) and sizes[0] > x.shape[0]:
        raise RuntimeError(f"Expected `lengths` to be at most the number of steps {x.shape[0]}, but got {sizes[0]}")
    batch_sizes = (sizes[None, :] > np.arange(sizes[0])[:, None]).sum(axis=1)
    steps = np.repeat(np.arange(sizes[0]), batch_sizes)
    rows = np.concatenate([np.arange(n) for n in batch_sizes])
    sort = None if order is None else _integers(order)
    return PackedSequence(x[steps, rows], _integers(batch_sizes), sort, invert_permutation(sort))


def lengths_of(batch_sizes: Array) -> np.ndarray:
    """Return the lengths of the sequences that reach each step in these numbers, longest first."""
    counts = known_integers("pad_packed_sequence", "batch_sizes", batch_sizes)
    return (counts[None, :] > np.arange(counts[0])[:, None]).sum(axis=1)


def padded(data: Any, batch_sizes: Array, padding_value: float = 0.0, total_length: int | None = None) -> Array:
    """Return packed elements as ``f32[steps, batch, ...]``, in the order in which they are packed."""
    counts = known_integers("pad_packed_sequence", "batch_sizes", batch_sizes)
    steps, batch = len(counts), int(counts[0])
    total = steps if total_length is None else total_length
    if total < steps:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total} and max sequence length being {steps}"
        )
    starts = np.concatenate([[0], np.cumsum(counts)[:-1]])
    places = np.zeros((total, batch), np.int64)
    present = np.zeros((total, batch), bool)
    places[:steps] = np.minimum(starts[:, None] + np.arange(batch), len(data) - 1)
    present[:steps] = np.arange(batch) < counts[:, None]
    kept = present.reshape(present.shape + (1,) * (len(data.shape) - 1))
    value = np.asarray(padding_value, data.dtype)
    return fnp.where(kept, fnp.take(data, places, axis=0), value)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Any, Any]:
    """Return packed sequences as an array with padding, and their lengths.

    Args:
        sequence: the packed sequences.
        batch_first: whether the batch becomes the first axis.
        padding_value: the number after the end of a sequence.
        total_length: the number of steps; that of the longest sequence by default.

    Returns:
        ``f32[steps, batch, ...]`` and ``i64[batch]``.

    Raises:
        ValueError: ``total_length`` is less than the longest sequence.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn.utils.rnn import pack_sequence, pad_packed_sequence
        >>> pad_packed_sequence(pack_sequence([tensor([1, 2]), tensor([3])]), batch_first=True)
        (tensor([[1, 2],
                [3, 0]]), tensor([2, 1]))

    Source: ``torch.nn.utils.rnn.pad_packed_sequence``.
    """
    x = padded(sequence.data, sequence.batch_sizes, padding_value, total_length)
    sizes = lengths_of(sequence.batch_sizes)
    if sequence.unsorted_indices is not None:
        order = known_integers("pad_packed_sequence", "unsorted_indices", sequence.unsorted_indices)
        x, sizes = fnp.take(x, order, axis=1), sizes[order]
    return (fnp.swapaxes(x, 0, 1) if batch_first else x), _integers(sizes)


def pad_sequence(
    sequences: Any, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Array:
    """Stack sequences of different lengths, with padding at their ends.

    Args:
        sequences: arrays ``f32[steps, ...]``.
        batch_first: whether the batch becomes the first axis.
        padding_value: the number after the end of a shorter sequence.
        padding_side: ``"right"`` or ``"left"``.

    Returns:
        ``f32[steps, batch, ...]``.

    Raises:
        RuntimeError: the axes after the first differ.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn.utils.rnn import pad_sequence
        >>> pad_sequence([tensor([1, 2]), tensor([3])], batch_first=True)
        tensor([[1, 2],
                [3, 0]])

    Source: ``torch.nn.utils.rnn.pad_sequence``.
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    listed = list(sequences)
    if not listed:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    steps = max(x.shape[0] for x in listed)
    rows = []
    for x in listed:
        if x.shape[1:] != listed[0].shape[1:]:
            first, other = listed[0].shape, x.shape
            axis = next((k for k in range(1, len(other)) if k < len(first) and other[k] != first[k]), len(first))
            sizes = [shape[axis] if axis < len(shape) else 1 for shape in (first, other)]
            raise RuntimeError(
                f"The size of tensor a ({sizes[0]}) must match the size of tensor b ({sizes[1]}) at non-singleton "
                f"dimension {axis}"
            )
        gap = (0, steps - x.shape[0]) if padding_side == "right" else (steps - x.shape[0], 0)
        widths = [gap, *[(0, 0)] * (len(x.shape) - 1)]
        rows.append(fnp.pad(x, widths, constant_values=np.asarray(padding_value, x.dtype)))
    return fnp.stack(rows, axis=0 if batch_first else 1)


def unpad_sequence(padded_sequences: Any, lengths: Array, batch_first: bool = False) -> list[Any]:
    """Return the sequences of a padded array.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn.utils.rnn import unpad_sequence
        >>> unpad_sequence(tensor([[1, 2], [3, 0]]), [2, 1], batch_first=True)
        [tensor([1, 2]), tensor([3])]
    """
    x = padded_sequences if batch_first else fnp.swapaxes(padded_sequences, 0, 1)
    return [x[i, : int(n)] for i, n in enumerate(known_integers("unpad_sequence", "lengths", lengths))]


def pack_sequence(sequences: Any, enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences of different lengths.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn.utils.rnn import pack_sequence
        >>> pack_sequence([tensor([1, 2]), tensor([3])]).batch_sizes
        tensor([2, 1])
    """
    listed = list(sequences)
    return pack_padded_sequence(pad_sequence(listed), [x.shape[0] for x in listed], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Any]:
    """Return the sequences of a pack.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn.utils.rnn import pack_sequence, unpack_sequence
        >>> unpack_sequence(pack_sequence([tensor([1, 2]), tensor([3])]))
        [tensor([1, 2]), tensor([3])]
    """
    x, sizes = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(x, sizes, batch_first=True)


__dir__ = publish(__name__)
