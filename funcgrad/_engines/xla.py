"""The XLA engine: primitives bound to ``jax.lax``, in JAX's scoped 64-bit mode. Nothing else imports JAX."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import jax
import jax.core
import jax.extend.core
import numpy as np
from jax import lax as _jax_lax

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.primitive import Primitive

Array = jax.Array


def _state_outside_any_trace() -> Any:
    """JAX's trace state in a new thread: this one may be inside a ``jax.jit`` while the engine is loaded."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(jax.extend.core.get_opaque_trace_state).result()


_outside_any_trace = _state_outside_any_trace()


class _Lax:
    """``jax.lax`` as the primitives see it, with what depends on JAX's mode and on whether it is tracing."""

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
        return jax.pure_callback(function, structs, *xs)


lax = _Lax()


def inside_jax_trace() -> bool:
    """Whether JAX is tracing in this thread; its mode is then not ours to choose."""
    return jax.extend.core.get_opaque_trace_state() != _outside_any_trace


def scope() -> AbstractContextManager[Any]:
    """The mode in which dtypes mean what they mean in NumPy; the mode in force inside somebody else's trace."""
    return nullcontext() if inside_jax_trace() else jax.enable_x64(True)


def run(primitive: Primitive, operands: tuple, params: dict) -> Any:
    """Apply a primitive to operands of which at least one is a ``jax.Array`` or a JAX tracer."""
    if inside_jax_trace():
        return _run(primitive, operands, params)
    with jax.enable_x64(True):
        return _run(primitive, operands, params)


def _run(primitive: Primitive, operands: tuple, params: dict) -> Any:
    if primitive.elementwise:
        operands = _conform(operands)
    implementation = primitive.xla
    if isinstance(implementation, str):
        return getattr(lax, implementation)(*operands, **params)
    return implementation(lax, *operands, **params)


def _conform(operands: tuple) -> tuple:
    """Give elementwise operands one shape, and Python scalars the dtype of the array they meet."""
    shapes = [x.shape for x in operands if hasattr(x, "shape")]
    shape = shapes[0] if all(other == shapes[0] for other in shapes) else np.broadcast_shapes(*shapes)
    arrays = [x for x in operands if hasattr(x, "dtype")]
    dtype = next((x.dtype for x in arrays if x.dtype != bool), arrays[0].dtype)
    return tuple([_expand(x, shape, dtype) for x in operands])


def _expand(x: Any, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    if not hasattr(x, "dtype"):
        x = np.asarray(x, aval_of(x).dtype if isinstance(x, bool) else dtype)
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


def is_jax_tracer(x: Any) -> bool:
    """Whether ``x`` is a tracer of JAX: a value that ends with JAX's trace."""
    return isinstance(x, jax.core.Tracer)


def beside(value: Any, x: Any) -> Any:
    """A NumPy value on the devices of ``x``, where ``x`` is an array that was put somewhere on purpose; else unchanged.

    What comes out of a compiled step lies on the devices of that step: a value that lay there from the start has the
    same type for the compiler at the first step and at the second.
    """
    if is_jax_tracer(x) or not x.committed:
        return value
    sharding = x.sharding
    if isinstance(sharding, jax.sharding.NamedSharding):
        sharding = jax.sharding.NamedSharding(sharding.mesh, jax.sharding.PartitionSpec())
    with scope():
        return jax.device_put(value, sharding)
