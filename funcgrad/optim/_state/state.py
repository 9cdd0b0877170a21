"""The state of any optimizer: hyperparameters, step count and slots, as one immutable pytree."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NoReturn, Self, overload

import numpy as np

import funcgrad.numpy as fnp
from funcgrad._engines import is_spread, place_beside
from funcgrad._types import ArrayLike, PyTree, ScalarLike
from funcgrad.errors import HyperparameterError
from funcgrad.optim._rules.rule import Choice, Rule, Structure
from funcgrad.optim._state.earlier import completed_fields, earlier_fields
from funcgrad.optim._state.hyperparameters import as_count, by_name
from funcgrad.optim._state.per_parameter import is_known, structures_of
from funcgrad.optim._state.prefix import (
    NO_PREFIXES,
    NumberIndex,
    Prefixes,
    as_vector,
    check_together,
    laid_out,
    of_vector,
)
from funcgrad.optim._state.text import Shown, hyperparameters_shown, shown, stored, terms_of
from funcgrad.tree import Packed, flatten, key_paths, leaves, ravel, register_dataclass, structure, unflatten
from funcgrad.tree import map as map_tree

# The fields of a state that are no leaves.
STATIC = ("hypers", "foreach", "differentiable", "master_dtype")


@register_dataclass(when_made=True)
@dataclasses.dataclass(frozen=True, eq=False)
class Buckets:
    """A packed slot of the state: a separate packed tree, even if the parameters are packed."""

    packed: Packed


class Hyperparameter:
    """An attribute of a state: a hyperparameter as it was given, one value or a tree of values."""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, state: None, owner: type) -> Self: ...
    @overload
    def __get__(self, state: State, owner: type) -> Any: ...
    def __get__(self, state: State | None, owner: type) -> Any:
        return self if state is None else state.value_of(self.name)


class TupleOption:
    """An attribute of a state: the hyperparameters that form one tuple in PyTorch's groups."""

    def __init__(self, parts: tuple[str, ...]) -> None:
        self.parts = parts

    @overload
    def __get__(self, state: None, owner: type) -> Self: ...
    @overload
    def __get__(self, state: State, owner: type) -> tuple[Any, ...]: ...
    def __get__(self, state: State | None, owner: type) -> Any:
        return self if state is None else tuple([state.value_of(part) for part in self.parts])


class SlotTree:
    """An attribute of a state: a slot, as a pytree like the parameters."""

    def __init__(self, slot: str) -> None:
        self.slot = slot

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, state: None, owner: type) -> Self: ...
    @overload
    def __get__(self, state: State, owner: type) -> Any: ...
    def __get__(self, state: State | None, owner: type) -> Any:
        return self if state is None else state.slots[[slot.name for slot in state.rule.slots].index(self.slot)]


@dataclasses.dataclass(frozen=True, eq=False, init=False, repr=False)
class State(Shown):
    """The state of an optimizer: a pytree with the same structure from the first step to the last.

    Args:
        numbers: f64[k], the hyperparameters that are data, in one vector; ``None`` if there are none.
        step: i32[], the number of steps taken.
        slots: for each slot of the rule a pytree like the parameters, ``None`` if a parameter has none.
        taken: i32[n], the step counts of the parameters whose rule reads them: ``step``, without the steps at which the
            parameter had no gradient. ``None`` if no rule reads them. `replace` of ``step`` changes these counts too.
        masters: a pytree like the parameters: copies in ``master_dtype``, ``None`` if a parameter needs none.
        hypers: static: the structure of each hyperparameter.
        foreach: static.
        differentiable: static.
        master_dtype: static.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> from funcgrad.extend import State
        >>> state = fg.sgd_init(np.ones(2), lr=0.5)
        >>> isinstance(state, State), state.rule.name, len(fg.tree.leaves(state))
        (True, 'sgd', 2)
    """

    rule: ClassVar[Rule]
    # The name of each slot of the rule in the state.
    slot_names: ClassVar[tuple[str, ...]] = ()
    # Whether some slot is one number.
    has_scalars: ClassVar[bool] = False

    numbers: Any
    step: Any
    slots: tuple[Any, ...]
    taken: Any
    masters: Any = None
    hypers: Prefixes = NO_PREFIXES
    foreach: bool | None = None
    differentiable: bool = False
    master_dtype: str | None = None

    def __init__(  # noqa: PLR0917  (the fields, as a dataclass takes them)
        self,
        numbers: ScalarLike,
        step: ScalarLike,
        slots: tuple[Any, ...],
        taken: Any,
        masters: PyTree = None,
        hypers: Prefixes = NO_PREFIXES,
        foreach: bool | None = None,
        differentiable: bool = False,
        master_dtype: str | None = None,
    ) -> None:
        if issubclass(type(step), np.generic):
            step = np.array(step)
        if self.has_scalars:
            slots = map_tree(stored, slots)
        # Each step makes a state. Setting the fields one by one, as a frozen dataclass does, takes three times as long.
        self.__dict__.update(
            numbers=numbers,
            step=step,
            slots=slots,
            taken=taken,
            masters=masters,
            hypers=hypers,
            foreach=foreach,
            differentiable=differentiable,
            master_dtype=master_dtype,
        )

    @classmethod
    def _of_fields(cls, static: tuple[Any, ...], data: Iterable[Any]) -> Self:
        """Return the state with these fields, for transforms and compiled steps, which already have checked fields.

        JAX makes one in each call of a compiled step. This takes 1.2 us less than passing the fields by name.
        """
        numbers, step, slots, taken, masters = data
        if cls.has_scalars or issubclass(type(step), np.generic):
            return cls(numbers, step, slots, taken, masters, *static)
        made = object.__new__(cls)
        fields = made.__dict__
        fields["numbers"] = numbers
        fields["step"] = step
        fields["slots"] = slots
        fields["taken"] = taken
        fields["masters"] = masters
        fields["hypers"], fields["foreach"], fields["differentiable"], fields["master_dtype"] = static
        return made

    def __setstate__(self, saved: dict[str, Any]) -> None:
        """Restore pickled fields, with defaults for hyperparameters that were added since."""
        self.__dict__.update(completed_fields(self.rule, saved))

    def _earlier_forms(self) -> Iterator[Self]:
        """Yield this state as earlier releases would have made it, to read their files."""
        for fields in earlier_fields(self):
            form = object.__new__(type(self))
            form.__dict__.update(self.__dict__, **fields)
            yield form

    def _completed(self, like: Self) -> Self:
        """Return this state, which has an earlier form of ``like``, with defaults for the missing fields."""
        fields = completed_fields(self.rule, self.__dict__, like.slots[-1] if like.slots else None)
        made = object.__new__(type(self))
        made.__dict__.update(fields)
        return made

    def __init_subclass__(cls) -> None:
        _attach(cls)
        # Only fields are frozen. Hyperparameters are attributes of the class and need their own check.
        setattr(cls, "__setattr__", _refuse_assignment)  # noqa: B010  (a frozen dataclass lets no class body do it)
        called = {x.slot: name for name, x in vars(cls).items() if isinstance(x, SlotTree)}
        cls.slot_names = tuple([called[slot.name] for slot in cls.rule.slots])
        cls.has_scalars = any(slot.scalar for slot in cls.rule.slots)

    def __repr__(self) -> str:
        """Return hyperparameters, and the shapes of slots."""
        trees = [tree.packed if type(tree) is Buckets else tree for tree in self.slots]
        slots = zip(self.slot_names, trees, strict=False)
        flags = [(name, getattr(self, name) or None) for name in STATIC[1:]]
        numbers = hyperparameters_shown(self.rule, self.hypers, self.numbers)
        counts = [("step", self.step), ("taken", self._missing_steps())]
        return shown(self, [*numbers, *counts, *slots, ("masters", self.masters), *flags])

    def _missing_steps(self) -> list[int] | None:
        """Return the step counts of the parameters if some had no gradient at some steps, and all are known."""
        if type(self.taken) is not np.ndarray or type(self.step) is not np.ndarray or np.all(self.taken == self.step):
            return None
        return self.taken.tolist()

    @property
    def started(self) -> Any:
        """Whether each parameter whose rule reads the step number has had its first step: bool[n], or ``None``."""
        return None if self.taken is None else self.taken > 0

    @property
    def saved_with(self) -> str:
        """Describe the structure that a state must have to be loaded from a file; the rest is data."""
        return terms_of(self.rule, self.hypers)

    def value_of(self, name: str) -> PyTree:
        """Return a hyperparameter: a number, a schedule, a flag, or a tree of them."""
        place = self.rule.names.index(name)
        prefix = self.hypers.prefixes[place]
        if isinstance(self.rule.hyperparameters[place], Choice):
            return prefix.tree(prefix.entries)
        numbers = of_vector(self.numbers)
        return prefix.tree([_value(entry, numbers) for entry in prefix.entries])

    def replace(self, **changes: Any) -> Self:
        """Return a state with other values in some fields.

        A new number does not recompile a step. These changes alter the structure, and a step compiles once more: a
        flag; a term that is turned on or off by the Python number 0; a schedule instead of a number, or a number
        instead of a schedule; and trees of values with another structure. Turning a term off drops the slots that only
        this term needs.

        ``step`` is the number of steps that bias corrections and schedules read. Parameters that had no gradient at
        some steps stay behind it by as many steps as before.

        Args:
            changes: fields with their new values. Hyperparameters take the same values as at the start.

        Returns:
            The new state; this one stays unchanged.

        Raises:
            HyperparameterError: a value is out of range, or a term is turned on whose slots do not exist.
            TypeError: the state has no such field, a hyperparameter is not a single number, or ``step`` is no integer.

        Example:
            >>> import funcgrad as fg
            >>> state = fg.sgd_init({"weight": 1.0}, lr=0.1)
            >>> float(state.replace(lr=0.01).lr), float(state.lr)
            (0.01, 0.1)
        """
        asked = f"{type(self).__name__}.replace"
        names = self.rule.names
        changes = by_name(self.rule, changes, asked)
        slots = self.slot_names
        fields = [x.name for x in dataclasses.fields(self) if x.name not in ("numbers", "slots", "hypers")]
        allowed = [*names, *slots, *fields]
        unknown = sorted(changes.keys() - set(allowed))
        if unknown:
            raise TypeError(
                f"{asked}: {unknown[0]!r} is no field of the state; needed one of {', '.join(allowed)}. "
                "Correct the name."
            )
        fields_given = {name: changes[name] for name in fields if name in changes}
        if "step" in changes:
            fields_given["step"] = step = as_count(changes["step"], self.step, asked)
            if self.taken is not None and "taken" not in changes:
                fields_given["taken"] = fnp.maximum(self.taken + (step - self.step), 0)
        trees = [_packed_as(tree, changes.get(name, tree)) for name, tree in zip(slots, self.slots, strict=True)]
        state = dataclasses.replace(self, slots=tuple(trees), **fields_given)
        hyper = {name: changes[name] for name in names if name in changes}
        return state._with_hyperparameters(hyper, asked) if hyper else state  # noqa: SLF001  (a state of this class)

    def _with_hyperparameters(self, changes: Mapping[str, Any], asked: str) -> Self:
        given = {name: changes[name] if name in changes else self.value_of(name) for name in self.rule.names}
        hypers, numbers = laid_out(self.rule, given)
        treedef = structure(self._slot_leaves()[1])
        check_together(self.rule, hypers, numbers, treedef, asked)
        vector = as_vector(numbers)
        if vector is not None and self.numbers is not None and type(vector) is np.ndarray:
            vector = place_beside(vector, self.numbers)
        new = dataclasses.replace(self, numbers=vector, hypers=hypers)
        if hypers == self.hypers:
            return new
        before, after = structures_of(self, treedef, asked), structures_of(new, treedef, asked)
        if before == after:
            return new
        slots = self._slots_for(before, after, changes, asked)
        return dataclasses.replace(new, slots=slots, taken=self._taken_for(before, after))

    def _slot_leaves(self) -> tuple[list[list[Any]], Any]:
        """Return the leaves of each slot, including ``None``, and a tree of numbers like the parameters."""
        found = [flatten(unpacked(tree), _is_none) for tree in self.slots]
        if not found:
            return [], 0
        treedef = found[0][1]
        return [held for held, _ in found], unflatten(treedef, range(treedef.num_leaves))

    def _slots_for(
        self, before: Sequence[Structure], after: Sequence[Structure], changes: Mapping[str, Any], asked: str
    ) -> tuple[Any, ...]:
        """Return the slots that are needed now."""
        rule = self.rule
        held, numbered = self._slot_leaves()
        treedef = structure(numbered)
        trees = []
        for slot, values, tree in zip(rule.slots, held, self.slots, strict=True):
            had, needed = ([slot in x.slots for x in rows] for rows in (before, after))
            missing = [need and not there for need, there in zip(needed, had, strict=True)]
            if any(missing):
                i = missing.index(True)
                path = key_paths(treedef)[i] or "the root"
                new = [x for x, a, b in zip(rule.names, before[i].on, after[i].on, strict=True) if a != b]
                name = next(x for x in new if x in changes)
                raise HyperparameterError(
                    f"{asked}: {name} was asked of a state made with {name} 0, which holds no {slot.name}, at {path}. "
                    f"Arrived {changes[name]}, needed 0 there. Make a new state with {self.rule.name}_init(params, "
                    f"{name}=...)."
                )
            kept = [value if need else None for value, need in zip(values, needed, strict=True)]
            if all(x is y for x, y in zip(kept, values, strict=True)):
                trees.append(tree)
            else:
                made = unflatten(treedef, kept)
                trees.append(packed(made) if type(tree) is Buckets else made)
        return tuple(trees)

    def _taken_for(self, before: Sequence[Structure], after: Sequence[Structure]) -> Any:
        """Return the step counts of the parameters that count their steps now.

        A parameter that had no gradient yet has a slot of zeros.
        """
        held, _ = self._slot_leaves()
        # A leaf that is None in the parameters is None in every slot.
        there = [[x for x in of_one if x is not None] for of_one in zip(*held, strict=True)]
        counted = [[bool(x) and row.counts for x, row in zip(there, rows, strict=True)] for rows in (before, after)]
        if counted[0] == counted[1]:
            return self.taken
        if not any(counted[1]):
            return None
        known = iter([] if self.taken is None else np.asarray(self.taken).tolist())
        old = [next(known) if count else None for count in counted[0]]
        taken = [
            any(bool(np.any(np.asarray(x))) for x in arrays) if steps is None else steps
            for steps, arrays, count in zip(old, there, counted[1], strict=True)
            if count
        ]
        return np.array(taken, np.int32)


def _attach(cls: type[State]) -> None:
    """Add the attributes of hyperparameters and slots to a state's class."""
    written = {x.slot for x in vars(cls).values() if isinstance(x, SlotTree)}
    made: list[tuple[str, Any]] = [(name, Hyperparameter()) for name in cls.rule.names if name not in vars(cls)]
    made += [(x.attribute or x.name, SlotTree(x.name)) for x in cls.rule.slots if x.name not in written]
    for name, attribute in [*made, *[(name, TupleOption(parts)) for name, parts in cls.rule.options.items()]]:
        if hasattr(cls, name) or name in State.__annotations__:
            raise TypeError(
                f"{cls.__name__}: the rule {cls.rule.name} calls a hyperparameter or slot {name!r}, and a state has an "
                "attribute of that name already. Needed names that differ from each other and from those of fg.extend."
                "State. Rename it in the rule."
            )
        if not isinstance(attribute, TupleOption):
            attribute.__set_name__(cls, name)
        setattr(cls, name, attribute)


def _value(entry: Any, numbers: Sequence[Any]) -> Any:
    """Return the value of an entry. For a term that is turned off it is the Python number 0, so that it stays off."""
    if entry is None:
        return 0.0
    if is_known(entry, numbers):
        return np.float64(numbers[entry])
    return numbers[entry] if type(entry) is NumberIndex else entry


def packed(tree: PyTree) -> PyTree:
    """Pack a slot if it has at least two arrays that fit together, unless some are spread over devices."""
    if any(map(is_spread, leaves(tree))):
        return tree
    made = ravel(tree)
    return Buckets(made) if len(made.arrays) < len(leaves(tree)) else tree


def _packed_as(old: PyTree, new: PyTree) -> PyTree:
    """Return a slot packed if the slot that it replaces is: a step takes packed slots together."""
    return packed(new) if type(old) is Buckets and type(new) is not Buckets else new


def unpacked(tree: PyTree) -> PyTree:
    return tree.packed.unpack() if type(tree) is Buckets else tree


def _is_none(x: ArrayLike) -> bool:
    return x is None


def _refuse_assignment(self: State, name: str, value: ScalarLike) -> NoReturn:
    kind = type(self).__name__
    raise dataclasses.FrozenInstanceError(
        f"{kind}.{name}: a value was assigned, and a state never changes; needed a new one. Write "
        f"state = state.replace({name}={value if issubclass(type(value), bool | int | float) else '...'})."
    )
