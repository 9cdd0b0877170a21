"""Arguments of ``scipy.linalg``: matrices given by one triangle, bands, and options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import type_text
from funcgrad._ops.linalg.matrices import conjugated, swapped
from funcgrad._types import Array, ArrayLike
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy import extend
from funcgrad.numpy.extend import as_value, innermost


def array(x: ArrayLike) -> Any:
    """Return an argument as an array."""
    return fnp.asarray(as_value(x))


# LAPACK computes in no other dtypes of floats.
_WIDENED = {"e": np.dtype("f"), "g": np.dtype("d"), "G": np.dtype("D")}


def floats(x: ArrayLike) -> Any:
    """Return an argument as an array, half and extended precision in a dtype of LAPACK, as SciPy converts them."""
    x = array(x)
    dtype = _WIDENED.get(x.dtype.char)
    return x if dtype is None else fnp.astype(x, dtype)


def lapack(x: ArrayLike) -> Any:
    """Return an argument in the dtype that SciPy's ``find_best_blas_type`` takes: float32 for int16 and smaller."""
    x = floats(x)
    return x if x.dtype.kind in "fc" else fnp.astype(x, np.result_type(x.dtype, np.float32))


def squares(name: str, x: ArrayLike, argument: str = "a") -> Array:
    """Return an argument as a stack of square matrices; integers become float64."""
    return extend.squares(name, floats(x), argument)


def lapack_squares(name: str, x: ArrayLike, argument: str = "a") -> Array:
    """Return an argument as a stack of square matrices in the dtype of `lapack`."""
    return extend.squares(name, lapack(x), argument)


def refuse(name: str, what: str, remedy: str) -> NoReturn:
    """Refuse an option."""
    raise UnsupportedFunctionError(f"scipy.linalg.{name}: {what}, which has no derivative here. {remedy}")


def refuse_infinite(name: str, asked: bool, *xs: ArrayLike | None) -> None:
    """Refuse infinities and NaN in NumPy arrays, as SciPy does. A staged value and a JAX array are not looked at.

    Args:
        name: the function.
        asked: its ``check_finite``.
        xs: its arguments: arrays, pairs of arrays, or None.
    """
    if not asked:
        return
    for x in xs:
        if isinstance(x, tuple):
            refuse_infinite(name, asked, *x)
            continue
        value = None if x is None else innermost(as_value(x))
        if isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "fc" and not np.isfinite(value).all():
            raise ValueError(
                f"scipy.linalg.{name}: array must not contain infs or NaNs, and an argument, "
                f"{type_text(value.shape, value.dtype)}, does. Remove them; a function with "
                "check_finite takes them if it is False."
            )


def mirrored(a: ArrayLike, lower: bool, *, conjugate: bool) -> Array:
    """Return the whole matrix from one triangle; Hermitian, or symmetric."""
    read, left = (fnp.tril(a), fnp.tril(a, -1)) if lower else (fnp.triu(a), fnp.triu(a, 1))
    if conjugate and a.dtype.kind == "c":
        # The diagonal of a Hermitian matrix is real.
        read = read - 1j * embedded(fnp.imag(fnp.diagonal(a, axis1=-2, axis2=-1)), 0)
        return fnp.astype(read, a.dtype) + conjugated(swapped(left))
    return read + swapped(left)


def embedded(diagonal: ArrayLike, offset: int) -> Array:
    """Return a square matrix with this diagonal, as ``numpy.diag``; stacks are allowed."""
    size = diagonal.shape[-1] + abs(offset)
    places = np.arange(size)
    shown = np.equal.outer(places, places - offset)
    if offset < 0:
        return fnp.where(shown, widened(diagonal, 0, -offset)[..., None, :], fnp.zeros((), dtype=diagonal.dtype))
    return fnp.where(shown, widened(diagonal, 0, offset)[..., :, None], fnp.zeros((), dtype=diagonal.dtype))


def widened(x: ArrayLike, before: int, after: int) -> Array:
    """Pad the last axis with zeros before and after."""
    return fnp.pad(x, [(0, 0)] * (len(x.shape) - 1) + [(before, after)])


def of_bands(bands: ArrayLike, lower: bool) -> Array:
    """Return the triangle of a matrix whose diagonals are rows, as ``scipy.linalg.solveh_banded`` expects."""
    count, size = bands.shape[-2:]
    if not count or not size:
        return fnp.zeros_like(bands, shape=(*bands.shape[:-2], size, size))
    total: Any = 0
    for i in range(count):
        # Entries after the end or before the start of a diagonal are not read.
        kept = bands[..., i, : size - i] if lower else bands[..., count - 1 - i, i:]
        total = total + embedded(kept, -i if lower else i)
    return total


def picked(name: str, values: ArrayLike, chosen: Sequence[int] | None, select_by_value: Any) -> slice:
    """Return the eigenvalues with the requested indices."""
    if select_by_value is not None:
        refuse(name, "eigenvalues were asked for by their range, on which their number depends", "Use their indices.")
    if chosen is None:
        return slice(None)
    first, last = chosen
    size = values.shape[-1]
    if not 0 <= first <= last < size:
        raise ValueError(
            f"scipy.linalg.{name}: the eigenvalues {first} to {last} were asked for; needed a range within 0 to "
            f"{size - 1}, as the matrix has {type_text(values.shape, values.dtype)}. Give the first and the last one."
        )
    return slice(first, last + 1)


def one_flag(lower: Any) -> bool:
    """Return which triangle the factors have. For a stack, SciPy gives a flag for each matrix."""
    flags = np.ravel(lower).tolist()
    if len(set(flags)) > 1:
        raise ValueError(
            "scipy.linalg.cho_solve: some factors of the stack are lower ones and others upper ones; needed the same "
            "for all. Solve them separately."
        )
    return bool(flags[0]) if flags else True
