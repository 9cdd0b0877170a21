"""What a step reads of the state, for each parameter: its hyperparameters, and how its gradient enters the buffer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._ops.arithmetic import sub_p
from funcgrad._ops.cast import cast_p
from funcgrad._ops.fill import full_like_p
from funcgrad._ops.index import slice_axis
from funcgrad._ops.select import select_p
from funcgrad._ops.shape import reshape
from funcgrad.optim._rules.sgd import Hyper
from funcgrad.optim._state.hyperparameters import Schedule, as_leaf, check_ranges, is_host
from funcgrad.optim._state.prefix import is_single, spread
from funcgrad.optim._state.sgd import SGDState
from funcgrad.tree import TreeDef

_NAMES = ("lr", "momentum", "weight_decay", "nesterov", "maximize")
_FLOAT64 = np.dtype(np.float64)
_ASKED = "sgd_update: state"


def hypers_of(state: SGDState, treedef: TreeDef) -> Sequence[Hyper]:
    """The hyperparameters of each parameter; one object for those that share them."""
    prefixes = (state.lr, state.momentum, state.weight_decay, state.nesterov, state.maximize)
    step = state.step
    if all(map(is_single, prefixes)):
        return [_hyper(prefixes, step)] * treedef.num_leaves
    columns = [spread(name, prefix, treedef, _ASKED) for name, prefix in zip(_NAMES, prefixes, strict=True)]
    made: dict[Any, Hyper] = {}
    equal: dict[Any, Hyper] = {}
    hypers = []
    for row in zip(*columns, strict=True):
        key = tuple([id(x) for x in row])
        if key not in made:
            hyper = _hyper(row, step)
            made[key] = equal.setdefault(hyper, hyper) if hyper.known else hyper
        hypers.append(made[key])
    return hypers


def _hyper(row: tuple[Any, ...], step: Any) -> Hyper:
    lr, momentum, weight_decay, nesterov, maximize = row
    if isinstance(lr, Schedule):
        lr = as_leaf("lr", lr.function(int(step) if is_host(step) else step))
        check_ranges({"lr": lr})
    numbers = [float(x) if is_host(x) else x for x in (lr, momentum, weight_decay)]
    flags = [bool(x) if is_host(x) else x for x in (nesterov, maximize)]
    return Hyper(*numbers, *flags)


def keeps_of(state: SGDState, buffers: Sequence[Any], treedef: TreeDef) -> Sequence[Any]:
    """Per leaf what the gradient is multiplied by when it enters the buffer; ``None``: the buffer begins with it."""
    started = state.started
    if started is None:
        # Without dampening a buffer that has not begun is zero, and the gradient is added to it.
        return [1.0] * len(buffers)
    dampings = spread("dampening", state.dampening, treedef, _ASKED)
    keeps: list[Any] = [1.0] * len(buffers)
    known = started.tolist() if type(started) is np.ndarray else None
    selected: dict[int, Any] = {}
    holders = [i for i, buffer in enumerate(buffers) if buffer is not None]
    for k, i in enumerate(holders):
        damping = dampings[i]
        # In a JAX trace without 64 bits the cast makes float32 of the float64 that a step under fg.jit left.
        keep = 1 - float(damping) if is_host(damping) else sub_p(1, cast_p(damping, dtype=_FLOAT64))
        if known is not None:
            keeps[i] = keep if known[k] else None
        elif type(keep) is not float or keep != 1:
            # Where nothing is left out, a buffer that has not begun is zero, to which the gradient is added.
            if id(damping) not in selected:
                strong = np.float64(keep) if type(keep) is float else keep
                selected[id(damping)] = select_p(started, strong, full_like_p(strong, value=1))
            keeps[i] = reshape(slice_axis(selected[id(damping)], 0, k, k + 1), ())
    return keeps
