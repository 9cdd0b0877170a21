"""Sixteen programs with Python loops, and what they are called with. Each takes a number of rounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Program(NamedTuple):
    """A function of arrays that loops in Python.

    Args:
        f: the function; its result is a number.
        arguments: makes the arguments for a number of rounds.
        rounds: the number of rounds in the published table.
    """

    f: Callable[..., Any]
    arguments: Callable[[int], tuple[Any, ...]]
    rounds: int


def _normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(7).standard_normal(shape)


def recurrence(x: Any, a: Any) -> Any:
    y = np.zeros(len(x), like=x)
    y[0] = x[0]
    for t in range(1, len(x)):
        y[t] = np.tanh(a * y[t - 1] + x[t])
    return np.sum(y**2)


def ar2(x: Any, a: Any, b: Any) -> Any:
    ys = [x[0], x[1]]
    for t in range(2, len(x)):
        ys.append(a * ys[-1] + b * ys[-2] + x[t])
    return np.sum(np.stack(ys) ** 2)


def runge_kutta(y: Any, k: Any, rounds: Any) -> Any:
    def slope(y: Any) -> Any:
        return np.stack([y[1], -k * np.sin(y[0]) - 0.1 * y[1]])

    h = 0.01
    for _ in range(len(rounds)):
        k1 = slope(y)
        k2 = slope(y + 0.5 * h * k1)
        k3 = slope(y + 0.5 * h * k2)
        k4 = slope(y + h * k3)
        y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return np.sum(y**2)


def kalman(zs: Any, q: Any, r: Any) -> Any:
    dim = 4
    transition = np.eye(dim) + 0.1 * np.eye(dim, k=1)
    seen = np.eye(dim)[:2]
    m, p, loss = np.zeros(dim), np.eye(dim), 0.0
    for t in range(len(zs)):
        m = transition @ m
        p = transition @ p @ transition.T + q * np.eye(dim)
        s = seen @ p @ seen.T + r * np.eye(2)
        gain = np.linalg.solve(s, seen @ p).T
        residual = zs[t] - seen @ m
        loss = loss + residual @ np.linalg.solve(s, residual) + np.linalg.slogdet(s)[1]
        m = m + gain @ residual
        p = p - gain @ seen @ p
    return loss


def heat(u: Any, k: Any, rounds: Any) -> Any:
    u = u.copy()
    for _ in range(len(rounds)):
        u[1:-1] += k * (u[2:] - 2.0 * u[1:-1] + u[:-2])
    return np.sum(u**2)


def jacobi(u: Any, f: Any, rounds: Any) -> Any:
    u = u.copy()
    for _ in range(len(rounds)):
        u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - f[1:-1, 1:-1])
    return np.sum(u**2)


def garch(r: Any, w: Any, a: Any, b: Any) -> Any:
    variance, loss = w / (1.0 - a - b), 0.0
    for t in range(len(r)):
        loss = loss + np.log(variance) + r[t] ** 2 / variance
        variance = w + a * r[t] ** 2 + b * variance
    return loss


def recurrent(xs: Any, w: Any, u: Any, b: Any) -> Any:
    h = np.zeros((xs.shape[1], w.shape[0]))
    for t in range(len(xs)):
        h = np.tanh(h @ w + xs[t] @ u + b)
    return np.mean(h**2)


def descent(a: Any, y: Any, rate: Any, rounds: Any) -> Any:
    w = np.zeros(a.shape[1])
    for _ in range(len(rounds)):
        w = w - rate * (a.T @ (a @ w - y)) / len(y)
    return np.sum(w**2)


def lookback(z: Any, s0: Any, sigma: Any) -> Any:
    s = s0 * np.ones(z.shape[1])
    low = s
    dt = 1.0 / 250
    for t in range(len(z)):
        s = s * np.exp(-0.5 * sigma**2 * dt + sigma * np.sqrt(dt) * z[t])
        low = np.minimum(low, s)
    return np.mean(s - low)


def hidden_markov(logits: Any, seen: Any) -> Any:
    transition = np.exp(logits) / np.sum(np.exp(logits), axis=1, keepdims=True)
    alpha, loss = np.ones(len(logits)) / len(logits), 0.0
    for t in range(len(seen)):
        alpha = (alpha @ transition) * np.exp(-0.5 * (seen[t] - np.arange(len(logits))) ** 2)
        total = np.sum(alpha)
        alpha = alpha / total
        loss = loss - np.log(total)
    return loss


def tridiagonal(a: Any, b: Any, c: Any, d: Any) -> Any:
    n, like = len(d), a + b + c + d
    p, q, x = np.zeros(n, like=like), np.zeros(n, like=like), np.zeros(n, like=like)
    p[0], q[0] = c[0] / b[0], d[0] / b[0]
    for i in range(1, n):
        below = b[i] - a[i] * p[i - 1]
        p[i] = c[i] / below
        q[i] = (d[i] - a[i] * q[i - 1]) / below
    x[n - 1] = q[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = q[i] - p[i] * x[i + 1]
    return np.sum(x**2)


def numbers_by_round(x: Any, rounds: Any) -> Any:
    for t in range(len(rounds)):
        x = x + 0.1 * np.sin(x * (1.0 + 0.001 * t)) / (t + 1.0)
    return np.sum(x**2)


def odd_and_even(x: Any, a: Any, rounds: Any) -> Any:
    for t in range(len(rounds)):
        x = x + 0.1 * np.sin(a * x) if t % 2 else x * 0.99 - 0.01 * a
    return np.sum(x**2)


def newton_roots(c: Any) -> Any:
    total = 0.0
    for i in range(len(c)):
        x = 1.0
        for _ in range(8):
            x = x - (x**3 - c[i]) / (3.0 * x**2)
        total = total + x
    return total


def residual_layers(x: Any, layers: Any) -> Any:
    for layer in layers:
        x = x + np.tanh(x @ layer["w"] + layer["b"])
    return np.mean(x**2)


def _layers(n: int) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(3)
    return [{"w": rng.standard_normal((16, 16)) * 0.1, "b": np.zeros(16)} for _ in range(n)]


def _diagonals(n: int) -> tuple[np.ndarray, ...]:
    return _normal(n) * 0.1, 4.0 + 0.1 * _normal(n), _normal(n) * 0.1, _normal(n)


def _number(x: float) -> Any:
    return np.float64(x)


PROGRAMS: dict[str, Program] = {
    "recurrence": Program(recurrence, lambda n: (_normal(n), _number(0.5)), 10_000),
    "ar2": Program(ar2, lambda n: (_normal(n), _number(0.5), _number(0.2)), 5000),
    "runge_kutta": Program(runge_kutta, lambda n: (np.array([1.0, 0.0]), _number(2.0), np.zeros(n)), 2000),
    "kalman": Program(kalman, lambda n: (_normal(n, 2), _number(0.1), _number(0.5)), 1000),
    "heat": Program(heat, lambda n: (_normal(200), _number(0.2), np.zeros(n)), 2000),
    "jacobi": Program(jacobi, lambda n: (_normal(40, 40), _normal(40, 40), np.zeros(n)), 500),
    "garch": Program(garch, lambda n: (_normal(n), _number(0.1), _number(0.1), _number(0.8)), 5000),
    "recurrent": Program(
        recurrent, lambda n: (_normal(n, 16, 8), 0.1 * _normal(32, 32), 0.1 * _normal(8, 32), np.zeros(32)), 500
    ),
    "descent": Program(descent, lambda n: (_normal(50, 10), _normal(50), _number(0.05), np.zeros(n)), 1000),
    "lookback": Program(lookback, lambda n: (_normal(n, 5000), _number(1.0), _number(0.2)), 250),
    "hidden_markov": Program(hidden_markov, lambda n: (_normal(5, 5), _normal(n)), 1000),
    "tridiagonal": Program(tridiagonal, _diagonals, 2000),
    "numbers_by_round": Program(numbers_by_round, lambda n: (_normal(4), np.zeros(n)), 2000),
    "odd_and_even": Program(odd_and_even, lambda n: (_normal(4), _number(0.7), np.zeros(n)), 2000),
    "newton_roots": Program(newton_roots, lambda n: (np.abs(_normal(n)) + 0.5,), 500),
    "residual_layers": Program(residual_layers, lambda n: (_normal(8, 16), _layers(n)), 60),
}
