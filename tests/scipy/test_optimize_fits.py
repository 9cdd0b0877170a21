"""`least_squares` and `curve_fit` against derivatives by hand, closed forms and SciPy's own values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import funcgrad as fg
from funcgrad.scipy import optimize

theirs: Any = scipy.optimize
W = np.array([1.0, -2.0, 0.5])
T = np.linspace(0.0, 3.0, 12)
Y = 2 * np.exp(-0.7 * T) + 0.3 + 0.05 * np.random.default_rng(0).normal(size=12)
SIGMA = 0.05 + 0.01 * T
TIGHT: dict[str, Any] = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15}
# The first two derivatives of what is summed, by the square of a residual.
LOSSES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "linear": (lambda z: 1 + 0 * z, lambda z: 0 * z),
    "soft_l1": (lambda z: (1 + z) ** -0.5, lambda z: -0.5 * (1 + z) ** -1.5),
    "huber": (lambda z: np.where(z <= 1, 1, z**-0.5), lambda z: np.where(z <= 1, 0, -0.5 * z**-1.5)),
    "cauchy": (lambda z: 1 / (1 + z), lambda z: -1 / (1 + z) ** 2),
    "arctan": (lambda z: 1 / (1 + z**2), lambda z: -2 * z / (1 + z**2) ** 2),
}


def curve(t: Any, a: Any, k: Any, c: Any) -> Any:
    return a * np.exp(-k * t) + c


def misfit(q: Any, y: Any) -> Any:
    return curve(T, q[0], q[1], q[2]) - y


def by_hand(q: np.ndarray, loss: str, scale: float) -> np.ndarray:
    """The derivatives of the fitted parameters by the data."""
    a, k, _ = q
    e, r = np.exp(-k * T), misfit(q, Y)
    z = (r / scale) ** 2
    first, second = (f(z) for f in LOSSES[loss])
    slopes = np.stack([e, -a * T * e, np.ones(12)], 1)
    curves = np.zeros((12, 3, 3))
    curves[:, 0, 1] = curves[:, 1, 0] = -T * e
    curves[:, 1, 1] = a * T**2 * e
    weights = first + 2 * z * second
    whole = (slopes.T * weights) @ slopes + np.tensordot(first * r, curves, 1)
    return np.linalg.solve(whole, slopes.T * weights)


FITS: dict[str, Callable[[Any, Any, str], Any]] = {
    "trf": lambda m, y, loss: m.least_squares(
        lambda q: misfit(q, y), [1.5, 0.8, 0.2], "3-point", loss=loss, f_scale=0.04, **TIGHT
    ),
    "lm": lambda m, y, loss: m.least_squares(misfit, [1.5, 0.8, 0.2], "3-point", method="lm", kwargs={"y": y}, **TIGHT),
    "a jacobian": lambda m, y, loss: m.least_squares(
        lambda q: misfit(q, y), [1.5, 0.8, 0.2], lambda q: fg.jacfwd(misfit)(q, Y), **TIGHT
    ),
}


@pytest.mark.parametrize(
    ("way", "loss"), [*[("trf", loss) for loss in LOSSES], ("lm", "linear"), ("a jacobian", "linear")]
)
def test_beside_derivatives_by_hand(way: str, loss: str) -> None:
    fit, plain = FITS[way], FITS[way](theirs, Y, loss)
    np.testing.assert_array_equal(fit(optimize, Y, loss).x, plain.x)
    expected = by_hand(plain.x, loss, 0.04)
    np.testing.assert_allclose(fg.jacrev(lambda y: fit(optimize, y, loss).x)(Y), expected, rtol=1e-5, atol=1e-6)
    forward = fg.jit(fg.jacfwd(lambda y: fit(optimize, y, loss).x), engine="numpy")
    np.testing.assert_allclose(forward(Y), expected, rtol=1e-5, atol=1e-6)
    value, slope = fg.value_and_grad(lambda y: fit(optimize, y, loss).cost)(Y)
    np.testing.assert_allclose(value, plain.cost, rtol=1e-9)
    # At a minimum the sum moves with the data alone.
    r = misfit(plain.x, Y)
    np.testing.assert_allclose(slope, -LOSSES[loss][0]((r / 0.04) ** 2) * r, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("method", ["trf", "dogbox"])
def test_bounds_of_fits(method: str) -> None:
    """With a rate that its bound holds the other two parameters are a linear fit."""

    def ours(y: Any, high: Any) -> Any:
        bounds = ([0, 0, -1], np.stack([10.0, high, 1.0]))
        return optimize.least_squares(misfit, [1.0, 0.3, 0.0], "3-point", bounds, method, args=(y,), **TIGHT).x

    def linear(y: Any, high: Any) -> Any:
        (a, c), *_ = np.linalg.lstsq(np.stack([np.exp(-high * T), np.ones(12)], 1), y)
        return np.stack([a, high, c])

    for found, expected in zip(fg.jacrev(ours, (0, 1))(Y, 0.5), fg.jacrev(linear, (0, 1))(Y, 0.5), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_fits_with_errors() -> None:
    """Parameters and their covariance by places, data and errors; a linear model, whose answer is known."""

    def line(x: Any, a: Any, b: Any) -> Any:
        return a * x + b

    def by_hand(x: Any, y: Any, s: Any) -> tuple[Any, Any]:
        m = np.stack([x, np.ones(12)], 1) / s[:, None]
        c = np.linalg.inv(m.T @ m)
        return c @ (m.T @ (y / s)), c

    for absolute in (True, False):

        def ours(x: Any, y: Any, s: Any, absolute: bool = absolute) -> Any:
            return optimize.curve_fit(line, x, y, sigma=s, absolute_sigma=absolute, **TIGHT)

        def known(x: Any, y: Any, s: Any, absolute: bool = absolute) -> Any:
            q, c = by_hand(x, y, s)
            return q, c if absolute else c * np.sum(((line(x, *q) - y) / s) ** 2) / 10

        plain = theirs.curve_fit(line, T, Y, sigma=SIGMA, absolute_sigma=absolute, **TIGHT)
        seen: list[Any] = []

        def total(*xs: Any, f: Any = ours, seen: list[Any] = seen) -> Any:
            seen.append(f(*xs))
            return np.sum(seen[-1][0] ** 2) + 1e3 * np.sum(W[:2] * seen[-1][1])

        found = fg.grad(total, (0, 1, 2))(T, Y, SIGMA)
        np.testing.assert_allclose(found, fg.grad(lambda *xs: total(*xs, f=known), (0, 1, 2))(T, Y, SIGMA), rtol=1e-6)
        np.testing.assert_array_equal(ours(T, Y, SIGMA)[0], plain[0])
        np.testing.assert_allclose(fg.vjp(ours, T, Y, SIGMA)[0][1], plain[1], rtol=1e-6)

    covariance = np.diag(SIGMA**2) + 0.001
    both = lambda c: np.sum(optimize.curve_fit(line, T, Y, sigma=c, jac=None, **TIGHT)[0] ** 2)

    def whole(c: Any) -> Any:
        m = np.stack([T, np.ones(12)], 1)
        return np.sum(np.linalg.solve(m.T @ np.linalg.solve(c, m), m.T @ np.linalg.solve(c, Y)) ** 2)

    slopes, expected = fg.grad(both)(covariance), fg.grad(whole)(covariance)
    np.testing.assert_allclose(slopes + slopes.T, expected + expected.T, rtol=1e-5, atol=1e-8)


CS: dict[str, Callable[[Any], Any]] = {
    "least_squares": lambda a: optimize.least_squares(lambda x: x - 2 * a, np.ones(2), jac="cs").x,
    "curve_fit": lambda a: optimize.curve_fit(
        lambda t, b, c: b * t + c, np.arange(4.0), 2 * a[0] * np.arange(4.0) + 2 * a[1], jac="cs", method="trf"
    )[0],
    "minimize": lambda a: optimize.minimize(lambda x: np.sum((x - 2 * a) ** 2), np.ones(2), jac="cs", tol=1e-10).x,
    "minimize, hess": lambda a: (
        optimize.minimize(
            lambda x: np.sum((x - 2 * a) ** 2),
            np.ones(2),
            jac=lambda x: 2 * (x - 2 * a),
            hess="cs",
            method="trust-constr",
        ).x
    ),
}


@pytest.mark.parametrize("name", CS)
def test_a_complex_step_is_the_exact_derivative(name: str) -> None:
    """The imaginary part of the step was dropped, and the start of the search was the answer."""
    a = np.array([1.5, 2.0])
    np.testing.assert_allclose(CS[name](a), 2 * a, rtol=1e-6)
    np.testing.assert_allclose(fg.jacrev(CS[name])(a), 2 * np.eye(2), rtol=1e-5, atol=1e-6)
