"""The line search of ``LBFGS``: a step length that fulfils the strong conditions of Wolfe.

Source: Nocedal and Wright, *Numerical Optimization*, 2nd edition (2006), algorithms 3.5 and 3.6, with the safeguards of
``torch.optim.LBFGS`` (after Mark Schmidt's *minFunc*).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

# The least decrease, and the greatest slope that is left, as parts of the slope at the start.
_DECREASE = 1e-4
_SLOPE = 0.9
_TOLERANCE = 1e-9


class _Point(NamedTuple):
    """A step length, with loss, gradient, and slope along the direction."""

    t: float
    loss: float
    gradient: np.ndarray
    slope: float


def strong_wolfe(
    along: Callable[[float], tuple[float, np.ndarray]],
    t: float,
    direction: np.ndarray,
    start: tuple[float, np.ndarray, float],
    most: int,
) -> tuple[float, np.ndarray, float, int]:
    """Return loss, gradient and length of a step, and how often the loss was evaluated.

    Args:
        along: gives loss and gradient after a step of a length.
        t: the first length to try.
        direction: the direction.
        start: loss, gradient and slope before the step.
        most: the most evaluations after the first.
    """
    count = 0

    def at(t: float) -> _Point:
        nonlocal count
        count += 1
        loss, gradient = along(t)
        return _Point(t, loss, gradient, float(gradient @ direction))

    origin = _Point(0.0, *start)
    ends, rounds, done = _bracket(at, t, origin, most)
    if not done:
        ends = _narrowed(at, ends, most - rounds, origin, float(np.max(np.abs(direction), initial=0)))
    best = min(ends, key=lambda point: point.loss)
    return best.loss, best.gradient, best.t, count


def _bracket(at: Callable[[float], _Point], t: float, origin: _Point, most: int) -> tuple[list[_Point], int, bool]:
    """Return an interval that has a good length, or a good length; the number of rounds; and which of both."""
    before, here = origin, at(t)
    for rounds in range(most):
        if here.loss > origin.loss + _DECREASE * here.t * origin.slope or (rounds > 1 and here.loss >= before.loss):
            return [before, here], rounds, False
        if abs(here.slope) <= -_SLOPE * origin.slope:
            return [here], rounds, True
        if here.slope >= 0:
            return [before, here], rounds, False
        bounds = here.t + 0.01 * (here.t - before.t), here.t * 10
        t = _cubic(before, here, bounds)
        before, here = here, at(t)
    return [origin, here], most, False


def _narrowed(
    at: Callable[[float], _Point], ends: list[_Point], most: int, origin: _Point, size: float
) -> list[_Point]:
    """Shrink an interval until its better end is good; return that end first."""
    low, high = sorted(ends, key=lambda point: point.loss)
    stuck = False
    while most > 0 and abs(high.t - low.t) * size >= _TOLERANCE:
        first, last = sorted((low.t, high.t))
        t = _cubic(low, high, (first, last))
        margin = 0.1 * (last - first)
        if min(last - t, t - first) < margin:
            # A length near an end twice in a row makes no progress.
            if stuck or t >= last or t <= first:
                t = last - margin if abs(t - last) < abs(t - first) else first + margin
                stuck = False
            else:
                stuck = True
        else:
            stuck = False
        here = at(t)
        most -= 1
        if here.loss > origin.loss + _DECREASE * here.t * origin.slope or here.loss >= low.loss:
            high = here
            low, high = (low, high) if low.loss <= high.loss else (high, low)
            continue
        if abs(here.slope) <= -_SLOPE * origin.slope:
            return [here]
        if here.slope * (high.t - low.t) >= 0:
            high = low
        low = here
    return [low]


def _cubic(a: _Point, b: _Point, bounds: tuple[float, float]) -> float:
    """Return where the cubic polynomial through two losses and slopes is least, within bounds."""
    low, high = bounds
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if not square >= 0:
        return (low + high) / 2
    d2 = math.sqrt(square)
    first, last = sorted((a, b), key=lambda point: point.t)
    rise = last.slope - first.slope + 2 * d2
    if rise == 0:
        return (low + high) / 2
    return min(max(last.t - (last.t - first.t) * ((last.slope + d2 - d1) / rise), low), high)
