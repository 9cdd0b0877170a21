"""`funcgrad.scipy.integrate` of samples against SciPy's values, differences and both engines."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate

import funcgrad as fg
from funcgrad.scipy import integrate

theirs: Any = scipy.integrate
RNG = np.random.default_rng(5)
X = np.cumsum(RNG.uniform(0.5, 1.5, 9))
Y = RNG.normal(size=(2, 9))

Call = Callable[[Any, Any], Any]
CASES: dict[str, Call] = {
    "trapezoid": lambda m, y: m.trapezoid(y, X[: y.shape[-1]]),
    "cumulative_trapezoid": lambda m, y: m.cumulative_trapezoid(y, X[: y.shape[-1]]),
    "cumulative_trapezoid, initial": lambda m, y: m.cumulative_trapezoid(y.T, dx=0.3, axis=0, initial=0),
    "simpson": lambda m, y: m.simpson(y, dx=0.7),
    "simpson, places": lambda m, y: m.simpson(y, x=X[: y.shape[-1]]),
    "simpson, by places": lambda m, y: m.simpson(Y[..., : y.shape[-1]], x=X[: y.shape[-1]] + 0.05 * y),
    "simpson, by columns": lambda m, y: m.simpson(y.T, x=X[: y.shape[-1]], axis=0),
    "cumulative_simpson": lambda m, y: m.cumulative_simpson(y, dx=0.4),
    "cumulative_simpson, initial": lambda m, y: m.cumulative_simpson(y, x=X[: y.shape[-1]], initial=y[:, :1]),
    "cumulative_simpson, by places": lambda m, y: m.cumulative_simpson(
        Y[..., : y.shape[-1]].T, x=(X[: y.shape[-1]] + 0.05 * y).T, axis=0
    ),
    "romb": lambda m, y: m.romb(y, dx=0.2) if y.shape[-1] in (2, 3, 5, 9) else y,
    "romb, by columns": lambda m, y: m.romb(y[:, :5].T, axis=0) if y.shape[-1] >= 5 else y,
    "fixed_quad": lambda m, y: m.fixed_quad(lambda x, w: np.cos(x[:, None] * w).T, y[0, 0], 2.0, (y[1],), 7)[0],
}


@pytest.mark.parametrize("n", [2, 3, 4, 8, 9])
@pytest.mark.parametrize("case", CASES)
def test_samples(case: str, n: int) -> None:
    call, y = CASES[case], Y[:, :n]
    expected = np.asarray(call(theirs, y))
    np.testing.assert_array_equal(call(integrate, y), expected)
    direction = np.random.default_rng(n).normal(size=y.shape)
    value, slope = fg.jvp(lambda y: call(integrate, y), (y,), (direction,))
    np.testing.assert_allclose(value, expected, rtol=1e-13, atol=1e-14)
    assert value.dtype == expected.dtype
    h = 1e-4
    coarse, fine = [
        (call(theirs, y + step * direction) - call(theirs, y - step * direction)) / (2 * step) for step in (h, h / 2)
    ]
    np.testing.assert_allclose(slope, (4 * fine - coarse) / 3, rtol=1e-8, atol=1e-9)
    fg.check_grads(lambda y: call(integrate, y), (y,), order=2)


@pytest.mark.parametrize("case", CASES)
def test_samples_staged_and_batched(case: str) -> None:
    call = CASES[case]
    expected = np.asarray(call(theirs, Y))
    for engine in ("numpy", "xla"):
        compiled = fg.jit(lambda y: call(integrate, y), engine=engine)
        np.testing.assert_allclose(compiled(Y), expected, rtol=1e-12, atol=1e-14)
    both = fg.vmap(lambda y: call(integrate, y))(np.stack([Y, 2 * Y]))
    np.testing.assert_allclose(both[0], expected, rtol=1e-12, atol=1e-14)


def test_integers_and_narrow_floats() -> None:
    """The dtypes are SciPy's where one of the arguments is traced."""
    for y in (np.arange(5), np.arange(5, dtype=np.float32), np.arange(4, dtype=np.float32)):
        for name in ("simpson", "cumulative_simpson", "cumulative_trapezoid", "romb"):
            if name == "romb" and y.size != 5:
                continue
            expected = np.asarray(getattr(theirs, name)(y, dx=0.5))
            ours = functools.partial(getattr(integrate, name), y)
            value = fg.jvp(lambda dx, ours=ours: ours(dx=dx), (0.5,), (1.0,))[0]
            assert value.dtype == expected.dtype, name
            np.testing.assert_allclose(value, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda y: integrate.simpson(y, x=np.zeros(9)), "two neighbours"),
        (lambda y: integrate.simpson(y, x=np.arange(4.0)), "shape of x must be 1-D"),
        (lambda y: integrate.cumulative_simpson(y, x=-X), "strictly increasing"),
        (lambda y: integrate.cumulative_trapezoid(y, initial=1), "must be `None` or `0`"),
        (lambda y: integrate.romb(y[:, :4]), "power of 2"),
        (lambda y: integrate.fixed_quad(np.sin, y[0, 0], np.inf)[0], "finite limits"),
    ],
)
def test_refused(call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fg.jacrev(call)(Y)
