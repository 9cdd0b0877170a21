"""Numbers, which are no arrays: nothing is a view of one; and results without axes that NumPy makes as arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

NUMBERS: dict[str, Callable[[Any], Any]] = {
    "element": lambda a: a[0],
    "element of a view": lambda a: a[1:][0],
    "element by a NumPy integer": lambda a: a[np.int64(1)],
    "element of a matrix": lambda a: a.reshape(2, 2)[0, 1],
    "first of an iteration": lambda a: next(iter(a)),
    "flat": lambda a: a.flat[2],
    "sum": lambda a: a.sum(),
    "product": lambda a: a @ a,
    "computed": lambda a: a[0] + 1,
    "positive": lambda a: +np.squeeze(a[:1]),
    "transposed": lambda a: a[0].T,
    "squeezed": lambda a: np.squeeze(a[0]),
    "element by an empty index": lambda a: np.squeeze(a[:1])[()],
}
ARRAYS: dict[str, Callable[[Any], Any]] = {
    "element with an ellipsis": lambda a: a[..., 0],
    "squeezed view": lambda a: np.squeeze(a[:1]),
    "reshaped view": lambda a: a[:1].reshape(()),
    "ellipsis of a number": lambda a: a[0][...],
    "copy": lambda a: np.copy(a[0]),
    "where": lambda a: np.where(a[0] > 0, a[0], 0.0),
    "out=": lambda a: np.multiply(a[0], 2.0, out=np.zeros_like(a[0])),
    "like": lambda a: np.full_like(a[0], 2.0),
}
WRITES: dict[str, Callable[[Any], Any]] = {
    "new axis": lambda v: v[None],
    "new axis behind": lambda v: v[..., None],
    "reshape": lambda v: v.reshape(1),
    "ravel": lambda v: v.ravel(),
    "expand_dims": lambda v: np.expand_dims(v, 0),
    "atleast_2d": lambda v: np.atleast_2d(v),
    "transposed": lambda v: v.T[None],
    "real": lambda v: v.real[None],
    "flip": lambda v: np.flip(v[None]),
}
RUNS: dict[str, Callable[[Any, Any], Any]] = {
    "jvp": lambda f, x: fg.jvp(f, (x,), (x,))[0],
    "vjp": lambda f, x: fg.vjp(f, x)[0],
    "vmap": lambda f, x: fg.vmap(f)(x[None])[0],
    "numpy": lambda f, x: fg.jit(f, engine="numpy")(x),
    "graph": lambda f, x: fg.make_graph(f)(x)(x),
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("part", [*NUMBERS, *ARRAYS])
def test_writes_to_what_is_made_of_a_part(part: str, run: str) -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0])
    for write in WRITES.values():

        def f(x: Any, write: Callable[[Any], Any] = write) -> Any:
            a = x * 1.0
            v = (NUMBERS | ARRAYS)[part](a)
            c = write(v)
            c[...] = 7 * c
            return np.concatenate([a, np.reshape(v, 1), np.ravel(c)])

        np.testing.assert_array_equal(RUNS[run](f, x), f(x))


@pytest.mark.parametrize("engine", ["xla", "numba"])
def test_a_number_stays_on_compiled_engines(engine: str) -> None:
    def f(x: Any) -> Any:
        a = x * 1.0
        v = a[0]
        c = v[..., None]
        c[...] = 7.0
        return v * a + c

    x = np.array([1.0, 2.0])
    np.testing.assert_array_equal(fg.jit(f, engine=engine)(x), f(x))
    gradient = fg.jit(fg.grad(lambda x: np.sum(f(x))), engine=engine)(x)
    np.testing.assert_array_equal(gradient, [2 * x[0] + x[1], x[0]])


def test_a_staged_argument_may_be_a_number_or_an_array() -> None:
    def f(x: Any) -> Any:
        c = np.atleast_1d(x)
        c[0] = 7.0
        return x + c

    compiled = fg.jit(f, engine="numpy")
    assert compiled(1.0) == compiled(np.float64(1.0)) == 8.0
    assert compiled(np.array(1.0)) == 14.0
    assert fg.vjp(f, np.float64(1.0))[0] == f(np.float64(1.0)) == 8.0
    assert fg.vjp(f, np.array(1.0))[0] == f(np.array(1.0)) == 14.0


@pytest.mark.parametrize("part", [*NUMBERS, *ARRAYS])
def test_results_without_axes_are_numbers_or_arrays_as_in_numpy(part: str) -> None:
    x = np.array([1.0, 2.0, 3.0, 4.0])
    f = (NUMBERS | ARRAYS)[part]
    assert type(fg.vjp(f, x)[0]) is type(f(x))


def test_a_tensor_without_axes_is_memory() -> None:
    t = fg.autograd.tensor([1.0, 2.0])
    t[0].reshape(1)[0] = 7.0
    assert t[0] == 7.0
