"""Barriers between operations, lowered for each platform: on a CPU they are operations of StableHLO, elsewhere none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.extend import core as _extend
from jax.extend.mlir.dialects import stablehlo
from jax.interpreters import ad, batching, mlir

from funcgrad._types import Value


def _identity(*xs: Value) -> list[Any]:
    return list(xs)


def _separate_tangent(x_dot: Any) -> Any:
    return x_dot if type(x_dot) is ad.Zero else separate_p.bind(x_dot)[0]


def _lowered_as_barrier(context: Any, *xs: Value) -> Sequence[Any]:
    del context
    return stablehlo.OptimizationBarrierOp(xs).results


# ``jax.lax.platform_dependent`` does the same by a branch for each platform, which takes 1.6 ms to lower per parameter.
separate_p = _extend.Primitive("separate")
separate_p.multiple_results = True
separate_p.def_impl(_identity)
separate_p.def_abstract_eval(_identity)
mlir.register_lowering(separate_p, lambda context, *xs: xs)
mlir.register_lowering(separate_p, _lowered_as_barrier, platform="cpu")
batching.primitive_batchers[separate_p] = lambda xs, axes: (separate_p.bind(*xs), axes)
# Cotangents need no barrier. A tangent is written into an array as its value is, so it needs the same.
ad.primitive_jvps[separate_p] = lambda primals, tangents: (
    separate_p.bind(*primals),
    list(map(_separate_tangent, tangents)),
)
ad.primitive_transposes[separate_p] = lambda y_bars, *xs: y_bars


def _stored(x: jax.Array) -> jax.Array:
    """Return the array after a loop of no rounds, which XLA neither removes nor fuses with other operations.

    The barrier hides from XLA that there are no rounds.
    """
    runs = lax.optimization_barrier(np.zeros((), bool))
    return lax.while_loop(lambda state: state[0], lambda state: (state[0], lax.full_like(x, 0)), (runs, x))[1]


# A value that XLA computes into memory of its own. In a fused loop that writes in place, XLA's CPU backend may miss
# that the written value reads the array under another shape, and then reads what it has just written
# (github.com/openxla/xla/issues/49176). A barrier is not enough, because XLA drops barriers before it fuses.
stored_p = _extend.Primitive("stored")
stored_p.def_impl(lambda x: x)
stored_p.def_abstract_eval(lambda x: x)
mlir.register_lowering(stored_p, lambda context, x: [x])
mlir.register_lowering(stored_p, mlir.lower_fun(_stored, multiple_results=False), platform="cpu")
batching.primitive_batchers[stored_p] = lambda xs, axes: (stored_p.bind(*xs), axes[0])
# The tangent is written as the value is; a cotangent is not written.
ad.deflinear2(stored_p, lambda x_bar, x: [x_bar])
