"""Keys of static values: type and value must both be equal, in all parts; a structure has the order of its dicts."""

from __future__ import annotations

import dataclasses
import enum
from collections import OrderedDict, defaultdict, namedtuple
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.tree.extend import static_key, static_test


@dataclasses.dataclass(frozen=True)
class Choice:
    value: Any
    note: Any = dataclasses.field(default=None, compare=False)


class Level(enum.IntEnum):
    LOW = 1


class Unit(float):
    pass


Pair = namedtuple("Pair", "a b")  # noqa: PYI024  (a namedtuple without types, as users write it)

NUMBERS = [1, 1.0, True, 1 + 0j, np.float32(1), np.float64(1), np.int64(1), np.int32(1), np.bool_(True)]
NUMBERS += [0, 0.0, -0.0, False, np.float64(-0.0), 2, 2.0, float("nan"), np.float32("nan"), Level.LOW, Unit(1)]
NUMBERS += [Decimal("1.0"), Decimal("1.00"), Fraction(1)]
OTHERS = ["a", np.str_("a"), b"a", None, float, np.float32, np.dtype("f4"), range(0, 3, 2), range(0, 4, 2), ()]
VALUES = [
    *NUMBERS,
    *OTHERS,
    *[(value,) for value in NUMBERS],
    *[Choice(value) for value in NUMBERS],
    *[frozenset({value}) for value in NUMBERS],
    *[slice(value, None) for value in NUMBERS],
    Pair(1, 2),
    Pair(1.0, 2),
    (1, 2),
    Choice(((0.0,), 1)),
    Choice(((-0.0,), 1)),
]


def test_values_have_different_keys() -> None:
    keys = [static_key(value) for value in VALUES]
    for i, key in enumerate(keys):
        assert [k for k, other in enumerate(keys) if key == other and hash(key) == hash(other)] == [i], VALUES[i]


@pytest.mark.parametrize("value", [1, 1.0, np.float32(2), (1, (2.0,)), Choice(1), Choice(1, "noted"), np.str_("a")])
def test_equal_values_of_one_type_have_one_key(value: Any) -> None:
    other = type(value)(value) if isinstance(value, int | float | np.generic) else eval(repr(value), globals())
    if isinstance(value, Choice):
        other = Choice(value.value, "another note")
    assert static_key(value) == static_key(other)


def test_a_value_that_is_no_number_equals_itself() -> None:
    assert static_key(float("nan")) == static_key(float("nan"))
    assert static_key(Choice((float("nan"),))) == static_key(Choice((float("nan"),)))


def test_a_value_without_hash_has_a_key_without_hash() -> None:
    for value in ([1], {"a": 1}, (np.ones(2),), np.ones(2)):
        with pytest.raises(TypeError):
            hash(static_key(value))


def test_an_object_decides_by_its_equality() -> None:
    class Text:
        def __init__(self, text: str) -> None:
            self.text = text

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Text) and self.text.lower() == other.text.lower()

        def __hash__(self) -> int:
            return hash(self.text.lower())

    assert static_key(Text("A")) == static_key(Text("a")) != static_key(Text("b"))


@fg.tree.register_dataclass(meta_fields=["note"])
@dataclasses.dataclass
class Noted:
    data: Any
    note: Any


@fg.tree.register_node
class Node:
    def __init__(self, data: Any, note: Any) -> None:
        self.data, self.note = data, note

    def tree_flatten(self) -> tuple[Any, Any]:
        return (self.data,), self.note

    @classmethod
    def tree_unflatten(cls, note: Any, children: Any) -> Node:
        return cls(children[0], note)


SORTED, OTHER = {"a": 1, "b": 2}, {"b": 1, "a": 2}
TREES = [
    *[Noted(1, note) for note in (1, 1.0, True, 0.0, -0.0, (1, "a"), (True, "a"))],
    *[Node(1, note) for note in (1, 1.0, True, 0.0, -0.0)],
    *[make(inner) for inner in (SORTED, OTHER) for make in (lambda d: d, lambda d: (0, [d]), lambda d: Noted(d, 0))],
    *[make(inner) for inner in (SORTED, OTHER) for make in (lambda d: Node(d, 0), lambda d: {"x": d}, OrderedDict)],
    *[defaultdict(int, inner) for inner in (SORTED, OTHER)],
    *[Pair(inner, None) for inner in (SORTED, OTHER)],
    *[Node(Node(0, note), 1) for note in (1, True)],
    *[{key: 1} for key in (1, 1.0, True)],
    {"a": 1, "b": {"x": 1, "y": 2}},
    {"b": {"x": 1, "y": 2}, "a": 1},
    {},
    fg.tree.Partial(np.sin, 1),
]


def test_structures_have_different_keys() -> None:
    structures = list(map(fg.tree.structure, TREES))
    for i, tree in enumerate(structures):
        assert [k for k, other in enumerate(structures) if static_key(tree) == static_key(other)] == [i], TREES[i]
        hash(static_key(tree))


def test_the_test_of_a_structure_agrees_with_its_key() -> None:
    structures = list(map(fg.tree.structure, TREES))
    compared = 0
    for i, tree in enumerate(structures):
        test = static_test(tree)
        for k, other in enumerate(structures):
            if tree == other:
                compared += i != k
                assert (test is None or test(TREES[k])) == (i == k), (TREES[i], TREES[k])
    assert compared > 20


def test_structures_that_need_no_test_have_none() -> None:
    assert static_test(fg.tree.structure(((1, [2, None]), {"x": 1}))) is None
    named = fg.tree.structure(((1,), {"x": 1, "y": 2}))
    assert static_test(named) is not None
    assert static_test(named, named_in_order=False) is None
