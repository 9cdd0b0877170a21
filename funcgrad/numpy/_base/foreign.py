"""Foreign arrays and numbers: numbers of other kinds, subclasses of ``ndarray``, arrays of other libraries.

There is one rule for all. A foreign array that stands for plain numbers is converted to an array of these. A foreign
array with rules of its own (a mask, units, matrix products) is refused, because derivatives do not follow these rules.
"""

from __future__ import annotations

import functools
import numbers
import sys
from decimal import Decimal
from typing import Any, NoReturn, TypeVar

import numpy as np

from funcgrad._core.aval import is_inexact, is_integral
from funcgrad._core.bind import NUMPY_TYPES, Tracer, is_value
from funcgrad._types import ArrayLike
from funcgrad.errors import ForeignArrayError

# The arithmetic of these libraries is NumPy's except for labels, which traced arrays do not have.
_LABELLED = frozenset({"pandas", "xarray"})
_OPERATORS = ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow")
_RULES = ("__array_ufunc__", "__array_function__", *[f"__{r}{name}__" for name in _OPERATORS for r in ("", "r")])


class Unshaped:
    """A value that has no known shape, and says itself why no array can be made of it."""

    __slots__ = ()

    def refuse(self, asked: str) -> NoReturn:
        """Refuse what was asked of the value."""
        raise NotImplementedError


def number_of(x: ArrayLike) -> Any:
    """Return ``x`` as a Python or NumPy number, else ``None``. ``Fraction`` and ``Decimal`` become floats."""
    if issubclass(type(x), bool | int | float | complex):
        return x
    if issubclass(type(x), np.generic):
        return x if is_number_dtype(x.dtype) else None
    if isinstance(x, numbers.Integral):
        return int(x)
    if isinstance(x, numbers.Real | Decimal):
        return float(x)
    return complex(x) if isinstance(x, numbers.Complex) else None


def is_number_dtype(dtype: np.dtype) -> bool:
    """Return whether arrays of this dtype hold numbers rather than objects, text, dates or records."""
    return is_integral(dtype) or is_inexact(dtype)


def is_object_array(x: ArrayLike) -> bool:
    """Return whether a value is an array of Python objects."""
    return issubclass(type(x), np.ndarray) and x.dtype.kind == "O"


def is_foreign_array(x: ArrayLike) -> bool:
    """Return whether a value is a foreign array.

    A subclass of ``ndarray``, or an object that NumPy converts to an array.
    """
    return not is_value(x) and (hasattr(type(x), "__array__") or hasattr(type(x), "__array_ufunc__"))


# Subclasses of ``ndarray`` whose hooks change no number: they only choose the class of results.
_stand_for_numbers: set[type] = set()
K = TypeVar("K", bound=type)


def stands_for_numbers(kind: K) -> K:
    """Declare that operations on a subclass of ``ndarray`` give the numbers that NumPy gives for plain arrays."""
    _stand_for_numbers.add(kind)
    return kind


@functools.cache
def computes_its_own_way(kind: type) -> bool:
    """Return whether operations on this type may differ from those on the array of its numbers."""
    if kind in _stand_for_numbers:
        return False
    if issubclass(kind, np.ndarray):
        own = kind.__mro__[: kind.__mro__.index(np.ndarray)]
        return any(name in vars(each) for each in own for name in _RULES)
    return _root(kind) not in _LABELLED and (hasattr(kind, "__array_ufunc__") or hasattr(kind, "__array_function__"))


def defers_to(x: ArrayLike) -> bool:
    """Return whether a tracer's operator leaves the operation to the other operand first, as NumPy's arrays do.

    Both orders of the operands then call the same method. pandas leaves it to us (``__pandas_priority__``).
    """
    kind = type(x)
    if kind in NUMPY_TYPES or isinstance(x, Tracer):
        return False
    return is_foreign_array(x) and (computes_its_own_way(kind) or _root(kind) == "xarray")


def hosted(x: ArrayLike) -> Any:
    """Return a foreign value as a number or an array, perhaps of objects; refuse types with rules of their own."""
    number = number_of(x)
    if number is not None:
        return number
    kind = type(x)
    if isinstance(x, Unshaped):
        x.refuse("a function of arrays")
    if is_sparse(x) or computes_its_own_way(kind):
        refuse(x)
    data = getattr(x, "data", None)
    # xarray keeps a tracer whole. np.asarray would split it.
    return data if isinstance(data, Tracer) else np.asarray(x)


def is_sparse(x: ArrayLike) -> bool:
    """Return whether a value is a sparse matrix or array of SciPy's."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and not isinstance(x, np.ndarray) and bool(module.issparse(x))


def holds_tracer(x: ArrayLike) -> bool:
    """Return whether a foreign array, an object array or nested lists contain tracers."""
    if isinstance(x, Tracer):
        return True
    if isinstance(x, list | tuple):
        return any(map(holds_tracer, x))
    if isinstance(x, np.ndarray):
        return x.dtype.kind == "O" and any(map(holds_tracer, np.asarray(x).flat))
    if not is_foreign_array(x):
        return False
    # xarray and pint keep the wrapped array under these names. For a PyTorch tensor the result is a tensor again.
    found = [getattr(x, name, None) for name in ("data", "magnitude")]
    wrapped = [y for y in found if type(y) is not type(x)]
    return any(map(holds_tracer, wrapped)) or (_root(type(x)) == "pandas" and holds_tracer(np.asarray(x)))


def _root(kind: type) -> str:
    return kind.__module__.partition(".")[0]


def refuse(x: ArrayLike) -> NoReturn:
    """Refuse a foreign array with rules of its own, and say what to write instead."""
    kind = type(x)
    raise ForeignArrayError(
        f"a {kind.__module__}.{kind.__qualname__} met a traced value, or a function of funcgrad. "
        f"It {_reason(x)}, for which there are no derivatives here; needed a plain array of numbers. {_remedy(x)}"
    )


def _reason(x: ArrayLike) -> str:
    if is_sparse(x):
        return "holds its elements by their positions and knows operations of its own"
    if isinstance(x, np.ma.MaskedArray):
        return "leaves out what its mask says"
    return "is multiplied as matrices are" if isinstance(x, np.matrix) else "computes by rules of its own"


def _remedy(x: ArrayLike) -> str:
    if is_sparse(x):
        return "Write A @ x or x @ A for a product, which is supported, or take A.toarray()."
    if isinstance(x, np.ma.MaskedArray):
        return "Write np.where(np.ma.getmaskarray(m), 0, m.filled(0) * x), with what masked elements are to count as."
    if isinstance(x, np.matrix):
        return "Take np.asarray(m), and write @ where * meant a product of matrices."
    if hasattr(type(x), "magnitude"):
        return "Take its numbers, x.magnitude, and give the result its unit outside of the transform."
    return "Take its numbers with np.asarray(x), or those of one of its parts."
