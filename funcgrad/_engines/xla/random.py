"""``jax.random`` for keys that are arrays of words, with leading axes; always threefry, whatever JAX's settings are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from funcgrad._types import Key, Value

_IMPLEMENTATION = "threefry2x32"


def _for_each(draw: Callable[..., Any], keys: Key, *operands: Value) -> Any:
    """Call ``draw(key, *operands)`` for each of the keys ``uint32[*batch, 2]``.

    The operands have the same leading axes.
    """
    # JAX's default numbers elements by position. It is the only numbering that the NumPy engine can reproduce.
    with jax.threefry_partitionable(True):
        typed = jax.random.wrap_key_data(keys, impl=_IMPLEMENTATION)
        for _ in range(typed.ndim):
            draw = jax.vmap(draw)
        return draw(typed, *operands)


def _known(dtype: np.dtype) -> Any:
    return jax.dtypes.canonicalize_dtype(dtype)


def bits(keys: Key, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Draw unsigned integers."""
    return _for_each(lambda key: jax.random.bits(key, shape, _known(dtype)), keys)


def unit(keys: Key, shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """Draw numbers in [0, 1)."""
    return _for_each(lambda key: jax.random.uniform(key, shape, _known(dtype)), keys)


def split(keys: Key, shape: tuple[int, ...]) -> Any:
    """Split each key into new keys."""
    return _for_each(lambda key: jax.random.key_data(jax.random.split(key, shape)), keys)


def fold_in(keys: Key, data: Value) -> Any:
    """Return another key for each key and word."""
    return _for_each(lambda key, word: jax.random.key_data(jax.random.fold_in(key, word)), keys, data)


def key_data(key: Any) -> Any:
    """Return the words of a typed key; words are returned as they are."""
    if not jax.numpy.issubdtype(key.dtype, jax.dtypes.prng_key):
        return key
    if jax.random.key_impl(key) != _IMPLEMENTATION:
        raise ValueError(
            f"a key of JAX's implementation {jax.random.key_impl(key)} was given; needed {_IMPLEMENTATION}, whose bits "
            "funcgrad draws on every engine. Make it by fg.random.key(seed) or jax.random.key(seed)."
        )
    return jax.random.key_data(key)


def gamma(keys: Key, a: Value, log_space: bool) -> Any:
    """Draw a gamma-distributed number for each parameter, or its logarithm."""
    draw = jax.random.loggamma if log_space else jax.random.gamma
    return _for_each(lambda key, a: draw(key, a, dtype=a.dtype), keys, a)


def poisson(keys: Key, rate: Value, dtype: np.dtype) -> Any:
    """Draw a count for each rate."""
    return _for_each(lambda key, rate: jax.random.poisson(key, rate, dtype=_known(dtype)), keys, rate)
