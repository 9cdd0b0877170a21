"""Jacobians and Hessians as ``scipy.sparse.linalg.LinearOperator`` s: products only, never the matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator

from funcgrad._core.aval import Aval, aval_of
from funcgrad._transforms.higher_order import linearize
from funcgrad._transforms.reverse import grad, vjp
from funcgrad.tree import TreeDef, flatten, unflatten


def jacobian_operator(f: Callable[..., Any], primal: Any) -> LinearOperator:
    """The Jacobian: forward mode for its products, reverse mode for those of its transpose."""
    out, f_jvp = linearize(f, primal)
    _, pullback = vjp(f, primal)
    domain, image = _Space(primal), _Space(out)
    return LinearOperator(
        (image.size, domain.size),
        matvec=lambda v: image.ravel(f_jvp(domain.unravel(v))),
        # SciPy's rmatvec is the product with the conjugate transpose.
        rmatvec=lambda u: np.conj(domain.ravel(pullback(image.unravel(np.conj(u)))[0])),
        dtype=np.result_type(domain.dtype, image.dtype),
    )


def hessian_operator(f: Callable[..., Any], primal: Any) -> LinearOperator:
    """The Hessian, which is symmetric: forward mode over reverse mode for products from either side."""
    _, product = linearize(grad(f), primal)
    space = _Space(primal)

    def matvec(v: np.ndarray) -> np.ndarray:
        return space.ravel(product(space.unravel(v)))

    return LinearOperator((space.size, space.size), matvec=matvec, rmatvec=matvec, dtype=space.dtype)


class _Space:
    """The flat vectors that stand for a pytree of arrays."""

    def __init__(self, tree: Any) -> None:
        leaves, self.treedef = flatten(tree)
        self.avals: Sequence[Aval] = [aval_of(x) for x in leaves]
        self.size = sum(aval.size for aval in self.avals)
        self.dtype = np.result_type(*[aval.dtype for aval in self.avals])

    treedef: TreeDef

    def ravel(self, tree: Any) -> np.ndarray:
        return np.concatenate([np.ravel(np.asarray(x)) for x in flatten(tree)[0]]).astype(self.dtype, copy=False)

    def unravel(self, vector: np.ndarray) -> Any:
        leaves, start = [], 0
        flat = np.ravel(vector)
        for aval in self.avals:
            part = flat[start : start + aval.size].astype(aval.dtype, copy=False)
            leaves.append(part.reshape(aval.shape)[()])
            start += aval.size
        return unflatten(self.treedef, leaves)
