"""The first state: parameters and hyperparameters are checked, and slots are made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from funcgrad._core.aval import aval_of, is_inexact
from funcgrad._core.bind import is_engine_value, is_value
from funcgrad._core.words import shown
from funcgrad._engines import place_beside
from funcgrad._ops.elementwise.cast import cast, cast_p, make_complex
from funcgrad._ops.layout.fill import full_like_p, zeros_like
from funcgrad._types import Array, ArrayLike, DTypeLike, Hyper, Params, ScalarLike
from funcgrad.errors import HyperparameterError
from funcgrad.optim._rules.rule import Slot, Structure
from funcgrad.optim._state.hyperparameters import FLOAT64, number
from funcgrad.optim._state.per_parameter import rows_of, structures_of
from funcgrad.optim._state.prefix import as_vector, check_together, laid_out
from funcgrad.optim._state.state import State, packed
from funcgrad.tree import TreeDef, flatten, key_paths, leaves, unflatten

S = TypeVar("S", bound=State)


def begin(
    kind: type[S],
    params: Params,
    given: Mapping[str, Any],
    *,
    foreach: bool | None,
    differentiable: bool,
    master_dtype: DTypeLike,
) -> S:
    """Return the first state of a rule for these parameters."""
    rule = kind.rule
    asked = f"{rule.name}_init"
    found, treedef = flatten(params)
    _check_leaves(asked, found, treedef)
    refusal = None if rule.refusal is None else rule.refusal([[aval_of(leaf) for leaf in found]])
    if refusal is not None:
        raise HyperparameterError(f"{asked}: {refusal}")
    if foreach not in (True, False, None):
        raise TypeError(f"{asked}: foreach is {foreach!r}; needed True, False or None. None lets each step decide.")
    hypers, numbers = laid_out(rule, given)
    check_together(rule, hypers, numbers, treedef, asked)
    if master_dtype is not None:
        master_dtype = _wide_dtype(asked, master_dtype)
    vector = as_vector(numbers)
    first = kind(vector, np.zeros((), np.int32), (), None, hypers=hypers)
    structures = structures_of(first, treedef, asked)
    masters = None if master_dtype is None else [_master(leaf, master_dtype) for leaf in found]
    steps = found if masters is None else [p if m is None else m for p, m in zip(found, masters, strict=True)]
    # Schedules are not called before the first step.
    rows = rows_of(first, treedef, asked) if any(callable(slot.begin) for slot in rule.slots) else None
    slots = []
    for slot in rule.slots:
        of_leaves = [
            begun(slot, leaf, None if rows is None else rows[i].hyper) if slot in structures[i].slots else None
            for i, leaf in enumerate(steps)
        ]
        slots.append(unflatten(treedef, of_leaves))
    count = sum(row.counts for row in structures)
    taken = np.zeros(count, np.int32) if count else None
    vector, step, taken = placed([vector, np.zeros((), np.int32), taken], found)
    return kind(
        vector,
        step,
        tuple([packed(tree) for tree in slots] if foreach and masters is None and _is_uniform(structures) else slots),
        taken,
        None if masters is None else unflatten(treedef, masters),
        hypers,
        foreach,
        differentiable,
        None if master_dtype is None else master_dtype.name,
    )


def _is_uniform(structures: Sequence[Structure]) -> bool:
    """Return whether all slots are arrays for the same parameters, so that they are packed alike."""
    held = {row.slots for row in structures}
    return len(held - {()}) <= 1 and not any(slot.scalar for slots in held for slot in slots)


def begun(slot: Slot, leaf: ArrayLike, hyper: Hyper) -> Array:
    """Return the first value of a slot of a parameter."""
    value = slot.begin(hyper) if callable(slot.begin) else slot.begin
    if number(value) is None:
        # The hyperparameter is traced.
        return cast(value, FLOAT64) if slot.scalar else _full_of(value, leaf)
    if slot.scalar:
        return np.array(value, FLOAT64)
    if is_complex(leaf) and value != 0:
        value = complex(value, value)
    if value == 0:
        # np.zeros does not touch fresh memory pages, so it needs no pass over memory.
        return np.zeros(leaf.shape, leaf.dtype) if type(leaf) is np.ndarray else zeros_like(leaf)
    return np.full(leaf.shape, value, leaf.dtype) if type(leaf) is np.ndarray else full_like_p(leaf, value=value)


def _full_of(value: ScalarLike, leaf: ArrayLike) -> Array:
    zeros = zeros_like(leaf)
    if not is_complex(leaf):
        return zeros + cast(value, aval_of(leaf).dtype)
    part = cast(value, np.dtype(f"f{aval_of(leaf).dtype.itemsize // 2}"))
    return zeros + make_complex(part, part)


def is_complex(x: ArrayLike) -> bool:
    return aval_of(x).dtype.kind == "c"


def placed(values: Sequence[Any], params: Params) -> list[Any]:
    """Put NumPy values on the devices of the parameters, if the user chose these devices."""
    reference = next((leaf for leaf in leaves(params) if is_engine_value(leaf)), None)
    if reference is None:
        return list(values)
    return [place_beside(x, reference) if issubclass(type(x), np.generic | np.ndarray) else x for x in values]


def _wide_dtype(asked: str, given: Any) -> np.dtype:
    try:
        dtype = np.dtype(given)
    except TypeError:
        dtype = None
    if dtype is None or not is_inexact(dtype) or dtype.kind == "c":
        raise TypeError(f'{asked}: master_dtype is {shown(given)}; needed a float dtype. Pass "float32" or "float64".')
    return dtype


def _master(leaf: ArrayLike, dtype: np.dtype) -> Array:
    aval = aval_of(leaf)
    wider = aval.dtype.kind != "c" and aval.dtype.itemsize < dtype.itemsize
    return cast_p(leaf, dtype=dtype) if wider else None


def _check_leaves(asked: str, leaves: list[Any], treedef: TreeDef) -> None:
    for i, leaf in enumerate(leaves):
        if not is_value(leaf) or not is_inexact(aval_of(leaf).dtype):
            path = key_paths(treedef)[i]
            arrived = aval_of(leaf) if is_value(leaf) else f"a {type(leaf).__name__}"
            raise TypeError(
                f"{asked}: params{path} is {arrived}; needed a float or complex array. "
                "Convert it with .astype(float), or keep it out of params."
            )
