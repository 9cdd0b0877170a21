"""The state of SGD: hyperparameters, step count and momentum buffers, as one immutable pytree."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of, is_inexact
from funcgrad._core.bind import is_foreign, is_value
from funcgrad._engines import load_xla
from funcgrad._ops.cast import cast_p
from funcgrad._ops.fill import zeros_like
from funcgrad.errors import HyperparameterError
from funcgrad.optim._state.hyperparameters import HYPERPARAMETERS, number
from funcgrad.optim._state.prefix import (
    as_tree,
    check_all_nesterov,
    check_all_ranges,
    in_places_of,
    is_single,
    map_leaves,
    spread,
)
from funcgrad.tree import Packed, TreeDef, flatten, key_paths, leaves, ravel, register_dataclass, structure, unflatten


@register_dataclass(when_made=True)
@dataclasses.dataclass(frozen=True, eq=False)
class Buckets:
    """Momentum buffers packed by the state: a packed tree of its own, whatever the parameters are."""

    packed: Packed


@register_dataclass(meta_fields=("foreach", "differentiable", "master_dtype"), when_made=True)
@dataclasses.dataclass(frozen=True, eq=False)
class SGDState:
    """What SGD carries from step to step: a pytree whose structure stays the same from the first step to the last.

    Each hyperparameter is one value, or a pytree of them that is a prefix of the parameters.

    Args:
        lr: learning rate, parameter units per gradient unit: f64[], or a schedule of the step count.
        momentum: f64[], dimensionless.
        dampening: f64[], dimensionless.
        weight_decay: f64[], gradient units per parameter unit.
        nesterov: bool[].
        maximize: bool[].
        step: i32[], how many steps were taken.
        buffers: a pytree like the parameters: the momentum buffers, ``None`` where momentum is 0. A packed
            one, ``buffers.packed``, with ``foreach=True``.
        started: bool[number of buffers], whether each has had its first step; ``None`` without momentum, and without
            dampening, where adding to a buffer of zeros is the same as beginning one.
        masters: a pytree like the parameters: copies in ``master_dtype``, ``None`` where a parameter needs none.
        foreach: static; see `sgd_init`.
        differentiable: static; see `sgd_init`.
        master_dtype: static; see `sgd_init`.
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
    masters: Any = None
    foreach: bool | None = None
    differentiable: bool = False
    master_dtype: str | None = None

    def replace(self, **changes: Any) -> SGDState:
        """Return a state with other values in some fields; what was compiled for this state serves the new one.

        Hyperparameters are data, so a change of value compiles nothing anew. These changes alter the structure: setting
        momentum to 0 drops the buffers, the first dampening adds flags for what has started, a schedule takes the
        place of a number or the reverse, and so do trees of values of another structure.

        Args:
            changes: fields with their new values; hyperparameters as in `sgd_init`.

        Returns:
            The new state; this one is left as it is.

        Raises:
            HyperparameterError: a value is out of range, or momentum is asked of a state without buffers.
            TypeError: there is no such field, or a hyperparameter is not a single number.

        Example:
            >>> import funcgrad as fg
            >>> state = fg.sgd_init({"weight": 1.0}, lr=0.1)
            >>> float(state.replace(lr=0.01).lr), float(state.lr)
            (0.01, 0.1)
        """
        unknown = sorted(changes.keys() - vars(self).keys())
        if unknown:
            raise TypeError(
                f"SGDState.replace: {unknown[0]!r} is no field of the state; needed one of {', '.join(vars(self))}. "
                "Correct the name."
            )
        new = {name: as_tree(name, changes[name]) for name in HYPERPARAMETERS if name in changes}
        check_all_ranges({name: changes[name] for name in new})
        if {"momentum", "dampening", "nesterov"} & new.keys():
            check_all_nesterov({**vars(self), **new}, self._treedef, "SGDState.replace")
        if "momentum" in new:
            changes.update(self._buffers_for(new["momentum"]))
        if "dampening" in new and self.started is None and _any_nonzero(new["dampening"]):
            changes.setdefault("started", self._has_started())
        changes.update({name: in_places_of(getattr(self, name), value) for name, value in new.items()})
        return dataclasses.replace(self, **changes)

    @property
    def _treedef(self) -> TreeDef:
        """The structure of the parameters that have buffers, the others being empty."""
        return structure(_unpacked(self.buffers))

    def _buffers_for(self, momentum: Any) -> dict[str, Any]:
        """The fields that change with momentum."""
        found, treedef = flatten(_unpacked(self.buffers), _is_none)
        before = spread("momentum", self.momentum, treedef, "SGDState.replace")
        after = spread("momentum", momentum, treedef, "SGDState.replace")
        kept = [None if number(value) == 0 else buffer for value, buffer in zip(after, found, strict=True)]
        if not is_single(momentum) or number(momentum) != 0:
            pairs = zip(found, before, after, strict=True)
            missing = [buffer is None and number(old) == 0 and number(new) != 0 for buffer, old, new in pairs]
            if any(missing):
                path = key_paths(treedef)[missing.index(True)] or "the root"
                raise HyperparameterError(
                    "SGDState.replace: momentum was asked of a state made with momentum 0, which holds no buffer, at "
                    f"{path}. Arrived {momentum}, needed 0 there. Make a new state with sgd_init(params, momentum=...)."
                )
        if all(buffer is given for buffer, given in zip(kept, found, strict=True)):
            return {}
        buffers = unflatten(treedef, kept)
        dropped = [new is None for new, old in zip(kept, found, strict=True) if old is not None]
        started = None if self.started is None or all(dropped) else self.started[~np.array(dropped)]
        return {"buffers": _packed(buffers) if type(self.buffers) is Buckets else buffers, "started": started}

    def _has_started(self) -> Any:
        """Which buffers hold something: a parameter that had no gradient yet has a buffer of zeros."""
        buffers = leaves(_unpacked(self.buffers))
        return np.array([bool(np.any(np.asarray(buffer))) for buffer in buffers], bool) if buffers else None


def _packed(buffers: Any) -> Any:
    """The buffers packed, where any two of them lie in one array then."""
    packed = ravel(buffers)
    return Buckets(packed) if len(packed.arrays) < len(leaves(buffers)) else buffers


def _unpacked(buffers: Any) -> Any:
    return buffers.packed.unpack() if type(buffers) is Buckets else buffers


def _is_none(x: Any) -> bool:
    return x is None


def _any_nonzero(prefix: Any) -> bool:
    return any(number(value) != 0 for value in leaves(prefix))


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
    master_dtype: Any = None,
) -> SGDState:
    """Make the state with which `sgd_update` begins.

    Any of ``lr, momentum, dampening, weight_decay, nesterov, maximize`` may be a pytree that is a prefix of ``params``,
    with a value for each part of it: what parameter groups are to an optimizer with state.

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
        foreach: how many small parameters are handled. ``True`` keeps the momentum buffers packed (`fg.tree.ravel`):
            one flat buffer for each dtype and device, and parameters and gradients are packed and unpacked within each
            step; give packed parameters to spare that too. ``False`` takes one parameter at a time. ``None`` decides in
            each step: NumPy arrays of at most 65,536 elements are stepped together where there are eight or more of one
            kind; larger ones gain nothing. What XLA compiles is then taken one at a time, because its CPU backend takes
            six times as long to compile the cutting of a flat result into parameters. The numbers are the same.
        differentiable: kept for the reader of a PyTorch program; derivatives go through `sgd_update` in any case.
        master_dtype: a float dtype such as ``"float32"``: the state holds a copy in it of each parameter of a narrower
            dtype, steps that copy, and rounds it to the parameter. Small steps then add up that would be lost in
            bfloat16 or float16. The copies are made here; parameters that are changed elsewhere need a new state.

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
    if foreach not in (True, False, None):
        raise TypeError(f"sgd_init: foreach is {foreach!r}; needed True, False or None. None lets each step decide.")
    given = {
        "lr": lr,
        "momentum": momentum,
        "dampening": dampening,
        "weight_decay": weight_decay,
        "nesterov": nesterov,
        "maximize": maximize,
    }
    values = {name: as_tree(name, value) for name, value in given.items()}
    check_all_ranges(given)
    check_all_nesterov(values, treedef, "sgd_init")
    for name, value in values.items():
        spread(name, value, treedef, "sgd_init")
    if master_dtype is not None:
        master_dtype = _wide_dtype(master_dtype)
    masters = None if master_dtype is None else [_master(leaf, master_dtype) for leaf in found]
    momenta = spread("momentum", values["momentum"], treedef, "sgd_init")
    steps = found if masters is None else [p if m is None else m for p, m in zip(found, masters, strict=True)]
    buffers = [None if number(m) == 0 else _zeros(leaf) for leaf, m in zip(steps, momenta, strict=True)]
    tree = unflatten(treedef, buffers)
    count = sum(buffer is not None for buffer in buffers)
    started = np.zeros(count, bool) if count and _any_nonzero(values["dampening"]) else None
    return SGDState(
        **_placed({**values, "step": np.int32(0), "started": started}, found),
        buffers=_packed(tree) if foreach and masters is None else tree,
        masters=None if masters is None else unflatten(treedef, masters),
        foreach=foreach,
        differentiable=differentiable,
        master_dtype=None if master_dtype is None else master_dtype.name,
    )


def _placed(values: dict[str, Any], leaves: Sequence[Any]) -> dict[str, Any]:
    """NumPy values on the devices of the parameters, where those were put somewhere on purpose."""
    reference = next((leaf for leaf in leaves if is_foreign(leaf)), None)
    if reference is None:
        return values
    beside = load_xla().beside

    def put(value: Any) -> Any:
        return beside(value, reference) if isinstance(value, np.generic | np.ndarray) else value

    return {name: None if value is None else map_leaves(put, value) for name, value in values.items()}


def _wide_dtype(given: Any) -> np.dtype:
    try:
        dtype = np.dtype(given)
    except TypeError:
        dtype = None
    if dtype is None or not is_inexact(dtype) or dtype.kind == "c":
        raise TypeError(f'sgd_init: master_dtype is {given!r}; needed a float dtype. Pass "float32" or "float64".')
    return dtype


def _master(leaf: Any, dtype: np.dtype) -> Any:
    aval = aval_of(leaf)
    wider = aval.dtype.kind != "c" and aval.dtype.itemsize < dtype.itemsize
    return cast_p(leaf, dtype=dtype) if wider else None


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
