"""The call path of engines that write source: each signature has a program, and results belong to the caller."""

from __future__ import annotations

import dataclasses
import linecache
import traceback
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import numpy as np
import pytest

import funcgrad as fg

X = np.array([1.5, -2.0, 0.25])


class Pair(NamedTuple):
    left: Any
    right: Any


@fg.tree.register_dataclass(meta_fields=["name"])
@dataclasses.dataclass(frozen=True)
class Layer:
    weight: Any
    name: str


class Named(np.ndarray):
    """A subclass without attributes of its own."""


# Each pair of these arguments, one after the other, through one jitted function.
KINDS: dict[str, Any] = {
    "array": X,
    "another length": X[:2],
    "a matrix": X.reshape(1, 3),
    "empty": X[:0],
    "0-d": np.array(2.5),
    "float64": np.float64(2.5),
    "float32": np.float32(2.5),
    "bool": True,
    "int": 3,
    "float": 2.5,
    "complex": 2.5j,
    "narrow": X.astype(np.float32),
    "integers": np.array([1, 2, 3]),
    "the other byte order": X.astype(">f8"),
    "read only": np.broadcast_to(np.float64(1.5), (3,)),
    "strided": np.repeat(X, 2)[::2],
    "subclass": X.view(Named),
    "objects": np.array([1.5, -2.0, 0.25], dtype=object),
    "infinite": float("inf"),
    "dict": {"a": X, "b": 1.5},
    "dict of other keys": {"a": X, "c": 1.5},
    "dict of more keys": {"a": X, "b": 1.5, "c": 2.5},
    "dict of numbers": {1: X, 2: X},
    "dict in another order": {"b": 1.5, "a": X},
    "ordered dict": OrderedDict(a=X, b=1.5),
    "defaultdict": defaultdict(float, {"a": X, "b": 1.5}),
    "deque": deque([X, 1.5]),
    "list": [X, 1.5],
    "tuple": (X, 1.5),
    "named tuple": Pair(X, 1.5),
    "dataclass": Layer(X, "first"),
    "dataclass of another name": Layer(X, "second"),
    "none": (None, X),
    "nothing": (),
}


# A Python bool is treated as NumPy's. Arrays of objects and of other classes are treated as arrays of numbers.
TAKEN_AS: dict[str, Any] = {"bool": np.True_, "subclass": X, "objects": X, "the other byte order": X}


def doubled(x: Any) -> Any:
    return fg.tree.map(lambda leaf: leaf + leaf, x)


def same(got: Any, wanted: Any) -> None:
    assert fg.tree.structure(got) == fg.tree.structure(wanted)
    assert type(got) is type(wanted) or np.ndim(wanted) == 0
    for y, z in zip(fg.tree.leaves(got), fg.tree.leaves(wanted), strict=True):
        np.testing.assert_array_equal(y, z, strict=not isinstance(z, bool | int | float | complex))


@pytest.mark.parametrize("first", KINDS)
def test_each_signature_has_its_program(first: str) -> None:
    jitted = fg.jit(doubled, engine="numpy")
    for second in KINDS:
        for name in (first, second, first):
            same(jitted(KINDS[name]), doubled(TAKEN_AS.get(name, KINDS[name])))


# Ways to call one function. Each is tried after each other one.
CALLS: dict[str, tuple[tuple, dict[str, Any]]] = {
    "positions": ((X, 2.0), {}),
    "a name": ((X,), {"scale": 2.0}),
    "names": ((), {"scale": 2.0, "x": X}),
    "names in another order": ((), {"x": X, "scale": 2.0}),
    "the default": ((X,), {}),
    "another power": ((X, 2.0, 3), {}),
    "a power by its name": ((X, 2.0), {"power": 3}),
    "a power that is no int": ((X, 2.0, 3.0), {}),
    "true for a power": ((X, 2.0, True), {}),
}


def scaled(x: Any, scale: Any = 0.5, power: Any = 2) -> Any:
    return {"y": scale * x**power, "kind": None, "power": np.ones(1) * power}


@pytest.mark.parametrize("options", [{}, {"static_argnums": 2}, {"static_argnames": "power"}], ids=str)
def test_positions_names_defaults_and_static_values(options: dict[str, Any]) -> None:
    jitted = fg.jit(scaled, engine="numpy", **options)
    for first in CALLS.values():
        for second in CALLS.values():
            for args, kwargs in (first, second, first):
                same(jitted(*args, **kwargs), scaled(*args, **kwargs))


def test_methods() -> None:
    class Model:
        def __init__(self, w: float) -> None:
            self.w = w

        @fg.jit(engine="numpy", static_argnums=0)
        def __call__(self, x: Any) -> Any:
            return self.w * x

    one, two = Model(2.0), Model(3.0)
    for model in (one, two, one):
        np.testing.assert_array_equal(model(X), model.w * X)


def results(x: Any, table: np.ndarray) -> tuple[Any, ...]:
    y = np.sin(x)
    return y, y, y[1:], y.reshape(3, 1), x, x[1:], x.reshape(1, 3), table, table[:2], np.broadcast_to(x, (2, 3)), x + 0


def test_results_are_in_memory_of_their_own() -> None:
    table = np.arange(3.0)
    x = X.copy()
    jitted = fg.jit(lambda x: results(x, table), engine="numpy")
    for _ in range(3):
        found = jitted(x)
        for k, (y, wanted) in enumerate(zip(found, results(x, table), strict=True)):
            np.testing.assert_array_equal(y, wanted, strict=True)
            # An argument that the function returns unchanged is the same object.
            assert (y is x) if k == 4 else not np.shares_memory(y, x)
            assert not np.shares_memory(y, table)
            assert y.flags.writeable
            assert not any(np.shares_memory(y, other) for j, other in enumerate(found) if j != k and {j, k} - {4})
        for k, y in enumerate(found):
            if k != 4:
                y[...] = np.nan


def test_a_call_under_a_transform_goes_another_way() -> None:
    jitted = fg.jit(lambda x: np.sum(x**3), engine="numpy")
    assert jitted(X) == np.sum(X**3)
    np.testing.assert_allclose(fg.grad(jitted)(X), 3 * X**2)
    np.testing.assert_allclose(fg.vmap(jitted)(X[:, None]), X**3)
    np.testing.assert_allclose(
        fg.jit(fg.grad(lambda x: jitted(x) * x[0]))(X), 3 * X**2 * X[0] + np.sum(X**3) * np.eye(3)[0]
    )
    np.testing.assert_allclose(fg.grad(lambda x: fg.jit(lambda y: np.sum(x * y), engine="numpy")(X))(X), X)


def test_threads_that_call_with_other_types_at_once() -> None:
    jitted = fg.jit(lambda x: np.exp(x) * 2, engine="numpy")
    given = [np.linspace(0, 1, n).astype(kind) for n in range(1, 9) for kind in (np.float32, np.float64)]
    with ThreadPoolExecutor(8) as pool:
        for got, x in zip(pool.map(jitted, given * 20), given * 20, strict=True):
            np.testing.assert_array_equal(got, np.exp(x) * 2, strict=True)


WARNINGS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "overflow of an array": (lambda x: np.exp(x * 1000), X),
    "overflow of a number": (lambda x: x * x, 1e300),
    "overflow of a narrow number": (lambda x: x * x, np.float32(1e30)),
    "a number divided by zero": (lambda x: 1.0 / x, 0.0),
    "a narrow number divided by zero": (lambda x: x / x, np.float32(0.0)),
    "a sum divided by zero": (lambda x: 1.0 / np.sum(x), X - X),
    "a cast": (lambda x: (x * 1.0).astype(np.float32), 1e300),
    "the cast of an array": (lambda x: x.astype(np.float32), X * 1e300),
    "products of matrices": (lambda x: x @ x.T, np.diag([np.inf, 1.0, 1.0])),
    "a root": (np.sqrt, X),
    "a sum": (np.sum, np.full(3, 1e308)),
    "a power": (lambda x: x**2, X * 1e200),
}


@pytest.mark.parametrize("name", WARNINGS)
def test_warnings_are_numpys(name: str) -> None:
    f, x = WARNINGS[name]
    with np.errstate(all="ignore"):
        x = np.asarray(x) if isinstance(x, np.ndarray) else x
        wanted = f(x if isinstance(x, np.ndarray) else np.asarray(x)[()])
        got = fg.jit(f, engine="numpy")(x)
    np.testing.assert_array_equal(got, wanted, strict=True)
    jitted = fg.jit(f, engine="numpy")
    for _ in range(2):
        with np.errstate(all="raise"), pytest.raises(FloatingPointError):
            jitted(x)


def test_the_source_shows_the_users_lines() -> None:
    def loss(w: Any, x: Any) -> Any:
        return np.sum(np.tanh(x @ w) ** 2)

    jitted: Any = fg.jit(fg.grad(loss), engine="numpy")
    w, x = np.ones((3, 2)), np.ones((4, 3))
    source = jitted.source(w, x)
    assert "test_call.py" in source
    assert "np.sum(np.tanh(x @ w) ** 2)" in source
    compile(source, "<source>", "exec")
    shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in (w, x)]
    assert jitted.source(*shapes) == source


def test_a_traceback_points_into_the_code_and_to_the_users_line() -> None:
    def last(x: Any, i: Any) -> Any:
        return x[i] * 2

    jitted = fg.jit(last, engine="numpy")
    np.testing.assert_array_equal(jitted(X, np.array([0, 1])), X[:2] * 2)
    with pytest.raises(IndexError) as caught:
        jitted(X, np.array([0, 7]))
    frame = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert frame.filename.startswith("<funcgrad last")
    assert "return x[i] * 2" in linecache.getline(frame.filename, frame.lineno or 0)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_an_array_that_the_function_closes_over_is_what_it_was(engine: str) -> None:
    table = np.arange(3.0)
    jitted = fg.jit(lambda x: x * 2 + table * 3 + table, engine=engine)
    wanted = X * 2 + table * 3 + table
    for _ in range(2):
        np.testing.assert_allclose(jitted(X), wanted)
        table[...] = 100
