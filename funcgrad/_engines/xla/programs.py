"""The functions that ``fg.jit`` calls on XLA: a ``jax.jit`` of flat leaves for each structure of the arguments.

JAX's own registry flattens the arguments before the call. A 64-bit argument that is returned unchanged, such as the
numbers of an optimizer's state, is no result of the compiled program. It stays on the device from the second call on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import Any

import numpy as np

from funcgrad._core.bind import is_engine_value
from funcgrad._core.graph.ir import Graph, Var
from funcgrad._engines.engine import Tracing
from funcgrad._engines.xla.checks import checked, with_checks
from funcgrad._engines.xla.in_place import with_writes_in_place
from funcgrad._engines.xla.scalars import OtherScalarsError, Scalars, is_lasting, split_scalars
from funcgrad._types import Value
from funcgrad.tree import TreeDef, unflatten

# A function of the leaves. It returns the graph staged for their types, the values of its inputs, and the output tree.
Stage = Callable[[Sequence[Any]], tuple[Graph, Sequence[Any], TreeDef]]


class LongProgramError(Exception):
    """A program is compiled in stretches, or without fusion, and not by ``jax.jit`` of the function."""


def _refuse(*leaves: Any) -> Any:
    del leaves
    raise LongProgramError


class XlaProgram:
    """A function of flat leaves, compiled by ``jax.jit``.

    Args:
        stage: stages the function.
        name: the name that JAX shows.
        xla: the engine.
        order: the order in which the leaves are passed to JAX.
        donated: positions of the leaves whose memory the results may use.
        leaves: the leaves of the first call.
        placed: the sharding of each leaf; empty if none is given.
        out_shardings: the sharding of the result, a prefix of its tree.
    """

    __slots__ = (
        "_donated",
        "_held",
        "_kept",
        "_numbers",
        "_out_shardings",
        "_packed",
        "_put",
        "_returns_early",
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
        self._packed = xla.PackedResults
        self._donated = frozenset(donated)
        self._put = [(i, sharding) for i, sharding in enumerate(placed) if sharding is not None]
        self._out_shardings = out_shardings
        # The leaves that are returned unchanged and are no results, and copies of them on the device.
        self._kept: tuple[int, ...] = ()
        # Whether a result stays on the device, as far as is known before the first call.
        self._returns_early = True
        self._held: dict[int, tuple[np.ndarray, Any]] = {}
        self._whole = self._compiled(self._evaluate, name, order)
        # The scalars that are computed before the call, and the program that reads them instead of their vector.
        self._numbers = self._numbers_of(leaves)
        if self._numbers is not None:
            self._without = self._compiled(self._evaluate_without, name, [i for i in order if i != self._numbers.place])

    def _compiled(self, evaluate: Callable[..., Any], name: str, order: Sequence[int]) -> tuple[Any, Any]:
        """Return a ``jax.jit`` of the leaves in an order, and a function that puts them in this order.

        ``None`` if they are.
        """
        count = len(order)
        places = [order.index(i) for i in sorted(order)]

        def evaluated(*given: Any) -> Any:
            return evaluate([given[k] for k in places], *given[count:])

        evaluated.__name__ = evaluated.__qualname__ = name
        donated = sorted(order.index(i) for i in self._donated)
        jitted = self._xla.compile_function(evaluated, donate_argnums=tuple(donated))
        return jitted, None if list(order) == list(range(count)) else itemgetter(*order)

    def __call__(self, leaves: Sequence[Any], wide_last: bool) -> Any:
        """Run the program.

        `results` converts what it returns. ``wide_last`` says whether 64-bit arrays keep their bits.
        """
        if self._put:
            leaves = list(leaves)
            for i, sharding in self._put:
                leaves[i] = self._xla.put(leaves[i], sharding)
        if not wide_last:
            numbers = self._numbers
            if numbers is not None and (scalars := numbers.of(leaves[numbers.place])) is not None:
                jitted, picked = self._without
                try:
                    return jitted(*self._separate(picked(leaves), wide_last), *scalars)
                except OtherScalarsError:
                    self._numbers = None
            if self._kept:
                leaves = self._placed(leaves)
        jitted, picked = self._whole
        return jitted(*self._separate(leaves if picked is None else picked(leaves), wide_last))

    def _separate(self, leaves: Sequence[Any], wide_last: bool) -> Sequence[Any]:
        """Return the leaves with copies of NumPy arrays, if the call may return before the program has read them.

        JAX's CPU backend reads aligned arrays where they are, and its calls return at once. So a later write to an
        array would change the result. A result of 64 bits is waited for where it becomes a NumPy array.
        """
        if np.ndarray not in map(type, leaves) or not (wide_last or self._returns_early):
            return leaves
        return [x.copy() if type(x) is np.ndarray and x.flags.writeable and x.shape else x for x in leaves]

    def results(self, out: Any, leaves: Sequence[Any], wide_last: bool) -> Any:
        """Return the result of a call with these leaves."""
        if type(out) is not self._packed:
            return out
        plan, values = out
        if plan.is_short and not wide_last:
            return plan.rebuild(plan.chosen([*values, *leaves]))
        return plan.results(values, leaves, wide_last, self._xla)

    def _placed(self, leaves: Sequence[Any]) -> list[Any]:
        """Return the leaves, with read-only NumPy leaves replaced by their copies on the device: 5 us less per call."""
        placed = list(leaves)
        for i in self._kept:
            x = placed[i]
            if is_lasting(x):
                held = self._held.get(i)
                if held is None or held[0] is not x:
                    held = self._held[i] = x, self._xla.as_arrays([x])[0]
                placed[i] = held[1]
        return placed

    def _numbers_of(self, leaves: Sequence[Any]) -> Scalars | None:
        """Return the scalars to compute before the call, from a read-only leaf that the function returns unchanged."""
        is_wide = self._xla.is_wide
        places = [i for i, x in enumerate(leaves) if is_lasting(x) and is_wide(x.dtype) and i not in self._donated]
        if not places or len(leaves) < 3:
            return None
        graph, operands, _ = self._stage(leaves)
        wider, _ = with_checks(graph)
        inputs = {id(y): x for x, y in zip(graph.inputs, operands, strict=True)}
        for i in places:
            x = inputs.get(id(leaves[i]))
            parts = split_scalars(wider, x) if x in graph.outputs else None
            if parts is not None:
                return Scalars(parts.first, i, leaves[i], self._xla)
        return None

    def _evaluate_without(self, leaves: list[Any], *scalars: Any) -> Any:
        """Run by JAX on its tracers: all leaves but one, and the scalars made of that one."""
        numbers = self._numbers
        if numbers is None:
            # Another thread met other types.
            raise OtherScalarsError
        leaves.insert(numbers.place, numbers.vector)
        return self._evaluate(leaves, numbers, scalars)

    def _evaluate(self, leaves: Sequence[Any], numbers: Scalars | None = None, scalars: Sequence[Any] = ()) -> Any:
        """Run by JAX on its tracers for each new combination of types.

        It returns the results; if some have 64 bits, the computed ones and the plan to make the caller's results from
        them.
        """
        graph, operands, out_tree = self._stage(leaves)
        if self._xla.is_long(graph) and not self._put and self._out_shardings is None:
            # Later calls refuse at once, before JAX traces.
            self._whole, self._numbers = (_refuse, None), None
            raise LongProgramError
        wider, checks = with_checks(with_writes_in_place(graph))
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
        positions = {id(x): i for i, x in enumerate(leaves)}
        inputs: dict[Any, Any] = {x: positions.get(id(y)) for x, y in zip(graph.inputs, operands, strict=True)}
        places = {j: inputs.get(x) for j, x in enumerate(graph.outputs) if type(x) is Var}
        is_laid_out = self._out_shardings is not None or bool(self._put)
        unchanged = {
            j: i
            for j, i in places.items()
            if i is not None and i not in self._donated and (j in wide or not is_laid_out)
        }
        self._returns_early = not set(range(len(results))) <= {*wide, *unchanged}
        if not wide and not checks and not unchanged and self._xla.jaxs_tree(out_tree) is not None:
            return unflatten(out_tree, results)
        self._kept = tuple(dict.fromkeys(unchanged.values()))
        rest = [(j, places.get(j)) for j in wide if j not in unchanged]
        plan = ResultPlan(unchanged, rest, self._xla.rebuild(out_tree), checks, len(results))
        return self._xla.PackedResults((plan, [y for j, y in enumerate(results) if j not in unchanged]))


class ResultPlan:
    """The plan to make the caller's result from JAX's. It is made when the program is compiled, if one is needed.

    Outside JAX's 64-bit mode a result of 64 bits becomes a NumPy array. An argument that is returned unchanged is the
    same object that the caller passed: JAX's array would use the memory of a NumPy array, and change with it.

    Args:
        unchanged: for each result that is an unchanged argument, the position of the argument.
        wide: the positions of the other 64-bit results, each with the position of the donated argument that it is, if
        any.
        rebuild: builds the result from its leaves.
        checks: the conditions on the further results.
        count: the number of results, without the further ones.
    """

    __slots__ = ("_checks", "_unchanged", "_wide", "chosen", "is_short", "rebuild")

    def __init__(
        self,
        unchanged: dict[int, int],
        wide: Sequence[tuple[int, int | None]],
        rebuild: Callable[[Any], Any],
        checks: Sequence[Any],
        count: int,
    ) -> None:
        self._unchanged = sorted(unchanged.items())
        self._wide = wide
        self.rebuild = rebuild
        self._checks = checks
        # The short path, outside the 64-bit mode: pick the result's leaves from the computed values and the arguments.
        self.is_short = count > 1 and not wide and not checks
        computed = iter(range(count))
        places = [unchanged[j] + count - len(unchanged) if j in unchanged else next(computed) for j in range(count)]
        self.chosen = itemgetter(*places) if self.is_short else None

    def results(self, values: Sequence[Any], leaves: Sequence[Any], wide_last: bool, xla: Tracing) -> Any:
        """Return the result of a call with these leaves; ``wide_last`` says whether 64-bit arrays keep their bits."""
        found = checked(values, self._checks) if self._checks else list(values)
        for j, i in self._unchanged:
            found.insert(j, xla.as_result(leaves[i]) if wide_last else leaves[i])
        if self._wide and not wide_last:
            for j, i in self._wide:
                found[j] = xla.lasting(found[j]) if i is None or _has_ended(leaves[i]) else leaves[i]
        return self.rebuild(found)


def _has_ended(x: Value) -> bool:
    """Return whether an argument was donated and its memory was used."""
    return is_engine_value(x) and x.is_deleted()


def spans(tree: Any) -> tuple[list[range], dict[str, range]]:
    """Return the positions of the leaves of each positional argument and of each keyword argument in JAX's tree."""
    args, named = tree.children()
    parts = [*args.children(), *named.children()]
    ends = [0, *accumulate(part.num_leaves for part in parts)]
    ranges = [range(a, b) for a, b in pairwise(ends)]
    count = len(args.children())
    return ranges[:count], dict(zip(named.node_data()[1], ranges[count:], strict=True))
