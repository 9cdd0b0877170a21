"""Lower sums of pieces: gradients of what is read by index, `zeros; zeros[i, :j] += a; zeros[:j, j] += b`.

A piece is added as soon as it is known, so that it need not be kept. A sum that is added to another array is added
piece by piece to that array, which reads and writes the elements of the pieces alone.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.forms import Basic
from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand
from funcgrad._core.graph.pieces import VIEWS, are_apart, is_plain
from funcgrad._engines.source.kernels.equations import indexed, lowered
from funcgrad._engines.source.kernels.instructions.empty import has_empty, lowered_empty
from funcgrad._engines.source.kernels.lowering import Lowering, number
from funcgrad._engines.source.kernels.nodes import KernelMemory, Step, StridedView


class Uses:
    """The readers of each variable of a program.

    Args:
        graph: the program.
    """

    def __init__(self, graph: Graph) -> None:
        equations, end = graph.equations, len(graph.equations)
        self._end = end
        self.count = Counter([*graph.outputs, *[x for equation in equations for x in equation.operands]])
        # The number of the last equation that reads a variable.
        self.last: dict[Any, int] = {x: i for i, equation in enumerate(equations) for x in equation.operands}
        self.last |= dict.fromkeys(graph.outputs, end)
        # The same, with the equations that read views of it.
        self._last_view = dict(self.last)
        # The number of the equation that returns an array with other values in some places.
        self._overwritten: dict[Any, int] = {}
        for i in range(end - 1, -1, -1):
            equation = equations[i]
            if equation.primitive.forms.basic in VIEWS:
                x, y = equation.operands[0], equation.results[0]
                self._last_view[x] = max(self._last_view[x], self._last_view.get(y, i))
            elif equation.primitive.forms.basic is Basic.WRITE:
                self._overwritten[equation.operands[0]] = i
        # The array that each view shows.
        self._base: dict[Any, Any] = {}

    def outlived(self, view: Equation) -> Operand | None:
        """Return the array of which a view shows a part, if the view is read after the array is written to."""
        (result,), x = view.results, view.operands[0]
        if len(view.operands) > 1:
            return None
        base = self._base[result] = self._base.get(x, x)
        later = self._last_view.get(result, -1) > self._overwritten.get(base, self._end)
        return base if later and 0 < result.aval.size < base.aval.size else None


class Sums:
    """Lowers the equations of a stretch, sums of pieces among them.

    Args:
        w: collects the steps.
        uses: the readers of each variable of the program.
        known: the constants of the program.
        hold: returns a known array as memory of the kernel.
    """

    def __init__(
        self, w: Lowering, uses: Uses, known: dict[Any, Any], hold: Callable[[np.ndarray], StridedView]
    ) -> None:
        self._w = w
        self._uses = uses
        self._known = known
        self._hold = hold
        # Sums that are lowered when they are read.
        self._waiting: dict[Operand, Equation] = {}
        # The arrays without negative zeros. To add 0.0 to their elements changes nothing.
        self._plain: set[Operand] = set()
        # The number of steps after each variable was made, and steps that are inserted at such a number.
        self._made: dict[Operand, int] = {}
        self._early: list[tuple[int, Step]] = []
        # For each array that will be written to, copies of its views.
        self._copies: dict[Operand, list[tuple[Operand, StridedView]]] = {}

    def lower(self, equation: Equation) -> bool:
        """Add the steps of an equation; return whether it has a form.

        The sums that it reads are lowered in either case: they are members of the stretch.
        """
        basic, (result, *_) = equation.primitive.forms.basic, equation.results
        if basic is Basic.SCATTER and (pieces := self._at_known_places(equation)):
            done = self._read(equation) and self._joined(equation, pieces)
        elif has_empty(equation):
            done = self._read(equation) and self._whole(lowered_empty, equation)
        elif basic is Basic.SCATTER and self._can_wait(equation):
            self._waiting[result] = equation
            done = True
        elif equation.primitive.numpy is np.add and self._added(equation):
            done = True
        else:
            done = self._read(equation) and self._whole(lowered, equation)
        if basic in VIEWS and done:
            self._keep(equation)
        elif basic is Basic.WRITE:
            # Views of the array as it was are read from copies from now on.
            self._w.known.update(self._copies.pop(equation.operands[0], ()))
        if done:
            self._made.update(dict.fromkeys(equation.results, len(self._w.steps)))
            if is_plain(equation, self._has_plain):
                self._plain.add(result)
        return done

    def _whole(self, lower: Callable[[Lowering, Equation], bool], equation: Equation) -> bool:
        """Add all steps of an equation, or none if a part of it has no form."""
        start = len(self._w.steps)
        if lower(self._w, equation):
            return True
        del self._w.steps[start:]
        return False

    def steps(self) -> list[Step]:
        """Return all steps in their order."""
        for equation in list(self._waiting.values()):
            self._sum(equation)
        found: list[Step] = []
        start = 0
        for place, step in sorted(self._early, key=lambda each: each[0]):
            found += self._w.steps[start:place]
            found.append(step)
            start = place
        return [*found, *self._w.steps[start:]]

    def _keep(self, view: Equation) -> None:
        """Copy a view that is read after its array is written to, so that the write needs no copy of the array."""
        (result,), base = view.results, self._uses.outlived(view)
        found = self._w.known[result]
        if base is not None and isinstance(found, StridedView):
            copy = self._w.applied("{}", [found], found.shape, found.dtype)
            self._copies.setdefault(base, []).append((result, copy))

    def _at_known_places(self, equation: Equation) -> list[tuple[Operand, np.ndarray]]:
        """Return floats and where they are added to a vector, if all are added at constant index arrays."""
        (result,), rest = equation.results, iter(equation.operands)
        if len(result.aval.shape) != 1 or result.aval.dtype.kind != "f":
            return []
        pieces: list[tuple[Operand, np.ndarray]] = []
        for index in equation.params["indices"]:
            x, arrays = next(rest), [self._known.get(next(rest)) for _ in range(index.slots)]
            ids = arrays[0] if len(index.entries) == len(arrays) == 1 else None
            if type(ids) is not np.ndarray or ids.shape != x.aval.shape or x.aval.dtype != result.aval.dtype:
                return []
            pieces.append((x, ids))
        known = [ids for _, ids in pieces]
        # Joined, signed and unsigned integers may become floats.
        may_join = len(known) > 1 and np.result_type(*{ids.dtype for ids in known}).kind in "iu"
        return pieces if may_join and any(ids.size for ids in known) else []

    def _joined(self, equation: Equation, pieces: list[tuple[Operand, np.ndarray]]) -> bool:
        """Lower a sum of vectors at index arrays as the sum of one vector, which holds all of them."""
        (result,), w = equation.results, self._w
        ids = np.concatenate([ids for _, ids in pieces])
        whole, start = KernelMemory(result.aval.dtype, ids.shape).whole(), 0
        for x, of_piece in pieces:
            end = start + of_piece.size
            if end > start:
                value = w.access(x, result.aval.dtype)
                assert value is not None
                w.written(whole._replace(offset=start, shape=(end - start,)), "{}", value)
            start = end
        return w.set(equation, w.added(whole, [self._hold(ids)], result.aval.shape))

    def _can_wait(self, equation: Equation) -> bool:
        (result,) = equation.results
        return (
            not any(index.slots for index in equation.params["indices"])
            and result.aval.dtype.kind == "f"
            and len(result.aval.shape) > 0
            and all(x.aval.dtype == result.aval.dtype for x in equation.operands)
        )

    def _read(self, equation: Equation) -> bool:
        """Lower the sums that an equation reads."""
        return all(self._sum(self._waiting[x]) for x in equation.operands if x in self._waiting)

    def _sum(self, equation: Equation) -> bool:
        """Lower a sum, whose pieces are added as soon as they are made."""
        (result,), w = equation.results, self._w
        self._waiting.pop(result, None)
        self._read(equation)
        # The order of the additions is that of the pieces, so a piece waits for those before it.
        places = list(itertools.accumulate([self._made.get(x, 0) for x in equation.operands], max))
        if has_empty(equation) or len(places) < 2:
            done = lowered_empty(w, equation) if has_empty(equation) else lowered(w, equation)
            # It waited until now. A sum that it is a piece of must not read it earlier.
            self._made[result] = len(w.steps)
            return done
        zero = number(0, result.aval.dtype)
        assert zero is not None
        made = self._at(places[0], lambda: w.applied("{}", [zero], result.aval.shape, result.aval.dtype))
        for place, x, index in zip(places, equation.operands, equation.params["indices"], strict=True):
            self._at(place, lambda x=x, index=index: self._add(made, index, x))
        self._made[result] = places[-1]
        return w.set(equation, made)

    def _at(self, place: int, add: Any) -> Any:
        """Insert the steps that a function adds at an earlier place; return what it returns."""
        w = self._w
        around, w.steps = w.steps, []
        found = add()
        self._early += [(place, step) for step in w.steps]
        w.steps = around
        return found

    def _add(self, made: StridedView, index: Any, x: Operand) -> None:
        value = self._w.access(x, made.dtype)
        assert value is not None
        self._w.written(indexed(made, index), "{} + {}", value)

    def _added(self, equation: Equation) -> bool:
        """Lower the sum of an array and of pieces that do not overlap as additions of the pieces."""
        (result,) = equation.results
        pairs = [(x, y) for x, y in (equation.operands, equation.operands[::-1]) if y in self._waiting and x is not y]
        for x, y in pairs:
            pieces = self._waiting[y]
            if (
                self._uses.count[y] > 1
                or x not in self._plain
                or x.aval.shape != result.aval.shape
                or not are_apart(pieces)
            ):
                continue
            del self._waiting[y]
            self._read(pieces)
            if x in self._waiting:
                self._sum(self._waiting[x])
            base = self._w.access(x)
            assert base is not None
            made = self._w.applied("{}", [base], result.aval.shape, result.aval.dtype)
            for piece, index in zip(pieces.operands, pieces.params["indices"], strict=True):
                if piece.aval.size:
                    self._add(made, index, piece)
            return self._w.set(equation, made)
        return False

    def _has_plain(self, x: Operand) -> bool:
        if type(x) is Literal:
            return bool(np.all(np.copysign(1.0, np.asarray(x.value)) > 0)) if np.isrealobj(x.value) else False
        return x in self._plain
