"""``poch`` of negative numbers, and steps of digamma there, against mpmath."""

from typing import Any

import mpmath
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.scipy import special


def _exact(z: float, m: float) -> list[float]:
    """Return the value, both first derivatives, and the second one by ``z``."""
    with mpmath.workdps(50):
        x, y = mpmath.mpf(z), mpmath.mpf(z) + mpmath.mpf(m)
        value = mpmath.gammaprod([y], [x])
        step, upper = mpmath.psi(0, y) - mpmath.psi(0, x), mpmath.psi(0, y)
        second = value * (step**2 + mpmath.psi(1, y) - mpmath.psi(1, x))
        return [float(each) for each in (value, value * step, value * upper, second)]


DERIVATIVES: list[Any] = [
    special.poch,
    fg.grad(special.poch),
    fg.grad(special.poch, argnums=1),
    fg.grad(fg.grad(special.poch)),
]


# XLA keeps thousands of compiled parts of a second derivative, and a process of tests may hold a limited number.
@pytest.mark.parametrize(("engine", "count"), [("numpy", 4), ("xla", 3)])
def test_poch_of_negative_numbers(engine: Any, count: int) -> None:
    compiled = [fg.jit(each, engine=engine) for each in DERIVATIVES[:count]]
    for z in (-0.3, -7.3, -29.7, -30.2, -200.3, -1000.3):
        for m in (1e-12, 1e-8, -1e-8, 0.15, 3.0, -0.4, -25.1, -100.0):
            found = [float(each(z, m)) for each in compiled]
            np.testing.assert_allclose(found, _exact(z, m)[:count], rtol=1e-9, atol=1e-300, err_msg=f"{z}, {m}")


def test_poch_from_far_below_zero_to_above_it() -> None:
    for z, m in ((-165.3, 166.0), (-160.25, 165.5), (-100.5, 130.25)):
        np.testing.assert_allclose([float(each(z, m)) for each in DERIVATIVES], _exact(z, m), rtol=1e-9)
    with np.errstate(over="ignore", invalid="ignore"):
        assert special.poch(-1000.0, 3000.5) == 0.0
    np.testing.assert_allclose(special.poch(-1000.0, 3.0), -997002000.0, rtol=1e-14)


def test_betaln_of_negative_numbers() -> None:
    with mpmath.workdps(50):
        exact = float(mpmath.psi(0, mpmath.mpf(-7.3)) - mpmath.psi(0, mpmath.mpf(-7.3) + mpmath.mpf(1e-9)))
    np.testing.assert_allclose(fg.grad(special.betaln)(-7.3, 1e-9), exact, rtol=1e-12)


@pytest.mark.parametrize(("engine", "count"), [("numpy", 4), ("xla", 3)])
def test_poch_where_the_sum_rounds_to_a_pole(engine: Any, count: int) -> None:
    """``poch(z, -1)`` is ``1 / (z - 1)``."""
    compiled = [fg.jit(each, engine=engine) for each in DERIVATIVES[:count]]
    for z in (1e-30, 1e-20, -1e-12, 1e-8):
        exact = (1 / (z - 1), -((z - 1) ** -2.0), _exact(z, -1.0)[2], 2 * (z - 1) ** -3.0)
        np.testing.assert_allclose([float(each(z, -1.0)) for each in compiled], exact[:count], rtol=1e-14)
    beside = [(1 - 2.0**-53, -2.0), (1e-20, -40.0), (1e-10, -1.5), (-1e-20, 2.0), (-3.0000001, -2.0), (2 + 1e-10, -5.0)]
    for z, m in beside:
        found = [float(each(z, m)) for each in compiled]
        np.testing.assert_allclose(found, _exact(z, m)[:count], rtol=1e-8, err_msg=f"{z}, {m}")


def test_poch_of_float32_beside_a_pole() -> None:
    assert special.poch(np.float32(1e-10), np.float32(-1.0)) == np.float32(-1.0)
