"""The programs of `_loops.py`, by hand in ``jax.lax.scan``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


def recurrence(x: Any, a: Any) -> Any:
    def step(y: Any, row: Any) -> Any:
        y = jnp.tanh(a * y + row)
        return y, y

    _, ys = lax.scan(step, x[0], x[1:])
    return x[0] ** 2 + jnp.sum(ys**2)


def ar2(x: Any, a: Any, b: Any) -> Any:
    def step(pair: Any, row: Any) -> Any:
        y = a * pair[1] + b * pair[0] + row
        return (pair[1], y), y

    _, ys = lax.scan(step, (x[0], x[1]), x[2:])
    return jnp.sum(x[:2] ** 2) + jnp.sum(ys**2)


def runge_kutta(y: Any, k: Any, rounds: Any) -> Any:
    def slope(y: Any) -> Any:
        return jnp.stack([y[1], -k * jnp.sin(y[0]) - 0.1 * y[1]])

    h = 0.01

    def step(y: Any, _: Any) -> Any:
        k1 = slope(y)
        k2 = slope(y + 0.5 * h * k1)
        k3 = slope(y + 0.5 * h * k2)
        k4 = slope(y + h * k3)
        return y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4), None

    y, _ = lax.scan(step, y, None, len(rounds))
    return jnp.sum(y**2)


def kalman(zs: Any, q: Any, r: Any) -> Any:
    dim = 4
    transition = jnp.eye(dim) + 0.1 * jnp.eye(dim, k=1)
    seen = jnp.eye(dim)[:2]

    def step(state: Any, z: Any) -> Any:
        m, p, loss = state
        m = transition @ m
        p = transition @ p @ transition.T + q * jnp.eye(dim)
        s = seen @ p @ seen.T + r * jnp.eye(2)
        gain = jnp.linalg.solve(s, seen @ p).T
        residual = z - seen @ m
        loss = loss + residual @ jnp.linalg.solve(s, residual) + jnp.linalg.slogdet(s)[1]
        return (m + gain @ residual, p - gain @ seen @ p, loss), None

    (_, _, loss), _ = lax.scan(step, (jnp.zeros(dim), jnp.eye(dim), 0.0), zs)
    return loss


def heat(u: Any, k: Any, rounds: Any) -> Any:
    def step(u: Any, _: Any) -> Any:
        return u.at[1:-1].add(k * (u[2:] - 2.0 * u[1:-1] + u[:-2])), None

    u, _ = lax.scan(step, u, None, len(rounds))
    return jnp.sum(u**2)


def jacobi(u: Any, f: Any, rounds: Any) -> Any:
    def step(u: Any, _: Any) -> Any:
        sides = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
        return u.at[1:-1, 1:-1].set(0.25 * (sides - f[1:-1, 1:-1])), None

    u, _ = lax.scan(step, u, None, len(rounds))
    return jnp.sum(u**2)


def garch(r: Any, w: Any, a: Any, b: Any) -> Any:
    def step(state: Any, x: Any) -> Any:
        variance, loss = state
        return (w + a * x**2 + b * variance, loss + jnp.log(variance) + x**2 / variance), None

    (_, loss), _ = lax.scan(step, (w / (1.0 - a - b), 0.0), r)
    return loss


def recurrent(xs: Any, w: Any, u: Any, b: Any) -> Any:
    h = jnp.zeros((xs.shape[1], w.shape[0]))
    h, _ = lax.scan(lambda h, x: (jnp.tanh(h @ w + x @ u + b), None), h, xs)
    return jnp.mean(h**2)


def descent(a: Any, y: Any, rate: Any, rounds: Any) -> Any:
    w = jnp.zeros(a.shape[1])
    w, _ = lax.scan(lambda w, _: (w - rate * (a.T @ (a @ w - y)) / len(y), None), w, None, len(rounds))
    return jnp.sum(w**2)


def lookback(z: Any, s0: Any, sigma: Any) -> Any:
    dt = 1.0 / 250

    def step(state: Any, row: Any) -> Any:
        s, low = state
        s = s * jnp.exp(-0.5 * sigma**2 * dt + sigma * jnp.sqrt(dt) * row)
        return (s, jnp.minimum(low, s)), None

    s = s0 * jnp.ones(z.shape[1])
    (s, low), _ = lax.scan(step, (s, s), z)
    return jnp.mean(s - low)


def hidden_markov(logits: Any, seen: Any) -> Any:
    transition = jnp.exp(logits) / jnp.sum(jnp.exp(logits), axis=1, keepdims=True)

    def step(state: Any, x: Any) -> Any:
        alpha, loss = state
        alpha = (alpha @ transition) * jnp.exp(-0.5 * (x - jnp.arange(len(logits))) ** 2)
        total = jnp.sum(alpha)
        return (alpha / total, loss - jnp.log(total)), None

    (_, loss), _ = lax.scan(step, (jnp.ones(len(logits)) / len(logits), 0.0), seen)
    return loss


def tridiagonal(a: Any, b: Any, c: Any, d: Any) -> Any:
    def forward(pair: Any, row: Any) -> Any:
        p, q = pair
        a, b, c, d = row
        below = b - a * p
        found = c / below, (d - a * q) / below
        return found, found

    first = c[0] / b[0], d[0] / b[0]
    last, (p, q) = lax.scan(forward, first, (a[1:], b[1:], c[1:], d[1:]))
    rows = jnp.concatenate([first[0][None], p[:-1]]), jnp.concatenate([first[1][None], q[:-1]])

    def backward(x: Any, row: Any) -> Any:
        x = row[1] - row[0] * x
        return x, x

    _, xs = lax.scan(backward, last[1], rows, reverse=True)
    return jnp.sum(xs**2) + last[1] ** 2


def numbers_by_round(x: Any, rounds: Any) -> Any:
    def step(x: Any, t: Any) -> Any:
        return x + 0.1 * jnp.sin(x * (1.0 + 0.001 * t)) / (t + 1.0), None

    x, _ = lax.scan(step, x, jnp.arange(len(rounds)))
    return jnp.sum(x**2)


def odd_and_even(x: Any, a: Any, rounds: Any) -> Any:
    def step(x: Any, _: Any) -> Any:
        x = x * 0.99 - 0.01 * a
        return x + 0.1 * jnp.sin(a * x), None

    x, _ = lax.scan(step, x, None, len(rounds) // 2)
    return jnp.sum(x**2)


def newton_roots(c: Any) -> Any:
    def root(total: Any, c: Any) -> Any:
        x, _ = lax.scan(lambda x, _: (x - (x**3 - c) / (3.0 * x**2), None), 1.0, None, 8)
        return total + x, None

    return lax.scan(root, 0.0, c)[0]


def residual_layers(x: Any, layers: Any) -> Any:
    stacked = jax.tree.map(lambda *each: jnp.stack(each), *layers)
    x, _ = lax.scan(lambda x, layer: (x + jnp.tanh(x @ layer["w"] + layer["b"]), None), x, stacked)
    return jnp.mean(x**2)


PROGRAMS: dict[str, Callable[..., Any]] = {
    f.__name__: f
    for f in (
        recurrence,
        ar2,
        runge_kutta,
        kalman,
        heat,
        jacobi,
        garch,
        recurrent,
        descent,
        lookback,
        hidden_markov,
        tridiagonal,
        numbers_by_round,
        odd_and_even,
        newton_roots,
        residual_layers,
    )
}
