"""Creation functions and integer types under autograd's names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad._core.bind import Tracer
from funcgrad._types import ArrayLike, DTypeLike, PyTree, ShapeLike, Value
from funcgrad.numpy.extend import concrete_value


def _integer(kind: Any) -> type:
    """Return an integer type that also accepts traced values, as autograd's does: it converts their numbers."""

    def new(cls: type, x: PyTree = 0, *args: Any) -> Any:
        del cls
        return kind(concrete_value(x, kind.__name__) if isinstance(x, Tracer) else x, *args)

    return type(kind.__name__, (kind,), {"__new__": new, "__module__": __name__, "__slots__": ()})


int8, int16, int32, int64 = map(_integer, (np.int8, np.int16, np.int32, np.int64))


def array(A: ArrayLike, *args: Any, **kwargs: Any) -> Any:  # noqa: N803  (autograd's name)
    """Make an array, as ``numpy.array``; a list that contains traced values becomes a traced array.

    Args:
        A: an array, a number, or a nested list of them.
        args: NumPy's positional arguments.
        kwargs: NumPy's named arguments. For traced values, dtype object means the dtype of their numbers.

    Returns:
        A plain array, or a traced one.

    Example:
        >>> import funcgrad.interop.autograd.numpy as np
        >>> from funcgrad.interop.autograd import jacobian
        >>> jacobian(lambda x: np.array([x[0] * x[1], 3.0]))(np.array([2.0, 5.0]))
        array([[5., 2.], [0., 0.]])
    """
    return _of_numbers(fnp.array, A, args, kwargs) if _holds_tracer(A) else np.array(A, *args, **kwargs)


def asarray(A: ArrayLike, *args: Any, **kwargs: Any) -> Any:  # noqa: N803  (autograd's name)
    """Convert to an array, as ``numpy.asarray``; a list that contains traced values becomes a traced array.

    Args:
        A: an array, a number, or a nested list of them.
        args: NumPy's positional arguments.
        kwargs: NumPy's named arguments.

    Returns:
        A plain array, or a traced one.

    Example:
        >>> import funcgrad.interop.autograd.numpy as np
        >>> np.asarray([1.0, 2.0])
        array([1., 2.])
    """
    return _of_numbers(fnp.asarray, A, args, kwargs) if _holds_tracer(A) else np.asarray(A, *args, **kwargs)


def _of_numbers(make: Callable[..., Any], x: PyTree, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Make a traced array. For dtype object, keep the dtype of the numbers, because only numbers have derivatives."""
    if args and _is_object(args[0]):
        args = (None, *args[1:])
    if _is_object(kwargs.get("dtype")):
        kwargs = {**kwargs, "dtype": None}
    return make(x, *args, **kwargs)


def _is_object(dtype: DTypeLike) -> bool:
    return dtype is not None and np.dtype(dtype) == np.dtype(object)


def full(shape: ShapeLike, fill_value: Value, dtype: DTypeLike = None, order: Any = "C") -> Any:
    """Make an array filled with one value, as ``numpy.full``; a traced value gives a traced array.

    Args:
        shape: the shape.
        fill_value: a value, or an array that broadcasts to the shape.
        dtype: the dtype; by default that of the value.
        order: NumPy's.

    Returns:
        A plain array, or a traced one.

    Example:
        >>> import funcgrad.interop.autograd.numpy as np
        >>> from funcgrad.interop.autograd import grad
        >>> float(grad(lambda x: np.sum(np.full(3, x)))(2.0))
        3.0
    """
    return (fnp.full if _holds_tracer(fill_value) else np.full)(shape, fill_value, dtype, order)


def make_diagonal(D: ArrayLike, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:  # noqa: N803  (autograd's name)
    """Make diagonal matrices: the inverse of ``numpy.diagonal`` over the last two axes.

    Args:
        D: the diagonals, along the last axis.
        offset: 0, as in autograd.
        axis1: one of the last two axes.
        axis2: the other of the last two axes.

    Returns:
        Matrices that are zero off their diagonal.

    Raises:
        NotImplementedError: another offset, or other axes.

    Example:
        >>> import funcgrad.interop.autograd.numpy as np
        >>> np.make_diagonal(np.array([1.0, 2.0]), axis1=-1, axis2=-2)
        array([[1., 0.], [0., 2.]])
    """
    if offset != 0 or {axis1, axis2} != {-1, -2}:
        raise NotImplementedError(
            f"make_diagonal: offset {offset} and axes {axis1} and {axis2} were asked for; needed 0, -1 and -2. "
            "Move the axes with np.moveaxis."
        )
    return fnp.where(np.eye(D.shape[-1], dtype=bool), D[..., None], np.zeros((), D.dtype))


def metadata(A: ArrayLike) -> tuple[tuple[int, ...], int, np.dtype, bool]:  # noqa: N803  (autograd's name)
    """Return the shape of an array, its number of axes, its dtype, and whether it is complex.

    Args:
        A: an array or a number, traced or plain.

    Returns:
        A tuple of four values, as ``numpy_vjps.unbroadcast`` expects it.

    Example:
        >>> import funcgrad.interop.autograd.numpy as np
        >>> np.metadata(np.ones((2, 3)))
        ((2, 3), 2, dtype('float64'), False)
    """
    dtype = A.dtype if isinstance(A, Tracer) else np.result_type(A)
    shape = A.shape if isinstance(A, Tracer) else np.shape(A)
    return shape, len(shape), dtype, dtype.kind == "c"


def _holds_tracer(x: PyTree) -> bool:
    if isinstance(x, list | tuple):
        return any(map(_holds_tracer, x))
    return isinstance(x, Tracer)
