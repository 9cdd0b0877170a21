"""The functions that record an operation and pull cotangents through it, each written out for its set of operands.

What a rule reads is fixed by the names of its arguments, so which values a node keeps, and where a rule finds them
again, is known before anything runs: a loop over the names costs 0.7 us more per recorded operation. For ``a * b``
with rules ``lambda t, b: t * b`` and ``lambda t, a: t * a``, if both operands are active and no shape differs:

    lambda trace, params, x0, x1, n0, n1: trace.tracer_type(trace, y := run(x0, x1), (next_serial(), 8, n0, n1, x1, x0))
    lambda y_bar, node: (rule_0(y_bar, node[4]), rule_1(y_bar, node[5]))

Nothing here knows of traces or changes anything: text goes in, a function comes out. Its source is kept where Python
looks for lines of source, so tracebacks and debuggers show it.
"""

from __future__ import annotations

import linecache
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.trace.tape import next_serial
from funcgrad._core.tracebacks import PACKAGE

Rule = Callable[..., Any]

_SCOPE = {"aval_of": aval_of, "next_serial": next_serial, "ndarray": np.ndarray}


def function(source: str, title: str, scope: Mapping[str, Any]) -> Callable[..., Any]:
    """The function that an expression describes. In tracebacks it belongs to this package, under its title."""
    filename = f"{PACKAGE}<{title}>"
    linecache.cache[filename] = len(source), None, [source], filename
    return eval(compile(source, filename, "eval"), {**_SCOPE, **scope})


def names_read(rules: Iterable[Rule]) -> list[str]:
    """The names of what rules read, each once: of their arguments after the first."""
    return list(dict.fromkeys(name for rule in rules for name in _arguments(rule)))


def _arguments(rule: Rule) -> Sequence[str]:
    code = rule.__code__
    return code.co_varnames[1 : code.co_argcount]


class Operands:
    """The operands of a primitive in the sources: their values ``x0, x1, ...`` and their nodes ``n0, n1, ...``."""

    __slots__ = ("_positions", "names", "nodes", "values")

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.values = ", ".join(f"x{i}" for i in range(len(names)))
        self.nodes = ", ".join(f"n{i}" for i in range(len(names)))
        self._positions = {name: i for i, name in enumerate(names)}

    def kept(self, name: str, parents: Collection[int]) -> str:
        """The expression for what a node keeps under a name; to operands that are no parents others may write."""
        i = self._positions.get(name)
        if i is None or i in parents:
            return self.read(name)
        return f"(trace.keep(x{i}) if type(x{i}) is ndarray else x{i})"

    def read(self, name: str) -> str:
        """The expression for what a rule calls ``name``, in terms of operands, the result ``y`` and ``params``."""
        if name == "y":
            return "y"
        if name == "y_aval":
            return "aval_of(y)"
        operand, _, part = name.rpartition("_")
        if name in self._positions:
            return f"x{self._positions[name]}"
        if part == "aval" and operand in self._positions:
            return f"aval_of(x{self._positions[operand]})"
        if part == "shape" and operand in self._positions:
            # A Python number has none.
            return f"getattr(x{self._positions[operand]}, 'shape', ())"
        return f"params[{name!r}]"

    def shape_name(self, i: int) -> str:
        """What a rule calls the shape of an operand."""
        return f"{self.names[i]}_shape"


def node(kind: int, parents: Iterable[int], kept: Iterable[str]) -> str:
    """The source of a node: see ``tape.py``. ``parents`` are the numbers of operands, ``kept`` is sources."""
    return f"(next_serial(), {kind}, {', '.join([*[f'n{i}' for i in parents], *kept])})"


def either(source: str, other: str, operands: Operands, parents: Iterable[int]) -> str:
    """The source of one node where the parents have the shape of the result, of another where they have not."""
    shapes = [operands.read(operands.shape_name(i)) for i in parents]
    return f"{source} if getattr(y, 'shape', ()) == {' == '.join(shapes)} else {other}"


def pull(
    title: str,
    rules: Mapping[int, Rule],
    kept: Sequence[str],
    operands: Operands,
    unbroadcast: Callable[[Any, tuple[int, ...]], Any] | None = None,
) -> Callable[..., Any]:
    """What pulls a cotangent through nodes that keep values of these names.

    Args:
        title: what to call it.
        rules: the rule towards each parent, by the number of its operand.
        kept: the names of what the nodes keep, in order.
        operands: the operands.
        unbroadcast: brings a cotangent to the shape of its operand, which is among what is kept.
    """
    slots = {name: f"node[{slot}]" for slot, name in enumerate(kept, 2 + len(rules))}
    parts = []
    for i, rule in rules.items():
        part = f"rule_{i}({', '.join(['y_bar', *[slots[name] for name in _arguments(rule)]])})"
        parts.append(part if unbroadcast is None else f"unbroadcast({part}, {slots[operands.shape_name(i)]})")
    body = parts[0] if len(parts) == 1 else f"({', '.join(parts)})"
    scope = {f"rule_{i}": rule for i, rule in rules.items()}
    return function(f"lambda y_bar, node: {body}", title, {**scope, "unbroadcast": unbroadcast})


def node_maker(title: str, operands: Operands, made: str) -> Callable[..., Any]:
    """What makes the node of an application: ``make(trace, primals, nodes, y, params)``."""
    make = function(f"lambda trace, y, params, {operands.values}, {operands.nodes}: {made}", title, {})
    return lambda trace, primals, nodes, y, params: make(trace, y, params, *primals, *nodes)


def recorder(
    title: str, operands: Operands, made: str, run: Callable[..., Any], has_params: bool
) -> Callable[..., Any]:
    """The application to bare NumPy values and its recording in one: ``record(trace, params, *primals, *nodes)``."""
    call = f"run({operands.values}, **params)" if has_params else f"run({operands.values})"
    result = f"trace.tracer_type(trace, y := {call}, {made})"
    return function(f"lambda trace, params, {operands.values}, {operands.nodes}: {result}", title, {"run": run})


def reader(title: str, operands: Operands, rule: Rule) -> Callable[..., tuple]:
    """What a rule reads beside its first argument, in order: ``read(y, params, *primals)``."""
    parts = "".join(f"{operands.read(name)}, " for name in _arguments(rule))
    return function(f"lambda y, params, {operands.values}: ({parts})", title, {})
