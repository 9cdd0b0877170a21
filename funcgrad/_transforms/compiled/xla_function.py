"""Functions that ``jax.jit`` compiles: the class behind ``fg.jit`` on XLA.

A call goes through ``jax.jit``, and our Python code runs only on a cache miss, when JAX traces. The function then runs
on abstract values of all array arguments, because JAX's tracers would refuse NumPy's functions. The graph is evaluated
on JAX's tracers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.bind import Tracer, active_trace, onlookers
from funcgrad._core.graph.ir import Graph
from funcgrad._core.tracebacks import fold, folded, let_out
from funcgrad._engines.engine import Engine, Tracing
from funcgrad._engines.signature import MISS
from funcgrad._engines.xla.extend import (
    LongProgramError,
    Order,
    XlaProgram,
    donation_order,
    reordered,
    restored,
    spans,
)
from funcgrad._transforms.base.arguments import StaticArguments, argument_name, name_of, taken
from funcgrad._transforms.base.shape_dtype import ShapeDtype, is_array_argument
from funcgrad._transforms.base.stage import abstract, is_stageable
from funcgrad._transforms.compiled.jitted import Jitted
from funcgrad._transforms.compiled.size import warn_if_large
from funcgrad._transforms.compiled.widened import noted_widening, warn_if_widened
from funcgrad._types import Array, Value
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy.extend import arrays_of, is_foreign_array, is_object_array
from funcgrad.tree import TreeDef, flatten, flatten_with_path, key_path_str, leaves, structure, unflatten
from funcgrad.tree import map as map_tree
from funcgrad.tree.extend import static_test

_MATRIX: Any = np.matrix

Test = Callable[[Any], bool]


class ClosedOverTracerError(Exception):
    """Staging met a tracer of a running transform in the function's closure."""


class ArraysUnknownError(Exception):
    """A program that depends on which arguments without axes are arrays was staged for arguments of either kind."""


class XlaFunction(Jitted):
    """A function compiled by ``jax.jit``. `Tracing` has the names of the engine that it uses."""

    def __init__(
        self,
        f: Callable[..., Any],
        static: StaticArguments,
        engine: Engine,
        donate_argnums: int | Sequence[int],
        shardings: tuple[Any, Any] = (None, None),
    ) -> None:
        super().__init__(f, static, engine, donate_argnums)
        # The shardings of arguments and of results.
        self._shardings = shardings
        assert engine.tracing is not None
        self._tracing: Tracing = engine.tracing
        self._fixed = bool(static.numbers or static.names)
        # The programs, by JAX's structure of the arguments and by the static values. JAX's structures are equal also if
        # dicts have another order or static fields another type. So each program has the test of the arguments.
        self._programs: dict[Any, list[tuple[XlaProgram, Test | None]]] = {}
        # The last program, its test, and the structure that it serves: comparing takes a third of a lookup's time.
        self._last: tuple[Any, XlaProgram | None, Test | None] = None, None, None
        self._names: Any = None
        self._warned = self._warned_wide = False

    # All steps are in this one function: each further call would take a tenth of the time.
    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: C901, PLR0912  (see above)
        around = active_trace()
        try:
            if onlookers and (y := self._call_looked_at(args, kwargs)) is not MISS:
                return y
            flatten, enter, leave, wide = self._names or self._looked_up()
            bound = self._static.bind(args, kwargs) if self._fixed else None
            dynamic = bound[1:3] if bound else (args, kwargs)
            found, in_tree = flatten(dynamic)
            if _MATRIX in map(type, args):
                # JAX accepts this subclass of ndarray, alone of all, as an array.
                raise TypeError("numpy.matrix")
            before = enter()
            try:
                last_tree, program, test = self._last
                if (
                    program is None
                    or bound is not None
                    or self._tells_arrays
                    or in_tree != last_tree
                    or (test is not None and not test(dynamic))
                ):
                    program = self._program(bound, args, kwargs, found, in_tree)
                out = program(found, before is wide)
            finally:
                leave(before)
        except ClosedOverTracerError:
            instead = self._call_general
        except ArraysUnknownError:
            instead = self._call_on_numbers
        except LongProgramError:
            instead = self._call_long
        except (TypeError, ValueError, UnsupportedFunctionError) as error:
            instead = self._instead(args, kwargs)
            if instead is None:
                ours = self._in_our_words(args, kwargs)
                fold(ours or error)
                if ours is None:
                    raise
                raise ours from None
        except BaseException as error:
            if isinstance(error, SystemError | RecursionError):
                # The pytree may be endless. JAX's error does not say so, and ours names it.
                leaves((args, kwargs))
            let_out(error, around)
            raise
        else:
            if self._began is not None:
                self._log_compiled()
            return program.results(out, found, before is wide)
        try:
            return instead(args, kwargs)
        except BaseException as error:
            let_out(error, around)
            raise

    def _looked_up(self) -> tuple[Any, ...]:
        """Return the engine's functions for a call. The engine is loaded at the first call."""
        xla = self._tracing
        self._names = xla.flatten, xla.enter, xla.leave, xla.WIDE_LAST
        return self._names

    def _instead(self, args: tuple, kwargs: dict) -> Callable[[tuple, dict], Any] | None:
        """Return another way to call with arguments that JAX refused; ``None`` if JAX is right.

        JAX refuses our tracers. So calls without tracers need no check of each argument.
        """
        found = leaves((args, kwargs))
        if any(map(is_foreign_array, found)) or any(map(is_object_array, found)):
            return self._call_on_numbers
        return self._call_general if any(isinstance(leaf, Tracer) for leaf in found) else None

    def _call_long(self, args: tuple, kwargs: dict) -> Any:
        """Run a program that is compiled in stretches."""
        y = self._call_general(args, kwargs)
        if self._began is not None:
            self._log_compiled()
        return y

    def _call_on_numbers(self, args: tuple, kwargs: dict) -> Any:
        """Convert foreign arrays to arrays of numbers, or refuse them in our words.

        JAX's error would not explain them.
        """
        args, kwargs = map_tree(_as_numbers, (args, kwargs))
        return self(*args, **kwargs)

    def _program(
        self, bound: tuple | None, args: tuple, kwargs: dict, found: Sequence[Any], in_tree: Any
    ) -> XlaProgram:
        """Return the program for arguments of this structure, with these leaves; make it if it is new."""
        bound = bound or self._static.bind(args, kwargs)
        static = bound[3]
        key = in_tree, static and static.key, arrays_of(found) if self._tells_arrays else None
        for program, test in self._programs.get(key, ()):
            if test is None or test(bound[1:3]):
                self._last = in_tree, program, test
                return program
        program, test = self._made(bound, args, kwargs, found, in_tree)
        self._programs.setdefault(key, []).append((program, test))
        self._last = in_tree, program, test
        return program

    def _made(
        self, bound: tuple, args: tuple, kwargs: dict, found: Sequence[Any], in_tree: Any
    ) -> tuple[XlaProgram, Test | None]:
        """Make the program for arguments of this structure, with these leaves, and the test of the arguments."""
        function, _, _, static = bound
        own_tree = structure(bound[1:3])
        arrays, are_known = arrays_of(found), self._tells_arrays

        def stage(tracers: Sequence[Any]) -> tuple[Graph, Sequence[Any], TreeDef]:
            given, named = unflatten(own_tree, tracers)
            of_arrays = {id(tracers[i]) for i in arrays}
            with noted_widening(() if self._warned_wide else found) as lines:
                bound = self._stage_bound(function, given, named, static, lambda leaf: id(leaf) in of_arrays)
                staged = self._own(*bound)
            if self._tells_arrays and not are_known:
                raise ArraysUnknownError
            name = name_of(self._function)
            self._warned = self._warned or warn_if_large(staged[0], name)
            self._warned_wide = self._warned_wide or warn_if_widened(staged[0], name, lines)
            return staged

        order, unchanged = self._donation(args, kwargs)
        of_args, of_names = spans(in_tree)
        donated = [i for k in self._static.dynamic(self._donated, len(args)) for i in of_args[k]]
        donated += [i for name, span in of_names.items() if name in self.donated_names for i in span]
        donated = [i for i in donated if id(found[i]) not in unchanged]
        arranged = [i for k in order or range(len(of_args)) for i in of_args[k]]
        asked, out_shardings = self._shardings
        program = XlaProgram(
            stage,
            name_of(self._function),
            self._tracing,
            [*arranged, *[i for span in of_names.values() for i in span]],
            donated,
            found,
            placed=() if asked is None else self._placed(in_tree),
            out_shardings=out_shardings,
        )
        return program, static_test(own_tree, named_in_order=self._static.sees_order)

    def clear_cache(self) -> None:
        super().clear_cache()
        self._last = None, None, None
        self._programs.clear()

    def _placed(self, in_tree: Any) -> list[Any]:
        """Return the sharding of each leaf of arguments of this structure; arguments by name stay where they are."""
        given, named = in_tree.unflatten(range(in_tree.num_leaves))
        return [*self._tracing.spread_over(self._shardings[0], given), *[None] * len(leaves(named))]

    def _with_donated(self, numbers: Sequence[int]) -> Jitted:
        return type(self)(self._function, self._static, self._engine, numbers, self._shardings)

    def _donation(self, args: tuple, kwargs: dict) -> tuple[Order | None, set[int]]:
        """Return the order of arguments in which JAX pairs them with results, and those returned unchanged."""
        if not self._donated or self._fixed:
            return None, set()
        graph, _, dynamic, out_tree = self._stage(args, kwargs)
        wide = {x for x in graph.outputs if self._tracing.is_wide(x.aval.dtype)}
        unchanged = {id(leaf) for x, leaf in zip(graph.inputs, dynamic, strict=True) if x in wide}
        return donation_order(graph, out_tree, args, self._donated), unchanged

    def _own(
        self, graph: Graph, in_tree: TreeDef, dynamic: list[Any], out_tree: TreeDef
    ) -> tuple[Graph, Sequence[Any], TreeDef]:
        del in_tree
        if any(isinstance(value, Tracer) for _, value in graph.constants):
            raise ClosedOverTracerError
        return graph, dynamic, out_tree

    def _in_our_words(self, args: tuple, kwargs: dict) -> TypeError | None:
        """Return an error for an argument that is no array and that JAX refused: its name, and what to do with it."""
        f, static = self._function, self._static
        fixed = {i % len(args) for i in static.numbers if -len(args) <= i < len(args)}
        dynamic = [(argument_name(f, i), x) for i, x in enumerate(args) if i not in fixed]
        named = [(f"argument {name} of {name_of(f)}", x) for name, x in kwargs.items() if name not in static.names]
        for name, x in [*dynamic, *named]:
            for path, leaf in flatten_with_path(x)[0]:
                if not is_stageable(leaf) or isinstance(leaf, ShapeDtype):
                    where = f"{name} at {key_path_str(path)}" if key_path_str(path) else name
                    what = f"is a {type(leaf).__name__}; needed an array or a number"
                    return TypeError(f"jit: {where} {what}. {_remedy(where != name, leaf)}")
        return None

    @folded
    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """Return the program for these arguments, to inspect or compile it ahead of time, as ``jax.jit``'s ``lower``.

        The arguments may be types (`ShapeDtype`).
        """
        xla = self._tracing
        with xla.scope():
            order, _ = self._donation(args, kwargs)
            donated = self._donated if order is None else tuple(order.index(i) for i in self._donated)

            given, own_tree = flatten(self._static.bind(args, kwargs)[1:3])
            arrays = arrays_of(given, is_array_argument)

            @functools.wraps(self._function)
            def evaluated(*args: Any, **kwargs: Any) -> Any:
                function, given, named, static = self._static.bind(restored(args, order), kwargs)
                tracers = leaves((given, named))
                # JAX sorted the keys of dicts.
                given, named = unflatten(own_tree, tracers)
                of_arrays = {id(tracers[i]) for i in arrays}
                staged = self._stage_bound(function, given, named, static, lambda leaf: id(leaf) in of_arrays)
                graph, operands, out_tree = self._own(*staged)
                return unflatten(out_tree, graph.evaluate(*operands))

            asked, out_shardings = self._shardings
            options = self._static.options()
            if out_shardings is not None:
                options["out_shardings"] = out_shardings
            if asked is not None:
                args = self._typed(asked, args)
            options["donate_argnames"] = self.donated_names
            jitted = xla.compile_function(evaluated, donate_argnums=donated, **options)
            return jitted.lower(*(args if order is None else reordered(args, order)), **kwargs)

    def _typed(self, asked: Any, args: tuple) -> tuple:
        """Return the types of arguments for `lower`, with the shardings that were asked for."""
        numbers = self._static.others(len(args))
        found, in_tree = self._tracing.flatten(tuple([args[i] for i in numbers]))
        pairs = zip(found, self._tracing.spread_over(asked, in_tree.unflatten(found)), strict=True)
        typed = in_tree.unflatten([x if s is None else self._tracing.typed_at(x, s) for x, s in pairs])
        dynamic = dict(zip(numbers, typed, strict=True))
        return tuple([dynamic.get(i, x) for i, x in enumerate(args)])


def _remedy(inside: bool, leaf: Value) -> str:
    if isinstance(leaf, ShapeDtype):
        return "Types are enough for lower and graph of the compiled function; call the function itself with arrays."
    if inside and callable(leaf):
        return (
            "Take the arrays apart from the functions: params, static = eqx.partition(model, eqx.is_array) for a model "
            "of Equinox; compile a function of params that calls eqx.combine(params, static)."
        )
    if inside or callable(leaf) or isinstance(leaf, str | bytes):
        return "Name it in static_argnums or static_argnames, where it becomes part of the program, or leave it out."
    return (
        "Instead of a method compile the bound one, step = fg.jit(obj.step); or register the class as a pytree "
        "(fg.tree.register_dataclass), or name the argument in static_argnums."
    )


def _as_numbers(x: Value) -> Array:
    y = taken(x)
    if is_object_array(y):
        # `abstract` refuses arrays of other objects than numbers.
        abstract(y)
    return y
