"""Distributions of vectors and matrices. Densities use Cholesky factors; other matrices are refused."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.bind import Tracer
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.special.gamma import gammaln_step
from funcgrad._ops.program.barrier import stop_gradient_p
from funcgrad._types import ArrayLike
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy.extend import known_value
from funcgrad.scipy import special
from funcgrad.scipy.linalg import solve_triangular
from funcgrad.scipy.stats._base import Frozen, choose, number, refuse_method, unless
from funcgrad.scipy.stats._discrete import poisson_log_mass


class _Multivariate:
    """The common base of distributions of arrays: frozen forms, and the density from its logarithm."""

    name = ""
    # The attribute names of the parameters in SciPy's frozen distributions, in order.
    frozen: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<funcgrad.scipy.stats.{self.name}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Frozen:
        """Fix the parameters: the methods of the result take only points."""
        return Frozen(self, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        refuse_method(self, name)


class _Density(_Multivariate):
    def logpdf(self, x: ArrayLike, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def pdf(self, x: ArrayLike, *args: Any, **kwargs: Any) -> Any:
        """Return the density at ``x``."""
        return fnp.exp(self.logpdf(x, *args, **kwargs))


class _Mass(_Multivariate):
    def logpmf(self, x: ArrayLike, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def pmf(self, x: ArrayLike, *args: Any, **kwargs: Any) -> Any:
        """Return the probability of ``x``."""
        return fnp.exp(self.logpmf(x, *args, **kwargs))


def _matrix(name: str, what: str, x: ArrayLike, size: int | None) -> Any:
    """Return a covariance matrix; a number or a vector gives a diagonal one, as in SciPy."""
    x = number(x)
    shape = np.shape(x)
    if len(shape) == 2 and shape[0] == shape[1] and size in (None, shape[0]):
        return x
    if not shape:
        return x * np.eye(size or 1)
    if len(shape) == 1 and size in (None, shape[0]):
        return x[:, None] * np.eye(shape[0])
    raise ValueError(
        f"scipy.stats.{name}: {what} has shape {shape}; needed a square matrix, a vector or a number, of dimension "
        f"{size}. Give each variable a row and a column."
    )


def _dimension(mean: ArrayLike, matrix: ArrayLike) -> int:
    for x in (mean, matrix):
        if x is not None and np.ndim(x):
            return np.shape(x)[0]
    return 1


def _points(x: ArrayLike, size: int) -> Any:
    """Return points as ``f64[..., size]``; in one dimension each number is a point."""
    x = number(x)
    if size == 1 and np.ndim(x) <= 1:
        return fnp.reshape(x, (*np.shape(x), 1))
    return x


def _distances(x: ArrayLike, mean: ArrayLike, matrix: ArrayLike) -> tuple[Any, Any]:
    """Return ``(x - mean)^T matrix^-1 (x - mean)`` and the logarithm of the determinant."""
    factor = fnp.linalg.cholesky(matrix)
    deviations = x - mean
    size = matrix.shape[-1]
    rows = fnp.reshape(deviations, (-1, size))
    solved = solve_triangular(factor, rows.T, lower=True)
    distances = fnp.reshape(fnp.sum(solved * solved, axis=0), deviations.shape[:-1])
    return distances, 2 * fnp.sum(fnp.log(fnp.diagonal(factor)))


def _squeezed(y: ArrayLike) -> Any:
    """Return the result without axes of length 1, as SciPy does; a number for one point."""
    y = fnp.squeeze(y)
    return y if np.ndim(y) else y[()]


# SciPy's tolerance: eigenvalues below this fraction of the largest count as 0.
_SINGULAR = 1e6 * np.finfo(float).eps


def _singular_log_density(x: ArrayLike, mean: ArrayLike, cov: ArrayLike) -> Any:
    """Return the log density on the subspace of a singular covariance; minus infinity off it."""
    values, vectors = np.linalg.eigh(np.asarray(cov))
    least = _SINGULAR * np.max(abs(values), initial=0.0)
    if np.min(values, initial=0.0) < -least:
        raise ValueError(
            f"scipy.stats.multivariate_normal: the covariance has the eigenvalue {values.min():.3g}; needed none below "
            "0. Give a symmetric positive semidefinite matrix."
        )
    kept = values > least
    deviations = x - mean
    scaled = deviations @ (vectors[:, kept] / np.sqrt(values[kept]))
    outside = deviations @ vectors[:, ~kept]
    constant = np.sum(kept) * math.log(2 * math.pi) + np.sum(np.log(values[kept]))
    y = -0.5 * (constant + fnp.sum(scaled * scaled, axis=-1))
    # Compare squares: a norm has no derivative at 0, its value at points of the subspace.
    inside = fnp.sum(outside * outside, axis=-1) < (1e3 * least) ** 2
    return select(inside | (not np.any(~kept)), y, -math.inf)


def _full_rank(cov: Tracer) -> Any:
    """Return 1 if the eigenvalues of a traced covariance count as positive, else NaN; refuse it where that is known."""
    values = fnp.linalg.eigvalsh(stop_gradient_p(cov))
    is_full = fnp.all(values > _SINGULAR * fnp.max(abs(values), initial=0.0))
    known = known_value(is_full)
    if known is not None and not known.all():
        raise UnsupportedFunctionError(
            "scipy.stats.multivariate_normal: allow_singular=True was asked for, with a traced covariance that is not "
            "positive definite; there is no derivative by a singular matrix. Give the "
            "covariance as plain numbers."
        )
    return unless(is_full)


class _Normal(_Density):
    """The multivariate normal distribution."""

    name = "multivariate_normal"
    frozen = ("mean", "cov", "allow_singular")

    def logpdf(self, x: ArrayLike, mean: ArrayLike = None, cov: ArrayLike = 1, allow_singular: bool = False) -> Any:
        """Return the logarithm of the density at ``x``: f64[..., n]."""
        size = _dimension(mean, cov)
        cov = _matrix(self.name, "cov", cov, size)
        points, mean = _points(x, size), 0.0 if mean is None else number(mean)
        if allow_singular and not isinstance(cov, Tracer):
            return _squeezed(_singular_log_density(points, mean, cov))
        # Ask before Cholesky's factors are computed: they do not exist for a singular matrix.
        full = _full_rank(cov) if allow_singular else None
        distance, log_det = _distances(points, mean, cov)
        y = _squeezed(-0.5 * (size * math.log(2 * math.pi) + log_det + distance))
        return y if full is None else y * full

    def entropy(self, mean: ArrayLike = None, cov: ArrayLike = 1) -> Any:
        """Return the differential entropy."""
        size = _dimension(mean, cov)
        factor = fnp.linalg.cholesky(_matrix(self.name, "cov", cov, size))
        return 0.5 * size * (1 + math.log(2 * math.pi)) + fnp.sum(fnp.log(fnp.diagonal(factor)))


class _T(_Density):
    """The multivariate t distribution."""

    name = "multivariate_t"
    frozen = ("loc", "shape", "df")

    def logpdf(self, x: ArrayLike, loc: ArrayLike = None, shape: ArrayLike = 1, df: ArrayLike = 1) -> Any:
        """Return the logarithm of the density at ``x``: f64[..., n]."""
        size = _dimension(loc, shape)
        shape = _matrix(self.name, "shape", shape, size)
        distance, log_det = _distances(_points(x, size), 0.0 if loc is None else number(loc), shape)
        df = number(df)
        normal = df == math.inf
        d = choose(normal, 1.0, df)
        # XLA does not choose between Python numbers, which `gammaln_step` does.
        log_gammas = gammaln_step(0.5 * d, np.float64(0.5 * size)) - 0.5 * size * fnp.log(d * math.pi)
        y = log_gammas - 0.5 * log_det - 0.5 * (d + size) * fnp.log1p(distance / d)
        limit = -0.5 * (size * math.log(2 * math.pi) + log_det + distance)
        return _squeezed(choose(normal, limit, y))


class _Dirichlet(_Density):
    """The Dirichlet distribution."""

    name = "dirichlet"
    frozen = ("alpha",)

    def logpdf(self, x: ArrayLike, alpha: ArrayLike) -> Any:
        """Return the log density at ``x``: f64[n] or f64[n, ...], whose columns are points that sum to 1."""
        x, alpha = number(x), number(alpha)
        if np.shape(x)[0] == np.shape(alpha)[0] - 1:
            # SciPy accepts points without their last coordinate as well.
            x = fnp.concatenate([x, fnp.reshape(1 - fnp.sum(x, axis=0), (1, *np.shape(x)[1:]))])
        constant = fnp.sum(special.gammaln(alpha)) - special.gammaln(fnp.sum(alpha))
        terms = special.xlogy(alpha - 1, fnp.moveaxis(x, 0, -1))
        return _squeezed((fnp.sum(terms, axis=-1) - constant) * unless(fnp.all(alpha > 0)))

    def mean(self, alpha: ArrayLike) -> Any:
        """Return the mean."""
        alpha = number(alpha)
        return alpha / fnp.sum(alpha)

    def var(self, alpha: ArrayLike) -> Any:
        """Return the variances."""
        alpha = number(alpha)
        total = fnp.sum(alpha)
        return alpha * (total - alpha) / (total * total * (total + 1))

    def entropy(self, alpha: ArrayLike) -> Any:
        """Return the differential entropy."""
        alpha = number(alpha)
        total, size = fnp.sum(alpha), np.shape(alpha)[0]
        constant = fnp.sum(special.gammaln(alpha)) - special.gammaln(total)
        slopes = (total - size) * special.digamma(total) - fnp.sum((alpha - 1) * special.digamma(alpha))
        return constant + slopes


class _Multinomials(_Mass):
    """The multinomial distribution."""

    name = "multinomial"
    frozen = ("n", "p")

    def logpmf(self, x: ArrayLike, n: ArrayLike, p: ArrayLike) -> Any:
        """Return the logarithm of the probability of the counts ``x``: [..., k].

        If the probabilities do not sum to 1, SciPy replaces the last one by the rest. Derivatives with respect to ``p``
        always assume this: the one with respect to the last probability is 0.
        """
        x, n, p = number(x), number(n), number(p)
        last, left = stop_gradient_p(p[..., -1:]), 1 - fnp.sum(p[..., :-1], axis=-1, keepdims=True)
        is_sum = abs(1 - fnp.sum(p, axis=-1, keepdims=True)) <= 10 * np.finfo(float).eps
        last = select(is_sum, last + (left - stop_gradient_p(left)), left)
        p = fnp.concatenate([p[..., :-1], last], axis=-1)
        out = fnp.any((x < 0) | (x != fnp.floor(x)), axis=-1) | (fnp.sum(x, axis=-1) != n)
        inside = select(out[..., None], 0.0, x)
        allowed = fnp.all((p >= 0) & (p <= 1), axis=-1) & (n >= 0)
        # Divide the cells' Poisson probabilities by that of their sum: then no term is as large as a count.
        total = stop_gradient_p(n)
        y = fnp.sum(poisson_log_mass(inside, fnp.reshape(total, (*np.shape(n), 1)) * p), axis=-1)
        y = y - poisson_log_mass(total, total) + (special.gammaln(n + 1) - special.gammaln(total + 1))
        y = select(out, -math.inf, y) * unless(allowed)
        return y if np.ndim(y) else y[()]


class _Wishart(_Density):
    """The Wishart distribution."""

    name = "wishart"
    frozen = ("df", "scale")

    def logpdf(self, x: ArrayLike, df: ArrayLike, scale: ArrayLike) -> Any:
        """Return the logarithm of the density at a matrix ``x``: f64[n, n], or at each of several: f64[n, n, count]."""
        scale = _matrix(self.name, "scale", scale, None)
        size = scale.shape[0]
        x, df = _matrices(number(x), size), number(df)
        of_x, of_scale = fnp.linalg.cholesky(x), fnp.linalg.cholesky(scale)
        log_x = 2 * fnp.sum(fnp.log(fnp.diagonal(of_x, axis1=-2, axis2=-1)), axis=-1)
        log_scale = 2 * fnp.sum(fnp.log(fnp.diagonal(of_scale)))
        columns = fnp.reshape(fnp.moveaxis(of_x, -2, 0), (size, -1))
        solved = fnp.reshape(solve_triangular(of_scale, columns, lower=True), (size, -1, size))
        trace = fnp.sum(solved * solved, axis=(0, 2))
        y = 0.5 * ((df - size - 1) * log_x - trace - df * (size * math.log(2) + log_scale))
        return _squeezed((y - special.multigammaln(0.5 * df, size)) * unless(df > size - 1))


def _matrices(x: ArrayLike, size: int) -> Any:
    """Return points of a distribution of matrices as f64[count, n, n]; SciPy's forms have the count last."""
    if np.ndim(x) == 3:
        return fnp.moveaxis(x, -1, 0)
    if np.ndim(x) == 0:
        return fnp.reshape(x * np.eye(size), (1, size, size))
    if np.ndim(x) == 1:
        return fnp.reshape(x, (-1, 1, 1)) if size == 1 else fnp.reshape(x[:, None] * np.eye(size), (1, size, size))
    return fnp.reshape(x, (1, size, size))


multivariate_normal = _Normal()
multivariate_t = _T()
dirichlet = _Dirichlet()
multinomial = _Multinomials()
wishart = _Wishart()
