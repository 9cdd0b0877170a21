"""Programs whose every value is off by a few units in its last place: how far rounding may carry results."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tests.laws.fuzz.program import Program

# Which zero of several is the least is left to the processor; and XLA leaves out the addition of a start that is 0.
EITHER_ZERO = frozenset(
    {"maximum", "minimum", "fmax", "fmin", "extremum beside NaN", "ufunc reduce", "clip", "sort", "linspace"}
)
# Sums that may be zero only in one order of their terms. The sign of the zero differs between NumPy's ``dot`` and
# ``vdot``, and XLA has its own.
SUMS = frozenset({"product", "product with a number", "einsum", "reduction", "average", "trace"})


class Noise(NamedTuple):
    """Change of rounding: values move by ``size`` units in the last place of their dtype, or of a coarser one.

    ``turned``: a complex number is off in its direction too, as far as the rounding of a product makes it: that is
    known beside its size only, so that a part which is zero may have either sign.
    """

    rng: np.random.Generator
    size: float
    coarsest: float = 0.0
    turned: bool = False

    def __call__(self, x: Any) -> Any:
        """Return the changed value, Python numbers and traced values included; other values are returned unchanged."""
        if type(x) in {float, complex}:
            return x * (1 + self._relative(2.0**-52))
        dtype: Any = getattr(x, "dtype", None)
        if dtype is None or dtype.kind not in "fc":
            return x
        shape, eps = np.shape(x), float(np.finfo(dtype).eps)
        if dtype.kind == "c" and self.turned:
            return x * self._fitted(1 + self._relative(eps, shape) + 1j * self._relative(eps, shape), dtype)
        return x * self._fitted(1 + self._relative(eps, shape), np.finfo(dtype).dtype)

    def _relative(self, eps: float, shape: tuple[int, ...] = ()) -> Any:
        return self.size * max(eps, self.coarsest) * self.rng.standard_normal(shape)

    def _fitted(self, factor: Any, dtype: np.dtype) -> Any:
        # The factor is a weak number, so that it changes no dtype and keeps a Python number weak.
        return np.asarray(factor).astype(dtype) if np.shape(factor) else np.asarray(factor).item()


def run_with_noise(program: Program, namespace: Mapping[str, Any], noise: Noise) -> list[Any]:
    """Return the outputs when every inexact value is changed."""
    scope = {**namespace, **{name: noise(x) for name, x in program.arguments().items()}}
    for s in program.statements:
        y = noise(builtins.eval(s.expression, scope))
        scope[s.target] = _with_other_zeros(y, noise.rng, s.op in SUMS) if s.op in SUMS | EITHER_ZERO else y
    return [scope[name] for name in program.outputs]


def _with_other_zeros(x: Any, rng: np.random.Generator, summed: bool) -> Any:
    """Return a value whose zeros have other signs, or are the rounding error of a sum."""
    dtype = np.asarray(x).dtype
    if dtype.kind not in "fc":
        return x
    tiny = float(np.finfo(dtype).eps) * (1 + np.max(np.abs(x), initial=0, where=np.isfinite(x)))
    zeros = rng.choice(np.array([0.0, -0.0, *([tiny, -tiny] if summed else [])], dtype), np.shape(x))
    return np.where(np.equal(x, 0), zeros, x)[()]
