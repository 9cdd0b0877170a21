"""Guests: what is no array of numbers and meets one. Numbers of other kinds, subclasses of ``ndarray``, other arrays.

One rule for all: a guest that stands for plain numbers is taken as the array of them, a guest that computes by rules of
its own (a mask, units, matrix products) is refused by name, since no derivative knows of these rules.
"""

from __future__ import annotations

import functools
import numbers
import sys
from decimal import Decimal
from typing import Any, NoReturn

import numpy as np

from funcgrad._core.aval import is_inexact, is_integral
from funcgrad._core.bind import NUMPY_TYPES, Tracer, is_value
from funcgrad.errors import ForeignArrayError

# Their arithmetic is NumPy's but for labels, which traced arrays do not have.
_LABELLED = frozenset({"pandas", "xarray"})
_OPERATORS = ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "pow")
_RULES = ("__array_ufunc__", "__array_function__", *[f"__{r}{name}__" for name in _OPERATORS for r in ("", "r")])


def number_of(x: Any) -> Any:
    """``x`` as a Python or NumPy number; ``None`` where it is none. ``Fraction`` and ``Decimal`` become floats."""
    if isinstance(x, bool | int | float | complex):
        return x
    if isinstance(x, np.generic):
        return x if is_number_dtype(x.dtype) else None
    if isinstance(x, numbers.Integral):
        return int(x)
    if isinstance(x, numbers.Real | Decimal):
        return float(x)
    return complex(x) if isinstance(x, numbers.Complex) else None


def is_number_dtype(dtype: np.dtype) -> bool:
    """Whether arrays of this dtype hold numbers: no objects, text, dates or records."""
    return is_integral(dtype) or is_inexact(dtype)


def is_object_array(x: Any) -> bool:
    """Whether this is an array of Python objects."""
    return isinstance(x, np.ndarray) and x.dtype.kind == "O"


def is_foreign_array(x: Any) -> bool:
    """Whether this is an array to others: a subclass of ``ndarray``, or what NumPy would make an array of."""
    return not is_value(x) and (hasattr(type(x), "__array__") or hasattr(type(x), "__array_ufunc__"))


@functools.cache
def computes_its_own_way(kind: type) -> bool:
    """Whether operations on this type may mean something else than on the array of its numbers."""
    if issubclass(kind, np.ndarray):
        own = kind.__mro__[: kind.__mro__.index(np.ndarray)]
        return any(name in vars(each) for each in own for name in _RULES)
    return _root(kind) not in _LABELLED and (hasattr(kind, "__array_ufunc__") or hasattr(kind, "__array_function__"))


def defers_to(x: Any) -> bool:
    """Whether a tracer's operator leaves the operation to the other operand first, as NumPy's arrays do.

    Both orders then end in the same method. pandas leaves it to us (``__pandas_priority__``).
    """
    kind = type(x)
    if kind in NUMPY_TYPES or isinstance(x, Tracer):
        return False
    return is_foreign_array(x) and (computes_its_own_way(kind) or _root(kind) == "xarray")


def hosted(x: Any) -> Any:
    """What is no value as a number or an array, of objects if need be; refused where it computes in its own way."""
    number = number_of(x)
    if number is not None:
        return number
    kind = type(x)
    if is_sparse(x) or computes_its_own_way(kind):
        refuse(x)
    data = getattr(x, "data", None)
    # xarray keeps a tracer whole; an array made of it would not.
    return data if isinstance(data, Tracer) else np.asarray(x)


def is_sparse(x: Any) -> bool:
    """Whether this is a sparse matrix or array of SciPy's."""
    module = sys.modules.get("scipy.sparse")
    return module is not None and not isinstance(x, np.ndarray) and bool(module.issparse(x))


def holds_tracer(x: Any) -> bool:
    """Whether tracers stand inside of a guest, an object array or nested lists."""
    if isinstance(x, Tracer):
        return True
    if isinstance(x, list | tuple):
        return any(map(holds_tracer, x))
    if isinstance(x, np.ndarray):
        return x.dtype.kind == "O" and any(map(holds_tracer, np.asarray(x).flat))
    if not is_foreign_array(x):
        return False
    # The names under which the libraries keep what they wrap: xarray, pint. Of a PyTorch tensor it is a tensor again.
    found = [getattr(x, name, None) for name in ("data", "magnitude")]
    wrapped = [y for y in found if type(y) is not type(x)]
    return any(map(holds_tracer, wrapped)) or (_root(type(x)) == "pandas" and holds_tracer(np.asarray(x)))


def _root(kind: type) -> str:
    return kind.__module__.partition(".")[0]


def refuse(x: Any) -> NoReturn:
    """Refuse a guest that computes by rules of its own, with what to write instead."""
    kind = type(x)
    raise ForeignArrayError(
        f"a {kind.__module__}.{kind.__qualname__} met a traced value, or a function of funcgrad. "
        f"It {_reason(x)}, for which there are no derivatives here; needed a plain array of numbers. {_remedy(x)}"
    )


def _reason(x: Any) -> str:
    if is_sparse(x):
        return "holds its elements by their positions and knows operations of its own"
    if isinstance(x, np.ma.MaskedArray):
        return "leaves out what its mask says"
    return "is multiplied as matrices are" if isinstance(x, np.matrix) else "computes by rules of its own"


def _remedy(x: Any) -> str:
    if is_sparse(x):
        return "Write A @ x or x @ A for a product, which is supported, or take A.toarray()."
    if isinstance(x, np.ma.MaskedArray):
        return "Write np.where(np.ma.getmaskarray(m), 0, m.filled(0) * x), with what masked elements are to count as."
    if isinstance(x, np.matrix):
        return "Take np.asarray(m), and write @ where * meant a product of matrices."
    if hasattr(type(x), "magnitude"):
        return "Take its numbers, x.magnitude, and give the result its unit outside of the transform."
    return "Take its numbers with np.asarray(x), or those of one of its parts."
