"""In-place writes: noted when they happen, so that a pass refuses to read what was overwritten.

The tape keeps values and no copies of them. A write through a tensor or an optimizer therefore draws a serial number
from the counter that also numbers the nodes, and leaves it with the array that owns the memory. A node whose number is
greater than that of the last write was recorded after all of them, and needs one comparison; only for older ones does
a pass look at the values they keep. An array that nothing but its tensor refers to is in no graph, and its writes need
no note: so it is in an ordinary training loop, where the pass has freed the graph when the optimizer steps. Writes to
the memory by other ways (``tensor.numpy()[0] = 1``) go unnoticed, as in PyTorch.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from sys import getrefcount
from types import SimpleNamespace
from typing import Any

import numpy as np

from funcgrad._core.trace.tape import is_joint, kept_by, next_serial, parents_of
from funcgrad.autograd._base import LeafNode, TensorBase, TensorNode
from funcgrad.autograd._function import Function

# Of how many writes to an array the serial numbers are kept: they only serve the text of the error.
_REMEMBERED = 16

_TYPE_NAMES = {
    "float16": "HalfTensor",
    "bfloat16": "BFloat16Tensor",
    "float32": "FloatTensor",
    "float64": "DoubleTensor",
    "complex64": "ComplexFloatTensor",
    "complex128": "ComplexDoubleTensor",
    "uint8": "ByteTensor",
    "int8": "CharTensor",
    "int16": "ShortTensor",
    "int32": "IntTensor",
    "int64": "LongTensor",
    "bool": "BoolTensor",
}


class _Record:
    """The noted writes to one array: how many, and the serial numbers of the last."""

    __slots__ = ("array", "count", "serials")

    def __init__(self, array: Any, forget: Callable[[Any], Any]) -> None:
        self.array = weakref.ref(array, forget)
        self.count = 0
        self.serials: deque[int] = deque(maxlen=_REMEMBERED)


def _references(tensor: Any) -> int:
    """How many references to a value there are, as counted below."""
    value = tensor.value
    return getrefcount(value)


# The same for a value that nothing but its tensor refers to.
_ALONE = _references(SimpleNamespace(value=np.empty(0)))


class Writes:
    """The writes that were noted: what a pass asks before it reads what nodes keep."""

    __slots__ = ("_records", "last")

    def __init__(self) -> None:
        # The serial number of the last of them.
        self.last = 0
        # By the identity of the array that owns the memory.
        self._records: dict[int, _Record] = {}

    def __len__(self) -> int:
        """To how many arrays that are still there."""
        return len(self._records)

    def note(self, tensors: Iterable[TensorBase]) -> None:
        """Note that values are written to; or, of JAX's, that their memory is given away."""
        for tensor in tensors:
            value = tensor.value
            if getrefcount(value) > _ALONE or type(value) is not np.ndarray or value.base is not None:
                self._note(_owner(value))

    def _note(self, array: Any) -> None:
        self.last = serial = next_serial()
        record = self._records.get(id(array))
        if record is None:
            # An array that dies takes its record along, before another one can have its identity.
            record = self._records[id(array)] = _Record(array, partial(self._records.pop, id(array)))
        record.count += 1
        record.serials.append(serial)

    def check(self, node: Any) -> None:
        """Refuse a node that keeps a value which was written to after the node was recorded; in PyTorch's words."""
        # Of an operation as a whole, its operands are kept too, for who wants to record it anew.
        kept = kept_by(node)[:2] if is_joint(node) else kept_by(node)
        for value in _arrays(kept):
            record = self._records.get(id(_owner(value)))
            if record is not None and record.serials[-1] > node[0]:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: "
                    f"[{_TYPE_NAMES.get(value.dtype.name, value.dtype.name)} {list(value.shape)}]"
                    f"{_origin(node, value)} is at version {record.count}; expected {_expected(record, node[0])} "
                    "instead. Hint: compute a new value (x = x + y), write to a copy (x.clone()), or write after the "
                    "last backward."
                )


def _owner(array: Any) -> Any:
    """The array that owns the memory of a view; an array of JAX is none."""
    if isinstance(array, np.ndarray):
        while isinstance(array.base, np.ndarray):
            array = array.base
    return array


def _arrays(kept: Any) -> Iterator[Any]:
    """The arrays, and what is none, among kept values, which may be nested."""
    if isinstance(kept, tuple | list):
        for one in kept:
            yield from _arrays(one)
    else:
        yield kept


def _origin(node: Any, value: np.ndarray) -> str:
    """Which operation gave the value, where it was no leaf."""
    for source in (node, *parents_of(node)):
        if isinstance(source, TensorNode) and source.value_id == id(value) and not isinstance(source, LeafNode):
            return f", which is output 0 of {Function(source).name().removesuffix('Backward0')},"
    return ""


def _expected(record: _Record, serial: int) -> str:
    newer = sum(written > serial for written in record.serials)
    return f"version {record.count - newer}" if newer < _REMEMBERED else "an earlier version"


WRITES = Writes()
