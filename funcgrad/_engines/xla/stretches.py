"""Programs that XLA's CPU backend does not compile well as a whole: without fusion, and in stretches if they are long.

XLA fuses an operation, also a sum over an array, into each operation that reads it. In a program without loops and
without products of matrices it then compiles, and computes, the same operations again and again. The gradient of 20
rounds of ``x = sin(x) * r + sum(x * x)`` (331 equations) compiled in 4.5 s and ran in 0.12 ms; without fusion in 0.6 s
and 0.06 ms. 40 rounds took 25 s; without fusion 0.9 s.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from funcgrad._core.forms import Basic
from funcgrad._core.graph.ir import Equation, Graph, Literal, Var, trusted_graph
from funcgrad._engines.xla.devices import as_arrays
from funcgrad._engines.xla.modes import inside_jax_trace

# Equations per stretch. A stretch of 2,000 small operations compiles in 1.3 ms each, as those of 400 do, and runs in a
# third of the time, because a call passes fewer values; 5,000 compile in 3.3 ms each.
_LENGTH = 2000
# Longer programs are compiled in stretches: 4,000 elementwise operations compiled in 4 s, 7,000 not within a minute.
MOST_EQUATIONS = 5000
# Programs of fewer equations are fused: they compile within seconds.
_MOST_FUSED = 400
# Bytes that an equation makes on average. Fusing saves much time for larger arrays. A read of one row counts as a row.
_SMALL = 1 << 17
_UNFUSED = {"xla_disable_hlo_passes": "fusion"}


def is_long(graph: Graph) -> bool:
    """Return whether a program is compiled in stretches or without fusion."""
    if jax.default_backend() != "cpu":
        return False
    return (
        len(graph.equations) > MOST_EQUATIONS
        or any(map(has_long_rounds, graph.equations))
        or (len(graph.equations) > _MOST_FUSED and loses_by_fusing(graph))
    )


def has_long_rounds(equation: Equation) -> bool:
    """Return whether an equation is a loop over rows whose body is compiled in stretches."""
    if equation.primitive.forms.basic is not Basic.SCAN:
        return False
    loop = equation.params["loop"]
    body = loop.body
    return loop.length > 0 and (len(body.equations) > MOST_EQUATIONS or any(map(has_long_rounds, body.equations)))


def loses_by_fusing(graph: Graph) -> bool:
    """Return whether a program has small arrays, and sums and reads in between, which fusing computes again and again.

    Products that read each element several times are not fused. They end what is computed again: the gradient of a
    network, or of a Kalman filter, compiles and runs as fast with fusion.
    """
    count = len(graph.equations)
    mixed = [equation for equation in graph.equations if not equation.primitive.elementwise]
    made = sum(y.aval.nbytes for equation in graph.equations for y in equation.results)
    return made < _SMALL * count and 100 * len(mixed) > count and 10 * sum(map(_of_products, mixed)) < graph.flops


def _of_products(equation: Equation) -> int:
    """Return the operations of the products of matrices that an equation does, or the rounds of its loop."""
    if equation.primitive.forms.basic is Basic.SCAN:
        loop = equation.params["loop"]
        return loop.length * sum(map(_of_products, loop.body.equations))
    return equation.flops if equation.flops > sum(x.aval.size for x in equation.operands) else 0


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
    options = _UNFUSED if loses_by_fusing(graph) else None
    return jax.jit(evaluated, donate_argnums=stretch.donated, compiler_options=options)
