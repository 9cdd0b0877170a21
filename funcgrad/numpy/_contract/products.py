"""Products summed over axes: matmul and similar functions, tensordot, inner, outer, kron, cross, trace."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of, is_integral
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.lazy import is_since
from funcgrad._core.tracebacks import caller_level
from funcgrad._ops.contract.dot import dot_general, matmul_p
from funcgrad._ops.elementwise.arithmetic import add_p, mul_p
from funcgrad._ops.elementwise.cast import cast, conj_p
from funcgrad._ops.index.gather import slice_axis
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.layout.broadcast import reduce_sum
from funcgrad._ops.layout.diagonal import diagonal
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._ops.layout.shape import expand_dims, reshape, transpose
from funcgrad._types import Array, ArrayLike, DTypeLike, Tensor
from funcgrad.numpy._base.axes import normalize_axis
from funcgrad.numpy._base.concrete import no_number
from funcgrad.numpy._base.convert import as_value, promote
from funcgrad.numpy._base.dispatch import implements, in_numpys_mode
from funcgrad.numpy._base.out import takes_out
from funcgrad.numpy._contract.einsum import contract_stacks, einsum


@implements(np.matmul, np.linalg.matmul)
def matmul(x: ArrayLike, y: ArrayLike, /) -> Array:
    """``numpy.matmul``."""
    try:
        # Vectors and matrices of one dtype need no preparation.
        if x.dtype is y.dtype and 0 < len(x.shape) < 3 and 0 < len(y.shape) < 3:
            return bind(matmul_p, (x, y), NO_PARAMS)
    except AttributeError:
        # An operand is a list or a Python number.
        pass
    x, y = _arrays("matmul", x, y)
    x_ndim, y_ndim = len(x.shape), len(y.shape)
    if (x_ndim < 3 and y_ndim < 3) or (x.shape[:-2] == y.shape[:-2] and x_ndim == y_ndim):
        return bind(matmul_p, (x, y), NO_PARAMS)
    return contract_stacks(x, y, _MATMUL_CORES[x_ndim > 1, y_ndim > 1])


# The labels of the axes, by whether each operand has rows and columns.
_MATMUL_CORES = {(True, True): ("mk", "kn", "mn"), (False, True): ("k", "kn", "n"), (True, False): ("mk", "k", "m")}


def _arrays(name: str, x: ArrayLike, y: ArrayLike) -> tuple[Any, Any]:
    """Return both operands in their common dtype; refuse scalars."""
    x, y = promote(as_value(x), as_value(y), ufunc=np.matmul)
    if not x.shape or not y.shape:
        raise ValueError(
            f"{name}: an operand is a scalar; needed arrays with at least one axis. Multiply with * instead."
        )
    return x, y


def _core_product(name: str, core: tuple[str, str, str], *, conjugate: bool) -> Any:
    def function(x: ArrayLike, y: ArrayLike, /) -> Any:
        x, y = _arrays(name, x, y)
        for position, (each, dimensions) in enumerate(zip((x, y), core, strict=False)):
            if len(each.shape) < len(dimensions):
                raise ValueError(
                    f"{name}: Input operand {position} does not have enough dimensions: it is {aval_of(each)}, needed "
                    f"{len(dimensions)} axes or more. Add one with x[None]."
                )
        summed = y.shape[-2] if core[1] == "kn" and len(y.shape) > 1 else y.shape[-1]
        if x.shape[-1] != summed:
            # The lengths must agree even if there are no products at all.
            raise ValueError(
                f"{name}: the operands are {aval_of(x)} and {aval_of(y)}, with a mismatch in its core dimension; "
                f"needed as many elements in both, {x.shape[-1]}. Transpose one of them, or slice it."
            )
        return contract_stacks(conjugated(x) if conjugate else x, y, core)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``numpy.{name}``."
    # NumPy has matvec and vecmat from 2.2 on.
    return implements(getattr(np, name))(function) if hasattr(np, name) else function


matvec = _core_product("matvec", ("mk", "k", "m"), conjugate=False)
vecmat = _core_product("vecmat", ("k", "kn", "n"), conjugate=True)
_vecdot = _core_product("vecdot", ("k", "k", ""), conjugate=True)


@implements(np.vecdot, np.linalg.vecdot)
def vecdot(x: ArrayLike, y: ArrayLike, /, *, axis: int = -1) -> Any:
    """Return ``numpy.vecdot``, which conjugates its first operand."""
    return _vecdot(x, y) if axis == -1 else _vecdot(_axis_last(as_value(x), axis), _axis_last(as_value(y), axis))


def conjugated(x: ArrayLike) -> Tensor:
    """Return the complex conjugate; a real array unchanged."""
    return conj_p(x) if x.dtype.kind == "c" else x


def _axis_last(x: ArrayLike, axis: int) -> Tensor:
    axis = normalize_axis(axis, len(x.shape))
    return transpose(x, (*(i for i in range(len(x.shape)) if i != axis), axis))


@implements(np.dot)
@takes_out
def dot(a: ArrayLike, b: ArrayLike, out: Array = None) -> Array:
    """``numpy.dot``."""
    a, b = promote(as_value(a), as_value(b))
    a_ndim, b_ndim = len(a.shape), len(b.shape)
    if not a_ndim or not b_ndim:
        return _summed_once(a, b)
    if a_ndim < 3 and b_ndim < 3:
        return bind(matmul_p, (a, b), NO_PARAMS)
    return dot_general(a, b, ((a_ndim - 1,), (max(b_ndim - 2, 0),)))


@implements(np.vdot)
def vdot(a: ArrayLike, b: ArrayLike, /) -> Tensor:
    """Return ``numpy.vdot``, which conjugates its first operand."""
    a, b = promote(as_value(a), as_value(b))
    return bind(matmul_p, (conjugated(_flat(a)), _flat(b)), NO_PARAMS)


def _flat(x: ArrayLike) -> Tensor:
    size = 1
    for n in x.shape:
        size *= n
    return reshape(x, (size,))


@implements(np.inner)
def inner(a: ArrayLike, b: ArrayLike, /) -> Tensor:
    """``numpy.inner``."""
    a, b = promote(as_value(a), as_value(b))
    a_ndim, b_ndim = len(a.shape), len(b.shape)
    return dot_general(a, b, ((a_ndim - 1,), (b_ndim - 1,))) if a_ndim and b_ndim else _summed_once(a, b)


def _summed_once(a: ArrayLike, b: ArrayLike) -> Any:
    """Multiply by a number.

    NumPy computes products of vectors and matrices by BLAS, which adds to zeros: none is -0.
    """
    y = bind(mul_p, (a, b), NO_PARAMS)
    shape = a.shape or b.shape
    if y.dtype.kind not in "fc" or len(shape) not in (1, 2) or math.prod(shape) == 1:
        return y
    return bind(add_p, (y, y.dtype.type(0)), NO_PARAMS)


@implements(np.linalg.outer)
def outer_of_vectors(x1: ArrayLike, x2: ArrayLike, /) -> Any:
    """Return ``numpy.linalg.outer``: `outer` of vectors alone."""
    x1, x2 = as_value(x1), as_value(x2)
    if len(aval_of(x1).shape) != 1 or len(aval_of(x2).shape) != 1:
        raise ValueError(
            f"linalg.outer: Input arrays must be one-dimensional, and are {aval_of(x1)}, {aval_of(x2)}. Use np.outer."
        )
    return outer(x1, x2)


@implements(np.outer)
@takes_out
def outer(a: ArrayLike, b: ArrayLike, out: Array = None) -> Tensor:
    """``numpy.outer``."""
    a, b = promote(as_value(a), as_value(b))
    return mul_p(expand_dims(_flat(a), (1,)), _flat(b))


@implements(np.tensordot, np.linalg.tensordot)
def tensordot(a: ArrayLike, b: ArrayLike, axes: Any = 2) -> Array:
    """``numpy.tensordot``."""
    a, b = promote(as_value(a), as_value(b))
    if isinstance(axes, int | np.integer):
        a_axes, b_axes = range(len(a.shape) - int(axes), len(a.shape)), range(int(axes))
    else:
        a_axes, b_axes = ((each,) if isinstance(each, int | np.integer) else each for each in axes)
    a_axes = tuple([normalize_axis(i, len(a.shape)) for i in a_axes])
    b_axes = tuple([normalize_axis(i, len(b.shape)) for i in b_axes])
    if [a.shape[i] for i in a_axes] != [b.shape[i] for i in b_axes]:
        raise ValueError(
            f"tensordot: axes {a_axes} of the first operand have lengths {tuple(a.shape[i] for i in a_axes)}, axes "
            f"{b_axes} of the second {tuple(b.shape[i] for i in b_axes)}; needed equal lengths, pair by pair."
        )
    return no_number(dot_general(a, b, (a_axes, b_axes)))


@implements(np.kron)
def kron(a: ArrayLike, b: ArrayLike) -> Tensor:
    """``numpy.kron``."""
    a, b = promote(as_value(a), as_value(b))
    ndim = max(len(a.shape), len(b.shape))
    a_shape = (1,) * (ndim - len(a.shape)) + a.shape
    b_shape = (1,) * (ndim - len(b.shape)) + b.shape
    spaced = [reshape(a, _interleaved(a_shape, (1,) * ndim)), reshape(b, _interleaved((1,) * ndim, b_shape))]
    return reshape(mul_p(*spaced), tuple([m * n for m, n in zip(a_shape, b_shape, strict=True)]))


def _interleaved(xs: tuple[int, ...], ys: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([n for pair in zip(xs, ys, strict=True) for n in pair])


@implements(np.cross)
@in_numpys_mode
def cross(
    a: ArrayLike, b: ArrayLike, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Tensor:
    """Return ``numpy.cross``. As in NumPy, vectors of two components are deprecated, and refused since NumPy 2.5."""
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = promote(as_value(a), as_value(b))
    a, b = _axis_last(a, axisa), _axis_last(b, axisb)
    lengths = {a.shape[-1], b.shape[-1]}
    if not lengths <= {2, 3}:
        raise ValueError(
            f"cross: the vectors have {a.shape[-1]} and {b.shape[-1]} components; needed 2 or 3. "
            "Check which axis the components lie along: axis=, axisa= and axisb= say it."
        )
    if 2 in lengths and is_since("numpy", "2.5.0"):
        raise ValueError(
            f"cross: the vectors have {a.shape[-1]} and {b.shape[-1]} components; needed 3, since NumPy 2.5. Append a "
            "third component, 0."
        )
    if 2 in lengths:
        warnings.warn(_FLAT_VECTORS, DeprecationWarning, stacklevel=caller_level())
    if lengths == {2}:
        return _component(a, 0) * _component(b, 1) - _component(a, 1) * _component(b, 0)
    a, b = _in_space(a), _in_space(b)
    c = _rolled(a, 1) * _rolled(b, 2) - _rolled(a, 2) * _rolled(b, 1)
    last = len(c.shape) - 1
    order = list(range(last))
    order.insert(normalize_axis(axisc, last + 1), last)
    return c if order[-1] == last else transpose(c, tuple(order))


_FLAT_VECTORS = (
    "Arrays of 2-dimensional vectors are deprecated. Use arrays of 3-dimensional vectors instead. "
    "(deprecated in NumPy 2.0)"
)


def _component(x: ArrayLike, i: int) -> Any:
    axis = len(x.shape) - 1
    return reshape(slice_axis(x, axis, i, i + 1), x.shape[:-1])


def _in_space(x: ArrayLike) -> Tensor:
    """Return vectors of two components with a third one, 0."""
    axis = len(x.shape) - 1
    return x if x.shape[-1] == 3 else concatenate([x, zeros_like(slice_axis(x, axis, 0, 1))], axis)


@implements(np.linalg.cross)
def linalg_cross(a: ArrayLike, b: ArrayLike, /, *, axis: int = -1) -> Any:
    """Return ``numpy.linalg.cross`` of vectors of three components."""
    a, b = as_value(a), as_value(b)
    if a.shape[axis] != 3 or b.shape[axis] != 3:
        raise ValueError(
            f"linalg.cross: the vectors have {a.shape[axis]} and {b.shape[axis]} components; needed 3 each. "
            "For two components, write a[0] * b[1] - a[1] * b[0]."
        )
    return cross(a, b, axis=axis)


def _rolled(x: ArrayLike, shift: int) -> Tensor:
    """Return the three components of the last axis, rolled by ``shift``."""
    axis = len(x.shape) - 1
    return concatenate([slice_axis(x, axis, shift, 3), slice_axis(x, axis, 0, shift)], axis)


@implements(np.diagonal)
def diagonal_(a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Array:
    """``numpy.diagonal``."""
    return diagonal_of(a, offset, axis1, axis2, diagonal)


def diagonal_of(x: ArrayLike, offset: int, axis1: int, axis2: int, show: Callable[[Any, int], Any]) -> Array:
    """Return the diagonal of two axes, by a function for the last two axes."""
    x = as_value(x)
    ndim = len(x.shape)
    if ndim < 2:
        raise ValueError(
            f"diagonal: the array has {ndim} axes; needed at least two. Put vectors on one with numpy.diag."
        )
    axis1, axis2 = normalize_axis(axis1, ndim), normalize_axis(axis2, ndim)
    if axis1 == axis2:
        raise ValueError(f"diagonal: axis1 and axis2 are both {axis1}; needed two different axes.")
    order = (*(i for i in range(ndim) if i not in (axis1, axis2)), axis1, axis2)
    return show(x if order == tuple(range(ndim)) else transpose(x, order), int(offset))


@implements(np.trace)
@takes_out
def trace(
    a: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: DTypeLike = None, out: Array = None
) -> Array:
    """``numpy.trace``."""
    elements = diagonal_(a, offset, axis1, axis2)
    if dtype is None and is_integral(elements.dtype):
        dtype = np.add.reduce(np.empty(0, elements.dtype)).dtype
    return reduce_sum(elements if dtype is None else cast(elements, dtype), (len(elements.shape) - 1,))


@implements(np.linalg.diagonal)
def linalg_diagonal(x: ArrayLike, /, *, offset: int = 0) -> Any:
    """``numpy.linalg.diagonal``: of the last two axes."""
    return diagonal_(x, offset, -2, -1)


@implements(np.linalg.trace)
def linalg_trace(x: ArrayLike, /, *, offset: int = 0, dtype: DTypeLike = None) -> Any:
    """``numpy.linalg.trace``: over the last two axes."""
    return trace(x, offset, -2, -1, dtype)


@implements(np.linalg.multi_dot)
@takes_out
def multi_dot(arrays: Sequence[Any], *, out: Array = None) -> Any:
    """``numpy.linalg.multi_dot``: the product of matrices in the cheapest order."""
    values = [as_value(x) for x in arrays]
    if len(values) < 2:
        raise ValueError(f"multi_dot: {len(values)} arrays were given; needed at least two.")
    labels = [[i, i + 1] for i in range(len(values))]
    if len(values[0].shape) == 1:
        labels[0] = [1]
    if len(values[-1].shape) == 1:
        labels[-1] = [len(values) - 1]
    result = labels[0][: len(labels[0]) - 1] + labels[-1][1:]
    return einsum(*[each for pair in zip(values, labels, strict=True) for each in pair], result)
