"""Programs as they stand in textbooks and libraries: plain NumPy that fills arrays, inside of ``fg.intercept()``."""

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
from tests.numpy._ways import WAYS

X = np.array([0.9, 0.45, 1.2, 0.7, 0.2, 1.1])


def thomas(d: Any) -> Any:
    """A tridiagonal system, solved in place."""
    n = len(d)
    a, b, c = np.full(n - 1, -1.0), np.full(n, 3.0), np.full(n - 1, -1.2)
    x = np.array(d, dtype=float)
    for i in range(1, n):
        w = a[i - 1] / b[i - 1]
        b[i] = b[i] - w * c[i - 1]
        x[i] = x[i] - w * x[i - 1]
    x[-1] /= b[-1]
    for i in range(n - 2, -1, -1):
        x[i] = (x[i] - c[i] * x[i + 1]) / b[i]
    return x


def pendulum(state: Any, k: Any) -> Any:
    out = np.empty(2)
    out[0] = state[1]
    out[1] = -k * np.sin(state[0])
    return out


def euler(x: Any) -> Any:
    path = np.zeros((5, 2))
    path[0] = x[:2]
    for i in range(4):
        path[i + 1] = path[i] + x[2] * 0.1 * pendulum(path[i], x[3])
    return path


def runge_kutta(x: Any) -> Any:
    path, slopes, h = np.zeros((4, 2)), np.zeros((4, 2)), 0.2 * x[2]
    path[0] = x[:2]
    for i in range(3):
        slopes[0] = pendulum(path[i], x[3])
        slopes[1] = pendulum(path[i] + h / 2 * slopes[0], x[3])
        slopes[2] = pendulum(path[i] + h / 2 * slopes[1], x[3])
        slopes[3] = pendulum(path[i] + h * slopes[2], x[3])
        path[i + 1] = path[i]
        path[i + 1] += h / 6 * (np.array([1, 2, 2, 1]) @ slopes)
    return path


def gauss_seidel(x: Any) -> Any:
    u = np.zeros((4, 4))
    u[0, 1:3], u[1:3, 0], u[3, 1:3] = x[:2], x[2:4], x[4:]
    for _ in range(4):
        for i in range(1, 3):
            for j in range(1, 3):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return u


def edit_distance(x: Any) -> Any:
    """Between two words, with costs for each kind of change."""
    first, second = "kitten", "sitting"
    d = np.zeros((len(first) + 1, len(second) + 1))
    d[:, 0] = np.arange(len(first) + 1) * x[0]
    d[0] = np.arange(len(second) + 1) * x[1]
    for i, a in enumerate(first, 1):
        for j, b in enumerate(second, 1):
            changed = d[i - 1, j - 1] + (0.0 if a == b else x[2])
            d[i, j] = np.minimum(np.minimum(d[i - 1, j] + x[0], d[i, j - 1] + x[1]), changed)
    return d


def viterbi(x: Any) -> Any:
    """The likeliest path's score, in logarithms, and the path."""
    moves = np.log(np.array([[0.7, 0.3], [0.4, 0.6]]))
    scores, back = np.zeros((3, 2)), np.zeros((3, 2), dtype=int)
    scores[0] = x[:2]
    for t in range(1, 3):
        for s in range(2):
            through = scores[t - 1] + moves[:, s]
            back[t, s] = np.argmax(through)
            scores[t, s] = np.max(through) + x[2 * t + s]
    return np.max(scores[-1]) + scores[:, 0]


def cholesky(x: Any) -> Any:
    v = np.outer(x[:4], x[1:5])
    a, n = v @ v.T + np.eye(4), 4
    factor = np.zeros_like(a)
    for j in range(n):
        factor[j, j] = np.sqrt(a[j, j] - np.sum(factor[j, :j] ** 2))
        for i in range(j + 1, n):
            factor[i, j] = (a[i, j] - factor[i, :j] @ factor[j, :j]) / factor[j, j]
    return factor


def lu(x: Any) -> Any:
    """With row swaps, in place, and the solution by both factors."""
    a, rows = np.array([x[:3] * x[3], x[3:], [2.0, x[0], 5.0]]), np.arange(3)
    for k in range(2):
        p = k + np.argmax(np.abs(a[k:, k]))
        a[[k, p]] = a[[p, k]]
        rows[[k, p]] = rows[[p, k]]
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    b = np.array([1.0, x[1], -1.0])[rows]
    for i in range(3):
        b[i] -= a[i, :i] @ b[:i]
    for i in range(2, -1, -1):
        b[i] = (b[i] - a[i, i + 1 :] @ b[i + 1 :]) / a[i, i]
    return b


def infinite_response(x: Any) -> Any:
    y = np.zeros_like(x)
    for n in range(len(x)):
        y[n] = 0.2 * x[n]
        if n > 0:
            y[n] += 0.3 * x[n - 1] + 0.5 * y[n - 1]
        if n > 1:
            y[n] -= 0.1 * y[n - 2]
    return y


def histogram(x: Any) -> Any:
    counts = np.zeros(3)
    np.add.at(counts, [0, 2, 0, 1, 2, 2], x)
    counts /= counts.sum()
    return counts


def spline(x: Any) -> Any:
    """The second derivatives of a natural cubic spline at equal steps."""
    n = len(x)
    m, u = np.zeros(n), np.zeros(n)
    for i in range(1, n - 1):
        p = 0.5 * m[i - 1] + 2.0
        m[i] = -0.5 / p
        u[i] = (3.0 * (x[i + 1] - 2.0 * x[i] + x[i - 1]) - 0.5 * u[i - 1]) / p
    for i in range(n - 2, 0, -1):
        m[i] = m[i] * m[i + 1] + u[i]
    m[0] = m[-1] = 0.0
    return m


def kalman(x: Any) -> Any:
    n = 4
    means, covariances = np.zeros((n, 2)), np.zeros((n, 2, 2))
    move, seen, noise = np.array([[1.0, 0.1], [0.0, 1.0]]), np.array([[1.0, 0.0]]), np.eye(2) * 0.05
    mean, covariance = np.zeros(2), np.eye(2)
    for t in range(n):
        mean, covariance = move @ mean, move @ covariance @ move.T + noise * x[5]
        gain = covariance @ seen.T / (seen @ covariance @ seen.T + x[4] ** 2)
        mean = mean + gain[:, 0] * (x[t] - seen @ mean)
        covariance = (np.eye(2) - gain @ seen) @ covariance
        means[t], covariances[t] = mean, covariance
    return means[:, 0] + covariances[:, 0, 0]


def by_scipy(x: Any) -> Any:
    return scipy.special.softmax(x) * scipy.special.logsumexp(x)


PROGRAMS: tuple[Callable[[Any], Any], ...] = (
    thomas,
    euler,
    runge_kutta,
    gauss_seidel,
    edit_distance,
    viterbi,
    cholesky,
    lu,
    infinite_response,
    histogram,
    spline,
    kalman,
    by_scipy,
)


@pytest.mark.parametrize("program", PROGRAMS, ids=[program.__name__ for program in PROGRAMS])
def test_programs(program: Callable[[Any], Any]) -> None:
    def f(x: Any) -> Any:
        y = program(x)
        return np.sum(y * y * np.arange(1.0, y.size + 1).reshape(y.shape))

    value = f(X.copy())
    expected = np.array([(f(X + move) - f(X - move)) / 2e-6 for move in 1e-6 * np.eye(len(X))])
    with fg.intercept():
        np.testing.assert_allclose(fg.value_and_grad(f)(X)[0], value, rtol=1e-13)
        for name, way in WAYS.items():
            np.testing.assert_allclose(way(f, X), expected, rtol=1e-6, atol=1e-7, err_msg=name)


def test_they_compute_what_libraries_compute() -> None:
    band = np.array([[0.0] + [-1.2] * 5, [3.0] * 6, [-1.0] * 5 + [0.0]])
    np.testing.assert_allclose(thomas(X), scipy.linalg.solve_banded((1, 1), band, X))
    outer = np.outer(X[:4], X[1:5])
    np.testing.assert_allclose(cholesky(X), np.linalg.cholesky(outer @ outer.T + np.eye(4)))
    matrix = np.array([X[:3] * X[3], X[3:], [2.0, X[0], 5.0]])
    np.testing.assert_allclose(lu(X), np.linalg.solve(matrix, [1.0, X[1], -1.0]))
    np.testing.assert_allclose(infinite_response(X), scipy.signal.lfilter([0.2, 0.3], [1, -0.5, 0.1], X))
    knots = scipy.interpolate.CubicSpline(np.arange(6.0), X, bc_type="natural")
    np.testing.assert_allclose(spline(X), knots(np.arange(6.0), 2), atol=1e-12)
    np.testing.assert_allclose(edit_distance(np.ones(3))[-1, -1], 3.0)
