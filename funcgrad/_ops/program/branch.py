"""Branches and loops of unknown length whose parts are graphs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple, NoReturn, TypeVar

from funcgrad._core.aval import Aval
from funcgrad._core.forms import Basic, Forms
from funcgrad._core.graph.ir import Graph, Operand, Var, trusted_graph
from funcgrad._core.primitive import Primitive
from funcgrad._engines import NUMPY
from funcgrad._ops.elementwise.logic import logical_not_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.layout.broadcast import with_batch
from funcgrad._ops.layout.copy import unshared
from funcgrad._ops.layout.shape import reshape
from funcgrad._ops.program.batch import batched_graph, shared
from funcgrad._ops.program.depends import either, repeated
from funcgrad._ops.program.derivative import Moves
from funcgrad._ops.program.derived import (
    Mask,
    chosen,
    linearized_graphs,
    moving_carry,
    moving_outputs,
    permuted,
    pulled_graphs,
    pushed_graph,
    series_aval,
    staged_graph,
    zeros_equation,
)
from funcgrad._ops.program.reached import (
    deciding_inputs,
    has_positions,
    replaced,
    within_bounds,
    zeros_instead,
)
from funcgrad._ops.program.series import GraphDerivative
from funcgrad._ops.reduce.reduce import reduce_or
from funcgrad._types import Array, Lax, Value
from funcgrad.errors import NotDifferentiableError

T = TypeVar("T")


# Takes a graph and flags of its active inputs and outputs; returns its derivative in two parts, cut at the residuals.
CutInTwo = Callable[[Graph, Mask, Mask], tuple[Graph, Graph]]


class Branches(NamedTuple):
    """The two graphs of a condition; they take the same inputs and give results of the same types.

    Args:
        true: the graph that runs if the predicate holds.
        false: the other graph.
        owners: for each of the first results the number of the branch whose residual it is, or ``None``. The other
            branch returns zeros there.
    """

    true: Graph
    false: Graph
    owners: tuple[int | None, ...] = ()

    def __call__(self, pred: Value, *operands: Value) -> list[Any]:
        return cond_p(pred, *operands, branches=self)

    @property
    def name(self) -> str:
        return f"({self.true.name}, {self.false.name})"

    @property
    def avals(self) -> list[Aval]:
        return [Aval(x.aval.shape, x.aval.dtype) for x in self.true.outputs]

    def moves(self, active: Mask) -> Moves:
        pairs = zip(*[moving_outputs(graph, active[1:]) for graph in self[:2]], strict=True)
        return Moves((False, *active[1:]), tuple([a or b for a, b in pairs]))

    def pulled(self, moves: Moves, primals: tuple) -> tuple[list, Callable[..., list], list]:
        """Return results and residuals; the branch that is not taken returns zeros as residuals."""
        return self._cut(pulled_graphs, moves, primals)

    def pushed(self, moves: Moves, primals: tuple, x_dots: list, separate: bool, order: int = 0) -> tuple[list, list]:
        if separate:
            ys, second, kept = self._cut(linearized_graphs, moves, primals)
            return ys, second(*kept, *x_dots)
        true, false = [graph.made(pushed_graph, moves.operands[1:], moves.results, order) for graph in self[:2]]
        pushed = Branches(true, false, self.owners)
        results, count = pushed(*primals, *x_dots), len(self.avals)
        return results[:count], results[count:]

    def _cut(self, cut: CutInTwo, moves: Moves, primals: tuple) -> tuple[list, Branches, list]:
        """Return the results, the second part of each branch, and the operands of that part."""
        first, second, passed = self.true.made(_cut_branches, cut, self, moves)
        results, count = first(*primals), len(self.avals)
        return results[:count], second, [primals[0], *[primals[1 + i] for i in passed], *results[count:]]


def _cond_numpy(pred: Array, *operands: Array, branches: Branches) -> list[Any]:
    return unshared((branches.true if pred else branches.false).made(NUMPY.compile)(*operands))


def _cond_xla(lax: Lax, pred: Array, *operands: Array, branches: Branches) -> list[Any]:
    if any(lax.is_traced(x) for x in (pred, *operands)):
        return lax.cond(
            pred, _lowered(lax, branches.true, branches), _lowered(lax, branches.false, branches), *operands
        )
    # Outside a program only one branch runs, compiled as a program.
    graph = branches.true if pred else branches.false
    return graph.made(_compiled_branch, lax, branches)(*operands)


def _compiled_branch(graph: Graph, lax: Lax, branches: Branches) -> Callable[..., list]:
    return lax.compiled(_lowered(lax, graph, branches))


def _lowered(lax: Lax, graph: Graph, branches: Branches) -> Any:
    avals = branches.avals
    return lambda *xs: [lax.strong(y, aval) for y, aval in zip(graph.evaluate(*xs), avals, strict=True)]


def _cut_branches(
    true: Graph, cut: CutInTwo, branches: Branches, moves: Moves
) -> tuple[Branches, Branches, tuple[int, ...]]:
    """Cut both branches in two at their residuals. Return two conditions, and the operands that the second one reads.

    A residual that is an operand is read there: a loop around the condition would stack it a second time. Each other
    residual has an output of its own. If branches shared one, the second part of a branch would read the other branch's
    residuals in a batch, where it runs for all rows. Its derivatives could be NaN there.
    """
    cuts = [cut(graph, moves.operands[1:], moves.results) for graph in branches[:2]]
    count = len(branches.avals)
    # The residuals of each branch: the number of the operand that it is, or ``None``.
    numbers = [_numbers_of(first.outputs[count:], first) for first, _ in cuts]
    passed = tuple(sorted({i for each in numbers for i in each if i is not None}))
    made = [
        [x for x, i in zip(first.outputs[count:], each, strict=True) if i is None]
        for (first, _), each in zip(cuts, numbers, strict=True)
    ]
    slots = [Aval(x.aval.shape, x.aval.dtype) for own in made for x in own]
    true, false = [_with_slots(first, count, made, k) for k, (first, _) in enumerate(cuts)]
    avals = [*[true.inputs[i].aval for i in passed], *slots]
    begins = len(passed), len(passed) + len(made[0])
    seconds = [
        _from_slots(second, avals, _places(each, passed, begin))
        for (_, second), each, begin in zip(cuts, numbers, begins, strict=True)
    ]
    known = (*branches.owners, *[None] * (count - len(branches.owners)))
    owners = (*known, *[0] * len(made[0]), *[1] * len(made[1]))
    return Branches(true, false, owners), Branches(seconds[0], seconds[1]), passed


def _numbers_of(residuals: Sequence[Operand], graph: Graph) -> list[int | None]:
    """Return for each residual the number of the input that it is, the first time that it occurs; else ``None``."""
    numbers = {var: i for i, var in enumerate(graph.inputs)}
    return [numbers.pop(x, None) if type(x) is Var else None for x in residuals]


def _places(numbers: Sequence[int | None], passed: Sequence[int], begin: int) -> list[int]:
    """Return where the second condition takes each residual: among the operands that are passed, or among the slots.

    Args:
        numbers: for each residual the number of the operand that it is, or ``None``.
        passed: the numbers of the operands that are passed.
        begin: the place of the first slot of the branch.
    """
    slots = iter(range(begin, begin + len(numbers)))
    return [next(slots) if i is None else passed.index(i) for i in numbers]


def _with_slots(first: Graph, count: int, made: Sequence[Sequence[Operand]], k: int) -> Graph:
    """Return a first part that fills every slot: with its residual, or with zeros for those of the other branch."""
    fillers = [zeros_equation(x.aval) for x in made[1 - k]]
    zeros = [equation.results[0] for equation in fillers]
    residuals = (*made[0], *zeros) if k == 0 else (*zeros, *made[1])
    equations = [*first.equations, *fillers]
    return trusted_graph(first.inputs, first.constants, equations, [*first.outputs[:count], *residuals], first.name)


def _from_slots(second: Graph, avals: Sequence[Aval], places: Sequence[int]) -> Graph:
    """Return a second part that takes values of these types; its residuals are at ``places`` among them."""
    own = dict(zip(places, second.inputs, strict=False))
    inputs = [own[i] if i in own else Var(aval) for i, aval in enumerate(avals)]
    return trusted_graph(
        [*inputs, *second.inputs[len(places) :]], second.constants, second.equations, second.outputs, second.name
    )


def _cond_batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> list[Any]:
    """Map one branch if the predicate is one for all; else run both branches, and select for each row.

    The residuals of a branch are kept for all rows, because its second part runs for all rows too.
    """
    branches: Branches = params["branches"]
    (pred, *xs), (chosen_each, *flags) = operands, batched
    if chosen_each:
        sides = [_side(graph, not k, size, pred, xs, tuple(flags)) for k, graph in enumerate(branches[:2])]
        pairs = zip_longest(zip(*sides, strict=True), branches.owners)
        return [_select_rows(pred, *pair) if owner is None else pair[owner] for pair, owner in pairs]
    mapped = [batched_graph(graph, size, tuple(flags)) for graph in branches[:2]]
    either = tuple([a or b for a, b in zip(*[outputs for _, outputs in mapped], strict=True)])
    true, false = [batched_graph(graph, size, tuple(flags), either)[0] for graph in branches[:2]]
    return shared(Branches(true, false, branches.owners)(pred, *xs), either)


def _side(graph: Graph, holds: bool, size: int, pred: Value, xs: Sequence[Any], batched: Mask) -> list[Any]:
    """Run a branch for all rows, without errors of the rows that do not take it."""
    has_bounds, may_raise = size > 0 and has_positions(graph), size > 0 and any(deciding_inputs(graph))
    reached = logical_not_p(pred) if not holds and (has_bounds or may_raise) else pred
    if may_raise:
        xs = replaced(reached, xs, batched)
    if has_bounds:
        graph, xs, batched = within_bounds(graph), [reached, *xs], (True, *batched)
    mapped, _ = batched_graph(graph, size, batched, (True,) * len(graph.outputs))
    if not may_raise:
        return mapped.evaluate(*xs)
    return Branches(mapped, mapped.made(zeros_instead))(reduce_or(reached, (0,)), *xs)


def _select_rows(pred: Value, a: Value, b: Value) -> Value:
    """Select by one boolean per row."""
    return select(reshape(pred, (*pred.shape, *[1] * (len(a.shape) - 1))), a, b)


cond_p = Primitive(
    "cond",
    operands=("pred", "*xs"),
    numpy=_cond_numpy,
    xla=_cond_xla,
    aval=lambda pred, *xs, branches: branches.avals,
    derivative=GraphDerivative(lambda branches: branches),
    batch=_cond_batch,
    cost=lambda y, pred, *xs, branches: max(branches.true.flops, branches.false.flops),
    multiple_results=True,
    forms=Forms(basic=Basic.COND, depends=either),
)


class While(NamedTuple):
    """A loop: the graphs of condition and body, and the numbers of their constants.

    Their other inputs are the carry.
    """

    condition: Graph
    body: Graph
    condition_constants: int
    body_constants: int

    def __call__(self, *operands: Value) -> list[Any]:
        return while_p(*operands, loop=self)

    @property
    def name(self) -> str:
        return f"({self.condition.name}, {self.body.name})"

    def parts(self, operands: tuple[T, ...]) -> tuple[tuple[T, ...], tuple[T, ...], tuple[T, ...]]:
        """Return the constants of the condition, those of the body, and the carry."""
        split = self.condition_constants + self.body_constants
        return operands[: self.condition_constants], operands[self.condition_constants : split], operands[split:]

    @property
    def avals(self) -> list[Aval]:
        return [Aval(y.aval.shape, y.aval.dtype) for y in self.body.outputs]

    def moves(self, active: Mask) -> Moves:
        condition, constants, carry = self.parts(active)
        carry, _ = moving_carry(self.body, constants, carry)
        return Moves((*[False] * len(condition), *constants, *carry), carry)

    def pulled(self, moves: Moves, primals: tuple) -> NoReturn:
        """Raise: reverse mode would need memory for an unknown number of rounds."""
        raise NotDifferentiableError(
            f"while_loop: reverse mode was asked through {self.name}, whose number of rounds is known only after it "
            "has run, so the values that the reverse pass reads cannot be stored. Use fori_loop with integer bounds, "
            "or scan with a length (and leave the carry unchanged once the loop is over), or forward mode: fg.jvp, "
            "fg.jacfwd."
        )

    def pushed(self, moves: Moves, primals: tuple, x_dots: list, separate: bool, order: int = 0) -> tuple[list, list]:
        """Carry the tangents along.

        If they must be separate (``separate``), run the loop of primals once more on its own.
        """
        _, constants, carry = self.parts(moves.operands)
        condition, others, init = self.parts(primals)
        moving, count = sum(constants), len(init)
        pushed = self.body.made(_pushed_loop, self, constants, carry, order)
        results = pushed(*condition, *others, *x_dots[:moving], *init, *x_dots[moving:])
        return self(*primals) if separate else results[:count], results[count:]


def _while_numpy(*operands: Array, loop: While) -> list[Any]:
    condition, body = loop.condition.made(NUMPY.compile), loop.body.made(NUMPY.compile)
    condition_constants, body_constants, carry = loop.parts(operands)
    while condition(*condition_constants, *carry)[0]:
        carry = body(*body_constants, *carry)
    return unshared(carry)


def _while_xla(lax: Lax, *operands: Array, loop: While) -> list[Any]:
    if any(lax.is_traced(x) for x in operands):
        return _lower_while(lax, operands, loop)
    return loop.body.made(_compiled_while, lax, loop)(*operands)


def _compiled_while(body: Graph, lax: Lax, loop: While) -> Callable[..., list]:
    return lax.compiled(lambda *operands: _lower_while(lax, operands, loop))


def _lower_while(lax: Lax, operands: tuple, loop: While) -> list[Any]:
    condition_constants, body_constants, carry = loop.parts(operands)
    avals = [x.aval for x in loop.body.outputs]

    def step(carry: list) -> list:
        ys = loop.body.evaluate(*body_constants, *carry)
        return [lax.strong(y, aval) for y, aval in zip(ys, avals, strict=True)]

    init = [lax.strong(x, aval) for x, aval in zip(carry, avals, strict=True)]
    return lax.while_loop(lambda carry: loop.condition.evaluate(*condition_constants, *carry)[0], step, init)


def _pushed_loop(body: Graph, loop: While, constants: Mask, carry: Mask, order: int) -> While:
    """Return the loop that carries primals and tangents; the condition reads the primals."""
    joint = pushed_graph(body, [*constants, *carry], carry, order)
    fixed, total = loop.body_constants, len(body.inputs)
    moving = sum(constants)
    inputs = [*range(fixed), *range(total, total + moving), *range(fixed, total)]
    inputs += range(total + moving, len(joint.inputs))
    spare = [Var(series_aval(y.aval, order)) for y in chosen(body.outputs, carry)]
    old = loop.condition
    condition = trusted_graph([*old.inputs, *spare], old.constants, old.equations, old.outputs, old.name)
    pushed = permuted(joint, inputs, range(len(joint.outputs)))
    return While(condition, pushed, loop.condition_constants, fixed + moving)


def _while_batch(
    primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict
) -> list[Any]:
    """Run one loop for all elements.

    If each has its own end, go on to the last end, and keep elements that have ended.
    """
    loop: While = params["loop"]
    condition_flags, body_flags, carry_flags = loop.parts(batched)
    flags = tuple(carry_flags)
    while True:
        body, mapped = batched_graph(loop.body, size, (*body_flags, *flags), flags)
        condition, (separate_ends,) = batched_graph(loop.condition, size, (*condition_flags, *flags))
        grown = (True,) * len(flags) if separate_ends else mapped
        if grown == flags:
            break
        flags = grown
    fixed, others, carry = loop.parts(operands)
    init = [with_batch(x, size, had) if flag else x for x, had, flag in zip(carry, carry_flags, flags, strict=True)]
    if separate_ends:
        deciding, has_bounds = deciding_inputs(loop.body), size > 0 and has_positions(loop.body)
        batch = (*body_flags, *flags)
        replaces = tuple([size > 0 and a and b for a, b in zip(batch, deciding, strict=True)])
        if has_bounds:
            body, _ = batched_graph(within_bounds(loop.body), size, (True, *batch), flags)
        pair = loop.condition_constants, loop.body_constants
        return body.made(_until_all_end, condition, *pair, replaces, has_bounds)(*fixed, *fixed, *others, *init)
    return shared(loop._replace(condition=condition, body=body)(*fixed, *others, *init), flags)


def _until_all_end(body: Graph, condition: Graph, fixed: int, others: int, replaces: Mask, has_bounds: bool) -> While:
    """Return the loop of a mapped condition and body; its body also takes the constants of the condition.

    Elements that have ended run the body too. For them, the operands in ``replaces`` are those of one that goes on.
    With ``has_bounds`` the body takes first which elements go on.
    """

    def goes_on(*values: Value) -> list[Any]:
        return [reduce_or(condition.evaluate(*values)[0], (0,))]

    def step(*values: Value) -> list[Any]:
        carry = values[fixed + others :]
        preds = condition.evaluate(*values[:fixed], *carry)[0]
        operands = replaced(preds, values[fixed:], replaces) if any(replaces) else values[fixed:]
        ys = body.evaluate(preds, *operands) if has_bounds else body.evaluate(*operands)
        return [_select_rows(preds, y, x) for y, x in zip(ys, carry, strict=True)]

    avals = [var.aval for var in condition.inputs], [var.aval for var in body.inputs[has_bounds:]]
    staged = staged_graph(goes_on, avals[0], condition.name)
    return While(staged, staged_graph(step, [*avals[0][:fixed], *avals[1]], body.name), fixed, fixed + others)


while_p = Primitive(
    "while",
    operands=("*xs",),
    numpy=_while_numpy,
    xla=_while_xla,
    aval=lambda *xs, loop: loop.avals,
    derivative=GraphDerivative(lambda loop: loop),
    batch=_while_batch,
    # The cost of one round, because the number of rounds is not known.
    cost=lambda y, *xs, loop: loop.condition.flops + loop.body.flops,
    multiple_results=True,
    forms=Forms(basic=Basic.WHILE, depends=repeated),
)
