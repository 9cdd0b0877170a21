"""``np.asarray(x)`` and ``np.array([x[0], f(x)])``: NumPy has no hook for tracers here, so it gets their elements.

An object array of 0-d tracers computes with their operators and methods. It is stacked into one traced array again when
one of our functions takes it or when it leaves a transform.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy._core import _methods

from funcgrad._core.aval import is_inexact, is_integral
from funcgrad._core.bind import Tracer, active_trace
from funcgrad._core.trace.place import array_like, settled
from funcgrad._core.tracebacks import (
    caller_level,
    takes_traced,
    written_into_plain,
)
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import ArrayLike, DTypeLike
from funcgrad.errors import (
    ForeignArrayError,
    ObjectArrayWarning,
    TracerArrayConversionError,
    TracerAssignmentError,
    UnsupportedFunctionError,
)
from funcgrad.numpy._base.caller import Caller, asking, refuse_to_scipy
from funcgrad.numpy._base.concrete import MOST_FOLLOWED, concrete_value, followed_index, innermost, path_hint

# XLA compiles a program of 256 single elements in 0.2 to 0.6 s, and one of 3,000 in 1 to 9 s.
MAX_OBJECTS = 256
# NumPy has no hook where it refuses such an array, so the error gets this note.
_NOTE = (
    "Before this, NumPy (or pandas) made an array of objects of traced values, by np.array([...]), np.asarray(x), "
    "a.dot(x) of a plain array a, or df @ x. Operators and NumPy's own functions of single elements work on it; linear "
    "algebra, SciPy's functions and pandas do not. Write np.stack([...]) or fnp.array([...]) instead of "
    "np.array([...]), a @ x or np.dot(a, x) instead of a.dot(x), leave np.asarray out, and take df.to_numpy() @ x. "
    "np.nditer takes none of them: write for i in np.ndindex(x.shape): x[i]. Under jit take "
    "funcgrad.numpy.polynomial.Polynomial (Chebyshev, ...) for numpy.polynomial's, whose operators hide our error. "
)
_READ_ONLY = (
    "NumPy's code in C (np.asarray, np.nditer) makes another array from a traced array x, and this array is read-only. "
    "Write into x itself, as in for i in np.ndindex(x.shape): x[i] = v."
)


def _as_index(x: Tracer, by: Caller) -> np.ndarray:
    """Return the numbers of an index into a plain array, or say what to write if no trace follows them."""
    numbers = None if by.at_write else followed_index(x)
    if numbers is not None:
        return numbers
    transform = x._owner.transform
    if by.at_write:
        raise TracerAssignmentError(
            f"out[i] = value: the index is a value {x.aval} that is traced under {transform}, and out is an array of "
            f"plain numbers, which cannot hold what depends on it. {takes_traced()}"
        )
    other = (
        "np.where(mask, array, 0) for array[mask]"
        if x.dtype == bool
        else "funcgrad.numpy.take(array, i, axis=0) for array[i]"
    )
    raise TracerArrayConversionError(
        f"an index was asked of a value {x.aval}: a plain NumPy array was indexed by a value that is traced under "
        f"{transform}, and NumPy has no hook for this. Write {other}, or make the array an argument of the transformed "
        f"function, so that it is traced too.{_paths(x)}"
    )


def _paths(x: Tracer) -> str:
    value = innermost(x)
    return path_hint(value, has_path=value.size <= MOST_FOLLOWED) if isinstance(value, Tracer) else ""


# Code objects distinguish NumPy's own functions from a user's function of the same name.
_AS_STRIDED = np.lib.stride_tricks.as_strided.__code__
_JOINED = type(np.r_).__getitem__.__code__
_STATISTICS = {vars(_methods)[f"_{name}"].__code__: name for name in ("mean", "var", "std")}


def to_array(self: Tracer, dtype: DTypeLike = None, copy: bool | None = None) -> np.ndarray:
    """Return an object array of a tracer's elements for NumPy, or the plain numbers of a place.

    In NumPy ``np.asarray(x)`` returns ``x``. This is another array. Unless a copy was asked for, it follows writes to
    ``x``, and it is read-only.
    """
    by = asking("funcgrad.numpy._array.intercept")
    _refuse_require(self, by)
    plain = settled(self)
    if not isinstance(plain, Tracer):
        return _of_numbers(self, plain, dtype, copy)
    refuse_to_scipy(by)
    if by.module.startswith("scipy.sparse"):
        return _for_sparse(self, by)
    if by.module.startswith("numpy.testing"):
        return _compared(self, dtype, copy)
    _refuse_beside_number(self, by)
    _refuse_in_c(self, by)
    _refuse_by_lapack(self, by)
    if not is_inexact(self.dtype) and by.at_index:
        return _as_index(self, by)
    if self.dtype == bool:
        # Objects that are bools would be added by "or", and NumPy counts them.
        raise TracerArrayConversionError(
            f"numpy.asarray: a traced value {self.aval} was to become an array of objects under "
            f"{self._owner.transform}, whose sums would not count. Write np.stack([...]) or fnp.asarray(x) instead."
        )
    if by.code in _STATISTICS:
        raise TracerArrayConversionError(
            f"numpy.{_STATISTICS[by.code]}: the array is one of objects, traced values one by one under "
            f"{self._owner.transform}, and NumPy makes a plain number {np.dtype(dtype).name} of the result, which "
            "would carry no derivative. Write np.stack([...]) or fnp.array([...]) instead of np.array([...]), and "
            "leave np.asarray(x) out."
        )
    if dtype is not None and np.dtype(dtype) != object:
        if by.at_write:
            raise TracerAssignmentError(written_into_plain())
        raise TracerArrayConversionError(
            f"numpy.asarray: a traced value {self.aval} was to become an array of dtype {np.dtype(dtype).name}, "
            f"which would carry no derivative under {self._owner.transform}. "
            "Leave the conversion out, use fnp.asarray(x, dtype), or take the plain values with fg.stop_gradient(x). "
            "Where NumPy converts an argument by itself, as np.take(array, i) does, call the function of fnp: fnp.take."
        )
    shape = self.shape
    size = int(np.prod(shape))
    if size > MAX_OBJECTS:
        raise TracerArrayConversionError(
            f"numpy.asarray: a traced value {self.aval} was to become a numpy.ndarray under {self._owner.transform}; "
            f"element by element this is done up to {MAX_OBJECTS} elements, and here are {size}. "
            "Leave the conversion out or use fnp.asarray(x), which keeps the traced array whole."
        )
    self._owner.note = _NOTE + _READ_ONLY, ""
    # A list of traced numbers may have plain numbers, too. Its elements come here one by one.
    self._owner.made_objects = "arrays" if shape and self._owner.made_objects != "lists" else "lists"
    warnings.warn(
        "numpy made an object array of traced values: derivatives are right, but each element is computed on its own, "
        "and NumPy compares plain numbers in it as Python does, which loses NaN: np.max, np.clip and np.sort refuse it "
        "there, and np.maximum and its relatives refuse the list. Write np.stack([...]) or "
        "fnp.asarray(x) instead of np.array([...]) or np.asarray(x), and a @ x instead of a.dot(x).",
        ObjectArrayWarning,
        stacklevel=caller_level(),
    )
    return _as_objects(self, by, copy or dtype is not None)


def _as_objects(self: Tracer, by: Caller, copies: bool) -> np.ndarray:
    # NumPy's polynomials convert integers to floats if the dtype is an integer one, which that of objects is not.
    if by.module.startswith("numpy.polynomial.") and is_integral(self.dtype):
        return _locked(elements(cast(self, np.dtype(float))), copies)
    return _locked(elements(self), copies) if copies else _following(self, object)


def refuse_nan(x: ArrayLike, y: ArrayLike, by: Caller | None = None) -> None:
    """Refuse to order NaN after NumPy made an array of objects.

    NumPy's maximum, fmax and sort compare objects by Python's operators, for which NaN is neither greater nor less. So
    they would give other numbers than for an array of numbers. Nothing tells their comparisons from those of the user.
    NumPy compares the plain numbers of the array without us. So ``by``, the function that compares, is asked for the
    others if it is NumPy's, as in ``np.max([nan, 1.0, x])``. Of ``np.maximum([nan, x], 0.0)`` nothing is known, so it
    is refused after NumPy made an array of a list, whatever the numbers are. An array of one traced array has no other
    numbers: ``np.maximum(np.asarray(x), 0.0)`` compares each of them by our operators.

    Raises:
        TracerArrayConversionError: one of the values is NaN, as far as their numbers are known, or may be.
    """
    if not any(isinstance(each, Tracer) and each._owner.made_objects for each in (x, y)):
        return
    beside = _flat(by.numpys_operands) if by is not None else ()
    for each in (innermost(x), innermost(y), *beside):
        if not isinstance(each, Tracer) and np.shape(each) == () and each != each:  # noqa: PLR0124  (NaN alone)
            raise TracerArrayConversionError(
                "a traced value was compared with NaN, after NumPy had made an array of objects of traced values "
                "(np.array([...]), np.max([...]), np.sort([...])). NumPy's maximum, fmax and sort of objects order NaN "
                "as Python does, and give other numbers than for an array of numbers. Write np.stack([...]) or "
                "fnp.array([...]) for the list; where your own code compares, ask np.isnan first."
            )
    lists = any(isinstance(each, Tracer) and each._owner.made_objects == "lists" for each in (x, y))
    if lists and by is not None and by.calls_extremes:
        raise TracerArrayConversionError(
            "np.maximum, np.minimum, np.fmax or np.fmin met a list of traced numbers or an array of one. NumPy "
            "compares plain numbers in it as Python does, and loses NaN without a word. Write np.stack([...]) or "
            "fnp.array([...]) for the list, or fnp.maximum(x, y) for each pair of numbers."
        )


def _flat(operands: Sequence[Any]) -> Iterator[Any]:
    """Yield the elements of lists and of arrays of objects. Arrays of numbers are none of them."""
    for x in operands:
        if isinstance(x, list | tuple):
            yield from _flat(x)
        elif isinstance(x, np.ndarray):
            yield from x.flat if x.dtype == object else ()
        elif issubclass(type(x), float | np.generic):
            yield x


def _refuse_beside_number(self: Tracer, by: Caller) -> None:
    """Refuse ``np.r_[x, 1.0]`` where NumPy keeps the dtype of ``x``: in an array of objects, 1.0 would widen it."""
    numbers = by.joined_numbers if by.code is _JOINED else ()
    if any(np.result_type(self.dtype, type(each)) != np.result_type(self.dtype, each) for each in numbers):
        raise UnsupportedFunctionError(
            f"np.r_, np.c_: a traced array {self.aval} was to be joined to a Python number, which NumPy converts to "
            f"{self.dtype.name}; here the result would be wider. Write np.concatenate([x, fnp.full(1, number, "
            "x.dtype)]), or x.dtype.type(number) in place of the number."
        )


def _compared(self: Tracer, dtype: DTypeLike, copy: bool | None) -> np.ndarray:
    """Return the numbers for an assertion of ``numpy.testing``. As in ``assert x > 0``, no derivative is lost."""
    return _locked(np.array(concrete_value(self, "numpy.testing"), dtype), copy)


def _of_numbers(self: Tracer, plain: np.ndarray, dtype: DTypeLike, copy: bool | None) -> np.ndarray:
    if (active := active_trace()) is not None and active.note is None:
        active.note = _READ_ONLY, "read-only"
    if copy or (dtype is not None and np.dtype(dtype) != plain.dtype):
        return _locked(np.array(plain, dtype, copy=copy), copy)
    return _following(self, plain.dtype)


def _following(x: Tracer, dtype: DTypeLike) -> np.ndarray:
    """Return an array of the elements of ``x`` that follows the writes to it."""
    like = array_like(x)
    dense = like.flags.c_contiguous or like.flags.f_contiguous
    # If ``x`` has gaps, NumPy copies it where it needs an array without gaps. So this one has gaps, too.
    memory = np.empty_like(like, dtype) if dense else np.empty((*x.shape, 2), dtype)
    traces: list[Any] = []
    trace = active_trace()
    while trace is not None:
        traces.append(trace)
        trace = trace.outer

    def forget(gone: Any) -> None:
        for each in traces:
            each.followers.pop(id(gone), None)

    made = weakref.ref(memory, forget)

    def follow(place: Tracer | None, region: Any) -> None:
        array: Any = made()
        if array is None:
            return
        value: Any = settled(x)
        if isinstance(value, Tracer) and array.dtype != object:
            raise TracerAssignmentError(
                f"x[i] = v: a traced value was written into an array {x.aval} of plain numbers, from which NumPy had "
                "made an array of its own (np.asarray(x), np.nditer(x)). That array cannot hold what depends on the "
                "value. Leave np.asarray out, or write np.array(x) if a copy is meant."
            )
        # The region is one of the array that was written to. Another name of its memory may show other elements there.
        at = region if place is x else ...
        part: Any = value[at]  # pyright: ignore[reportIndexIssue]  (operators are attached to tracers)
        array.flags.writeable = True
        (array if dense else array[..., 0])[at] = elements(part) if isinstance(part, Tracer) else part
        array.flags.writeable = False

    follow(None, ...)
    for each in traces:
        each.followers = {**(each.followers or {}), id(made): follow}
    return _locked(memory if dense else memory[..., 0], copy=False)


def _locked(array: np.ndarray, copy: bool | None) -> np.ndarray:
    array.flags.writeable = bool(copy)
    return array


def elements(x: Tracer) -> np.ndarray:
    """Return a traced array as an array of objects, each element a traced value of its own."""
    shape = x.shape
    size = int(np.prod(shape))
    objects = np.empty(size, object)
    flat: Any = reshape(x, (size,)) if shape else None
    for i in range(size):
        objects[i] = flat[i] if shape else x
    return objects.reshape(shape)


def put_elements(out: np.ndarray, y: ArrayLike) -> np.ndarray:
    """Write a result into an array of objects, element by element, as in ``c[i:j] -= t``."""
    out[...] = elements(y) if isinstance(y, Tracer) else y
    return out


def refuse_pickling(self: Tracer) -> NoReturn:
    """Refuse to pickle a traced value, which ends with its transform."""
    raise UnsupportedFunctionError(
        f"pickle: it met a traced value {self.aval} under {self._owner.transform}, which ends with the transform; "
        "needed plain numbers. Pickle the results outside of it, or fg.stop_gradient(x), the plain values of x."
    )


# The functions of numpy.polynomial that use LAPACK, which takes no objects.
_BY_LAPACK = ("fit", "roots")


def _refuse_require(self: Tracer, by: Caller) -> None:
    if by.code is np.require.__code__:
        raise UnsupportedFunctionError(
            f"numpy.require: it met a traced array {self.aval}, and returns an array that may or may not be the same "
            "one, by its memory. Leave numpy.require out: a traced array can be written to and has no alignment."
        )


def _refuse_in_c(self: Tracer, by: Caller) -> None:
    """Refuse SciPy's filters, whose loops in C would read the objects as numbers, and ``as_strided``."""
    # NumPy would read the object array with the strides of numbers, at addresses that are no pointers.
    if by.code is _AS_STRIDED:
        raise UnsupportedFunctionError(
            f"numpy.lib.stride_tricks.as_strided: it met a traced array {self.aval}, whose memory has no "
            "strides of its own. Use numpy.lib.stride_tricks.sliding_window_view, slices with steps, or indices."
        )
    if by.module.startswith("scipy.ndimage"):
        raise TracerArrayConversionError(
            f"scipy.ndimage: a function of SciPy's met a traced value {self.aval} under {self._owner.transform}; its "
            "own code reads plain numbers only. Take them with fg.stop_gradient(x), or call it by fg.call_numpy inside "
            "of a fg.custom_jvp function."
        )


def _refuse_by_lapack(self: Tracer, by: Caller) -> None:
    """Refuse a fit of ``numpy.polynomial``, or the roots of more than a line."""
    for each in by.outwards("numpy.polynomial."):
        name, module = each.function, each.module
        for end in _BY_LAPACK:
            family = name.removesuffix(end)
            if name.endswith(end) and family and not module.endswith(("polyutils", "_polybase")):
                if end == "roots" and (family.endswith("from") or self.shape < (3,)):
                    return
                raise UnsupportedFunctionError(
                    f"{module}.{name}: it met a traced array {self.aval}, and NumPy computes it by LAPACK, where a "
                    f"derivative would be lost. Use funcgrad.numpy.polynomial.{name}, or the class there."
                )


def _for_sparse(self: Tracer, by: Caller) -> np.ndarray:
    """Return a 0-d object for SciPy's sparse matrices, so that their product is left to our ``__rmatmul__``."""
    if by.function != "_matmul_dispatch":
        raise ForeignArrayError(
            f"an operation of scipy.sparse other than a product with @ met a traced value {self.aval}, whose elements "
            "it would take out of the array. The product of a sparse matrix and a traced vector or matrix is "
            f"supported under {self._owner.transform}. Write A @ x, take A.toarray(), or make a matrix of traced "
            "elements with fg.scipy.sparse.coo_array."
        )
    whole = np.empty((), object)
    whole[()] = self
    return whole
