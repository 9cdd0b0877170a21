"""Functions of matrices of ``scipy.linalg``: not of their elements."""

from __future__ import annotations

from typing import Any

from funcgrad._ops.linalg import exponential
from funcgrad.numpy.extend import squares


def expm(A: Any) -> Any:  # noqa: N803  (SciPy's name)
    """Compute the exponential of a square matrix, the sum of ``A^k / k!``.

    Args:
        A: f[..., n, n]. On XLA the result is NaN where its 1-norm is beyond 350,000.

    Returns:
        f[..., n, n].

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> turn = lambda angle: fg.scipy.linalg.expm(angle * np.array([[0.0, -1.0], [1.0, 0.0]]))
        >>> np.round(turn(np.pi / 2), 6) + 0.0
        array([[ 0., -1.],
               [ 1.,  0.]])
        >>> print(round(float(fg.grad(lambda angle: turn(angle)[1, 0])(0.0)), 6))
        1.0

    Rule: Najfeld and Havel, "Derivatives of the matrix exponential and their computation", 1995: a block of the
    exponential of a matrix twice as large.
    """
    return exponential.expm(squares("scipy.linalg.expm", A, "A"))
