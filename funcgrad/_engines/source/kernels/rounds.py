"""Lower loops and branches to steps: a `Nested` step contains the steps of the bodies.

    for r in range(at(S, 3)):
        p2 = part(b_a1, r * at(S, 4))          # the address of a row of an array or a stack
        ...                                    # the body; its last steps write the next carries

Each carry has memory of its own, into which the first carry is copied before the loop. A round reads this memory. It
writes the next carry there when no later step of the round reads the old one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.forms import Basic
from funcgrad._core.graph.ir import Equation, Graph, Operand, Var
from funcgrad._engines.source.kernels.copies import late_writes
from funcgrad._engines.source.kernels.expand import prepared
from funcgrad._engines.source.kernels.lowering import Lowering
from funcgrad._engines.source.kernels.nodes import (
    Access,
    Apply,
    KernelMemory,
    Nested,
    Scalar,
    Step,
    StridedView,
    Times,
)

# A loop with no more operations than this in all its rounds is unrolled.
_INLINE = 160
# Carries that change places, as in `a, b = f(a, b), a`, are copied if they have fewer elements than this.
_COPIED = 256
# Larger ones are not copied: the loop then has two or three rounds as its body (`_turns`). The largest number of
# equations of such a round, and the most rounds.
_TURNED = 20
_MOST_TURNS = 3
_BOOL = np.dtype(bool)

Form = Callable[[Lowering, Equation], bool]


def _scan(w: Lowering, equation: Equation) -> bool:
    loop = equation.params["loop"]
    body = loop.body.made(prepared)
    if not loop.length:
        return False
    short = loop.length * sum(map(_operations, body.equations)) <= _INLINE and not body.constants
    # A short loop that is a kernel of its own stays a loop: its text is shorter and compiles faster.
    if short and (w.depth or not w.loop):
        return round_by_round(w, equation)
    return w.loop and _for(w, equation, loop, body)


def _operations(equation: Equation) -> int:
    """Return how many operations an equation is, with those of all rounds of a loop."""
    inner = bodies_of(equation, inside=False)
    rounds = getattr(equation.params.get("loop"), "length", 1)
    return 1 + rounds * sum(_operations(each) for body in inner for each in body.equations)


def round_by_round(w: Lowering, equation: Equation) -> bool:
    """Add the steps of all rounds of a loop, one round after another; return whether each equation has a form."""
    loop = equation.params["loop"]
    body = loop.body.made(prepared)
    found = _known(w, equation.operands, body.inputs)
    if found is None:
        return False
    split = loop.constants + loop.carry
    carry = found[loop.constants : split]
    rows = [x for x in found[split:] if isinstance(x, StridedView)]
    if len(rows) < len(found) - split:
        # A number has no rows in memory.
        return False
    w.known.update(zip(body.inputs[: loop.constants], found, strict=False))
    stacks = [KernelMemory(var.aval.dtype, var.aval.shape).whole() for var in equation.results[loop.carry :]]
    for t in range(loop.length)[:: -1 if loop.reverse else 1]:
        ends = _round(w, loop, body, carry, *[[_row(x, t) for x in views] for views in (rows, stacks)])
        if ends is None:
            return False
        carry = ends
    w.known.update(zip(equation.results, [*carry, *stacks], strict=True))
    return True


def _round(
    w: Lowering, loop: Any, body: Graph, carry: Sequence[Access], xs: Sequence[StridedView], ys: Sequence[StridedView]
) -> list[Access] | None:
    """Add the steps of a round; return the next carries, or ``None`` if an equation has no form.

    Args:
        w: collects the steps.
        loop: the parameters of the scan.
        body: the body.
        carry: the carries that the round reads.
        xs: the rows that it reads.
        ys: the rows of stacks that it writes.
    """
    w.known.update(zip(body.inputs[loop.constants :], [*carry, *xs], strict=True))
    ends = _outcome(w, body)
    if ends is None:
        return None
    for row, value in zip(ys, ends[loop.carry :], strict=True):
        if 0 not in row.shape:
            w.written(row, "{}", value)
    return ends[: loop.carry]


def _row(x: StridedView, t: int) -> StridedView:
    return StridedView(x.memory, x.offset + t * x.strides[0], x.shape[1:], x.strides[1:])


def _for(w: Lowering, equation: Equation, loop: Any, body: Graph) -> bool:
    fixed, first, xs = loop.parts(equation.operands)
    inside = loop.parts(body.inputs)
    given, carry = _known(w, fixed, inside[0]), _known(w, first, inside[1])
    found = [w.array(x) for x in xs]
    arrays = [x for x, var in zip(found, inside[2], strict=True) if x is not None and x.dtype == var.aval.dtype]
    if given is None or carry is None or len(arrays) < len(xs) or not _same(body.outputs[: loop.carry], inside[1]):
        return False
    w.known.update(zip(inside[0], given, strict=True))
    held = _carried(w, first, carry)
    stacks = [KernelMemory(var.aval.dtype, var.aval.shape).whole() for var in equation.results[loop.carry :]]
    ends = _Rounds(w, loop, body, arrays, stacks).ends(held)
    if ends is None:
        return False
    w.known.update(zip(equation.results, [*ends, *stacks], strict=True))
    return True


class _Rounds:
    """The rounds of a scan.

    Args:
        w: collects the steps.
        loop: the parameters of the scan.
        body: the body.
        arrays: the arrays of which a round reads a row.
        stacks: the arrays of which a round writes a row.
    """

    def __init__(
        self, w: Lowering, loop: Any, body: Graph, arrays: Sequence[StridedView], stacks: Sequence[StridedView]
    ) -> None:
        self._w = w
        self._loop = loop
        self._body = body
        self._arrays = arrays
        self._stacks = stacks
        self._turns = _turns(body, loop.parts(body.inputs)[1], loop.length)
        self._count = loop.length // self._turns
        self._rows: list[tuple[KernelMemory, StridedView]] = []

    def ends(self, held: Sequence[StridedView]) -> Sequence[Access] | None:
        """Add the steps of all rounds; return the last carries, or ``None`` if an equation has no form.

        Args:
            held: the memory of the carries.
        """
        w, length, reverse = self._w, self._loop.length, self._loop.reverse
        steps = _steps_of(w, lambda: self._in_turn(held))
        if steps is None:
            return None
        times = Times(self._count, reverse)
        w.steps.append(Nested((steps,), (*held, *self._stacks), None, times, tuple(self._rows)))
        ends: Sequence[Access] | None = held
        for t in range(self._count * self._turns, length):
            at = length - 1 - t if reverse else t
            rows, stacks = [[_row(x, at) for x in views] for views in (self._arrays, self._stacks)]
            ends = _round(w, self._loop, self._body, ends, rows, stacks)
            if ends is None:
                return None
        return ends

    def _in_turn(self, held: Sequence[StridedView]) -> bool:
        """Add the steps of one turn of the loop: one round, or several rounds one after another."""
        ends: Sequence[Access] | None = held
        for turn in range(self._turns):
            rows, stacks = [[self._row_of_round(x, turn) for x in xs] for xs in (self._arrays, self._stacks)]
            ends = _round(self._w, self._loop, self._body, ends, rows, stacks)
            if ends is None:
                return False
        _moves(self._w, held, ends)
        return True

    def _row_of_round(self, x: StridedView, turn: int) -> StridedView:
        """Return the row that round ``turn`` of a turn reads or writes."""
        length, turns, count = self._loop.length, self._turns, self._count
        first = _row(x, length - 1 - turns * (count - 1) - turn if self._loop.reverse else turn)
        strides = (turns * x.strides[0], *x.strides[1:])
        # The rows that this round uses in all turns, in the order of the array.
        rows = StridedView(x.memory, first.offset, (count, *first.shape), strides)
        row = KernelMemory(x.dtype, first.shape)
        self._rows.append((row, rows))
        return StridedView(row, 0, first.shape, first.strides)


def _turns(body: Graph, carry: Sequence[Var], length: int) -> int:
    """Return how many rounds are one turn of the loop, so that ``a, b = f(a, b), a`` needs no copy of ``a``.

    After two such rounds, both carries are new, and both old ones are not read any more. So the new ones are written
    into the memory of the old ones.
    """
    turns = 1
    size = sum(1 + sum(len(inner.equations) for inner in bodies_of(each)) for each in body.equations)
    if size > _TURNED:
        return 1
    for k, var in enumerate(carry):
        found, x = 1, body.outputs[k]
        while x is not var and x in carry and found < _MOST_TURNS:
            found, x = found + 1, body.outputs[carry.index(x)]
        if x is not var and var.aval.size >= _COPIED:
            turns = max(turns, found)
    return turns if length >= 2 * turns else 1


def _while(w: Lowering, equation: Equation) -> bool:
    loop = equation.params["loop"]
    if not w.loop:
        return False
    body, condition = loop.body.made(prepared), loop.condition.made(prepared)
    of_condition, fixed, first = loop.parts(equation.operands)
    asked, inside = condition.inputs[: loop.condition_constants], body.inputs[: loop.body_constants]
    variables = body.inputs[loop.body_constants :]
    given, known, carry = _known(w, fixed, inside), _known(w, of_condition, asked), _known(w, first, variables)
    if given is None or known is None or carry is None or not _same(body.outputs, variables):
        return False
    held, flag = _carried(w, first, carry), KernelMemory(_BOOL, ()).whole()
    w.known.update(zip((*asked, *inside), (*known, *given), strict=True))

    def ask() -> bool:
        w.known.update(zip(condition.inputs[loop.condition_constants :], held, strict=True))
        ends = _outcome(w, condition)
        answer = None if ends is None else w.cast(ends[0], _BOOL)
        if answer is not None:
            w.steps.append(Apply(flag, "{}", (answer,)))
        return answer is not None

    def run() -> bool:
        w.known.update(zip(variables, held, strict=True))
        ends = _outcome(w, body)
        if ends is not None:
            _moves(w, held, ends)
        return ends is not None

    asks, steps = _steps_of(w, ask), _steps_of(w, run)
    if asks is None or steps is None:
        return False
    w.steps.append(Nested((asks, steps), (*held, flag), flag))
    w.known.update(zip(equation.results, held, strict=True))
    return True


def _cond(w: Lowering, equation: Equation) -> bool:
    asked, *operands = equation.operands
    flag = w.access(asked)
    flag = None if flag is None else w.cast(flag, _BOOL)
    if not w.loop or flag is None:
        return False
    made = [KernelMemory(var.aval.dtype, var.aval.shape).whole() for var in equation.results]
    ways = []
    for branch in equation.params["branches"][:2]:
        graph = branch.made(prepared)
        given = _known(w, operands, graph.inputs)
        if given is None or not _same(graph.outputs, equation.results):
            return False
        w.known.update(zip(graph.inputs, given, strict=True))

        def run(graph: Graph = graph) -> bool:
            ends = _outcome(w, graph)
            for x, end in zip(made, ends or (), strict=ends is not None):
                w.steps.append(Apply(x, "{}", (_spread(end, x.shape),)))
            return ends is not None

        steps = _steps_of(w, run)
        if steps is None:
            return False
        ways.append(steps)
    w.steps.append(Nested(tuple(ways), tuple(made), flag, branches=True))
    w.known.update(zip(equation.results, made, strict=True))
    return True


def bodies_of(equation: Equation, *, inside: bool = True) -> list[Graph]:
    """Return the bodies of a loop or a branch, and of the loops and branches ``inside`` of them."""
    params, found = equation.params, []
    if "branches" in params:
        found += params["branches"][:2]
    elif "loop" in params:
        found += [params["loop"].body, *([params["loop"].condition] if hasattr(params["loop"], "condition") else [])]
    made = [body.made(prepared) for body in found]
    if not inside:
        return made
    return [*made, *[inner for body in made for each in body.equations for inner in bodies_of(each)]]


def _known(w: Lowering, operands: Sequence[Operand], variables: Sequence[Var]) -> list[Access] | None:
    """Return the values of operands in the types of a body's inputs; ``None`` if one cannot be converted."""
    found = [w.access(x, var.aval.dtype) for x, var in zip(operands, variables, strict=True)]
    known = [x for x, var in zip(found, variables, strict=True) if x is not None and x.dtype == var.aval.dtype]
    return known if len(known) == len(found) else None


def _same(outputs: Sequence[Operand], variables: Sequence[Var]) -> bool:
    """Return whether the outputs of a body have the types of these variables."""
    pairs = zip(outputs, variables, strict=True)
    return all(y.aval.dtype == var.aval.dtype and y.aval.shape == var.aval.shape for y, var in pairs)


def _outcome(w: Lowering, body: Graph) -> list[Access] | None:
    """Add the steps of a body; return the values of its outputs."""
    w.add_constants(body)
    if not all(w.lower(w, each) for each in late_writes(body)):
        return None
    found = [w.access(y, y.aval.dtype) for y in body.outputs]
    known = [x for x in found if x is not None]
    return known if len(known) == len(found) else None


def _steps_of(w: Lowering, run: Callable[[], bool]) -> tuple[Step, ...] | None:
    """Return the steps that a function adds, or ``None`` if the function returns false."""
    around, w.steps = w.steps, []
    w.depth += 1
    works = run()
    w.depth -= 1
    steps, w.steps = w.steps, around
    return tuple(steps) if works else None


def _carried(w: Lowering, first: Sequence[Operand], values: Sequence[Access]) -> list[StridedView]:
    """Add memory for the carries of a loop, and copy their first values into it.

    An array of equal elements may be known as one number.
    """
    return [w.applied("{}", [value], w.shape(x), value.dtype) for x, value in zip(first, values, strict=True)]


def _spread(x: Access, shape: tuple[int, ...]) -> Access:
    return x if isinstance(x, Scalar) else x.spread(shape)


def _moves(w: Lowering, held: Sequence[StridedView], ends: Sequence[Access]) -> None:
    """Add the steps that end a round: they write the next carries.

    Args:
        w: collects the steps.
        held: the memory of the carries.
        ends: the next carries.
    """
    pending = [(x, value) for x, value in zip(held, ends, strict=True) if value != x]
    while pending:
        # The memory of a carry is read before it is written: `a, b = made, a` writes b first.
        read = Counter([value.memory for _, value in pending if isinstance(value, StridedView)])
        k = next((k for k, (x, _) in enumerate(pending) if not read[x.memory]), None)
        if k is None:
            # The carries read each other, as in `a, b = b, a`: one of them is copied.
            x, value = pending[0]
            pending[0] = x, w.applied("{}", [value], x.shape, x.dtype)
            continue
        x, value = pending.pop(k)
        w.steps.append(Apply(x, "{}", (_spread(value, x.shape),)))


LOOPS: dict[Basic | None, Form] = {Basic.COND: _cond, Basic.SCAN: _scan, Basic.WHILE: _while}
