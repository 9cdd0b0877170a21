"""Methods that fill tensors with random numbers, in place."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval, is_floating
from funcgrad._types import Array, ArrayLike, Tensor
from funcgrad.autograd._memory.write import plain_value, value_of
from funcgrad.autograd._methods.generators import Generator, default_generator
from funcgrad.autograd._methods.in_place import write_whole
from funcgrad.autograd._tape.dtypes import type_name

Method = Callable[..., Any]
# Methods that need a floating dtype.
_CONTINUOUS = frozenset({"normal_", "uniform_", "exponential_", "log_normal_", "cauchy_"})


def _drawn(name: str, title: str, draw: Callable[..., Any]) -> Method:
    """Return a method that draws from a ``generator``, PyTorch's or NumPy's; by default from that of `manual_seed`."""

    @functools.wraps(draw)
    def method(self: Tensor, *args: Any, generator: Any = None, **options: Any) -> Any:
        if name in _CONTINUOUS and not is_floating(self.dtype):
            raise RuntimeError(f"\"{name}\" not implemented for '{type_name(self.dtype)}'")
        numbers = draw(default_generator if generator is None else generator, self.aval, *args, **options)
        return write_whole(self, np.asarray(numbers).astype(self.dtype), title, name)

    return method


def _dtype(source: Array, aval: Aval) -> dict[str, Any]:
    """Return the option that makes PyTorch's generator draw as PyTorch does for a dtype."""
    return {"dtype": aval.dtype} if isinstance(source, Generator) else {}


def _normal(source: Array, aval: Aval, mean: float = 0.0, std: float = 1.0) -> Array:
    """Fill with normally distributed numbers, in place."""
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    return source.normal(mean, std, aval.shape, **_dtype(source, aval))


def _uniform(source: Array, aval: Aval, low: float = 0.0, high: float = 1.0) -> Array:
    """Fill with uniformly distributed numbers between two bounds, in place."""
    if not low <= high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    return source.uniform(low, high, aval.shape, **_dtype(source, aval))


def _bernoulli(source: Array, aval: Aval, p: ArrayLike = 0.5) -> Array:
    """Fill with ones, with a given probability, and zeros, in place."""
    p = value_of(plain_value(p))
    if not np.all((np.asarray(p) >= 0) & (np.asarray(p) <= 1)):
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return source.binomial(1, p, aval.shape)


def _exponential(source: Array, aval: Aval, lambd: float = 1.0) -> Array:
    """Fill with exponentially distributed numbers, in place."""
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    return source.exponential(1 / lambd, aval.shape)


def _log_normal(source: Array, aval: Aval, mean: float = 1.0, std: float = 2.0) -> Array:
    """Fill with numbers whose logarithm is normally distributed, in place."""
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    return source.lognormal(mean, std, aval.shape)


def _geometric(source: Array, aval: Aval, p: float) -> Array:
    """Fill with the number of trials until the first success, in place."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    return source.geometric(p, aval.shape)


def _cauchy(source: Array, aval: Aval, median: float = 0.0, sigma: float = 1.0) -> Array:
    """Fill with numbers of the Cauchy distribution, in place."""
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    return median + sigma * source.standard_cauchy(aval.shape)


def _random(source: Array, aval: Aval, low: int = 0, high: int | None = None) -> Array:
    """Fill with integers between two bounds, in place; by default with all that the dtype represents exactly."""
    if high is not None:
        bounds = low, high
    elif low:
        bounds = 0, low
    else:
        most = 2 ** (np.finfo(aval.dtype).nmant + 1) if is_floating(aval.dtype) else np.iinfo(aval.dtype).max
        bounds = 0, int(most) + 1
    if not bounds[0] < bounds[1]:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={bounds[0]} >= to={bounds[1]}")
    draw = getattr(source, "integers", None) or source.randint
    return draw(*bounds, aval.shape, dtype=np.int64)


IN_PLACE: dict[str, Method] = {
    "normal_": _drawn("normal_", "NormalBackward0", _normal),
    "uniform_": _drawn("uniform_", "UniformBackward0", _uniform),
    "bernoulli_": _drawn("bernoulli_", "BernoulliBackward2", _bernoulli),
    "exponential_": _drawn("exponential_", "ExponentialBackward0", _exponential),
    "log_normal_": _drawn("log_normal_", "LogNormalBackward0", _log_normal),
    "geometric_": _drawn("geometric_", "GeometricBackward0", _geometric),
    "cauchy_": _drawn("cauchy_", "CauchyBackward0", _cauchy),
    "random_": _drawn("random_", "RandomBackward0", _random),
}
