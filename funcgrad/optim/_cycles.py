"""Schedules that go up and down once: one cycle along cosines or along lines."""

from __future__ import annotations

from funcgrad._types import ScalarLike
from funcgrad.optim._state.formulas import Formula, made

Number = float | int


def positive(name: str, option: str, value: ScalarLike) -> None:
    """Raise an error that names the option unless the value is a positive number of steps."""
    if isinstance(value, str) or value is None:
        raise TypeError(f"{name}: {option} is {value!r}; needed a positive number of steps. Pass {option}=1000, say.")
    if not value > 0:
        raise ValueError(f"{name}: {option} is {value}; needed a positive number of steps. Use constant for none.")


def one_cycle(
    transition_steps: int,
    peak_value: Number,
    pct_start: float = 0.3,
    div_factor: Number = 25.0,
    final_div_factor: Number = 1e4,
) -> Formula:
    """Move up and down along cosines: ``optax.cosine_onecycle_schedule``.

    Args:
        transition_steps: the number of steps.
        peak_value: the greatest value.
        pct_start: the fraction of the steps that go upwards.
        div_factor: the first value is ``peak_value / div_factor``.
        final_div_factor: the last value is the first one divided by this.

    Returns:
        A schedule: a function of the step count that returns the value for that step.

    Raises:
        ValueError: ``transition_steps`` is not positive.

    Example:
        >>> from funcgrad.optim import schedules
        >>> [round(float(schedules.one_cycle(10, 1.0)(count)), 4) for count in (0, 3, 10)]
        [0.04, 1.0, 0.0]

    Source: Smith and Topin, Super-Convergence (2017).
    """
    positive("one_cycle", "transition_steps", transition_steps)
    start, peak = peak_value / div_factor, int(pct_start * transition_steps)
    return made(
        "between",
        knots=((0, start), (peak, float(peak_value)), (int(transition_steps), start / final_div_factor)),
        cosines=True,
    )


def linear_one_cycle(
    transition_steps: int,
    peak_value: Number,
    pct_start: float = 0.3,
    pct_final: float = 0.85,
    div_factor: Number = 25.0,
    final_div_factor: Number = 1e4,
) -> Formula:
    """Move up, down, and further down along lines: ``optax.linear_onecycle_schedule``.

    Args:
        transition_steps: the number of steps.
        peak_value: the greatest value.
        pct_start: the fraction of the steps that go upwards.
        pct_final: the fraction of the steps after which the value is back at the first one.
        div_factor: the first value is ``peak_value / div_factor``.
        final_div_factor: the last value is the first one divided by this.

    Returns:
        A schedule: a function of the step count that returns the value for that step.

    Raises:
        ValueError: ``transition_steps`` is not positive.

    Example:
        >>> from funcgrad.optim import schedules
        >>> float(schedules.linear_one_cycle(20, 1.0, div_factor=4.0)(3))
        0.625

    Source: Smith and Topin, Super-Convergence (2017).
    """
    positive("linear_one_cycle", "transition_steps", transition_steps)
    start, steps = peak_value / div_factor, int(transition_steps)
    peak, back = int(pct_start * steps), int(pct_final * steps)
    return made(
        "between",
        knots=((0, start), (peak, float(peak_value)), (back, start), (steps, start / final_div_factor)),
        cosines=False,
    )
