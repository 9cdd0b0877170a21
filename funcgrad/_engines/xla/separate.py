"""A barrier between operations, lowered for each platform: one operation of StableHLO on a CPU, none elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax.extend import core as _extend
from jax.extend.mlir.dialects import stablehlo
from jax.interpreters import ad, batching, mlir

from funcgrad._types import Value


def _identity(*xs: Value) -> list[Any]:
    return list(xs)


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
# Cotangents and tangents need no barrier.
ad.primitive_jvps[separate_p] = lambda primals, tangents: (separate_p.bind(*primals), list(tangents))
