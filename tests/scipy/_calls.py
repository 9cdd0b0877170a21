"""Checks of each call of a SciPy function: SciPy's values, derivatives to second order, both engines, batches."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

import funcgrad as fg
from funcgrad._core.aval import is_inexact
from tests.laws._together import run_together


class Call(NamedTuple):
    """A call of a function of ours beside SciPy's.

    Args:
        f: the call, of the module, ours or SciPy's, and the arguments.
        args: arrays; those of inexact dtypes are differentiated.
        tolerance: relative to the largest number, of values and derivatives; of differences too.
        smooth: whether second derivatives are looked at.
        free: whether only derivatives count, as where SciPy chooses another sign.
    """

    f: Callable[..., Any]
    args: Sequence[Any]
    tolerance: float = 1e-9
    smooth: bool = True
    free: bool = False


def flat(y: Any) -> Any:
    """The real numbers of all results in one vector."""
    parts = []
    for leaf in fg.tree.leaves(y):
        row = np.reshape(leaf, (-1,))
        parts += [np.real(row), np.imag(row)] if row.dtype.kind == "c" else [row] if row.dtype.kind == "f" else []
    return np.concatenate(parts)


def moved(args: Sequence[Any], along: Sequence[Any], step: float) -> list[Any]:
    return [x + step * d for x, d in zip(args, along, strict=True)]


def differences(f: Callable[..., Any], args: Sequence[Any], along: Sequence[Any], step: float = 2e-3) -> Any:
    """The derivative along a direction, of sixth order in the step."""
    near, middle, far = [
        (f(*moved(args, along, k * step)) - f(*moved(args, along, -k * step))) / (2 * k * step) for k in (1, 2, 3)
    ]
    return (15 * near - 6 * middle + far) / 10


def check(call: Call, ours: Any, scipys: Any, rng: np.random.Generator) -> None:
    """Values and dtypes, tangents, cotangents and second derivatives, compiled without a compiler, and in batches."""
    args = [np.asarray(x) for x in call.args]
    plain = fg.tree.leaves(call.f(ours, *args))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = fg.tree.leaves(call.f(scipys, *args))
    assert len(plain) == len(expected)
    for got, want in zip(plain, map(np.asarray, expected), strict=True):
        assert np.shape(got) == want.shape
        if not call.free:
            # Counts and orders are of any integers.
            kinds = [y.dtype if y.dtype.kind != "i" else "i" for y in (np.asarray(got), want)]
            assert kinds[0] == kinds[1]
            near(got, want, call.tolerance)

    def f(*args: Any) -> Any:
        return flat(call.f(ours, *args))

    along = [direction(x, rng) for x in args]
    again = [direction(x, rng) for x in args]
    value, slope = fg.jvp(f, args, along)
    near(slope, differences(f, args, along), call.tolerance)
    weights = rng.normal(size=value.shape)
    _, pull = fg.vjp(f, *args)
    bars = pull(weights)
    total = sum(np.sum(np.real(bar * d)) for bar, d in zip(bars, along, strict=True) if is_inexact(d.dtype))
    near(total, np.sum(weights * slope), call.tolerance * max(1.0, float(np.sum(abs(weights * slope)))))
    if call.smooth:
        _, second = fg.jvp(lambda *xs: fg.jvp(f, xs, along)[1], args, again)
        near(second, differences(lambda *xs: fg.jvp(f, xs, along)[1], args, again), 10 * call.tolerance)
        _, by_pull = fg.jvp(lambda *xs: fg.vjp(f, *xs)[1](weights), args, again)
        crossed = sum(np.sum(np.real(bar * d)) for bar, d in zip(by_pull, along, strict=True) if is_inexact(d.dtype))
        near(crossed, np.sum(weights * second), 10 * call.tolerance * max(1.0, float(np.sum(abs(weights * second)))))
    near(fg.jit(f, engine="numpy")(*args), value, call.tolerance)
    moving = [
        np.stack([x, x + 0.01 * d]) if is_inexact(d.dtype) else np.stack([x, x])
        for x, d in zip(args, along, strict=True)
    ]
    each = np.stack([f(*[x[i] for x in moving]) for i in range(2)])
    near(fg.vmap(f)(*moving), each, call.tolerance)


def compiled(calls: dict[str, Call], ours: Any) -> dict[str, Any]:
    """The values and gradients of all of them by XLA, in few programs."""
    return run_together({name: (gradients(call, ours), list(call.args)) for name, call in calls.items()})


def gradients(call: Call, ours: Any) -> Callable[..., list[Any]]:
    """The value and what a cotangent of ones is pulled to."""

    def f(*args: Any) -> list[Any]:
        y, pull = fg.vjp(lambda *xs: flat(call.f(ours, *xs)), *args)
        return [y, *[bar for bar in pull(np.cos(np.arange(y.shape[0]))) if is_inexact(bar.dtype)]]

    return f


def direction(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if x.dtype.kind == "c":
        return (rng.normal(size=x.shape) + 1j * rng.normal(size=x.shape)).astype(x.dtype)
    return rng.normal(size=x.shape).astype(x.dtype) if x.dtype.kind == "f" else np.zeros(x.shape, x.dtype)


def near(got: Any, expected: Any, tolerance: float) -> None:
    expected = np.asarray(expected)
    scale = max(1.0, float(np.max(np.abs(expected), initial=0.0)))
    np.testing.assert_allclose(np.asarray(got), expected, rtol=0, atol=tolerance * scale)
