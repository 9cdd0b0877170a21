"""The bits equal those of ``jax.random`` for the same key, for every dtype, shape, engine and transform."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import funcgrad as fg
from funcgrad._ops.random import bits as ops
from funcgrad._ops.random.threefry import hash_blocks, hash_words

SHAPES = [(), (1,), (9,), (3, 5), (0, 2), (16384,), (70_001,), (7, 16385)]
FLOATS = [np.dtype(t) for t in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64)]
KEY = fg.random.key(42)


def theirs(key: Any = KEY) -> Any:
    return jax.random.wrap_key_data(key, impl="threefry2x32")


def same(ours: Any, of_jax: Any) -> None:
    expected = np.asarray(of_jax)
    assert ours.dtype == expected.dtype
    np.testing.assert_array_equal(np.asarray(ours), expected)


@pytest.mark.long
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bits_and_units(shape: tuple[int, ...]) -> None:
    with jax.enable_x64(True):
        for dtype in map(np.dtype, ("u1", "u2", "u4", "u8")):
            same(fg.random.bits(KEY, shape, dtype), jax.random.bits(theirs(), shape, dtype))
        for dtype in FLOATS:
            same(fg.random.uniform(KEY, shape, dtype), jax.random.uniform(theirs(), shape, dtype))
        same(fg.random.split(KEY, shape), jax.random.key_data(jax.random.split(theirs(), shape)))


SEEDS = [0, 42, -1, 2**40 + 7, -(2**63), np.uint8(200), np.int32(-5), np.int64(-7), np.uint64(2**63 + 1), np.array(3)]


@pytest.mark.parametrize("seed", SEEDS, ids=repr)
def test_seeds(seed: Any) -> None:
    with jax.enable_x64(True):
        expected = jax.random.key_data(jax.random.key(seed))
    same(fg.random.key(seed), expected)
    for engine in ("numpy", "xla"):
        same(fg.jit(fg.random.key, engine=engine)(seed), expected)


@pytest.mark.parametrize("data", [0, 3, 2**32 - 1, np.int32(-2), np.int64(2**33 + 5), np.uint8(255)], ids=repr)
def test_folding_in(data: Any) -> None:
    with jax.enable_x64(True):
        expected = jax.random.key_data(jax.random.fold_in(theirs(), data))
    same(fg.random.fold_in(KEY, data), expected)
    for engine in ("numpy", "xla"):
        same(fg.jit(fg.random.fold_in, engine=engine)(KEY, data), expected)


def test_a_key_of_a_split_is_that_of_its_place() -> None:
    keys = fg.random.split(KEY, 5)
    same(keys, fg.vmap(fg.random.fold_in, (None, 0))(KEY, np.arange(5)))


@pytest.mark.parametrize("count", [1, 3, 40, 20_000])
def test_many_keys(count: int) -> None:
    """Few elements for each of many keys are blocks of their own, and those of thousands are shared among threads."""
    keys = fg.random.split(KEY, count)
    for shape in ((), (3,), (2, 5)):
        ours = fg.vmap(lambda key, shape=shape: fg.random.uniform(key, shape))(keys)
        with jax.enable_x64(True):
            same(ours, jax.vmap(lambda key, shape=shape: jax.random.uniform(key, shape))(theirs(keys)))
    words = np.arange(count, dtype=np.uint32)
    same(ops.fold_in(keys, words), jax.random.key_data(jax.vmap(jax.random.fold_in)(theirs(keys), words)))


# From Random123's kat_vectors: counter, key, result of threefry2x32 with 20 rounds.
KNOWN = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF,) * 2, (0xFFFFFFFF,) * 2, (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
]


@pytest.mark.parametrize(("counter", "key", "expected"), KNOWN)
def test_published_vectors(counter: tuple, key: tuple, expected: tuple) -> None:
    x = [np.array([word], np.uint32) for word in counter]
    hash_blocks(*key, *x)
    assert tuple(int(word[0]) for word in x) == expected
    assert hash_words(*key, *counter) == expected


def test_typed_keys_of_jax_are_keys() -> None:
    typed = jax.random.key(42)
    same(fg.random.uniform(typed, (3,)), fg.random.uniform(KEY, (3,)))
    same(fg.random.split(typed), fg.random.split(KEY))
    drawn = jax.jit(lambda key: fg.random.uniform(key, (3,), np.float32))(typed)
    same(drawn, fg.random.uniform(KEY, (3,), np.float32))
    with pytest.raises(ValueError, match="implementation rbg was given; needed threefry2x32"):
        fg.random.uniform(jax.random.key(42, impl="rbg"))


UNDER: dict[str, Any] = {
    "jit": lambda draw: fg.jit(draw),
    "jit on NumPy": lambda draw: fg.jit(draw, engine="numpy"),
    "jit with paths": lambda draw: fg.jit(draw, paths=2),
    "make_graph": lambda draw: lambda key: fg.make_graph(draw)(key)(jax.random.key_data(key)),
    "checkpoint": fg.checkpoint,
    "jit of cond": lambda draw: (
        lambda key: fg.jit(lambda p, key: fg.cond(p, draw, lambda key: draw(key) + 1, key))(True, key)
    ),
    "while_loop": lambda draw: lambda key: fg.while_loop(lambda s: s[1] < 0, lambda s: s, (draw(key), 0))[0],
}


@pytest.mark.parametrize("name", UNDER)
def test_typed_keys_under_transforms(name: str) -> None:
    """Inside of a transform a typed key is its data."""
    same(UNDER[name](lambda key: fg.random.uniform(key, (3,)))(jax.random.key(42)), fg.random.uniform(KEY, (3,)))


def test_typed_keys_are_mapped_and_looped_over() -> None:
    typed = jax.random.split(jax.random.key(42), (2, 3))
    words = jax.random.key_data(typed)

    def draw(keys: Any) -> Any:
        return fg.random.uniform(keys[0], (4,))

    expected = fg.vmap(draw)(words)
    same(fg.vmap(draw)(typed), expected)
    same(fg.jit(fg.vmap(draw))(typed), expected)
    same(fg.vmap(draw, in_axes=-2)(typed), expected)
    same(fg.vmap(draw, in_axes=-1)(typed), fg.vmap(draw, in_axes=1)(words))
    same(fg.scan(lambda carry, keys: (carry, draw(keys)), 0.0, typed)[1], expected)
    last, drawn = fg.scan(lambda key, _: (fg.random.split(key)[0], fg.random.uniform(key)), typed[0, 0], length=2)
    same(last, fg.random.split(fg.random.split(words[0, 0])[0])[0])
    same(drawn[0], fg.random.uniform(words[0, 0]))
    with pytest.raises(ValueError, match=r"It is key<fry>\[2,3\], which has no axis 2"):
        fg.vmap(draw, in_axes=2)(typed)


def test_a_typed_key_has_no_derivative() -> None:
    typed = jax.random.key(42)
    slope = fg.jit(fg.grad(lambda x, key: x * fg.random.uniform(key, dtype=np.float64)))(1.0, typed)
    assert float(slope) == pytest.approx(float(fg.random.uniform(KEY)), rel=1e-15)
    with pytest.raises(fg.errors.NotDifferentiableError, match=r"argument 0 \(key\) .*u32\[2\]"):
        fg.grad(lambda key: fg.random.uniform(key))(typed)


def test_keys_as_arrays_of_jax() -> None:
    drawn = fg.random.uniform(jnp.asarray(KEY), (3,))
    same(drawn, fg.random.uniform(KEY, (3,)))
    assert isinstance(fg.random.uniform(jnp.asarray(KEY), (3,), np.float32), jax.Array)
    with jax.threefry_partitionable(False):
        same(fg.random.uniform(jnp.asarray(KEY), (3,)), fg.random.uniform(KEY, (3,)))
        same(fg.jit(lambda key: fg.random.bits(key, (5,)))(KEY), fg.random.bits(KEY, (5,)))


def test_without_jax() -> None:
    program = (
        "import sys, funcgrad as fg; fg.random.normal(fg.random.key(0), (3,)); fg.random.split(fg.random.key(1));"
        "fg.jit(lambda key: fg.random.uniform(key, (4,)), engine='numpy')(fg.random.key(0));"
        "sys.exit('jax' in sys.modules and 'jax was imported')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
