"""Derivatives of a program as single numbers: by every mode, under random nests, by differences and by JAX."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import jax
import numpy as np

import funcgrad as fg
from tests.laws.fuzz.modules import custom_jvp, custom_vjp
from tests.laws.fuzz.routes import direction

Function = Callable[[Any], list[Any]]
Scalar = Callable[[Any], Any]


def pairing(bars: Any, dots: Any) -> Any:
    """Return ``Re sum(bar * dot)`` over two lists of leaves, by NumPy's own functions."""
    pairs = zip(fg.tree.leaves(bars), fg.tree.leaves(dots), strict=True)
    return sum((np.sum(np.real(bar * dot)) for bar, dot in pairs), 0.0)


def size_of_pairing(bars: Any, dots: Any) -> float:
    pairs = zip(fg.tree.leaves(bars), fg.tree.leaves(dots), strict=True)
    return float(sum(np.sum(np.abs(np.asarray(bar) * np.asarray(dot))) for bar, dot in pairs))


def directions(trees: Any, rng: Random) -> Any:
    return fg.tree.map(lambda x: direction(x, rng), trees)


def _scan_once(f: Function) -> Function:
    return lambda t: [y[0] for y in fg.scan(lambda c, _: (c, f(t)), 0.0, None, length=1)[1]]


def _batched(f: Function) -> Function:
    return lambda t: [y[1] for y in fg.vmap(f)(fg.tree.map(lambda x: np.stack([x, x]), t))]


# Transforms that do not change the function.
WRAPPERS: dict[str, Callable[[Function], Function]] = {
    "jit_numpy": lambda f: fg.jit(f, engine="numpy"),
    "checkpoint": fg.checkpoint,
    "graph": lambda f: lambda t: fg.make_graph(f)(t)(t),
    "vjp": lambda f: lambda t: fg.vjp(f, t)[0],
    "jvp": lambda f: lambda t: fg.jvp(f, (t,), (fg.tree.map(np.ones_like, t),))[0],
    "linearize": lambda f: lambda t: fg.linearize(f, t)[0],
    "scan": _scan_once,
    "cond": lambda f: lambda t: fg.cond(True, f, f, t),
    "vmap": _batched,
    "custom_vjp": custom_vjp,
    "custom_jvp": custom_jvp,
}


def nested(f: Function, names: list[str]) -> Function:
    for name in names:
        f = WRAPPERS[name](f)
    return f


def forward(f: Function, t: Any, t_dot: Any, y_bars: Any) -> Any:
    return pairing(y_bars, fg.jvp(f, (t,), (t_dot,))[1])


def reverse(f: Function, t: Any, t_dot: Any, y_bars: Any) -> Any:
    return pairing(fg.vjp(f, t)[1](y_bars)[0], t_dot)


def linear(f: Function, t: Any, t_dot: Any, y_bars: Any) -> Any:
    return pairing(y_bars, fg.linearize(f, t)[1](t_dot))


MODES: dict[str, Callable[..., Any]] = {"jvp": forward, "vjp": reverse, "linearize": linear}


def differences(f: Scalar, t: Any, t_dot: Any) -> float | None:
    """Return the slope of ``f`` along a direction by five-point differences, if two step sizes agree.

    A kink nearby shows in the difference of the slopes to the right and to the left, which falls with the step of a
    smooth function only.
    """

    def at(s: float) -> float:
        return float(f(fg.tree.map(lambda x, d: x + s * d, t, t_dot)))

    found, bends = [], []
    try:
        centre = at(0.0)
        for h in (1e-3, 1e-4):
            a, b, c, d = at(-2 * h), at(-h), at(h), at(2 * h)
            found.append((8 * (c - b) - (d - a)) / (12 * h))
            bends.append(abs(c - 2 * centre + b) / h)
    except (ValueError, TypeError):
        # A mask with other numbers gives a result of another length. Python has no order of complex numbers.
        return None
    size = abs(found[1]) + 1e-3
    if not all(np.isfinite(found)) or not abs(found[0] - found[1]) <= 1e-6 * size + 1e-8 * abs(centre):
        return None
    return found[1] if bends[1] <= 0.12 * bends[0] + 1e-6 * size else None


def by_jax(f: Function, t: Any, t_dot: Any, y_bars: Any) -> tuple[Any, Any, Any]:
    """Return values, pulled-back cotangents and pushed tangents of JAX, in 64 bits."""
    with jax.enable_x64(True):

        def everything(t: Any, t_dot: Any, y_bars: Any) -> Any:
            ys, pull = jax.vjp(f, t)
            return ys, pull(y_bars)[0], jax.jvp(f, (t,), (t_dot,))[1]

        return jax.device_get(jax.jit(everything)(t, t_dot, y_bars))
