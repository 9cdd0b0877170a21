"""Squared distances between all points of two sets, and the operations of their derivatives.

They take differences before sums. For points that are close to each other and far from the origin, matrix products
would leave only rounding errors. No primitive here holds all differences at once.

The derivative of the first operation uses the others, which are transposes of each other. With ``d[i, j, k] = a[i, k] -
b[j, k]``:

    squares     s[i, j] = sum(d[i, j, k] ** 2)
    pulled      p[i, k] = sum(g[i, j] * d[i, j, k])     to the points, from weights of pairs
    projected   q[i, j] = sum(u[i, k] * d[i, j, k])     to pairs, from directions of points
"""

from __future__ import annotations

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.bind import NO_PARAMS, bind, untraced
from funcgrad._core.lazy import LazyModule
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import PerOperand
from funcgrad._ops.contract.dot import matmul_p
from funcgrad._ops.layout.broadcast import batch_all, broadcast_to, reduce_sum
from funcgrad._ops.layout.shape import expand_dims, transpose
from funcgrad._types import Array, Lax, Value

_distance = LazyModule("scipy.spatial.distance")


# Without this, SciPy's code would make traced arrays inside of ``fg.intercept()``.
@untraced()
def _squares_numpy(a: Array, b: Array) -> np.ndarray:
    s = np.empty((*a.shape[:-1], b.shape[-2]), a.dtype)
    for i in np.ndindex(a.shape[:-2]):
        s[i] = _distance.cdist(a[i], b[i], "sqeuclidean")
    return s


def _pulled_numpy(g: Array, a: Array, b: Array) -> np.ndarray:
    p = np.empty(a.shape, a.dtype)
    for k in range(a.shape[-1]):
        p[..., k] = np.einsum("...ij,...ij->...i", g, a[..., :, None, k] - b[..., None, :, k])
    return p


def _projected_numpy(u: Array, a: Array, b: Array) -> np.ndarray:
    q = np.zeros((*a.shape[:-1], b.shape[-2]), a.dtype)
    for k in range(a.shape[-1]):
        difference = a[..., :, None, k] - b[..., None, :, k]
        difference *= u[..., :, None, k]
        q += difference
    return q


def _differences(lax: Lax, a: Value, b: Value) -> Value:
    shape = (*a.shape[:-1], *b.shape[-2:])
    last = len(shape) - 1
    first = lax.broadcast_in_dim(a, shape, (*range(last - 1), last))
    return first - lax.broadcast_in_dim(b, shape, (*range(last - 2), last - 1, last))


def _squares_xla(lax: Lax, a: Array, b: Array) -> Array:
    d = _differences(lax, a, b)
    return lax.reduce_sum(d * d, (d.ndim - 1,))


def _pulled_xla(lax: Lax, g: Array, a: Array, b: Array) -> Array:
    d = _differences(lax, a, b)
    return lax.reduce_sum(lax.broadcast_in_dim(g, d.shape, tuple(range(d.ndim - 1))) * d, (d.ndim - 2,))


def _projected_xla(lax: Lax, u: Array, a: Array, b: Array) -> Array:
    d = _differences(lax, a, b)
    return lax.reduce_sum(lax.broadcast_in_dim(u, d.shape, (*range(d.ndim - 2), d.ndim - 1)) * d, (d.ndim - 1,))


def _swapped(x: Value) -> Value:
    last = len(x.shape) - 1
    return transpose(x, (*range(last - 1), last, last - 1))


def _product(a: Value, b: Value) -> Value:
    return bind(matmul_p, (a, b), NO_PARAMS)


def _weighted(u: Value, g: Value) -> Value:
    """Return each point's direction times the sum of the weights of its pairs."""
    last = len(g.shape) - 1
    return u * expand_dims(reduce_sum(g, (last,)), (last,))


def _moved(u: Value, a_dot: Value, pairs: tuple[int, ...]) -> Value:
    """Return the change of each pair by the step of its point, along the point's direction."""
    last = len(pairs) - 1
    return broadcast_to(expand_dims(reduce_sum(u * a_dot, (last,)), (last,)), pairs)


squares_p = Primitive(
    "squared_distances",
    operands=("a", "b"),
    numpy=_squares_numpy,
    xla=_squares_xla,
    aval=lambda a, b: Aval((*a.shape[:-1], b.shape[-2]), a.dtype),
    derivative=PerOperand(
        ("a", "b"),
        [lambda y_bar, a, b: 2 * pulled(y_bar, a, b), lambda y_bar, a, b: 2 * pulled(_swapped(y_bar), b, a)],
        [lambda a_dot, a, b: 2 * projected(a_dot, a, b), lambda b_dot, a, b: 2 * _swapped(projected(b_dot, b, a))],
    ),
    batch=batch_all(),
    cost=lambda y, a, b: 3 * y.size * a.shape[-1],
)

pulled_p = Primitive(
    "pulled_differences",
    operands=("g", "a", "b"),
    numpy=_pulled_numpy,
    xla=_pulled_xla,
    aval=lambda g, a, b: a,
    derivative=PerOperand(
        ("g", "a", "b"),
        [
            lambda y_bar, a, b: projected(y_bar, a, b),
            lambda y_bar, g: _weighted(y_bar, g),
            lambda y_bar, g: -_product(_swapped(g), y_bar),
        ],
        [
            lambda g_dot, a, b: pulled(g_dot, a, b),
            lambda a_dot, g: _weighted(a_dot, g),
            lambda b_dot, g: -_product(g, b_dot),
        ],
    ),
    batch=batch_all(),
    cost=lambda y, g, a, b: 3 * g.size * a.shape[-1],
)

projected_p = Primitive(
    "projected_differences",
    operands=("u", "a", "b"),
    numpy=_projected_numpy,
    xla=_projected_xla,
    aval=lambda u, a, b: Aval((*a.shape[:-1], b.shape[-2]), a.dtype),
    derivative=PerOperand(
        ("u", "a", "b"),
        [
            lambda y_bar, a, b: pulled(y_bar, a, b),
            lambda y_bar, u: _weighted(u, y_bar),
            lambda y_bar, u: -_product(_swapped(y_bar), u),
        ],
        [
            lambda u_dot, a, b: projected(u_dot, a, b),
            lambda a_dot, y, u: _moved(u, a_dot, y.shape),
            lambda b_dot, u: -_product(u, _swapped(b_dot)),
        ],
    ),
    batch=batch_all(),
    cost=lambda y, u, a, b: 3 * y.size * a.shape[-1],
)


def squared_distances(a: Value, b: Value) -> Value:
    """Return ``f[..., m, n]`` from points ``a``, f[..., m, k], and ``b``, f[..., n, k], of one shape and dtype."""
    return bind(squares_p, (a, b), NO_PARAMS)


def pulled(g: Value, a: Value, b: Value) -> Value:
    """Return ``f[..., m, k]`` from weights ``g``, f[..., m, n]."""
    return bind(pulled_p, (g, a, b), NO_PARAMS)


def projected(u: Value, a: Value, b: Value) -> Value:
    """Return ``f[..., m, n]`` from directions ``u``, f[..., m, k]."""
    return bind(projected_p, (u, a, b), NO_PARAMS)
