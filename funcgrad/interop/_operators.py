"""Jacobians and Hessians as ``scipy.sparse.linalg.LinearOperator`` s, which compute products and never the matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from funcgrad._core.aval import Aval, aval_of
from funcgrad._transforms.derivative.forward import linearize
from funcgrad._transforms.derivative.reverse import grad, vjp
from funcgrad._types import PyTree
from funcgrad.tree import TreeDef, flatten, unflatten

Product = Callable[[np.ndarray], np.ndarray]


class DerivativeOperator(LinearOperator):
    """A matrix given by its products with vectors from both sides."""

    def __init__(self, shape: tuple[int, int], dtype: np.dtype, matvec: Product, rmatvec: Product) -> None:
        super().__init__(dtype, shape)
        self._product = matvec
        self._adjoint_product = rmatvec

    def _matvec(self, x: np.ndarray) -> np.ndarray:
        return self._product(x)

    def _rmatvec(self, x: np.ndarray) -> np.ndarray:
        return self._adjoint_product(x)


def jacobian_operator(f: Callable[..., Any], primal: PyTree) -> DerivativeOperator:
    """Return the Jacobian as an operator: forward mode for its products, reverse mode for those of its transpose."""
    out, f_jvp = linearize(f, primal)
    _, pullback = vjp(f, primal)
    domain, image = _FlatSpace(primal), _FlatSpace(out)

    def matvec(v: np.ndarray) -> np.ndarray:
        return image.ravel(f_jvp(domain.unravel(v)))

    def rmatvec(u: np.ndarray) -> np.ndarray:
        # SciPy's rmatvec is the product with the conjugate transpose.
        return np.conj(domain.ravel(pullback(image.unravel(np.conj(u)))[0]))

    return DerivativeOperator((image.size, domain.size), np.result_type(domain.dtype, image.dtype), matvec, rmatvec)


def hessian_operator(f: Callable[..., Any], primal: PyTree) -> DerivativeOperator:
    """Return the Hessian as an operator.

    It is symmetric, so forward over reverse mode gives the products from both sides.
    """
    _, product = linearize(grad(f), primal)
    space = _FlatSpace(primal)

    def matvec(v: np.ndarray) -> np.ndarray:
        return space.ravel(product(space.unravel(v)))

    return DerivativeOperator((space.size, space.size), space.dtype, matvec, matvec)


class _FlatSpace:
    """The space of flat vectors that represent a pytree of arrays."""

    def __init__(self, tree: PyTree) -> None:
        leaves, self.treedef = flatten(tree)
        self.avals: Sequence[Aval] = [aval_of(x) for x in leaves]
        self.size = sum(aval.size for aval in self.avals)
        self.dtype = np.result_type(*[aval.dtype for aval in self.avals])

    treedef: TreeDef

    def ravel(self, tree: PyTree) -> np.ndarray:
        return np.concatenate([np.ravel(np.asarray(x)) for x in flatten(tree)[0]]).astype(self.dtype, copy=False)

    def unravel(self, vector: np.ndarray) -> Any:
        leaves, start = [], 0
        flat = np.ravel(vector)
        for aval in self.avals:
            part = flat[start : start + aval.size].astype(aval.dtype, copy=False)
            leaves.append(part.reshape(aval.shape)[()])
            start += aval.size
        return unflatten(self.treedef, leaves)
