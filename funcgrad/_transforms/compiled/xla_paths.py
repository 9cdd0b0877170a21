"""``fg.jit(f, paths=n)`` on XLA: a program for each path, which returns the values that its guards ask.

The program that ran last runs first. If a guard's value gives another answer, its results are dropped, and the program
of the path with that answer runs. A path that must not run for other numbers (it prints, calls Python, or has a
`while_loop`, which might not end) is compiled in stretches instead: the next one runs when the guard's answer is known.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.bind import Tracer
from funcgrad._core.graph.ir import Graph
from funcgrad._core.graph.paths import Path, is_guard
from funcgrad._engines import is_abstract
from funcgrad._engines.engine import Engine
from funcgrad._engines.signature import MISS, Unknown
from funcgrad._ops.index.join import stack
from funcgrad._ops.program.guard import answer_to
from funcgrad._transforms.base.arguments import StaticArguments
from funcgrad._transforms.compiled.jitted import Jitted
from funcgrad._transforms.compiled.paths import Bound, PathsFunction, TypedPaths
from funcgrad._transforms.compiled.xla_function import XlaFunction
from funcgrad.tree import leaves, unflatten


class OtherTypesError(Exception):
    """The program of a path was called with arguments of other types."""


class _PathProgram(XlaFunction):
    """The program of one path. It takes no traced values."""

    def _instead(self, args: tuple, kwargs: dict) -> Callable[[tuple, dict], Any] | None:
        if any(isinstance(leaf, Tracer) for leaf in leaves((args, kwargs))):
            raise OtherTypesError
        return super()._instead(args, kwargs)


class XlaPaths(PathsFunction):
    """A function of which each path is compiled by ``jax.jit``.

    Nothing is donated: if the first program is not that of the arguments' path, another one reads them again.
    """

    def __init__(
        self,
        f: Callable[..., Any],
        static: StaticArguments,
        engine: Engine,
        donate_argnums: int | Sequence[int],
        paths: int,
        shardings: tuple[Any, Any] = (None, None),
    ) -> None:
        super().__init__(f, static, engine, donate_argnums, paths)
        self._shardings = shardings
        # The paths that ran last.
        self._recent: TypedPaths | None = None

    def _call_recent(self, args: tuple, kwargs: dict) -> Any:
        types = self._recent
        if types is None:
            return MISS
        try:
            return self._run_types(types, args, kwargs)
        except OtherTypesError:
            return MISS

    def _run(self, bound: Bound, args: tuple, kwargs: dict) -> Any:
        self._recent = bound.types
        try:
            return self._run_types(bound.types, args, kwargs)
        except OtherTypesError:
            return self._call_general(args, kwargs)

    def _run_types(self, types: TypedPaths, args: tuple, kwargs: dict) -> Any:
        """Run the tree of paths."""
        if types.must_wait:
            return self._run_stretches(types, args, kwargs)
        number = types.latest
        for _ in range(len(types.tree.paths) + 1):
            program = types.whole.get(number)
            if program is None:
                program = types.whole[number] = self._program(types, number)
            results, asked = program(*args, **kwargs)
            if any(map(is_abstract, asked if type(asked) is list else (asked,))):
                # JAX traces a function around this call.
                raise OtherTypesError
            path = types.tree.paths[number]
            if type(asked) is not list and tuple(np.asarray(asked).tolist()) == path.answers:
                types.latest = number
                return results
            answers = _answers(path, asked if type(asked) is list else np.asarray(asked))
            if answers == path.answers:
                types.latest = number
                return results
            found = self._leads_to(types, answers)
            if found is None:
                return Unknown(answers)
            number = found
        # The programs of different paths answer a guard differently, by rounding.
        return self._run_stretches(types, args, kwargs)

    def _program(self, types: TypedPaths, number: int) -> Jitted:
        """Return the program of one path: its results, and the values that its guards ask.

        Values that are all ``bool`` come as one array, which is one transfer from the device.
        """
        graph, path = types.tree.with_questions(number), types.tree.paths[number]
        count = len(path.graph.outputs)
        packed = len(graph.outputs) > count and all(
            x.aval.shape == () and x.aval.dtype == bool for x in graph.outputs[count:]
        )

        def evaluate(*args: Any, **kwargs: Any) -> tuple[Any, Sequence[Any]]:
            bound = self._bound(self._static.bind(args, kwargs))
            if bound.types is not types:
                raise OtherTypesError
            values = graph.evaluate(*bound.dynamic)
            results, asked = unflatten(path.tree, values[:count]), values[count:]
            return results, stack(asked, 0) if packed else asked

        evaluate = functools.wraps(self._function)(evaluate)
        static = StaticArguments(evaluate, self._static.numbers, self._static.names)
        asked, out = self._shardings
        program = _PathProgram(evaluate, static, self._engine, (), (asked, None if out is None else (out, None)))
        program.roll = self.roll
        return program

    def _run_stretches(self, types: TypedPaths, args: tuple, kwargs: dict) -> Any:
        """Run one stretch after the other."""
        bound = self._bound(self._static.bind(args, kwargs))
        if bound.types is not types or any(isinstance(x, Tracer) for x in bound.dynamic):
            raise OtherTypesError
        here = types.tree.root
        known: dict[Any, Any] = dict(zip(types.tree.inputs, bound.dynamic, strict=True))
        answers: list[Hashable] = []
        while here is not None:
            program = types.programs.get(here.graph)
            if program is None:
                program = types.programs[here.graph] = self._stretch(here.graph)
            values = program(*[known[var] for var in here.graph.inputs])
            if here.guard is None:
                return unflatten(types.tree.paths[here.number].tree, values)
            known.update(zip(here.given, values, strict=False))
            answers.append(answer_to(here.asked, values[-1]))
            here = here.ways.get(answers[-1])
        return Unknown(tuple(answers))

    def _stretch(self, graph: Graph) -> Jitted:
        def evaluate(*values: Any) -> list[Any]:
            return graph.evaluate(*values)

        evaluate.__name__ = evaluate.__qualname__ = graph.name
        program = XlaFunction(evaluate, StaticArguments(evaluate, (), ()), self._engine, ())
        program.roll = self.roll
        return program

    def clear_cache(self) -> None:
        super().clear_cache()
        self._recent = None

    def _with_donated(self, numbers: Sequence[int]) -> Jitted:
        return type(self)(self._function, self._static, self._engine, numbers, self._paths, self._shardings)


def _answers(path: Path, asked: Iterable[Any]) -> tuple[Hashable, ...]:
    """Return the answers up to the first that is another than the path's."""
    guards = [equation for equation in path.graph.equations if is_guard(equation)]
    for k, (guard, value, known) in enumerate(zip(guards, asked, path.answers, strict=True)):
        answer = answer_to(guard.params["asked"], value)
        if answer != known:
            return (*path.answers[:k], answer)
    return path.answers
