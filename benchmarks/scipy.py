"""SciPy on traced values: log likelihoods of 1,000 points, and an equation's solution, with their gradients."""

import functools
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import scipy.integrate

import funcgrad as fg
from benchmarks._timing import Case, Effort, Suite, interleave
from funcgrad.scipy import integrate, special, stats

POINTS = 1000
# Without types.
autograd: Any = import_module("autograd")
anp: Any = import_module("autograd.numpy")
autograd_stats: Any = import_module("autograd.scipy.stats")
autograd_special: Any = import_module("autograd.scipy.special")
autograd_integrate: Any = import_module("autograd.scipy.integrate")
autograd_tuple: Any = import_module("autograd.builtins").tuple


def _points() -> np.ndarray:
    return np.random.default_rng(0).gamma(2.5, 0.8, POINTS)


def normal(suite: Suite, effort: Effort) -> None:
    """Differentiate `sum(norm.logpdf(x, m, s))` of 1,000 points by mean and deviation (float64), eagerly."""
    x, point = _points(), (1.9, 1.3)

    def by_hand(m: Any, s: Any) -> Any:
        z = (x - m) / s
        return np.sum(-0.5 * (z * z) - np.log(s) - 0.5 * np.log(2 * np.pi))

    ours = fg.value_and_grad(lambda m, s: np.sum(stats.norm.logpdf(x, m, s)), (0, 1))
    hand = fg.value_and_grad(by_hand, (0, 1))
    peer = autograd.value_and_grad(lambda p: anp.sum(autograd_stats.norm.logpdf(x, p[0], p[1])))
    contenders = {
        "funcgrad": lambda: ours(*point),
        "funcgrad, the formula by hand": lambda: hand(*point),
        "autograd": lambda: peer(np.array(point)),
    }
    _check(contenders)
    limits = {"autograd": 0.5, "funcgrad, the formula by hand": 1.2}
    suite.cases.append(Case("normal log likelihood, 1,000 points", interleave(contenders, effort), limits=limits))


def gamma(suite: Suite, effort: Effort) -> None:
    """Differentiate `sum(gamma.logpdf(x, a, scale=s))` of 1,000 points by shape and scale (float64), eagerly."""
    x, point = _points(), (2.4, 0.9)

    def by_hand(a: Any, s: Any) -> Any:
        z = x / s
        return np.sum((a - 1) * np.log(z) - z - special.gammaln(a) - np.log(s))

    def autograd_by_hand(p: Any) -> Any:
        z = x / p[1]
        return anp.sum((p[0] - 1) * anp.log(z) - z - autograd_special.gammaln(p[0]) - anp.log(p[1]))

    ours = fg.value_and_grad(lambda a, s: np.sum(stats.gamma.logpdf(x, a, scale=s)), (0, 1))
    hand = fg.value_and_grad(by_hand, (0, 1))
    peer = autograd.value_and_grad(autograd_by_hand)
    contenders = {
        "funcgrad": lambda: ours(*point),
        "funcgrad, the formula by hand": lambda: hand(*point),
        "autograd, the formula by hand": lambda: peer(np.array(point)),
    }
    _check(contenders)
    limits = {"autograd, the formula by hand": 1.0}
    suite.cases.append(Case("gamma log likelihood, 1,000 points", interleave(contenders, effort), limits=limits))


def predators(suite: Suite, effort: Effort) -> None:
    """Differentiate a solution of Lotka and Volterra's equations, at 50 times, by its four rates (float64), eagerly."""
    times, start, rates = np.linspace(0, 10, 50), np.array([10.0, 5.0]), np.array([1.5, 1.0, 3.0, 1.0])
    tight: dict[str, Any] = {"rtol": 1e-8, "atol": 1e-8}

    def slope(np: Any, z: Any, rates: Any) -> Any:
        x, y = z
        a, b, c, d = rates
        return np.stack([a * x - b * x * y, -c * y + d * x * y])

    def solved(rates: Any) -> Any:
        found = integrate.solve_ivp(lambda t, z: slope(np, z, rates), (0, 10), start, t_eval=times, **tight)
        return np.mean(found.y**2)

    def by_lsoda(rates: Any) -> Any:
        return np.mean(integrate.odeint(lambda z, t: slope(np, z, rates), start, times, **tight) ** 2)

    def autograd_solved(rates: Any) -> Any:
        args = autograd_tuple((rates,))
        z = autograd_integrate.odeint(lambda z, t, rates: slope(anp, z, rates), start, times, args, **tight)
        return anp.mean(z**2)

    def autograd_by_hand(rates: Any) -> Any:
        """The classical method, with five steps between two times."""
        z, h, found = start, (times[1] - times[0]) / 5, [start]
        for i in range(5 * (len(times) - 1)):
            k1 = slope(anp, z, rates)
            k2 = slope(anp, z + h / 2 * k1, rates)
            k3 = slope(anp, z + h / 2 * k2, rates)
            z = z + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(anp, z + h * k3, rates))
            if i % 5 == 4:
                found.append(z)
        return anp.mean(anp.stack(found) ** 2)

    def plain() -> Any:
        found = scipy.integrate.solve_ivp(lambda t, z: slope(np, z, rates), (0, 10), start, t_eval=times, **tight)
        return np.mean(found.y**2)

    gradients = {
        "funcgrad": fg.value_and_grad(solved),
        "funcgrad, odeint": fg.value_and_grad(by_lsoda),
        "autograd, odeint": autograd.value_and_grad(autograd_solved),
        "autograd, Runge-Kutta by hand": autograd.value_and_grad(autograd_by_hand),
    }
    contenders = {name: functools.partial(gradient, rates) for name, gradient in gradients.items()}
    _check(contenders, 5e-3)
    limits = {"autograd, odeint": 0.5, "autograd, Runge-Kutta by hand": 0.5}
    timed = interleave({**contenders, "SciPy, the value alone": plain}, effort.at_most(8))
    suite.cases.append(Case("Lotka and Volterra's equations, by four rates", timed, limits=limits))


def _check(contenders: dict[str, Callable[[], Any]], tolerance: float = 1e-9) -> None:
    """All give one value and one gradient."""
    value, slopes = contenders["funcgrad"]()
    for name, run in contenders.items():
        other, gradient = run()
        np.testing.assert_allclose(other, value, rtol=tolerance, err_msg=name)
        np.testing.assert_allclose(np.ravel(gradient), np.ravel(slopes), rtol=tolerance, err_msg=name)


CASES: dict[str, Callable[[Suite, Effort], None]] = {"normal": normal, "gamma": gamma, "predators": predators}
