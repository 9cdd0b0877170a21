"""Batches of ``cond``, ``switch`` and ``while_loop`` beside a loop over the elements, which runs one side of each.

The other side would raise: its index is out of bounds, its matrix is singular, or its function refuses the number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

ENGINES = [None, "numpy", "numba", "xla"]
NUMBERS = np.array([5, 0, -9, 2, 1])
X = np.array([[0.3, -1.2, 2.0], [1.1, 0.4, -0.6], [0.9, 0.8, 0.7], [-0.2, 1.5, 0.1], [2.2, 0.6, 1.3]])
TABLE = np.array([0.5, 1.5, -2.5])
_A = np.random.default_rng(0).normal(size=(5, 2, 2))
M = _A @ _A.transpose(0, 2, 1) + np.eye(2)
M[[0, 2]] = np.array([[1.0, 1.0], [1.0, 1.0]]), np.zeros((2, 2))


class Program(NamedTuple):
    """A program of an integer and an array, and its arrays; ``reverse`` says whether it has a reverse mode."""

    f: Callable[[Any, Any], Any]
    xs: np.ndarray = X
    reverse: bool = True


def inside(i: Any) -> Any:
    return fnp.logical_and(i >= 0, i < 3)


def guarded(taken: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the program that runs ``taken`` where the integer is 0, 1 or 2."""
    return lambda i, x: fg.cond(inside(i), taken, lambda i, x: 0.5 * np.sum(x * x), i, x)


def written(i: Any, x: Any) -> Any:
    y = x * 2
    y[i] = np.sin(x[0])
    return np.sum(y * x)


def switched(i: Any, x: Any) -> Any:
    sides = [lambda i, x: x[i] ** 2, lambda i, x: TABLE[0] * fnp.take(x, 2 * i) * x[1], lambda i, x: np.sum(x)]
    return fg.switch(np.where(i > 2, 2, np.where(i < 0, 2, np.minimum(i, 1) * (i < 2) + 0 * i)), sides, i, x)


def nested(i: Any, x: Any) -> Any:
    inner = lambda i, x: fg.cond(i >= 0, lambda i, x: x[i] * x[0], lambda i, x: np.sin(x[1]), i, x)
    return fg.cond(i < 3, inner, lambda i, x: np.cos(x[2]), i, x)


def scanned(i: Any, x: Any) -> Any:
    return fg.scan(lambda c, row: (c * row + x[i], c), x[0], x)[0]


def summed(i: Any, x: Any) -> Any:
    """Return a sum from the integer on, whose loops end in different rounds."""
    body = lambda c: (c[0] + 1, c[1] * 0.5 + fnp.take(x, c[0]) ** 2)
    return fg.while_loop(lambda c: c[0] < 3, body, (fnp.where(i < 0, 1, i), x[0]))[1]


def refusing(x: np.ndarray) -> np.ndarray:
    if np.any(x < 0):
        raise ValueError("a negative number")
    return np.sqrt(x)


def powers(i: Any, x: Any) -> Any:
    return fg.cond(i >= 0, lambda i, x: (i + 2) ** i * x[0], lambda i, x: x[1] ** 2, i, x)


def inverted(i: Any, m: Any) -> Any:
    return np.sum(np.linalg.inv(m) * m[0])


def solved(i: Any, m: Any) -> Any:
    return np.sum(np.linalg.solve(m, m[1]) ** 2)


PROGRAMS = {
    "index": Program(guarded(lambda i, x: x[i] ** 3)),
    "take": Program(guarded(lambda i, x: fnp.take(TABLE, i) * x[1])),
    "write": Program(guarded(written)),
    "add": Program(guarded(lambda i, x: np.sum(fnp.at(x)[i].add(x[1]) ** 2))),
    "embedding": Program(guarded(lambda i, x: fg.nn.functional.embedding(i, fnp.stack([x, x * x, x]))[1])),
    "jitted": Program(guarded(fg.jit(lambda i, x: x[i] ** 2, engine="numpy"))),
    "switch": Program(switched),
    "nested": Program(nested),
    "scan": Program(guarded(scanned)),
    "while": Program(summed, reverse=False),
    "guarded while": Program(guarded(summed), reverse=False),
    "power": Program(powers),
    "cholesky": Program(guarded(lambda i, m: np.sum(np.linalg.cholesky(m))), M),
    "inv": Program(guarded(inverted), M),
    "solve": Program(guarded(solved), M),
    "two operands": Program(guarded(lambda i, m: np.log(np.linalg.inv(m)[0, 0] * fnp.take(np.abs(TABLE), i))), M),
}
BATCHES = {"some": NUMBERS, "none": np.array([7, -8, 9, -7, 5]), "all": np.array([0, 1, 2, 1, 0])}


def compiled(f: Callable[..., Any], engine: str | None) -> Callable[..., Any]:
    return f if engine is None else fg.jit(f, engine=engine)


def one_by_one(f: Callable[..., Any], *args: Any) -> np.ndarray:
    return np.stack([np.asarray(f(*each)) for each in zip(*args, strict=True)])


def close(got: Any, wanted: Any) -> None:
    np.testing.assert_allclose(np.asarray(got), np.asarray(wanted), rtol=1e-9, atol=1e-12)


def arguments(program: Program, batch: str) -> tuple[np.ndarray, np.ndarray]:
    # All matrices are regular where all elements take the side.
    xs = program.xs
    return BATCHES[batch], xs[[1, 3, 4, 1, 4]] if batch == "all" else xs


@pytest.mark.parametrize(
    ("batch", "engine"), [*[("some", engine) for engine in ENGINES], ("none", None), ("none", "numpy"), ("all", None)]
)
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_and_derivatives(name: str, batch: str, engine: str | None) -> None:
    program = PROGRAMS[name]
    f, (i, xs) = program.f, arguments(program, batch)
    v = np.cos(np.arange(xs.size)).reshape(xs.shape)

    def tangent(i: Any, x: Any, v: Any) -> Any:
        return fg.jvp(lambda x: f(i, x), (x,), (v,))[1]

    close(compiled(fg.vmap(f), engine)(i, xs), one_by_one(f, i, xs))
    slopes = one_by_one(tangent, i, xs, v)
    close(compiled(fg.vmap(tangent), engine)(i, xs, v), slopes)
    close(compiled(lambda i, x, v: fg.jvp(lambda x: fg.vmap(f)(i, x), (x,), (v,))[1], engine)(i, xs, v), slopes)
    if program.reverse:
        gradient = fg.grad(f, argnums=1)
        wanted = one_by_one(gradient, i, xs)
        close(compiled(fg.vmap(gradient), engine)(i, xs), wanted)
        whole = fg.grad(lambda x, i: np.sum(fg.vmap(f)(i, x)))
        close(compiled(whole, engine)(xs, i), wanted)


@pytest.mark.parametrize("engine", [None, "numpy"])
@pytest.mark.parametrize("name", [name for name in PROGRAMS if PROGRAMS[name].reverse])
def test_second_derivatives(name: str, engine: str | None) -> None:
    program = PROGRAMS[name]
    f, xs = program.f, program.xs

    def curved(i: Any, x: Any) -> Any:
        return fg.grad(lambda x: np.sum(np.sin(fg.grad(f, argnums=1)(i, x))))(x)

    wanted = one_by_one(curved, NUMBERS, xs)
    close(compiled(fg.vmap(curved), engine)(NUMBERS, xs), wanted)
    close(
        compiled(lambda x: fg.grad(lambda x: np.sum(np.sin(fg.vmap(fg.grad(f, argnums=1))(NUMBERS, x))))(x), engine)(
            xs
        ),
        wanted,
    )
    inner = fg.grad(lambda x: np.sum(fg.vmap(f)(NUMBERS, x)))
    close(compiled(fg.grad(lambda x: np.sum(np.sin(inner(x)))), engine)(xs), wanted)


@pytest.mark.parametrize("engine", [None, "numpy"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_nested_batches(name: str, engine: str | None) -> None:
    program = PROGRAMS[name]
    f, xs = program.f, program.xs
    both = fg.vmap(fg.vmap(f))
    # No element of the second row takes the side.
    i, xs = np.stack([NUMBERS, BATCHES["none"], NUMBERS[[2, 1, 1, 3, 3]]]), np.stack([xs, xs, xs[[0, 1, 1, 3, 3]]])
    wanted = np.stack([one_by_one(f, *each) for each in zip(i, xs, strict=True)])
    close(compiled(both, engine)(i, xs), wanted)
    if program.reverse:
        slopes = np.stack([one_by_one(fg.grad(f, argnums=1), *each) for each in zip(i, xs, strict=True)])
        close(compiled(fg.grad(lambda x: np.sum(both(i, x))), engine)(xs), slopes)
        close(compiled(fg.vmap(lambda i, x: fg.grad(lambda x: np.sum(fg.vmap(f)(i, x)))(x)), engine)(i, xs), slopes)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_infinite_slope_counts_once(engine: str | None) -> None:
    f = lambda i, x: fg.cond(inside(i), lambda i: np.sqrt(x[i]), lambda i: 0.0, i)
    total = lambda x: np.sum(fg.vmap(f)(np.array([0, 7, 1, 8]), x))
    with np.errstate(divide="ignore"):
        found = compiled(fg.grad(total), engine)(np.tile([0.0, 4.0, 9.0], (4, 1)))
    close(found, [[np.inf, 0, 0], [0, 0, 0], [0, 0.25, 0], [0, 0, 0]])


@pytest.mark.parametrize("engine", ENGINES)
def test_a_function_of_numpy_gets_numbers_of_elements_that_call_it(engine: str | None) -> None:
    f = lambda x: fg.cond(x > 0, lambda x: fg.call_numpy(refusing, x, x), lambda x: x, x)
    for xs in (np.array([-1.0, 4.0, 9.0]), np.array([-1.0, -2.0])):
        close(compiled(fg.vmap(f), engine)(xs), one_by_one(f, xs))


@pytest.mark.parametrize("engine", [None, "numpy", "numba"])
def test_an_element_that_takes_the_side_raises(engine: str | None) -> None:
    f = lambda i, x: fg.cond(i < 9, lambda i, x: x[i], lambda i, x: 0.0, i, x)
    with pytest.raises(IndexError):
        compiled(fg.vmap(f), engine)(np.array([1, 5, 9]), X[:3])
    factor = lambda ok, m: fg.cond(ok, lambda m: np.linalg.cholesky(m)[0, 0], lambda m: 0.0, m)
    with pytest.raises(np.linalg.LinAlgError):
        compiled(fg.vmap(factor), engine)(np.array([True, True]), M[1:3])


@pytest.mark.parametrize("engine", ENGINES)
def test_an_empty_batch(engine: str | None) -> None:
    for name in ("index", "inv", "while"):
        f, xs, _ = PROGRAMS[name]
        assert np.asarray(compiled(fg.vmap(f), engine)(NUMBERS[:0], xs[:0])).shape == (0,)


def test_sums_over_the_batch_take_the_elements_own_numbers() -> None:
    side = lambda i, x: fg.psum(x[1] * i, "batch") + x[i]
    f = fg.vmap(lambda i, x: fg.cond(inside(i), side, lambda i, x: 0.0, i, x), axis_name="batch")
    total = np.sum(X[:, 1] * NUMBERS)
    close(f(NUMBERS, X), [0, total + X[1, 0], 0, total + X[3, 2], total + X[4, 1]])
