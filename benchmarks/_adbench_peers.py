"""ADBench's gmm, ba and ht written once for `jax.numpy` and for PyTorch: `xp` is the library."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import multigammaln


def logsumexp(xp: Any, x: Any) -> Any:
    """Return log(sum(exp(x))) along the first axis."""
    largest = xp.amax(x, 0)
    return largest + xp.log(xp.sum(xp.exp(x - largest), 0))


def log_posterior(xp: Any, parameters: Any, x: Any, gamma: float, m: int) -> Any:
    """Return the log posterior of a mixture of normal distributions; see `gradbench.gmm`."""
    alpha, mu, q, below = parameters
    k, d = mu.shape
    # Which entry of [0, q, l] stands where in a lower triangular factor.
    columns, rows = np.triu_indices(d, 1)
    places = np.zeros((d, d), int)
    places[rows, columns] = 1 + d + np.arange(len(rows))
    places[range(d), range(d)] = 1 + np.arange(d)
    entries = xp.concatenate([xp.zeros_like(alpha)[:, None], xp.exp(q), below], 1)
    factor = entries[:, places.ravel()].reshape(k, d, d)
    distances = xp.sum(xp.matmul(x - mu[:, None], xp.swapaxes(factor, 1, 2)) ** 2, -1)
    terms = (alpha + xp.sum(q, 1))[:, None] - 0.5 * distances
    likelihood = xp.sum(logsumexp(xp, terms)) - len(x) * (0.5 * d * np.log(2 * np.pi) + logsumexp(xp, alpha))
    freedom = d + m + 1
    prior = k * (freedom * d * np.log(gamma / np.sqrt(2)) - multigammaln(0.5 * freedom, d))
    return likelihood + prior - 0.5 * gamma**2 * xp.sum(factor**2) + m * xp.sum(q)


def cross(xp: Any, a: Any, b: Any) -> Any:
    """Return the cross product of two vectors."""
    return xp.stack([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def reprojection_error(xp: Any, camera: Any, point: Any, weight: Any, feature: Any) -> Any:
    """Return the weighted distance of a projected point from its picture; see `gradbench.ba`."""
    rotation, x = camera[:3], point - camera[3:6]
    angle = xp.sqrt(xp.sum(rotation * rotation))
    axis = rotation / angle
    turned = x * xp.cos(angle) + cross(xp, axis, x) * xp.sin(angle) + axis * xp.sum(axis * x) * (1.0 - xp.cos(angle))
    flat = turned[:2] / turned[2]
    radius = xp.sum(flat * flat)
    distorted = flat * (1.0 + camera[9] * radius + camera[10] * radius**2)
    return weight * (distorted * camera[6] + camera[7:9] - feature)


def vertices(xp: Any, theta: Any, hand: Any, parents: tuple[int, ...]) -> Any:
    """Return the vertices of the hand in the pose `theta`; see `gradbench.ht`."""
    zero = xp.zeros_like(theta[0])
    joints: list[Any] = []
    for finger in range(5):
        a = theta[6 + 4 * finger : 10 + 4 * finger]
        joints += [(a[0], a[1], zero), (a[2], zero, zero), (a[3], zero, zero), (zero, zero, zero)]
    angles = [(zero,) * 3, (zero,) * 3, *joints]
    absolutes: list[Any] = []
    for bone, parent in enumerate(parents):
        turned = xp.matmul(hand.relatives[bone], _turn(xp, *angles[bone]))
        absolutes.append(turned if parent == -1 else xp.matmul(absolutes[parent], turned))
    transforms = xp.matmul(xp.stack(absolutes), hand.inverses)
    skinned = xp.einsum("vb,vj,bij->vi", hand.weights, hand.positions, transforms[:, :3])
    return xp.matmul(skinned, _axis_rotation(xp, theta[:3]).T) + theta[3:6]


def _turn(xp: Any, ax: Any, az: Any, ay: Any) -> Any:
    cx, cz, cy, sx, sz, sy = (*map(xp.cos, (ax, az, ay)), *map(xp.sin, (ax, az, ay)))
    zero = xp.zeros_like(ax)
    rows = [
        [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx, zero],
        [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx, zero],
        [-sy, cy * sx, cy * cx, zero],
        [zero, zero, zero, zero + 1.0],
    ]
    return xp.stack([xp.stack(row) for row in rows])


def _axis_rotation(xp: Any, rotation: Any) -> Any:
    angle = xp.sqrt(xp.sum(rotation * rotation))
    x, y, z = (rotation / angle)[0], (rotation / angle)[1], (rotation / angle)[2]
    zero = xp.zeros_like(x)
    skew = xp.stack([zero, -z, y, z, zero, -x, -y, x, zero]).reshape(3, 3)
    identity = xp.stack([zero + float(i == j) for i in range(3) for j in range(3)]).reshape(3, 3)
    return identity + xp.sin(angle) * skew + (1.0 - xp.cos(angle)) * xp.matmul(skew, skew)
