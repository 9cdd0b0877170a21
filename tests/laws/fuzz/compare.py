"""Comparison of two results: shape, dtype, value to rounding, and shared memory."""

from __future__ import annotations

from typing import Any

import numpy as np

# In units of the dtype's epsilon, relative to the largest element of the expected result.
ROUNDING = 4000.0


def difference(expected: Any, got: Any, kind: str = "value", coarsest: float = 0.0) -> str | None:
    """Return how ``got`` differs from ``expected``, in words; ``None`` if they are equal."""
    wanted = np.asarray(expected)
    found = np.asarray(got)
    if wanted.shape != found.shape:
        return f"{kind}: shape {found.shape}, NumPy's {wanted.shape}"
    if found.dtype == object:
        return f"{kind}: dtype object"
    if wanted.dtype == object or type(expected) in {bool, int, float, complex}:
        # Python's numbers among themselves are NumPy's under a trace.
        wanted = numbers(wanted.astype(object))
        found = found.astype(wanted.dtype)
    if wanted.dtype != found.dtype:
        return f"dtype: {found.dtype}, NumPy's {wanted.dtype}"
    if not same(wanted, found, coarsest=coarsest):
        return f"{kind}: {_short(found)}, NumPy's {_short(wanted)}"
    return None


def numbers(x: np.ndarray) -> np.ndarray:
    """Return an array of objects as an array of numbers."""
    if x.dtype != object:
        return x
    for dtype in (float, complex):
        try:
            return x.astype(dtype)
        except TypeError:
            continue
    return x.astype(float)


def same(wanted: np.ndarray, found: np.ndarray, scale: float = 1.0, coarsest: float = 0.0) -> bool:
    if wanted.dtype.kind not in "fc":
        return bool(np.array_equal(wanted, found))
    if not wanted.size:
        return True
    with np.errstate(all="ignore"):
        finite = np.isfinite(wanted)
        if not np.array_equal(finite, np.isfinite(found)):
            return False
        if wanted.dtype.kind == "f" and not np.array_equal(wanted[~finite], found[~finite], equal_nan=True):
            return False
        wide = complex if wanted.dtype.kind == "c" else float
        a, b = wanted[finite].astype(wide), found[finite].astype(wide)
        largest = float(np.max(np.abs(a), initial=0.0))
        allowed = scale * ROUNDING * max(float(np.finfo(wanted.dtype).eps), coarsest) * max(largest, 1e-3)
        return bool(np.all(np.abs(a - b) <= allowed))


def _short(x: np.ndarray) -> str:
    text = np.array2string(x, precision=6, threshold=12).replace("\n", "")
    return text if len(text) < 160 else text[:160] + "..."


def wrong_type(expected: Any, got: Any) -> str | None:
    """Check that plain values give values of NumPy, and no Python numbers or arrays of another library.

    Which of NumPy's functions return a 0-d array and which a scalar is not asked; a Python complex number times a
    scalar, which is a Python float too, is such a number.
    """
    if type(got) is complex and np.asarray(expected).dtype == complex and not np.shape(expected):
        return None
    if isinstance(got, np.ndarray | np.generic) or type(expected) is type(got) or np.asarray(expected).dtype == object:
        return None
    return f"type: {type(got).__name__}, NumPy's {type(expected).__name__}"


def shared(x: Any, y: Any) -> bool:
    return (
        isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and np.may_share_memory(x, y) and np.shares_memory(x, y)
    )


def sharing(results: list[Any], inputs: list[Any]) -> list[tuple[str, int, int]]:
    """Return the inputs and earlier results with which each result shares memory."""
    pairs = [("input", i, k) for i, y in enumerate(results) for k, x in enumerate(inputs) if shared(y, x)]
    return pairs + [("result", i, k) for i, y in enumerate(results) for k in range(i) if shared(y, results[k])]


def wrong_sharing(expected: list[tuple[str, int, int]], got: list[tuple[str, int, int]], views: bool) -> str | None:
    """Compare shared memory: never more than NumPy's, and with ``views`` exactly NumPy's."""
    if more := sorted(set(got) - set(expected)):
        return f"alias: result {more[0][1]} shares memory with {more[0][0]} {more[0][2]}, NumPy's does not"
    if views and (less := sorted(set(expected) - set(got))):
        return f"view: result {less[0][1]} is no view of {less[0][0]} {less[0][2]}, NumPy's is"
    return None


def snapshot(arguments: dict[str, Any]) -> dict[str, bytes]:
    return {
        name: np.asarray(x).tobytes() if np.asarray(x).dtype != object else repr(x).encode()
        for name, x in arguments.items()
    }
