"""`ba`: errors of a bundle adjustment, and their sparse Jacobian (ADBench)."""

from typing import Any

import numpy as np

import funcgrad as fg
from benchmarks.gradbench._protocol import Compiler, Task

CAMERA = 11  # rotation (3), center (3), focal length, principal point (2), radial distortion (2)
ENTRIES = CAMERA + 3 + 1  # what one observation depends on: its camera, its point, its weight
SHOWN = 2 * ENTRIES  # the entries of each list of the matrix that the evaluation compares, before the last one


def rotate(rotation: Any, x: Any) -> Any:
    """Return x rotated about the axis `rotation` by its length (Rodrigues)."""
    square = rotation @ rotation
    turns = square != 0
    angle = np.sqrt(np.where(turns, square, 1.0))
    axis = rotation / angle
    turned = x * np.cos(angle) + np.cross(axis, x) * np.sin(angle) + axis * (axis @ x) * (1.0 - np.cos(angle))
    return np.where(turns, turned, x + np.cross(rotation, x))


def reprojection_error(camera: Any, point: Any, weight: Any, feature: Any) -> Any:
    """Return the weighted distance, [2], of a projected point from its picture."""
    seen = rotate(camera[:3], point - camera[3:6])
    flat = seen[:2] / seen[2]
    radius = flat @ flat
    distorted = flat * (1.0 + camera[9] * radius + camera[10] * radius**2)
    return weight * (distorted * camera[6] + camera[7:9] - feature)


def weight_error(weight: Any) -> Any:
    """Return how far a weight is from 1."""
    return 1.0 - weight**2


def objective(cameras: Any, points: Any, weights: Any, features: Any, seen: Any) -> tuple[Any, Any]:
    """Return all errors. `seen` [p, 2] names the camera and the point of each observation."""
    errors = fg.vmap(reprojection_error)(cameras[seen[:, 0]], points[seen[:, 1]], weights, features)
    return errors, weight_error(weights)


def blocks(cameras: Any, points: Any, weights: Any, features: Any, seen: Any) -> tuple[Any, Any]:
    """Return the derivatives of each observation's two errors, [p, 2, 15], and of each weight's error, [p]."""
    derivative = fg.jacfwd(reprojection_error, argnums=(0, 1, 2))
    parts = fg.vmap(derivative)(cameras[seen[:, 0]], points[seen[:, 1]], weights, features)
    by_camera, by_point, by_weight = parts
    return np.concatenate([by_camera, by_point, by_weight[..., None]], axis=-1), fg.vmap(fg.grad(weight_error))(weights)


def sparse(by_parameters: np.ndarray, by_weight: np.ndarray, seen: np.ndarray, n: int, m: int) -> dict[str, np.ndarray]:
    """Return the Jacobian of all errors by all cameras, points and weights as a matrix of compressed rows."""
    p = len(seen)
    weights = CAMERA * n + 3 * m + np.arange(p)
    columns = np.concatenate(
        [
            CAMERA * seen[:, :1] + np.arange(CAMERA),
            CAMERA * n + 3 * seen[:, 1:] + np.arange(3),
            weights[:, None],
        ],
        axis=1,
    )
    lengths = np.concatenate([[0], np.full(2 * p, ENTRIES), np.ones(p, int)])
    return {
        "rows": np.cumsum(lengths),
        "cols": np.concatenate([np.repeat(columns[:, None], 2, axis=1).ravel(), weights]),
        "vals": np.concatenate([np.ravel(by_parameters), by_weight]),
    }


def tasks(compiler: Compiler) -> dict[str, Task]:
    """Return the functions of the evaluation."""
    derivatives = compiler(blocks)

    def jacobian(*arguments: Any) -> dict[str, np.ndarray]:
        cameras, points, _, _, seen = arguments
        return sparse(*derivatives(*arguments), seen, len(cameras), len(points))

    return {"objective": Task(compiler(objective), _read, _errors), "jacobian": Task(jacobian, _read, _shown)}


def _read(given: dict[str, Any]) -> tuple[np.ndarray, ...]:
    n, m, p = given["n"], given["m"], given["p"]
    observations = np.arange(p)
    return (
        np.tile(np.array(given["cam"], np.float64), (n, 1)),
        np.tile(np.array(given["x"], np.float64), (m, 1)),
        np.full(p, float(given["w"])),
        np.tile(np.array(given["feat"], np.float64), (p, 1)),
        np.stack([observations % n, observations % m], axis=1),
    )


def _errors(result: tuple[np.ndarray, np.ndarray]) -> dict[str, Any]:
    errors, weights = result
    return {
        "reproj_error": {"elements": errors[0].tolist(), "repeated": len(errors)},
        "w_err": {"element": float(weights[0]), "repeated": len(weights)},
    }


def _shown(result: dict[str, np.ndarray]) -> dict[str, Any]:
    return {name: [*values[:SHOWN].tolist(), values[-1].item()] for name, values in result.items()}
