"""The power iteration that estimates the largest singular value of a weight."""

from __future__ import annotations

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._ops.elementwise.arithmetic import root_of_squares_p
from funcgrad.autograd import Tensor
from funcgrad.autograd.extend import default_generator, rebuild


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """Return a weight as a matrix whose rows belong to the elements of an axis."""
    return fnp.moveaxis(weight, dim, 0).reshape(weight.shape[dim], -1)


def normalized(x: Tensor, eps: float) -> Tensor:
    """Return a vector divided by its norm, or by ``eps`` if that is greater."""
    return x / fnp.maximum(root_of_squares_p(fnp.sum(x * x)), x.dtype.type(eps))


def normal_vectors(matrix: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """Draw a left and a right vector of norm 1."""
    drawn = [default_generator.normal(0.0, 1.0, (n,), dtype=matrix.dtype) for n in matrix.shape]
    left, right = [normalized(rebuild(np.asarray(x), False), eps) for x in drawn]
    return left, right


def iterated(matrix: Tensor, u: Tensor, v: Tensor, count: int, eps: float) -> tuple[Tensor, Tensor]:
    """Return the vectors after some power iterations, the left one first."""
    for _ in range(count):
        u = normalized(matrix @ v, eps)
        v = normalized(matrix.T @ u, eps)
    return u, v


def sigma_of(matrix: Tensor, u: Tensor, v: Tensor) -> Tensor:
    """Return the estimate of the singular value of two vectors."""
    return fnp.dot(u, matrix @ v)
