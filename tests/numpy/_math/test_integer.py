"""Common divisors and multiples, and bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from tests.numpy._surface import check_surface, same

A = np.array([[-12, 8, 0], [45, -18, 3]])
B = np.array([18, 0, -4])


@pytest.mark.parametrize("dtype", ["i1", "i4", "i8", "u1", "u2"])
def test_divisors_and_multiples(dtype: str) -> None:
    a, b = (np.abs(x).astype(dtype) if dtype[0] == "u" else x.astype(dtype) for x in (A, B))
    least = np.array([np.iinfo(dtype).min, 0], dtype)
    check_surface(lambda m, a, b: m.gcd(a, b), [a, b])
    check_surface(lambda m, a, b: m.lcm(a, b), [a, b])
    check_surface(lambda m, a: m.gcd(a, 6), [a])
    # The least integer has no positive counterpart.
    check_surface(lambda m, a: m.gcd(a, a[::-1]), [least])
    check_surface(lambda m, a: m.bitwise_count(a), [np.concatenate([a.ravel(), least])])
    same(fg.make_graph(np.gcd.reduce)(a)(a), np.gcd.reduce(a), 0)
    same(fg.vmap(np.gcd)(a, np.stack([b, b])), np.gcd(a, b), 0)


def test_kinds_of_integers() -> None:
    check_surface(lambda m, a, b: m.gcd(a, b), [A.astype(np.int8), B.astype(np.uint16)])
    check_surface(lambda m, a: m.bitwise_count(a), [A > 0])
    check_surface(lambda m, a: m.lcm(a, 4), [np.int64(6)])
    same(fnp.gcd(A, 6), np.gcd(A, 6), 0)
    with pytest.raises(TypeError, match="gcd"):
        fg.jvp(lambda x: np.gcd(x, 2), (A * 1.0,), (A * 1.0,))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("order", ["big", "little"])
def test_bits(axis: Any, order: Any, rng: np.random.Generator) -> None:
    numbers, bytes_ = rng.integers(0, 3, (3, 11)), rng.integers(0, 256, (3, 4)).astype(np.uint8)
    for x in (numbers, numbers > 0, numbers.T.astype(np.int8), np.zeros((0, 3), int)):
        check_surface(lambda m, x: m.packbits(x, axis=axis, bitorder=order), [x])
    for count in (None, 3, 20, 50, -3):
        check_surface(lambda m, x, count=count: m.unpackbits(x, axis=axis, bitorder=order, count=count), [bytes_])


def test_what_has_no_bits() -> None:
    for f, words in (
        (lambda x: np.packbits(x), "packbits: Expected an input array of integer or boolean"),
        (lambda x: np.unpackbits(x), "unpackbits: Expected an input array of unsigned byte"),
    ):
        with pytest.raises(TypeError, match=words):
            fg.make_graph(f)(np.ones(3))
    byte, of = np.array([3], np.uint8), vars(np)
    for f, words in (
        (lambda x: of["packbits"](x, bitorder="middle"), "bitorder is 'middle'"),
        (lambda x: np.unpackbits(x, count=-9), "larger than the number of bits, 8"),
    ):
        with pytest.raises(ValueError, match=words):
            fg.make_graph(f)(byte)
