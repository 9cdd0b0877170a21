"""The calls of ``fg.jit`` on engines that write source: one generated function for each signature.

    def run(args, kwargs):
        if len(args) != 2 or kwargs: return MISS
        n0, x1 = args
        if type(n0) is not dict or len(n0) != 1: return MISS
        ...                                                     # a leaf: its class, its dtype, its shape
        v2 = multiply(x0, x1)                                   # the program
        return {'w': v2}

For arguments of another signature the function returns ``MISS``; the caller then tries another function, or stages
again. Tracers need no check of their own: their classes differ from the class of every leaf, so they return ``MISS``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import optree

from funcgrad._core.graph.ir import Graph, Var
from funcgrad._engines.signature import MISS, Signature, is_plain
from funcgrad._engines.source.clusters import clustered
from funcgrad._engines.source.code import function_of
from funcgrad._engines.source.donation import Donated
from funcgrad._engines.source.writer import Writer, results_of
from funcgrad._types import Value
from funcgrad.tree import TreeDef, flatten, structure
from funcgrad.tree.extend import dataclass_fields, static_key, static_test

_KIND = optree.PyTreeKind


def written(
    graph: Graph, signature: Signature, prepared: Callable[[Graph], Graph] = clustered
) -> tuple[Callable[[tuple, dict], Any], str]:
    """Return the function of the user's arguments, and its source.

    ``prepared`` first groups operations of the graph.
    """
    places = [i for i, leaf in enumerate(signature.leaves) if is_plain(leaf)]
    donated = [k for k, i in enumerate(places) if i in signature.donated and graph.inputs[k].aval.shape != ()]
    graph = prepared(graph)
    writer = Writer(graph, [graph.inputs[k] for k in donated], prepared=prepared)
    check, body = argument_check(writer, signature), writer.body()
    names, copies = results_of(writer)
    used = [k for k in donated if graph.inputs[k] in writer.buffers.used]
    lines = [*check, *checked_donations(writer, used, graph.inputs, places, signature), *body]
    result = put_together(writer, signature.out_tree, names)
    return made(writer, [*lines, *copies, f"return {result}"], graph.name)


def made(writer: Writer, lines: Sequence[str], name: str) -> tuple[Callable[[tuple, dict], Any], str]:
    """Return the function of these lines, and its source."""
    source = "\n    ".join(["def run(args, kwargs):", *lines]) + "\n"
    function = function_of(source, writer.scope, name)
    # Each cluster is compiled by itself, so its program is shown under its own name.
    parts = [part.replace("def run(", f"def {name}(", 1) for name, part in writer.parts.items()]
    return function, "\n\n".join([source, *parts])


def argument_check(writer: Writer, signature: Signature) -> list[str]:
    """Return the lines that unpack the arguments and check them."""
    return _ArgumentCheck(writer, signature).lines()


def put_together(writer: Writer, tree: TreeDef, names: Sequence[str]) -> str:
    """Return the expression that builds the result from its leaves."""
    return _put_together(writer, tree, iter(names))


def checked_donations(
    w: Writer, donated: Sequence[int], inputs: Sequence[Var], places: Sequence[int], signature: Signature
) -> list[str]:
    """Return the line that refuses a donated array if it is written to and another array shares its memory."""
    if not donated:
        return []
    others = [k for k, var in enumerate(inputs) if k not in donated and var.aval.shape != ()]
    check = w.value("donated", Donated([signature.names[places[k]] for k in (*donated, *others)]), bare=True)
    given, kept = ["".join([f"x{k}, " for k in numbers]) for numbers in (donated, others)]
    return [f"{check}(({given}), ({kept}{''.join([f'{name}, ' for name in w.constants.values()])}))"]


class _ArgumentCheck:
    """Writes the lines that unpack the arguments and check them."""

    def __init__(self, writer: Writer, signature: Signature) -> None:
        self._w = writer
        self._signature = signature
        self._inputs = iter(writer.inputs.items())
        self._leaves = iter(signature.leaves)
        self._nodes = 0
        self._lines: list[str] = []

    def lines(self) -> list[str]:
        args, kwargs, (numbers, static_names), in_order, in_tree, *_ = self._signature
        fixed = {i % len(args) for i in numbers if -len(args) <= i < len(args)}
        named = [name for name in static_names if name in kwargs]
        self._miss(f"len(args) != {len(args)} or {f'len(kwargs) != {len(kwargs)}' if kwargs else 'kwargs'}")
        if in_order and len(kwargs) > 1:
            self._miss(f"[*kwargs] != {[*kwargs]}")
        positional = [self._node() for _ in args]
        if positional:
            self._lines.append(f"{', '.join(positional)}, = args")
        for i in sorted(fixed):
            self._static(positional[i], args[i])
        for name in named:
            (node,) = self._keys("kwargs", [name])
            self._static(node, kwargs[name])
        trees, names = in_tree.children()
        dynamic = [name for i, name in enumerate(positional) if i not in fixed]
        for name, tree in zip(dynamic, trees.children(), strict=True):
            self._tree(name, tree)
        keys = names.entries()
        if keys:
            for name, tree in zip(self._keys("kwargs", keys), names.children(), strict=True):
                self._tree(name, tree)
        return self._lines

    def _node(self) -> str:
        self._nodes += 1
        return f"n{self._nodes}_"

    def _miss(self, condition: str) -> None:
        self._lines.append(f"if {condition}: return {self._w.value('MISS', MISS, bare=True)}")

    def _static(self, name: str, value: Value) -> None:
        known, key = self._w.value("static", value), self._w.value("key", static_key(value))
        self._miss(f"{name} is not {known} and {self._w.value('static_key', static_key, bare=True)}({name}) != {key}")

    def _keys(self, mapping: str, keys: Sequence[Any]) -> list[str]:
        """Name the values of these keys. The length was checked, so a dict that has all the keys has no others."""
        names = [self._node() for _ in keys]
        miss = self._w.value("MISS", MISS, bare=True)
        for name, key in zip(names, keys, strict=True):
            self._lines.append(f"{name} = {mapping}.get({_text(self._w, key)}, {miss})")
        self._miss(" or ".join([f"{name} is {miss}" for name in names]))
        return names

    def _tree(self, name: str, tree: TreeDef) -> None:
        """Check one argument, or one part of it, and name its leaves."""
        kind = tree.kind
        if kind == _KIND.LEAF:
            self._leaf(name)
        elif kind == _KIND.NONE:
            self._miss(f"{name} is not None")
        elif kind in (_KIND.TUPLE, _KIND.LIST):
            self._miss(f"type({name}) is not {kind.name.lower()} or len({name}) != {tree.num_children}")
            self._unpacked(name, tree)
        elif kind == _KIND.NAMEDTUPLE:
            self._miss(f"type({name}) is not {self._w.value('kind', tree.type)}")
            self._unpacked(name, tree)
        elif kind == _KIND.DICT:
            self._dict(name, tree)
        elif dataclass_fields(tree.type) is not None:
            self._dataclass(name, tree)
        else:
            self._other(name, tree)

    def _unpacked(self, name: str, tree: TreeDef) -> None:
        if tree.num_children:
            names = [self._node() for _ in range(tree.num_children)]
            self._lines.append(f"{', '.join(names)}, = {name}")
            for child, part in zip(names, tree.children(), strict=True):
                self._tree(child, part)

    def _dict(self, name: str, tree: TreeDef) -> None:
        """Check the keys and their order, and name the values. Leaves are in the order of sorted keys."""
        order = _keys_in_order(tree)
        self._miss(f"type({name}) is not dict or len({name}) != {len(order)}")
        if not order:
            return
        if {str}.issuperset(map(type, order)):
            # Comparing each key with a text takes half the time of a comparison of lists.
            keys = [self._node() for _ in order]
            self._lines.append(f"{', '.join(keys)}, = {name}")
            self._miss(" or ".join([f"{key} != {text!r}" for key, text in zip(keys, order, strict=True)]))
        else:
            # Keys of other types may be equal.
            self._miss(f"not {self._w.value('test', static_test(structure(dict.fromkeys(order, 0))))}({name})")
        names = {key: self._node() for key in order}
        self._lines.append(f"{', '.join(names.values())}, = {name}.values()")
        for key, part in zip(tree.entries(), tree.children(), strict=True):
            self._tree(names[key], part)

    def _dataclass(self, name: str, tree: TreeDef) -> None:
        data, meta = _fields(tree)
        self._miss(f"type({name}) is not {self._w.value('kind', tree.type)}")
        for field, value in meta.items():
            self._static(f"{name}.{field}", value)
        for field, part in zip(data, tree.children(), strict=True):
            child = self._node()
            self._lines.append(f"{child} = {name}.{field}")
            self._tree(child, part)

    def _other(self, name: str, tree: TreeDef) -> None:
        """Check a registered class by flattening it: nothing else is known of its instances."""
        known = self._w.value("tree", tree)
        names, structure = [self._node() for _ in range(tree.num_leaves)], self._node()
        self._lines.append(f"{structure} = {self._w.value('flatten', flatten, bare=True)}({name})")
        test = static_test(tree)
        others = "" if test is None else f" or not {self._w.value('test', test)}({name})"
        self._miss(f"{structure}[1] != {known}{others}")
        if names:
            self._lines.append(f"{', '.join(names)}, = {structure}[0]")
        for child in names:
            self._leaf(child)

    def _leaf(self, name: str) -> None:
        leaf = next(self._leaves)
        if not is_plain(leaf):
            self._static(name, leaf)
            return
        _, own = next(self._inputs)
        self._lines.append(f"{own} = {name}")
        if type(leaf) is np.ndarray:
            dtype = self._w.value("dtype", leaf.dtype)
            checks = f"type({own}) is not {self._w.value('ndarray', np.ndarray, bare=True)}"
            self._miss(f"{checks} or {own}.shape != {leaf.shape} or {own}.dtype != {dtype}")
        else:
            self._miss(f"type({own}) is not {self._w.value(type(leaf).__name__, type(leaf), bare=True)}")


def _text(w: Writer, key: Any) -> str:
    return repr(key) if type(key) in (str, int) else w.value("key", key)


def _keys_in_order(tree: TreeDef) -> list[Any]:
    """Return the keys of a dict in the order in which they were put in."""
    one = tree.one_level()
    assert one is not None
    return [*one.unflatten(range(one.num_children))]


def _fields(tree: TreeDef) -> tuple[Sequence[str], dict[str, Any]]:
    """Return the names of a registered dataclass's data fields, and the values of its meta fields in a structure."""
    fields = dataclass_fields(tree.type)
    assert fields is not None
    data, meta = fields
    if not meta:
        return data, {}
    one = tree.one_level()
    assert one is not None
    instance = one.unflatten([None] * one.num_children)
    return data, {name: getattr(instance, name) for name in meta}


def _put_together(w: Writer, tree: TreeDef, names: Any) -> str:
    """Return the expression that builds a pytree from these leaves."""
    kind = tree.kind
    if kind in (_KIND.LEAF, _KIND.NONE):
        return next(names) if kind == _KIND.LEAF else "None"
    if kind in (_KIND.TUPLE, _KIND.LIST, _KIND.NAMEDTUPLE):
        parts = "".join([f"{_put_together(w, child, names)}, " for child in tree.children()])
        form = {_KIND.TUPLE: "({})", _KIND.LIST: "[{}]"}.get(kind) or f"{w.value('kind', tree.type)}({{}})"
        return form.format(parts)
    if kind == _KIND.DICT:
        # Leaves are in the order of sorted keys, but the dict must keep its own order of insertion.
        parts = dict(zip(tree.entries(), [_put_together(w, child, names) for child in tree.children()], strict=True))
        return "{" + ", ".join([f"{_text(w, key)}: {parts[key]}" for key in _keys_in_order(tree)]) + "}"
    # The node around an array without axes (``numpy/_base/kinds.py``).
    if getattr(tree.type, "makes_array", False):
        return f"{w.numpy(np.asarray)}({next(names)})"
    if dataclass_fields(tree.type) is not None:
        data, meta = _fields(tree)
        parts = [f"{field}={_put_together(w, part, names)}" for field, part in zip(data, tree.children(), strict=True)]
        parts += [f"{field}={w.value(field, value)}" for field, value in meta.items()]
        return f"{w.value('kind', tree.type)}({', '.join(parts)})"
    parts = "".join([f"{next(names)}, " for _ in range(tree.num_leaves)])
    return f"{w.value('tree', tree)}.unflatten(({parts}))"
