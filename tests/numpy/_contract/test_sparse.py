"""Products of SciPy's sparse matrices and traced values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import funcgrad as fg
from funcgrad.errors import ForeignArrayError

DENSE = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, -1.0]])
MATRICES = {
    "csr_matrix": scipy.sparse.csr_matrix(DENSE),
    "csc_array": scipy.sparse.csc_array(DENSE),
    "coo_array": scipy.sparse.coo_array(DENSE),
    "float32": scipy.sparse.csr_array(DENSE.astype(np.float32)),
    "empty": scipy.sparse.csr_array((2, 3)),
}
PRODUCTS: dict[str, tuple[Callable[[Any, Any], Any], tuple[int, ...]]] = {
    "vector": (lambda a, x: a @ x, (3,)),
    "matrix": (lambda a, x: a @ x, (3, 2)),
    "column": (lambda a, x: a @ x, (3, 1)),
    "vector on the left": (lambda a, x: x @ a, (2,)),
    "matrix on the left": (lambda a, x: x @ a, (4, 2)),
    "transposed vector": (lambda a, x: x.T @ a, (2,)),
    "transposed": (lambda a, x: a.T @ x, (2,)),
}


@pytest.mark.parametrize("kind", MATRICES)
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str, kind: str, rng: np.random.Generator) -> None:
    product, shape = PRODUCTS[name]
    a = MATRICES[kind]
    x = rng.normal(size=shape)
    value, pullback = fg.vjp(lambda x: product(a, x), x)
    expected, expected_pullback = fg.vjp(lambda x: product(a.toarray(), x), x)
    np.testing.assert_allclose(value, expected, atol=1e-15)
    assert value.dtype == expected.dtype
    seed = rng.normal(size=value.shape)
    np.testing.assert_allclose(pullback(seed)[0], expected_pullback(seed)[0], atol=1e-15)


def test_products_under_transforms(rng: np.random.Generator) -> None:
    """The methods of the compressed formats give the same."""
    a = MATRICES["csc_array"]
    x = rng.normal(size=(4, 3))
    np.testing.assert_allclose(fg.vmap(lambda x: a @ x)(x), x @ DENSE.T)
    np.testing.assert_allclose(fg.vmap(a.dot)(x), x @ DENSE.T)
    np.testing.assert_allclose(fg.jit(fg.grad(lambda x: np.sum((a @ x) ** 2)))(x[0]), 2 * DENSE.T @ DENSE @ x[0])
    np.testing.assert_allclose(fg.hessian(lambda x: np.sum((a @ x) ** 2))(x[0]), 2 * DENSE.T @ DENSE)


def test_other_operations_are_refused() -> None:
    for f in (
        lambda x: MATRICES["csr_matrix"] * x,
        lambda x: MATRICES["csc_array"] * x,
        lambda x: x * MATRICES["csc_array"],
        lambda x: MATRICES["csr_matrix"] + x,
    ):
        with pytest.raises(ForeignArrayError, match=r"sparse.*Write A @ x"):
            fg.grad(lambda x, f=f: np.sum(f(x)))(np.ones(3))
    with pytest.raises(ValueError, match=r"a sparse operand has shape \(2, 3\) and the other.*f64\[2\]"):
        fg.grad(lambda x: np.sum(MATRICES["csr_matrix"] @ x))(np.ones(2))
