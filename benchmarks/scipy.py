"""SciPy's distributions on traced values: log likelihoods of 1,000 points with their gradients, normal and gamma."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np

import funcgrad as fg
from benchmarks._timing import Case, Effort, Suite, interleave
from funcgrad.scipy import special, stats

POINTS = 1000
# Without types.
autograd: Any = import_module("autograd")
anp: Any = import_module("autograd.numpy")
autograd_stats: Any = import_module("autograd.scipy.stats")
autograd_special: Any = import_module("autograd.scipy.special")


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


def _check(contenders: dict[str, Callable[[], Any]]) -> None:
    """All give one value and one gradient."""
    value, slopes = contenders["funcgrad"]()
    for name, run in contenders.items():
        other, gradient = run()
        np.testing.assert_allclose(other, value, rtol=1e-12, err_msg=name)
        np.testing.assert_allclose(np.ravel(gradient), np.ravel(slopes), rtol=1e-9, err_msg=name)


CASES: dict[str, Callable[[Suite, Effort], None]] = {"normal": normal, "gamma": gamma}
