"""Programs that fill arrays, as they stand in textbooks: NumPy's values, slopes of those by every way, on both engines.

They make their arrays by NumPy's own functions and know nothing of us, but for `fg.intercept`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.signal
import scipy.special

import funcgrad as fg

RNG = np.random.default_rng(0)


def thomas(a: Any, b: Any, c: Any, d: Any) -> Any:
    """Solve a tridiagonal system (Thomas, 1949) in place: forward sweep, back substitution."""
    n = len(d)
    b, x = b.copy(), np.array(d, dtype=float)
    for i in range(1, n):
        w = a[i - 1] / b[i - 1]
        b[i] = b[i] - w * c[i - 1]
        x[i] -= w * x[i - 1]
    x[-1] /= b[-1]
    for i in range(n - 2, -1, -1):
        x[i] = (x[i] - c[i] * x[i + 1]) / b[i]
    return x


def lotka(y: Any, p: Any) -> Any:
    """The rates of prey and predators."""
    dy = np.empty(2)
    dy[0] = p[0] * y[0] - p[1] * y[0] * y[1]
    dy[1] = p[2] * y[0] * y[1] - p[3] * y[1]
    return dy


def euler(y0: Any, p: Any) -> Any:
    """Forward Euler, filling a trajectory."""
    y = np.zeros((9, 2))
    y[0] = y0
    for t in range(8):
        y[t + 1] = y[t] + 0.05 * lotka(y[t], p)
    return y


def runge_kutta(y0: Any, p: Any) -> Any:
    """The classical method of fourth order, filling a trajectory."""
    h, y = 0.1, np.zeros((4, 2))
    y[0, :] = y0
    for t in range(3):
        k1 = lotka(y[t], p)
        k2 = lotka(y[t] + h / 2 * k1, p)
        k3 = lotka(y[t] + h / 2 * k2, p)
        k4 = lotka(y[t] + h * k3, p)
        y[t + 1, :] = y[t, :]
        y[t + 1, :] += h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def gauss_seidel(a: Any, b: Any) -> Any:
    """Sweeps that use what they have just written."""
    x = np.zeros_like(b)
    for _ in range(3):
        for i in range(len(b)):
            s = a[i, :i] @ x[:i] + a[i, i + 1 :] @ x[i + 1 :]
            x[i] = (b[i] - s) / a[i, i]
    return x


def edit_distance(costs: Any) -> Any:
    """Wagner and Fischer, 1974: costs of deletion, insertion and substitution."""
    s, t = "kite", "sits"
    d = np.zeros((len(s) + 1, len(t) + 1))
    for i in range(1, len(s) + 1):
        d[i, 0] = d[i - 1, 0] + costs[0]
    for j in range(1, len(t) + 1):
        d[0, j] = d[0, j - 1] + costs[1]
    for i in range(1, len(s) + 1):
        for j in range(1, len(t) + 1):
            same = 0.0 if s[i - 1] == t[j - 1] else 1.0
            d[i, j] = np.min(
                np.stack([d[i - 1, j] + costs[0], d[i, j - 1] + costs[1], d[i - 1, j - 1] + same * costs[2]])
            )
    return d


def viterbi(start: Any, transition: Any, emission: Any) -> Any:
    """The score of the best path in log space, and how it was reached."""
    steps, states = emission.shape
    score, back = np.full((steps, states), -np.inf), np.zeros((steps, states), int)
    score[0] = start + emission[0]
    for t in range(1, steps):
        for j in range(states):
            candidates = score[t - 1] + transition[:, j]
            back[t, j] = np.argmax(candidates)
            score[t, j] = np.max(candidates) + emission[t, j]
    return np.max(score[-1])


def cholesky(a: Any) -> Any:
    """Row by row."""
    n = a.shape[0]
    lower = np.zeros((n, n))
    for i in range(n):
        for j in range(i + 1):
            s = np.dot(lower[i, :j], lower[j, :j])
            if i == j:
                lower[i, j] = np.sqrt(a[i, i] - s)
            else:
                lower[i, j] = (a[i, j] - s) / lower[j, j]
    return lower


def lu(a: Any, b: Any) -> Any:
    """Elimination in place, with row swaps, and the solution by both factors."""
    a, rows, n = a.copy(), np.arange(len(b)), len(b)
    for k in range(n - 1):
        pivot = k + np.argmax(np.abs(a[k:, k]))
        a[[k, pivot]] = a[[pivot, k]]
        rows[[k, pivot]] = rows[[pivot, k]]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    x = b[rows]
    for i in range(n):
        x[i] -= a[i, :i] @ x[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (x[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x


def iir(b: Any, a: Any, x: Any) -> Any:
    """A recursive filter, direct form II transposed."""
    y, z = np.zeros(len(x)), np.zeros(len(b))
    for n in range(len(x)):
        y[n] = b[0] * x[n] + z[0]
        for k in range(1, len(b)):
            z[k - 1] = b[k] * x[n] + z[k] - a[k] * y[n]
    return y


def histogram(weights: Any) -> Any:
    """Weights that are summed in bins."""
    bins = np.array([0, 2, 1, 2, 2, 0, 4])
    counts = np.zeros(5)
    np.add.at(counts, bins, weights)
    counts /= counts.sum()
    return counts


def spline(y: Any) -> Any:
    """Coefficients of the natural cubic spline through points at 0, 1, 2, ..."""
    n = len(y) - 1
    h = np.ones(n)
    alpha, l, mu, z = np.zeros(n), np.ones(n + 1), np.zeros(n), np.zeros(n + 1)  # noqa: E741  (as in textbooks)
    for i in range(1, n):
        alpha[i] = 3 / h[i] * (y[i + 1] - y[i]) - 3 / h[i - 1] * (y[i] - y[i - 1])
    for i in range(1, n):
        l[i] = 2 * (h[i] + h[i - 1]) - h[i - 1] * mu[i - 1]
        mu[i] = h[i] / l[i]
        z[i] = (alpha[i] - h[i - 1] * z[i - 1]) / l[i]
    b, c, d = np.zeros(n), np.zeros(n + 1), np.zeros(n)
    for j in range(n - 1, -1, -1):
        c[j] = z[j] - mu[j] * c[j + 1]
        b[j] = (y[j + 1] - y[j]) / h[j] - h[j] * (c[j + 1] + 2 * c[j]) / 3
        d[j] = (c[j + 1] - c[j]) / (3 * h[j])
    return np.stack([b, c[:-1], d])


def kalman(z: Any, q: Any, r: Any) -> Any:
    """A filter for position and velocity, which fills means and covariances; the log-likelihood."""
    f, h = np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1.0, 0.0]])
    means, covariances = np.zeros((len(z) + 1, 2)), np.zeros((len(z) + 1, 2, 2))
    covariances[0] = np.eye(2)
    loglik = 0.0
    for t in range(len(z)):
        m = f @ means[t]
        p = f @ covariances[t] @ f.T
        p[np.diag_indices(2)] += q
        s = (h @ p @ h.T)[0, 0] + r
        gain = (p @ h.T)[:, 0] / s
        e = z[t] - (h @ m)[0]
        means[t + 1] = m + gain * e
        covariances[t + 1] = p - np.outer(gain, gain) * s
        loglik -= 0.5 * (np.log(2 * np.pi * s) + e**2 / s)
    return loglik + np.sum(covariances) + np.sum(means)


SPD = RNG.normal(size=(4, 4)) @ np.diag([1.0, 2.0, 3.0, 4.0])
SPD = SPD @ SPD.T + np.eye(4)
ROWS = RNG.normal(size=(3, 4))
START = np.array([1.0, 0.5]), np.array([1.1, 0.4, 0.1, 0.4])

# The programs and their arguments by name.
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "thomas": (thomas, (RNG.normal(size=5), 4 + RNG.random(6), RNG.normal(size=5), RNG.normal(size=6))),
    "euler": (euler, START),
    "runge_kutta": (runge_kutta, START),
    "gauss_seidel": (gauss_seidel, (RNG.normal(size=(4, 4)) + 6 * np.eye(4), RNG.normal(size=4))),
    "edit_distance": (edit_distance, (np.array([1.0, 1.1, 1.7]),)),
    "viterbi": (viterbi, (RNG.normal(size=3), RNG.normal(size=(3, 3)), RNG.normal(size=(4, 3)))),
    "cholesky": (cholesky, (SPD,)),
    "lu": (lu, (RNG.normal(size=(4, 4)), RNG.normal(size=4))),
    "iir": (iir, (np.array([0.2, 0.3, 0.1]), np.array([1.0, -0.5, 0.2]), RNG.normal(size=6))),
    "histogram": (histogram, (RNG.random(7),)),
    "spline": (spline, (RNG.normal(size=6),)),
    "kalman": (kalman, (RNG.normal(size=4), 0.1, 0.5)),
    "logsumexp": (lambda x: scipy.special.logsumexp(x, axis=1), (ROWS,)),
    "softmax": (lambda x: scipy.special.softmax(x, axis=1), (ROWS,)),
}


def weighted(f: Callable[..., Any]) -> Callable[..., Any]:
    """A program's result as one number, of which each element has its own part."""

    def number(*args: Any) -> Any:
        y = f(*args)
        return np.sum(y * np.cos(np.arange(np.size(y))).reshape(np.shape(y)))

    return number


def slope(f: Callable[..., Any], args: tuple[Any, ...], directions: tuple[Any, ...]) -> float:
    """Central differences of fourth order along directions."""
    h = 1e-3

    def at(t: float) -> float:
        return float(f(*[x + t * d for x, d in zip(args, directions, strict=True)]))

    return (8 * (at(h) - at(-h)) - at(2 * h) + at(-2 * h)) / (12 * h)


def along(bars: Any, directions: tuple[Any, ...]) -> float:
    """The slope that gradients give."""
    return sum(float(np.sum(bar * d)) for bar, d in zip(bars, directions, strict=True))


def directions_of(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """A direction for each argument."""
    rng = np.random.default_rng(1)
    return tuple([rng.normal(size=np.shape(x)) for x in args])


def _batched(f: Callable[..., Any], argnums: tuple[int, ...], args: tuple[Any, ...]) -> Any:
    bars = fg.vmap(fg.grad(f, argnums))(*[np.stack([x * 1.01, x]) for x in args])
    return [bar[1] for bar in bars]


GRADIENTS: dict[str, Callable[..., Any]] = {
    "grad": lambda f, argnums, args: fg.grad(f, argnums)(*args),
    "numpy engine": lambda f, argnums, args: fg.jit(fg.grad(f, argnums), engine="numpy")(*args),
    "xla": lambda f, argnums, args: fg.jit(fg.grad(f, argnums))(*args),
    "grad of jit": lambda f, argnums, args: fg.grad(fg.jit(f, engine="numpy"), argnums)(*args),
    "vmap": _batched,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_slopes(name: str) -> None:
    f, args = PROGRAMS[name]
    number, argnums, directions = weighted(f), tuple(range(len(args))), directions_of(args)
    value, expected = number(*args), slope(number, args, directions)
    before = [np.copy(x) for x in args]
    with fg.intercept():
        np.testing.assert_allclose(fg.value_and_grad(number, argnums)(*args)[0], value, rtol=1e-12)
        for way, gradient in GRADIENTS.items():
            bars = gradient(number, argnums, args)
            np.testing.assert_allclose(along(bars, directions), expected, rtol=1e-7, atol=1e-9, err_msg=way)
        for engine in ("numpy", "xla"):
            np.testing.assert_allclose(fg.jit(f, engine=engine)(*args), f(*args), rtol=1e-10, err_msg=engine)
        y, y_dot = fg.jvp(f, args, directions)
        np.testing.assert_allclose(y, f(*args), rtol=1e-12)
        weights = np.cos(np.arange(np.size(y))).reshape(np.shape(y))
        np.testing.assert_allclose(np.sum(y_dot * weights), expected, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(fg.linearize(f, *args)[1](*directions), y_dot, rtol=1e-10)
    for x, y in zip(args, before, strict=True):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("name", ["thomas", "runge_kutta", "cholesky", "lu", "kalman", "softmax"])
def test_second_derivatives(name: str) -> None:
    f, args = PROGRAMS[name]
    number, argnums, directions = weighted(f), tuple(range(len(args))), directions_of(args)

    def first(*args: Any) -> Any:
        bars = fg.grad(number, argnums)(*args)
        return sum(np.sum(bar * d) for bar, d in zip(bars, directions, strict=True))

    with fg.intercept():
        second = along(fg.grad(first, argnums)(*args), directions)
        np.testing.assert_allclose(second, slope(first, args, directions), rtol=1e-6, atol=1e-8)


def _banded(a: Any, b: Any, c: Any, d: Any) -> Any:
    return scipy.linalg.solve_banded((1, 1), np.stack([np.append(0, c), b, np.append(a, 0)]), d)


def _splined(y: Any) -> Any:
    return scipy.interpolate.CubicSpline(np.arange(len(y)), y, bc_type="natural").c[2::-1]


# The functions of libraries that compute the same.
LIBRARIES: dict[str, Callable[..., Any]] = {
    "thomas": _banded,
    "cholesky": np.linalg.cholesky,
    "lu": np.linalg.solve,
    "iir": scipy.signal.lfilter,
    "spline": _splined,
}


@pytest.mark.parametrize("name", LIBRARIES)
def test_they_compute_what_libraries_compute(name: str) -> None:
    f, args = PROGRAMS[name]
    np.testing.assert_allclose(f(*args), LIBRARIES[name](*args), rtol=1e-10, atol=1e-12)


def test_edits_that_cost_one_are_counted() -> None:
    assert edit_distance(np.ones(3))[-1, -1] == 2
