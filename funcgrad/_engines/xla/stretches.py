"""Long programs, compiled in stretches that run one after another.

XLA fuses an operation into each operation that reads it. In a program without loops it then compiles, and computes, the
same operations again and again: a gradient of 4,000 small operations did not compile within two minutes. The time for
stretches grows in proportion to the program.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from funcgrad._core.graph.ir import Equation, Graph, Literal, Var, trusted_graph
from funcgrad._engines.xla.devices import as_arrays
from funcgrad._engines.xla.modes import inside_jax_trace
from funcgrad._engines.xla.programs import has_long_rounds, is_small

# Equations per stretch. Without fusion, 400 small operations compile in 0.6 ms each; 100 in 1.7 ms, 4,000 in 1.5 ms.
_LENGTH = 400
_UNFUSED = {"xla_disable_hlo_passes": "fusion"}


class XlaStretch(NamedTuple):
    """A part of a program.

    Args:
        graph: its equations.
        ended: the inputs that nothing reads later.
        donated: the positions of the inputs whose memory the results may use.
    """

    graph: Graph
    ended: tuple[Var, ...]
    donated: tuple[int, ...]


def cut(graph: Graph, length: int) -> list[XlaStretch]:
    """Return a program as stretches of so many equations. A stretch reads inputs of the program and earlier results."""
    parts = _parts(graph.equations, length)
    last: dict[Any, int] = {}
    for k, part in enumerate(parts):
        last.update((x, k) for equation in part for x in equation.operands if type(x) is Var)
    last.update((x, len(parts)) for x in graph.outputs if type(x) is Var)
    constants = dict(graph.constants)
    kept = {*graph.inputs, *constants}
    return [_stretch(k, part, last, constants, kept, graph.name) for k, part in enumerate(parts)]


def _parts(equations: Sequence[Equation], length: int) -> list[Sequence[Equation]]:
    """Return the equations in parts of so many. A loop of long rounds is a part of its own."""
    parts: list[list[Equation]] = [[]]
    for equation in equations:
        alone = has_long_rounds(equation)
        if parts[-1] and (alone or len(parts[-1]) >= length):
            parts.append([])
        parts[-1].append(equation)
        if alone:
            parts.append([])
    return [part for part in parts if part]


def _stretch(
    k: int, part: Sequence[Equation], last: dict[Any, int], constants: dict[Var, Any], kept: set[Var], name: str
) -> XlaStretch:
    made = dict.fromkeys(y for equation in part for y in equation.results)
    read = dict.fromkeys(x for equation in part for x in equation.operands if type(x) is Var and x not in made)
    inputs = [x for x in read if x not in constants]
    outputs = [y for y in made if last.get(y, k) > k]
    # JAX warns of donated memory that no result of the same type can use.
    free = Counter((y.aval.shape, y.aval.dtype) for y in outputs)
    donated = []
    for i, x in enumerate(inputs):
        kind = x.aval.shape, x.aval.dtype
        if last[x] == k and x not in kept and free[kind]:
            free[kind] -= 1
            donated.append(i)
    found = [(x, constants[x]) for x in read if x in constants]
    ended = tuple([x for x in inputs if last[x] == k])
    return XlaStretch(trusted_graph(inputs, found, part, outputs, name), ended, tuple(donated))


def compile_in_stretches(graph: Graph) -> Callable[..., list]:
    """Return a function of flat operands that runs a long graph. JAX compiles each stretch when it is first called."""
    stretches = [(stretch.graph, stretch.ended, _compiled(stretch)) for stretch in cut(graph, _LENGTH)]

    def run(*operands: Any) -> list:
        if inside_jax_trace():
            # The outer program is compiled as a whole.
            return graph.evaluate(*operands)
        values: dict[Any, Any] = dict(graph.constants)
        values.update(zip(graph.inputs, as_arrays(operands), strict=True))
        for part, ended, compiled in stretches:
            results = compiled(*[values[x] for x in part.inputs])
            for x in ended:
                del values[x]
            values.update(zip(part.outputs, results, strict=True))
        outputs = [x.value if type(x) is Literal else values[x] for x in graph.outputs]
        return [x if isinstance(x, jax.Array) else jnp.asarray(x) for x in outputs]

    return run


def _rounds(graph: Graph) -> Callable[..., list]:
    """Return a function that runs a loop round by round. The body is compiled in stretches, once for all rounds."""
    (equation,) = graph.equations
    loop = equation.params["loop"]
    body = compile_in_stretches(loop.body)

    def run(*values: Any) -> list:
        known: dict[Any, Any] = dict(graph.constants)
        known.update(zip(graph.inputs, values, strict=True))
        operands = as_arrays([x.value if type(x) is Literal else known[x] for x in equation.operands])
        constants, carry, rows = loop.parts(tuple(operands))
        stacks: list[Sequence[Any]] = []
        for i in range(loop.length)[:: -1 if loop.reverse else 1]:
            found = body(*constants, *carry, *[x[i] for x in rows])
            carry = found[: loop.carry]
            stacks.append(found[loop.carry :])
        stacks = stacks[::-1] if loop.reverse else stacks
        results: dict[Any, Any] = dict(
            zip(equation.results, [*carry, *map(jnp.stack, zip(*stacks, strict=True))], strict=True)
        )
        return [results[x] for x in graph.outputs]

    return run


def _compiled(stretch: XlaStretch) -> Callable[..., list]:
    graph = stretch.graph
    if has_long_rounds(graph.equations[0]):
        return _rounds(graph)

    def evaluated(*xs: Any) -> list:
        # JAX returns an unchanged argument as the same array. Its memory must not be donated while another variable
        # still has it.
        seen = set(map(id, xs))
        results = []
        for y in graph.evaluate(*xs):
            fresh = jnp.copy(y) if id(y) in seen else y
            seen.add(id(y))
            results.append(fresh)
        return results

    evaluated.__name__ = evaluated.__qualname__ = graph.name
    options = _UNFUSED if is_small(graph) and jax.default_backend() == "cpu" else None
    return jax.jit(evaluated, donate_argnums=stretch.donated, compiler_options=options)
