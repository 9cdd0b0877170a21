"""Greatest common divisor, least common multiple and bit counts of integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.trace.derivative import CONSTANT
from funcgrad._ops.elementwise.families import elementwise
from funcgrad._types import Array, Lax


def _size_xla(lax: Lax, x: Array) -> Array:
    """Return the absolute value in the unsigned dtype, which can hold that of the smallest integer too."""
    return lax.convert_element_type(lax.abs(x), np.dtype(f"u{x.dtype.itemsize}")) if x.dtype.kind == "i" else x


def _gcd_xla(lax: Lax, a: Array, b: Array) -> Array:
    """Run Euclid's algorithm until all remainders are 0."""

    def step(pair: tuple[Any, Any]) -> tuple[Any, Any]:
        a, b = pair
        done = lax.eq(b, lax.full_like(b, 0))
        left = lax.rem(a, lax.select(done, lax.full_like(b, 1), b))
        return lax.select(done, a, b), lax.select(done, b, left)

    def unfinished(pair: tuple[Any, Any]) -> Array:
        return lax.reduce_or(lax.ne(pair[1], lax.full_like(pair[1], 0)), axes=tuple(range(pair[1].ndim)))

    common = lax.while_loop(unfinished, step, (_size_xla(lax, a), _size_xla(lax, b)))[0]
    return lax.convert_element_type(common, a.dtype)


def _lcm_xla(lax: Lax, a: Array, b: Array) -> Array:
    first, second = _size_xla(lax, a), _size_xla(lax, b)
    common = _gcd_xla(lax, first, second)
    zero = lax.eq(common, lax.full_like(common, 0))
    product = lax.mul(lax.div(first, lax.select(zero, lax.full_like(common, 1), common)), second)
    return lax.convert_element_type(lax.select(zero, lax.full_like(common, 0), product), a.dtype)


gcd_p = elementwise("gcd", "a b", numpy=np.gcd, xla=_gcd_xla, maps=CONSTANT, flops=20)
lcm_p = elementwise("lcm", "a b", numpy=np.lcm, xla=_lcm_xla, maps=CONSTANT, flops=22)
bitwise_count_p = elementwise(
    "bitwise_count",
    "x",
    numpy=np.bitwise_count,
    xla=lambda lax, x: lax.convert_element_type(lax.population_count(_size_xla(lax, x)), np.uint8),
    maps=CONSTANT,
    dtype=lambda _: np.dtype(np.uint8),
)
