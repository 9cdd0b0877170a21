"""Conversion of arguments (lists, object arrays of tracers, scalars), and the dtypes of NumPy's ufuncs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from funcgrad._core.aval import aval_of, common_dtype, is_integer, result_dtype
from funcgrad._core.bind import NUMPY_TYPES, Tracer, bind, is_engine_value, is_value, set_foreign_rule
from funcgrad._core.numbers import PYTHON_NUMBERS, array_of, require_room
from funcgrad._core.primitive import Primitive
from funcgrad._ops.elementwise.cast import cast, cast_p, weak_cast_p
from funcgrad._ops.index.join import stack
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import ArrayLike
from funcgrad.errors import ForeignArrayError
from funcgrad.numpy._base.foreign import (
    holds_tracer,
    hosted,
    is_foreign_array,
    is_number_dtype,
    is_object_array,
    number_of,
)
from funcgrad.numpy._base.strict import check_widening, widening
from funcgrad.tree import leaves


def as_value(x: ArrayLike) -> Any:
    """Return ``x`` as a value for primitives.

    Arrays, numbers and tracers unchanged, anything else as an array of numbers.

    Our functions convert their arguments by this function. Text, or an object array with other objects than numbers,
    becomes NumPy's array of it. Among bare values NumPy handles such an array. Combined with a traced value it has no
    common dtype, or `cast` refuses it.

    Args:
        x: an array, number or tracer, or a nested list of these.

    Returns:
        ``x`` itself if it is an array, a number or a tracer, else an array.

    Example:
        >>> import numpy as np
        >>> from funcgrad import extend
        >>> extend.as_value([1.0, 2.0])
        array([1., 2.])
        >>> extend.as_value(3)
        3
    """
    if type(x) is np.ndarray:
        return from_objects(x) if x.dtype.kind == "O" else x
    if isinstance(x, Tracer):
        return x
    if isinstance(x, list | tuple) and not all(type(leaf) in NUMPY_TYPES for leaf in leaves(x)):
        return from_sequence(x)
    if is_value(x):
        return x
    x = np.asarray(x) if isinstance(x, list | tuple) else hosted(x)
    return from_objects(x) if is_object_array(x) else x


def from_sequence(xs: Sequence[Any]) -> Any:
    """Return nested lists that contain tracers or arrays of another engine as one array."""
    values = [as_value(x) for x in xs]
    # In a list a Python float is as strong as any float64: np.array([np.float32(1), 1.0]) is float64.
    return stack(list(promote(*values)), 0)


def from_objects(x: np.ndarray) -> Any:
    """Convert an object array to one traced array of its tracers, or to an array of its numbers.

    An array with other objects is refused if it contains a tracer, and unchanged otherwise.
    """
    found = list(np.asarray(x).flat)
    elements = [_element(each) for each in found]
    strange = [each for each, element in zip(found, elements, strict=True) if element is None]
    if strange:
        if any(map(holds_tracer, found)):
            _refuse_elements(x, strange[0])
        return x
    if any(hasattr(element, "aval") or is_engine_value(element) for element in elements):
        return reshape(from_sequence(elements), x.shape)
    y = np.array(elements)
    # NumPy stores integers beyond 64 bits as objects.
    return (y.astype(float) if y.dtype.kind == "O" else y).reshape(x.shape)


def _beside_no_objects(values: tuple) -> tuple:
    """Return the operands, each empty array of objects in the dtype of the others. NumPy has a loop for all of them."""
    is_empty = [type(x) is np.ndarray and x.dtype.kind == "O" and not x.size for x in values]
    others = [as_value(x) for x, empty in zip(values, is_empty, strict=True) if not empty]
    if len(others) in (0, len(values)):
        return values
    dtype = result_dtype(*others)
    return tuple([np.empty(x.shape, dtype) if empty else x for x, empty in zip(values, is_empty, strict=True)])


def _element(x: ArrayLike) -> Any:
    """Return an element of an object array as a number or a 0-d array; ``None`` if it is no single number."""
    if isinstance(x, np.ndarray):
        x = as_value(x) if x.ndim == 0 else None
    elif not is_value(x):
        return number_of(x)
    return None if x is None or aval_of(x).shape or not is_number_dtype(aval_of(x).dtype) else x


def _refuse_elements(x: np.ndarray, element: ArrayLike) -> NoReturn:
    what = str(aval_of(element)) if hasattr(element, "dtype") else f"a {type(element).__name__}"
    raise ForeignArrayError(
        f"an array of objects {aval_of(x)} holds traced values. One of its elements is {what}; needed numbers and 0-d "
        "traced values alone. Make the array with np.stack or fnp.asarray, and keep what is no number out of it."
    )


def promote(*values: Any, ufunc: np.ufunc | None = None) -> tuple:
    """Return values as arrays of their common dtype. A Python number counts as an array of its own dtype.

    Args:
        *values: arrays of either engine, tracers, numbers.
        ufunc: the operation that computes with them, for a rule of promotion that refuses some dtypes.

    Returns:
        One array or tracer for each value, all of the same dtype.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> [x.dtype.name for x in fg.extend.promote(np.float32([1.0]), np.int64([2]), 3.0)]
        ['float64', 'float64', 'float64']
    """
    rule = _promotion_of(values)
    if rule is not None:
        values = tuple([as_value(x) for x in values])
        dtype = rule(values, ufunc)
        return tuple([cast(array_of(x), dtype) for x in values])
    arrays = [x if getattr(x, "shape", ()) else strong(x) for x in values]
    if (on_widening := widening.get()) is not None:
        check_widening(on_widening, map(kind_of, arrays))
    dtype = common_dtype(*[x.dtype for x in arrays])
    return tuple([cast(x, dtype) for x in arrays])


def promote_weakly(*values: Any) -> tuple:
    """Return values as arrays of their common dtype. Python numbers are weak, as in ufuncs (NEP 50)."""
    rule = _promotion_of(values)
    if (on_widening := widening.get()) is not None:
        check_widening(on_widening, map(kind_of, values))
    dtype = result_dtype(*values) if rule is None else rule(values, None)
    # A Python number is converted without a primitive, which would take ten times as long.
    return tuple([dtype.type(x) if type(x) in PYTHON_NUMBERS else cast(x, dtype) for x in values])


def _promotion_of(values: tuple) -> Callable[[tuple, Any], np.dtype] | None:
    """Return the rule of promotion that an operand brings with it; ``None`` for NumPy's."""
    for x in values:
        if isinstance(x, Tracer) and x._promotion is not None:
            return x._promotion
    return None


def strong(x: ArrayLike) -> Any:
    """Return a value as NumPy's ``asarray`` does: a Python number becomes an array, whose dtype is not weak."""
    x = array_of(as_value(x))
    return cast_p(x, dtype=x.dtype) if isinstance(x, Tracer) and x.aval.weak else x


def assigned(x: ArrayLike, dtype: np.dtype) -> Any:
    """Return a value in the dtype of the array that it is put into. A number must fit, alone or in lists."""
    if is_integer(dtype):
        for number in leaves(x) if isinstance(x, list | tuple) else (x,):
            if type(number) in _ROOMED or (number is not x and issubclass(type(number), np.number)):
                require_room(number, dtype)
    return cast(array_of(as_value(x)), dtype)


# The types of Python's numbers that are checked before they go into arrays of integers.
_ROOMED = frozenset({int, float})


def dtype_of(x: ArrayLike) -> np.dtype:
    """Return the dtype of a value; for a Python scalar the one it has on its own.

    Args:
        x: an array, number or tracer, or a nested list of numbers.

    Returns:
        The dtype; of a Python number float64, int64, bool or complex128.

    Example:
        >>> from funcgrad import extend
        >>> extend.dtype_of(1.5)
        dtype('float64')
    """
    return x.dtype if hasattr(x, "dtype") else aval_of(x).dtype


def kind_of(x: ArrayLike) -> Any:
    """Return what NumPy's dtype resolution takes for ``x``: its dtype, or the Python type of a weak scalar."""
    aval = aval_of(x)
    if aval.weak:
        return {"i": int, "f": float, "c": complex}[aval.dtype.kind]
    return aval.dtype


_resolved: dict[tuple[Any, ...], tuple[np.dtype, ...]] = {}


def operands_for(ufunc: np.ufunc, values: tuple) -> tuple:
    """Return the operands cast to the dtypes of NumPy's ufunc (NEP 50). Python scalars stay weak.

    bfloat16 and the other floats of ml_dtypes keep their dtype when they are combined with a Python number, as float16
    does. NumPy knows too little of these types, and makes float32 of a bare ``x * 2.0``.

    Args:
        ufunc: a ufunc of NumPy's or SciPy's, which defines the possible dtypes.
        values: arguments of a user: arrays of either engine, tracers, numbers, lists.

    Returns:
        The operands, cast. Python numbers that NumPy converts by itself stay numbers.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.extend.operands_for(np.arctan2, (np.array([1, 2]), 3.0))
        (array([1., 2.]), 3.0)
    """
    for x in values:
        if x.dtype.kind == "O" if type(x) is np.ndarray else not is_value(x):
            if _is_numpys(values):
                return values
            values = _beside_no_objects(values)
            break
    values = tuple([as_value(x) for x in values])
    rule = _promotion_of(values)
    one = rule is not None and any(len(set(loop.partition("->")[0])) == 1 for loop in ufunc.types)
    if rule is not None and one and not any(aval_of(x).dtype.kind in "OSUMm" for x in values):
        dtype = rule(values, ufunc)
        values = tuple([x if type(x) in PYTHON_NUMBERS else cast(x, dtype) for x in values])
    if ufunc in _COMPARISONS:
        values = _comparable(*values)
    kinds = tuple([kind_of(x) for x in values])
    if (on_widening := widening.get()) is not None:
        check_widening(on_widening, kinds)
    key = (ufunc, *kinds)
    dtypes = _resolved.get(key)
    if dtypes is None:
        dtypes = _resolve(ufunc, kinds)
        if not all(map(is_number_dtype, dtypes)):
            return _without_numbers(ufunc, values, dtypes)
        _resolved[key] = dtypes
    alone = not any(isinstance(kind, np.dtype) for kind in kinds)
    return tuple([_operand(x, dtype, alone) for x, dtype in zip(values, dtypes, strict=False)])


_COMPARISONS = frozenset({np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal})


def _comparable(x: ArrayLike, y: ArrayLike) -> tuple[Any, Any]:
    """Prepare integers for a comparison with a Python integer, which their dtype need not hold."""
    first, second = aval_of(x), aval_of(y)
    if first.weak == second.weak or (first.dtype.kind + second.dtype.kind) not in ("ii", "iu", "ui"):
        return x, y
    if first.weak:
        return _comparable(y, x)[::-1]
    room = np.iinfo(first.dtype)
    if type(y) is int:
        # A number beyond all integers of the dtype compares like infinity.
        return (x, y) if room.min <= y <= room.max else (cast(x, np.dtype(float)), np.copysign(np.inf, y))
    return (cast(x, second.dtype), y) if first.dtype.itemsize < second.dtype.itemsize else (x, y)


def _operand(x: ArrayLike, dtype: np.dtype, alone: bool) -> Any:
    """Return a value in the dtype of the computation; a Python number stays weak, but of that dtype's kind."""
    if type(x) not in PYTHON_NUMBERS or dtype.kind == "V":
        weak = alone and isinstance(x, Tracer) and x.aval.weak and x.dtype != dtype
        return weak_cast_p(x, dtype=dtype) if weak else cast(x, dtype)
    return _PYTHON_KINDS.get(dtype.kind, type(x))(x) if alone else x


_PYTHON_KINDS: dict[str, Any] = {"f": float, "c": complex}


def _resolve(ufunc: np.ufunc, kinds: tuple[Any, ...]) -> tuple[np.dtype, ...]:
    """Return the dtypes of operands and results, from the dtypes of operands and the types of Python numbers."""
    results = [None] * ufunc.nout
    strong = [kind for kind in kinds if isinstance(kind, np.dtype)]
    if any(kind.kind == "V" for kind in strong):
        try:
            common = np.result_type(*strong)
            return ufunc.resolve_dtypes((*[common if kind in (int, float) else kind for kind in kinds], *results))
        except TypeError:
            # An operand needs no common dtype: it is an integer array, or the exponent of ldexp.
            pass
    if not strong and ufunc in _COMPARISONS:
        # For Python's ints alone, NumPy would choose its loop for objects.
        kinds = tuple([np.dtype(kind) for kind in kinds])
    return ufunc.resolve_dtypes((*kinds, *results))


def _is_numpys(values: tuple) -> bool:
    """Return whether NumPy computes the ufunc itself: for object arrays and foreign arrays without traced values."""
    arrays = all(is_value(x) or is_foreign_array(x) for x in values)
    return arrays and not any(isinstance(x, Tracer) or is_engine_value(x) or holds_tracer(x) for x in values)


def _without_numbers(ufunc: np.ufunc, values: tuple, dtypes: tuple[np.dtype, ...]) -> tuple:
    """Return the operands of a ufunc that computes with objects, dates or text; refuse traced ones."""
    if any(isinstance(x, Tracer) for x in values):
        given = ", ".join(str(aval_of(x)) for x in values)
        raise ForeignArrayError(
            f"numpy.{ufunc.__name__}: a traced value met what is no array of numbers. The operands are {given}; needed "
            "numbers, or objects that are real numbers each. Convert the array with .astype(float) first."
        )
    return tuple([cast(x, dtype) for x, dtype in zip(values, dtypes, strict=False)])


def _with_foreign_arrays(primitive: Primitive, operands: tuple, params: dict) -> Any:
    """Convert foreign arrays to plain arrays if a traced value is present, or refuse them; else let NumPy compute."""
    if any(isinstance(x, Tracer) or is_engine_value(x) for x in operands):
        return bind(primitive, tuple([x if is_value(x) else as_value(x) for x in operands]), params)
    for x in operands:
        if not is_value(x) and not is_foreign_array(x):
            raise TypeError(
                f"an operand is a {type(x).__module__}.{type(x).__qualname__}; needed a NumPy array or scalar, "
                "a Python number, or a jax.Array. Convert it with numpy.asarray first."
            )
    return primitive.numpy(*operands, **params)


set_foreign_rule(_with_foreign_arrays)
