"""States that an earlier release saved, when the rule had fewer hyperparameters or slots.

A state identifies its hyperparameters and slots by position, and a rule appends new ones. The first ones of a rule are
therefore those of an earlier release, and the others have their defaults.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from funcgrad._engines import place_beside
from funcgrad.errors import HyperparameterError
from funcgrad.optim._rules.rule import REQUIRED, Choice, Rule
from funcgrad.optim._state.hyperparameters import as_entry
from funcgrad.optim._state.prefix import NumberIndex, Prefix, Prefixes, as_vector, of_vector
from funcgrad.tree import flatten, leaves, unflatten

if TYPE_CHECKING:
    from funcgrad.optim._state.state import State


def earlier_fields(state: State) -> Iterator[dict[str, Any]]:
    """Yield the fields of this state as releases with fewer hyperparameters would have made it.

    Slots can only be missing where they are empty: no release could have filled them.
    """
    prefixes = state.hypers.prefixes
    least = len(state.slots)
    while least and not leaves(state.slots[least - 1]):
        least -= 1
    for count in range(len(prefixes) - 1, 0, -1):
        hypers = Prefixes(prefixes[:count])
        size = sum(type(entry) is NumberIndex for prefix in hypers.prefixes for entry in prefix.entries)
        numbers = None if size == 0 else state.numbers[:size]
        for kept in range(len(state.slots), least - 1, -1):
            yield {"hypers": hypers, "numbers": numbers, "slots": state.slots[:kept]}


def completed_fields(rule: Rule, fields: dict[str, Any], empty: Any = None) -> dict[str, Any]:
    """Return the fields of a state, with defaults for the hyperparameters that it was saved without.

    Args:
        rule: the rule of the state.
        fields: the fields as they were saved.
        empty: a pytree like the parameters without leaves, for new slots; by default it is made from the slots.
    """
    prefixes, slots = fields["hypers"].prefixes, fields["slots"]
    if len(prefixes) > len(rule.hyperparameters) or len(slots) > len(rule.slots):
        raise HyperparameterError(
            f"{rule.name}: a state was read that has {len(prefixes)} hyperparameters and {len(slots)} slots; needed at "
            f"most {len(rule.hyperparameters)} and {len(rule.slots)}. Read it with the newer release that saved it."
        )
    # A state without any hyperparameters was put together by hand.
    if not prefixes or len(prefixes) == len(rule.hyperparameters):
        return fields
    numbers = list(of_vector(fields["numbers"]))
    added = []
    for kind in rule.hyperparameters[len(prefixes) :]:
        if kind.default is REQUIRED:
            raise HyperparameterError(
                f"{rule.name}: a state was read that was saved without {kind.name}; needed a value, because it has no "
                f"default. Make a new state with {rule.name}_init(params, {kind.name}=...)."
            )
        entry = as_entry(rule.name, kind, kind.default)
        if type(entry) is float and not isinstance(kind, Choice):
            numbers.append(entry)
            entry = NumberIndex(len(numbers) - 1)
        added.append(Prefix(None, (entry,)))
    vector = as_vector(numbers)
    if vector is not None and fields["numbers"] is not None:
        vector = place_beside(vector, fields["numbers"])
    slots = (*slots, *[_empty(rule, slots) if empty is None else empty] * (len(rule.slots) - len(slots)))
    return {**fields, "hypers": Prefixes((*prefixes, *added)), "numbers": vector, "slots": slots}


def _empty(rule: Rule, slots: tuple[Any, ...]) -> Any:
    """Return a pytree like the parameters without leaves, by the structure of a slot."""
    if not slots:
        raise HyperparameterError(
            f"{rule.name}: a state was read that was saved without slots, and the rule has one now; needed the "
            f"structure of the parameters. Make a new state with {rule.name}_init(params)."
        )
    tree = getattr(slots[0], "packed", slots[0])
    tree = tree.unpack() if tree is not slots[0] else tree
    found, treedef = flatten(tree, lambda x: x is None)
    return unflatten(treedef, [None] * len(found))
