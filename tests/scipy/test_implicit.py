"""Derivatives of solutions where the implicit function theorem does not hold: an error, and no wrong number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import ImplicitRuleError
from funcgrad.scipy import optimize

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::scipy.optimize.OptimizeWarning")


def quartic(x: Any, a: Any) -> Any:
    return (x[0] - a) ** 4 + x[0] ** 2


def kinked(x: Any, a: Any) -> Any:
    return np.abs(x[0] - a) + 0.1 * (x[0] - 1) ** 2


def gentle(x: Any, a: Any) -> Any:
    """Return a function whose slope jumps by little: a Newton step is short, but does not lead to the minimum."""
    return 1e-3 * np.abs(x[0] - a) + 10 * (x[0] - a) ** 2 + 5e-4 * x[0]


def jumping(x: Any, a: Any) -> Any:
    return np.where(x < a, -1.0, 1.0) + 0.1 * x


def circle(x: Any) -> Any:
    return 1 - x[0] ** 2 - x[1] ** 2


START = np.array([0.3])
ONE_ROUND = {"maxiter": 1}
# Functions of one number at 0.7, and what the message names.
WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "abs of a residual": (
        lambda a: optimize.minimize_scalar(lambda x: abs(x * x - a), bounds=(0, 3), method="bounded").x,
        "the gradient does not vanish",
    ),
    "Nelder-Mead at a kink": (
        lambda a: optimize.minimize(kinked, START, (a,), method="Nelder-Mead").x[0],
        "the gradient does not vanish",
    ),
    "a gentle kink": (
        lambda a: optimize.minimize(gentle, START, (a,), method="Nelder-Mead", tol=1e-9).x[0],
        "the gradient is not smooth",
    ),
    "fminbound": (lambda a: optimize.fminbound(lambda x: abs(x * x - a), 0, 3), "the gradient does not vanish"),
    "SLSQP of abs": (
        lambda a: optimize.minimize(lambda x: abs(x[0] - a), START, method="SLSQP").x[0],
        "its matrix of second derivatives is singular",
    ),
    "few rounds": (
        lambda a: optimize.minimize(quartic, START + 2, (a,), options=ONE_ROUND).x[0],
        r"did not converge \(success is False\)",
    ),
    "few rounds within bounds": (
        lambda a: optimize.minimize(quartic, START + 2, (a,), bounds=[(0, 9)], options=ONE_ROUND).x[0],
        "did not converge",
    ),
    "few rounds with a constraint": (
        lambda a: optimize.minimize(
            lambda x: np.exp(x[0] - a) + x[1] ** 4,
            np.array([2.0, 1.0]),
            method="SLSQP",
            constraints={"type": "ineq", "fun": circle},
            options=ONE_ROUND,
        ).x[0],
        "did not converge",
    ),
    "a flat direction": (
        lambda a: optimize.minimize(lambda x: (x[0] + x[1] - a) ** 2, np.zeros(2)).x[0],
        "its matrix of second derivatives is singular",
    ),
    "few evaluations": (
        lambda a: optimize.least_squares(lambda x: np.exp(x) - a * x**3, START + 3, max_nfev=2).x[0],
        "did not converge",
    ),
    "a residual with a kink": (
        lambda a: optimize.least_squares(lambda x: np.abs(x - a) + 0.5, START, method="dogbox").x[0],
        "the minimizer",
    ),
    "curve_fit with two names for one parameter": (
        lambda a: optimize.curve_fit(lambda t, p, q: p * q * t, np.arange(4.0), a * np.arange(4.0) ** 2)[0][0],
        "its matrix of second derivatives is singular",
    ),
    "brentq at a jump": (lambda a: optimize.brentq(jumping, -3, 4, (a,)), "the function does not vanish"),
    "bisect at a jump": (lambda a: optimize.bisect(jumping, -3, 4, (a,)), "the function does not vanish"),
    "root_scalar at a jump": (
        lambda a: optimize.root_scalar(jumping, (a,), bracket=(-3, 4)).root,
        "the function does not vanish",
    ),
    "root of no root": (lambda a: optimize.root(lambda x: x**2 + a, START).x[0], "did not converge"),
    "fsolve of no root": (lambda a: optimize.fsolve(lambda x: x**2 + a, START)[0], "the function does not vanish"),
    "many numbers": (
        lambda a: np.sum(optimize.newton(lambda x: (x - a) ** 3, np.full(40, 0.7))),
        "the root was asked for, but its Jacobian is singular",
    ),
    "implicit_root with a solver that stops": (
        lambda a: fg.implicit_root(lambda x, a: x**3 - a, START, a, solver=lambda f, x: x)[0],
        "implicit_root: .* the function does not vanish",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_an_error_names_what_fails(name: str) -> None:
    f, words = WRONG[name]
    batch = lambda x: fg.vmap(fg.grad(f))(np.array([x]))
    for run in (fg.grad(f), fg.jacfwd(f), batch, fg.grad(fg.grad(f))):
        with pytest.raises(ImplicitRuleError, match=words) as caught:
            run(0.7)
        assert str(caught.value).count(". ") >= 2
    # The value alone needs no theorem.
    assert np.isfinite(f(0.7))


@pytest.mark.parametrize("engine", ["numpy", "numba", "xla"])
@pytest.mark.parametrize("name", ["abs of a residual", "few rounds", "SLSQP of abs", "brentq at a jump"])
def test_programs_check_when_they_run(name: str, engine: Any) -> None:
    f, words = WRONG[name]
    run = fg.jit(fg.grad(f), engine=engine)
    with pytest.raises(Exception, match=words) as caught:
        np.asarray(run(0.7))
    assert engine == "xla" or isinstance(caught.value, ImplicitRuleError)


def test_a_failed_search_may_be_thrown_away() -> None:
    def first_that_converges(a: Any) -> Any:
        for rounds in (1, 50):
            found = optimize.minimize(quartic, START + 2, (a,), options={"maxiter": rounds})
            if found.success:
                return found.x[0]
        raise AssertionError

    def chosen(a: Any) -> Any:
        short, long = [optimize.minimize(quartic, START + 2, (a,), options={"maxiter": rounds}) for rounds in (1, 50)]
        return np.where(short.success, short.x[0], long.x[0])

    x = optimize.minimize(quartic, START, (0.7,), tol=1e-12).x[0]
    expected = 12 * (x - 0.7) ** 2 / (12 * (x - 0.7) ** 2 + 2)
    np.testing.assert_allclose(fg.grad(first_that_converges)(0.7), expected, rtol=1e-5)
    for run in (fg.grad(chosen), fg.jit(fg.grad(chosen), engine="numpy"), fg.jit(fg.grad(chosen))):
        np.testing.assert_allclose(run(0.7), expected, rtol=1e-5)


METHODS = {
    "Nelder-Mead": {},
    "Powell": {},
    "CG": {},
    "BFGS": {},
    "L-BFGS-B": {"bounds": [(-9, 9)] * 2},
    "TNC": {},
    "COBYLA": {},
    "SLSQP": {"constraints": {"type": "ineq", "fun": lambda x: 9 - x[0]}},
    "trust-constr": {},
    "Newton-CG": {"jac": True},
}


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [0.1, 1.0, 1e4])
def test_ordinary_tolerances_pass(method: str, size: float) -> None:
    """SciPy's defaults give minimizers with two digits or more; so many has the derivative."""
    options = dict(METHODS[method])

    def least(a: Any) -> Any:
        f = lambda x: size * (np.cosh(x[0] - a) + (x[1] - a * x[0]) ** 2 + 0.1 * x[1] ** 2)
        if options.get("jac"):
            return optimize.minimize(fg.value_and_grad(f), np.ones(2), method=method, **options).x
        return optimize.minimize(f, np.ones(2), method=method, **options).x

    exact = lambda a: (
        optimize.root(
            fg.grad(lambda x: np.cosh(x[0] - a) + (x[1] - a * x[0]) ** 2 + 0.1 * x[1] ** 2), np.ones(2), tol=1e-13
        ).x
    )
    np.testing.assert_allclose(fg.jacfwd(least)(0.8), fg.jacfwd(exact)(0.8), rtol=0.05)


def test_minima_at_zero_and_of_single_precision() -> None:
    # Numbers near 0, and rounding of the size of the step.
    zero = lambda a: optimize.minimize(lambda x: (x[0] - a + 0.7) ** 2 + (x[0] - a + 0.7) ** 4, np.ones(1)).x[0]
    np.testing.assert_allclose(fg.grad(zero)(0.7), 1.0, rtol=1e-6)
    single = lambda a: optimize.brentq(lambda x: (x**3 - a) * np.ones((), np.float32), 0, 9)
    np.testing.assert_allclose(fg.grad(single)(np.float32(8)), 1 / 12, rtol=1e-5)
    far = lambda a: optimize.brentq(lambda x: x**2 - a, 0, 1e9)
    np.testing.assert_allclose(fg.grad(far)(1e12), 5e-7, rtol=1e-9)


def test_a_kink_beside_the_minimum_does_not_matter() -> None:
    f = lambda a: optimize.minimize(lambda x: (x[0] - a) ** 2 + np.maximum(x[0] - 1, 0), START).x[0]
    np.testing.assert_allclose(fg.grad(f)(0.7), 1.0, rtol=1e-6)
    root = lambda a: optimize.brentq(lambda x: np.where(x > 2, 5.0, x - a), 0, 9)
    np.testing.assert_allclose(fg.grad(root)(0.7), 1.0, rtol=1e-9)
