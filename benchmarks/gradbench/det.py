"""`det`: a determinant by expansion by minors, and its gradient."""

from typing import Any

import numpy as np

import funcgrad as fg
from benchmarks.gradbench._protocol import Compiler, Task


def determinants(a: Any) -> Any:
    """Return the determinants of a stack of matrices, [..., m, m], by expansion along the first row.

    All minors of one size form one stack; a minor that several rows of the expansion need is computed anew for each,
    as in the evaluation's own program.
    """
    m = a.shape[-1]
    if m == 1:
        return a[..., 0, 0]
    others = np.array([[column for column in range(m) if column != j] for j in range(m)])
    minors = np.moveaxis(a[..., 1:, others], -2, -3)  # [..., j, m - 1, m - 1]: without row 0 and column j
    signs = (-1.0) ** np.arange(m)
    return np.sum(signs * a[..., 0, :] * determinants(minors), axis=-1)


def tasks(compiler: Compiler) -> dict[str, Task]:
    """Return the functions of the evaluation."""
    return {
        "primal": Task(compiler(determinants), _read),
        "gradient": Task(compiler(fg.grad(determinants)), _read, lambda result: np.ravel(result).tolist()),
    }


def _read(given: dict[str, Any]) -> tuple[np.ndarray]:
    return (np.array(given["A"], np.float64).reshape(given["ell"], given["ell"]),)
