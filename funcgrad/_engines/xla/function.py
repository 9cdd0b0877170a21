"""Functions written in JAX, as flat functions that our primitives call and JAX differentiates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import jax
import numpy as np

from funcgrad._core.aval import Aval, is_inexact
from funcgrad._engines.xla.modes import inside_jax_trace
from funcgrad._engines.xla.run import as_arrays, as_numpy, scope
from funcgrad._types import Value


class JaxFunction:
    """A flat function written in JAX, for operands of given types, and the functions that JAX derives from it.

    Each derivative is a ``JaxFunction`` again, so JAX computes derivatives of any order.
    """

    def __init__(
        self, call: Callable[..., Sequence[Any]], avals: Sequence[Aval], name: str, compiled: bool = True
    ) -> None:
        self.name = name
        self._call = call
        self._avals = list(avals)
        self._compiled = compiled
        self._jitted = jax.jit(call) if compiled else call
        self._derived: dict[Any, Any] = {}

    def __call__(self, *xs: Value) -> list[Any]:
        """Run on arrays or on JAX's tracers."""
        return list(self._jitted(*as_arrays(xs)))

    def on_numpy(self, *xs: Value) -> list[Any]:
        """Run on NumPy arrays and return NumPy arrays, also while JAX traces an outer program.

        A function that closes over JAX's traced values returns traced values.
        """
        with scope():
            if not inside_jax_trace():
                return [as_numpy(y) for y in self._jitted(*as_arrays(xs))]
            try:
                with jax.ensure_compile_time_eval():
                    return [as_numpy(y) for y in self._jitted(*as_arrays(xs))]
            except (jax.errors.UnexpectedTracerError, jax.errors.TracerArrayConversionError):
                return list(self._jitted(*as_arrays(xs)))

    @cached_property
    def results(self) -> list[Aval]:
        """The types of the results."""
        structs = [jax.ShapeDtypeStruct(x.shape, x.dtype, weak_type=x.weak) for x in self._avals]
        with scope():
            return [Aval(y.shape, np.dtype(y.dtype)) for y in jax.eval_shape(self._call, *structs)]

    def pushed(self, moving: tuple[bool, ...]) -> JaxFunction:
        """Return the function of operands and tangents of the active ones: results and tangents of inexact ones."""

        def call(*values: Any) -> list[Any]:
            xs, x_dots = values[: len(moving)], values[len(moving) :]
            function, moved = self._of_moving(xs, moving)
            ys, y_dots = jax.jvp(function, moved, list(x_dots))
            return [*ys, *[y_dot for y, y_dot in zip(ys, y_dots, strict=True) if is_inexact(y.dtype)]]

        return self._derive(("jvp", moving), call, [*self._avals, *self._moved(moving)], "jvp")

    def pulled(self, moving: tuple[bool, ...]) -> tuple[JaxFunction, JaxFunction]:
        """Return two functions.

        The first maps operands to results and residuals. The second maps residuals and cotangents of the inexact
        results to cotangents.
        """
        key = "vjp", moving
        if key not in self._derived:
            # Store both at once. The second function needs the residuals' structure, which tracing its own first one
            # records; another thread may have made another pair in the meantime.
            self._derived.setdefault(key, self._pulled(moving))
        return self._derived[key]

    def _pulled(self, moving: tuple[bool, ...]) -> tuple[JaxFunction, JaxFunction]:
        trees = []

        def forward(*xs: Value) -> list[Any]:
            function, moved = self._of_moving(xs, moving)
            ys, pull = jax.vjp(function, *moved)
            residuals, treedef = jax.tree.flatten(pull)
            trees[:] = [treedef]
            return [*ys, *residuals]

        def backward(*values: Any) -> list[Any]:
            residuals, bars = values[: len(kept)], iter(values[len(kept) :])
            pull = jax.tree.unflatten(trees[0], residuals)
            return pull([next(bars) if is_inexact(y.dtype) else np.zeros(y.shape, jax.dtypes.float0) for y in ys])

        ys = self.results
        first = JaxFunction(forward, self._avals, f"vjp_{self.name}", self._compiled)
        kept = first.results[len(ys) :]
        bars = [y for y in ys if is_inexact(y.dtype)]
        return first, JaxFunction(backward, [*kept, *bars], f"transpose_{self.name}", self._compiled)

    def mapped(self, batched: tuple[bool, ...], size: int) -> JaxFunction:
        """Return the function mapped over a leading axis of some operands; all results have that axis."""
        axes = tuple([0 if flag else None for flag in batched])
        call = jax.vmap(self._call, axes, axis_size=size)
        pairs = zip(self._avals, batched, strict=True)
        avals = [Aval((size, *x.shape), x.dtype) if flag else x for x, flag in pairs]
        return self._derive(("vmap", batched, size), call, avals, "vmap")

    def _derive(self, key: Any, call: Callable[..., Any], avals: Sequence[Aval], prefix: str) -> JaxFunction:
        if key not in self._derived:
            self._derived[key] = JaxFunction(call, avals, f"{prefix}_{self.name}", self._compiled)
        return self._derived[key]

    def _of_moving(self, xs: Sequence[Any], moving: Sequence[bool]) -> tuple[Callable[..., list[Any]], list[Any]]:
        def function(*moved: Any) -> list[Any]:
            rest = iter(moved)
            return list(self._call(*[next(rest) if flag else x for x, flag in zip(xs, moving, strict=True)]))

        return function, [x for x, flag in zip(xs, moving, strict=True) if flag]

    def _moved(self, moving: Sequence[bool]) -> list[Aval]:
        return [Aval(x.shape, x.dtype) for x, flag in zip(self._avals, moving, strict=True) if flag]
