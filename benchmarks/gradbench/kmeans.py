"""`kmeans`: the cost of a clustering, and the direction of Newton's step for it."""

from typing import Any

import numpy as np

import funcgrad as fg
from benchmarks.gradbench._protocol import Compiler, Task, arrays


def cost(centroids: Any, points: Any) -> Any:
    """Return the sum of each point's squared distance from its nearest centroid."""
    # |c - p|**2 without |p|**2, which is the same for all centroids.
    nearest = np.argmin(np.sum(centroids**2, axis=1) - 2 * points @ centroids.T, axis=1)
    return np.sum((points - centroids[nearest]) ** 2)


def direction(centroids: Any, points: Any) -> Any:
    """Return gradient / Hessian. The Hessian is diagonal, so its product with ones is its diagonal."""
    gradient, diagonal = fg.jvp(lambda c: fg.grad(cost)(c, points), (centroids,), (np.ones(centroids.shape),))
    return gradient / diagonal


def tasks(compiler: Compiler) -> dict[str, Task]:
    """Return the functions of the evaluation."""
    read = arrays("centroids", "points")
    return {"cost": Task(compiler(cost), read), "dir": Task(compiler(direction), read)}
