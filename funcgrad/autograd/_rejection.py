"""Random numbers of PyTorch's CPU stream that are drawn by rejection, one at a time.

Sources: ``aten/src/ATen/native/Distributions.h`` (``sample_gamma``, ``sample_binomial``) and ``Distributions.cpp``
(``sample_poisson``); the methods are those of Marsaglia and Tsang (2000) and of Hörmann (1993).
"""

from __future__ import annotations

import math

from funcgrad._types import Array

# The constants of these formulas are float32 in PyTorch's sources.
_SQUEEZE = 0.03310000151395798


def gamma(source: Array, alpha: float) -> float:
    """Return a gamma distributed number of scale 1."""
    scale = 1.0
    if alpha < 1:
        if alpha == 0:
            return 0.0
        scale = (1 - _uniform(source)) ** (1 / alpha)
        alpha += 1.0
    d = alpha - 0.3333333432674408
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = source.next_normal()
        y = 1.0 + c * x
        if y <= 0:
            continue
        v, u, square = y * y * y, 1 - _uniform(source), x * x
        if u < 1.0 - _SQUEEZE * square * square or math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return scale * d * v


def poisson(source: Array, rate: float) -> float:
    """Return a Poisson distributed number."""
    if rate >= 10:
        return _poisson_of_many(source, rate)
    if rate == 0:
        return 0.0
    least, product, count = math.exp(-rate), 1.0, 0
    while True:
        product *= _uniform(source)
        if product <= least:
            return float(count)
        count += 1


def _poisson_of_many(source: Array, rate: float) -> float:
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse, limit = 1.1239 + 1.1328 / (b - 3.4), 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = _uniform(source) - 0.5, _uniform(source)
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43)
        if us >= 0.07 and v <= limit:
            return float(k)
        if k < 0 or (us < 0.013 and v > us):
            continue
        bound = -rate + k * math.log(rate) - math.lgamma(k + 1)
        if math.log(v) + math.log(inverse) - math.log(a / (us * us) + b) <= bound:
            return float(k)


def binomial(source: Array, count: float, p: float) -> float:
    """Return how many of ``count`` trials succeed."""
    if count <= 0 or p <= 0:
        return 0.0
    if p >= 1:
        return float(count)
    if p <= 0.5:
        return _of_few(source, count, p)
    return count - _of_few(source, count, 1 - p) if p > 0.5 else math.nan


def _of_few(source: Array, count: float, p: float) -> float:
    if count * p >= 10:
        return _of_many(source, count, p)
    total, found, log_p = 0.0, 0, math.log1p(-p)
    while True:
        total += math.ceil(math.log(_uniform(source)) / log_p)
        if total > count:
            return float(found)
        found += 1


def _of_many(source: Array, count: float, p: float) -> float:
    spread = math.sqrt(count * p * (1 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    limit, odds, alpha = 0.92 - 4.2 / b, p / (1 - p), (2.83 + 5.1 / b) * spread
    m = math.floor((count + 1) * p)
    while True:
        u, v = _uniform(source) - 0.5, _uniform(source)
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + count * p + 0.5)
        if k < 0 or k > count:
            continue
        if us >= 0.07 and v <= limit:
            return float(k)
        bound = (m + 0.5) * math.log((m + 1) / (odds * (count - m + 1)))
        bound += (count + 1) * math.log((count - m + 1) / (count - k + 1))
        bound += (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
        bound += _tail(m) + _tail(count - m) - _tail(k) - _tail(count - k)
        if math.log(v * alpha / (a / (us * us) + b)) <= bound:
            return float(k)


_TAILS = (
    *(0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211),
    *(0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287),
)


def _tail(k: float) -> float:
    """Return what Stirling's approximation of ``log k!`` lacks."""
    if k <= 9:
        return _TAILS[int(k)]
    square = (k + 1) * (k + 1)
    return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / (k + 1)


def _uniform(source: Array) -> float:
    return float(source.random())
