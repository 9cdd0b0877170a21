"""Put values on devices: next to other values, or where the array was that a result replaces."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.core
import numpy as np
from jax.extend import core as _extend
from jax.extend.mlir.dialects import sdy
from jax.interpreters import ad, batching, mlir
from jax.sharding import AxisType

from funcgrad._engines.xla.modes import scope
from funcgrad._types import Value


def is_jax_tracer(x: object) -> bool:
    """Return whether ``x`` is a tracer of JAX: a value that is valid only until JAX's trace ends."""
    return isinstance(x, jax.core.Tracer)


def alike(y: Value, x: Value) -> Any:
    """Return ``y`` with the sharding of ``x``, which it replaces.

    The compiler chooses the sharding of a program's result, and may take it from any sharded operand. Replicated
    parameters would come out of a step with the sharding of their momentum buffers.
    """
    if not is_jax_tracer(y) and not is_jax_tracer(x):
        moves = isinstance(x, jax.Array) and isinstance(y, jax.Array) and x.committed
        return y if not moves or _lies_like(y, x) else jax.device_put(y, x.sharding)
    sharding, before = jax.typeof(x).sharding, jax.typeof(y).sharding
    kinds = set() if sharding.mesh.empty else set(sharding.mesh.axis_types)
    if AxisType.Manual in kinds:
        # Inside shard_map each device has its own part.
        return y
    if AxisType.Explicit in kinds and before != sharding:
        y = jax.sharding.reshard(y, sharding)
    return y if kinds == {AxisType.Explicit} else _alike_p.bind(y, x)


def _lies_like(y: jax.Array, x: jax.Array) -> bool:
    """Return whether two arrays of one shape have one sharding. With explicit axes it is part of their types."""
    return y.sharding.is_equivalent_to(x.sharding, y.ndim) and jax.typeof(y).sharding == jax.typeof(x).sharding


def _lowered_alike(context: Any, y: Value, x: Value) -> list[Any]:
    if jax.config.jax_use_shardy_partitioner:  # pyright: ignore[reportAttributeAccessIssue]  (defined when JAX is imported)
        group = context.module_context.new_channel()
        sdy.sharding_group(x, group)
        sdy.sharding_group(y, group)
    return [y]


# ``jax.experimental.shard_alike`` does the same. But JAX (0.10) lowers it once for all pairs of one type, which puts
# all of them into one group.
_alike_p = _extend.Primitive("alike")
_alike_p.def_impl(lambda y, x: y)
_alike_p.def_abstract_eval(lambda y, x: y)
mlir.register_lowering(_alike_p, _lowered_alike, cacheable=False)
# If they are mapped along different axes, or only one is mapped, their shapes differ, and the result stays as it is.
batching.primitive_batchers[_alike_p] = lambda xs, axes: (
    _alike_p.bind(*xs) if axes[0] == axes[1] else xs[0],
    axes[0],
)
ad.primitive_jvps[_alike_p] = lambda primals, tangents: (_alike_p.bind(*primals), tangents[0])


def beside(value: Value, x: Value) -> Any:
    """Return a NumPy value on the devices of ``x`` if ``x`` was put there explicitly; else return it unchanged.

    The result of a compiled step is on the devices of that step. A value that is there from the start has one type in
    the first step and in the second, so the step is compiled once.
    """
    if is_jax_tracer(x) or not x.committed:
        return value
    sharding = x.sharding
    if isinstance(sharding, jax.sharding.NamedSharding):
        sharding = jax.sharding.NamedSharding(sharding.mesh, jax.sharding.PartitionSpec())
    with scope():
        return jax.device_put(value, sharding)


def array_like(value: Value, x: Value) -> Any:
    """Return a NumPy array as a ``jax.Array`` with the sharding of ``x``."""
    with scope():
        if not x.is_fully_addressable:
            # Every process has the whole value, and puts its parts on its own devices.
            return jax.make_array_from_callback(value.shape, x.sharding, lambda part: value[part])
        return jax.device_put(value, x.sharding if x.committed else None)


def as_arrays(xs: Sequence[Any]) -> list[Any]:
    """Return values as arrays in JAX's current mode.

    The dtype is given explicitly. Without it (``asarray`` uses ``jax.jit``, JAX 0.10) a float64 NumPy array sometimes
    reaches a program that was compiled in the other mode.
    """
    return [x if isinstance(x, jax.Array) or not hasattr(x, "dtype") else _as_array(x) for x in xs]


def _as_array(x: Value) -> jax.Array:
    dtype = jax.dtypes.canonicalize_dtype(x.dtype)
    return jax.numpy.asarray(np.asarray(x, dtype), dtype=dtype)
