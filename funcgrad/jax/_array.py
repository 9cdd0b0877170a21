"""`Array`, a NumPy array that never changes, as JAX's; and the conversion of arguments and results of functions."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, NoReturn, Self, TypeVar, cast

import numpy as np

from funcgrad._core.bind import Tracer, is_engine_value
from funcgrad._core.trace.place import Place, settled
from funcgrad._public import published_as
from funcgrad._types import ArrayLike, IndexLike, Key
from funcgrad.numpy.extend import At, stands_for_numbers
from funcgrad.tree import map as tree_map

F = TypeVar("F", bound=Callable[..., Any])

# Options that say how JAX computes, and not what: the results are the same without them.
HOW = frozenset(
    {
        *("precision", "out_sharding", "device", "method", "assume_unique_indices", "indices_are_sorted"),
        *("unique_indices", "accuracy", "algorithm", "implementation", "unroll", "debug", "sharding"),
        *("allow_negative_indices", "use_magma", "upper_triangular", "max_squarings", "blocksize"),
    }
)
# Options for which JAX's default is None and NumPy's is a value.
NONE_IS_DEFAULT = frozenset({"where", "out", "dtype", "step", "keepdims", "order", "edge_order", "initial", "excluded"})


class _Kind(type):
    """Lets ``isinstance(x, jax.Array)`` hold for traced values and for JAX's own arrays, as it does in JAX."""

    def __instancecheck__(cls, x: object) -> bool:
        return super().__instancecheck__(x) or isinstance(x, Tracer) or is_engine_value(x)


def _refuse_write(self: Any, key: IndexLike, value: ArrayLike) -> NoReturn:
    del key, value
    raise TypeError(
        f"x[index] = value: x is an Array of shape {self.shape}, and arrays of funcgrad.jax never change, as in JAX. "
        "Write x = x.at[index].set(value)."
    )


@stands_for_numbers
@published_as("funcgrad.jax")
class Array(np.ndarray, metaclass=_Kind):
    """A NumPy array that never changes, with the methods of ``jax.Array``.

    The functions of ``funcgrad.jax`` return their results in this class. ``x.at[index].set(value)`` returns a changed
    copy, ``x += y`` makes a new array, and ``x[index] = value`` is refused. NumPy's functions accept it as an array.
    ``isinstance(x, jax.Array)`` is true for traced values and for JAX's own arrays too.

    Example:
        >>> import funcgrad.jax as jax
        >>> x = jax.numpy.arange(3.0)
        >>> x.at[0].add(5.0)
        Array([5., 1., 2.], dtype=float64)
        >>> y = x
        >>> y += 1.0
        >>> x
        Array([0., 1., 2.], dtype=float64)
    """

    __setitem__ = _refuse_write
    # ``x += y`` is ``x = x + y``: another name of the array keeps the old value.
    __iadd__ = np.ndarray.__add__  # pyright: ignore[reportAssignmentType]  (it makes a new array)
    __isub__ = np.ndarray.__sub__
    __imul__ = np.ndarray.__mul__
    __itruediv__ = np.ndarray.__truediv__
    __ifloordiv__ = np.ndarray.__floordiv__
    __imod__ = np.ndarray.__mod__
    __ipow__ = np.ndarray.__pow__
    __imatmul__ = np.ndarray.__matmul__
    __iand__ = np.ndarray.__and__
    __ior__ = np.ndarray.__or__
    __ixor__ = np.ndarray.__xor__
    __ilshift__ = np.ndarray.__lshift__
    __irshift__ = np.ndarray.__rshift__

    @property
    def at(self) -> _At:
        """Select elements for an update that returns a new array."""
        return _At(plain(self))

    def block_until_ready(self) -> Self:
        """Return the array: its numbers are there."""
        return self

    def copy_to_host_async(self) -> None:
        """Do nothing: the array is in the host's memory."""

    def sort(self, axis: int = -1, **options: Any) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]  (JAX's)
        """Return the sorted array. NumPy's method would sort the array itself."""
        y = np.sort(plain(self), axis=axis)
        return arrays(np.flip(y, axis) if options.get("descending") else y)

    def __getitem__(self, key: Key) -> Any:
        return arrays(super().__getitem__(key))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        """Call NumPy's function with plain arrays, into which its code may write."""
        del types
        return arrays(function(*tree_map(plain, args), **tree_map(plain, kwargs)))

    def __repr__(self) -> str:
        text = np.array2string(plain(self), separator=", ", prefix="Array(")
        shape = "" if self.size else f" shape={self.shape},"
        return f"Array({text},{shape} dtype={self.dtype.name})"

    def __format__(self, spec: str) -> str:
        return format(self.item() if not self.ndim else plain(self), spec)


class _At:
    """The property ``x.at``: an index in brackets selects elements for an update."""

    __slots__ = ("_x",)

    def __init__(self, x: np.ndarray) -> None:
        self._x = x

    def __getitem__(self, key: Key) -> _Selection:
        return _Selection(At(self._x)[tree_map(plain, key) if isinstance(key, tuple) else plain(key)])


class _Selection:
    """Selected elements, whose methods return new arrays: those of ``funcgrad.numpy.at``."""

    __slots__ = ("_selected",)

    def __init__(self, selected: ArrayLike) -> None:
        self._selected = selected

    def __getattr__(self, name: str) -> Any:
        return with_arrays(getattr(self._selected, name))

    def __dir__(self) -> list[str]:
        return dir(self._selected)


def plain(x: ArrayLike) -> Any:
    """Return an `Array` as NumPy's own array of the same memory, and anything else unchanged."""
    return x.view(np.ndarray) if type(x) is Array else x


def arrays(y: ArrayLike) -> Any:
    """Return a result with NumPy's arrays and scalars as `Array` s, in tuples, lists and named tuples too."""
    if type(y) is Place:
        # A new array that functions of ours could write into. Here nothing does, so its numbers are enough.
        y = settled(y)
    kind = type(y)
    if kind is np.ndarray:
        return y.view(Array)
    if issubclass(kind, np.generic):
        return np.asarray(y).view(Array)
    if issubclass(kind, tuple):
        return kind(*map(arrays, y)) if hasattr(kind, "_fields") else tuple([arrays(each) for each in y])
    return [arrays(each) for each in y] if kind is list else y


def tree_of_arrays(y: ArrayLike) -> Any:
    """Return a pytree with NumPy's arrays and scalars as `Array` s."""
    kind = type(y)
    # Python's own containers need no registry.
    if kind is tuple:
        return tuple([tree_of_arrays(each) for each in y])
    if kind is list:
        return [tree_of_arrays(each) for each in y]
    if kind is dict:
        return {key: tree_of_arrays(each) for key, each in y.items()}
    if kind in _LEAVES or issubclass(kind, Tracer):
        return y
    return arrays(y) if issubclass(type(y), np.ndarray | np.generic) else tree_map(_leaf, y)


_LEAVES = frozenset({Array, bool, int, float, complex, str, type(None)})


def _leaf(y: ArrayLike) -> Any:
    return arrays(y) if issubclass(type(y), np.ndarray | np.generic) else y


def with_arrays(f: F, arguments: tuple[str, ...] = ()) -> F:
    """Return a function of ours with JAX's arrays: it takes and returns `Array` s, and ignores options of `HOW`.

    Args:
        f: the function.
        arguments: JAX's names of its first arguments, if they differ.
    """
    accepted = HOW if hasattr(f, "is_of_jax") else _parameters(f)

    @functools.wraps(f)
    def call(*args: Any, **options: Any) -> Any:
        kind = None
        if options:
            for name in arguments[len(args) :]:
                if name not in options:
                    break
                args = (*args, options.pop(name))
            kind = options.pop("preferred_element_type", None)
            options = {name: plain(x) for name, x in options.items() if not _is_left_out(name, x, accepted)}
        y = f(*[x.view(np.ndarray) if type(x) is Array else x for x in args], **options)
        return arrays(y if kind is None else y.astype(kind))

    return cast("F", call)


def _parameters(f: Callable[..., Any]) -> frozenset[str]:
    try:
        return frozenset(inspect.signature(f).parameters)
    except (TypeError, ValueError):
        return frozenset()


def _is_left_out(name: str, x: ArrayLike, accepted: frozenset[str]) -> bool:
    return (name in HOW and name not in accepted) or (x is None and name in NONE_IS_DEFAULT)
