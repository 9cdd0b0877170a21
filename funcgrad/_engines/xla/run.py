"""The XLA engine: primitives bound to ``jax.lax``, in JAX's scoped 64-bit mode. Nothing else imports JAX."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.core
import jax.extend.core
import numpy as np
from jax import lax as _jax_lax

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import Tracer, active_trace
from funcgrad._core.graph.ir import Graph
from funcgrad._core.numbers import typed
from funcgrad._core.primitive import Primitive
from funcgrad._engines.xla import random
from funcgrad._engines.xla.fits import with_fits, without_fits
from funcgrad._engines.xla.layouts import Spread, result_layout
from funcgrad._engines.xla.modes import WIDE_LAST, enter, inside_jax_trace, leave, scope
from funcgrad._engines.xla.outline import outlined
from funcgrad._engines.xla.places import alike, array_like, as_arrays, beside, is_jax_tracer
from funcgrad._engines.xla.separate import separate_p
from funcgrad._engines.xla.shardings import laid_out, put, spread_over, typed_at
from funcgrad.tree import TreeDef, unflatten

# Names from elsewhere that others ask of this module.
__all__ = [
    "WIDE_LAST",
    "array_like",
    "as_arrays",
    "beside",
    "enter",
    "laid_out",
    "leave",
    "put",
    "spread_over",
    "typed_at",
]

Array = jax.Array


@functools.cache
def _worker() -> ThreadPoolExecutor:
    """A thread that computes as Python's threads do.

    XLA's own threads take the least numbers as 0, by which some of SciPy's algorithms give wrong values. A thread
    inherits that from the one that starts it: it is started while a program is traced.
    """
    pool = ThreadPoolExecutor(1, thread_name_prefix="funcgrad-host")
    pool.submit(int).result()
    return pool


class _Lax:
    """``jax.lax`` as the primitives see it, with what depends on JAX's mode and on whether it is tracing."""

    random = random

    def __getattr__(self, name: str) -> Any:
        value = getattr(_jax_lax, name)
        setattr(self, name, value)
        return value

    @staticmethod
    def canonical_dtype(dtype: Any) -> np.dtype:
        """The dtype that JAX has for ``dtype`` in its current mode (float32 for float64 where 64 bits are off)."""
        return jax.dtypes.canonicalize_dtype(dtype)

    @staticmethod
    def is_traced(x: Any) -> bool:
        """Whether the program that ``x`` stands in is compiled later: static parameters then cost no compilation."""
        return isinstance(x, jax.core.Tracer)

    @staticmethod
    def strong(x: Any, aval: Aval) -> Any:
        """``x`` in the dtype of the aval, as far as JAX's mode has it, and not weak."""
        return _jax_lax.convert_element_type(x, jax.dtypes.canonicalize_dtype(aval.dtype))

    @staticmethod
    def separate(*xs: Any) -> list[Any]:
        """The operands, on a CPU finished before what reads the results begins."""
        return separate_p.bind(*xs)

    @staticmethod
    def alike(ys: Sequence[Any], xs: Sequence[Any]) -> list[Any]:
        """Values, each spread over devices as another one is."""
        return [alike(y, x) for y, x in zip(ys, xs, strict=True)]

    @staticmethod
    def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
        """``jax.jit``."""
        return jax.jit(function)

    @staticmethod
    def checkpoint(function: Callable[..., Any]) -> Callable[..., Any]:
        """A function of which JAX, where it differentiates, keeps the arguments alone."""
        return jax.checkpoint(function)

    @staticmethod
    def custom_vjp(run: Callable[..., list], forward: Callable[..., Any], backward: Callable[..., Any]) -> Any:
        """A function that JAX differentiates by this pair."""
        function = jax.custom_vjp(run)
        function.defvjp(forward, backward)
        return function

    @staticmethod
    def custom_jvp(run: Callable[..., list], push: Callable[..., Any]) -> Any:
        """A function that JAX differentiates by ``push(primals, tangents)``."""
        function = jax.custom_jvp(run)
        function.defjvp(push)
        return function

    @staticmethod
    def pure_callback(function: Callable[..., Any], avals: Sequence[Aval], *xs: Any) -> Any:
        """A Python function of NumPy arrays, called when the program runs."""
        structs = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in avals]
        return jax.pure_callback(function, structs, *xs, vmap_method="sequential")

    @staticmethod
    def debug_callback(function: Callable[..., Any], *xs: Any, ordered: bool = False) -> None:
        """A Python function of NumPy arrays, called when the program runs, of which nothing comes back."""
        jax.debug.callback(function, *xs, ordered=ordered)

    @staticmethod
    def elementwise_callback(function: Callable[..., Any], aval: Aval, push: Callable[..., Any], *xs: Any) -> Any:
        """A Python function of NumPy arrays that works element by element, with ``push(primals, tangents)`` for JAX.

        A tangent is ``None`` where an operand has none. The function is called when the program runs.
        """
        struct = jax.ShapeDtypeStruct(aval.shape, aval.dtype)
        worker = _worker()

        def host(*arrays: Any) -> Any:
            return worker.submit(function, *arrays).result()

        call = jax.custom_jvp(lambda *xs: jax.pure_callback(host, struct, *xs, vmap_method="broadcast_all"))

        def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
            zero = jax.custom_derivatives.SymbolicZero
            return push(tuple(primals), [None if isinstance(t, zero) else t for t in tangents])

        call.defjvp(rule, symbolic_zeros=True)
        return call(*xs)


lax = _Lax()


# What takes arguments apart as ``jax.jit`` does.
flatten = jax.tree_util.tree_flatten


def run(primitive: Primitive, operands: tuple, params: dict) -> Any:
    """Apply a primitive to operands of which at least one is a ``jax.Array`` or a JAX tracer."""
    if inside_jax_trace():
        return _run(primitive, operands, params)
    with jax.enable_x64(True):
        y = _run(primitive, operands, params)
    if active_trace() is not None or any(isinstance(x, Array) and x.dtype in _WIDE for x in operands):
        # A transform hands out its results itself; who has 64-bit arrays outside the mode brought them there.
        return y
    return [lasting(part) for part in y] if primitive.multiple_results else lasting(y)


# What JAX has outside its 64-bit mode are these in 32 bits.
_WIDE = frozenset(map(np.dtype, ("f8", "c16", "i8", "u8")))


def is_wide(dtype: np.dtype) -> bool:
    """Whether values of this dtype last as arrays of JAX in its 64-bit mode only."""
    return dtype in _WIDE


def wide_last() -> bool:
    """Whether 64-bit arrays of JAX keep their bits in what the caller does with them; inside a trace it is as it is."""
    mode: Any = jax.config
    return mode.jax_enable_x64 or inside_jax_trace()


def as_result(x: Any) -> Any:
    """An argument as the result of a program, in JAX's current mode."""
    return x if isinstance(x, Array) else jax.numpy.asarray(x)


def lasting(x: Any, given: Iterable[Any] = ()) -> Any:
    """A value as it may leave our scope, to somebody who gave these.

    Outside JAX's 64-bit mode the next operation would cut a 64-bit array to 32: there it is a NumPy array, its own,
    which may be written to, unless there is such an array among those given. Inside somebody else's trace their mode
    holds; what lies on other machines stays there.
    """
    if x.dtype not in _WIDE or wide_last() or is_jax_tracer(x) or any(map(_is_wide_array, given)):
        return x
    # A program of another engine hands NumPy's arrays through.
    return np.array(x) if isinstance(x, Array) and x.is_fully_addressable else x


def _is_wide_array(x: Any) -> bool:
    while isinstance(x, Tracer):
        x = getattr(x, "_value", None)
    return isinstance(x, Array) and is_wide(x.dtype)


class Packed(tuple):
    """Results of a compiled program, after the plan of what the caller gets in their place: ``(plan, values)``.

    JAX makes one in each call, in a third of the time that an instance with attributes takes.
    """

    __slots__ = ()


_new_tuple = tuple.__new__
jax.tree_util.register_pytree_node(
    Packed, lambda packed: (packed[1], packed[0]), lambda plan, values: _new_tuple(Packed, (plan, values))
)


def rebuild(tree: TreeDef) -> Callable[[Sequence[Any]], Any]:
    """What puts leaves together to such a tree: JAX's treedef where it has their order, in a third of the time."""
    numbers = list(range(tree.num_leaves))
    found, treedef = jax.tree.flatten(unflatten(tree, numbers))
    return treedef.unflatten if found == numbers else functools.partial(unflatten, tree)


def _run(primitive: Primitive, operands: tuple, params: dict) -> Any:
    try:
        return _applied(primitive, operands, params)
    except Exception as error:
        # JAX has no public name for it.
        if type(error).__name__ != "ShardingTypeError":
            raise
    return _run_spread(primitive, operands, params)


def _run_spread(primitive: Primitive, operands: tuple, params: dict) -> Any:
    """Where JAX cannot tell how the result lies on a mesh with explicit axes: we say it, and XLA gets there."""
    numbers = [i for i, x in enumerate(operands) if isinstance(x, Array)]
    arrays = [operands[i] for i in numbers]
    shardings = [jax.typeof(x).sharding for x in arrays]
    spreads = [Spread(x.shape, _layout(s, x.ndim)) for x, s in zip(arrays, shardings, strict=True)]
    mesh = next(s.mesh for s in shardings if not s.mesh.empty)

    def on_mesh(*xs: Any) -> Any:
        given = list(operands)
        for i, x in zip(numbers, xs, strict=True):
            given[i] = x
        return _applied(primitive, tuple(given), params)

    def sharding_of(aval: Aval) -> Any:
        layout = result_layout(primitive.forms.layout, spreads, params, aval.shape)
        return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*layout))

    avals = primitive.aval(*[aval_of(x) for x in operands], **params)
    wanted = [sharding_of(y) for y in avals] if primitive.multiple_results else sharding_of(avals)
    return jax.sharding.auto_axes(on_mesh, out_sharding=wanted)(*arrays)


def _layout(sharding: Any, ndim: int) -> tuple[Any, ...]:
    spec = tuple(sharding.spec)
    return (*spec, *[None] * (ndim - len(spec)))


def _applied(primitive: Primitive, operands: tuple, params: dict) -> Any:
    if primitive.elementwise:
        operands = _conform(operands)
    implementation = primitive.xla
    if isinstance(implementation, str):
        return getattr(lax, implementation)(*operands, **params)
    function = outlined(lax, primitive, operands, params)
    return implementation(lax, *operands, **params) if function is None else function(*operands)


def _conform(operands: tuple) -> tuple:
    """Give elementwise operands one shape, and Python scalars the dtype of the arrays they meet."""
    operands = typed(operands)
    shapes = [x.shape for x in operands]
    shape = shapes[0] if all(other == shapes[0] for other in shapes) else np.broadcast_shapes(*shapes)
    return tuple([_expand(x, shape) for x in operands])


def _expand(x: Any, shape: tuple[int, ...]) -> Any:
    if x.shape == shape:
        return x
    offset = len(shape) - x.ndim
    if any(x.shape[i] != shape[offset + i] for i in range(x.ndim)):
        return _expand_ones(x, shape, offset)
    return _jax_lax.broadcast_in_dim(x, shape, tuple(range(offset, len(shape))))


def _expand_ones(x: Any, shape: tuple[int, ...], offset: int) -> Any:
    """Broadcast where ``x`` has axes of length 1: they are dropped, as ``broadcast_in_dim`` counts them as absent."""
    kept = tuple(i for i in range(x.ndim) if x.shape[i] == shape[offset + i])
    squeezed = _jax_lax.reshape(x, tuple(x.shape[i] for i in kept))
    return _jax_lax.broadcast_in_dim(squeezed, shape, tuple(offset + i for i in kept))


def compile_function(function: Callable[..., Any], **options: Any) -> Any:
    """``jax.jit`` of a function that evaluates a graph."""
    return jax.jit(function, **options)


def compile_graph(graph: Graph) -> Callable[..., list]:
    """A graph compiled by ``jax.jit``."""
    wider, fits = with_fits(graph)
    compiled = compile_function(wider.evaluate)
    wide = any(is_wide(x.aval.dtype) for x in graph.outputs)

    def run(*operands: Any) -> list:
        with scope():
            results = without_fits(compiled(*operands), fits)
        return [lasting(y, operands) for y in results] if wide else results

    return run


def spreads() -> bool:
    """Whether there are several devices, over which arrays may be spread."""
    return jax.device_count() > 1


def settle_effects() -> None:
    """Wait until what programs call in Python has been called."""
    jax.effects_barrier()
