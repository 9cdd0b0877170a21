"""A result of traced values beside that of NumPy or SciPy."""

from __future__ import annotations

from typing import Any

import numpy as np

# The allowed error for each dtype, relative to the value or to the largest value of its array.
_TOLERANCES = {2: 2e-2, 4: 2e-4, 8: 2e-8}


def difference(got: Any, expected: Any, *, by_elements: bool, precision: int = 8) -> tuple[str, str] | None:
    """The kind of the difference (``structure``, ``shape``, ``dtype``, ``value``) and its text, or None.

    Args:
        got: the result of ours.
        expected: that of NumPy or SciPy.
        by_elements: whether each element is compared relative to itself.
        precision: the bytes of the narrowest float among the arguments, which bound how precise a result is.
    """
    if isinstance(expected, tuple | list):
        if not isinstance(got, tuple | list) or len(got) != len(expected):
            return "structure", f"{_kind(got)} for {_kind(expected)}"
        pairs = zip(got, expected, strict=True)
        return next(
            (d for x, y in pairs if (d := difference(x, y, by_elements=by_elements, precision=precision))), None
        )
    if isinstance(expected, dict):
        shared = [key for key in expected if isinstance(got, dict) and key in got]
        found = [difference(got[key], expected[key], by_elements=by_elements, precision=precision) for key in shared]
        return next(filter(None, found), None)
    if not isinstance(expected, np.ndarray | np.generic | int | float | complex):
        return None
    return _of_arrays(got, expected, by_elements=by_elements, precision=precision)


def _kind(x: Any) -> str:
    return f"{type(x).__name__} of {len(x)}" if isinstance(x, tuple | list) else type(x).__name__


def _of_arrays(got: Any, expected: Any, *, by_elements: bool, precision: int) -> tuple[str, str] | None:
    y = np.asarray(expected)
    if y.dtype.char not in "?bBhHiIlLqQefdFD":
        return None
    if got is None or isinstance(got, tuple | list | dict | str):
        return "structure", f"{_kind(got)} for {_type(y)}"
    x = np.asarray(got)
    if x.shape != y.shape:
        return "shape", f"{_type(x)} for {_type(y)}"
    # A Python number is weak: beside an array it has the array's precision, as ours has.
    weak = not isinstance(expected, np.ndarray | np.generic) and x.dtype.kind == y.dtype.kind
    if x.dtype != y.dtype and not weak:
        return "dtype", f"{_type(x)} for {_type(y)}"
    wrong = ~_close(x, y, by_elements=by_elements, precision=precision)
    if not np.any(wrong):
        return None
    place = tuple(np.argwhere(wrong)[0].tolist())
    return "value", f"{x[place]!r} for {y[place]!r} at {place} of {_type(y)}, {np.count_nonzero(wrong)} differ"


def _type(x: np.ndarray) -> str:
    return f"{x.dtype.name}{list(x.shape)}"


def _close(x: np.ndarray, y: np.ndarray, *, by_elements: bool, precision: int) -> np.ndarray:
    if y.dtype.kind not in "fc":
        return x == y
    if y.dtype.kind == "c":
        # If one part is infinite or NaN the other often has no meaning, in NumPy's own code as in ours.
        odd = ~np.isfinite(y)
        same = (x == y) | (odd & ~np.isfinite(x))
        return same | (
            ~odd & _within(np.abs(x - y), np.abs(y), min(x.dtype.itemsize // 2, precision), by_elements=by_elements)
        )
    same = (x == y) | (np.isnan(x) & np.isnan(y))
    finite = np.isfinite(x) & np.isfinite(y)
    wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)
    return same | (
        finite
        & _within(np.abs(wide_x - wide_y), np.abs(wide_y), min(x.dtype.itemsize, precision), by_elements=by_elements)
    )


def _within(error: np.ndarray, size: np.ndarray, itemsize: int, *, by_elements: bool) -> np.ndarray:
    if by_elements:
        return error <= _TOLERANCES[itemsize] * size + np.finfo(np.float64).tiny
    size = np.max(size, where=np.isfinite(size), initial=0.0)
    # A result that is 0 but for the rounding of its terms.
    return error <= _TOLERANCES[itemsize] * size + 1e-7 * _TOLERANCES[itemsize]
