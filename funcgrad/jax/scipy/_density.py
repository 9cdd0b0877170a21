"""The density of a sample by Gaussian kernels: ``jax.scipy.stats.gaussian_kde``."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

from funcgrad._types import Array, ArrayLike, Key
from funcgrad.jax import numpy as jnp
from funcgrad.jax import random
from funcgrad.jax.scipy.special import logsumexp, ndtr
from funcgrad.tree import register_node

_FACTORS: dict[str, Callable[[Any, int], Any]] = {
    "scott": lambda neff, d: neff ** (-1.0 / (d + 4)),
    "silverman": lambda neff, d: (neff * (d + 2) / 4.0) ** (-1.0 / (d + 4)),
}


@register_node
class gaussian_kde:  # noqa: N801  (JAX's name)
    """A density that is a sum of normal densities around the points of a sample. It is a pytree.

    Args:
        dataset: f64[n] or f64[d, n]: the sample.
        bw_method: the width of the kernels relative to the sample's own: ``"scott"`` (the default), ``"silverman"``, a
            number, or a function of this object.
        weights: f64[n], or ``None`` for equal ones.

    Raises:
        ValueError: the sample has one element or less, the weights have another shape, or the method is unknown.

    Source: Scott, *Multivariate Density Estimation* (1992); for the form, ``jax.scipy.stats.gaussian_kde``.
    """

    def __init__(self, dataset: ArrayLike, bw_method: Any = None, weights: ArrayLike = None) -> None:
        self.dataset = jnp.atleast_2d(dataset) * 1.0
        if self.dataset.size <= 1:
            raise ValueError(
                f"gaussian_kde: dataset has {self.dataset.size} elements, and its covariance needs more. "
                "Pass an array of shape (n,) or (d, n)."
            )
        weights = jnp.ones(self.n) if weights is None else jnp.atleast_1d(weights)
        if weights.shape != (self.n,):
            raise ValueError(
                f"gaussian_kde: weights have shape {weights.shape}; needed one for each point, ({self.n},). "
                "The points are along the last axis of the dataset."
            )
        self.weights = weights / jnp.sum(weights)
        self.neff = 1.0 / jnp.sum(self.weights**2)
        factor = self._factor("scott" if bw_method is None else bw_method)
        covariance = jnp.atleast_2d(jnp.cov(self.dataset, bias=False, aweights=self.weights))
        self.covariance = covariance * factor**2
        self.inv_cov = jnp.linalg.inv(covariance) / factor**2

    def _factor(self, method: Any) -> Array:
        if callable(method):
            return method(self)
        if not isinstance(method, str):
            return method
        if method not in _FACTORS:
            raise ValueError(
                f"gaussian_kde: bw_method is {method!r}; needed 'scott', 'silverman', a number, or a function of the "
                "density. Change bw_method."
            )
        return _FACTORS[method](self.neff, self.d)

    @property
    def d(self) -> int:
        """The number of coordinates of a point."""
        return self.dataset.shape[0]

    @property
    def n(self) -> int:
        """The number of points."""
        return self.dataset.shape[1]

    def logpdf(self, x: ArrayLike) -> Array:
        """Compute the logarithm of the density at points, f64[m] or f64[d, m]."""
        points = jnp.atleast_2d(x)
        if points.shape[0] != self.d and points.shape == (1, self.d):
            points = points.reshape(self.d, 1)
        if points.shape[0] != self.d:
            raise ValueError(
                f"gaussian_kde: the points have {points.shape[0]} coordinates, and those of the dataset {self.d}. "
                "Pass an array of shape (d, m)."
            )
        root = jnp.linalg.cholesky(self.inv_cov)
        distances = jnp.einsum("ij,imn->jmn", root, points[:, :, None] - self.dataset[:, None, :])
        norm = jnp.sum(jnp.log(jnp.diag(root))) - 0.5 * self.d * math.log(2 * math.pi)
        return logsumexp(norm - 0.5 * jnp.sum(distances**2, axis=0), axis=1, b=self.weights)

    def evaluate(self, points: ArrayLike) -> Array:
        """Compute the density at points, f64[m] or f64[d, m]."""
        return jnp.exp(self.logpdf(points))

    __call__ = pdf = evaluate

    def integrate_gaussian(self, mean: ArrayLike, cov: ArrayLike) -> Any:
        """Integrate the density times a normal density."""
        mean, cov = jnp.atleast_1d(jnp.squeeze(jnp.asarray(mean))), jnp.atleast_2d(cov)
        return self._with_covariance(self.covariance + cov).evaluate(mean[:, None])[0]

    def integrate_kde(self, other: Self) -> Any:
        """Integrate the product of two densities."""
        wider = self._with_covariance(self.covariance + other.covariance)
        return jnp.sum(wider.evaluate(other.dataset) * other.weights)

    def integrate_box_1d(self, low: ArrayLike, high: ArrayLike) -> Any:
        """Integrate a density of one coordinate between two limits."""
        if self.d != 1:
            raise ValueError(f"gaussian_kde.integrate_box_1d: the points have {self.d} coordinates; needed one.")
        sigma = jnp.sqrt(self.covariance[0])
        return jnp.sum(self.weights * (ndtr((high - self.dataset[0]) / sigma) - ndtr((low - self.dataset[0]) / sigma)))

    def resample(self, key: Key, shape: tuple[int, ...] = ()) -> Any:
        """Draw points from the density: an array of shape ``(d, *shape)``."""
        of_point, of_kernel = random.split(key)
        chosen = random.choice(of_point, self.n, shape=shape, p=self.weights)
        distances = random.multivariate_normal(of_kernel, jnp.zeros(self.d), self.covariance, shape=shape)
        return self.dataset[:, chosen] + distances.T

    def _with_covariance(self, covariance: ArrayLike) -> gaussian_kde:
        children = self.neff, self.dataset, self.weights, covariance, jnp.linalg.inv(covariance)
        return self.tree_unflatten(None, children)

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        """Return the arrays."""
        return (self.neff, self.dataset, self.weights, self.covariance, self.inv_cov), None

    @classmethod
    def tree_unflatten(cls, aux: None, children: Any) -> gaussian_kde:
        """Make the density from its arrays."""
        del aux
        made = object.__new__(cls)
        made.neff, made.dataset, made.weights, made.covariance, made.inv_cov = children
        return made
