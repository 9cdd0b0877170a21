"""``reduce``, ``accumulate`` and ``reduceat`` of ufuncs without their own reduction: one step after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._ops.elementwise.arithmetic import ne_p
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.index.gather import index
from funcgrad._ops.index.join import concatenate, stack
from funcgrad._ops.index.plan import FULL
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.layout.copy import copy
from funcgrad._ops.layout.shape import expand_dims
from funcgrad._ops.reduce.sort import INDEX_DTYPE, scatter_along_axis
from funcgrad._types import Array, ArrayLike, DTypeLike
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy._base.axes import ALL_AXES, Axis, normalize_axes, normalize_axis
from funcgrad.numpy._base.concrete import concrete_value
from funcgrad.numpy._base.convert import as_value, operands_for
from funcgrad.numpy._base.dispatch import in_numpys_mode, ufunc_methods, ufuncs
from funcgrad.numpy._base.out import takes_out
from funcgrad.numpy._reduce.reductions import as_array, summand

# For these the two halves can be folded separately: log2(n) steps instead of n.
_ASSOCIATIVE = frozenset(
    {np.fmax, np.fmin, np.hypot, np.logaddexp2, np.bitwise_and, np.bitwise_or, np.bitwise_xor, np.logical_xor}
)
# NumPy refuses several axes for the other ufuncs, because the order would matter.
_REORDERABLE = _ASSOCIATIVE - {np.hypot}
# On some processors NumPy's own loops (2.4) give other results than one step after the other.
_UNSPECIFIED = frozenset({np.power, np.float_power, np.arctan2})


def fold(ufunc: np.ufunc, method: str) -> Callable[..., Any] | None:
    """Return our function for a method of a ufunc of two operands; ``None`` if there is none."""
    if ufunc not in ufuncs or ufunc.nin != 2 or ufunc.nout != 1 or ufunc.signature:
        return None
    function = _METHODS.get(method)
    if function is None:
        return None

    def method_of_ufunc(array: ArrayLike, *args: Any, **options: Any) -> Any:
        return function(ufunc, array, *args, **options)

    return method_of_ufunc


def _operand(ufunc: np.ufunc, array: ArrayLike, dtype: DTypeLike) -> Any:
    """Return the array in the ufunc's dtype of computation, which is the dtype of its results."""
    x = as_array(array)
    if dtype is not None:
        x = cast(x, np.dtype(dtype))
    if ufunc.__name__.startswith("logical"):
        return x if x.dtype.kind == "b" else bind(ne_p, (x, 0), NO_PARAMS)
    if np.dtype(bool) == ufunc.resolve_dtypes((x.dtype, x.dtype, None))[2] != x.dtype:
        raise UnsupportedFunctionError(
            f"numpy.{ufunc.__name__}: its reduction of a traced array {aval_of(x)} would compare results with elements."
            " Write the comparisons that are meant, and np.all or np.any of them."
        )
    return operands_for(ufunc, (x, x))[0]


def _at(x: ArrayLike, axis: int, i: Any) -> Any:
    return index(x, (*(FULL,) * axis, i))


@in_numpys_mode
@takes_out
def _reduce(  # noqa: PLR0917  (NumPy's arguments)
    ufunc: np.ufunc,
    array: ArrayLike,
    axis: Axis = 0,
    dtype: DTypeLike = None,
    out: Array = None,
    keepdims: bool = False,
    initial: ArrayLike = None,
    where: ArrayLike = True,
) -> Any:
    if where is not True:
        raise UnsupportedFunctionError(
            f"numpy.{ufunc.__name__}.reduce: the option where is not supported on traced arrays. Choose with np.where "
            "what leaves the result as it is."
        )
    if ufunc in _UNSPECIFIED:
        raise UnsupportedFunctionError(
            f"numpy.{ufunc.__name__}.reduce: NumPy's own result depends on the processor. Take the last of "
            f"numpy.{ufunc.__name__}.accumulate, which goes from first to last."
        )
    x = _operand(ufunc, array, dtype)
    axes = normalize_axes(axis, len(x.shape)) if x.shape else ()
    if len(axes) > 1 and ufunc not in _REORDERABLE:
        raise ValueError(
            f"reduction operation '{ufunc.__name__}' is not reorderable, so at most one axis may be specified: there "
            f"are {len(axes)} of {aval_of(x)}. Reduce them one after the other."
        )
    y = x
    for i in reversed(axes):
        one = y.shape[i] == 1
        y = _folded(ufunc, y, i)
        if one and ufunc.identity is not None:
            # NumPy starts from this value, which matters for a single negative number in hypot.
            y = ufuncs[ufunc](np.asarray(ufunc.identity).astype(x.dtype), y)
    if initial is not None:
        y = ufuncs[ufunc](as_value(initial), y)
    elif all(x.shape[i] == 1 for i in axes) and (ufunc.identity is None or not axes):
        # There was no step to compute. NumPy returns a new array here.
        y = copy(y)
    if not keepdims:
        return y
    return expand_dims(y, tuple([i for i in ALL_AXES[len(x.shape)] if i in axes]))


def _folded(ufunc: np.ufunc, x: ArrayLike, axis: int) -> Any:
    f, n = ufuncs[ufunc], x.shape[axis]
    if not n:
        if ufunc.identity is None:
            _refuse_empty(ufunc, x)
        shape = (*x.shape[:axis], *x.shape[axis + 1 :])
        return broadcast_to(np.asarray(ufunc.identity).astype(x.dtype), shape)
    if ufunc in _ASSOCIATIVE:
        while n > 1:
            half = n // 2
            pairs = f(_at(x, axis, slice(0, half)), _at(x, axis, slice(half, 2 * half)))
            x = concatenate([pairs, _at(x, axis, slice(2 * half, n))], axis) if n % 2 else pairs
            n = half + n % 2
        return _at(x, axis, 0)
    y = _at(x, axis, 0)
    for i in range(1, n):
        y = f(y, _at(x, axis, i))
    return y


def _refuse_empty(ufunc: np.ufunc, x: ArrayLike) -> NoReturn:
    raise ValueError(
        f"zero-size array to reduction operation {ufunc.__name__} which has no identity: the array is {aval_of(x)}. "
        "Leave out what is empty."
    )


@in_numpys_mode
@takes_out
def _accumulate(ufunc: np.ufunc, array: ArrayLike, axis: int = 0, dtype: DTypeLike = None, out: Array = None) -> Any:
    x = _operand(ufunc, array, dtype)
    axis = normalize_axis(axis, len(x.shape))
    if not x.shape[axis]:
        return x
    results = [_at(x, axis, 0)]
    for i in range(1, x.shape[axis]):
        results.append(ufuncs[ufunc](results[-1], _at(x, axis, i)))
    return stack(results, axis)


@in_numpys_mode
@takes_out
def _reduceat(
    ufunc: np.ufunc,
    array: ArrayLike,
    indices: ArrayLike,
    axis: int | None = 0,
    dtype: DTypeLike = None,
    out: Array = None,
) -> Any:
    x = as_array(array)
    # For the only axis, NumPy accepts None.
    axis = normalize_axis(0 if axis is None and len(x.shape) == 1 else axis, len(x.shape))
    n = x.shape[axis]
    starts = np.asarray(concrete_value(as_value(indices), f"numpy.{ufunc.__name__}.reduceat"), INDEX_DTYPE)
    if starts.ndim != 1 or np.any(starts < 0) or np.any(starts >= n):
        raise IndexError(
            f"{ufunc.__name__}.reduceat: the indices are {starts.tolist()}, of which some are out-of-bounds [0, {n}); "
            f"needed a list of places along axis {axis}. Leave out those at the end."
        )
    ends = np.append(starts[1:], [n] * min(len(starts), 1)).astype(INDEX_DTYPE)
    if ufunc is np.add and len(starts) and np.all(starts < ends):
        return _sums(summand(x, dtype), axis, starts, ends)
    reduce = ufunc_methods.get((ufunc, "reduce"))
    x = x if reduce is not None else _operand(ufunc, x, dtype)
    parts = [(i, max(j, i + 1)) for i, j in zip(starts.tolist(), ends.tolist(), strict=True)]
    pieces = [_at(x, axis, slice(i, j)) for i, j in parts]
    if reduce is None:
        results = [_folded(ufunc, piece, axis) for piece in pieces]
    else:
        results = [reduce(piece, axis=axis, **({} if dtype is None else {"dtype": dtype})) for piece in pieces]
    return stack(results, axis) if results else _at(x, axis, slice(0, 0))


def _sums(x: ArrayLike, axis: int, starts: np.ndarray, ends: np.ndarray) -> Any:
    """Return the sums of consecutive parts."""
    places = np.repeat(np.arange(len(starts), dtype=INDEX_DTYPE), ends - starts)
    x = _at(x, axis, slice(int(starts[0]), None))
    whole = broadcast_to(places.reshape((-1,) + (1,) * (len(x.shape) - axis - 1)), x.shape)
    return scatter_along_axis(x, whole, axis, len(starts))


_METHODS: dict[str, Callable[..., Any]] = {"reduce": _reduce, "accumulate": _accumulate, "reduceat": _reduceat}
