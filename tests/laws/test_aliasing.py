"""A result that is a new array in NumPy is new here, and a view is a view; derivatives are always new arrays."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

A = np.arange(6.0).reshape(2, 3) + 1

CASES: dict[str, Callable[[Any], Any]] = {
    "+x": lambda x: +x,
    "copy": lambda x: x.copy(),
    "np.copy": np.copy,
    "flatten": lambda x: x.flatten(),
    "astype": lambda x: x.astype(float),
    "astype without copy": lambda x: x.astype(float, copy=False),
    "repeat": lambda x: np.repeat(x, 1, axis=0),
    "repeat flat": lambda x: x.repeat(1),
    "tile": lambda x: np.tile(x, 1),
    "roll": lambda x: np.roll(x, 0),
    "roll of an axis": lambda x: np.roll(x, 0, axis=1),
    "pad": lambda x: np.pad(x, 0),
    "pad edge": lambda x: np.pad(x, 0, mode="edge"),
    "concatenate": lambda x: np.concatenate([x]),
    "stack": lambda x: np.stack([x]),
    "block": lambda x: np.block([[x]]),
    "conj": np.conj,
    "conj method": lambda x: x.conj(),
    "sum": lambda x: np.sum(x, axis=()),
    "add.reduce": lambda x: np.add.reduce(x, axis=()),
    "meshgrid": lambda x: np.meshgrid(x[0])[0],
    "full_like": lambda x: np.full_like(x, x),
    "real": np.real,
    "reshape": lambda x: x.reshape(-1),
    "ravel": np.ravel,
    "x[1:]": lambda x: x[1:],
    "transpose": lambda x: x.T,
    "x[i], a number": lambda x: x[np.int64(1)],
    "x[i], an array": lambda x: x[np.array(1)],
    "x[i, ...], an array": lambda x: x[np.array(1), ...],
    "x[:, i, None], an array": lambda x: x[:, np.array(1, np.uint8), None],
    "einsum": lambda x: np.einsum("ij->ji", x),
    "x + 0": lambda x: x + 0,
    "max": lambda x: np.max(x, axis=()),
}

if np.lib.NumpyVersion(np.__version__) >= "2.1.0":
    CASES["clip"] = lambda x: np.clip(x, None, None)

# The function itself decides whether its value shares memory: NumPy's rule holds. The value of vjp is new, because a
# write to it must not reach what the pullback reads.
VALUES: dict[str, Callable[[Any, np.ndarray], Any]] = {
    "jvp": lambda f, x: fg.jvp(f, (x,), (np.ones_like(x),))[0],
    "graph": lambda f, x: fg.make_graph(f)(x)(x),
}


@pytest.mark.parametrize("mode", VALUES)
@pytest.mark.parametrize("name", CASES)
def test_values_share_what_numpys_share(name: str, mode: str) -> None:
    f, x = CASES[name], A.copy()
    y = VALUES[mode](f, x)
    np.testing.assert_array_equal(y, f(x))
    assert np.shares_memory(y, x) is np.shares_memory(f(x), x)


@pytest.mark.parametrize("name", CASES)
def test_what_a_transform_computes_is_new(name: str) -> None:
    f, x = CASES[name], A.copy()
    x_dot, batch = A * 2, np.stack([A, A])
    y_bar = np.ones_like(f(x))
    outer = fg.jvp(lambda t: fg.jvp(f, (x,), (t,))[1], (x_dot,), (x_dot + 1,))[0]
    results = [
        fg.jvp(f, (x,), (x_dot,))[1],
        fg.linearize(f, x)[1](x_dot),
        fg.vjp(f, x)[0],
        fg.vjp(f, x)[1](y_bar)[0],
        fg.vmap(f)(batch),
        outer,
    ]
    for result in results:
        assert not any(np.shares_memory(result, given) for given in (x, x_dot, y_bar, batch))
        assert result.flags.writeable


def test_results_share_nothing_with_each_other() -> None:
    x = np.ones(3)
    first, second = fg.vmap(lambda x: (x, x), out_axes=0)(A)
    assert not np.shares_memory(first, second)
    by_a, by_b = fg.vjp(lambda a, b: a + b, x, x)[1](np.ones(3))
    assert not np.shares_memory(by_a, by_b)
    (by_a, by_b), _ = fg.vjp(lambda x: fg.grad(lambda a, b: np.sum((a + b) ** 2), (0, 1))(x, x), x)
    assert not np.shares_memory(by_a, by_b)
    whole = fg.vmap(lambda x: np.broadcast_to(A[0], (5000, 3)))(A)
    assert whole.flags.writeable
    assert not np.shares_memory(whole, A)


def _twice(x: Any) -> tuple[Any, Any]:
    """In a program the second is the first, which is merged."""
    return np.exp(x), np.exp(x)


MERGED: dict[str, Callable[[Any], Any]] = {
    "checkpoint": fg.checkpoint(_twice),
    "scan": lambda x: fg.scan(lambda c, _: (_twice(c[0]), None), (x, x), None, length=2)[0],
    "fori_loop": lambda x: fg.fori_loop(0, 2, lambda i, c: _twice(c[0]), (x, x)),
    "while_loop": lambda x: fg.while_loop(lambda c: np.all(c[0] < 9), lambda c: _twice(c[0]), (x, x)),
    "cond": lambda x: fg.cond(x[0] < 9, _twice, _twice, x),
}


@pytest.mark.parametrize("name", MERGED)
def test_results_of_equal_equations_share_nothing(name: str) -> None:
    f, x = MERGED[name], np.ones(3)
    for ys in (f(x), fg.linearize(f, x)[0], fg.jvp(f, (x,), (x,))[0], fg.jit(f, engine="numpy")(x)):
        np.testing.assert_array_equal(ys[0], ys[1])
        assert not np.shares_memory(*ys)


def test_a_custom_rule_may_return_what_it_holds_on_to() -> None:
    held = np.array([1.0, 2.0])
    f = fg.custom_vjp(lambda x: np.sum(x * held))
    f.defvjp(lambda x: (np.sum(x * held), None), lambda _, y_bar: (held,))
    assert not np.shares_memory(fg.grad(f)(np.ones(2)), held)
    g = fg.custom_jvp(lambda x: 2 * x)
    g.defjvp(lambda primals, tangents: (2 * primals[0], held))
    assert not np.shares_memory(fg.jvp(g, (np.ones(2),), (np.ones(2),))[1], held)


@pytest.mark.parametrize("engine", ["xla", "numpy"])
def test_a_compiled_function_tells_an_argument_from_its_copy(engine: str) -> None:
    x = np.ones(3)
    same, copied, doubled = fg.jit(lambda x: (x, +x, 2 * x), engine=engine)(x)
    assert same is x
    assert not np.shares_memory(copied, x)
    np.testing.assert_array_equal(copied, x)
    copied += doubled
    np.testing.assert_array_equal(same, np.ones(3))
