"""An array without axes is an array, and not a number: a write to it is seen by all of its names, as in NumPy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

# Functions whose result is an array or a number, as NumPy decides. Some show the memory of ``x``.
MADE: dict[str, Callable[[Any], Any]] = {
    "x": lambda x: x,
    "copy": lambda x: x.copy(),
    "np.copy": np.copy,
    "astype": lambda x: x.astype(np.float64),
    "reshape": lambda x: np.reshape(x, ()),
    "x[...]": lambda x: np.atleast_1d(x)[0, ...],
    "x[0]": lambda x: np.atleast_1d(x)[0],
    "zeros_like": np.zeros_like,
    "broadcast_to": lambda x: np.broadcast_to(x, ()).copy(),
    "squeeze": np.squeeze,
    "transpose": np.transpose,
    "moveaxis": lambda x: np.moveaxis(x, (), ()),
    "real": np.real,
    "real_if_close": np.real_if_close,
    "+x": lambda x: +x,
    "x * 1": lambda x: x * 1,
    "conj": np.conj,
    "einsum": lambda x: np.einsum("->", x),
    "sum": np.sum,
    "take": lambda x: np.take(x, 0),
    "where": lambda x: np.where(x > 0, x, 1.0),
}


def _vjp_of(f: Callable[[Any], Any], x: Any) -> Any:
    return fg.vjp(f, x)[0]


WAYS: dict[str, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = {
    "vjp": lambda f: lambda x: fg.vjp(f, x)[0],
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (1.0,))[0],
    "xla": fg.jit,
    "numpy": lambda f: fg.jit(f, engine="numpy"),
    "numpy, paths": lambda f: fg.jit(f, engine="numpy", paths=4),
    "xla, paths": lambda f: fg.jit(f, paths=4),
    "vjp of xla": lambda f: functools.partial(_vjp_of, fg.jit(f)),
    "numpy of vjp": lambda f: fg.jit(lambda x: fg.vjp(f, x)[0], engine="numpy"),
    "xla of jvp": lambda f: fg.jit(lambda x: fg.jvp(f, (x,), (1.0,))[0]),
    "graph": lambda f: lambda x: fg.make_graph(f)(x)(x),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MADE)
def test_a_write_is_seen_by_the_names_of_an_array_alone(name: str, way: str) -> None:
    def f(x: Any) -> Any:
        y = MADE[name](x)
        z = y
        z *= 2.0
        z += 1.0
        return x * 1.0, y * 1.0, z * 1.0

    run = WAYS[way](f)
    # The array and the number have one type. A program for one must not serve the other.
    for make in (lambda: np.array(3.0), lambda: np.float64(3.0), lambda: np.array(4.0), lambda: np.float64(4.0)):
        if name != "take" or isinstance(make(), np.ndarray):
            np.testing.assert_array_equal(run(make()), f(make()))


@pytest.mark.parametrize("engine", ["xla", "numpy"])
def test_a_program_is_kept_for_arrays_and_for_numbers(engine: str) -> None:
    def f(x: Any, n: Any) -> Any:
        y = x
        y *= n
        return x + n

    jitted = fg.jit(f, engine=engine)
    for _ in range(3):
        # Other shapes in between, for which JAX stages the same program anew.
        assert jitted(np.array(3.0), 2.0) == 8
        assert jitted(np.float64(3.0), 2.0) == 5
        np.testing.assert_array_equal(jitted(np.ones(2), 2.0), [4, 4])
        assert jitted(np.array(3.0), np.float64(2.0)) == 8
    assert fg.grad(jitted)(np.array(3.0), 2.0) == 2
    assert fg.grad(jitted)(np.float64(3.0), 2.0) == 1


def test_the_callers_array_stays() -> None:
    x = np.array(3.0)

    def f(x: Any) -> Any:
        y = x
        y += 1.0
        return x

    for engine in ("xla", "numpy"):
        assert fg.jit(f, engine=engine)(x) == 4
        assert x == 3
