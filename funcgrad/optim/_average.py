"""Moving averages of parameters."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of, is_inexact, is_real
from funcgrad._core.bind import is_value
from funcgrad._core.words import shown
from funcgrad._engines import engine_scope
from funcgrad._ops.elementwise.arithmetic import add_p, mul_p
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.layout.copy import fresh
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._ops.program.barrier import alike
from funcgrad._types import Array, ArrayLike, Params, ScalarLike
from funcgrad.errors import HyperparameterError
from funcgrad.optim._state.begin import placed
from funcgrad.optim._state.hyperparameters import is_function, number
from funcgrad.optim._state.text import Shown, store, stored
from funcgrad.tree import flatten, flatten_up_to, register_dataclass, unflatten

_FLOAT32 = np.dtype(np.float32)


@register_dataclass(meta_fields=("debias", "schedule"), when_made=True)
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class EMAState(Shown):
    """The averages of parameters, carried from step to step.

    Args:
        averages: a pytree like the parameters. The averages are float32 if the parameter is narrower.
        decay: f64[], the factor of the old average in each step; ``None`` with a schedule.
        step: i32[], the number of updates.
        debias: static: whether the averages begin at zero, and are corrected for that when they are read.
        schedule: static: the decay as a function of the number of updates before.

    Example:
        >>> import numpy as np
        >>> from funcgrad.optim import ema_init
        >>> state = ema_init({"weight": np.array([1.0, 2.0])}, decay=0.9)
        >>> state.averages, float(state.decay), int(state.step)
        ({'weight': array([1., 2.])}, 0.9, 0)
    """

    averages: Any
    decay: Any
    step: Any
    debias: bool = False
    schedule: Callable[[Any], Any] | None = None

    def __post_init__(self) -> None:
        store(self, "decay", "step")

    def replace(self, **changes: Any) -> EMAState:
        """Return a state with other values in some fields.

        Example:
            >>> import numpy as np
            >>> from funcgrad.optim import ema_init
            >>> float(ema_init(np.ones(2)).replace(decay=0.5).decay)
            0.5
        """
        if "decay" in changes:
            changes["decay"] = _checked(changes["decay"])
        return dataclasses.replace(self, **changes)


def ema_init(params: Params, *, decay: ScalarLike = 0.999, debias: bool = False) -> EMAState:
    """Make the state that a moving average of parameters begins with.

    Args:
        params: a pytree of arrays. Arrays of other dtypes than float and complex are not averaged: the last one is
            kept.
        decay: the factor of the old average in each step, from 0 to 1, dimensionless. A number is data. A function of
            the number of steps before is static, such as ``lambda t: np.minimum(0.999, (1 + t) / (10 + t))``.
        debias: begin at zero, and divide by ``1 - decay**t``, so that the first parameters get no extra weight. A
            function cannot be debiased. By default the average begins with the parameters.

    Returns:
        The state.

    Raises:
        HyperparameterError: ``decay`` is out of range, or is a function together with ``debias``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.optim import ema_init, ema_update
        >>> params = {"weight": np.array([1.0, 2.0])}
        >>> state = ema_init(params, decay=0.9)
        >>> averages, state = ema_update({"weight": np.array([2.0, 2.0])}, state)
        >>> averages["weight"]
        array([1.1, 2. ])
    """
    schedule = decay if is_function(decay) else None
    if schedule is not None and debias:
        raise HyperparameterError("ema_init: decay is a function; needed a number with debias. Turn debias off.")
    leaves, treedef = flatten(params)
    averages = [_begun(p, debias) for p in leaves]
    value = None if schedule is not None else _checked(decay)
    value, step = placed([value, np.zeros((), np.int32)], params)
    return EMAState(unflatten(treedef, averages), value, step, debias, schedule)


def ema_update(params: Params, state: EMAState) -> tuple[Any, EMAState]:
    """Add parameters to their moving average: ``average = decay * average + (1 - decay) * params``.

    Args:
        params: the parameters after a step, a pytree like the one given to `ema_init`.
        state: the state that `ema_init` or the last call returned.

    Returns:
        ``(averages, state)``: the averages in the dtypes of the parameters, for evaluation, and the new state.

    Raises:
        TreeMismatchError: the parameters do not fit the state.

    Example:
        >>> import numpy as np
        >>> from funcgrad.optim import ema_init, ema_update
        >>> state = ema_init(np.array([4.0]), decay=0.5, debias=True)
        >>> averages, state = ema_update(np.array([4.0]), state)
        >>> averages, int(state.step)
        (array([4.]), 1)

    Source: Polyak and Juditsky, *Acceleration of stochastic approximation by averaging* (1992), with weights that fall
    geometrically; as ``torch.optim.swa_utils.get_ema_avg_fn``, and with ``debias`` as ``optax.ema``.
    """
    if not isinstance(state, EMAState):
        raise TypeError(
            f"ema_update: state is a {type(state).__name__}; needed an EMAState. Pass what ema_init(params) returned, "
            "after the parameters."
        )
    leaves, treedef = flatten(params)
    held = flatten_up_to(treedef, state.averages, "ema_update: state.averages")
    decay = state.decay if state.schedule is None else state.schedule(state.step)
    step = add_p(state.step, 1)
    with engine_scope((decay, step)):
        new = alike([_averaged(average, p, decay) for average, p in zip(held, leaves, strict=True)], held)
        correction = 1 - decay ** cast(step, np.dtype(np.float64)) if state.debias else None
        read = alike([_read(average, p, correction) for average, p in zip(new, leaves, strict=True)], leaves)
    return unflatten(treedef, read), dataclasses.replace(
        state, averages=unflatten(treedef, map(stored, new)), step=step
    )


def _checked(decay: ScalarLike) -> Any:
    if not is_value(decay) or not is_real(aval_of(decay).dtype):
        raise TypeError(f"ema_init: decay is {shown(decay)}; needed a number from 0 to 1. 0.999 keeps 1,000 steps.")
    known = number(decay)
    if known is not None and not 0 <= known <= 1:
        raise HyperparameterError(f"ema_init: decay is {known}; needed a number from 0 to 1. 0.999 keeps 1,000 steps.")
    return decay if known is None else np.array(known, np.float64)


def _is_averaged(p: ArrayLike) -> bool:
    return is_inexact(aval_of(p).dtype)


def _begun(p: ArrayLike, debias: bool) -> Array:
    if not _is_averaged(p):
        return fresh(p, p)
    dtype = aval_of(p).dtype
    wide = cast(p, _FLOAT32) if dtype.itemsize == 2 or dtype.kind == "V" else p
    return zeros_like(wide) if debias else fresh(wide, p)


def _averaged(average: Array, p: ArrayLike, decay: ScalarLike) -> Array:
    if not _is_averaged(p):
        return fresh(p, p)
    dtype = aval_of(average).dtype
    real = np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype
    rounded = [cast(np.float64(x) if type(x) is float else x, real) for x in (decay, 1 - decay)]
    kept, added = [cast(x, dtype) for x in rounded]
    return add_p(mul_p(kept, average), mul_p(added, cast(p, dtype)))


def _read(average: Array, p: ArrayLike, correction: ScalarLike) -> Array:
    if not _is_averaged(p):
        return average
    dtype = aval_of(average).dtype
    if correction is not None:
        average = average / cast(correction, np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype)
    return fresh(cast(average, aval_of(p).dtype), average)
