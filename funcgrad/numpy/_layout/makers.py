"""NumPy's makers of arrays. While a transform runs, their results take traced values.

``funcgrad.numpy`` has them under these names. NumPy calls them for ``like=x`` with a traced ``x``, and
`funcgrad.intercept` puts them in the place of NumPy's own.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
from collections.abc import Callable, Iterable
from typing import Any, Literal

import numpy as np

from funcgrad._core.bind import Tracer
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.layout.copy import copy as copy_op
from funcgrad._ops.layout.copy import in_one_piece
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Array, ArrayLike, DeviceLike, DTypeLike, ShapeLike
from funcgrad.numpy._base.concrete import concrete_value, no_number
from funcgrad.numpy._base.convert import assigned
from funcgrad.numpy._base.dispatch import implements
from funcgrad.numpy._base.foreign import holds_tracer
from funcgrad.numpy._layout.creation import Order, taking
from funcgrad.numpy._layout.shape import as_array, copied, memory_order, to_shape, transpose


def maker(function: Callable[..., Any], by: Callable[..., Any] | None = None) -> Any:
    """Return our function for a NumPy function that makes an array of plain arguments.

    Args:
        function: NumPy's function.
        by: the function that makes the array, if it is another one.
    """
    made_by = by or function

    def make(*args: Any, like: ArrayLike = None, **kwargs: Any) -> Array:
        del like
        return taking(made_by(*args, **kwargs))

    name = function.__name__
    make.__name__ = make.__qualname__ = name
    with contextlib.suppress(ValueError):
        # Functions in C have a signature only in newer releases of NumPy.
        vars(make)["__signature__"] = inspect.signature(function)
    make.__doc__ = f"``numpy.{name}``; while a transform runs, an array that traced values can be written into."
    return implements(function)(make)


zeros = maker(np.zeros)
ones = maker(np.ones)
# The contents of an empty array differ in each call, and would become a constant of a graph.
empty = maker(np.empty, by=np.zeros)
eye = maker(np.eye)
identity = maker(np.identity)
_arange = maker(np.arange)
tri = maker(np.tri)
frombuffer = maker(np.frombuffer)
fromfile = maker(np.fromfile)
fromfunction = maker(np.fromfunction)
fromstring = maker(np.fromstring)
genfromtxt = maker(np.genfromtxt)
loadtxt = maker(np.loadtxt)


@implements(np.arange)
def arange(
    *bounds: ArrayLike, dtype: DTypeLike = None, device: DeviceLike = None, like: ArrayLike = None, **named: ArrayLike
) -> Any:
    """Return ``numpy.arange``; while a transform runs, an array that traced values can be written into.

    Args:
        bounds: ``stop``, or ``start, stop``, or ``start, stop, step``. Traced ones have a derivative; the length
            depends on their numbers, which have to be known.
        dtype: the dtype; by default that of the bounds.
        device: NumPy's argument.
        like: NumPy's argument; the result is the same.
        named: ``start``, ``stop`` and ``step`` by name.

    Returns:
        x: [n], the numbers from ``start`` to before ``stop``.

    Raises:
        ConcretizationTypeError: the numbers of a bound are not known.

    Example:
        >>> import funcgrad as fg
        >>> import funcgrad.numpy as fnp
        >>> fg.grad(lambda step: fnp.arange(0.0, 1.0, step).sum())(0.25).item()
        6.0
    """
    if not any(map(holds_tracer, (*bounds, *named.values()))):
        return _arange(*bounds, dtype=dtype, device=device, like=like, **named)
    one = len(bounds) == 1 and "stop" not in named
    given = {**dict(zip(("stop",) if one else ("start", "stop", "step"), bounds, strict=False)), **named}
    asked = "numpy.arange, whose length depends on its bounds,"
    known = {name: concrete_value(x, asked, has_path=True) for name, x in given.items()}
    whole = np.arange(known.get("start", 0), known["stop"], known.get("step", 1), dtype=dtype)
    # NumPy adds multiples of the difference of the first two numbers, which is rounded.
    start, step = as_array(given.get("start", 0)), given.get("step", 1)
    return cast(start + np.arange(whole.size) * ((start + step) - start), whole.dtype)


@implements(np.asarray)
def asarray(
    a: ArrayLike,
    dtype: DTypeLike = None,
    order: Order | None = None,
    *,
    device: None = None,
    copy: bool | None = None,
    like: ArrayLike = None,
) -> Array:
    """Return ``numpy.asarray`` with derivatives: tracers, and nested lists with tracers, become traced arrays.

    Args:
        a: an array of either engine, a tracer, a number, or a nested list of these.
        dtype: the dtype of the result; by default that of ``a``.
        order: the memory order of a ``numpy.ndarray``; a traced array keeps its own.
        device: NumPy's argument; there is one device.
        copy: whether to copy an array; by default only if needed.
        like: NumPy's argument; the result is the same.

    Returns:
        An array of the same engine, or a traced one. While a transform runs, a list becomes an array that traced values
        can be written into. An existing array is returned itself.

    Example:
        >>> import funcgrad as fg
        >>> import funcgrad.numpy as fnp
        >>> float(fg.grad(lambda x: fnp.asarray([x, 2 * x]).sum())(1.0))
        3.0
    """
    del device, like
    # SciPy passes a member of NumPy's private enumeration.
    order = memory_order(order)
    copy = None if getattr(copy, "name", None) == "IF_NEEDED" else copy
    if dtype is not None and np.dtype(dtype) == object and not holds_tracer(a):
        # Lists of several lengths, as SciPy's modules make when they are imported.
        return np.array(a, dtype, order=order or "K", copy=copy)
    value = as_array(a) if dtype is None or hasattr(a, "dtype") else assigned(a, np.dtype(dtype))
    if issubclass(type(value), np.ndarray | np.generic):
        y = np.array(value, dtype, order=order or "K", copy=copy)
        # An existing array stays plain, because its memory belongs to the user.
        return taking(y) if copy or issubclass(type(a), list | tuple | int | float | complex) else y
    y = value if dtype is None else cast(value, np.dtype(dtype))
    if (copy and y is a) or (order in ("C", "F") and not in_one_piece(y, order)):
        y = copied(y, order or "K")
    # NumPy turns a number into an array, which is writable.
    return y if y.shape else no_number(y)


@implements(np.array)
def array(
    object: ArrayLike,  # noqa: A002  (NumPy's name)
    dtype: DTypeLike = None,
    *,
    copy: bool | None = True,
    order: Order | None = "K",
    subok: bool = False,
    ndmin: int = 0,
    like: ArrayLike = None,
) -> Any:
    """``numpy.array`` that keeps derivatives, as `asarray` does.

    Args:
        object: the value to convert to an array.
        dtype: the dtype of the result; by default the common dtype of the elements.
        copy: whether to copy an array.
        order: the memory order of a ``numpy.ndarray``; a traced array keeps its own.
        subok: NumPy's argument; subclasses are not kept.
        ndmin: the least number of axes. Axes of length 1 are added in front.
        like: NumPy's argument; the result is the same.

    Returns:
        An array; while a transform runs, one that traced values can be written into.

    Example:
        >>> import funcgrad.numpy as fnp
        >>> fnp.array([1.0, 2.0], ndmin=2)
        array([[1., 2.]])
    """
    del subok, like
    value = asarray(object, dtype, order, copy=copy)
    return reshape(value, (1,) * (ndmin - len(value.shape)) + value.shape) if len(value.shape) < ndmin else value


@implements(np.asanyarray)
def asanyarray(
    a: ArrayLike,
    dtype: DTypeLike = None,
    order: Order | None = None,
    *,
    device: None = None,
    copy: bool | None = None,
    like: ArrayLike = None,
) -> Any:
    """``numpy.asanyarray``."""
    return asarray(a, dtype, order, device=device, copy=copy, like=like)


@implements(np.ascontiguousarray)
def ascontiguousarray(a: ArrayLike, dtype: DTypeLike = None, *, like: ArrayLike = None) -> Any:
    """Return ``numpy.ascontiguousarray``: the array itself if its rows are contiguous."""
    del like
    y = _one_axis(asarray(a, dtype))
    if not isinstance(y, Tracer):
        return np.ascontiguousarray(y)
    return y if in_one_piece(y) else copy_op(y)


@implements(np.asfortranarray)
def asfortranarray(a: ArrayLike, dtype: DTypeLike = None, *, like: ArrayLike = None) -> Any:
    """Return ``numpy.asfortranarray``: the array itself if its columns are contiguous."""
    del like
    y = _one_axis(asarray(a, dtype))
    if not isinstance(y, Tracer):
        return np.asfortranarray(y)
    return y if in_one_piece(y, "F") else transpose(copy_op(transpose(y)))


def _one_axis(y: ArrayLike) -> Any:
    return y if y.shape else reshape(y, (1,))


@implements(np.require)
def require(a: ArrayLike, dtype: DTypeLike = None, requirements: Any = None, *, like: ArrayLike = None) -> Any:
    """``numpy.require``."""
    del like
    y = asarray(a, dtype)
    if not isinstance(y, Tracer):
        return np.require(y, None, requirements)
    # NumPy refuses unknown words, and abbreviates the long ones.
    flags = np.require(np.empty(y.shape, y.dtype), None, requirements).flags
    asked = {requirements} if isinstance(requirements, str) else set(requirements or ())
    if asked & {"F", "FORTRAN", "F_CONTIGUOUS"} and flags.f_contiguous:
        y = asfortranarray(y)
    elif asked & {"C", "CONTIGUOUS", "C_CONTIGUOUS"}:
        y = ascontiguousarray(y)
    return copy_op(y) if asked & {"O", "OWNDATA"} and y is a else y


@implements(np.from_dlpack)
def from_dlpack(x: ArrayLike, /, *, device: DeviceLike = None, copy: bool | None = None) -> Any:
    """Return ``numpy.from_dlpack``: an array that shares memory.

    A traced array is returned itself, with its derivative.

    Args:
        x: an array of any library that supports the protocol.
        device: NumPy's argument; there is one device, ``"cpu"``.
        copy: whether to copy; by default only if needed.

    Returns:
        A NumPy array, or the traced array, copied only if asked for.

    Example:
        >>> import numpy as np
        >>> import funcgrad.numpy as fnp
        >>> fnp.from_dlpack(np.arange(3.0))
        array([0., 1., 2.])
    """
    if isinstance(x, Tracer):
        return copied(x, "K") if copy else x
    return taking(np.from_dlpack(x, device=device, copy=copy))


@implements(np.fromiter)
def fromiter(iter: Iterable[Any], dtype: DTypeLike, count: int = -1, *, like: ArrayLike = None) -> Any:  # noqa: A002  (NumPy's name)
    """``numpy.fromiter``; traced numbers keep their derivatives."""
    del like
    numbers = list(iter if count < 0 else itertools.islice(iter, count))
    if len(numbers) < count:
        raise ValueError(f"iterator too short: Expected {count} but iterator had only {len(numbers)} items.")
    return asarray(numbers, dtype)


@implements(np.full)
def full(
    shape: ShapeLike,
    fill_value: ArrayLike,
    dtype: DTypeLike = None,
    order: Literal["C", "F"] = "C",
    *,
    device: None = None,
    like: ArrayLike = None,
) -> Array:
    """``numpy.full``; a traced fill value keeps its derivative."""
    del device, like
    value = as_array(fill_value) if dtype is None else assigned(fill_value, np.dtype(dtype))
    if issubclass(type(value), np.ndarray | np.generic):
        return taking(np.full(shape, value, order=order))
    return copy_op(broadcast_to(value, to_shape(shape)))
