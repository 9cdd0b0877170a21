"""Abstract values: what is known of an array without its numbers."""

from __future__ import annotations

import math

import numpy as np

from funcgrad._types import Value

_SHORT_KINDS = {"f": "f", "i": "i", "u": "u", "c": "c"}


class WeakFloat(np.float64):
    """A Python float under a transform: it computes as NumPy's numbers do, and is promoted as Python's."""

    __slots__ = ()


class WeakComplex(np.complex128):
    """A Python complex under a transform."""

    __slots__ = ()


_WEAK_TYPES = {
    bool: np.dtype(bool),
    int: np.dtype(np.int64),
    float: np.dtype(np.float64),
    complex: np.dtype(complex),
    WeakFloat: np.dtype(np.float64),
    WeakComplex: np.dtype(complex),
}
_WEAK_SCALARS = {"i": 0, "f": 0.0, "c": 0j}


class Aval:
    """The shape and dtype of an array; ``weak`` marks results of Python scalars alone (NEP 50).

    Args:
        shape: the lengths of the axes.
        dtype: the dtype of the elements.
        weak: whether the value came from Python numbers only, which take the dtype of an array that they meet.

    Example:
        >>> import numpy as np
        >>> from funcgrad.extend import Aval
        >>> x = Aval((2, 3), np.dtype(float))
        >>> print(x, x.size, x.nbytes, x.with_shape((6,)))
        f64[2,3] 6 48 f64[6]
    """

    __slots__ = ("dtype", "shape", "weak")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype, weak: bool = False) -> None:
        self.shape = shape
        self.dtype = dtype
        self.weak = weak

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def with_shape(self, shape: tuple[int, ...]) -> Aval:
        """Return the aval with another shape. It is not weak: NumPy's functions turn a Python number into an array."""
        return Aval(shape, self.dtype)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Aval)
            and self.shape == other.shape
            and self.dtype == other.dtype
            and self.weak == other.weak
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.weak))

    def __repr__(self) -> str:
        return f"Aval({self})"

    def __str__(self) -> str:
        return type_text(self.shape, self.dtype)


FLOAT64 = np.dtype(np.float64)
# The type of the most frequent values of loops. It is one object, so that equal types are recognized without a search.
FLOAT64_NUMBER = Aval((), FLOAT64)


def shared_aval(aval: Aval) -> Aval:
    """Return the aval itself, or `FLOAT64_NUMBER` if it is equal to that."""
    return FLOAT64_NUMBER if aval == FLOAT64_NUMBER else aval


def type_text(shape: tuple[int, ...], dtype: np.dtype) -> str:
    """Return the type as it is printed everywhere: ``f32[3,4]``."""
    return f"{short_dtype(dtype)}[{','.join(map(str, shape))}]"


def short_dtype(dtype: np.dtype) -> str:
    """Return ``f32`` for float32, ``bf16`` for bfloat16, and the dtype's own name if it has no short form."""
    # The dtypes of ml_dtypes have numbers from 256 on. A dtype from a pickle may not be NumPy's own object.
    # JAX's typed keys have a dtype that NumPy lacks.
    if isinstance(dtype, np.dtype) and dtype.kind in _SHORT_KINDS and dtype.num < 256 and dtype.isnative:
        return f"{_SHORT_KINDS[dtype.kind]}{8 * dtype.itemsize}"
    return {"bfloat16": "bf16"}.get(dtype.name, dtype.name)


def is_inexact(dtype: np.dtype) -> bool:
    """Return whether values of this dtype can have derivatives: float, complex, and ml_dtypes' floats.

    Args:
        dtype: a dtype of NumPy's or of ml_dtypes.

    Returns:
        True for floats and complex numbers, False for integers and bools.

    Example:
        >>> import numpy as np
        >>> from funcgrad import extend
        >>> extend.is_inexact(np.dtype("float16")), extend.is_inexact(np.dtype("int64"))
        (True, False)
    """
    return dtype.kind in "fc" or is_floating(dtype)


def is_floating(dtype: np.dtype) -> bool:
    """Return whether the dtype is a real floating-point type, including those of ml_dtypes."""
    return dtype.kind == "f" or (dtype.kind == "V" and "float" in dtype.name)


def is_integer(dtype: np.dtype) -> bool:
    """Return whether the dtype is an integer type. Bool does not count as one."""
    return dtype.kind in "iu"


def is_integral(dtype: np.dtype) -> bool:
    """Return whether the dtype is an integer type or bool. NumPy divides such values as float64."""
    return dtype.kind in "biu"


def is_real(dtype: np.dtype) -> bool:
    """Return whether values of the dtype are real numbers, including bools and ml_dtypes' floats."""
    return is_integral(dtype) or is_floating(dtype)


def aval_of(value: Value) -> Aval:
    """Return the aval of an array, scalar or tracer.

    Args:
        value: an array of either engine, a number or a tracer.

    Returns:
        The aval: shape, dtype, and whether the dtype is a Python number's (weak).

    Raises:
        TypeError: the value is no number and no array of numbers.

    Example:
        >>> import numpy as np
        >>> from funcgrad import extend
        >>> print(extend.aval_of(np.ones((2, 3), np.float32)))
        f32[2,3]
    """
    if type(value) is np.ndarray:
        return Aval(value.shape, value.dtype)
    if type(value) is np.float64:
        return FLOAT64_NUMBER
    dtype = _WEAK_TYPES.get(type(value))
    if dtype is not None:
        return Aval((), dtype, weak=dtype.kind != "b")
    aval = getattr(value, "aval", None)
    if type(aval) is Aval:
        return aval
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if type(shape) is not tuple or dtype is None:
        # A class of arrays has these attributes too.
        what = f"the class {value.__name__}" if isinstance(value, type) else f"a {type(value).__name__}"
        raise TypeError(f"{what} arrived; needed an array or a number. Convert it with np.asarray, or leave it out.")
    # JAX has weak bools, the results of comparisons of weak numbers. NumPy's bools are never weak.
    return Aval(shape, dtype, getattr(value, "weak_type", False) and dtype.kind != "b")


def result_dtype(*values: Value) -> np.dtype:
    """Return the dtype that NumPy's promotion (NEP 50) gives for operands: arrays, scalars, tracers or avals.

    Args:
        *values: arrays, scalars, tracers or avals.

    Returns:
        The dtype. Python numbers widen none.

    Example:
        >>> import numpy as np
        >>> from funcgrad import extend
        >>> extend.result_dtype(np.ones(2, np.float32), 2.0)
        dtype('float32')
    """
    avals = [value if type(value) is Aval else aval_of(value) for value in values]
    return _promote(tuple((aval.dtype, aval.weak) for aval in avals))


def common_dtype(*dtypes: np.dtype) -> np.dtype:
    """Return the dtype that NumPy's promotion gives for arrays of these dtypes."""
    return _promote(tuple([(dtype, False) for dtype in dtypes]))


_promotions: dict[tuple[tuple[np.dtype, bool], ...], np.dtype] = {}


def _promote(kinds: tuple[tuple[np.dtype, bool], ...]) -> np.dtype:
    dtype = _promotions.get(kinds)
    if dtype is None:
        strong = [dtype for dtype, weak in kinds if not weak]
        weak = [_WEAK_SCALARS[dtype.kind] for dtype, weak in kinds if weak]
        if strong and weak:
            common = np.result_type(*strong)
            # A float of ml_dtypes takes in Python ints and floats. NumPy's own tables do not contain this rule.
            absorbed = common.kind == "V" and not any(issubclass(type(scalar), complex) for scalar in weak)
            dtype = common if absorbed else np.result_type(common, *weak)
        else:
            dtype = np.result_type(*strong, *weak)
        _promotions[kinds] = dtype
    return dtype
