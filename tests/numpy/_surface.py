"""A surface function, written once over a module: NumPy runs it plainly and traced, JAX says what its gradient is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import funcgrad as fg
from funcgrad._core.aval import is_inexact

# ``f(module, *arrays)``, with ``module`` standing for ``np``.
Surface = Callable[..., Any]


def check_surface(f: Surface, args: Sequence[Any], *, jax_f: Surface | None = None, tolerance: float = 1e-10) -> None:
    """Values, dtypes and gradients of plain NumPy code under our transforms, on both engines.

    Args:
        f: the function, of the module (``np``) and the arrays.
        args: inexact ones are differentiated.
        jax_f: what JAX runs instead, where ``jax.numpy`` lacks the function or does not compile it.
        tolerance: relative to the largest element.
    """
    expected = np.asarray(f(np, *args))
    numbers = [i for i, x in enumerate(args) if is_inexact(np.asarray(x).dtype)]

    def value(*args: Any) -> Any:
        return f(np, *args)

    graph = fg.make_graph(value)(*args)
    same(graph(*args), expected, tolerance)
    differentiable = is_inexact(expected.dtype) and bool(numbers)
    weights = np.asarray(np.random.default_rng(1).normal(size=expected.shape), expected.dtype)

    def on_jax(*xs: Any) -> tuple[Any, Any]:
        """Our value by XLA and JAX's gradient, in one program; what is not differentiated JAX's code may look at."""
        if not differentiable:
            return graph(*xs), []
        whole = [x if i in numbers else args[i] for i, x in enumerate(xs)]
        gradient = jax.grad(lambda *args: _loss(jnp, (jax_f or f)(jnp, *args), weights), argnums=numbers)
        return graph(*xs), gradient(*whole)

    with jax.enable_x64(True):
        by_xla, reference = jax.jit(on_jax)(*args)
    same(by_xla, expected, tolerance)
    if not differentiable:
        return
    gradient = fg.grad(lambda *args: _loss(np, f(np, *args), weights), argnums=numbers)
    got, staged = gradient(*args), fg.make_graph(gradient)(*args)(*args)
    for i, x_bar, staged_bar, x_bar_of_jax in zip(numbers, got, staged, reference, strict=True):
        assert np.asarray(x_bar).dtype == np.asarray(args[i]).dtype
        same(x_bar, np.asarray(x_bar_of_jax), tolerance)
        same(staged_bar, np.asarray(x_bar_of_jax), tolerance)


def _loss(m: Any, y: Any, weights: np.ndarray) -> Any:
    return m.sum(m.real(y * weights)) if weights.dtype.kind == "c" else m.sum(y * weights)


def same(got: Any, expected: np.ndarray, tolerance: float) -> None:
    """Equal in shape and dtype, and in value within the tolerance."""
    got = np.asarray(got)
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0))) if expected.dtype != bool else 1.0
    np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance * scale)
