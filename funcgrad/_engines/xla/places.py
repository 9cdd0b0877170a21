"""Where arrays lie: values put beside others, and results put where what they replace lay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.core
import jax.extend.core
import numpy as np
from jax.extend.mlir.dialects import sdy
from jax.interpreters import ad, batching, mlir
from jax.sharding import AxisType

from funcgrad._engines.xla.modes import scope


def is_jax_tracer(x: Any) -> bool:
    """Whether ``x`` is a tracer of JAX: a value that ends with JAX's trace."""
    return isinstance(x, jax.core.Tracer)


def alike(y: Any, x: Any) -> Any:
    """``y`` spread over devices as ``x`` is, which it replaces.

    Of a program the compiler decides how a result lies, and takes it from whatever operand is spread: parameters that
    are replicated would come out of a step spread as their momentum buffers are.
    """
    if not is_jax_tracer(y) and not is_jax_tracer(x):
        moves = isinstance(x, jax.Array) and isinstance(y, jax.Array) and x.committed
        return y if not moves or y.sharding.is_equivalent_to(x.sharding, y.ndim) else jax.device_put(y, x.sharding)
    sharding, before = jax.typeof(x).sharding, jax.typeof(y).sharding
    kinds = set() if sharding.mesh.empty else set(sharding.mesh.axis_types)
    if AxisType.Manual in kinds:
        # Inside shard_map each device has its own part.
        return y
    if AxisType.Explicit in kinds and before != sharding:
        y = jax.sharding.reshard(y, sharding)
    return y if kinds == {AxisType.Explicit} else _alike_p.bind(y, x)


def _lowered_alike(context: Any, y: Any, x: Any) -> list[Any]:
    if jax.config.jax_use_shardy_partitioner:  # pyright: ignore[reportAttributeAccessIssue]  (defined when JAX is imported)
        group = context.module_context.new_channel()
        sdy.sharding_group(x, group)
        sdy.sharding_group(y, group)
    return [y]


# ``jax.experimental.shard_alike`` is one too, but JAX (0.10) lowers it once for all pairs of a type, which makes one
# group of them all.
_alike_p = jax.extend.core.Primitive("alike")
_alike_p.def_impl(lambda y, x: y)
_alike_p.def_abstract_eval(lambda y, x: y)
mlir.register_lowering(_alike_p, _lowered_alike, cacheable=False)
# Mapped along different axes, or one of them alone, they are not of one shape.
batching.primitive_batchers[_alike_p] = lambda xs, axes: (
    _alike_p.bind(*xs) if axes[0] == axes[1] else xs[0],
    axes[0],
)
ad.primitive_jvps[_alike_p] = lambda primals, tangents: (_alike_p.bind(*primals), tangents[0])


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


def array_like(value: Any, x: Any) -> Any:
    """A NumPy array as a ``jax.Array`` with the sharding of ``x``."""
    with scope():
        if not x.is_fully_addressable:
            # Every process has the whole value, and puts its parts where they belong.
            return jax.make_array_from_callback(value.shape, x.sharding, lambda part: value[part])
        return jax.device_put(value, x.sharding if x.committed else None)


def as_arrays(xs: Sequence[Any]) -> list[Any]:
    """Values as arrays in JAX's current mode.

    Left to ``jax.jit``, which ``asarray`` without a dtype uses too (0.10), a float64 NumPy array now and then reaches a
    program compiled in the other mode: the dtype is therefore said.
    """
    return [x if isinstance(x, jax.Array) or not hasattr(x, "dtype") else _as_array(x) for x in xs]


def _as_array(x: Any) -> jax.Array:
    dtype = jax.dtypes.canonicalize_dtype(x.dtype)
    return jax.numpy.asarray(np.asarray(x, dtype), dtype=dtype)
