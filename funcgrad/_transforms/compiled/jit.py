"""``jit``: a function staged once per types of its arguments, simplified, and compiled.

On XLA the call path is ``jax.jit``'s own: our Python runs when it traces, on a cache miss only. There the function runs
on abstract values of all array arguments, since JAX's tracers would refuse NumPy's functions, and the graph it leaves
is evaluated on JAX's tracers. A jitted function that meets one of our tracers is one ``call`` primitive.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from funcgrad._core.bind import Tracer, active_trace, onlookers
from funcgrad._core.graph.ir import Graph
from funcgrad._core.tracebacks import fold, folded, let_out
from funcgrad._engines import engine_named
from funcgrad._engines.engine import Engine, Tracing
from funcgrad._engines.signature import MISS
from funcgrad._engines.xla.donation import Order, donation_order, reordered, restored
from funcgrad._engines.xla.programs import XlaProgram, spans
from funcgrad._transforms.base.arguments import StaticArguments, argument_name, name_of, taken
from funcgrad._transforms.base.shape_dtype import ShapeDtype
from funcgrad._transforms.base.stage import abstract, is_stageable
from funcgrad._transforms.compiled.jitted import Jitted
from funcgrad._transforms.compiled.size import warn_if_large
from funcgrad._transforms.compiled.source_function import SourceFunction
from funcgrad._transforms.compiled.typed import Compiled, Decorator, F
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy.extend import is_guest, is_object_array
from funcgrad.tree import TreeDef, flatten_with_path, key_path_str, leaves, unflatten
from funcgrad.tree import map as map_tree

Names = str | Sequence[str]
Numbers = int | Sequence[int]

_MATRIX: Any = np.matrix


@overload
def jit(
    f: F,
    *,
    static_argnums: Numbers = (),
    static_argnames: Names = (),
    donate_argnums: Numbers = (),
    in_shardings: Any = None,
    out_shardings: Any = None,
    engine: str = "xla",
) -> Compiled[F]: ...
@overload
def jit(
    *,
    static_argnums: Numbers = (),
    static_argnames: Names = (),
    donate_argnums: Numbers = (),
    in_shardings: Any = None,
    out_shardings: Any = None,
    engine: str = "xla",
) -> Decorator: ...
@folded
def jit(
    f: Callable[..., Any] | None = None,
    *,
    static_argnums: Numbers = (),
    static_argnames: Names = (),
    donate_argnums: Numbers = (),
    in_shardings: Any = None,
    out_shardings: Any = None,
    engine: str = "xla",
) -> Any:
    """Compile a function of pytrees of arrays, written with NumPy.

    The function runs once for each combination of argument structures, shapes, dtypes and static values, on abstract
    values: Python side effects happen then only, and a branch on a traced value is an error. dtypes are NumPy's:
    float64 stays float64, without touching JAX's global flag. Arrays that the function closes over are read once,
    when it runs: what is written to them later is not seen.

    Args:
        f: the function; without it, ``jit`` returns a decorator.
        static_argnums: positions of arguments that are hashable values rather than arrays; each value compiles anew.
        static_argnames: names of such keyword arguments.
        donate_argnums: positions of arguments whose buffers the result may reuse; they must not be used afterwards.
            With ``engine="numpy"`` and ``"numba"`` the program writes over donated arrays, so whoever still holds one,
            or a view of one, sees other numbers in it, also where the call fails halfway.
        in_shardings: how the positional arguments that are not static are spread over devices: a sharding of JAX's, a
            ``PartitionSpec`` where a mesh is set (``jax.set_mesh``), or ``None``, as they are; or a prefix of the tuple
            of these arguments with such leaves. On XLA only.
        out_shardings: the same for the result; ``None`` is left to the compiler. What is handed through lies as it did.
            In a program of which the function is a part, as inside `grad`, both are the program's affair.
        engine: ``"xla"``, by way of ``jax.jit``, on CPU, GPU or TPU; ``"numpy"``, straight-line NumPy code without
            JAX; or ``"numba"``, the same with loops compiled by Numba, to be installed with
            ``pip install 'funcgrad[numba]'``. Its numbers are those of ``"numpy"`` to the last bit, but for sums over
            rows of large arrays, which are added up block by block; its loops give no warnings of arithmetic.

    Returns:
        A function like ``f``. On XLA its results are ``jax.Array`` s, but for those of 64 bits: outside JAX's 64-bit
        mode, where the next operation would make 32 of them, they are NumPy arrays, and an argument handed through is
        the object that it was.

    Raises:
        ValueError: there is no ``engine`` of that name, or it knows no shardings; these are no prefix of arguments or
            result; on the NumPy and the Numba engine, when called, a donated
            array is read-only or shares memory with another argument.
        ModuleNotFoundError: what the engine compiles with is not installed.
        ConcretizationTypeError: ``f`` needs a number where only a type is known.

    Warns:
        LargeProgramWarning: once for each function whose program for XLA has more than 8,000 equations, as that of a
            long loop that is unrolled; `scan` compiles the body of a loop once.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> f = fg.jit(lambda x: np.tanh(x).sum(), engine="numpy")
        >>> round(float(f(np.array([0.5, 1.0]))), 4)
        1.2237

    Source: the signature is ``jax.jit``'s.
    """
    on = engine_named(engine)
    if f is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            in_shardings=in_shardings,
            out_shardings=out_shardings,
            engine=engine,
        )
    static = StaticArguments(f, static_argnums, static_argnames)
    if on.tracing is not None:
        jitted = XlaFunction(f, static, on, donate_argnums, (in_shardings, out_shardings))
    elif in_shardings is None and out_shardings is None:
        jitted = SourceFunction(f, static, on, donate_argnums)
    else:
        raise ValueError(
            f'jit: shardings of {name_of(f)} were given to engine "{engine}", whose arrays lie in one memory; needed '
            'engine="xla". Leave in_shardings and out_shardings out, or the engine.'
        )
    # Not f's attributes: those of a wrapper around a jitted function are that function's, its program among them.
    return functools.update_wrapper(jitted, f, updated=())


class ClosedOverTracerError(Exception):
    """Staging met a tracer of a running transform in the function's closure."""


class XlaFunction(Jitted):
    """A function compiled by ``jax.jit``, which traces it: it asks for the names in `Tracing`."""

    def __init__(
        self,
        f: Callable[..., Any],
        static: StaticArguments,
        engine: Engine,
        donate_argnums: Numbers,
        shardings: tuple[Any, Any] = (None, None),
    ) -> None:
        super().__init__(f, static, engine, donate_argnums)
        # Of arguments and results.
        self._shardings = shardings
        assert engine.tracing is not None
        self._tracing: Tracing = engine.tracing
        self._fixed = bool(static.numbers or static.names)
        # By JAX's structure of the arguments and by the static values.
        self._programs: dict[Any, XlaProgram] = {}
        # The last one, with the structure it is for: to compare takes a third of looking it up.
        self._last: tuple[Any, XlaProgram | None] = None, None
        self._names: Any = None
        self._told = False

    # Each call of a function in its place would cost a tenth of the call.
    def __call__(self, *args: Any, **kwargs: Any) -> Any:  # noqa: C901  (see above)
        around = active_trace()
        try:
            if onlookers and (y := self._call_looked_at(args, kwargs)) is not MISS:
                return y
            flatten, enter, leave, wide = self._names or self._looked_up()
            _, given, named, static = self._static.bind(args, kwargs) if self._fixed else (None, args, kwargs, None)
            found, in_tree = flatten((given, named))
            if _MATRIX in map(type, args):
                # JAX takes it for an array, alone of all subclasses.
                raise TypeError("numpy.matrix")
            before = enter()
            try:
                last_tree, program = self._last
                if program is None or static is not None or in_tree != last_tree:
                    program = self._programs.get((in_tree, static)) or self._made(args, kwargs, found, in_tree)
                    self._last = in_tree, program
                out = program(found, before is wide)
            finally:
                leave(before)
        except ClosedOverTracerError:
            instead = self._call_general
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
                # A pytree without end, of which JAX says nothing: ours are refused by name.
                leaves((args, kwargs))
            let_out(error, around)
            raise
        else:
            return program.results(out, found, before is wide)
        try:
            return instead(args, kwargs)
        except BaseException as error:
            let_out(error, around)
            raise

    def _looked_up(self) -> tuple[Any, ...]:
        """What each call asks of the engine, which is loaded here."""
        xla = self._tracing
        self._names = xla.flatten, xla.enter, xla.leave, xla.WIDE_LAST
        return self._names

    def _instead(self, args: tuple, kwargs: dict) -> Callable[[tuple, dict], Any] | None:
        """What is done with arguments that JAX refused; ``None`` where it was right.

        It refuses our tracers, which is how they are noticed without a look at each.
        """
        found = leaves((args, kwargs))
        if any(map(is_guest, found)) or any(map(is_object_array, found)):
            return self._call_on_numbers
        return self._call_general if any(isinstance(leaf, Tracer) for leaf in found) else None

    def _call_on_numbers(self, args: tuple, kwargs: dict) -> Any:
        """JAX has no words for guests: they are taken as arrays of numbers, or refused in ours."""
        args, kwargs = map_tree(_as_numbers, (args, kwargs))
        return self(*args, **kwargs)

    def _made(self, args: tuple, kwargs: dict, found: Sequence[Any], in_tree: Any) -> XlaProgram:
        """The program for arguments of this structure, of which these are the leaves."""
        function, _, _, static = self._static.bind(args, kwargs)

        def stage(tracers: Sequence[Any]) -> tuple[Graph, Sequence[Any], TreeDef]:
            given, named = in_tree.unflatten(tracers)
            staged = self._own(*self._stage_bound(function, given, named, static))
            self._told = self._told or warn_if_large(staged[0], name_of(self._function))
            return staged

        order, handed = self._donation(args, kwargs)
        of_args, of_names = spans(in_tree)
        donated = [i for k in self._static.dynamic(self._donated, len(args)) for i in of_args[k]]
        donated = [i for i in donated if id(found[i]) not in handed]
        arranged = [i for k in order or range(len(of_args)) for i in of_args[k]]
        asked, out_shardings = self._shardings
        program = XlaProgram(
            stage,
            name_of(self._function),
            self._tracing,
            [*arranged, *of_names],
            donated,
            found,
            placed=() if asked is None else self._placed(in_tree),
            out_shardings=out_shardings,
        )
        return self._programs.setdefault((in_tree, static), program)

    def _placed(self, in_tree: Any) -> list[Any]:
        """How each leaf is to be spread, of arguments of this structure; those by name lie as they are."""
        given, named = in_tree.unflatten(range(in_tree.num_leaves))
        return [*self._tracing.spread_over(self._shardings[0], given), *[None] * len(leaves(named))]

    def _with_donated(self, numbers: Sequence[int]) -> Jitted:
        return type(self)(self._function, self._static, self._engine, numbers, self._shardings)

    def _donation(self, args: tuple, kwargs: dict) -> tuple[Order | None, set[int]]:
        """The order of arguments by which JAX pairs them with results, and those handed through, which need no pair."""
        if not self._donated or self._fixed:
            return None, set()
        graph, _, dynamic, out_tree = self._stage(args, kwargs)
        wide = {x for x in graph.outputs if self._tracing.is_wide(x.aval.dtype)}
        handed = {id(leaf) for x, leaf in zip(graph.inputs, dynamic, strict=True) if x in wide}
        return donation_order(graph, out_tree, args, self._donated), handed

    def _own(
        self, graph: Graph, in_tree: TreeDef, dynamic: list[Any], out_tree: TreeDef
    ) -> tuple[Graph, Sequence[Any], TreeDef]:
        del in_tree
        if any(isinstance(value, Tracer) for _, value in graph.constants):
            raise ClosedOverTracerError
        return graph, dynamic, out_tree

    def _in_our_words(self, args: tuple, kwargs: dict) -> TypeError | None:
        """Where JAX refused an argument that is no array: which it is, and what becomes of things of its kind."""
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
        """``jax.jit``'s ``lower``: the program for these arguments, to be inspected or compiled ahead of time.

        In their place types will do (`ShapeDtype`).
        """
        xla = self._tracing
        with xla.scope():
            order, _ = self._donation(args, kwargs)
            donated = self._donated if order is None else tuple(order.index(i) for i in self._donated)

            @functools.wraps(self._function)
            def evaluated(*args: Any, **kwargs: Any) -> Any:
                graph, operands, out_tree = self._own(*self._stage(restored(args, order), kwargs))
                return unflatten(out_tree, graph.evaluate(*operands))

            asked, out_shardings = self._shardings
            options = self._static.options()
            if out_shardings is not None:
                options["out_shardings"] = out_shardings
            if asked is not None:
                args = self._typed(asked, args)
            jitted = xla.compile_function(evaluated, donate_argnums=donated, **options)
            return jitted.lower(*(args if order is None else reordered(args, order)), **kwargs)

    def _typed(self, asked: Any, args: tuple) -> tuple:
        """Arguments for `lower` by their types, in the places that are asked."""
        numbers = self._static.others(len(args))
        found, in_tree = self._tracing.flatten(tuple([args[i] for i in numbers]))
        pairs = zip(found, self._tracing.spread_over(asked, in_tree.unflatten(found)), strict=True)
        typed = in_tree.unflatten([x if s is None else self._tracing.typed_at(x, s) for x, s in pairs])
        dynamic = dict(zip(numbers, typed, strict=True))
        return tuple([dynamic.get(i, x) for i, x in enumerate(args)])


def _remedy(inside: bool, leaf: Any) -> str:
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


def _as_numbers(x: Any) -> Any:
    y = taken(x)
    if is_object_array(y):
        # It refuses what is no array of numbers.
        abstract(y)
    return y
