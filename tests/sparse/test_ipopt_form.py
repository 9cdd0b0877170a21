"""Problem HS071 in the form that cyipopt documents: structure arrays once, then values in their order at each point."""

from __future__ import annotations

from typing import Any

import numpy as np

import funcgrad as fg

X = np.array([1.0, 5.0, 4.0, 2.0])
LAGRANGE = np.array([0.3, -1.7])
FACTOR = 0.8


def objective(x: Any) -> Any:
    return x[0] * x[3] * np.sum(x[:3]) + x[2]


def constraints(x: Any) -> Any:
    return np.stack([np.prod(x), np.dot(x, x)])


def lagrangian(x: Any, lagrange: Any, factor: Any) -> Any:
    return factor * objective(x) + np.dot(lagrange, constraints(x))


class Problem:
    """The methods that ``cyipopt.Problem`` calls; ``hessianstructure`` is that of the lower triangle."""

    def __init__(self) -> None:
        self._jacobian = fg.sparse.jacobian(constraints)
        self._hessian = fg.sparse.hessian(lagrangian)
        rows, columns = self._hessian.structure(X, LAGRANGE, FACTOR)
        self._lower = rows >= columns
        self._structure = rows[self._lower], columns[self._lower]

    def jacobianstructure(self) -> tuple[np.ndarray, np.ndarray]:
        return self._jacobian.structure(X)

    def jacobian(self, x: np.ndarray) -> np.ndarray:
        return self._jacobian(x).data

    def hessianstructure(self) -> tuple[np.ndarray, np.ndarray]:
        return self._structure

    def hessian(self, x: np.ndarray, lagrange: np.ndarray, obj_factor: float) -> np.ndarray:
        return self._hessian(x, lagrange, obj_factor).data[self._lower]


def dense(structure: tuple[np.ndarray, np.ndarray], values: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    rows, columns = structure
    assert rows.ndim == columns.ndim == values.ndim == 1
    assert len(rows) == len(columns) == len(values)
    assert rows.dtype.kind == columns.dtype.kind == "i"
    assert len(set(zip(rows.tolist(), columns.tolist(), strict=True))) == len(rows)
    y = np.zeros(shape)
    y[rows, columns] = values
    return y


def test_the_jacobian_of_the_constraints() -> None:
    problem = Problem()
    for x in (X, X[::-1] + 0.5):
        expected = [np.prod(x) / x, 2 * x]
        np.testing.assert_allclose(dense(problem.jacobianstructure(), problem.jacobian(x), (2, 4)), expected)


def test_the_hessian_of_the_lagrangian() -> None:
    """The expected values are those of cyipopt's own example."""
    problem = Problem()
    for x in (X, X[::-1] + 0.5):
        a, b, c, d = x
        expected = FACTOR * np.array([[2 * d, 0, 0, 0], [d, 0, 0, 0], [d, 0, 0, 0], [a + a + b + c, a, a, 0]])
        products = [[0, 0, 0, 0], [c * d, 0, 0, 0], [b * d, a * d, 0, 0], [b * c, a * c, a * b, 0]]
        expected += LAGRANGE[0] * np.array(products) + LAGRANGE[1] * 2 * np.eye(4)
        found = dense(problem.hessianstructure(), problem.hessian(x, LAGRANGE, FACTOR), (4, 4))
        np.testing.assert_allclose(found, expected)
