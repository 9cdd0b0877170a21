"""Hyperparameters as prefix pytrees of the parameters: one value for the whole tree, or one for each part.

A `Prefix` holds the structure. One small vector holds all numbers that are data, and passes through a compiled step as
one leaf. (`jax.jit` alone took 18 us with nine leaves, and 10 us with three.)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from funcgrad._core.bind import is_engine_value, is_value
from funcgrad._engines import is_abstract
from funcgrad._ops.elementwise.cast import cast_p
from funcgrad._ops.index.split import join, split
from funcgrad._ops.layout.shape import reshape
from funcgrad._ops.program.barrier import separate_p
from funcgrad._types import ScalarLike
from funcgrad.errors import HyperparameterError
from funcgrad.optim._rules.rule import Choice, Number, Rule
from funcgrad.optim._state.hyperparameters import FLOAT64, Schedule, as_entry, check_range, is_host, number
from funcgrad.tree import TreeDef, broadcast_prefix, flatten_with_path, key_path_str, unflatten
from funcgrad.tree.extend import static_key


class NumberIndex(int):
    """The position of a number in the vector."""


# Pickled states of earlier releases contain this name.
Place = NumberIndex


# The value of a choice, a schedule, the position of a number, or ``None`` for a term that is turned off.
Entry = Any


@dataclasses.dataclass(frozen=True)
class Prefix:
    """The structure of one hyperparameter: its tree (``None``: one value for all) and an entry for each value."""

    treedef: TreeDef | None
    entries: tuple[Entry, ...]

    def tree(self, values: Sequence[Any]) -> Any:
        """Return the hyperparameter with these values."""
        return values[0] if self.treedef is None else unflatten(self.treedef, values)

    def spread(self, treedef: TreeDef, asked: str) -> Sequence[Any]:
        """Return the entry for each leaf of the parameters."""
        if self.treedef is None:
            return self.entries * treedef.num_leaves
        numbered = unflatten(self.treedef, range(len(self.entries)))
        return [self.entries[i] for i in broadcast_prefix(numbered, treedef, asked)]


class Prefixes:
    """The structure of all hyperparameters of a state: one object from step to step, with derived data."""

    __slots__ = ("_hash", "entries", "last", "prefixes", "structures")

    def __init__(self, prefixes: tuple[Prefix, ...]) -> None:
        self.prefixes = prefixes
        # The entries of all parameters, if each hyperparameter has one value.
        single = all(prefix.treedef is None for prefix in prefixes)
        self.entries = tuple([prefix.entries[0] for prefix in prefixes]) if single else None
        self.structures: dict[Any, Any] = {}
        # The last numbers, and the row made of them.
        self.last: tuple[Any, Any] = None, None
        self._hash = hash(prefixes)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Prefixes) and static_key(self.prefixes) == static_key(other.prefixes)
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Prefixes({', '.join(map(str, self.prefixes))})"

    def __reduce__(self) -> tuple[Any, ...]:
        return Prefixes, (self.prefixes,)

    def spread(self, rule: Rule, treedef: TreeDef, asked: str) -> list[tuple[Any, ...]]:
        """Return the entries of each parameter."""
        pairs = zip(rule.names, self.prefixes, strict=True)
        columns = [prefix.spread(treedef, f"{asked}: {name}") for name, prefix in pairs]
        return list(zip(*columns, strict=True))


NO_PREFIXES = Prefixes(())


def is_single(value: ScalarLike) -> bool:
    """Return whether a hyperparameter is one value for all parameters rather than a tree of values."""
    return is_host(value) or isinstance(value, Schedule) or callable(value) or is_value(value)


def _is_schedule(value: ScalarLike) -> bool:
    return isinstance(value, Schedule)


def _is_choice(value: Any) -> bool:
    """Return whether a node is a value of a choice: ``None`` may be one."""
    return value is None


def laid_out(rule: Rule, given: Mapping[str, Any]) -> tuple[Prefixes, list[Any]]:
    """Return the structure of the hyperparameters and the numbers that are data; refuse numbers out of range."""
    prefixes = []
    numbers: list[Any] = []
    for kind in rule.hyperparameters:
        treedef, parts = _parts(given[kind.name], _is_schedule if type(kind) is Number else _is_choice)
        entries = [as_entry(rule.name, kind, value, path) for path, value in parts]
        for path, value in parts:
            check_range(kind, value, path)
        placed: list[Entry] = []
        for entry in entries:
            if isinstance(kind, Choice) or entry is None or isinstance(entry, Schedule):
                placed.append(entry)
            else:
                placed.append(NumberIndex(len(numbers)))
                numbers.append(entry)
        prefixes.append(Prefix(treedef, tuple(placed)))
    return Prefixes(tuple(prefixes)), numbers


def _parts(value: Any, is_whole: Callable[[Any], bool]) -> tuple[TreeDef | None, list[tuple[str, Any]]]:
    """Return the values of a prefix tree with their key paths."""
    if not is_single(value):
        pairs, treedef = flatten_with_path(value, is_whole)
        if pairs and not treedef.is_leaf():
            return treedef, [(key_path_str(path), leaf) for path, leaf in pairs]
    return None, [("", value)]


def as_vector(numbers: Sequence[Any]) -> Any:
    """Return the numbers that are data as one vector, or ``None`` if there are none."""
    if not numbers:
        return None
    if all(type(x) is float for x in numbers):
        vector = np.array(numbers)
        # Derived data is found again by the vector's identity, so the vector must not change.
        vector.flags.writeable = False
        return vector
    return join([reshape(np.float64(x) if type(x) is float else x, (1,)) for x in numbers])


def of_vector(vector: ScalarLike) -> Sequence[Any]:
    """Return the numbers in a vector, as Python floats if they are known."""
    if vector is None:
        return ()
    if type(vector) is np.ndarray:
        return vector.tolist()
    if is_engine_value(vector):
        if not is_abstract(vector):
            return np.asarray(vector).tolist()
        # In a JAX trace without 64 bits, this turns the float64 of a step under fg.jit into float32.
        vector = cast_p(vector, dtype=FLOAT64)
    # Cut the vector once. If each loop cut it again, XLA would not fuse the loops (three per parameter instead of two).
    return separate_p(*split(vector, ((),) * vector.shape[0]))


def check_together(rule: Rule, prefixes: Prefixes, numbers: Sequence[Any], treedef: TreeDef, asked: str) -> None:
    """Refuse combinations of hyperparameters, in PyTorch's words."""
    rows = prefixes.spread(rule, treedef, asked) if prefixes.entries is None else [prefixes.entries]
    refusal = rule.check([_known(rule, row, numbers) for row in rows])
    if refusal is not None:
        raise HyperparameterError(refusal)


def _known(rule: Rule, row: Sequence[Entry], numbers: Sequence[Any]) -> SimpleNamespace:
    """Return one parameter's hyperparameters as numbers: 0 for a term turned off, ``None`` for an unknown number."""
    values: dict[str, Any] = {}
    for kind, entry in zip(rule.hyperparameters, row, strict=True):
        if type(kind) is Number and not isinstance(entry, Schedule):
            values[kind.name] = 0 if entry is None else number(numbers[int(entry)])
        else:
            values[kind.name] = entry
    return SimpleNamespace(**values)
