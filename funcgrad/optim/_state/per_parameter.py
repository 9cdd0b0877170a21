"""The hyperparameters of each parameter of a state, and their structures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from funcgrad.optim._rules.rule import HyperparameterRow, Structure
from funcgrad.optim._state.hyperparameters import Schedule, as_number, check_range, is_host
from funcgrad.optim._state.prefix import NumberIndex, of_vector
from funcgrad.tree import TreeDef

if TYPE_CHECKING:
    from funcgrad.optim._state.state import State


def is_known(entry: Any, numbers: Sequence[Any]) -> bool:
    """Return whether an entry is the position of a number that Python knows."""
    return type(entry) is NumberIndex and type(numbers[entry]) is float


def rows_of(state: State, treedef: TreeDef, asked: str) -> Sequence[HyperparameterRow]:
    """Return the hyperparameters of each parameter; parameters that share them share one object."""
    found = state.hypers.entries
    if found is not None:
        return [_single_row(state, found)] * treedef.num_leaves
    numbers = of_vector(state.numbers)
    made: dict[Any, HyperparameterRow] = {}
    rows = []
    for entries in state.hypers.spread(state.rule, treedef, asked):
        # Known numbers that are equal count as one.
        key = tuple([numbers[x] if is_known(x, numbers) else (type(x), x) for x in entries])
        if key not in made:
            made[key] = _row(state, entries, numbers)
        rows.append(made[key])
    return rows


def _single_row(state: State, entries: tuple[Any, ...]) -> HyperparameterRow:
    """Return the hyperparameters of all parameters; the last object again if the numbers are the same object."""
    vector, row = state.hypers.last
    if vector is None or vector is not state.numbers:
        row = _row(state, entries, of_vector(state.numbers))
        kept = type(state.numbers) is np.ndarray and not state.numbers.flags.writeable
        if kept and row.structure.count == len(state.numbers):
            state.hypers.last = state.numbers, row
    return row


def _row(state: State, entries: tuple[Any, ...], numbers: Sequence[Any]) -> HyperparameterRow:
    structure = _structure(state, entries)
    if len(numbers) == structure.count and state.hypers.entries is not None:
        return HyperparameterRow(structure, numbers)
    values = []
    for kind, entry in zip(state.rule.hyperparameters, entries, strict=True):
        if isinstance(entry, Schedule):
            step = state.step
            value = entry.value(int(step) if is_host(step) or type(step) is np.ndarray else step)
            check_range(kind, value)
            # A JAX function, such as an optax schedule, may return float32, and numbers are float64.
            values.append(as_number(state.rule.name, kind, value))
        elif type(entry) is NumberIndex:
            values.append(numbers[entry])
    return HyperparameterRow(structure, values)


def structures_of(state: State, treedef: TreeDef, asked: str) -> Sequence[Structure]:
    """Return the structure of each parameter's hyperparameters."""
    return [_structure(state, entries) for entries in state.hypers.spread(state.rule, treedef, asked)]


def _structure(state: State, entries: tuple[Any, ...]) -> Structure:
    found = state.hypers.structures.get(entries)
    if found is None:
        found = state.rule.structure(
            tuple([True if type(x) is NumberIndex or isinstance(x, Schedule) else x for x in entries])
        )
        state.hypers.structures[entries] = found
    return found
