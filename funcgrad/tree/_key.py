"""Keys of static values. One rule holds for every program that is kept: type and value must both be equal.

``==`` is no such rule: 1, 1.0 and True are equal, 0.0 equals -0.0, and dicts are equal in any order of their keys.
"""

from __future__ import annotations

import dataclasses
import functools
import numbers
from collections.abc import Callable, Iterator, Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np
import optree

from funcgrad.tree._flatten import TreeDef
from funcgrad.tree._register import NAMESPACE, dataclass_fields

_KIND = optree.PyTreeKind
_PLAIN: tuple[Any, ...] = (str, bytes, type(None), type, FunctionType, BuiltinFunctionType)

# The functions that make keys are kept for this many classes.
_MOST_CLASSES = 512

# A test of a pytree. Its leaves and containers were compared already.
Test = Callable[[Any], bool]


def static_key(value: object) -> Any:
    """Return a key that two static values share if they have the same type and value, in all of their parts.

    The key of a value without a hash has none, either. An object decides by its ``==`` what its value is.
    """
    make = _keys.get(type(value)) or _learned(type(value))
    return make(value)


def set_key(kind: type, make: Callable[[Any], Any]) -> None:
    """Set the function that makes the keys of the instances of a class."""
    _keys[kind] = make


def _parts(value: Any) -> tuple[Any, ...]:
    return (type(value), *map(static_key, value))


def _number(value: object) -> tuple[Any, ...]:
    # 0.0 equals -0.0, and NaN does not equal itself.
    return type(value), repr(value)


def _treedef(value: TreeDef) -> tuple[Any, ...]:
    return value, tuple([(_node_data(data), _node_data(order)) for data, order in _nodes(value)])


def _nodes(treedef: TreeDef) -> list[tuple[Any, Any]]:
    """Return the static value and the order of the keys of each node that has any, as pickle stores them."""
    state: Any = treedef.__getstate__()
    return [(node[2], [*(node[7] or ())]) for node in state[0] if node[2] is not None]


def _node_data(value: Any) -> Any:
    return tuple(map(_node_data, value)) if type(value) in (list, tuple) else static_key(value)


_keys: dict[type, Callable[[Any], Any]] = {
    **dict.fromkeys(_PLAIN, lambda value: value),
    **dict.fromkeys((bool, int), lambda value: (type(value), value)),
    **dict.fromkeys((float, complex), _number),
    tuple: _parts,
    frozenset: lambda value: (frozenset, frozenset(map(static_key, value))),
    slice: lambda value: (slice, static_key(value.start), static_key(value.stop), static_key(value.step)),
    range: lambda value: (range, value.start, value.stop, value.step),
    TreeDef: _treedef,
}


def _learned(kind: type) -> Callable[[Any], Any]:
    """Return the function that makes the keys of a class's instances. It is kept for the first classes."""
    make = _maker(kind)
    if len(_keys) < _MOST_CLASSES:
        _keys[kind] = make
    return make


def _maker(kind: type) -> Callable[[Any], Any]:
    if issubclass(kind, np.generic):
        return _number
    if issubclass(kind, float):
        return lambda value: (kind, float.__repr__(value), value if value == value else None)  # noqa: PLR0124  (NaN)
    if issubclass(kind, tuple):
        return _parts
    if issubclass(kind, numbers.Number):
        # Decimal("1.0") equals Decimal("1.00").
        return lambda value: (kind, value, repr(value))
    names = [field.name for field in getattr(kind, "__attrs_attrs__", ()) if field.eq]
    params: Any = getattr(kind, "__dataclass_params__", None)
    if params is not None and params.eq:
        names = [field.name for field in dataclasses.fields(kind) if field.compare]
    return functools.partial(_of_fields, names) if names else lambda value: (kind, value)


def _of_fields(names: list[str], value: object) -> tuple[Any, ...]:
    """Return the key of a dataclass, or of a class of attrs, from the fields that its ``==`` compares."""
    key = type(value), *[static_key(getattr(value, name)) for name in names]
    try:
        hash(key)
    except TypeError:
        return type(value), value
    return key


def static_test(treedef: TreeDef, *, named_in_order: bool = True) -> Test | None:
    """Return a test that tells whether a pytree of an equal structure has the same key, too.

    ``None`` if each such pytree has. Structures are equal also if dicts have another order, or static values another
    type. The test asks only for these, in one expression: a small part of the time of `static_key` of a structure.

    Args:
        treedef: the structure.
        named_in_order: whether the order of ``kwargs`` counts, if the structure is that of ``(args, kwargs)``.
    """
    scope: dict[str, Any] = {"key": static_key}
    conditions = list(_conditions(treedef, "tree", scope, () if named_in_order else ("tree[1]",)))
    if not conditions:
        return None
    return eval(f"lambda tree: {' and '.join(conditions)}", scope)


def _conditions(treedef: TreeDef, tree: str, scope: dict[str, Any], unordered: Sequence[str] = ()) -> Iterator[str]:
    """Return the conditions on one part of the pytree, which the expression ``tree`` reaches."""
    level = treedef.one_level()
    if level is None or treedef.kind == _KIND.NONE:
        return
    entries, fields = treedef.entries(), dataclass_fields(treedef.type)
    steps = [f"[{entry!r}]" if type(entry) in (str, int) else f"[{_name(scope, entry)}]" for entry in entries]
    if treedef.kind in (_KIND.DICT, _KIND.DEFAULTDICT, _KIND.ORDEREDDICT):
        keys = [*level.unflatten(entries)]
        if not {str}.issuperset(map(type, keys)):
            yield f"[*map(key, {tree})] == {_name(scope, [*map(static_key, keys)])}"
        elif len(keys) > 1 and tree not in unordered:
            # A text that equals a text is the same key, whatever its class.
            yield f"[*{tree}] == {_name(scope, keys)}"
    elif fields is not None:
        data, meta = fields
        steps = [f".{name}" for name in data]
        for name, value in zip(meta, _nodes(level)[0][0], strict=True):
            same = f"{tree}.{name} is {_name(scope, value)}"
            yield f"({same} or key({tree}.{name}) == {_name(scope, static_key(value))})"
    elif treedef.kind == _KIND.CUSTOM:
        test = _of_node(level, treedef.children())
        if test is not None:
            yield f"{_name(scope, test)}({tree})"
        return
    for step, child in zip(steps, treedef.children(), strict=True):
        yield from _conditions(child, tree + step, scope, unordered)


def _name(scope: dict[str, Any], value: object) -> str:
    name = f"x{len(scope)}"
    scope[name] = value
    return name


def _of_node(level: TreeDef, treedefs: Sequence[TreeDef]) -> Test | None:
    """Return the test of an instance of a registered class, of which only its flatten function knows the parts."""
    tests = list(map(static_test, treedefs))
    if not any(tests) and not _nodes(level):
        return None
    known = [static_key(data) for data, _ in _nodes(level)]

    def test(tree: Any) -> bool:
        children, data, *_ = optree.tree_flatten_one_level(tree, namespace=NAMESPACE)
        if known and [static_key(data)] != known:
            return False
        return all(test is None or test(child) for child, test in zip(children, tests, strict=True))

    return test
