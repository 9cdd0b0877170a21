"""Decide which equations of a small body run before, inside and after its loop (``split.py``)."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from funcgrad._core.graph.ir import Equation, Literal, Operand, Var
from funcgrad._ops.elementwise.arithmetic import add_p, div_p, mul_p, neg_p, sub_p
from funcgrad._ops.layout.broadcast import reduce_sum_p
from funcgrad._ops.program.scan import Loop

# A loop of fewer rounds stays as it is, and so does a round of more equations.
_LEAST_ROUNDS = 32
_MOST_EQUATIONS = 1000
# Values of more elements stay in the loop: computing them takes longer than the call of the operation.
_MOST_ELEMENTS = 16
# The most memory of the values that the loop stores for what comes after it.
_STORED_BYTES = 1 << 26
# NumPy gives each element of these the same bits, for any number of elements.
_EXACT = frozenset({add_p, sub_p, mul_p, div_p, neg_p})
_DTYPES = frozenset({"d", "f"})
# The times of a line of a round, in units of 60 ns: an operation, a row that is read, a row that is stored; each for
# numbers and for arrays.
_OPERATION = (1.0, 6.0)
_SUM = 18.0
_READ = (1.0, 1.5)
_STORE = (1.0, 2.0)
# The time of the call of an operation on the rows of all rounds, and the number of calls that add up a carry.
_CALL = 20.0
_CALLS_OF_SUM = 5
# The least time that is worth a split.
_LEAST_SAVED = 64.0


# The carries that rounds only add to: the parts of each, and whether a part is subtracted.
Sums = dict[int, list[tuple[Operand, bool]]]


class Moved(NamedTuple):
    """The equations of a body, by number, and when each of them runs.

    Args:
        once: before the loop, because no round changes them.
        before: before the loop, for all rounds at once.
        inside: in each round.
        after: after the loop, for all rounds at once.
        sums: the carries that only sum up what rounds add. Each has its parts, and whether a part is subtracted.
        fixed: the variables that no round changes, carries among them.
        made: the results of ``before`` and ``after``.
        stored: further results that the loop stores for ``after`` and ``sums``.
        even: the variables whose rows lie one after another in memory.
    """

    once: list[int]
    before: list[int]
    inside: list[int]
    after: list[int]
    sums: Sums
    fixed: set[Operand]
    made: set[Operand]
    stored: list[Operand]
    even: set[Operand]


def moved_of(equation: Equation, stacks: Collection[Operand]) -> Moved | None:
    """Return where the equations of a loop's round run; ``None`` if all of them stay.

    Args:
        equation: the loop.
        stacks: arrays whose rows are known to lie one after another in memory.
    """
    loop: Loop = equation.params["loop"]
    if loop.length < _LEAST_ROUNDS or len(loop.body.equations) > _MOST_EQUATIONS or not _is_typed(equation):
        return None
    ys = [x for x in loop.body.outputs[loop.carry :] if type(x) is Var]
    if len(set(ys)) < len(ys):
        return None
    return _Round(equation, stacks).moved()


def _is_typed(equation: Equation) -> bool:
    """Return whether the operands of a loop have the types of the body's inputs."""
    loop: Loop = equation.params["loop"]
    count = loop.constants + loop.carry
    for k, (var, x) in enumerate(zip(loop.body.inputs, equation.operands, strict=True)):
        shape = var.aval.shape if k < count else (loop.length, *var.aval.shape)
        if x.aval.shape != shape or x.aval.dtype != var.aval.dtype or x.aval.weak or var.aval.weak:
            return False
    return True


class _Round:
    """One round of a loop."""

    def __init__(self, equation: Equation, stacks: Collection[Operand]) -> None:
        self._loop: Loop = equation.params["loop"]
        body = self._body = self._loop.body
        constants, carry, rows = self._loop.parts(tuple(body.inputs))
        self._carries = carry
        self._rows = set(rows)
        self._ys: set[Operand] = set(body.outputs[self._loop.carry :])
        self.fixed: set[Operand] = {*constants, *[var for var, _ in body.constants]}
        self.fixed.update(carry[k] for k in unchanged(self._loop))
        # Values whose rows lie one after another: a sum of each row then adds as the sum of one row does.
        xs = equation.operands[len(constants) + len(carry) :]
        self._even: set[Operand] = {var for var, x in zip(rows, xs, strict=True) if x in stacks or not var.aval.shape}
        self._even.update(carry)
        self._users: dict[Operand, list[int]] = {}
        for i, each in enumerate(body.equations):
            for x in each.operands:
                self._users.setdefault(x, []).append(i)
        self.once: set[int] = set()
        self.before: set[int] = set()
        self.after: set[int] = set()

    def moved(self) -> Moved | None:
        self._find_early()
        sums = self._sums()
        while True:
            self._find_late(sums)
            self._keep_early(sums)
            stored = self._stored(sums)
            # A sum whose parts are only stored for it costs as much as it saves.
            poor = [k for k, parts in sums.items() if self._gain(parts, stored, sums) <= 0]
            if not poor:
                break
            del sums[poor[0]]
        calls = len(self.before) + len(self.after) + _CALLS_OF_SUM * len(sums)
        if self._saved(sums, stored) * self._loop.length < _LEAST_SAVED + _CALL * calls:
            return None
        if sum(x.aval.nbytes for x in stored) * self._loop.length > _STORED_BYTES:
            return None
        summed = self._summing(sums)
        numbers = range(len(self._body.equations))
        elsewhere = self.once | self.before | self.after | summed
        made: set[Operand] = {self._body.equations[i].results[0] for i in self.before | self.after}
        return Moved(
            sorted(self.once),
            sorted(self.before),
            [i for i in numbers if i not in elsewhere],
            sorted(self.after),
            sums,
            self.fixed,
            made,
            stored,
            self._even,
        )

    def _find_early(self) -> None:
        """Find the equations that no round changes, and those that read no result of a round."""
        early: set[Operand] = set(self._rows)
        for i, each in enumerate(self._body.equations):
            if all(type(x) is Literal or x in self.fixed for x in each.operands):
                if not each.has_effect:
                    self.once.add(i)
                    self.fixed.update(each.results)
            elif self._is_exact(each):
                if all(type(x) is Literal or x in self.fixed or x in early for x in each.operands):
                    self.before.add(i)
                    early.update(each.results)
                if all(not x.aval.shape or x in self.fixed or x in self._even for x in each.operands):
                    self._even.update(each.results)
            else:
                # The loop stores the result, row after row.
                self._even.update(each.results)

    def _is_exact(self, equation: Equation) -> bool:
        """Return whether an equation can run on the rows of all rounds at once, to the last bit."""
        result = equation.results[0].aval
        if equation.primitive not in _EXACT or result.dtype.char not in _DTYPES or result.size > _MOST_ELEMENTS:
            return False
        return not result.weak and all(
            x.aval.shape in ((), result.shape) and x.aval.dtype == result.dtype and not x.aval.weak
            for x in equation.operands
        )

    def _is_sum(self, equation: Equation) -> bool:
        """Return whether an equation sums a row of numbers that lie one after another."""
        if equation.primitive is not reduce_sum_p or equation.params != {"axes": (0,), "keepdims": False}:
            return False
        (x,) = equation.operands
        aval = x.aval
        return len(aval.shape) == 1 and aval.size <= _MOST_ELEMENTS and aval.dtype.char in _DTYPES and x in self._even

    def _sums(self) -> Sums:
        """Return the carries that rounds only add to, and that nothing else reads."""
        found: Sums = {}
        body = self._body
        for k, var in enumerate(self._carries):
            if var.aval.dtype.char not in _DTYPES or var.aval.size > _MOST_ELEMENTS:
                continue
            parts: list[tuple[Operand, bool]] = []
            x: Operand = var
            while x is not body.outputs[k] and len(self._users.get(x, [])) == 1 and x not in body.outputs:
                each = body.equations[self._users[x][0]]
                part = self._part(each, x)
                if part is None:
                    break
                parts.append(part)
                x = each.results[0]
            ends = x is body.outputs[k] and x not in self._users and list(body.outputs).count(x) == 1
            if parts and ends:
                found[k] = parts
        return found

    def _part(self, equation: Equation, x: Operand) -> tuple[Operand, bool] | None:
        """Return what an equation adds to ``x``, and whether it subtracts it."""
        if equation.primitive is add_p:
            a, b = equation.operands
            part = b if a is x else a
        elif equation.primitive is sub_p and equation.operands[0] is x:
            part = equation.operands[1]
        else:
            return None
        alike = part.aval.shape == x.aval.shape and part.aval.dtype == x.aval.dtype and not part.aval.weak
        own = type(part) is Var and part not in self.fixed and part is not x
        return (part, equation.primitive is sub_p) if alike and own else None

    def _summing(self, sums: Sums) -> set[int]:
        """Return the equations that add to the sums."""
        found: set[int] = set()
        for k, parts in sums.items():
            x: Operand = self._carries[k]
            for _ in parts:
                (i,) = self._users[x]
                found.add(i)
                x = self._body.equations[i].results[0]
        return found

    def _find_late(self, sums: Sums) -> None:
        """Find the equations that no later round reads. Leave those in the loop that take less time there."""
        body, outer = self._body, self._summing(sums)
        needed = {x for k, x in enumerate(body.outputs[: self._loop.carry]) if k not in sums}
        self.after = set()
        for i in reversed(range(len(body.equations))):
            each = body.equations[i]
            if i in self.once or i in self.before or i in outer or len(each.results) != 1:
                continue
            if (self._is_exact(each) or self._is_sum(each)) and not needed.intersection(each.results):
                users = self._users.get(each.results[0], ())
                if all(j in self.after or j in outer for j in users) and (users or each.results[0] in self._ys):
                    self.after.add(i)
        late = {body.equations[i].results[0] for i in self.after}
        readers = {x: sum(j in self.after or j in outer for j in found) for x, found in self._users.items()}
        for i in sorted(self.after):
            each = body.equations[i]
            own = {x for x in each.operands if self._is_inside(x, late)}
            if {x for x in each.operands if x in late}:
                continue
            freed = [x for x in own if readers[x] == list(each.operands).count(x) and x not in self._ys]
            if _cost(each) + _of(_STORE, each.results[0]) <= sum(_of(_STORE, x) for x in freed):
                self.after.remove(i)
                late.discard(each.results[0])
                for x in each.operands:
                    readers[x] -= 1

    def _is_inside(self, x: Operand, late: Collection[Operand]) -> bool:
        """Return whether a variable is made in the loop."""
        early = any(x in self._body.equations[i].results for i in self.before)
        return type(x) is Var and x not in self.fixed and x not in self._rows and x not in late and not early

    def _keep_early(self, sums: Sums) -> None:
        """Leave equations in the loop that take no more time there than reading their results."""
        summed = self._summing(sums)
        for i in sorted(self.before, reverse=True):
            each = self._body.equations[i]
            (x,) = each.results
            users = self._users.get(x, [])
            moved = self.before | self.after | summed
            if x in self._ys or not users or any(j in moved for j in users):
                continue
            read = sum(self._is_read_alone(y, i) for y in set(each.operands))
            if _cost(each) + read <= _of(_READ, x):
                self.before.remove(i)

    def _is_read_alone(self, x: Operand, i: int) -> bool:
        """Return whether the loop would read a row for one equation alone."""
        if type(x) is Literal or x in self.fixed:
            return False
        return not any(j != i and j not in self.before and j not in self.after for j in self._users[x])

    def _stored(self, sums: Sums) -> list[Operand]:
        """Return the values that the loop has to store for the equations after it."""
        body = self._body
        late = {body.equations[i].results[0] for i in self.after}
        read = [x for i in sorted(self.after) for x in body.equations[i].operands]
        read += [x for parts in sums.values() for x, _ in parts]
        return [x for x in dict.fromkeys(read) if self._is_inside(x, late) and x not in self._ys]

    def _gain(self, parts: list[tuple[Operand, bool]], stored: list[Operand], sums: Sums) -> float:
        """Return the time that a round saves if the parts of a sum are added up after the loop."""
        found = {x for x, _ in parts}
        others = {x for each in sums.values() if each is not parts for x, _ in each}
        others.update(x for i in self.after for x in self._body.equations[i].operands)
        alone = [x for x in found if x in stored and x not in others]
        return sum(_of(_OPERATION, x) for x, _ in parts) - sum(_of(_STORE, x) for x in alone)

    def _saved(self, sums: Sums, stored: list[Operand]) -> float:
        """Return the time that a round saves."""
        equations = self._body.equations
        outside = self.once | self.before | self.after | self._summing(sums)
        saved = sum(_cost(equations[i]) for i in outside)
        inside = [i for i in range(len(equations)) if i not in outside]
        read = {x for i in inside for x in equations[i].operands}
        rows = {x for x in self._rows if x in self._users}
        early = {equations[i].results[0] for i in self.before}
        saved += sum(_of(_READ, x) for x in rows - read) - sum(_of(_READ, x) for x in early & read)
        made = {equations[i].results[0] for i in self.before | self.after}
        saved += sum(_of(_STORE, x) for x in made & self._ys)
        return saved - sum(_of(_STORE, x) for x in stored)


def unchanged(loop: Loop) -> list[int]:
    """Return the carries that no round changes."""
    return [k for k in range(loop.carry) if loop.body.outputs[k] is loop.body.inputs[loop.constants + k]]


def _cost(equation: Equation) -> float:
    """Return the time of an equation in a round."""
    if equation.primitive is reduce_sum_p:
        return _SUM
    return _of(_OPERATION, equation.results[0])


def _of(times: tuple[float, float], x: Operand) -> float:
    return times[bool(x.aval.shape)]
