"""SciPy's solvers on Jacobians and Hessians as operators, without matrices."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from scipy.sparse.linalg import LinearOperator, cg, eigsh, lsqr

import funcgrad as fg

RNG = np.random.default_rng(8)
POINT = {"a": RNG.normal(size=(2, 3)), "b": np.float64(0.5)}


def residuals(params: Any) -> Any:
    return {"sin": np.sin(params["a"]) * params["b"], "sum": np.sum(params["a"] ** 2)}


def energy(params: Any) -> Any:
    return np.sum(params["a"] ** 4) + np.sum(params["a"]) ** 2 * params["b"] ** 2 + params["b"] ** 4


def matrix(tree: Any, rows: list[tuple[int, ...]], columns: list[tuple[int, ...]]) -> np.ndarray:
    """Return a tree of blocks as one matrix."""
    blocks = iter(fg.tree.leaves(tree))
    return np.block([[np.reshape(next(blocks), (int(np.prod(r)), int(np.prod(c)))) for c in columns] for r in rows])


IN, OUT = [(2, 3), ()], [(2, 3), ()]


def test_jacobian() -> None:
    operator = fg.linear_operator(residuals, POINT)
    assert issubclass(type(operator), LinearOperator)
    dense = matrix(fg.jacrev(residuals)(POINT), OUT, IN)
    np.testing.assert_allclose(operator @ np.eye(7), dense)
    np.testing.assert_allclose(operator.H @ np.eye(7), dense.T)
    u = RNG.normal(size=7)
    np.testing.assert_allclose(lsqr(operator, u, atol=1e-14, btol=1e-14)[0], np.linalg.lstsq(dense, u)[0], rtol=1e-6)


def test_hessian() -> None:
    operator = fg.linear_operator(energy, POINT, "hessian")
    dense = matrix(fg.hessian(energy)(POINT), IN, IN)
    np.testing.assert_allclose(operator @ np.eye(7), dense)
    np.testing.assert_allclose(eigsh(operator, 2, which="LA")[0], np.linalg.eigvalsh(dense)[-2:], rtol=1e-8)
    shifted = fg.linear_operator(lambda p: energy(p) + 10 * np.sum(p["a"] ** 2) + 10 * p["b"] ** 2, POINT, "hessian")
    solution, failed = cg(shifted, np.ones(7), rtol=1e-12)
    assert not failed
    np.testing.assert_allclose((dense + 20 * np.eye(7)) @ solution, np.ones(7), rtol=1e-8)


def test_unknown_kind() -> None:
    with pytest.raises(ValueError, match="of is 'gradient'; needed"):
        fg.linear_operator(energy, POINT, "gradient")


def test_scipy_is_loaded_on_demand() -> None:
    program = "import sys, funcgrad; sys.exit('scipy.sparse.linalg' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
