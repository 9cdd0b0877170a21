"""One step of any rule, over a pytree of parameters or over single leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._engines.engine import in_use
from funcgrad._ops.elementwise.arithmetic import add_p
from funcgrad._ops.index.split import split
from funcgrad._types import ArrayLike, Grads, Params, PyTree
from funcgrad.errors import HyperparameterError, TreeMismatchError
from funcgrad.optim._rules.rule import HyperparameterRow, Rule
from funcgrad.optim._run.leaf import Leaf, Stepper, StepResult
from funcgrad.optim._run.packing import MANY, step_packed, step_small
from funcgrad.optim._run.sharded import in_their_places
from funcgrad.optim._state.per_parameter import rows_of
from funcgrad.optim._state.state import Buckets, State, unpacked
from funcgrad.tree import TreeDef, flatten, flatten_up_to, key_paths, unflatten

S = TypeVar("S", bound=State)
_ARRAYS = frozenset({np.ndarray})


def update(kind: type[S], grads: Grads, state: S, params: Params, into: Any = None) -> tuple[Any, S]:
    """Take one step of a rule on pytrees."""
    rule = kind.rule
    asked = f"{rule.name}_update"
    if not isinstance(state, kind):
        raise TypeError(
            f"{asked}: state is a {type(state).__name__}; needed an {kind.__name__}. The order is (grads, state, "
            f"params): pass what {rule.name}_init made, or what the previous step returned."
        )
    leaves, treedef = flatten(params)
    gradients = flatten_up_to(treedef, grads, f"{asked}: grads")
    columns = [
        flatten_up_to(treedef, unpacked(tree), f"{asked}: state.{name}")
        for name, tree in zip(kind.slot_names, state.slots, strict=True)
    ]
    rows = rows_of(state, treedef, f"{asked}: state")
    stepper = Stepper(rule, lambda i: key_paths(treedef)[i])
    if into is None and state.masters is None and state.taken is None and Buckets not in map(type, state.slots):
        stepped, new = _step_flat(stepper, rows, leaves, gradients, columns, state.foreach is not False)
        if stepped is not None:
            new_slots = [unflatten(treedef, x) for x in new]
            return unflatten(treedef, stepped), _next(kind, state, new_slots, None, None)
    masters, stepped = [None] * len(leaves), leaves
    if state.masters is not None:
        masters = flatten_up_to(treedef, state.masters, f"{asked}: state.masters")
        stepped = _stepped(asked, masters, leaves, treedef)
    slots = _slots(rule, rows, columns, treedef)
    _check_state(asked, rows, slots, stepped, treedef)
    taken = _taken(state, rows)
    places = _places(into, treedef, rule, rows, asked)
    given = [Leaf(*row) for row in zip(leaves, gradients, slots, masters, taken, rows, places, strict=True)]
    results: Any = [None] * len(given)
    buckets = [tree for tree in state.slots if type(tree) is Buckets]
    packs = [x.packed for x in buckets]
    new_packs = step_packed(stepper, given, packs, results) if buckets else ()
    step_leaves(stepper, given, results, state.foreach is not False and not buckets)
    if in_use and not _ARRAYS.issuperset(map(type, leaves)):
        results, new_packs = in_their_places(given, results, packs, new_packs)
    if buckets:
        new_packed = iter(new_packs)
        # Slots that are not packed are empty here.
        new_slots = [Buckets(next(new_packed)) if type(tree) is Buckets else tree for tree in state.slots]
    else:
        new_slots = [unflatten(treedef, column) for column in _columns(rule, rows, results)]
    new_masters = None if state.masters is None else unflatten(treedef, [result.master for result in results])
    advanced = _next(kind, state, new_slots, _advanced(state, given, taken), new_masters)
    return unflatten(treedef, [result.p for result in results]), advanced


def _step_flat(
    stepper: Stepper,
    rows: Sequence[HyperparameterRow],
    leaves: Sequence[Any],
    gradients: Sequence[Any],
    columns: Sequence[Sequence[Any]],
    together: bool,
) -> tuple[list[Any] | None, list[list[Any]]]:
    """Step NumPy arrays whose programs exist: return the new parameters, and each slot of the rule for all of them.

    Every other case returns ``None`` for the parameters, before anything is written: half precision, complex
    parameters, row-sparse or missing gradients, JAX arrays, traced values, and states of other parameters. Steps that
    were collected before are dropped, and `update` takes the leaves one by one, with their checks. `step_small` handles
    many parameters.
    """
    params: list[Any] = []
    new: list[list[Any]] = [[] for _ in columns]
    if together and len(leaves) >= MANY:
        return None, new
    for p, g, row, *values in zip(leaves, gradients, rows, *columns, strict=True):
        index = row.structure.index
        held = tuple(values)
        if None in index:
            held = tuple([x for x, k in zip(values, index, strict=True) if k is not None])
        places = stepper.gathered(p, g, held, None, row, None)
        if places is None:
            stepper.forget()
            return None, new
        for x in held:
            if x.shape != p.shape or x.dtype != p.dtype:
                stepper.forget()
                return None, new
        params.append(places[0])
        for k, column in zip(index, new, strict=True):
            column.append(None if k is None else places[k + 1])
    stepper.finish()
    return params, new


def _next(kind: type[S], state: State, slots: Sequence[Any], taken: Any, masters: PyTree) -> S:
    """Return the state after a step."""
    # If the count is NumPy's, this takes two frames less than `add_p`; the dtype stays int32.
    step = state.step + 1 if type(state.step) is np.ndarray else add_p(state.step, 1)
    return kind(
        state.numbers,
        step,
        tuple(slots),
        taken,
        masters,
        state.hypers,
        state.foreach,
        state.differentiable,
        state.master_dtype,
    )


def step_leaves(stepper: Stepper, given: Sequence[Leaf], results: list[StepResult | None], together: bool) -> None:
    """Step the leaves that have no result yet; small NumPy leaves together if ``together`` is set."""
    if together:
        step_small(stepper, given, results)
    for i, leaf in enumerate(given):
        if results[i] is None:
            results[i] = stepper.step(i, leaf)
    stepper.finish()


def _slots(
    rule: Rule, rows: Sequence[HyperparameterRow], columns: Sequence[Sequence[Any]], treedef: TreeDef
) -> Sequence[tuple[Any, ...]]:
    """Return the slots of each parameter. If a needed slot is missing, the state was changed by hand."""
    found = []
    if len(set(rows)) == 1 and len(columns) == len(rows[0].structure.slots) and _are_full(columns):
        # This is the common case.
        return list(zip(*columns, strict=True))
    for i, row in enumerate(rows):
        held = row.structure.slots
        if not held:
            found.append(())
            continue
        slots = tuple([x[i] for x, k in zip(columns, row.structure.index, strict=True) if k is not None])
        for x, slot in zip(slots, held, strict=True):
            if x is None:
                raise HyperparameterError(
                    f"{rule.name}_update: params{key_paths(treedef)[i]} needs a {slot.name} by its hyperparameters, "
                    f"but the state holds none for it. Make a new state with {rule.name}_init."
                )
        found.append(slots)
    return found


def _are_full(columns: Sequence[Sequence[Any]]) -> bool:
    return bool(columns) and not any(x is None for column in columns for x in column)


def _columns(rule: Rule, rows: Sequence[HyperparameterRow], results: Sequence[StepResult]) -> list[list[Any]]:
    """Return the new slots, slot by slot, ``None`` if a parameter has none."""
    if len(set(rows)) == 1:
        index = rows[0].structure.index
        return [[None if k is None else x[1][k] for x in results] for k in index]
    columns = []
    for number in range(len(rule.slots)):
        places = [row.structure.index[number] for row in rows]
        columns.append([None if k is None else x[1][k] for x, k in zip(results, places, strict=True)])
    return columns


def _taken(state: State, rows: Sequence[HyperparameterRow]) -> Sequence[Any]:
    """Return the step count of each parameter whose rule reads it."""
    if state.taken is None:
        return [None] * len(rows)
    known = type(state.taken) is np.ndarray
    values = iter(state.taken.tolist() if known else split(state.taken, ((),) * state.taken.shape[0]))
    return [next(values) if row.structure.counts else None for row in rows]


def _advanced(state: State, given: Sequence[Leaf], taken: Sequence[Any]) -> Any:
    """Return the step counts after this step; a parameter without gradient took none."""
    if state.taken is None:
        return None
    there = [leaf.g is not None for leaf, steps in zip(given, taken, strict=True) if steps is not None]
    return add_p(state.taken, np.array(there, np.int32))


def _places(
    into: Any, treedef: TreeDef, rule: Rule, rows: Sequence[HyperparameterRow], asked: str
) -> Sequence[tuple[Any, ...] | None]:
    """Return the given memory for new parameters and slots."""
    if into is None:
        return [None] * treedef.num_leaves
    params, state = into
    columns = [flatten_up_to(treedef, tree, f"{asked}: into") for tree in (params, *state.slots)]
    places = []
    for row, (p, *slots) in zip(rows, zip(*columns, strict=True), strict=True):
        kept = zip(rule.slots, row.structure.index, slots, strict=True)
        places.append((p, *[x for slot, k, x in kept if k is not None and not slot.scalar]))
    return places


def _same_type(x: ArrayLike, p: ArrayLike) -> bool:
    try:
        return x.shape == p.shape and x.dtype == p.dtype
    except AttributeError:
        # The leaf is a Python number.
        return aval_of(x).shape == aval_of(p).shape


def _check_state(
    asked: str,
    rows: Sequence[HyperparameterRow],
    slots: Sequence[tuple[Any, ...]],
    stepped: Sequence[Any],
    treedef: TreeDef,
) -> None:
    """Refuse a state that was made for other parameters."""
    for i, (held, p) in enumerate(zip(slots, stepped, strict=True)):
        for k, x in enumerate(held):
            if not _same_type(x, p):
                slot = rows[i].structure.slots[k]
                if not slot.scalar:
                    _refuse_state(asked, slot.name, i, x, p, treedef)


def _stepped(asked: str, masters: Sequence[Any], leaves: Sequence[Any], treedef: TreeDef) -> Sequence[Any]:
    """Return the array that is stepped for each parameter: its master copy, if it has one."""
    for i, (master, p) in enumerate(zip(masters, leaves, strict=True)):
        if master is not None and master.shape != p.shape:
            _refuse_state(asked, "master copy", i, master, p, treedef)
    return [p if master is None else master for p, master in zip(leaves, masters, strict=True)]


def _refuse_state(asked: str, what: str, i: int, arrived: ArrayLike, needed: ArrayLike, treedef: TreeDef) -> None:
    raise TreeMismatchError(
        f"{asked}: the {what} of params{key_paths(treedef)[i]} is {aval_of(arrived)}; needed {aval_of(needed)}, "
        f"the type of the parameter. Pass the state that {asked.removesuffix('update')}init made for these parameters."
    )
