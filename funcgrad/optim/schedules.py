"""Learning rates as functions of the number of steps taken. They are values that compare, hash, print and pickle.

Each function here makes a `Formula`. Pass it as ``lr``, or call it with a step count. Two formulas made from equal
numbers are equal, so a state with a schedule that was made again needs no new compilation. Functions with optax's names
compute what optax's do. ``lr`` also accepts optax's own schedules, and any function of the step count.

Example:
    >>> import numpy as np
    >>> import funcgrad as fg
    >>> from funcgrad.optim import schedules
    >>> lr = schedules.warmup_cosine(init_value=0.0, peak_value=0.1, warmup_steps=5, decay_steps=20)
    >>> [round(float(lr(count)), 4) for count in (0, 5, 10, 20)]
    [0.0, 0.1, 0.075, 0.0]
    >>> state = fg.sgd_init(np.zeros(3), lr=lr)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from funcgrad._public import publish
from funcgrad.optim._cycles import Number, linear_one_cycle, one_cycle, positive
from funcgrad.optim._state.formulas import Formula, made

__all__ = [
    "Formula",
    "constant",
    "cosine",
    "exponential",
    "inverse_sqrt",
    "join",
    "linear",
    "linear_one_cycle",
    "multi_step",
    "one_cycle",
    "polynomial",
    "step",
    "warmup",
    "warmup_cosine",
]


def constant(value: Number) -> Formula:
    """Keep the same value at every step.

    Args:
        value: the value.

    Returns:
        A schedule: a function of the step count that returns the value for that step.

    Raises:
        TypeError: the value is text.

    Example:
        >>> from funcgrad.optim import schedules
        >>> schedules.constant(0.1)(7)
        0.1
    """
    if isinstance(value, str):
        raise TypeError(f"constant: value is {value!r}; needed a number. Pass 0.1, say.")
    return made("constant", value=value)


def polynomial(
    init_value: Number, end_value: Number, power: Number, transition_steps: int, transition_begin: int = 0
) -> Formula:
    """Change a value along a power of the remaining fraction of steps: ``optax.polynomial_schedule``.

    Args:
        init_value: the value up to ``transition_begin``, ``I``.
        end_value: the value from ``transition_begin + transition_steps`` on, ``E``.
        power: ``P`` in ``(I - E) (1 - t / T)^P + E``.
        transition_steps: ``T``.
        transition_begin: the number of steps before the transition.

    Returns:
        A schedule: a function of the step count that returns the value for that step.

    Raises:
        ValueError: ``transition_steps`` is not positive.

    Example:
        >>> from funcgrad.optim import schedules
        >>> float(schedules.polynomial(1.0, 0.0, power=2, transition_steps=4)(2))
        0.25
    """
    positive("polynomial", "transition_steps", transition_steps)
    return made(
        "polynomial",
        init_value=init_value,
        end_value=end_value,
        power=power,
        transition_steps=transition_steps,
        transition_begin=transition_begin,
    )


def linear(init_value: Number, end_value: Number, transition_steps: int, transition_begin: int = 0) -> Formula:
    """Change a value in equal steps: ``optax.linear_schedule``, `polynomial` of power 1.

    Args:
        init_value: the value up to ``transition_begin``.
        end_value: the value from ``transition_begin + transition_steps`` on.
        transition_steps: the number of steps of the change.
        transition_begin: the number of steps before the change.

    Returns:
        A schedule: a function of the step count that returns the value for that step.

    Raises:
        ValueError: ``transition_steps`` is not positive.

    Example:
        >>> from funcgrad.optim import schedules
        >>> [float(schedules.linear(1.0, 0.5, 4)(count)) for count in (0, 2, 9)]
        [1.0, 0.75, 0.5]
    """
    return polynomial(init_value, end_value, 1, transition_steps, transition_begin)


def warmup(init_value: Number, peak_value: Number, warmup_steps: int) -> Formula:
    """Change a value in equal steps and keep the last one: ``optax.warmup_constant_schedule``.

    Args:
        init_value: the value at the start.
        peak_value: the value from ``warmup_steps`` on.
        warmup_steps: the number of steps of the change.

    Returns:
        A schedule: a function of the step count that returns the value for that step.

    Raises:
        ValueError: ``warmup_steps`` is not positive.

    Example:
        >>> from funcgrad.optim import schedules
        >>> [float(schedules.warmup(0.0, 1.0, 4)(count)) for count in (0, 1, 9)]
        [0.0, 0.25, 1.0]
    """
    return linear(init_value, peak_value, warmup_steps)


def exponential(
    init_value: Number,
    transition_steps: int,
    decay_rate: Number,
    transition_begin: int = 0,
    staircase: bool = False,
    end_value: Number | None = None,
) -> Formula:
    """Multiply by a factor over every ``transition_steps``, gradually or at once: ``optax.exponential_decay``.

    Args:
        init_value: the value up to ``transition_begin``.
        transition_steps: the number of steps in which the whole factor is applied.
        decay_rate: the factor.
        transition_begin: the number of steps before the decay.
        staircase: whether the factor is applied at once.
        end_value: the bound at which the decay (or growth, by a factor above 1) ends.

    Returns:
        A schedule: a function of the step count that returns the value for that step.

    Raises:
        ValueError: ``transition_steps`` or ``decay_rate`` is not positive.

    Example:
        >>> from funcgrad.optim import schedules
        >>> [float(schedules.exponential(1.0, 2, 0.25)(count)) for count in (0, 1, 2)]
        [1.0, 0.5, 0.25]
    """
    positive("exponential", "transition_steps", transition_steps)
    if not decay_rate > 0:
        raise ValueError(f"exponential: decay_rate is {decay_rate}; needed a positive factor. Use constant for none.")
    return made(
        "exponential",
        init_value=init_value,
        transition_steps=transition_steps,
        decay_rate=decay_rate,
        transition_begin=transition_begin,
        staircase=staircase,
        end_value=end_value,
    )


def step(init_value: Number, step_size: int, gamma: Number = 0.1) -> Formula:
    """Multiply by ``gamma`` after every ``step_size`` steps: PyTorch's ``StepLR``.

    Args:
        init_value: the value of the first ``step_size`` steps.
        step_size: the number of steps between two factors.
        gamma: the factor.

    Returns:
        A schedule: a function of the step count that returns the value for that step.

    Raises:
        ValueError: ``step_size`` is not positive.

    Example:
        >>> from funcgrad.optim import schedules
        >>> [float(schedules.step(1.0, 2, 0.5)(count)) for count in (0, 1, 2, 4)]
        [1.0, 1.0, 0.5, 0.25]
    """
    return exponential(init_value, step_size, gamma, staircase=True)


def multi_step(init_value: Number, boundaries_and_scales: Mapping[int, Number]) -> Formula:
    """Multiply by a factor at each boundary: ``optax.piecewise_constant_schedule``, PyTorch's ``MultiStepLR``.

    Args:
        init_value: the value before the first boundary.
        boundaries_and_scales: the factor for each step count from which it holds.

    Returns:
        A schedule: a function of the step count that returns the value for that step.

    Raises:
        ValueError: a factor is negative.

    Example:
        >>> from funcgrad.optim import schedules
        >>> [float(schedules.multi_step(1.0, {2: 0.5, 4: 0.5})(count)) for count in (1, 2, 4)]
        [1.0, 0.5, 0.25]
    """
    if not isinstance(boundaries_and_scales, Mapping):
        raise TypeError(
            f"multi_step: boundaries_and_scales is a {type(boundaries_and_scales).__name__}; needed a dict of "
            "factors by "
            "counts of steps. Write {100: 0.1, 200: 0.1}."
        )
    pairs = tuple(sorted(boundaries_and_scales.items()))
    for boundary, scale in pairs:
        if not scale >= 0:
            raise ValueError(f"multi_step: the factor at {boundary} is {scale}; needed none below 0. Give its size.")
    return made("multi_step", init_value=init_value, boundaries_and_scales=pairs)


def cosine(init_value: Number, decay_steps: int, alpha: Number = 0.0, exponent: Number = 1.0) -> Formula:
    """Decay along half a cosine wave: ``optax.cosine_decay_schedule``.

    Args:
        init_value: the value at the start.
        decay_steps: the number of steps until the end.
        alpha: the value at the end, as a fraction of ``init_value``.
        exponent: the power of the wave.

    Returns:
        A schedule: a function of the step count that returns the value for that step.

    Raises:
        ValueError: ``decay_steps`` is not positive.

    Example:
        >>> from funcgrad.optim import schedules
        >>> [round(float(schedules.cosine(1.0, 4)(count)), 4) for count in (0, 2, 4)]
        [1.0, 0.5, 0.0]

    Source: Loshchilov and Hutter, SGDR: Stochastic Gradient Descent with Warm Restarts (2017), equation 5.
    """
    positive("cosine", "decay_steps", decay_steps)
    return made("cosine", init_value=init_value, decay_steps=decay_steps, alpha=alpha, exponent=exponent)


def warmup_cosine(
    init_value: Number,
    peak_value: Number,
    warmup_steps: int,
    decay_steps: int,
    end_value: Number = 0.0,
    exponent: Number = 1.0,
) -> Formula:
    """Warm up in equal steps, then decay along a cosine: ``optax.warmup_cosine_decay_schedule``.

    Args:
        init_value: the value at the start.
        peak_value: the value after ``warmup_steps``.
        warmup_steps: the number of steps upwards.
        decay_steps: the number of all steps, including those upwards.
        end_value: the value at the end.
        exponent: the power of the wave.

    Returns:
        A schedule: a function of the step count that returns the value for that step.

    Raises:
        ValueError: no steps are left for the decay.

    Example:
        >>> from funcgrad.optim import schedules
        >>> float(schedules.warmup_cosine(0.0, 1.0, 4, 12)(2))
        0.5
    """
    alpha = end_value / peak_value if peak_value else 0.0
    down = cosine(peak_value, decay_steps - warmup_steps, alpha, exponent)
    return join([linear(init_value, peak_value, warmup_steps), down], [warmup_steps])


def inverse_sqrt(peak_value: Number, warmup_steps: int) -> Formula:
    """Warm up in equal steps, then decay with the inverse square root of the count.

    The value is ``peak_value * min((t + 1) / W, sqrt(W / (t + 1)))`` with ``W`` steps of warm-up: it is
    ``peak_value`` at the ``W``-th step.

    Args:
        peak_value: the value at the end of the warm-up.
        warmup_steps: the number of steps upwards, ``W``.

    Returns:
        A schedule: a function of the step count that returns the value for that step.

    Raises:
        ValueError: ``warmup_steps`` is not positive.

    Example:
        >>> from funcgrad.optim import schedules
        >>> [float(schedules.inverse_sqrt(1.0, 4)(count)) for count in (0, 3, 15)]
        [0.25, 1.0, 0.5]

    Source: Vaswani et al., Attention Is All You Need (2017), equation 3, in which ``peak_value`` is
    ``1 / sqrt(d_model * warmup_steps)``.
    """
    positive("inverse_sqrt", "warmup_steps", warmup_steps)
    return made("inverse_sqrt", peak_value=peak_value, warmup_steps=warmup_steps)


def join(schedules: Sequence[Callable[[Any], Any]], boundaries: Sequence[int]) -> Formula:
    """Run one schedule after another, each with its own step count: ``optax.join_schedules``.

    Args:
        schedules: schedules, one after another.
        boundaries: the step counts at which the second and further schedules begin.

    Returns:
        A schedule: a function of the step count that returns the value for that step.

    Raises:
        ValueError: the numbers of schedules and boundaries do not match.

    Example:
        >>> from funcgrad.optim import schedules
        >>> both = schedules.join([schedules.constant(1.0), schedules.linear(1.0, 0.0, 4)], [10])
        >>> [float(both(count)) for count in (5, 10, 12)]
        [1.0, 1.0, 0.5]
    """
    if len(schedules) != len(boundaries) + 1:
        raise ValueError(
            f"join: there are {len(schedules)} schedules and {len(boundaries)} boundaries; needed one boundary less "
            "than there are schedules. Give the count of steps at which each but the first begins."
        )
    return made("join", schedules=tuple(schedules), boundaries=tuple(boundaries))


__dir__ = publish(__name__)
