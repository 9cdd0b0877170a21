"""Diagonals of the last two axes: extract one, or put one into zeros. Each is the transpose of the other."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.forms import Basic, Forms
from funcgrad._core.primitive import Primitive, View, ViewPrimitive
from funcgrad._core.trace.derivative import Multilinear
from funcgrad._ops.layout.batching import batch_same
from funcgrad._ops.layout.depends import moved
from funcgrad._types import Array, Lax, Value


def diagonal_length(rows: int, columns: int, offset: int) -> int:
    """Return the length of the diagonal that starts at column ``offset`` (at row ``-offset`` if it is negative)."""
    return max(min(rows, columns - offset) if offset >= 0 else min(rows + offset, columns), 0)


def flat_range(rows: int, columns: int, offset: int) -> tuple[int, int]:
    """Return the start and end of the diagonal in the flattened matrix. Its step there is ``columns + 1``."""
    count = diagonal_length(rows, columns, offset)
    start = offset if offset >= 0 else -offset * columns
    return (start, start + (count - 1) * (columns + 1) + 1) if count else (0, 0)


def _diagonal_aval(x: Aval, *, offset: int) -> Aval:
    *stack, rows, columns = x.shape
    return Aval((*stack, diagonal_length(rows, columns, offset)), x.dtype)


def _diagonal_xla(lax: Lax, x: Array, *, offset: int) -> Array:
    *stack, rows, columns = x.shape
    start, stop = flat_range(rows, columns, offset)
    flat = lax.reshape(x, (*stack, rows * columns))
    return lax.slice_in_dim(flat, start, stop, columns + 1, axis=len(stack))


def _diagonal_transpose(y_bar: Value, x_aval: Aval, offset: int) -> Value:
    *_, rows, columns = x_aval.shape
    return embed_diagonal(y_bar, (rows, columns), offset)


def _diagonal_numpy(x: np.ndarray, *, offset: int) -> np.ndarray:
    return x.diagonal(offset, -2, -1)


def _writable_numpy(x: np.ndarray, *, offset: int) -> np.ndarray:
    y = x.diagonal(offset, -2, -1)
    y.flags.writeable = x.flags.writeable
    return y


def _diagonal(numpy: Callable[..., np.ndarray]) -> ViewPrimitive:
    return ViewPrimitive(
        "diagonal",
        operands=("x",),
        numpy=numpy,
        xla=_diagonal_xla,
        aval=_diagonal_aval,
        derivative=Multilinear(("x",), [_diagonal_transpose]),
        batch=batch_same,
        cost=lambda y, x, **_: 0,
        view=View(None),
        forms=Forms(basic=Basic.DIAGONAL, depends=moved),
    )


# The same operation twice: the result of `numpy.diagonal` is read-only, while those of `numpy.einsum` and of PyTorch's
# method are writeable (``index/scatter.py`` says how).
writable_diagonal_p = _diagonal(_writable_numpy)
diagonal_p = _diagonal(_diagonal_numpy)


def diagonal(x: Value, offset: int = 0) -> Value:
    """Return the diagonal of the last two axes, as one last axis."""
    return diagonal_p(x, offset=offset)


def writable_diagonal(x: Value, offset: int = 0) -> Value:
    """Return the same diagonal as a writeable view."""
    return writable_diagonal_p(x, offset=offset)


def _embed_numpy(x: Array, *, matrix: tuple[int, int], offset: int) -> np.ndarray:
    y = np.zeros((*x.shape[:-1], *matrix), x.dtype)
    start, stop = flat_range(*matrix, offset)
    y.reshape((*x.shape[:-1], matrix[0] * matrix[1]))[..., start : stop : matrix[1] + 1] = x
    return y


def _embed_xla(lax: Lax, x: Array, *, matrix: tuple[int, int], offset: int) -> Array:
    start, stop = flat_range(*matrix, offset)
    size = matrix[0] * matrix[1]
    widths = [(0, 0, 0)] * (x.ndim - 1) + [(start, size - stop, matrix[1])]
    return lax.reshape(lax.pad(x, np.zeros((), x.dtype), widths), (*x.shape[:-1], *matrix))


embed_diagonal_p = Primitive(
    "embed_diagonal",
    operands=("x",),
    numpy=_embed_numpy,
    xla=_embed_xla,
    aval=lambda x, *, matrix, offset: Aval((*x.shape[:-1], *matrix), x.dtype),
    derivative=Multilinear(("x",), [lambda y_bar, offset: diagonal(y_bar, offset)]),
    batch=batch_same,
    cost=lambda y, x, **_: 0,
    forms=Forms(basic=Basic.EMBED_DIAGONAL, new_memory=True, depends=moved),
)


def embed_diagonal(x: Value, matrix: tuple[int, int], offset: int = 0) -> Value:
    """Return zeros of shape ``(..., *matrix)`` with the last axis of ``x`` on a diagonal."""
    return embed_diagonal_p(x, matrix=matrix, offset=offset)
