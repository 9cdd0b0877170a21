"""The formulas of schedules, and the schedule as a value: a formula's name and the numbers in it."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad._ops.elementwise.cast import cast
from funcgrad._types import ArrayLike, ScalarLike

_FLOAT64 = np.dtype(np.float64)


@dataclasses.dataclass(frozen=True)
class Formula:
    """A schedule: the name of its formula, and the numbers in it.

    Example:
        >>> from funcgrad.optim import schedules
        >>> schedules.linear(1.0, 0.0, 10) == schedules.linear(1.0, 0.0, 10)
        True
        >>> schedules.constant(0.5)
        constant(value=0.5)
    """

    name: str
    options: tuple[tuple[str, Any], ...]

    def __call__(self, count: ArrayLike) -> Any:
        """Return the value after ``count`` steps: f64[]."""
        return _FORMULAS[self.name](count, **dict(self.options))

    @property
    def __name__(self) -> str:
        """The name in messages."""
        return repr(self)

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(f'{key}={value!r}' for key, value in self.options)})"


def made(name: str, **options: Any) -> Formula:
    """Return the schedule of a formula with these numbers."""
    return Formula(name, tuple(options.items()))


def _exact(count: Any) -> Any:
    """Return a count of steps in float64. JAX divides an int32 count in float32, also in its 64-bit mode."""
    return cast(count, _FLOAT64) if hasattr(count, "dtype") else count


def _clipped(count: ArrayLike, begin: ScalarLike, steps: ScalarLike) -> ScalarLike:
    """Return the number of steps of a transition that were taken."""
    return fnp.minimum(fnp.maximum(_exact(count) - begin, 0), steps)


def _polynomial(
    count: ArrayLike,
    init_value: ScalarLike,
    end_value: ScalarLike,
    power: ScalarLike,
    transition_steps: ScalarLike,
    transition_begin: ScalarLike,
) -> Any:
    left = 1 - _clipped(count, transition_begin, transition_steps) / transition_steps
    return (init_value - end_value) * left**power + end_value


def _exponential(  # noqa: PLR0917  (they are given by name)
    count: ArrayLike,
    init_value: ScalarLike,
    transition_steps: ScalarLike,
    decay_rate: ScalarLike,
    transition_begin: ScalarLike,
    staircase: bool,
    end_value: ScalarLike,
) -> Any:
    exponent = fnp.maximum(_exact(count) - transition_begin, 0) / transition_steps
    value = init_value * decay_rate ** (fnp.floor(exponent) if staircase else exponent)
    if end_value is None:
        return value
    return fnp.maximum(value, end_value) if decay_rate < 1 else fnp.minimum(value, end_value)


def _multi_step(count: ArrayLike, init_value: ScalarLike, boundaries_and_scales: Any) -> ScalarLike:
    value: Any = np.float64(init_value)
    for boundary, scale in boundaries_and_scales:
        value = value * fnp.where(count >= boundary, float(scale), 1.0)
    return value


def _cosine(
    count: ArrayLike, init_value: ScalarLike, decay_steps: ScalarLike, alpha: ScalarLike, exponent: ScalarLike
) -> Any:
    wave = 0.5 * (1 + fnp.cos(math.pi * (_clipped(count, 0, decay_steps) / decay_steps)))
    return init_value * ((1 - alpha) * wave**exponent + alpha)


def _inverse_sqrt(count: ArrayLike, peak_value: ScalarLike, warmup_steps: ScalarLike) -> ScalarLike:
    taken = (_exact(count) + 1) / warmup_steps
    return peak_value * fnp.minimum(taken, 1 / fnp.sqrt(taken))


def _between(count: ArrayLike, knots: ArrayLike, cosines: bool) -> ScalarLike:
    """Interpolate between knots, along lines or half cosines."""
    value: Any = np.float64(knots[0][1])
    for (begin, low), (end, high) in itertools.pairwise(knots):
        part = _clipped(count, begin, max(end - begin, 1)) / max(end - begin, 1)
        part = 0.5 * (1 - fnp.cos(math.pi * part)) if cosines else part
        value = fnp.where(count >= begin, low + (high - low) * part, value)
    return value


def _join(count: ArrayLike, schedules: Any, boundaries: Any) -> ScalarLike:
    value = schedules[0](count)
    for boundary, schedule in zip(boundaries, schedules[1:], strict=True):
        value = fnp.where(count < boundary, value, schedule(count - boundary))
    return value


def _constant(count: ArrayLike, value: ScalarLike) -> ScalarLike:
    del count
    return value


_FORMULAS: dict[str, Callable[..., Any]] = {
    "constant": _constant,
    "polynomial": _polynomial,
    "exponential": _exponential,
    "multi_step": _multi_step,
    "cosine": _cosine,
    "inverse_sqrt": _inverse_sqrt,
    "between": _between,
    "join": _join,
}
