"""The state of SGD: hyperparameters, step count and momentum buffers, as one immutable pytree."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of, is_inexact
from funcgrad._core.bind import is_foreign, is_value
from funcgrad._engines import load_xla
from funcgrad._ops.fill import zeros_like
from funcgrad.errors import HyperparameterError
from funcgrad.optim._hyperparameters import (
    HYPERPARAMETERS,
    as_leaf,
    check_nesterov,
    check_ranges,
    in_place_of,
    number,
)
from funcgrad.tree import TreeDef, flatten, key_paths, leaves, register_dataclass, unflatten
from funcgrad.tree import map as tree_map


@register_dataclass(meta_fields=("foreach", "differentiable"))
@dataclasses.dataclass(frozen=True, eq=False)
class SGDState:
    """What SGD carries from step to step: a pytree whose structure stays the same from the first step to the last.

    Args:
        lr: learning rate, parameter units per gradient unit: f64[], or a schedule of the step count.
        momentum: f64[], dimensionless.
        dampening: f64[], dimensionless.
        weight_decay: f64[], gradient units per parameter unit.
        nesterov: bool[].
        maximize: bool[].
        step: i32[], how many steps were taken.
        buffers: a pytree like the parameters: the momentum buffers, ``None`` where momentum is 0.
        started: bool[number of leaves], whether each parameter has had its first step; ``None`` without momentum, and
            without dampening, where adding to a buffer of zeros is the same as beginning one.
        foreach: static; see `sgd_init`.
        differentiable: static; see `sgd_init`.
    """

    lr: Any
    momentum: Any
    dampening: Any
    weight_decay: Any
    nesterov: Any
    maximize: Any
    step: Any
    buffers: Any
    started: Any
    foreach: bool | None = None
    differentiable: bool = False

    def replace(self, **changes: Any) -> SGDState:
        """Return a state with other values in some fields; what was compiled for this state serves the new one.

        Hyperparameters are data, so a change of value compiles nothing anew. Three changes alter the structure: setting
        momentum to 0 drops the buffers, the first dampening adds flags for what has started, and a schedule takes
        the place of a number or the reverse.

        Args:
            changes: fields with their new values; hyperparameters as in `sgd_init`.

        Returns:
            The new state; this one is left as it is.

        Raises:
            HyperparameterError: a value is out of range, or momentum is asked of a state without buffers.

        Example:
            >>> import funcgrad as fg
            >>> state = fg.sgd_init({"weight": 1.0}, lr=0.1)
            >>> float(state.replace(lr=0.01).lr), float(state.lr)
            (0.01, 0.1)
        """
        names = [name for name in HYPERPARAMETERS if name in changes]
        new = {name: as_leaf(name, changes[name]) for name in names}
        check_ranges({name: changes[name] for name in names})
        if {"momentum", "dampening", "nesterov"} & new.keys():
            check_nesterov({**vars(self), **new})
        if "momentum" in new:
            changes.update(self._buffers_for(new["momentum"]))
        if "dampening" in new and self.started is None and number(new["dampening"]) != 0:
            changes.setdefault("started", self._has_started())
        placed = {name: in_place_of(getattr(self, name), value) for name, value in new.items()}
        return dataclasses.replace(self, **{**changes, **placed})

    def _buffers_for(self, momentum: Any) -> dict[str, Any]:
        """The fields that change with momentum."""
        if number(momentum) == 0:
            return {"buffers": tree_map(lambda _: None, self.buffers), "started": None}
        if not leaves(self.buffers):
            raise HyperparameterError(
                "SGDState.replace: momentum was asked of a state made with momentum 0, which holds no buffers. Arrived "
                f"{momentum}, needed 0. Make a new state with sgd_init(params, ..., momentum={momentum})."
            )
        return {}

    def _has_started(self) -> Any:
        """Which buffers hold something: a parameter that had no gradient yet has a buffer of zeros."""
        buffers = leaves(self.buffers)
        return np.array([bool(np.any(np.asarray(buffer))) for buffer in buffers], bool) if buffers else None


def sgd_init(
    params: Any,
    *,
    lr: Any,
    momentum: Any = 0.0,
    dampening: Any = 0.0,
    weight_decay: Any = 0.0,
    nesterov: Any = False,
    maximize: Any = False,
    foreach: bool | None = None,
    differentiable: bool = False,
) -> SGDState:
    """Make the state with which `sgd_update` begins.

    Args:
        params: a pytree of float or complex arrays; only its structure, shapes, dtypes and devices are used.
        lr: learning rate, zero or positive, in parameter units per gradient unit: a number, an array of shape ``[]``,
            or a function of the number of steps already taken (0 at the first step). A function is static: it is
            compared by identity, so pass the same one each time.
        momentum: what remains of the buffer after each step, dimensionless. Without it there are no buffers.
        dampening: what is kept from the gradient when it enters the buffer, dimensionless; not at the first step.
        weight_decay: the factor of the penalty ``weight_decay / 2 * params**2``, in gradient units per parameter unit.
        nesterov: look ahead along the buffer; needs momentum, and no dampening.
        maximize: go uphill.
        foreach: kept for the reader of a PyTorch program; every value goes leaf by leaf.
        differentiable: kept for the reader of a PyTorch program; derivatives go through `sgd_update` in any case.

    Returns:
        The state; its hyperparameters are data, to be changed by `SGDState.replace` without recompilation.

    Raises:
        HyperparameterError: a value is out of range (NaN is out of every range).
        TypeError: a parameter is not a float or complex array, or a hyperparameter is not a single number.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> params = {"weight": np.array([1.0, 2.0])}
        >>> state = fg.sgd_init(params, lr=0.1, momentum=0.9)
        >>> params, state = fg.sgd_update({"weight": np.array([1.0, 0.0])}, state, params)
        >>> params["weight"]
        array([0.9, 2. ])
    """
    found, treedef = flatten(params)
    _check_leaves(found, treedef)
    given = {
        "lr": lr,
        "momentum": momentum,
        "dampening": dampening,
        "weight_decay": weight_decay,
        "nesterov": nesterov,
        "maximize": maximize,
    }
    values = {name: as_leaf(name, value) for name, value in given.items()}
    check_ranges(given)
    check_nesterov(values)
    without = number(values["momentum"]) == 0
    started = None if without or number(values["dampening"]) == 0 else np.zeros(len(found), bool)
    return SGDState(
        **_placed({**values, "step": np.int32(0), "started": started}, found),
        buffers=unflatten(treedef, [None if without else _zeros(leaf) for leaf in found]),
        foreach=foreach,
        differentiable=differentiable,
    )


def _placed(values: dict[str, Any], leaves: Sequence[Any]) -> dict[str, Any]:
    """NumPy values on the devices of the parameters, where those were put somewhere on purpose."""
    reference = next((leaf for leaf in leaves if is_foreign(leaf)), None)
    if reference is None:
        return values
    beside = load_xla().beside
    return {
        name: beside(value, reference) if isinstance(value, np.generic | np.ndarray) else value
        for name, value in values.items()
    }


def _check_leaves(leaves: list[Any], treedef: TreeDef) -> None:
    for i, leaf in enumerate(leaves):
        if not is_value(leaf) or not is_inexact(aval_of(leaf).dtype):
            path = key_paths(treedef)[i]
            arrived = aval_of(leaf) if is_value(leaf) else f"a {type(leaf).__name__}"
            raise TypeError(
                f"sgd_init: params{path} is {arrived}; needed a float or complex array. "
                "Convert it with .astype(float), or keep it out of params."
            )


def _zeros(leaf: Any) -> Any:
    # np.zeros leaves fresh pages alone until they are written: no pass over memory.
    return np.zeros(leaf.shape, leaf.dtype) if type(leaf) is np.ndarray else zeros_like(leaf)
