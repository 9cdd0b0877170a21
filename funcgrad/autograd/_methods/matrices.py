"""Methods of matrices: decompositions and solutions, with PyTorch's arguments and named tuples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import Array, ArrayLike, Tensor
from funcgrad.autograd._memory.views import copied
from funcgrad.autograd._memory.write import plain_value
from funcgrad.autograd._methods.results import RETURN_TYPES
from funcgrad.autograd._tape.dtypes import default_dtype
from funcgrad.numpy.extend import normalize_axis
from funcgrad.scipy import linalg, special

Method = Callable[..., Any]


def adjoint(self: Tensor) -> Any:
    """Return the conjugate with its last two axes exchanged."""
    if len(self.shape) < 2:
        raise RuntimeError(f"adjoint() is only supported for matrices, and the tensor has {len(self.shape)} dimensions")
    return fnp.conjugate(fnp.matrix_transpose(self)) if self.dtype.kind == "c" else fnp.matrix_transpose(self)


def cholesky(self: Tensor, upper: bool = False) -> Tensor:
    """Return the Cholesky factor of positive definite matrices."""
    factor = fnp.linalg.cholesky(self)
    return adjoint(factor) if upper else factor


def _cholesky_solve(self: Tensor, input2: Array, upper: bool = False) -> Any:
    """Return the solutions of systems of positive definite matrices, given by their Cholesky factors."""
    lower = adjoint(input2) if upper else input2
    return triangular(adjoint(lower), triangular(lower, self, upper=False), upper=True)


def _cholesky_inverse(self: Tensor, upper: bool = False) -> Any:
    """Return the inverse of positive definite matrices, given by their Cholesky factors."""
    return _cholesky_solve(self._owner.constant(np.eye(self.shape[-1], dtype=self.dtype)), self, upper)


def triangular(a: Array, b: Array, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    """Return the solutions of triangular systems ``a @ x == b``, or ``x @ a == b``."""
    if not left:
        flipped = triangular(a.mT, b.mT, upper=not upper, unitriangular=unitriangular)
        return flipped.mT
    return linalg.solve_triangular(a, b, lower=not upper, unit_diagonal=unitriangular)


def _qr(self: Tensor, some: bool = True) -> Any:
    """Return an orthogonal and an upper triangular matrix whose product is the matrix."""
    return RETURN_TYPES["qr"](*fnp.linalg.qr(self, "reduced" if some else "complete"))


def _svd(self: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """Return the singular value decomposition, ``U @ diag(S) @ V.mT``."""
    if not compute_uv:
        s = fnp.linalg.svdvals(self)
        m, n = self.shape[-2:]
        zeros = [self.new_zeros(*self.shape[:-2], k, k) for k in (m, n)]
        return RETURN_TYPES["svd"](zeros[0], s, zeros[1])
    u, s, vh = fnp.linalg.svd(self, full_matrices=not some)
    return RETURN_TYPES["svd"](u, s, adjoint(vh))


def _diag_embed(self: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """Return matrices with the elements of the last axis on a diagonal."""
    ndim, size = len(self.shape) + 1, self.shape[-1] + abs(offset)
    axes = normalize_axis(dim1, ndim), normalize_axis(dim2, ndim)
    if axes[0] == axes[1]:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    rows = np.arange(self.shape[-1]) + max(-offset, 0)
    columns = np.arange(self.shape[-1]) + max(offset, 0)
    mask = np.zeros((self.shape[-1], size, size), bool)
    mask[np.arange(self.shape[-1]), rows, columns] = True
    spread = fnp.sum(fnp.where(mask, fnp.expand_dims(self, (-1, -2)), self.dtype.type(0)), axis=-3)
    return fnp.moveaxis(spread, (-2, -1), axes)


def _placed(key: Callable[..., tuple[Any, ...]]) -> Method:
    """Return a method that gives a copy with one part replaced."""

    def method(self: Tensor, src: ArrayLike, *args: Any, **options: Any) -> Any:
        y = self.clone()
        place = key(y, *args, **options)
        if np.shape(y[place]) != np.shape(src):
            raise RuntimeError(
                f"expected src to have a size equal to the slice of self. src size = {list(np.shape(src))}, slice size "
                f"= {list(y[place].shape)}"
            )
        y[place] = src
        return y

    return method


def _slice_key(x: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1) -> tuple:
    return (*(slice(None),) * normalize_axis(dim, len(x.shape)), slice(start, end, step))


def _diagonal_scatter(self: Tensor, src: ArrayLike, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """Return a copy with another diagonal."""
    y = self.clone()
    y.diagonal(offset, dim1, dim2).copy_(src)
    return y


def _dist(self: Tensor, other: ArrayLike, p: float = 2) -> Any:
    """Return the norm of the difference of two tensors."""
    return (self - other).norm(p)


def _renorm(self: Tensor, p: float, dim: int, maxnorm: float) -> Any:
    """Return the tensor with slices along an axis scaled down to a norm of at most ``maxnorm``."""
    axis = normalize_axis(dim, len(self.shape))
    others = tuple([i for i in range(len(self.shape)) if i != axis])
    norms = fnp.sum(fnp.abs(self) ** p, axis=others, keepdims=True) ** (1 / p)
    return self * fnp.where(norms > maxnorm, maxnorm / (norms + 1e-7), 1.0)


def _logcumsumexp(self: Tensor, dim: int) -> Any:
    """Return the logarithm of the sums of exponentials so far along an axis."""
    if not self.shape or not self.shape[normalize_axis(dim, len(self.shape))]:
        return copied(self)
    axis = normalize_axis(dim, len(self.shape))
    parts = [fnp.take(self, np.array([0]), axis)]
    for i in range(1, self.shape[axis]):
        parts.append(fnp.logaddexp(parts[-1], fnp.take(self, np.array([i]), axis)))
    return fnp.concatenate(parts, axis)


def _frexp(self: Tensor) -> Any:
    """Return parts below 1 and exponents of 2 whose products are the elements."""
    return RETURN_TYPES["frexp"](*fnp.frexp(self))


def _in_float(function: Callable[..., Any]) -> Method:
    """Return the method of a function that computes with floats, of integers too."""

    def method(self: Tensor, *args: Any) -> Any:
        x = self.to(default_dtype()) if self.dtype.kind in "biu" else self
        return function(x, *[plain_value(a) for a in args])

    return method


def _matrix_exp(self: Tensor) -> Any:
    """Return the exponential of matrices."""
    return linalg.expm(self)


METHODS: dict[str, Method] = {
    "adjoint": adjoint,
    "cholesky": cholesky,
    "cholesky_solve": _cholesky_solve,
    "cholesky_inverse": _cholesky_inverse,
    "qr": _qr,
    "svd": _svd,
    "slogdet": lambda self: RETURN_TYPES["slogdet"](*fnp.linalg.slogdet(self)),
    "matrix_exp": _matrix_exp,
    "diag_embed": _diag_embed,
    "diagflat": lambda self, offset=0: fnp.diagflat(self, offset),
    "diagonal_scatter": _diagonal_scatter,
    "select_scatter": _placed(lambda x, dim, index: (*(slice(None),) * normalize_axis(dim, len(x.shape)), index)),
    "slice_scatter": _placed(_slice_key),
    "dist": _dist,
    "renorm": _renorm,
    "logcumsumexp": _logcumsumexp,
    "frexp": _frexp,
    "ldexp": lambda self, other: self * (self.new_full((), 2.0, dtype=default_dtype()) ** plain_value(other)),
    "igamma": _in_float(special.gammainc),
    "igammac": _in_float(special.gammaincc),
    "mvlgamma": _in_float(lambda x, p: special.multigammaln(x, p).to(x.dtype)),
    "polygamma": _in_float(lambda x, n: special.polygamma(n, x).to(x.dtype)),
    "hardshrink": lambda self, lambd=0.5: fnp.where(fnp.abs(self) > lambd, self, self.dtype.type(0)),
    "prelu": lambda self, weight: fnp.where(self > 0, self, weight * self),
    "gcd": lambda self, other: fnp.gcd(self, plain_value(other)),
    "lcm": lambda self, other: fnp.lcm(self, plain_value(other)),
    "bitwise_left_shift": lambda self, other: fnp.left_shift(self, plain_value(other)),
    "bitwise_right_shift": lambda self, other: fnp.right_shift(self, plain_value(other)),
}
