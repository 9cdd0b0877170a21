"""Initial values of parameters, as ``jax.nn.initializers``: functions of a key, a shape and a dtype."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import Array, ArrayLike, DTypeLike, Key
from funcgrad.jax import random
from funcgrad.jax._array import arrays
from funcgrad.jax._names import publish_as_jax

__all__ = [
    "Initializer",
    "constant",
    "delta_orthogonal",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]


class Initializer(Protocol):
    """``jax.nn.initializers.Initializer``: a function of a key, a shape and a dtype that makes an array."""

    def __call__(self, key: Key, shape: Sequence[int], dtype: DTypeLike = None) -> Any:
        """Make the array."""
        ...


Axes = int | Sequence[int]


def _float(dtype: DTypeLike) -> np.dtype:
    return np.dtype(float if dtype is None else dtype)


def zeros(key: Key, shape: Sequence[int], dtype: DTypeLike = None) -> Any:
    """``jax.nn.initializers.zeros``: zeros."""
    del key
    return fnp.zeros(tuple(shape), _float(dtype))


def ones(key: Key, shape: Sequence[int], dtype: DTypeLike = None) -> Any:
    """``jax.nn.initializers.ones``: ones."""
    del key
    return fnp.ones(tuple(shape), _float(dtype))


def _initializer(draw: Callable[[Any, tuple[int, ...], np.dtype], Any], dtype: DTypeLike) -> Initializer:
    """Return an initializer that draws its numbers by a function of key, shape and dtype."""

    def init(key: Key, shape: Sequence[int], dtype: DTypeLike = dtype, out_sharding: Any = None) -> Array:
        del out_sharding
        return arrays(draw(key, tuple(shape), _float(dtype)))

    return init


def constant(value: ArrayLike, dtype: DTypeLike = None) -> Initializer:
    """``jax.nn.initializers.constant``: one number everywhere."""
    return _initializer(lambda _, shape, kind: fnp.full(shape, value, kind), dtype)


def uniform(scale: ArrayLike = 0.01, dtype: DTypeLike = None) -> Initializer:
    """``jax.nn.initializers.uniform``: even numbers from 0 to ``scale``."""
    return _initializer(lambda key, shape, kind: random.uniform(key, shape, kind) * kind.type(scale), dtype)


def normal(stddev: ArrayLike = 0.01, dtype: DTypeLike = None) -> Initializer:
    """``jax.nn.initializers.normal``: normal numbers of this standard deviation."""
    return _initializer(lambda key, shape, kind: random.normal(key, shape, kind) * kind.type(stddev), dtype)


def truncated_normal(
    stddev: ArrayLike = 0.01, dtype: DTypeLike = None, lower: ArrayLike = -2.0, upper: ArrayLike = 2.0
) -> Initializer:
    """``jax.nn.initializers.truncated_normal``: normal numbers between bounds, times ``stddev``."""
    return _initializer(
        lambda key, shape, kind: random.truncated_normal(key, lower, upper, shape, kind) * kind.type(stddev), dtype
    )


def _fans(shape: tuple[int, ...], in_axis: Axes, out_axis: Axes, batch_axis: Axes) -> tuple[float, float]:
    """Return how many inputs and outputs a weight of this shape has."""

    def size(axes: Axes) -> int:
        return math.prod([shape[k] for k in ((axes,) if isinstance(axes, int) else axes)])

    if len(shape) <= 1 and in_axis == -2:
        raise ValueError(
            f"an initializer by numbers of inputs and outputs got the shape {shape}; needed two axes or more. "
            "Give in_axis and out_axis, or use normal or uniform."
        )
    field = math.prod(shape) / size(in_axis) / size(out_axis) / size(batch_axis)
    return size(in_axis) * field, size(out_axis) * field


_MODES: dict[str, Callable[[float, float], float]] = {
    "fan_in": lambda fan_in, _: fan_in,
    "fan_out": lambda _, fan_out: fan_out,
    "fan_avg": lambda fan_in, fan_out: (fan_in + fan_out) / 2,
    "fan_geo_avg": lambda fan_in, fan_out: math.sqrt(fan_in * fan_out),
}
# The standard deviation of a standard normal number between -2 and 2.
_TRUNCATED = 0.87962566103423978


def variance_scaling(  # noqa: PLR0917  (JAX's signature)
    scale: ArrayLike,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: DTypeLike = None,
) -> Initializer:
    """``jax.nn.initializers.variance_scaling``: numbers of the variance ``scale / fan``."""
    if mode not in _MODES or distribution not in ("truncated_normal", "normal", "uniform"):
        raise ValueError(
            f"variance_scaling: mode is {mode!r} and distribution {distribution!r}; needed one of {', '.join(_MODES)}, "
            "and truncated_normal, normal or uniform."
        )

    def draw(key: Key, shape: tuple[int, ...], kind: np.dtype) -> Array:
        variance = scale / _MODES[mode](*_fans(shape, in_axis, out_axis, batch_axis))
        if distribution == "uniform":
            return random.uniform(key, shape, kind, -1) * kind.type(math.sqrt(3 * variance))
        if distribution == "normal":
            return random.normal(key, shape, kind) * kind.type(math.sqrt(variance))
        return random.truncated_normal(key, -2, 2, shape, kind) * kind.type(math.sqrt(variance) / _TRUNCATED)

    return _initializer(draw, dtype)


def _scaled(name: str, scale: float, mode: str, distribution: str) -> Callable[..., Initializer]:
    def make(in_axis: Axes = -2, out_axis: Axes = -1, batch_axis: Axes = (), dtype: DTypeLike = None) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"``jax.nn.initializers.{name}``: ``variance_scaling({scale}, {mode!r}, {distribution!r})``."
    return make


glorot_uniform = _scaled("glorot_uniform", 1.0, "fan_avg", "uniform")
glorot_normal = _scaled("glorot_normal", 1.0, "fan_avg", "truncated_normal")
lecun_uniform = _scaled("lecun_uniform", 1.0, "fan_in", "uniform")
lecun_normal = _scaled("lecun_normal", 1.0, "fan_in", "truncated_normal")
he_uniform = _scaled("he_uniform", 2.0, "fan_in", "uniform")
he_normal = _scaled("he_normal", 2.0, "fan_in", "truncated_normal")
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal


def orthogonal(scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike = None) -> Initializer:
    """``jax.nn.initializers.orthogonal``: a matrix with orthogonal columns, times ``scale``."""

    def draw(key: Key, shape: tuple[int, ...], kind: np.dtype) -> Any:
        columns = shape[column_axis]
        q = random.orthogonal(key, math.prod(shape) // columns, (), kind, columns)
        rest = tuple(np.delete(shape, column_axis).tolist())
        return kind.type(scale) * fnp.moveaxis(fnp.reshape(q, (*rest, columns)), -1, column_axis)

    return _initializer(draw, dtype)


def delta_orthogonal(scale: ArrayLike = 1.0, column_axis: int = -1, dtype: DTypeLike = None) -> Initializer:
    """``jax.nn.initializers.delta_orthogonal``: an `orthogonal` matrix in the middle of a kernel of zeros."""

    def draw(key: Key, shape: tuple[int, ...], kind: np.dtype) -> Any:
        middle = tuple([(n - 1) // 2 for n in shape[:-2]])
        matrix = orthogonal(scale, column_axis, kind)(key, shape[-2:])
        return fnp.at(fnp.zeros(shape, kind))[middle].set(matrix)

    return _initializer(draw, dtype)


__dir__, __getattr__ = publish_as_jax(__name__)
