"""New keys, bits and uniform numbers from keys. On XLA they come from ``jax.random``; NumPy computes the same numbers.

A key is ``uint32[2]``, the data of a ``threefry2x32`` key of JAX. Keys may have leading axes, as under ``vmap``; the
result then has them too. No operation here has a derivative.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.bind import is_engine_value
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import CONSTANT
from funcgrad._ops.layout.batching import batch_same
from funcgrad._ops.layout.broadcast import batch_all
from funcgrad._ops.random.threefry import WORD, hash_all, hash_pairs
from funcgrad._types import Array, Key, Value

# The operations for one pair of words: 20 rounds of five, and five injections of the key.
_HASH_COST = 115
_HIGH = 1 if sys.byteorder == "little" else 0
_WIDE = np.dtype(np.uint64)
UNSIGNED = {n: np.dtype(f"u{n // 8}") for n in (8, 16, 32, 64)}
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def as_rows(keys: np.ndarray) -> np.ndarray:
    """Return keys without their leading axes: ``uint32[n, 2]``."""
    return np.asarray(keys).reshape(-1, 2)


def random_words(keys: np.ndarray, count: int) -> np.ndarray:
    """Return ``uint64[n, count]``.

    For keys ``uint32[n, 2]`` it holds both words of each element, the first one as the high half.
    """
    y = np.empty((len(keys), count), _WIDE)
    halves = y.reshape(-1).view(WORD).reshape(-1, 2)

    def finish(first: int, x0: np.ndarray, x1: np.ndarray) -> None:
        part = halves[first : first + len(x0)]
        part[:, _HIGH] = x0
        part[:, 1 - _HIGH] = x1

    hash_all(keys, count, finish)
    return y


def random_bits(keys: np.ndarray, count: int, dtype: np.dtype) -> np.ndarray:
    """Return bits for keys ``uint32[n, 2]``: both words, or as many bits of their exclusive or as the dtype holds."""
    if dtype == _WIDE:
        return random_words(keys, count)
    y = np.empty((len(keys), count), dtype)
    flat = y.reshape(-1)

    def finish(first: int, x0: np.ndarray, x1: np.ndarray) -> None:
        flat[first : first + len(x0)] = x0 ^ x1

    hash_all(keys, count, finish)
    return y


def _cost(y: Aval, *operands: Aval, **_: Any) -> int:
    return _HASH_COST * y.size


def _drawn(name: str, draw: Callable[..., np.ndarray], xla: Callable[..., Any]) -> Primitive:
    """Declare a primitive that draws an array for each key. ``draw(keys, count, dtype)`` gives a row for each key."""

    def numpy(keys: np.ndarray, *, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
        return draw(as_rows(keys), math.prod(shape), dtype).reshape((*keys.shape[:-1], *shape))[()]

    return Primitive(
        name,
        operands=("keys",),
        numpy=numpy,
        xla=xla,
        aval=lambda keys, *, shape, dtype: Aval((*keys.shape[:-1], *shape), dtype),
        derivative=CONSTANT,
        batch=batch_same,
        cost=_cost,
    )


random_bits_p = _drawn(
    "random_bits", random_bits, lambda lax, keys, *, shape, dtype: lax.random.bits(keys, shape, dtype)
)


def bits(keys: Key, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Return random bits: an array of unsigned integers of this shape for each key."""
    return random_bits_p(keys, shape=shape, dtype=dtype)


def _mantissa(dtype: np.dtype) -> tuple[np.dtype, int]:
    """Return the dtype of the bits to draw for a number, and the number of bits in its mantissa."""
    info = ml_dtypes.finfo(dtype)
    return UNSIGNED[8 if info.nmant < 8 else info.bits], info.nmant


def random_unit(keys: np.ndarray, count: int, dtype: np.dtype) -> np.ndarray:
    """Return numbers in [0, 1) for keys ``uint32[n, 2]``: a random mantissa gives a number from 1 to 2, minus 1."""
    drawn, mantissa = _mantissa(dtype)
    unsigned = UNSIGNED[8 * dtype.itemsize]
    y = np.empty((len(keys), count), dtype)
    flat = y.reshape(-1)
    one = int(np.ones((), dtype).view(unsigned))

    def finish(first: int, x0: np.ndarray, x1: np.ndarray) -> None:
        part = flat[first : first + len(x0)]
        raw = part.view(unsigned)
        if drawn == _WIDE:
            halves = raw.view(WORD)
            halves[_HIGH::2] = x0
            halves[1 - _HIGH :: 2] = x1
        else:
            raw[...] = (x0 ^ x1).astype(drawn)
        np.right_shift(raw, 8 * drawn.itemsize - mantissa, raw)
        np.bitwise_or(raw, one, raw)
        np.subtract(part, dtype.type(1), part)

    hash_all(keys, count, finish)
    return y


random_unit_p = _drawn(
    "random_unit", random_unit, lambda lax, keys, *, shape, dtype: lax.random.unit(keys, shape, dtype)
)


def unit(keys: Key, shape: tuple[int, ...], dtype: np.dtype) -> Array:
    """Return numbers in [0, 1): multiples of the dtype's precision, all equally likely."""
    return random_unit_p(keys, shape=shape, dtype=dtype)


def split_rows(keys: np.ndarray, count: int) -> np.ndarray:
    """Return new keys ``uint32[n, count, 2]`` from each of ``uint32[n, 2]``."""
    y = np.empty((len(keys), count, 2), WORD)
    pairs = y.reshape(-1, 2)

    def finish(first: int, x0: np.ndarray, x1: np.ndarray) -> None:
        part = pairs[first : first + len(x0)]
        part[:, 0] = x0
        part[:, 1] = x1

    hash_all(keys, count, finish)
    return y


def _split_numpy(keys: Key, *, shape: tuple[int, ...]) -> np.ndarray:
    return split_rows(as_rows(keys), math.prod(shape)).reshape((*keys.shape[:-1], *shape, 2))


random_split_p = Primitive(
    "random_split",
    operands=("keys",),
    numpy=_split_numpy,
    xla=lambda lax, keys, *, shape: lax.random.split(keys, shape),
    aval=lambda keys, *, shape: Aval((*keys.shape[:-1], *shape, 2), WORD),
    derivative=CONSTANT,
    batch=batch_same,
    cost=lambda y, keys, **_: _HASH_COST * (y.size // 2),
)


def split(keys: Key, shape: tuple[int, ...]) -> Array:
    """Return new keys: an array of them for each key."""
    return random_split_p(keys, shape=shape)


def _fold_in_numpy(keys: Key, data: Value) -> np.ndarray:
    x0, x1 = hash_pairs(as_rows(keys), np.asarray(data).reshape(-1))
    return np.stack([x0, x1], axis=-1).reshape(keys.shape)


random_fold_in_p = Primitive(
    "random_fold_in",
    operands=("keys", "data"),
    numpy=_fold_in_numpy,
    xla=lambda lax, keys, data: lax.random.fold_in(keys, data),
    aval=lambda keys, data: keys,
    derivative=CONSTANT,
    batch=batch_all(),
    cost=lambda y, keys, data: _HASH_COST * data.size,
)


def fold_in(keys: Key, data: Value) -> Value:
    """Return another key for each key and word ``uint32[...]``: the key that `split` gives at position ``data``."""
    return random_fold_in_p(keys, data)


key_data_p = Primitive(
    "random_key_data",
    operands=("key",),
    numpy=lambda key: key,
    xla=lambda lax, key: lax.random.key_data(key),
    aval=lambda key: key,
    derivative=CONSTANT,
    batch=batch_same,
    cost=lambda y, key: 0,
)


def untyped(x: Value) -> Value:
    """Return the data of a typed key of JAX, ``uint32[..., 2]``, which primitives take; any other value unchanged."""
    return key_data_p(x) if is_engine_value(x) and not isinstance(x.dtype, np.dtype) else x
