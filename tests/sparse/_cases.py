"""Functions with known patterns, for the tests of Jacobians and Hessians alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

import funcgrad as fg
import funcgrad.numpy as fnp
import funcgrad.scipy as fsp
from funcgrad._ops.linalg.triangular import triangular_solve

RNG = np.random.default_rng(28)
PLACES = np.array([2, 0, 5, 2])
MATRIX = RNG.normal(size=(6, 6)) * (RNG.random((6, 6)) < 0.4)
BANDS = np.ones((3, 4)) + np.eye(3, 4)


class Case(NamedTuple):
    """A function of one array.

    Args:
        f: the function.
        shape: the shape of its argument.
        extra: the elements of the pattern that are zero at each point that is tried. A pattern holds for all numbers.
    """

    f: Callable[[Any], Any]
    shape: tuple[int, ...]
    extra: int = 0


def written(x: Any) -> Any:
    y = np.zeros_like(x)
    y[1:-1] = x[2:] * x[:-2]
    y[PLACES] += 1
    return y


def added(x: Any) -> Any:
    y = x.copy()
    np.add.at(y, PLACES, x[:4] ** 2)
    return y


def written_anywhere(x: Any) -> Any:
    y = x * x
    y[np.argmax(x)] = x[1]
    return y


def _divided(x: Any) -> Any:
    return triangular_solve(MATRIX + 9 * np.eye(6), x, left_side=False)


def grid(x: Any) -> Any:
    u = x.reshape(4, 5)
    p = np.pad(u, 1)
    return p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * u + u**3


def counted(x: Any) -> Any:
    """A loop whose counter is known in each round."""
    return fg.fori_loop(0, 3, lambda i, y: fnp.asarray(y).at[i].set(y[i] * y[i + 1]), x)


def twice(c: Any, r: Any) -> Any:
    return r, c * r


def long_scan(x: Any) -> Any:
    """A loop with too many equations to be followed round by round."""
    rows = np.arange(30_000, dtype=x.dtype)
    return fg.scan(lambda c, r: (c * 0.9 + r * x[:2], None), x[2:4], rows)[0]


CASES = {
    "elementwise": Case(lambda x: np.sin(x) * x + np.exp(x), (6,)),
    "a write": Case(written, (6,)),
    "an addition at places": Case(added, (6,)),
    "a write at a traced place": Case(written_anywhere, (4,), 4),
    "a constant matrix": Case(lambda x: MATRIX @ np.tanh(x), (6,)),
    "a constant matrix on the right": Case(lambda x: x.reshape(2, 3) @ MATRIX[:3, :4], (6,)),
    "a product with itself": Case(lambda x: x.reshape(2, 3) @ x.reshape(3, 2), (6,)),
    "a stencil": Case(grid, (20,)),
    "a sum over an axis": Case(lambda x: x.sum(0) * x.prod(1)[0], (3, 4)),
    "a running sum": Case(lambda x: np.cumsum(x, 1), (3, 4)),
    "a running product": Case(lambda x: np.cumprod(x, 0), (3, 4)),
    "a running sum from the end": Case(lambda x: np.cumsum(x[::-1])[::-1] * x, (5,)),
    "a choice that is known": Case(lambda x: np.where(np.arange(6) > 2, x**2, x[::-1]), (6,)),
    "both sides of a choice": Case(lambda x: np.where(x > 0, x[::-1] ** 2, x**2), (6,), 6),
    "a known factor of zero": Case(lambda x: x * np.array([0, 1, 0, 1.0]), (4,)),
    "maxima": Case(lambda x: x.max(1), (3, 4), 9),
    "sorted rows": Case(lambda x: np.sort(x, 1), (3, 4), 36),
    "a traced row": Case(lambda x: x[np.argmax(x[:, 0])] * 2.0, (3, 2), 4),
    "traced places along an axis": Case(lambda x: fnp.take_along_axis(x, np.argsort(x, 1), 1), (3, 4), 36),
    "a Fourier transform": Case(lambda x: np.fft.fft(x, axis=1), (3, 4)),
    "a real Fourier transform": Case(lambda x: np.abs(np.fft.rfft(x, axis=1)) ** 2, (3, 4)),
    "a linear system": Case(lambda x: np.linalg.solve(x.reshape(2, 2) + 5 * np.eye(2), np.ones(2)), (4,)),
    "a stack of inverses": Case(lambda x: np.linalg.inv(x.reshape(2, 2, 2) + 5 * np.eye(2)), (8,)),
    "right sides of a system": Case(lambda x: np.linalg.solve(MATRIX + 9 * np.eye(6), x), (6, 2), 30),
    "a tridiagonal system": Case(
        lambda x: fsp.linalg.solve_banded((1, 1), np.ones((3, 4)) + np.eye(3, 4), x), (4, 2), 8
    ),
    "a convolution": Case(lambda x: np.convolve(x, np.array([1.0, 0, -2.0])), (7,)),
    "a convolution of two axes": Case(
        lambda x: fsp.signal.convolve2d(x, np.array([[0, 1, 0], [1, -4, 1], [0, 1, 0.0]]), mode="same"), (5, 4)
    ),
    "a stack": Case(lambda x: np.stack([x[1:], x[:-1]], 1), (5,)),
    "a concatenation": Case(lambda x: np.concatenate([x, x[:2] * x[1], np.ones(2)]), (5,)),
    "einsum": Case(lambda x: np.einsum("ij,kj->ik", x, x), (3, 2)),
    "differences": Case(lambda x: np.diff(x, 2), (7,)),
    "a diagonal": Case(lambda x: np.diag(x) @ np.arange(3.0), (3,)),
    "a trace": Case(lambda x: np.trace(x) * x[0], (3, 3)),
    "a triangle": Case(lambda x: np.tril(x) ** 2, (3, 3)),
    "rolled": Case(lambda x: np.roll(x, 1) * x, (5,)),
    "a flipped transpose": Case(lambda x: x.T[::-1] * 2.0, (3, 2)),
    "a scalar argument": Case(lambda x: x * np.arange(3.0), ()),
    "a scalar result": Case(lambda x: np.sum(x**2), (4,)),
    "an empty result": Case(lambda x: x[:0], (4,)),
    "an empty argument": Case(lambda x: np.concatenate([x, np.ones(2)]), (0,)),
    "no dependence": Case(lambda x: np.ones(3) + np.sign(x[0]), (4,)),
    "a stopped gradient": Case(lambda x: fg.stop_gradient(x) * x[::-1], (4,)),
    "a compiled part": Case(fg.jit(lambda x: x[1:] * x[:-1], engine="numpy"), (4,)),
    "a scan": Case(lambda x: fg.scan(lambda c, r: (c * r, c + r), x[0], x[1:])[1], (5,)),
    "a reversed scan": Case(lambda x: fg.scan(lambda c, r: (c * r, c + r), x[0], x[1:], reverse=True)[1], (5,)),
    "a choice of negatives": Case(lambda x: -np.where(x > 0, -x, 2.0 * x) + np.where(x[0] > 0, x[1], -x), (4,)),
    "a choice in which numbers are replaced": Case(lambda x: np.nan_to_num(-x, nan=2.0) * x[::-1], (4,)),
    "a long scan": Case(long_scan, (5,)),
    "a scan that hands on rows": Case(lambda x: fg.scan(lambda c, r: (r, c * r), x[0], x)[1], (6,)),
    "a scan with two carries": Case(lambda x: fg.scan(lambda c, r: ((c[1], r * c[0]), c[0]), (x[0], x[1]), x)[1], (6,)),
    "a scan in a scan": Case(lambda x: fg.scan(lambda c, r: (fg.scan(twice, r, c)[1], c * r), x[:3], x)[1], (5,)),
    "a reversed scan that hands on": Case(
        lambda x: fg.scan(lambda c, r: ((r, c[0]), c[1] * r), (x[1], x[0]), x, reverse=True)[1], (6,)
    ),
    "a scan without rows": Case(lambda x: fg.scan(lambda c, _: (c[::-1] * x[:2], c), x[1:3], None, length=3)[1], (4,)),
    "a scan of nothing": Case(lambda x: fg.scan(lambda c, r: (c * r, c), x[:2], x[:0])[0], (3,)),
    "a scan over matrices": Case(lambda x: fg.scan(lambda c, r: (c @ r, c + r), x[0], x)[1], (3, 2, 2)),
    "running sums of columns": Case(lambda x: np.cumsum(x, 0), (3, 2)),
    "running sums from the end": Case(lambda x: np.cumsum(x[::-1])[::-1], (4,)),
    "a counted loop": Case(counted, (5,)),
    "a branch": Case(lambda x: fg.cond(x[0] > 0, lambda x: x**2, lambda x: x[::-1] * x, x), (5,)),
    "a checkpoint": Case(lambda x: fg.checkpoint(lambda x: np.sin(x) * x[::-1])(x), (5,)),
    "a batch": Case(lambda x: fg.vmap(lambda r: r * r.sum())(x), (3, 2)),
    "a gradient": Case(lambda x: fg.grad(lambda y: np.sum(y[1:] * y[:-1] ** 2))(x), (5,)),
    "an arrow": Case(lambda x: np.concatenate([[np.sum(x**2)], x[1:] * x[0] + x[1:] ** 2]), (9,)),
    "a sparse matrix": Case(lambda x: scipy.sparse.csr_array(MATRIX) @ x, (6,)),
    "sparse elements": Case(
        lambda x: fsp.sparse.coo_array((x, (np.array([0, 1, 1]), np.array([1, 0, 2]))), shape=(2, 3)) @ np.ones(3), (3,)
    ),
    "special functions": Case(lambda x: fsp.special.gammaln(x**2 + 1), (3, 3)),
    "polynomials": Case(lambda x: np.polyval(x, np.arange(1.0, 4.0)), (4,)),
}
