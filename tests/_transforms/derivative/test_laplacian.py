"""Laplacians compared with the trace of the Hessian and known answers, and under other transforms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import NonFiniteError, NonScalarOutputError, NotDifferentiableError

RNG = np.random.default_rng(3)
X = RNG.normal(size=6)
IN, HIDDEN, OUT = RNG.normal(size=(6, 8)) / 2, RNG.normal(size=(8, 8)) / 2, RNG.normal(size=8)


def network(x: Any) -> Any:
    return np.tanh(np.tanh(x @ IN) @ HIDDEN) @ OUT


def writes(x: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(1, 6):
        y[i] = y[i - 1] * x[i] + np.sin(x[i - 1])
    y[3:5] *= x[:2]
    y[0] += x[5]
    return np.sum(y**2)


def scanned(x: Any) -> Any:
    return np.sum(fg.scan(lambda c, t: (np.sin(c * t) + t, c * t), x[0] * 1.0, x)[1])


def branched(x: Any) -> Any:
    return fg.cond(x[0] > -9.0, lambda x: np.sum(x**4), np.sum, x)


@fg.custom_jvp
def damped(x: Any) -> Any:
    return np.sin(x) * x


damped.defjvp(lambda xs, x_dots: (damped(xs[0]), x_dots[0] * (np.cos(xs[0]) * xs[0] + np.sin(xs[0]))))

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "network": network,
    "rosenbrock": lambda x: np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2),
    "norm": lambda x: np.sqrt(np.sum(x * x)),
    "pairs": lambda x: np.sum(np.exp(-((x[:, None] - x[None, :]) ** 2))),
    "product of parts": lambda x: np.sum(np.sin(x[1:]) * np.cos(x[:-1]) * np.sum(x[2:])),
    "solve": lambda x: np.sum(np.linalg.solve(3 * np.eye(3) + np.outer(x[:3], np.sin(x[3:])), x[:3])),
    "determinant": lambda x: np.linalg.slogdet(np.outer(x, x) + np.eye(6))[1],
    "joined": lambda x: np.sum(np.concatenate([x[:3] * x[3:], np.sin(x)]) ** 2),
    "sorted": lambda x: np.max(x) ** 2 + np.sort(x)[3] ** 3,
    "through complex numbers": lambda x: np.abs(np.sum(np.exp(1j * x) ** np.ones((2, 6)))) ** 2,
    "spectrum": lambda x: np.sum(np.abs(np.fft.rfft(np.sin(x))) ** 2),
    "broadcast": lambda x: np.sum(np.broadcast_to(x, (3, 6)) * np.arange(3.0)[:, None] * x**2),
    "different shapes": lambda x: np.sum(np.arctan2(x[:, None], x[None, :3] ** 2 + 1) ** 3),
    "chosen": lambda x: np.sum(np.where(x > 0, x**3, np.exp(x))),
    "indexed": lambda x: np.sum(x[[0, 0, 3]] ** 2 * x[np.array([1, 2, 2])]),
    "three factors": lambda x: np.einsum("i,j,ij->", x, np.sin(x), np.outer(x, x)),
    "powers": lambda x: np.sum((x**2 + 1) ** x),
    "writes": writes,
    "scan": scanned,
    "branch": branched,
    "loop": lambda x: np.sum(fg.fori_loop(0, 3, lambda _, c: np.sin(c) * x, x)),
    "custom rule": lambda x: np.sum(damped(x) ** 2),
    "checkpoint": fg.checkpoint(network),
    "compiled": fg.jit(network, engine="numpy"),
    "gradient": lambda x: np.sum(fg.grad(network)(x) ** 2),
    "linear": lambda x: x @ np.arange(6.0),
    "reciprocals": lambda x: np.sum(x[1:] / (x[:-1] ** 2 + 1)),
}


def of_hessian(f: Callable[..., Any]) -> Callable[..., Any]:
    return lambda x: np.trace(fg.hessian(f)(x))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_it_is_the_trace_of_the_hessian(name: str) -> None:
    f, before = FUNCTIONS[name], X.copy()
    np.testing.assert_allclose(fg.laplacian(f)(X), of_hessian(f)(X), rtol=1e-10, atol=1e-10)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("engine", ["numpy", "xla", "numba"])
@pytest.mark.parametrize("name", ["network", "rosenbrock", "pairs", "scan", "norm"])
def test_compiled(name: str, engine: str) -> None:
    f = FUNCTIONS[name]
    laplacian: Any = fg.laplacian(f)
    np.testing.assert_allclose(fg.jit(laplacian, engine=engine)(X), of_hessian(f)(X), rtol=1e-10)
    expected = fg.grad(of_hessian(f))(X)
    np.testing.assert_allclose(fg.jit(fg.grad(laplacian), engine=engine)(X), expected, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("name", ["network", "rosenbrock", "pairs", "writes", "norm"])
def test_under_other_transforms(name: str) -> None:
    f = FUNCTIONS[name]
    laplacian, expected = fg.laplacian(f), of_hessian(f)
    np.testing.assert_allclose(fg.vmap(laplacian)(np.stack([X, 2 * X])), [expected(X), expected(2 * X)], rtol=1e-10)
    np.testing.assert_allclose(fg.grad(laplacian)(X), fg.grad(expected)(X), rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(fg.jvp(laplacian, (X,), (X,))[1], fg.jvp(expected, (X,), (X,))[1], rtol=1e-9)
    np.testing.assert_allclose(fg.laplacian(laplacian)(X), of_hessian(expected)(X), rtol=1e-8, atol=1e-9)
    with jax.enable_x64(True):
        array = jax.numpy.asarray(X)
        eager = laplacian(array)
        np.testing.assert_allclose(jax.jit(laplacian)(X), expected(X), rtol=1e-10)
        np.testing.assert_allclose(jax.grad(laplacian)(X), fg.grad(expected)(X), rtol=1e-8, atol=1e-9)
    assert isinstance(eager, jax.Array)
    np.testing.assert_allclose(eager, expected(X), rtol=1e-10)


def test_known_answers() -> None:
    """The harmonic polynomial, the Coulomb potential, and a plane wave, an eigenfunction with a complex value."""
    assert fg.laplacian(lambda x: x[0] ** 3 - 3 * x[0] * x[1] ** 2)(np.array([0.5, 2.0])) == 0
    np.testing.assert_allclose(fg.laplacian(lambda x: 1 / np.sqrt(x @ x))(X[:3]), 0, atol=1e-12)
    wave = fg.laplacian(lambda x: np.exp(1j * (X @ x)))(np.ones(6))
    np.testing.assert_allclose(wave, -(X @ X) * np.exp(1j * np.sum(X)))
    np.testing.assert_allclose(fg.laplacian(lambda x: np.exp(-x * x / 2))(1.5), 1.25 * np.exp(-1.125))


def test_arguments() -> None:
    def f(scale: Any, x: Any, *, power: int) -> Any:
        return scale * np.sum(x["a"] * x["b"]) ** power

    x = {"a": X, "b": X[0]}
    for argnums in (1, -1):
        got = fg.laplacian(f, argnums)(2.0, x, power=2)
        np.testing.assert_allclose(got, 4 * (6 * X[0] ** 2 + np.sum(X) ** 2))
    assert fg.laplacian(np.sum)(np.zeros(0)) == 0
    assert fg.laplacian(lambda x: np.float64(3))(X) == 0
    single = fg.laplacian(lambda x: np.sum(x**3))(X.astype(np.float32))
    assert single.dtype == np.float32
    assert type(fg.laplacian(network)(X)) is np.float64


def test_only_the_derivatives_that_may_differ_from_zero_are_stored() -> None:
    """A sum over neighbours of 30,000 elements would have a Jacobian of 7 GB."""
    x = np.linspace(-1, 1, 30_000)
    np.testing.assert_allclose(
        fg.laplacian(FUNCTIONS["rosenbrock"])(x),
        np.sum(1200 * x[:-1] ** 2 - 400 * x[1:] + 2) + 200 * (x.size - 1),
    )
    total = fg.laplacian(lambda x: np.sum(x[2:] * np.sin(x[1:-1]) * x[:-2]))(x)
    np.testing.assert_allclose(total, np.sum(-x[2:] * np.sin(x[1:-1]) * x[:-2]))


def moves(x: Any) -> Any:
    """Elements that are joined, padded, split, gathered and written."""
    y = np.concatenate([x[:1] ** 2, np.sin(x[1:]) * x[:-1]])
    y = np.pad(np.stack([y, y[::-1] * 2]), ((0, 0), (1, 0))).T.reshape(-1)
    a, b = np.split(y, 2)
    z = np.zeros_like(x)
    z[1:] = (a * b)[np.arange(len(x) - 1)]
    z[0] = a[1]
    return np.sum(z**3 + np.where(z > 0.1, z, -z) * x)


def test_elements_that_move_keep_their_inputs() -> None:
    x = RNG.normal(size=12)
    np.testing.assert_allclose(fg.laplacian(moves)(x), of_hessian(moves)(x), rtol=1e-10)
    # A dense Jacobian would take 12 GB.
    assert np.isfinite(fg.laplacian(moves)(np.linspace(-1, 1, 40_000)))


def test_the_function_may_write_to_its_plain_arrays() -> None:
    """Derivatives are computed later, from the numbers at the time of the operation."""

    def f(x: Any, width: int) -> Any:
        factor, y = np.zeros((6, width)), np.zeros(width)
        for i in range(3):
            factor[:] = i + 1
            y = y + x @ factor
        return np.sum(np.sin(y))

    for width in (2, 200):
        expected = -36 * 6 * width * np.sin(6 * np.sum(X))
        np.testing.assert_allclose(fg.laplacian(f)(X, width), expected, rtol=1e-12)


def test_debug_nans_looks_at_the_laplacian() -> None:
    with np.errstate(all="ignore"), pytest.raises(NonFiniteError, match="sqrt"), fg.debug_nans():
        fg.laplacian(lambda x: np.sum(np.sqrt(x)))(np.zeros(2))


def test_operations_of_a_network_are_less_than_half_of_the_hessians() -> None:
    weights = [RNG.normal(size=shape) for shape in ((20, 64), (64, 64), (64,))]

    def f(x: Any) -> Any:
        return np.tanh(np.tanh(x @ weights[0]) @ weights[1]) @ weights[2]

    ours, theirs = (fg.make_graph(g)(np.ones(20)).flops for g in (fg.laplacian(f), of_hessian(f)))
    assert ours <= 0.5 * theirs


BAD = {
    "vector": (lambda x: x, (X,), NonScalarOutputError, r"must return a scalar. Its output is f64\[6\]"),
    "tuple": (lambda x: (x[0],), (X,), NonScalarOutputError, "a tuple"),
    "None": (lambda x: None, (X,), NonScalarOutputError, "Is a return missing"),
    "integer output": (np.argmax, (X,), NotDifferentiableError, "an output of argmax"),
    "text": (np.sum, ("x",), TypeError, "is a str"),
    "integers": (np.sum, (np.arange(3),), NotDifferentiableError, "dtype int64"),
    "complex": (np.sum, (1j * X,), NotDifferentiableError, "needed a real dtype"),
    "no argument": (network, (), TypeError, "0 positional arguments"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str) -> None:
    f, args, error, text = BAD[case]
    laplacian: Any = fg.laplacian(f)
    with pytest.raises(error, match=text):
        laplacian(*args)
    np.testing.assert_allclose(fg.laplacian(lambda x: np.sum(x**2))(X), 12)


@pytest.mark.parametrize("argnums", [(0,), "x", 1.5])
def test_bad_argnums(argnums: Any) -> None:
    with pytest.raises(TypeError, match=r"laplacian: argnums of network .* needed"):
        fg.laplacian(network, argnums)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.sum(np.sin(np.copysign(2.0, x) + x)),
        lambda x: np.sum(np.sin(np.heaviside(x, x))),
        lambda x: np.sum(np.exp(np.ldexp(np.copysign(2.7, x), -1)) * x**2),
        lambda x: np.sum(np.cos(np.copysign(3.0, np.mean(x)) * np.ones(2))),
    ],
    ids=["copysign", "heaviside", "ldexp", "a number"],
)
def test_rules_whose_tangents_are_zero(f: Any) -> None:
    x = np.array([0.3, -0.5])
    expected = np.trace(fg.hessian(f)(x))
    np.testing.assert_allclose(fg.laplacian(f)(x), expected, atol=1e-12)
    np.testing.assert_allclose(fg.jit(fg.laplacian(f), engine="numpy")(x), expected, atol=1e-12)
