"""Wrappers of ``init`` and ``update``: skip steps, or take one step for several gradients."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._transforms.control.loops import cond
from funcgrad._types import Array, ArrayLike, Grads, Params
from funcgrad.numpy import where
from funcgrad.optim._gradients import all_finite
from funcgrad.optim._state.begin import placed
from funcgrad.optim._state.text import Shown, store, stored
from funcgrad.tree import flatten, flatten_up_to, register_dataclass, unflatten

Init = Callable[..., Any]
Update = Callable[[Any, Any, Any], tuple[Any, Any]]
_FLOAT32 = np.dtype(np.float32)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Around(Shown):
    """Base class of states that contain the state of another optimizer."""

    inner: Any

    def replace(self, **changes: Any) -> Self:
        """Return a state with other values in some fields. Other names are replaced in the inner state.

        Example:
            >>> import numpy as np
            >>> import funcgrad as fg
            >>> init, _ = fg.optim.skip_nonfinite(fg.sgd_init, fg.sgd_update)
            >>> float(init(np.ones(2), lr=0.1).replace(lr=0.01).inner.lr)
            0.01
        """
        mine = {x.name for x in dataclasses.fields(self)}
        own = {name: x for name, x in changes.items() if name in mine}
        others = {name: x for name, x in changes.items() if name not in mine}
        if others:
            own["inner"] = own.get("inner", self.inner).replace(**others)
        return dataclasses.replace(self, **own)


@register_dataclass(when_made=True)
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SkipState(Around):
    """The state of an optimizer that skips steps.

    Args:
        inner: the state of the optimizer.
        skipped: i32[], the number of skipped steps.
        in_a_row: i32[], the number of steps skipped since the last step that was taken.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> init, update = fg.optim.skip_nonfinite(fg.sgd_init, fg.sgd_update)
        >>> params, state = update(np.array(np.nan), init(np.array(1.0), lr=0.5), np.array(1.0))
        >>> int(state.skipped), int(state.inner.step)
        (1, 0)
    """

    skipped: Any
    in_a_row: Any

    def __post_init__(self) -> None:
        store(self, "skipped", "in_a_row")


def skip_nonfinite(init: Init, update: Update) -> tuple[Init, Update]:
    """Make a pair that skips steps with infinite or NaN gradients: parameters and state stay unchanged.

    The state counts skipped steps. The decision to skip is data: a compiled step makes it when it runs, and compiles
    once.

    Args:
        init: ``init(params, **options) -> state``, such as `adam_init`.
        update: ``update(grads, state, params) -> (params, state)``, such as `adam_update`.

    Returns:
        ``(init, update)`` with a `SkipState`, whose ``inner`` is the state of the given pair. Its ``replace`` also
        accepts the hyperparameters of ``inner``.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> init, update = fg.optim.skip_nonfinite(fg.sgd_init, fg.sgd_update)
        >>> params = np.array([1.0, 2.0])
        >>> state = init(params, lr=0.5)
        >>> params, state = update(np.array([np.nan, 1.0]), state, params)
        >>> params, state = update(np.array([1.0, 1.0]), state, params)
        >>> params, int(state.skipped), int(state.in_a_row), int(state.inner.step)
        (array([0.5, 1.5]), 1, 0, 1)

    Source: ``optax.apply_if_finite``, without its limit of errors in a row: look at ``in_a_row``.
    """

    def skipping_init(params: Params, **options: Any) -> SkipState:
        inner = init(params, **options)
        skipped, in_a_row = placed([np.int32(0), np.int32(0)], params)
        return SkipState(inner, skipped, in_a_row)

    def skipping_update(grads: Grads, state: SkipState, params: Params) -> tuple[Any, SkipState]:
        finite = all_finite(grads)
        new, inner = cond(
            finite, lambda grads, inner, params: update(grads, inner, params), _kept, grads, state.inner, params
        )
        skips = cast(where(finite, 0, 1), np.dtype(np.int32))
        return new, SkipState(inner, state.skipped + skips, (state.in_a_row + 1) * skips)

    return skipping_init, skipping_update


def _kept(grads: Grads, inner: Any, params: Params) -> tuple[Any, Any]:
    return params, inner


@register_dataclass(when_made=True)
@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class AccumulateState(Around):
    """The state of an optimizer that takes one step for several gradients.

    Args:
        inner: the state of the optimizer.
        gathered: a pytree like the parameters: the sum of the gradients since the last step, in float32 if the
            parameter is narrower.
        count: i32[], the number of gradients in the sum.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> init, update = fg.optim.accumulate(fg.sgd_init, fg.sgd_update, 2)
        >>> params, state = update(np.array(3.0), init(np.array(1.0), lr=0.5), np.array(1.0))
        >>> float(state.gathered), int(state.count), int(state.inner.step)
        (3.0, 1, 0)
    """

    gathered: Any
    count: Any

    def __post_init__(self) -> None:
        store(self, "count")


def accumulate(init: Init, update: Update, every: int) -> tuple[Init, Update]:
    """Make a pair that takes a step at every k-th gradient, by the mean of the last k gradients.

    Between steps the parameters stay unchanged. The choice of the call that takes the step is data: a compiled step
    compiles once.

    A parameter without gradient (``None``) adds nothing. If it has none when the step is taken, it stays unchanged, and
    its sum waits.

    Args:
        init: ``init(params, **options) -> state``, such as `adam_init`.
        update: ``update(grads, state, params) -> (params, state)``, such as `adam_update`.
        every: the number of gradients for each step.

    Returns:
        ``(init, update)`` with an `AccumulateState`, whose ``inner`` is the state of the given pair. Its ``replace``
        also accepts the hyperparameters of ``inner``.

    Raises:
        ValueError: ``every`` is less than 1.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> init, update = fg.optim.accumulate(fg.sgd_init, fg.sgd_update, every=2)
        >>> params = np.array([1.0, 2.0])
        >>> state = init(params, lr=0.5)
        >>> params, state = update(np.array([1.0, 0.0]), state, params)
        >>> params
        array([1., 2.])
        >>> params, state = update(np.array([3.0, 2.0]), state, params)
        >>> params
        array([0. , 1.5])

    Source: ``optax.MultiSteps``.
    """
    if every < 1:
        raise ValueError(f"accumulate: every is {every}; needed 1 or more. Give the number of gradients for each step.")

    def gathering_init(params: Params, **options: Any) -> AccumulateState:
        inner = init(params, **options)
        leaves, treedef = flatten(params)
        (count,) = placed([np.int32(0)], params)
        return AccumulateState(inner, unflatten(treedef, [zeros_like(_wide(p)) for p in leaves]), count)

    def gathering_update(grads: Grads, state: AccumulateState, params: Params) -> tuple[Any, AccumulateState]:
        treedef = flatten(params)[1]
        given = flatten_up_to(treedef, grads, "accumulate: grads")
        held = flatten_up_to(treedef, state.gathered, "accumulate: state.gathered")
        sums = [x if g is None else x + cast(_dense(g), aval_of(x).dtype) for g, x in zip(given, held, strict=True)]

        def step(sums: Array, inner: Any, params: Params) -> tuple[Any, Any, Any]:
            leaves = flatten(params)[0]
            means = [
                None if g is None else cast(x / every, aval_of(p).dtype)
                for g, x, p in zip(given, sums, leaves, strict=True)
            ]
            new, inner = update(unflatten(treedef, means), inner, params)
            return new, inner, [x if g is None else zeros_like(x) for g, x in zip(given, sums, strict=True)]

        def wait(sums: Array, inner: Any, params: Params) -> tuple[Any, Any, Any]:
            return params, inner, sums

        full = state.count + 1 == every
        new, inner, sums = cond(full, step, wait, sums, state.inner, params)
        count = (state.count + 1) % np.int32(every)
        return new, AccumulateState(inner, unflatten(treedef, map(stored, sums)), count)

    return gathering_init, gathering_update


def _wide(p: ArrayLike) -> Array:
    dtype = aval_of(p).dtype
    return cast(p, _FLOAT32) if dtype.itemsize == 2 or dtype.kind == "V" else p


def _dense(g: Array) -> Array:
    return g.todense() if hasattr(g, "todense") else g
