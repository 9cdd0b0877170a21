"""Run primitives on ``jax.lax``, in JAX's scoped 64-bit mode. Only this folder imports JAX."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.core
import numpy as np
from jax import lax as _jax_lax

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import Tracer, active_trace
from funcgrad._core.graph.ir import Graph
from funcgrad._core.numbers import typed
from funcgrad._core.primitive import Primitive
from funcgrad._core.spread import Spread, result_layout
from funcgrad._engines.xla import random
from funcgrad._engines.xla.checks import checked, with_checks
from funcgrad._engines.xla.compound import as_compiled_function
from funcgrad._engines.xla.devices import alike, array_like, as_arrays, beside, is_jax_tracer
from funcgrad._engines.xla.host import WIDE, debug_callback, elementwise_callback, pure_callback
from funcgrad._engines.xla.in_place import with_writes_in_place
from funcgrad._engines.xla.modes import WIDE_LAST, enter, inside_jax_trace, leave, scope
from funcgrad._engines.xla.separate import separate_p, stored_p
from funcgrad._engines.xla.shardings import laid_out, meshes, put, spread_over, typed_at
from funcgrad._engines.xla.stretches import compile_in_stretches, is_long
from funcgrad._types import DTypeLike, Value
from funcgrad.tree import TreeDef, unflatten
from funcgrad.tree.extend import static_test

# Names of other modules that the rest of the package reads from this one.
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


class _Lax:
    """``jax.lax`` for primitives, with functions that depend on JAX's mode and on whether it is tracing."""

    random = random

    def __getattr__(self, name: str) -> Any:
        value = getattr(_jax_lax, name)
        setattr(self, name, value)
        return value

    @staticmethod
    def canonical_dtype(dtype: DTypeLike) -> np.dtype:
        """Return the dtype that JAX has for ``dtype`` in its current mode (float32 for float64 if 64 bits are off)."""
        return jax.dtypes.canonicalize_dtype(dtype)

    @staticmethod
    def dot_general(*operands: Any, precision: Any = None, **options: Any) -> Any:
        """Return ``jax.lax.dot_general`` with all digits of the operands' dtype, unless the user asks JAX for fewer."""
        return _jax_lax.dot_general(*operands, precision=_precision(precision), **options)

    @staticmethod
    def conv_general_dilated(*operands: Any, precision: Any = None, **options: Any) -> Any:
        """Return ``jax.lax.conv_general_dilated`` with all digits of the operands' dtype, as `dot_general`."""
        return _jax_lax.conv_general_dilated(*operands, precision=_precision(precision), **options)

    @staticmethod
    def is_traced(x: Value) -> bool:
        """Return whether ``x`` belongs to a program that is compiled later.

        Static parameters then cost no compilation.
        """
        return isinstance(x, jax.core.Tracer)

    @staticmethod
    def strong(x: Value, aval: Aval) -> Any:
        """Return ``x`` in the dtype of the aval, as far as JAX's mode allows it, and not weak."""
        return _jax_lax.convert_element_type(x, jax.dtypes.canonicalize_dtype(aval.dtype))

    @staticmethod
    def separate(*xs: Value) -> list[Any]:
        """Return the operands; on a CPU they are computed before any operation that reads the results."""
        return separate_p.bind(*xs)

    @staticmethod
    def dynamic_update_slice(x: Value, part: Value, lows: Sequence[Any], *, in_place: bool = False) -> Any:
        """Return an array with a part replaced; on a CPU the part is computed before any of it is written.

        If ``in_place``, XLA may fuse the computation of the part with the write. Then no operation may be moved across
        the write.
        """
        if not isinstance(part, jax.core.Tracer) or part.size < 2:
            return _jax_lax.dynamic_update_slice(x, part, lows)
        if in_place:
            return separate_p.bind(_jax_lax.dynamic_update_slice(x, part, lows))[0]
        return _jax_lax.dynamic_update_slice(x, stored_p.bind(part), lows)

    @classmethod
    def dynamic_update_slice_in_dim(cls, x: Value, part: Value, low: Any, axis: int) -> Any:
        """Return an array with a slice along an axis replaced, as `dynamic_update_slice`."""
        lows = [low if i == axis else low * 0 for i in range(x.ndim)]
        return cls.dynamic_update_slice(x, part, lows)

    with_writes_in_place = staticmethod(with_writes_in_place)

    @staticmethod
    def alike(ys: Sequence[Any], xs: Sequence[Any]) -> list[Any]:
        """Return values, each with the sharding of the other value at its position."""
        return [alike(y, x) for y, x in zip(ys, xs, strict=True)]

    @staticmethod
    def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
        """Return ``jax.jit(function)``."""
        return jax.jit(function)

    @staticmethod
    def checkpoint(function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function whose backward pass in JAX keeps only the arguments and computes the rest again."""
        return jax.checkpoint(function)

    @staticmethod
    def custom_vjp(run: Callable[..., list], forward: Callable[..., Any]) -> Any:
        """Return a function that JAX differentiates by ``forward``: it returns results, residuals, and their rule."""

        def recorded(*xs: Array) -> tuple[list, Callable[[list], tuple]]:
            ys, residuals, backward = forward(*xs)
            # A pytree: JAX keeps the residuals as its leaves, and the rule as a part of its structure.
            return ys, jax.tree_util.Partial(lambda kept, y_bars: tuple(backward(kept, y_bars)), residuals)

        function = jax.custom_vjp(run)
        function.defvjp(recorded, lambda pull, y_bars: pull(list(y_bars)))
        return function

    @staticmethod
    def custom_jvp(run: Callable[..., list], push: Callable[..., Any]) -> Any:
        """Return a function that JAX differentiates by ``push(primals, tangents)``."""
        function = jax.custom_jvp(run)
        function.defjvp(push)
        return function

    pure_callback = staticmethod(pure_callback)
    debug_callback = staticmethod(debug_callback)
    elementwise_callback = staticmethod(elementwise_callback)


def _precision(precision: Any) -> Any:
    """Return the precision of a product.

    JAX's default on GPUs and TPUs rounds float32 operands to 10 or 7 binary digits. ``jax.default_matmul_precision``
    asks for that.
    """
    config: Any = jax.config
    return precision or (None if config.jax_default_matmul_precision else "highest")


lax = _Lax()


# Flattens arguments as ``jax.jit`` does, without the call of ``jax.tree_util.tree_flatten``.
flatten = jax.tree_util.default_registry.flatten


def run(primitive: Primitive, operands: tuple, params: dict) -> Any:
    """Apply a primitive to operands of which at least one is a ``jax.Array`` or a JAX tracer."""
    if inside_jax_trace():
        return _run(primitive, operands, params)
    with jax.enable_x64(True):
        y = _run(primitive, operands, params)
    if active_trace() is not None or any(isinstance(x, Array) and x.dtype in WIDE for x in operands):
        # A running transform converts its results itself. A caller with 64-bit arrays outside the mode made them on
        # purpose.
        return y
    return [lasting(part) for part in y] if primitive.multiple_results else lasting(y)


def is_wide(dtype: np.dtype) -> bool:
    """Return whether JAX keeps values of this dtype only in its 64-bit mode."""
    return dtype in WIDE


def wide_last() -> bool:
    """Return whether the caller's operations keep the bits of 64-bit arrays of JAX; always true inside a trace."""
    mode: Any = jax.config
    return mode.jax_enable_x64 or inside_jax_trace()


def as_result(x: Value) -> Any:
    """Return an argument as the result of a program, in JAX's current mode."""
    # `asarray` may share the memory of a NumPy array.
    return x if isinstance(x, Array) else jax.numpy.array(x)


def lasting(x: Value, given: Iterable[Any] = ()) -> Any:
    """Return a value in the form that a caller outside our scope can keep; ``given`` are the caller's arguments.

    Outside JAX's 64-bit mode the next operation would cut a 64-bit array to 32 bits. There the value becomes a new,
    writeable NumPy array or a NumPy number, unless one of the arguments is a 64-bit ``jax.Array``. Inside a user's JAX
    trace the user's mode applies. An array on other machines stays as it is.
    """
    if x.dtype not in WIDE or wide_last() or is_jax_tracer(x) or any(map(_is_wide_array, given)):
        return x
    # A program of another engine may return NumPy arguments unchanged.
    return as_numpy(x) if isinstance(x, Array) and x.is_fully_addressable else x


def as_numpy(x: Value) -> Any:
    """Return a writeable NumPy array, or NumPy's number if there are no axes.

    A JAX array never changes: after ``first = y``, ``y += 1`` must not change ``first``. It would change an array.
    """
    y = np.array(x)
    return y if y.shape else y[()]


def _is_wide_array(x: Value) -> bool:
    while isinstance(x, Tracer):
        x = getattr(x, "_value", None)
    return isinstance(x, Array) and is_wide(x.dtype)


class PackedResults(tuple):
    """Results of a compiled program, after the plan to make the caller's result from them: ``(plan, values)``.

    JAX makes one in each call. A tuple takes a third of the time of an instance with attributes.
    """

    __slots__ = ()


_new_tuple = tuple.__new__
jax.tree_util.register_pytree_node(
    PackedResults, lambda packed: (packed[1], packed[0]), lambda plan, values: _new_tuple(PackedResults, (plan, values))
)


def rebuild(tree: TreeDef) -> Callable[[Sequence[Any]], Any]:
    """Return a function that builds such a tree from leaves.

    JAX's treedef if the order of leaves and keys agrees, in a third of the time.
    """
    treedef = jaxs_tree(tree)
    return tree.unflatten if treedef is None else treedef.unflatten


def jaxs_tree(tree: TreeDef) -> Any:
    """Return JAX's treedef for the same pytrees; ``None`` if it has another order of the leaves or of a dict's keys."""
    # NumPy's numbers, because a node around an array without axes makes an array of one.
    numbers = [*np.arange(tree.num_leaves)]
    found, treedef = jax.tree.flatten(unflatten(tree, numbers))
    if len(found) != len(numbers) or not all(map(operator.is_, found, numbers)):
        return None
    test = static_test(tree)
    return treedef if test is None or test(treedef.unflatten(numbers)) else None


def _run(primitive: Primitive, operands: tuple, params: dict) -> Any:
    try:
        return _applied(primitive, operands, params)
    except Exception as error:
        # JAX has no public name for the class.
        if type(error).__name__ != "ShardingTypeError":
            raise
    return _run_spread(primitive, operands, params)


def _run_spread(primitive: Primitive, operands: tuple, params: dict) -> Any:
    """Run a primitive on a mesh with explicit axes where JAX cannot infer the sharding of the result.

    The function computes the sharding and gives it to JAX.
    """
    numbers = [i for i, x in enumerate(operands) if isinstance(x, Array)]
    arrays = [operands[i] for i in numbers]
    shardings = [jax.typeof(x).sharding for x in arrays]
    spreads = [Spread(x.shape, _layout(s, x.ndim)) for x, s in zip(arrays, shardings, strict=True)]
    mesh = next(s.mesh for s in shardings if not s.mesh.empty)

    def on_mesh(*xs: Value) -> Any:
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
    function = as_compiled_function(lax, primitive, operands, params)
    return implementation(lax, *operands, **params) if function is None else function(*operands)


def _conform(operands: tuple) -> tuple:
    """Broadcast elementwise operands to one shape, and give Python scalars the dtype of the arrays that they meet."""
    operands = typed(operands)
    shapes = [x.shape for x in operands]
    shape = shapes[0] if all(other == shapes[0] for other in shapes) else np.broadcast_shapes(*shapes)
    return tuple([_expand(x, shape) for x in operands])


def _expand(x: Value, shape: tuple[int, ...]) -> Any:
    if x.shape == shape:
        return x
    offset = len(shape) - x.ndim
    if any(x.shape[i] != shape[offset + i] for i in range(x.ndim)):
        return _expand_ones(x, shape, offset)
    return _jax_lax.broadcast_in_dim(x, shape, tuple(range(offset, len(shape))))


def _expand_ones(x: Value, shape: tuple[int, ...], offset: int) -> Any:
    """Broadcast where ``x`` has axes of length 1: drop them, because ``broadcast_in_dim`` takes no such axes."""
    kept = tuple(i for i in range(x.ndim) if x.shape[i] == shape[offset + i])
    squeezed = _jax_lax.reshape(x, tuple(x.shape[i] for i in kept))
    return _jax_lax.broadcast_in_dim(squeezed, shape, tuple(offset + i for i in kept))


def compile_function(function: Callable[..., Any], **options: Any) -> Any:
    """Return ``jax.jit`` of a function that evaluates a graph."""
    return jax.jit(function, **options)


def compile_graph(graph: Graph) -> Callable[..., list]:
    """Return a function of flat operands that runs a graph compiled by ``jax.jit``."""
    wider, checks = with_checks(with_writes_in_place(graph))
    compiled = compile_in_stretches(wider) if is_long(graph) else compile_function(wider.evaluate)
    wide = any(is_wide(x.aval.dtype) for x in graph.outputs)

    def run(*operands: Value) -> list:
        with scope():
            results = checked(compiled(*operands), checks)
        return [lasting(y, operands) for y in results] if wide else results

    return run


def stablehlo(graph: Graph) -> str:
    """Return the module of a graph in StableHLO, the language that XLA reads: one function of its flat inputs."""

    def main(*leaves: jax.Array) -> list:
        return graph.evaluate(*leaves)

    main.__name__ = main.__qualname__ = graph.name if graph.name.isidentifier() else "graph"
    types = [jax.ShapeDtypeStruct(x.aval.shape, x.aval.dtype, weak_type=x.aval.weak) for x in graph.inputs]
    with scope():
        return compile_function(main).lower(*types).as_text()


def spreads() -> bool:
    """Return whether there are several devices, over which arrays can be sharded, or a mesh of one was used."""
    return jax.device_count() > 1 or bool(meshes)


def settle_effects() -> None:
    """Wait for all Python functions that programs call."""
    jax.effects_barrier()
