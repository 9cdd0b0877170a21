"""What ``fg.jit`` calls on XLA: a ``jax.jit`` of flat leaves, one for each structure of the arguments.

The leaves are taken apart before the call, by JAX's own registry. What a program hands through in 64 bits, as it does
the numbers of an optimizer's state, is then no result of it, and it lies on the device from the second call on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import Any

import numpy as np

from funcgrad._core.bind import is_foreign
from funcgrad._core.graph.ir import Graph
from funcgrad._engines.engine import Tracing
from funcgrad._engines.xla.apart import Numbers, OtherNumbersError, apart, is_lasting
from funcgrad._engines.xla.fits import with_fits, without_fits
from funcgrad.tree import TreeDef, unflatten

# A function of the leaves: the graph staged for their types, what its inputs are bound to, and the tree of its outputs.
Stage = Callable[[Sequence[Any]], tuple[Graph, Sequence[Any], TreeDef]]


class Program:
    """A function of flat leaves, compiled by ``jax.jit``.

    Args:
        stage: what stages the function.
        name: what JAX calls it.
        xla: the engine.
        order: in which the leaves are handed to JAX.
        donated: positions of the leaves whose memory the results may take.
        leaves: those of the first call.
        placed: how each leaf is to be spread over devices; empty where nothing is asked.
        out_shardings: the same for the result, a prefix of its tree.
    """

    __slots__ = (
        "_donated",
        "_held",
        "_kept",
        "_numbers",
        "_out_shardings",
        "_packed",
        "_put",
        "_stage",
        "_whole",
        "_without",
        "_xla",
    )

    def __init__(
        self,
        stage: Stage,
        name: str,
        xla: Tracing,
        order: Sequence[int],
        donated: Iterable[int],
        leaves: Sequence[Any],
        *,
        placed: Sequence[Any] = (),
        out_shardings: Any = None,
    ) -> None:
        self._stage = stage
        self._xla = xla
        self._packed = xla.Packed
        self._donated = frozenset(donated)
        self._put = [(i, sharding) for i, sharding in enumerate(placed) if sharding is not None]
        self._out_shardings = out_shardings
        # The leaves that are handed through without being results, and copies of them on the device.
        self._kept: tuple[int, ...] = ()
        self._held: dict[int, tuple[np.ndarray, Any]] = {}
        self._whole = self._compiled(self._evaluate, name, order)
        # What scalars are made of before the call, and the program that reads these in its place.
        self._numbers = self._numbers_of(leaves)
        if self._numbers is not None:
            self._without = self._compiled(self._evaluate_without, name, [i for i in order if i != self._numbers.place])

    def _compiled(self, evaluate: Callable[..., Any], name: str, order: Sequence[int]) -> tuple[Any, Any]:
        """A ``jax.jit`` of leaves in an order, and what puts them into it; ``None`` where they are in it."""
        count = len(order)
        places = [order.index(i) for i in sorted(order)]

        def evaluated(*given: Any) -> Any:
            return evaluate([given[k] for k in places], *given[count:])

        evaluated.__name__ = evaluated.__qualname__ = name
        donated = sorted(order.index(i) for i in self._donated)
        jitted = self._xla.compile_function(evaluated, donate_argnums=tuple(donated))
        return jitted, None if list(order) == list(range(count)) else itemgetter(*order)

    def __call__(self, leaves: Sequence[Any], wide_last: bool) -> Any:
        """What it computes, which `results` makes the caller's; ``wide_last`` outside of the engine's scope."""
        if self._put:
            leaves = list(leaves)
            for i, sharding in self._put:
                leaves[i] = self._xla.put(leaves[i], sharding)
        if not wide_last:
            numbers = self._numbers
            if numbers is not None and (scalars := numbers.of(leaves[numbers.place])) is not None:
                jitted, picked = self._without
                try:
                    return jitted(*picked(leaves), *scalars)
                except OtherNumbersError:
                    self._numbers = None
            if self._kept:
                leaves = self._placed(leaves)
        jitted, picked = self._whole
        return jitted(*(leaves if picked is None else picked(leaves)))

    def results(self, out: Any, leaves: Sequence[Any], wide_last: bool) -> Any:
        """The result of a call with these leaves."""
        if type(out) is not self._packed:
            return out
        plan, values = out
        if plan.is_short and not wide_last:
            return plan.rebuild(plan.chosen([*values, *leaves]))
        return plan.results(values, leaves, wide_last, self._xla)

    def _placed(self, leaves: Sequence[Any]) -> list[Any]:
        """The leaves, NumPy's that nobody can write to as their copies on the device: 5 us less for each call."""
        placed = list(leaves)
        for i in self._kept:
            x = placed[i]
            if is_lasting(x):
                held = self._held.get(i)
                if held is None or held[0] is not x:
                    held = self._held[i] = x, self._xla.as_arrays([x])[0]
                placed[i] = held[1]
        return placed

    def _numbers_of(self, leaves: Sequence[Any]) -> Numbers | None:
        """What is computed before the call, of a leaf that nobody can write to and that is handed through."""
        is_wide = self._xla.is_wide
        places = [i for i, x in enumerate(leaves) if is_lasting(x) and is_wide(x.dtype) and i not in self._donated]
        if not places or len(leaves) < 3:
            return None
        graph, operands, _ = self._stage(leaves)
        wider, _ = with_fits(graph)
        inputs = {id(y): x for x, y in zip(graph.inputs, operands, strict=True)}
        for i in places:
            x = inputs.get(id(leaves[i]))
            parts = apart(wider, x) if x in graph.outputs else None
            if parts is not None:
                return Numbers(parts.first, i, leaves[i], self._xla)
        return None

    def _evaluate_without(self, leaves: list[Any], *scalars: Any) -> Any:
        """Run by JAX on its tracers: all leaves but one, and the scalars that were made of that."""
        numbers = self._numbers
        if numbers is None:
            # Another thread met other types.
            raise OtherNumbersError
        leaves.insert(numbers.place, numbers.vector)
        return self._evaluate(leaves, numbers, scalars)

    def _evaluate(self, leaves: Sequence[Any], numbers: Numbers | None = None, scalars: Sequence[Any] = ()) -> Any:
        """Run by JAX on its tracers, when it meets new types.

        The results as they are; where some are wide, with the plan of what the caller gets in their place.
        """
        graph, operands, out_tree = self._stage(leaves)
        wider, fits = with_fits(graph)
        if numbers is None:
            results = wider.evaluate(*operands)
        else:
            k = next(k for k, x in enumerate(operands) if x is numbers.vector)
            rest = numbers.rest_of(wider, wider.inputs[k])
            results = rest.evaluate(*operands[:k], *operands[k + 1 :], *scalars)
        if self._out_shardings is not None:
            asked = self._xla.spread_over(self._out_shardings, unflatten(out_tree, range(len(graph.outputs))))
            results = [*self._xla.laid_out(results[: len(asked)], asked), *results[len(asked) :]]
        wide = [j for j, x in enumerate(graph.outputs) if self._xla.is_wide(x.aval.dtype)]
        if not wide and not fits:
            return unflatten(out_tree, results)
        positions = {id(x): i for i, x in enumerate(leaves)}
        inputs: dict[Any, Any] = {x: positions.get(id(y)) for x, y in zip(graph.inputs, operands, strict=True)}
        places = [(j, inputs.get(graph.outputs[j])) for j in wide]
        handed = {j: i for j, i in places if i is not None and i not in self._donated}
        self._kept = tuple(dict.fromkeys(handed.values()))
        plan = Plan(handed, [x for x in places if x[0] not in handed], self._xla.rebuild(out_tree), fits, len(results))
        return self._xla.Packed((plan, [y for j, y in enumerate(results) if j not in handed]))


class Plan:
    """What the caller of a program gets where results are of 64 bits, decided once, when it is compiled.

    Outside JAX's 64-bit mode such a result is a NumPy array, and an argument handed through is the object that it was.

    Args:
        handed: for each result that is an argument, and not computed, the position of that.
        wide: the positions of other results and of the arguments that they are, if any: donated ones.
        rebuild: what makes the result of its leaves.
        fits: the dtypes for which further results must have room.
        count: how many results there are, without those.
    """

    __slots__ = ("_fits", "_handed", "_wide", "chosen", "is_short", "rebuild")

    def __init__(
        self,
        handed: dict[int, int],
        wide: Sequence[tuple[int, int | None]],
        rebuild: Callable[[Any], Any],
        fits: Sequence[Any],
        count: int,
    ) -> None:
        self._handed = sorted(handed.items())
        self._wide = wide
        self.rebuild = rebuild
        self._fits = fits
        # Outside of the mode, where nothing is left to do but to choose: the leaves of the result, among the values
        # that were computed and then the arguments.
        self.is_short = len(handed) > 0 and count > 1 and not wide and not fits
        computed = iter(range(count))
        places = [handed[j] + count - len(handed) if j in handed else next(computed) for j in range(count)]
        self.chosen = itemgetter(*places) if self.is_short else None

    def results(self, values: Sequence[Any], leaves: Sequence[Any], wide_last: bool, xla: Tracing) -> Any:
        """The result of a call with these leaves, in a mode in which 64-bit arrays last or do not."""
        found = without_fits(values, self._fits) if self._fits else list(values)
        for j, i in self._handed:
            found.insert(j, xla.as_result(leaves[i]) if wide_last else leaves[i])
        if self._wide and not wide_last:
            for j, i in self._wide:
                found[j] = xla.lasting(found[j]) if i is None or _has_ended(leaves[i]) else leaves[i]
        return self.rebuild(found)


def _has_ended(x: Any) -> bool:
    """Whether an argument was donated, and its memory taken."""
    return is_foreign(x) and x.is_deleted()


def spans(tree: Any) -> tuple[list[range], range]:
    """The positions of the leaves of each positional argument, and of those by name, in JAX's tree of both."""
    args, _ = tree.children()
    ends = [0, *accumulate(part.num_leaves for part in args.children())]
    return [range(a, b) for a, b in pairwise(ends)], range(ends[-1], tree.num_leaves)
