"""`ht`: distances of a posed hand model from measured points, and their Jacobian (ADBench)."""

from typing import Any, NamedTuple

import numpy as np

import funcgrad as fg
from benchmarks.gradbench._protocol import Compiler, Task

FINGERS = 5


class Hand(NamedTuple):
    """A model and its measurements.

    Args:
        relatives: [bones, 4, 4], each bone's place in its parent's frame.
        inverses: [bones, 4, 4], inverses of the bones' places in the base pose.
        positions: [vertices, 4], the base pose, homogeneous.
        weights: [vertices, bones], how much each bone moves a vertex.
        points: [n, 3], measured points.
        corners: [n, 1 or 3], the vertex, or the triangle's vertices, that each point is compared with.
    """

    relatives: Any
    inverses: Any
    positions: Any
    weights: Any
    points: Any
    corners: Any


def bone_angles(theta: Any, bones: int) -> Any:
    """Return [bones, 3]: the first joint of a finger has two angles, the next two have one, wrist and forearm none."""
    fingers = np.reshape(theta[6:], (FINGERS, 4))
    joints = np.zeros((FINGERS, 4, 3), like=theta)
    joints[:, 0, :2] = fingers[:, :2]
    joints[:, 1:3, 0] = fingers[:, 2:]
    angles = np.zeros((bones, 3), like=theta)
    angles[2 : 2 + 4 * FINGERS - 1] = np.reshape(joints, (-1, 3))[:-1]
    return angles


def euler_rotations(angles: Any) -> Any:
    """Return the rotations [..., 3, 3] about x, then y, then z, for angles [..., 3] in the order x, z, y."""
    (cx, cz, cy), (sx, sz, sy) = (np.moveaxis(f(angles), -1, 0) for f in (np.cos, np.sin))
    rows = [
        [cz * cy, cz * sy * sx - sz * cx, cz * sy * cx + sz * sx],
        [sz * cy, sz * sy * sx + cz * cx, sz * sy * cx - cz * sx],
        [-sy, cy * sx, cy * cx],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def axis_rotation(rotation: Any) -> Any:
    """Return the rotation [3, 3] about the axis `rotation` by its length; the identity for a length below 1e-4."""
    square = rotation @ rotation
    turns = square >= 1e-8
    angle = np.sqrt(np.where(turns, square, 1.0))
    x, y, z = rotation / angle
    zero = np.zeros_like(x)
    cross = np.stack([zero, -z, y, z, zero, -x, -y, x, zero]).reshape(3, 3)
    turned = np.eye(3) + np.sin(angle) * cross + (1.0 - np.cos(angle)) * (cross @ cross)
    return np.where(turns, turned, np.eye(3))


def vertices(theta: Any, hand: Hand, parents: tuple[int, ...], is_mirrored: bool) -> Any:
    """Return the vertices of the hand in the pose `theta`: [vertices, 3]."""
    bones = len(parents)
    turns = np.zeros((bones, 4, 4), like=theta)
    turns[:, :3, :3] = euler_rotations(bone_angles(theta, bones))
    turns[:, 3, 3] = 1.0
    relatives = hand.relatives @ turns
    absolutes: list[Any] = []
    for bone, parent in enumerate(parents):
        absolutes.append(relatives[bone] if parent == -1 else absolutes[parent] @ relatives[bone])
    transforms = np.stack(absolutes) @ hand.inverses
    skinned = np.einsum("vb,vj,bij->vi", hand.weights, hand.positions, transforms[:, :3])
    if is_mirrored:
        skinned = skinned * np.array([-1.0, 1.0, 1.0])
    return skinned @ axis_rotation(theta[:3]).T + theta[3:6]


def distances(theta: Any, us: Any, hand: Hand, parents: tuple[int, ...], is_mirrored: bool) -> Any:
    """Return points - model, [n, 3]. `us` [n, 2] places a point in its triangle; without it, at a vertex."""
    placed = vertices(theta, hand, parents, is_mirrored)[hand.corners]  # [n, corners, 3]
    if us is None:
        return hand.points - placed[:, 0]
    inside = np.concatenate([us, 1.0 - np.sum(us, axis=1, keepdims=True)], axis=1)
    return hand.points - np.sum(inside[..., None] * placed, axis=1)


def jacobian(theta: Any, us: Any, hand: Hand, parents: tuple[int, ...], is_mirrored: bool) -> Any:
    """Return [3 n, 2 + 26], or [3 n, 26] without `us`: a point depends on its own two entries of `us` alone."""
    by_theta = fg.jacfwd(distances)(theta, us, hand, parents, is_mirrored)
    if us is not None:

        def by_column(direction: Any) -> Any:
            tangent = np.broadcast_to(direction, us.shape)
            return fg.jvp(lambda u: distances(theta, u, hand, parents, is_mirrored), (us,), (tangent,))[1]

        by_theta = np.concatenate([fg.vmap(by_column, out_axes=-1)(np.eye(2)), by_theta], axis=-1)
    return np.reshape(by_theta, (-1, by_theta.shape[-1]))


def tasks(compiler: Compiler) -> dict[str, Task]:
    """Return the functions of the evaluation."""
    static = ("parents", "is_mirrored")
    return {
        "objective": Task(compiler(distances, static_argnames=static), _read, lambda result: np.ravel(result).tolist()),
        "jacobian": Task(compiler(jacobian, static_argnames=static), _read),
    }


def _read(given: dict[str, Any]) -> tuple[Any, ...]:
    data, model = given["data"], given["data"]["model"]
    us = np.array(given["us"], np.float64)
    found = np.array(data["correspondences"], np.intp)
    corners = np.array(model["triangles"], np.intp)[found] if us.size else found[:, None]
    names = ("base_relatives", "inverse_base_absolutes", "base_positions", "weights")
    arrays = [np.array(model[name], np.float64) for name in names]
    hand = Hand(*arrays, np.array(data["points"], np.float64), corners)
    theta = np.array(given["theta"], np.float64)
    return theta, us if us.size else None, hand, tuple(model["parents"]), bool(model["is_mirrored"])
