"""Common divisors and multiples, and the bits of integers. They carry no derivative."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from funcgrad._core.aval import aval_of, is_integral
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._ops.elementwise import integer
from funcgrad._ops.elementwise.arithmetic import ne_p
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.index.gather import slice_axis
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.layout.broadcast import reduce_sum
from funcgrad._ops.layout.shape import reshape, transpose
from funcgrad._types import ArrayLike
from funcgrad.numpy._base.axes import normalize_axis
from funcgrad.numpy._base.convert import as_value, strong
from funcgrad.numpy._base.plain import beside_numpys
from funcgrad.numpy._math.elementwise import binary, unary

gcd = binary(np.gcd, integer.gcd_p)
lcm = binary(np.lcm, integer.lcm_p)
bitwise_count = unary(np.bitwise_count, integer.bitwise_count_p)

BitOrder = Literal["big", "little"]
_BYTE = np.dtype(np.uint8)


@beside_numpys(np.packbits)
def packbits(a: ArrayLike, /, axis: int | None = None, bitorder: BitOrder = "big") -> Any:
    """Return ``numpy.packbits``: eight elements, each zero or not, as the bits of a byte."""
    a = strong(as_value(a))
    if not is_integral(a.dtype):
        raise TypeError(
            f"packbits: Expected an input array of integer or boolean data type, and a is {aval_of(a)}. Say which "
            "elements count with a != 0."
        )
    places = _places("packbits", bitorder)
    bits, order = _last(cast(bind(ne_p, (a, 0), NO_PARAMS), _BYTE), axis)
    *others, n = bits.shape
    missing = -n % 8
    if missing:
        bits = concatenate([bits, np.zeros((*others, missing), _BYTE)], len(others))
    grouped = reshape(bits, (*others, (n + missing) // 8, 8)) << places
    return transpose(reduce_sum(grouped, (len(others) + 1,)), order)


@beside_numpys(np.unpackbits)
def unpackbits(a: ArrayLike, /, axis: int | None = None, count: int | None = None, bitorder: BitOrder = "big") -> Any:
    """Return ``numpy.unpackbits``: the bits of bytes as elements."""
    a = strong(as_value(a))
    if a.dtype != _BYTE:
        raise TypeError(
            f"unpackbits: Expected an input array of unsigned byte data type, and a is {aval_of(a)}. Convert it with "
            ".astype(np.uint8)."
        )
    places = _places("unpackbits", bitorder)
    bytes_, order = _last(a, axis)
    *others, n = bytes_.shape
    bits = reshape((reshape(bytes_, (*others, n, 1)) >> places) & _BYTE.type(1), (*others, 8 * n))
    if count is not None:
        last = len(others)
        kept = count if count >= 0 else 8 * n + count
        if kept < 0:
            raise ValueError(f"unpackbits: -count is {-count}, larger than the number of bits, {8 * n}. Give fewer.")
        missing = np.zeros((*others, max(kept - 8 * n, 0)), _BYTE)
        bits = concatenate([slice_axis(bits, last, 0, min(kept, 8 * n)), missing], last)
    return transpose(bits, order)


def _places(name: str, bitorder: BitOrder) -> np.ndarray:
    if bitorder not in {"big", "little"}:
        raise (ValueError if isinstance(bitorder, str) else TypeError)(
            f"{name}: bitorder is {bitorder!r}; needed 'little' or 'big', which of the bits comes first."
        )
    return np.arange(8, dtype=_BYTE)[:: -1 if bitorder == "big" else 1]


def _last(x: ArrayLike, axis: int | None) -> tuple[Any, tuple[int, ...]]:
    """Return the array with an axis last, or flat, and the order of axes that restores it."""
    if axis is None:
        return reshape(x, (int(np.prod(x.shape)),)), (0,)
    axis = normalize_axis(axis, len(x.shape))
    rest = [i for i in range(len(x.shape)) if i != axis]
    return transpose(x, (*rest, axis)), (*range(axis), len(rest), *range(axis, len(rest)))
