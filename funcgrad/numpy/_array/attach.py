"""The array interface of tracers: NumPy's protocols, the operators and the methods, attached in one place."""

from __future__ import annotations

import builtins
import functools
import math
import sys
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from funcgrad import errors, tree
from funcgrad._core.bind import NO_PARAMS, Tracer, keeps
from funcgrad._core.trace.place import is_number, settled, writable
from funcgrad._core.words import BARE, retell
from funcgrad._types import Array, ArrayLike, DTypeLike
from funcgrad.numpy._array import memory, number, number_methods
from funcgrad.numpy._array.operators import OPERATORS
from funcgrad.numpy._array.ufunc_at import ufunc_at
from funcgrad.numpy._array.ufunc_folds import fold
from funcgrad.numpy._array.ufunc_options import with_options
from funcgrad.numpy._base import concrete, object_arrays, text
from funcgrad.numpy._base.caller import caller, refuse_to_scipy
from funcgrad.numpy._base.dispatch import (
    direct_ufuncs,
    find_late,
    find_special,
    functions,
    refuse,
    refuse_option,
    ufunc_methods,
    ufuncs,
)
from funcgrad.numpy._base.foreign import Unshaped
from funcgrad.numpy._choose import at, indexing, writes
from funcgrad.numpy._choose import take as selection
from funcgrad.numpy._choose import where as choice
from funcgrad.numpy._choose.assign import in_place, setitem
from funcgrad.numpy._choose.flat import Flat
from funcgrad.numpy._contract import products as contractions
from funcgrad.numpy._layout import creation, rearrange, shape
from funcgrad.numpy._math import complex as complex_
from funcgrad.numpy._math import elementwise as e
from funcgrad.numpy._math import logic, rounding
from funcgrad.numpy._math import transcendental as t
from funcgrad.numpy._reduce import cumulative, reductions, sorting, statistics

_NDARRAY = np.ndarray


_ORDERS = frozenset({np.less, np.less_equal, np.greater, np.greater_equal})


def _array_ufunc(self: Tracer, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
    if method == "__call__":
        direct = direct_ufuncs.get(ufunc)
        if (
            direct is not None
            and not options
            and self.dtype.kind in direct[1]
            and (len(inputs) == 1 or _is_prepared(self, inputs[inputs[0] is self]))
        ):
            # No operand needs a conversion. This path saves a fifth of the operation's time.
            y = self._owner.apply(direct[0], inputs, NO_PARAMS)
            if self.shape:
                return y if type(y) is not _NDARRAY else writable(y)
            if ufunc in _ORDERS:
                object_arrays.refuse_nan(*inputs)
            return y if type(y) is type(self) and not y.aval.weak else e.numpys_number(y)
        # A loop enters no function, as a generator would: small operations pass here.
        for x in inputs:
            if isinstance(x, Unshaped):
                return NotImplemented
        function = ufuncs.get(ufunc) or find_special(ufunc) or functools.partial(_on_plain, ufunc)
        if options:
            return with_options(ufunc, function, inputs, options)
        if ufunc in _ORDERS and not self.shape:
            object_arrays.refuse_nan(*inputs)
        y = function(*inputs)
        return writable(y) if type(y) is _NDARRAY else y
    return _by_method(ufunc, method, inputs, options)


def _is_prepared(x: Tracer, other: ArrayLike) -> bool:
    """Return whether an operand of a traced array needs no conversion."""
    kind = type(other)
    return (
        kind is float
        or kind is int
        or (kind is _NDARRAY and other.dtype is x.dtype)
        or (kind is type(x) and other._owner is x._owner and other.dtype is x.dtype)
    )


def _by_method(ufunc: np.ufunc, method: str, inputs: tuple, options: dict) -> Any:
    """Apply a method of a ufunc, such as ``ufunc.at`` or ``ufunc.reduce``."""
    if method == "at":
        return ufunc_at(ufunc, *inputs)
    function = ufunc_methods.get((ufunc, method)) or fold(ufunc, method)
    if function is None:
        if method == "outer" and ufunc in ufuncs:
            return with_options(ufunc, lambda x, y: e.outer(ufunc, x, y), inputs, options)
        refuse(f"{ufunc.__name__}.{method}")
    return function(*inputs, **options)


def _array_function(self: Tracer, function: Callable[..., Any], types: Any, args: tuple, kwargs: dict) -> Any:
    for kind in types:
        if issubclass(kind, Unshaped):
            return NotImplemented
    ours = functions.get(function) or find_late(function) or functools.partial(_on_plain, function)
    try:
        y = ours(*args, **kwargs)
    except BARE as error:
        retell(error, function, args, kwargs)
    # A result that does not depend on its operands (np.sign, np.round) must take traced values too.
    return writable(y) if type(y) is _NDARRAY else y


def _on_plain(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Let NumPy compute a function that we lack, if all tracers hold plain numbers; else refuse it."""
    if any(isinstance(settled(x), Tracer) for x in tree.leaves((args, kwargs))):
        # SciPy's public function may be a wrapper of the ufunc.
        special = getattr(sys.modules.get("scipy.special._ufuncs"), getattr(function, "__name__", ""), None)
        refuse(function, "scipy.special" if special is function else getattr(function, "__module__", None) or "numpy")
    # NumPy gets read-only arrays: other names and views would not see a write.
    args, kwargs = tree.map(lambda x: np.asarray(x) if isinstance(x, Tracer) else x, (args, kwargs))
    return function(*args, **kwargs)


def _jax_array(self: Tracer) -> NoReturn:
    """Refuse JAX, which looks up this attribute on operands: its functions cannot take our tracers.

    For JAX's operators (``jax_array * tracer``) the attribute is missing, so that they defer to ours.
    """
    if caller().module.endswith("array_methods"):
        raise AttributeError("__jax_array__")
    # The class is not TypeError, because jax.jit would replace its message.
    raise errors.UnsupportedFunctionError(
        f"a jax.numpy function met a traced value {self.aval} of funcgrad, whose derivative it would lose. "
        "Use numpy or funcgrad.numpy here, or wrap the JAX function with fg.from_jax."
    )


def astype(
    self: Tracer, dtype: DTypeLike, order: Any = "K", casting: Any = "unsafe", subok: bool = True, copy: bool = True
) -> Array:
    """Return ``x.astype(dtype)``. For dtype object, each element becomes a traced value of its own."""
    if np.dtype(dtype) == object:
        return object_arrays.to_array(self)
    return creation.astype_method(self, dtype, order, casting, subok, copy)


_TWO_NAMESPACES = (
    "A function that chooses an Array API namespace (SciPy's do if SCIPY_ARRAY_API=1) met a traced value and a plain "
    "NumPy array; needed arrays of one kind. Pass fnp.array(c) for the plain array c: while a transform runs it is of "
    "the same kind. Or leave SCIPY_ARRAY_API unset, call the function of fg.scipy, or call it inside: "
    "with fg.intercept()."
)


def _array_namespace(self: Tracer, api_version: Any = None) -> Any:
    """Return the functions of the Array API. SciPy asks for them, but needs more functions than these."""
    refuse_to_scipy(caller(), ("scipy.fft",))
    if self._owner.note is None:
        self._owner.note = _TWO_NAMESPACES, "Multiple namespaces"
    return sys.modules["funcgrad.numpy"]


def _view(self: Tracer, dtype: Any = None, type: Any = None) -> Any:  # noqa: A002  (NumPy's name)
    """``x.view()``."""
    for each in (dtype, type):
        if each is None or each is np.ndarray:
            continue
        if isinstance(each, builtins.type) and issubclass(each, np.ndarray):
            refuse_option("ndarray.view", "type", f"A traced array becomes no {each.__name__}: use x itself.")
        refuse_option("ndarray.view", "dtype", "The bits of a traced array have no derivative: convert it by .astype.")
    # The view of a number is a number.
    return indexing.getitem(self, () if is_number(self) else ...)


def _compress(self: Tracer, condition: ArrayLike, axis: int | None = None, out: Array = None) -> Any:
    """Return the parts along an axis where a condition is true: ``np.compress``."""
    return selection.compress(condition, self, axis, out)


def _round(self: Tracer, decimals: int = 0, out: Array = None) -> Any:
    """Return the values rounded to a number of decimals: ``np.round``."""
    return writable(rounding.round_(self, decimals, out))


# NumPy's loops over object arrays call these methods by name on each element, which is a 0-d tracer.
_ELEMENTS = (
    t.exp, t.exp2, t.expm1, e.log, t.log2, t.log10, t.log1p, e.sqrt, t.cbrt, t.square, t.reciprocal, t.fabs,
    t.sin, t.cos, t.tan, t.arcsin, t.arccos, t.arctan, t.arctan2, t.sinh, t.cosh, t.tanh, t.arcsinh, t.arccosh,
    t.arctanh, t.hypot, t.deg2rad, t.rad2deg, rounding.rint, rounding.fmod, logic.logical_not, logic.logical_xor,
)  # fmt: skip

METHODS: dict[str, Any] = {
    "__getitem__": indexing.getitem,
    "__setitem__": setitem,
    "_class_of": number.class_of,
    "__len__": number.Length(indexing.length),
    "__iter__": indexing.iterate,
    "__contains__": lambda self, x: bool(reductions.any_(e.equal(self, x))),
    "__delitem__": writes.refused_method("__delitem__", "Write y = np.delete(x, index)."),
    "reshape": shape.reshape_method,
    "ravel": shape.ravel,
    "flatten": shape.flatten_method,
    "transpose": shape.transpose_method,
    "swapaxes": shape.swapaxes,
    "squeeze": shape.squeeze,
    "repeat": rearrange.repeat,
    "take": selection.take,
    "choose": selection.choose_method,
    "compress": _compress,
    "nonzero": selection.nonzero,
    "astype": astype,
    "sum": reductions.sum_,
    "prod": reductions.prod,
    "max": reductions.max_,
    "min": reductions.min_,
    "mean": statistics.mean,
    "var": statistics.var,
    "std": statistics.std,
    "all": reductions.all_,
    "any": reductions.any_,
    "argmax": reductions.argmax,
    "argmin": reductions.argmin,
    "cumsum": cumulative.cumsum,
    "cumprod": cumulative.cumprod,
    "argsort": sorting.argsort,
    "argpartition": sorting.argpartition,
    "searchsorted": sorting.searchsorted,
    "sort": writes.sort_method,
    "partition": writes.partition_method,
    "put": writes.put,
    "fill": writes.fill_method,
    "resize": writes.refused_method("resize", "Write y = np.resize(x, shape), or reshape."),
    "byteswap": writes.refused_method("byteswap", "Swap the bytes of the plain array before the transform."),
    "setfield": writes.refused_method("setfield", "Write x.real = v, x.imag = v, or x[...] = v."),
    "setflags": writes.refused_method("setflags", "Leave the call out: a traced array can always be written to."),
    **memory.METHODS,
    "dot": contractions.dot,
    "diagonal": contractions.diagonal_,
    "trace": contractions.trace,
    **{function.__name__: function for function in _ELEMENTS},
    "radians": t.deg2rad,
    "degrees": t.rad2deg,
    "conjugate": complex_.conjugate_method,
    "conj": complex_.conjugate_method,
    "round": _round,
    "clip": choice.clip_method,
    "view": _view,
    "copy": shape.copy_method,
    "item": concrete.to_item,
    "tolist": concrete.to_list,
    "__copy__": shape.copy_by_module,
    "__deepcopy__": lambda self, memo: shape.copy_by_module(self),
    "__reduce__": object_arrays.refuse_pickling,
    "__hash__": concrete.to_hash,
    "__array_ufunc__": _array_ufunc,
    "__array_function__": _array_function,
    "__array__": object_arrays.to_array,
    "__array_namespace__": _array_namespace,
    # pandas has the numbers 2,000 to 4,000, and leaves the operation to an operand with a greater one.
    "__pandas_priority__": 10_000,
    "__repr__": text.to_text,
    "__str__": text.to_str,
    "__format__": text.to_format,
}
ATTRIBUTES: dict[str, Callable[[Any], Any]] = {
    "ndim": lambda self: len(self.shape),
    "size": lambda self: math.prod(self.shape),
    "itemsize": lambda self: self.dtype.itemsize,
    "nbytes": lambda self: self.size * self.dtype.itemsize,
    "T": shape.t_attribute,
    "mT": shape.matrix_transpose,
    "at": at.At,
    "real": complex_.real,
    "imag": complex_.imag,
    "flat": Flat,
    "device": memory.device,
    **memory.HIDDEN,
    **number_methods.ATTRIBUTES,
    "__jax_array__": _jax_array,
}

SETTERS: dict[str, Callable[[Any, Any], None]] = {
    "real": writes.set_real,
    "imag": writes.set_imag,
    "flat": writes.set_flat,
}

_IN_PLACE = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "pow": np.power,
    "matmul": np.matmul,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
}
for _name, _ufunc in _IN_PLACE.items():
    METHODS[f"__i{_name}__"] = in_place(_ufunc, OPERATORS[f"__{_name}__"])
for _name, _method in {**OPERATORS, **METHODS}.items():
    setattr(Tracer, _name, _method)
for _name, _function in ATTRIBUTES.items():
    setattr(Tracer, _name, property(_function, SETTERS.get(_name, keeps(_name))))
