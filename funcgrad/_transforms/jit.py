"""``jit``: a function staged once per types of its arguments, simplified, and compiled.

On XLA the call path is ``jax.jit``'s own: our Python runs when it traces, on a cache miss only. There the function runs
on abstract values of all array arguments, since JAX's tracers would refuse NumPy's functions, and the graph it leaves
is evaluated on JAX's tracers. A jitted function that meets one of our tracers is one ``call`` primitive.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from funcgrad._core.bind import Tracer, active_trace
from funcgrad._core.graph import Graph
from funcgrad._core.simplify import avals_of, simplify
from funcgrad._engines import load_xla
from funcgrad._ops.call import call
from funcgrad._transforms._arguments import StaticArguments, name_of
from funcgrad._transforms.compiled_numpy import compile_numpy
from funcgrad._transforms.stage import is_stageable, stage_leaves
from funcgrad.tree import TreeDef, flatten, leaves, unflatten

Names = str | Sequence[str]
Numbers = int | Sequence[int]


def jit(
    f: Callable[..., Any] | None = None,
    *,
    static_argnums: Numbers = (),
    static_argnames: Names = (),
    donate_argnums: Numbers = (),
    engine: str = "xla",
) -> Callable[..., Any]:
    """Compile a function of pytrees of arrays, written with NumPy.

    The function runs once for each combination of argument structures, shapes, dtypes and static values, on abstract
    values: Python side effects happen then only, and a branch on a traced value is an error. dtypes are NumPy's:
    float64 stays float64, without touching JAX's global flag.

    Args:
        f: the function; without it, ``jit`` returns a decorator.
        static_argnums: positions of arguments that are hashable values rather than arrays; each value compiles anew.
        static_argnames: names of such keyword arguments.
        donate_argnums: positions of arguments whose buffers the result may reuse; they must not be used afterwards.
            The NumPy engine leaves them alone.
        engine: ``"xla"``, by way of ``jax.jit``, on CPU, GPU or TPU; or ``"numpy"``, straight-line NumPy code without
            JAX.

    Returns:
        A function like ``f``. On XLA its results are ``jax.Array`` s.

    Raises:
        ValueError: ``engine`` is neither of the two.
        ConcretizationTypeError: ``f`` needs a number where only a type is known.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> f = fg.jit(lambda x: np.tanh(x).sum(), engine="numpy")
        >>> round(float(f(np.array([0.5, 1.0]))), 4)
        1.2237

    Source: the signature is ``jax.jit``'s.
    """
    if engine not in ("xla", "numpy"):
        raise ValueError(f'jit: engine is {engine!r}; needed "xla" or "numpy".')
    if f is None:
        return functools.partial(
            jit,
            static_argnums=static_argnums,
            static_argnames=static_argnames,
            donate_argnums=donate_argnums,
            engine=engine,
        )
    static = StaticArguments(f, static_argnums, static_argnames)
    if engine == "numpy":
        return functools.wraps(f)(NumpyFunction(f, static))
    return functools.wraps(f)(XlaFunction(f, static, donate_argnums))


class ClosedOverTracerError(Exception):
    """Staging met a tracer of a running transform in the function's closure."""


class _Jitted:
    """What both engines share: staging, and the call under tracers."""

    def __init__(self, f: Callable[..., Any], static: StaticArguments) -> None:
        self._function = f
        self._static = static
        self._staged: dict[Any, tuple[Graph, TreeDef]] = {}

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {name_of(self._function)}>"

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind as a method does."""
        return self if instance is None else functools.partial(self, instance)

    def graph(self, *args: Any, **kwargs: Any) -> Graph:
        """The simplified graph for arguments of these types."""
        graph, in_tree, _, out_tree = self._stage(args, kwargs)
        return graph.with_trees(in_tree, out_tree)

    def _stage(self, args: tuple, kwargs: dict) -> tuple[Graph, TreeDef, list[Any], TreeDef]:
        """The graph for these arguments, staged if it is new, with the dynamic leaves."""
        function, args, kwargs, static_key = self._static.bind(args, kwargs)
        found, in_tree = flatten((args, kwargs))
        dynamic = [leaf for leaf in found if is_stageable(leaf)]
        key = (static_key, in_tree, avals_of(dynamic), *[leaf for leaf in found if not is_stageable(leaf)])
        cached = self._staged.get(key)
        if cached is None:
            graph, out_tree = stage_leaves(function, found, in_tree, is_stageable)
            cached = simplify(graph), out_tree
            if not any(isinstance(value, Tracer) for _, value in graph.constants):
                self._staged[key] = cached
        return cached[0], in_tree, dynamic, cached[1]

    def _call_under_tracers(self, args: tuple, kwargs: dict, compiler: Callable[[Graph], Any]) -> Any:
        """One call primitive for the whole function; inside a staged function simply its equations."""
        trace = active_trace()
        if trace is not None and not trace.concrete:
            return self._function(*args, **kwargs)
        graph, _, dynamic, out_tree = self._stage(args, kwargs)
        graph, captured = lift_tracers(graph)
        return unflatten(out_tree, call(graph, [*dynamic, *captured], compiler))


def lift_tracers(graph: Graph) -> tuple[Graph, list[Any]]:
    """The graph with the tracers among its constants as further inputs, and those tracers."""
    captured = [(var, value) for var, value in graph.constants if isinstance(value, Tracer)]
    if not captured:
        return graph, []
    constants = [(var, value) for var, value in graph.constants if not isinstance(value, Tracer)]
    inputs = [*graph.inputs, *[var for var, _ in captured]]
    return Graph(inputs, constants, graph.equations, graph.outputs, graph.name), [value for _, value in captured]


class XlaFunction(_Jitted):
    """A function compiled by ``jax.jit``."""

    def __init__(self, f: Callable[..., Any], static: StaticArguments, donate_argnums: Numbers) -> None:
        super().__init__(f, static)
        self._donate_argnums = donate_argnums
        self._jitted: Any = None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._jitted is None:
            self._jitted = self._make_jitted()
        try:
            with self._scope():
                return self._jitted(*args, **kwargs)
        except ClosedOverTracerError:
            pass
        except (TypeError, ValueError):
            # JAX refuses our tracers among the arguments, which is how they are noticed without a look at each.
            if not any(isinstance(leaf, Tracer) for leaf in leaves((args, kwargs))):
                raise
        return self._call_under_tracers(args, kwargs, compile_xla)

    def _make_jitted(self) -> Any:
        xla = load_xla()
        self._scope = xla.scope

        @functools.wraps(self._function)
        def evaluate(*args: Any, **kwargs: Any) -> Any:
            return self._evaluate(args, kwargs)

        return xla.compile_function(evaluate, donate_argnums=self._donate_argnums, **self._static.options())

    def _evaluate(self, args: tuple, kwargs: dict) -> Any:
        """Run by JAX on its tracers, when it meets new types."""
        found, in_tree = flatten((args, kwargs))
        is_dynamic = load_xla().is_array
        graph, out_tree = stage_leaves(self._function, found, in_tree, is_dynamic)
        if any(isinstance(value, Tracer) for _, value in graph.constants):
            raise ClosedOverTracerError
        return unflatten(out_tree, simplify(graph).evaluate(*[leaf for leaf in found if is_dynamic(leaf)]))

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """``jax.jit``'s ``lower``: the program for these arguments, to be inspected or compiled ahead of time."""
        if self._jitted is None:
            self._jitted = self._make_jitted()
        with self._scope():
            return self._jitted.lower(*args, **kwargs)


def compile_xla(graph: Graph) -> Callable[..., list]:
    """A graph compiled by ``jax.jit``."""
    xla = load_xla()
    compiled = xla.compile_function(graph.evaluate)

    def run(*operands: Any) -> list:
        with xla.scope():
            return compiled(*operands)

    return run


class NumpyFunction(_Jitted):
    """A function compiled to straight-line NumPy code."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call_under_tracers(args, kwargs, compile_numpy)
