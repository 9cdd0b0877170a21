"""Threefry-2x32 with 20 rounds on NumPy. It maps a counter and a key of two words each to two words of random bits.

Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011), table 2 and section 3.3. The
counter is the position of an element among all, the default of ``jax.random`` (``jax_threefry_partitionable``).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from funcgrad._core.threads import together, workers
from funcgrad._types import Value

WORD = np.dtype(np.uint32)
_MASK = 0xFFFFFFFF
_PARITY = 0x1BD11BDA
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
# Words per block. The words that a round reads and writes stay in a core's cache. A million words take 12.5 ms on one
# core, in blocks of half the size 14.6 and of twice 12.0.
_BLOCK = 1 << 15
# From this many blocks on the cores share them: starting the threads costs 400 us.
_MANY_BLOCKS = 2
# For fewer words, Python's integers are faster than 120 calls of NumPy.
_FEW = 8

# ``finish(first, x0, x1)`` stores the words of the elements from ``first`` on.
Finish = Callable[[int, np.ndarray, np.ndarray], None]


def _schedule(k0: Value, k1: Value) -> tuple[Any, Any, Any]:
    """Return the key's words and their parity."""
    return k0, k1, k0 ^ k1 ^ _PARITY


def hash_words(k0: int, k1: int, x0: int, x1: int) -> tuple[int, int]:
    """Return the hash of one counter."""
    words = _schedule(k0, k1)
    x0, x1 = (x0 + k0) & _MASK, (x1 + k1) & _MASK
    for i in range(5):
        for rotation in _ROTATIONS[i % 2]:
            x0 = (x0 + x1) & _MASK
            x1 = (x1 << rotation & _MASK | x1 >> 32 - rotation) ^ x0
        x0 = (x0 + words[(i + 1) % 3]) & _MASK
        x1 = (x1 + words[(i + 2) % 3] + i + 1) & _MASK
    return x0, x1


def hash_blocks(k0: Value, k1: Value, x0: np.ndarray, x1: np.ndarray) -> None:
    """Hash counters ``x0``, ``x1`` in place; the key's words are numbers, or vectors of the same length."""
    words = _schedule(k0, k1)
    spare = np.empty_like(x1)
    np.add(x0, k0, x0)
    np.add(x1, k1, x1)
    for i in range(5):
        for rotation in _ROTATIONS[i % 2]:
            np.add(x0, x1, x0)
            np.left_shift(x1, rotation, spare)
            np.right_shift(x1, 32 - rotation, x1)
            np.bitwise_or(x1, spare, x1)
            np.bitwise_xor(x1, x0, x1)
        np.add(x0, words[(i + 1) % 3], x0)
        word = words[(i + 2) % 3]
        np.add(x1, word + i + 1 & _MASK if type(word) is int else word + WORD.type(i + 1), x1)


def hash_pairs(keys: np.ndarray, data: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the hash of a counter ``data: uint32[n]`` by each of the keys ``uint32[n, 2]``."""
    if len(data) <= _FEW:
        pairs = zip(keys.tolist(), data.tolist(), strict=True)
        words = [hash_words(k0, k1, 0, each) for (k0, k1), each in pairs]
        x = np.array(words, WORD).reshape(len(data), 2)
        return x[:, 0], x[:, 1]
    k0, k1 = keys.T.copy()
    x0, x1 = np.zeros_like(data), data.copy()
    hash_blocks(k0, k1, x0, x1)
    return x0, x1


def hash_all(keys: np.ndarray, count: int, finish: Finish) -> None:
    """Pass the words of ``count`` elements for each of the keys ``uint32[n, 2]`` to ``finish``, key after key."""
    total = len(keys) * count
    if total <= _FEW:
        words = [hash_words(k0, k1, 0, place) for k0, k1 in keys.tolist() for place in range(count)]
        x = np.array(words, WORD).reshape(total, 2)
        finish(0, x[:, 0], x[:, 1])
        return
    blocks = _long_blocks(keys, count) if count >= _BLOCK else _short_blocks(keys, count)
    if total < _MANY_BLOCKS * _BLOCK:
        for block in blocks:
            _run(finish, block)
        return
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                block = next(blocks, None)
            if block is None:
                return
            _run(finish, block)

    together([work] * workers())


# The first element of a block, its key's words, and the range of its positions.
_Block = tuple[int, Any, Any, int, int]


def _long_blocks(keys: np.ndarray, count: int) -> Iterator[_Block]:
    """Yield parts of one key's elements. A block divides 2**32, so its positions share their upper word."""
    for row, (k0, k1) in enumerate(keys.tolist()):
        for start in range(0, count, _BLOCK):
            yield row * count, k0, k1, start, min(start + _BLOCK, count)


def _short_blocks(keys: np.ndarray, count: int) -> Iterator[_Block]:
    """Yield blocks with all elements of several keys."""
    rows = max(_BLOCK // max(count, 1), 1)
    for row in range(0, len(keys), rows):
        k0, k1 = np.repeat(keys[row : row + rows], count, axis=0).T.copy()
        yield row * count, k0, k1, 0, count


def _run(finish: Finish, block: _Block) -> None:
    first, k0, k1, start, stop = block
    places = np.arange(start, stop, dtype=np.uint64)
    x1 = places.astype(WORD)
    if isinstance(k0, np.ndarray):
        x1 = np.tile(x1, len(k0) // len(x1))
    x0 = np.full_like(x1, start >> 32)
    hash_blocks(k0, k1, x0, x1)
    finish(first + start, x0, x1)
