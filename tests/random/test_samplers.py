"""Samples and their derivatives are those of ``jax.random`` in 64 bits, under every transform."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

KEY = fg.random.key(42)
KEYS = fg.random.split(KEY, 3)
A = np.arange(24.0).reshape(2, 3, 4)
MEAN, COV = np.array([1.0, -2.0, 0.5]), np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 0.7]])
LOGITS = np.log(np.array([[0.1, 0.2, 0.3, 0.4], [0.7, 0.1, 0.1, 0.1]]))
LOW, HIGH = np.array([[-1.0], [0.5]]), np.array([2.0, 0.75, 9.0])
SHAPES = np.array([1e-3, 0.2, 0.9, 1.0, 1.5, 4.0, 30.0, 1e3, 1e6])
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
HALF = np.dtype(np.float16)

# ``(random, key)``: with ``jax.random`` and a typed key, or with ours. What is discrete is equal exactly.
Draw = Callable[[Any, Any], Any]
DISCRETE: dict[str, Draw] = {
    "bits": lambda r, k: r.bits(k, (3, 2)),
    "bits 8": lambda r, k: r.bits(k, (5,), "uint8"),
    "bernoulli": lambda r, k: r.bernoulli(k),
    "bernoulli of many": lambda r, k: r.bernoulli(k, np.array([0.1, 0.5, 0.9]), (50, 3)),
    "bernoulli high": lambda r, k: r.bernoulli(k, np.float32(0.3), (50,), mode="high"),
    "rademacher": lambda r, k: r.rademacher(k, (9,)),
    "rademacher float": lambda r, k: r.rademacher(k, (3, 3), np.float32),
    "randint": lambda r, k: r.randint(k, (20,), -3, 9),
    "randint scalar": lambda r, k: r.randint(k, (), 0, 10),
    "randint narrow": lambda r, k: r.randint(k, (20,), -300, 300, np.int8),
    "randint unsigned": lambda r, k: r.randint(k, (20,), 5, 2**32, np.uint32),
    "randint whole": lambda r, k: r.randint(k, (20,), -(2**31), 2**31, np.int32),
    "randint empty range": lambda r, k: r.randint(k, (4,), 7, 7),
    "randint backwards": lambda r, k: r.randint(k, (4,), 7, 2),
    "randint of many": lambda r, k: r.randint(k, (2, 3), np.array([0, 5, -9]), np.array([[3], [40]])),
    "permutation": lambda r, k: r.permutation(k, 40),
    "permutation of none": lambda r, k: r.permutation(k, 0),
    "permutation of one": lambda r, k: r.permutation(k, 1),
    "permutation of an array": lambda r, k: r.permutation(k, A, axis=1),
    "permutation from the end": lambda r, k: r.permutation(k, A, -1),
    "permutation independent": lambda r, k: r.permutation(k, A, axis=2, independent=True),
    "choice": lambda r, k: r.choice(k, 7, (3, 4)),
    "choice scalar": lambda r, k: r.choice(k, 7),
    "choice once": lambda r, k: r.choice(k, 7, (5,), replace=False),
    "choice once of an array": lambda r, k: r.choice(k, A, (2,), replace=False, axis=1),
    "choice of an array": lambda r, k: r.choice(k, A, (2, 2), axis=2),
    "choice by weight": lambda r, k: r.choice(k, 4, (30,), p=np.array([0.1, 0.2, 0.3, 0.4])),
    "choice by weight once": lambda r, k: r.choice(k, A, (3,), False, np.array([0.1, 0.2, 0.3, 0.4]), 2),
    "categorical": lambda r, k: r.categorical(k, LOGITS),
    "categorical other axis": lambda r, k: r.categorical(k, LOGITS, axis=0),
    "categorical of many": lambda r, k: r.categorical(k, LOGITS, shape=(30, 2)),
    "categorical broadcast": lambda r, k: r.categorical(k, LOGITS[:1], shape=(5, 3)),
    "categorical once": lambda r, k: r.categorical(k, LOGITS, shape=(3, 2), replace=False).astype("int64"),
    "poisson": lambda r, k: r.poisson(k, 4.0, (30,)),
    "poisson of many": lambda r, k: r.poisson(k, np.array([0.0, 0.1, 3.0, 9.9, 10.0, 25.0, 90.0, -1.0, np.nan])),
    "poisson narrow": lambda r, k: r.poisson(k, 3.0, (5, 2), np.int8),
    "categorical high": lambda r, k: r.categorical(k, LOGITS[0], shape=(30,), mode="high"),
}
ROUNDED: dict[str, Draw] = {
    "uniform": lambda r, k: r.uniform(k, (50,)),
    "uniform between": lambda r, k: r.uniform(k, (2, 3), minval=LOW, maxval=HIGH),
    "normal": lambda r, k: r.normal(k, (50,)),
    "normal scalar": lambda r, k: r.normal(k),
    "normal complex": lambda r, k: r.normal(k, (20,), complex),
    "normal half": lambda r, k: r.normal(k, (20,), HALF),
    "normal bfloat16": lambda r, k: r.normal(k, (20,), BFLOAT16),
    "normal single": lambda r, k: r.normal(k, (200,), np.float32),
    "truncated_normal": lambda r, k: r.truncated_normal(k, LOW, HIGH),
    "truncated_normal shape": lambda r, k: r.truncated_normal(k, -0.1, HIGH, (40, 3)),
    "truncated_normal open": lambda r, k: r.truncated_normal(k, -np.inf, 0.5, (40,)),
    "exponential": lambda r, k: r.exponential(k, (50,)),
    "laplace": lambda r, k: r.laplace(k, (50,)),
    "cauchy": lambda r, k: r.cauchy(k, (50,)),
    "gumbel": lambda r, k: r.gumbel(k, (50,)),
    "gumbel high": lambda r, k: r.gumbel(k, (50,), np.float32, "high"),
    "multivariate_normal": lambda r, k: r.multivariate_normal(k, MEAN, COV),
    "multivariate_normal shape": lambda r, k: r.multivariate_normal(k, MEAN, np.stack([COV, 2 * COV]), (5, 2)),
    "multivariate_normal single": lambda r, k: r.multivariate_normal(k, MEAN.astype("f4"), COV.astype("f4")),
    "gamma": lambda r, k: r.gamma(k, SHAPES),
    "gamma shape": lambda r, k: r.gamma(k, 0.7, (40,)),
    "gamma single": lambda r, k: r.gamma(k, SHAPES, dtype=np.float32),
    "loggamma": lambda r, k: r.loggamma(k, SHAPES),
    "beta": lambda r, k: r.beta(k, SHAPES, SHAPES[::-1]),
    "dirichlet": lambda r, k: r.dirichlet(k, SHAPES),
}
DRAWS = DISCRETE | ROUNDED
# Loops take long to compile; the laws of primitives hold them on XLA.
LOOPS = ("gamma", "loggamma", "beta", "dirichlet", "poisson")


def all_draws(random: Any) -> Callable[[Any], dict[str, Any]]:
    """Draw all samples in one program, because most of the time is compilation."""
    return lambda key: {name: draw(random, key) for name, draw in DRAWS.items()}


@functools.cache
def drawn(way: str) -> dict[str, Any]:
    """All draws of one key, or of three."""
    if way == "jax of many":
        with jax.enable_x64(True):
            return jax.jit(jax.vmap(all_draws(jax.random)))(jax.random.wrap_key_data(KEYS, impl="threefry2x32"))
    if way == "vmap":
        return fg.vmap(all_draws(fg.random))(KEYS)
    if way == "scan":
        return fg.scan(lambda carry, key: (carry, all_draws(fg.random)(key)), 0.0, KEYS)[1]
    if way == "xla":
        short = {name: draw for name, draw in DRAWS.items() if not name.startswith(LOOPS)}
        return fg.jit(lambda key: {name: draw(fg.random, key) for name, draw in short.items()})(KEYS[0])
    return fg.jit(all_draws(fg.random), engine="numpy")(KEYS[0])


def check(name: str, ours: Any, expected: np.ndarray) -> None:
    ours = np.asarray(ours)
    assert ours.dtype == expected.dtype
    assert ours.shape == expected.shape
    if name in DISCRETE:
        np.testing.assert_array_equal(ours, expected)
        return
    eps = float(ml_dtypes.finfo(expected.dtype).eps)
    wide = complex if expected.dtype.kind == "c" else float
    np.testing.assert_allclose(ours.astype(wide), expected.astype(wide), rtol=60 * eps, atol=60 * eps)


def test_every_sampler_is_tried() -> None:
    assert {name.split()[0] for name in DRAWS} == set(fg.random.__all__) - {"key", "split", "fold_in"}


@pytest.mark.long
@pytest.mark.parametrize("name", DRAWS)
def test_drawn_as_jax_does(name: str) -> None:
    expected = np.asarray(drawn("jax of many")[name])
    check(name, DRAWS[name](fg.random, KEYS[0]), expected[0])
    check(name, drawn("numpy")[name], expected[0])
    if not name.startswith(LOOPS):
        check(name, drawn("xla")[name], expected[0])
    for way in ("vmap", "scan"):
        check(name, drawn(way)[name], expected)


WITH_PARAMETERS: dict[str, tuple[Callable[..., Any], tuple]] = {
    "uniform": (lambda r, k, low, high: r.uniform(k, (2, 3), None, low, high), (LOW, HIGH)),
    "normal": (lambda r, k, mean, deviation: mean + deviation * r.normal(k, (2, 3)), (LOW, HIGH)),
    "truncated": (lambda r, k, low, high: r.truncated_normal(k, low, high, (4, 2, 3)), (LOW, HIGH)),
    "multivariate": (lambda r, k, mean, cov: r.multivariate_normal(k, mean, cov, (5,)), (MEAN, COV)),
    "eigh": (lambda r, k, mean, cov: r.multivariate_normal(k, mean, cov, method="eigh"), (MEAN, COV)),
    "gamma": (lambda r, k, a: r.gamma(k, a, (3, 8)), (SHAPES[1:],)),
    "loggamma": (lambda r, k, a: r.loggamma(k, a), (SHAPES[1:],)),
    "beta": (lambda r, k, a, b: r.beta(k, a, b), (SHAPES[1:-1], SHAPES[-2:0:-1])),
    "dirichlet": (lambda r, k, a: r.dirichlet(k, a), (SHAPES[:-2],)),
    "permutation": (lambda r, k, x: r.permutation(k, x, 1), (A,)),
    "independent": (lambda r, k, x: r.permutation(k, x, 1, independent=True), (A,)),
    "choice": (lambda r, k, x: r.choice(k, x, (5,), axis=2), (A,)),
}

# Differences leave what is symmetric, and show the derivative of what was drawn, not of the quantile.
NO_DIFFERENCES = {"multivariate", "eigh", "gamma", "loggamma", "beta", "dirichlet"}


@pytest.mark.long
@pytest.mark.parametrize("name", WITH_PARAMETERS)
def test_derivatives_as_jax_has_them(name: str) -> None:
    draw, parameters = WITH_PARAMETERS[name]
    y = draw(fg.random, KEY, *parameters)
    weights = np.cos(np.arange(y.size)).reshape(y.shape)

    def loss(random: Any, key: Any) -> Callable[..., Any]:
        return lambda *xs: (weights * draw(random, key, *xs) ** 2).sum()

    with jax.enable_x64(True):
        typed = jax.random.wrap_key_data(KEY, impl="threefry2x32")
        numbers = tuple(range(len(parameters)))
        expected = jax.jit(jax.grad(loss(jax.random, typed), numbers))(*map(jnp.asarray, parameters))
    ours = fg.grad(loss(fg.random, KEY), numbers)
    compiled = fg.jit(lambda key, *xs: fg.grad(loss(fg.random, key), numbers)(*xs))
    for found in (ours(*parameters), compiled(KEY, *parameters)):
        for got, of_jax in zip(found, expected, strict=True):
            np.testing.assert_allclose(got, of_jax, rtol=1e-9, atol=1e-12)
    if name not in NO_DIFFERENCES:
        fg.check_grads(loss(fg.random, KEY), parameters, order=2)


def test_logits_and_weights_have_no_derivative() -> None:
    f = lambda p: fg.random.choice(KEY, A[0, 0], (3,), p=p).sum() + 0 * p.sum()
    assert fg.grad(f)(np.ones(4) / 4).tolist() == [0.0] * 4
    assert fg.grad(lambda x: x.sum() + fg.random.categorical(KEY, x).sum())(LOGITS).tolist() == np.ones((2, 4)).tolist()


def test_the_wrong_key_is_refused() -> None:
    for key in (42, KEY.astype(np.int32), np.float64(3.0), [0, 42], None, KEY[:1]):
        with pytest.raises(TypeError, match=r"random.normal: the key is .*; needed u32\[2\]. Make one with"):
            fg.random.normal(key)
    with pytest.raises(ValueError, match=r"random.split: an array of keys u32\[3,2\] was given; needed one key"):
        fg.random.split(fg.random.split(KEY, 3))


RANDOM: Any = fg.random
REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "seed": (lambda: RANDOM.key(1.5), TypeError, "the seed is f64.*; needed one integer"),
    "seeds": (lambda: RANDOM.key(np.arange(3)), TypeError, r"the seed is i64\[3\]"),
    "text": (lambda: RANDOM.key("3"), TypeError, "random.key: the seed is"),
    "large seed": (lambda: RANDOM.key(2**70), OverflowError, "too large"),
    "data": (lambda: RANDOM.fold_in(KEY, 1.0), TypeError, "data is f64.*; needed one integer"),
    "large data": (lambda: RANDOM.fold_in(KEY, -1), OverflowError, "out of bounds"),
    "shape": (lambda: RANDOM.normal(KEY, (2.5,)), TypeError, "shape is .*; needed integers"),
    "negative": (lambda: RANDOM.normal(KEY, (-1,)), ValueError, r"shape is \(-1,\); needed sizes of 0"),
    "dtype": (lambda: RANDOM.uniform(KEY, (), int), ValueError, "dtype is int64; needed one of float16"),
    "complex": (lambda: RANDOM.exponential(KEY, (), complex), ValueError, "dtype is complex128"),
    "bits": (lambda: RANDOM.bits(KEY, (), int), ValueError, "dtype is int64; needed uint8"),
    "integers": (lambda: RANDOM.randint(KEY, (), 0, 3, float), TypeError, "dtype is float64; needed an integer dtype"),
    "ends": (lambda: RANDOM.uniform(KEY, (2,), minval=np.zeros(3)), ValueError, r"the shape is \(2,\)"),
    "imaginary ends": (lambda: RANDOM.uniform(KEY, (), minval=1j), TypeError, "a parameter is c128.*; needed real"),
    "wider": (lambda: RANDOM.bernoulli(KEY, np.ones(3), ()), ValueError, r"of the parameters \(3,\)"),
    "p": (lambda: RANDOM.bernoulli(KEY, 1), TypeError, "p is i64.*; needed floating-point"),
    "mode": (lambda: RANDOM.bernoulli(KEY, 0.5, mode="best"), ValueError, "mode is 'best'"),
    "mode of gumbel": (lambda: RANDOM.gumbel(KEY, mode="highest"), ValueError, "mode is 'highest'"),
    "signs": (lambda: RANDOM.rademacher(KEY, (), bool), ValueError, "dtype is bool; needed a dtype that holds -1"),
    "too many": (lambda: RANDOM.choice(KEY, 3, (4,), False), ValueError, "4 elements were asked for, and there are"),
    "of none": (lambda: RANDOM.choice(KEY, 0, (4,)), ValueError, "there are 0"),
    "weights": (lambda: RANDOM.choice(KEY, 3, (4,), p=np.ones(2)), ValueError, "needed a vector of 3"),
    "half": (lambda: RANDOM.permutation(KEY, 2.5), TypeError, "f64.* has no order"),
    "categories": (
        lambda: RANDOM.categorical(KEY, LOGITS, shape=(5, 2), replace=False),
        ValueError,
        "5 of 4 categories",
    ),
    "logits": (lambda: RANDOM.categorical(KEY, np.arange(3)), TypeError, r"the logits are i64\[3\]"),
    "half gamma": (lambda: RANDOM.gamma(KEY, 1.0, dtype=HALF), ValueError, "float16; needed float32 or float64"),
    "no vector": (lambda: RANDOM.dirichlet(KEY, 1.0), ValueError, "alpha is f64.*; needed a vector"),
    "counts": (lambda: RANDOM.poisson(KEY, 1.0, (), float), TypeError, "float64; needed an integer dtype"),
    "mean": (lambda: RANDOM.multivariate_normal(KEY, 0.0, COV), ValueError, "the mean is f64.*, the covariance"),
    "method": (lambda: RANDOM.multivariate_normal(KEY, MEAN, COV, method="lu"), ValueError, "method is 'lu'"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    call, error, match = REFUSED[name]
    with pytest.raises(error, match=match):
        call()


def test_sizes_have_to_be_known() -> None:
    with pytest.raises(TypeError, match=r"shape is .*; needed integers that are known when the function is traced"):
        fg.jit(lambda key, n: fg.random.normal(key, (n,)))(KEY, 3)
    with pytest.raises(TypeError, match="integer that is known when the function is traced"):
        fg.jit(fg.random.permutation)(KEY, 3)
    assert fg.jit(fg.random.permutation, static_argnums=1)(KEY, 3).shape == (3,)


def test_a_training_loop_with_noise() -> None:
    """Keys are carried by a loop, folded with its steps, and drawn from under the gradient."""

    def step(carry: Any, i: Any) -> Any:
        x, key = carry
        key, noise = fg.random.split(key)
        g = fg.grad(lambda x: ((x + 0.1 * fg.random.normal(noise, (3,))) ** 2).sum())(x)
        keep = fg.random.bernoulli(fg.random.fold_in(key, i), 0.9, (3,))
        return (x - 0.1 * fnp.where(keep, g, 0.0), key), None

    start = (np.ones(3), KEY)
    eager = start
    for i in range(5):
        eager, _ = step(eager, np.int64(i))
    for engine in ("numpy", "xla"):
        staged, _ = fg.jit(lambda c: fg.scan(step, c, np.arange(5)), engine=engine)(start)
        np.testing.assert_allclose(staged[0], eager[0], rtol=1e-12)
        np.testing.assert_array_equal(staged[1], eager[1])
