"""Student's distribution function and Owen's T. Rules: DLMF 8.17; Owen, Annals of Mathematical Statistics 27 (1956)."""

from __future__ import annotations

import math
from typing import Any

from funcgrad._ops.elementwise.activation import erf_p
from funcgrad._ops.elementwise.arithmetic import log_p, sign_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.special.beta import betaln_p
from funcgrad._ops.elementwise.special.beta_slope import betainc_slope_p
from funcgrad._ops.elementwise.special.scipys import of_scipy
from funcgrad._ops.elementwise.transcendental import exp_p, log1p_p
from funcgrad._types import Value


def _log_density(df: Value, x: Value) -> Value:
    # SciPy's ufuncs promote float32 to float64 if the other operand is a Python number.
    half = 0 * df + 0.5
    return -betaln_p(0.5 * df, half) - 0.5 * log_p(df) - 0.5 * (df + 1) * log1p_p(x * x / df)


def _density(df: Value, x: Value) -> Value:
    # With infinite degrees of freedom the distribution is normal.
    normal = df == math.inf
    limit = exp_p(-0.5 * (x * x)) / math.sqrt(2 * math.pi)
    return select(normal, limit, exp_p(_log_density(select(normal, 1.0, df), x)))


def _by_degrees(df: Value, x: Value) -> Value:
    """Return the slope by ``df``. The lower tail is half of ``betainc(df / 2, 1 / 2, df / (df + x**2))``.

    The last argument depends on ``df`` too; its part is the density times ``x / (2 df)``.
    """
    normal = df == math.inf
    d = select(normal, 1.0, df)
    tail = 0.25 * betainc_slope_p(0.5 * d, 0.5, d / (d + x * x), of="a")
    slope = -sign_p(x) * tail - x * exp_p(_log_density(d, x)) / (2 * d)
    return select(normal, 0.0, slope)


stdtr_p = of_scipy("stdtr", "df x", [lambda t, df, x: t * _by_degrees(df, x), lambda t, df, x: t * _density(df, x)])
stdtrit_p = of_scipy(
    "stdtrit",
    "df p",
    [lambda t, df, y: t * (-_by_degrees(df, y) / _density(df, y)), lambda t, df, y: t / _density(df, y)],
)


def _owens_by_first(h: Value, a: Value) -> Any:
    return -0.5 / math.sqrt(2 * math.pi) * exp_p(-0.5 * (h * h)) * erf_p(a * h * math.sqrt(0.5))


def _owens_by_second(h: Value, a: Value) -> Any:
    one = 1 + a * a
    return exp_p(-0.5 * (h * h) * one) / (2 * math.pi * one)


owens_t_p = of_scipy(
    "owens_t",
    "h a",
    [lambda t, h, a: t * _owens_by_first(h, a), lambda t, h, a: t * _owens_by_second(h, a)],
)
