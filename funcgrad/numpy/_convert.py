"""What comes in: lists, object arrays of tracers, scalars; and the dtypes NumPy's ufuncs would compute in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of, result_dtype
from funcgrad._core.bind import NUMPY_TYPES, Tracer, is_value
from funcgrad._ops.cast import cast
from funcgrad._ops.join import stack
from funcgrad._ops.shape import reshape
from funcgrad.tree import leaves

_PYTHON_SCALARS = (int, float, complex)


def as_value(x: Any) -> Any:
    """``x`` as something a primitive takes: arrays, numbers and tracers as they are, sequences as one array."""
    if isinstance(x, np.ndarray):
        return from_objects(x) if x.dtype.kind == "O" else x
    if isinstance(x, list | tuple) and not all(type(leaf) in NUMPY_TYPES for leaf in leaves(x)):
        return from_sequence(x)
    return x if is_value(x) else np.asarray(x)


def from_sequence(xs: Sequence[Any]) -> Any:
    """Nested lists in which tracers or arrays of another engine stand, as one array."""
    values = [as_value(x) for x in xs]
    # In a list a Python float is as strong as any float64: np.array([np.float32(1), 1.0]) is float64.
    return stack(list(promote(*[np.asarray(x) if type(x) in _PYTHON_SCALARS else x for x in values])), 0)


def from_objects(x: np.ndarray) -> Any:
    """An object array of tracers, stacked back into one traced array; other object arrays as they are."""
    if not any(isinstance(element, Tracer) for element in x.flat):
        return x
    return reshape(from_sequence(list(x.flat)), x.shape)


def promote(*values: Any) -> tuple:
    """Values cast to their common dtype (NEP 50); Python scalars become 0-d arrays."""
    dtype = result_dtype(*values)
    return tuple([cast(x, dtype) if hasattr(x, "dtype") else dtype.type(x) for x in values])


def dtype_of(x: Any) -> np.dtype:
    """The dtype; for a Python scalar the one it has on its own."""
    return x.dtype if hasattr(x, "dtype") else aval_of(x).dtype


def _kind(x: Any) -> Any:
    """What stands for ``x`` in NumPy's dtype resolution: its dtype, or the Python type of a weak scalar."""
    aval = aval_of(x)
    if aval.weak:
        return {"i": int, "f": float, "c": complex}[aval.dtype.kind]
    return aval.dtype


_resolved: dict[tuple[Any, ...], tuple[np.dtype, ...]] = {}


def operands_for(ufunc: np.ufunc, values: tuple) -> tuple:
    """The operands cast to the dtypes in which NumPy's ufunc would compute (NEP 50), Python scalars left weak.

    bfloat16 and the other floats of ml_dtypes stay what they are beside a Python number, as float16 does. NumPy knows
    too little of these types for it, and makes float32 of a bare ``x * 2.0``.
    """
    values = tuple([as_value(x) for x in values])
    kinds = tuple([_kind(x) for x in values])
    key = (ufunc, *kinds)
    dtypes = _resolved.get(key)
    if dtypes is None:
        dtypes = _resolved[key] = _resolve(ufunc, kinds)
    strong = any(isinstance(kind, np.dtype) for kind in kinds)
    return tuple(
        [
            x if strong and type(x) in _PYTHON_SCALARS and dtype.kind != "V" else cast(x, dtype)
            for x, dtype in zip(values, dtypes, strict=False)
        ]
    )


def _resolve(ufunc: np.ufunc, kinds: tuple[Any, ...]) -> tuple[np.dtype, ...]:
    """The dtypes of operands and results, by their dtypes and the types of Python numbers."""
    results = [None] * ufunc.nout
    strong = [kind for kind in kinds if isinstance(kind, np.dtype)]
    if any(kind.kind == "V" for kind in strong):
        try:
            common = np.result_type(*strong)
            return ufunc.resolve_dtypes((*[common if kind in (int, float) else kind for kind in kinds], *results))
        except TypeError:
            # No number beside an array: an integer array, or the exponent of ldexp.
            pass
    return ufunc.resolve_dtypes((*kinds, *results))
