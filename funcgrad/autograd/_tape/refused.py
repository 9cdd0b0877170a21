"""PyTorch's errors for operands that do not fit together, in place of NumPy's."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Shape = tuple[int, ...]
_NO_AXES = (
    "invalid index of a 0-dim tensor. Use `tensor.item()` in Python or `tensor.item<T>()` in C++ to convert a 0-dim "
    "tensor to a number"
)
NO_COPY = (
    "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment.  If you "
    "were attempting to deepcopy a module, this may be because of a torch.nn.utils.weight_norm usage, see "
    "https://github.com/pytorch/pytorch/pull/103001"
)


# Methods that look at axes and shapes before an operation is recorded.
TRANSLATED = frozenset(
    """
    unsqueeze permute expand view reshape cumsum cumprod softmax log_softmax max min median argmax argmin unbind roll
    flip masked_select movedim pow moveaxis swapaxes swapdims squeeze logsumexp sort argsort topk unfold diagonal
    broadcast_to repeat tile flatten unflatten select narrow cummax cummin logcumsumexp all any prod std var norm
    index_select take_along_dim tensor_split split chunk mode kthvalue quantile nanmedian nansum nanmean amax amin
    """.split()  # noqa: SIM905  (a table of words)
)


def pytorchs_error(error: Exception, operands: Sequence[Any]) -> Exception | None:
    """Return PyTorch's error for one of NumPy's about shapes or indices; ``None`` for all others."""
    for kind, pattern, text_of in _TRANSLATIONS:
        found = re.match(pattern, str(error)) if type(error) is kind else None
        if found:
            text = text_of(found, [getattr(x, "shape", ()) for x in operands])
            made = IndexError if isinstance(error, IndexError) else RuntimeError
            return None if text is None else made(text)
    return None


def in_pytorchs_words(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of tensors whose errors about shapes and axes are PyTorch's."""

    @functools.wraps(method)
    def method_in_words(self: Any, *args: Any, **options: Any) -> Any:
        try:
            return method(self, *args, **options)
        except (ValueError, IndexError) as error:
            theirs = pytorchs_error(error, (self, *args))
            if theirs is None:
                raise
            raise theirs from None

    return method_in_words


def out_of_range(dim: int, ndim: int) -> str:
    """Return PyTorch's message for an axis that a tensor does not have."""
    ndim = max(ndim, 1)
    return f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {dim})"


def _of_sizes(shapes: Sequence[Shape]) -> str | None:
    """Say which sizes of the first two shapes that do not broadcast differ, from the last axis on."""
    so_far: Shape = ()
    for shape in shapes:
        ndim = max(len(so_far), len(shape))
        for back in range(1, min(len(so_far), len(shape)) + 1):
            a, b = so_far[-back], shape[-back]
            if a != b and 1 not in (a, b):
                return (
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension "
                    f"{ndim - back}"
                )
        so_far = np.broadcast_shapes(so_far, shape)
    return None


def _of_matrices(a: Shape, b: Shape) -> str | None:
    """Say which sizes of a product of vectors, matrices or stacks of them differ."""
    if not a or not b:
        return None
    if len(a) == len(b) == 1:
        return (
            f"inconsistent tensor size, expected tensor [{a[0]}] and src [{b[0]}] to have the same number of elements, "
            f"but got {a[0]} and {b[0]} elements respectively"
        )
    if len(b) == 1 and len(a) == 2:
        return f"size mismatch, got input ({a[0]}), mat ({a[0]}x{a[1]}), vec ({b[0]})"
    if len(b) <= 2:
        # The axes in front of a stack's last one count as rows.
        second = "x".join(map(str, (*b, 1)[:2]))
        return f"mat1 and mat2 shapes cannot be multiplied ({math.prod(a[:-1])}x{a[-1]} and {second})"
    fronts = a[:-2], b[:-2]
    if (text := _of_sizes(fronts)) is not None:
        return text
    count = math.prod(np.broadcast_shapes(*fronts))
    wanted, got = f"[{count}, {a[-1]}]", f"[{count}, {b[-2]}]"
    return f"Expected size for first two dimensions of batch2 tensor to be: {wanted} but got: {got}."


def _of_mask(axis: int, shapes: Sequence[Shape]) -> str | None:
    """Say at which axis a mask, the first index of a tensor, has another length."""
    if len(shapes) < 2 or axis >= len(shapes[1]):
        return None
    return (
        f"The shape of the mask {list(shapes[1])} at index {axis} does not match the shape of the indexed tensor "
        f"{list(shapes[0])} at index {axis}"
    )


def _sizes(text: str) -> list[int]:
    return [int(n) for n in re.findall(r"[0-9]+", text)]


def _listed(text: str) -> str:
    return str(_sizes(text))


def _of_expansion(given: list[int], target: list[int]) -> str:
    """Say at which axis a value does not fit the elements that it is assigned to."""
    if len(given) > len(target):
        return (
            f"expand(torch.FloatTensor{{{given}}}, size={target}): the number of sizes provided ({len(target)}) must "
            f"be greater or equal to the number of dimensions in the tensor ({len(given)})"
        )
    padded = [1] * (len(target) - len(given)) + given
    axis = next(i for i, (n, m) in enumerate(zip(padded, target, strict=True)) if n not in (1, m))
    return (
        f"The expanded size of the tensor ({target[axis]}) must match the existing size ({padded[axis]}) at "
        f"non-singleton dimension {axis}.  Target sizes: {target}.  Tensor sizes: {given}"
    )


# The classes and texts of NumPy's errors. A function of the match and of the operands' shapes gives PyTorch's text.
_TRANSLATIONS: tuple[tuple[type, str, Callable[[re.Match[str], list[Shape]], str | None]], ...] = (
    (
        IndexError,
        r"index (-?\d+) is out of bounds for axis (\d+) with size (\d+)$",
        lambda m, _: f"index {m[1]} is out of bounds for dimension {m[2]} with size {m[3]}",
    ),
    (
        IndexError,
        r"too many indices for array: array is (\d+)-dimensional",
        lambda m, _: _NO_AXES if m[1] == "0" else f"too many indices for tensor of dimension {m[1]}",
    ),
    (
        IndexError,
        "only integers, slices",
        lambda *_: "only integers, slices (`:`), ellipsis (`...`), None and long or byte Variables are valid indices",
    ),
    (
        np.exceptions.AxisError,
        r"axis (-?\d+) is out of bounds for array of dimension (\d+)$",
        lambda m, _: out_of_range(int(m[1]), int(m[2])),
    ),
    (
        ValueError,
        r"cannot reshape array of size (\d+) into shape \((.*?),?\)$",
        lambda m, _: f"shape '[{m[2]}]' is invalid for input of size {m[1]}",
    ),
    (
        ValueError,
        "Integers to negative integer powers",
        lambda *_: "Integers to negative integer powers are not allowed.",
    ),
    (
        IndexError,
        "arrays used as indices must be of integer",
        lambda *_: "tensors used as indices must be long, int, byte or bool tensors",
    ),
    (
        IndexError,
        r"boolean index did not match indexed array along axis (\d+)",
        lambda m, shapes: _of_mask(int(m[1]), shapes),
    ),
    (
        IndexError,
        r"shape mismatch: indexing arrays could not be broadcast together with shapes (.*?) ?$",
        lambda m, _: (
            "shape mismatch: indexing tensors could not be broadcast together with shapes "
            + ", ".join(f"[{', '.join(re.findall(r'[0-9]+', shape))}]" for shape in m[1].split(") "))
        ),
    ),
    (
        ValueError,
        r"shape mismatch: value array of shape \((.*?)\) could not be broadcast to indexing result of shape \((.*?)\)$",
        lambda m, _: (
            f"shape mismatch: value tensor of shape {_listed(m[1])} cannot be broadcast to indexing result of shape "
            f"{_listed(m[2])}"
        ),
    ),
    (
        ValueError,
        r"could not broadcast input array from shape \((.*?),?\) into shape \((.*?),?\)$",
        lambda m, _: _of_expansion(_sizes(m[1]), _sizes(m[2])),
    ),
    (ValueError, "repeated axis in", lambda *_: "permute(): duplicate dims are not allowed."),
    (ValueError, "can only specify one unknown dimension", lambda *_: "only one dimension can be inferred"),
    (
        ValueError,
        r"diagonal: axis1 and axis2 are both (-?\d+)",
        lambda m, _: f"diagonal dimensions cannot be identical {m[1]}, {m[1]}",
    ),
    (ValueError, "operands could not be broadcast|shape mismatch: objects", lambda _, shapes: _of_sizes(shapes)),
    (
        ValueError,
        "matmul:|shapes .* not aligned|a contraction of",
        lambda _, shapes: _of_matrices(*shapes[:2]) if len(shapes) > 1 else None,
    ),
)
