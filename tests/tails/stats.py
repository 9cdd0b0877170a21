"""The distributions of ``funcgrad.scipy.stats`` beside formulas in mpmath."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mpmath
import scipy.stats

from funcgrad.scipy import stats
from tests.tails._check import Row
from tests.tails._formulas import FORMULAS

# mpmath makes the attributes of its contexts when it is imported, which type checkers cannot see.
mp: Any = mpmath.mp
PARTS = (1e-100, 1e-20, 1e-8, 1e-3, 0.3, 0.7, 0.999, 1 - 1e-8)
# Distributions whose functions mpmath takes long for.
HEAVY = ["t", "beta", "f", "gamma", "chi", "chi2", "invgamma", "gengamma", "nakagami", "loggamma", "maxwell"]


def _inverse(name: str, method: str, tail: Callable[..., Any], log_density: Callable[..., Any]) -> Callable[..., Any]:
    """A quantile, from SciPy's number by Newton's method for the logarithm of the tail."""

    def quantile(q: Any, *shapes: Any) -> Any:
        numbers = [float(s) for s in shapes]
        x = mp.mpf(float(getattr(getattr(scipy.stats, name), method)(float(q), *numbers)))
        sign = 1 if method == "ppf" else -1
        for _ in range(5):
            part = tail(x, *shapes)
            x -= sign * (mp.log(part) - mp.log(q)) * part / mp.exp(log_density(x, *shapes))
        return x

    return quantile


def _rows(name: str) -> list[Row]:
    shapes, points, log_density, below, above = FORMULAS[name]
    dist = getattr(stats, name)
    heavy = name in HEAVY
    # The exponential of a point of loggamma is huge.
    digits = 200 if name == "loggamma" else 60 if heavy else 340
    # mpmath takes minutes for incomplete functions of huge arguments.
    places = [(x, *shapes) for x in points if not heavy or abs(x) < 1e9]

    def density(x: Any, *args: Any) -> Any:
        return mp.exp(log_density(x, *args))

    def log_of(part: Callable[..., Any], rest: Callable[..., Any]) -> Callable[..., Any]:
        def formula(x: Any, *args: Any) -> Any:
            y = part(x, *args)
            return mp.log(y) if y < 0.5 else mp.log1p(-rest(x, *args))

        return formula

    def over(part: Callable[..., Any], sign: int) -> Callable[..., Any]:
        return lambda x, *args: sign * density(x, *args) / part(x, *args)

    by = tuple(range(len(shapes) + 1))
    inner = [(q, *shapes) for q in PARTS]

    def row(method: str, formula: Callable[..., Any], slope: Callable[..., Any] | None = None, **options: Any) -> Row:
        slopes = {0: slope} if slope else {}
        chosen = {"points": places, "digits": digits} | options
        return Row(
            f"{name}.{method}", getattr(dist, method), formula, by=chosen.pop("by", (0,)), slopes=slopes, **chosen
        )

    found = [
        row("logpdf", log_density, by=by),
        row("pdf", density),
        row("cdf", below, density),
        row("sf", above, lambda x, *args: -density(x, *args)),
        row("logcdf", log_of(below, above), over(below, 1)),
        row("logsf", log_of(above, below), over(above, -1)),
    ]
    if dist._formula("ppf") is not None and name != "uniform":
        less = {"points": inner, "digits": 40}
        found.append(row("ppf", _inverse(name, "ppf", below, log_density), **less))
        found.append(row("isf", _inverse(name, "isf", above, log_density), **less))
    return found


ROWS = [row for name in FORMULAS for row in _rows(name)]
