"""Generates the functions that record an operation and pull cotangents through it, one for each set of active operands.

The names of a rule's arguments say what it reads. So the values that a node keeps, and their positions in the node, are
known before anything runs. A loop over the names would take 0.7 us more per recorded operation. For ``a * b`` with
rules ``lambda t, b: t * b`` and ``lambda t, a: t * a``, if both operands are active and no shape differs:

    lambda trace, params, x0, x1, n0, n1: trace.tracer_type(trace, y := run(x0, x1), (next_serial(), 8, n0, n1, x1, x0))
    lambda y_bar, node: (rule_0(y_bar, node[4]), rule_1(y_bar, node[5]))

These functions know no traces and change nothing: they turn text into a function. Python's cache of source lines gets
the text, so tracebacks and debuggers show it.
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
    """Return the function that an expression describes. Tracebacks show it as part of this package, with its title."""
    filename = f"{PACKAGE}<{title}>"
    linecache.cache[filename] = len(source), None, [source], filename
    return eval(compile(source, filename, "eval"), {**_SCOPE, **scope})


def names_read(rules: Iterable[Rule]) -> list[str]:
    """Return the names that rules read, each once: those of their arguments after the first."""
    return list(dict.fromkeys(name for rule in rules for name in _arguments(rule)))


def _arguments(rule: Rule) -> Sequence[str]:
    code = rule.__code__
    return code.co_varnames[1 : code.co_argcount]


class Operands:
    """The names of a primitive's operands in the sources: values ``x0, x1, ...`` and nodes ``n0, n1, ...``."""

    __slots__ = ("_positions", "names", "nodes", "values")

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self.values = ", ".join(f"x{i}" for i in range(len(names)))
        self.nodes = ", ".join(f"n{i}" for i in range(len(names)))
        self._positions = {name: i for i, name in enumerate(names)}

    def kept(self, name: str, parents: Collection[int]) -> str:
        """Return the expression for a value that a node keeps; the user may write to operands that are no parents."""
        i = self._positions.get(name)
        if i is None or i in parents:
            return self.read(name)
        return f"(trace.keep(x{i}) if type(x{i}) is ndarray else x{i})"

    def read(self, name: str) -> str:
        """Return the expression for a name that a rule reads, in terms of operands, the result ``y`` and ``params``."""
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
            # A Python number has no shape.
            return f"getattr(x{self._positions[operand]}, 'shape', ())"
        return f"params[{name!r}]"

    def shape_name(self, i: int) -> str:
        """Return the name by which a rule reads the shape of an operand."""
        return f"{self.names[i]}_shape"


def node(kind: int, parents: Iterable[int], kept: Iterable[str]) -> str:
    """Return the source of a node: see ``tape.py``. ``parents`` are numbers of operands, ``kept`` are sources."""
    return f"(next_serial(), {kind}, {', '.join([*[f'n{i}' for i in parents], *kept])})"


def either(source: str, other: str, operands: Operands, parents: Iterable[int]) -> str:
    """Return the source of one node if the parents have the shape of the result, and of another if not."""
    shapes = [operands.read(operands.shape_name(i)) for i in parents]
    return f"{source} if getattr(y, 'shape', ()) == {' == '.join(shapes)} else {other}"


def pull(
    title: str,
    rules: Mapping[int, Rule],
    kept: Sequence[str],
    operands: Operands,
    unbroadcast: Callable[[Any, tuple[int, ...]], Any] | None = None,
) -> Callable[..., Any]:
    """Return the function that pulls a cotangent through nodes that keep values of these names.

    Args:
        title: the name of the function in tracebacks.
        rules: the rule for each parent, by the number of its operand.
        kept: the names of the values that the nodes keep, in order.
        operands: the operands.
        unbroadcast: sums a cotangent to the shape of its operand, which is one of the kept values.
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
    """Return the function that makes the node of an application: ``make(trace, primals, nodes, y, params)``."""
    make = function(f"lambda trace, y, params, {operands.values}, {operands.nodes}: {made}", title, {})
    return lambda trace, primals, nodes, y, params: make(trace, y, params, *primals, *nodes)


def recorder(
    title: str,
    operands: Operands,
    made: str,
    run: Callable[..., Any],
    has_params: bool,
    is_rounded: Callable[[Any], bool] | None = None,
) -> Callable[..., Any]:
    """Return one function that runs on bare NumPy values and records: ``record(trace, params, *primals, *nodes)``."""
    call = f"run({operands.values}, **params)" if has_params else f"run({operands.values})"
    result = f"trace.tracer_type(trace, y := {call}, {made})"
    return function(
        f"lambda trace, params, {operands.values}, {operands.nodes}: {result}",
        title,
        {"run": run, "is_rounded": is_rounded},
    )


def reader(title: str, operands: Operands, rule: Rule) -> Callable[..., tuple]:
    """Return the function that collects what a rule reads after its first argument: ``read(y, params, *primals)``."""
    parts = "".join(f"{operands.read(name)}, " for name in _arguments(rule))
    return function(f"lambda y, params, {operands.values}: ({parts})", title, {})
