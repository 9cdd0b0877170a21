"""Methods of every ufunc of two operands, beside NumPy's own."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import UnsupportedFunctionError
from tests.numpy._surface import same

OF: Any = np
FLOATS = ("add", "subtract", "multiply", "divide", "hypot", "fmax", "fmin", "maximum", "minimum", "fmod", "copysign")
MORE = ("logaddexp", "logaddexp2", "remainder", "floor_divide", "heaviside", "logical_xor", "logical_and", "nextafter")
INTEGERS = ("bitwise_and", "bitwise_or", "bitwise_xor", "add", "subtract", "multiply", "left_shift", "floor_divide")
CONSTANT = ("nextafter", "floor_divide", "heaviside", "logical_xor", "logical_and")


def runs(f: Any, x: np.ndarray) -> list[Any]:
    """The value by each way there is."""
    return [fg.make_graph(f)(x)(x), fg.jit(f)(x), fg.jit(f, engine="numpy")(x), fg.vmap(f)(np.stack([x, x]))[1]]


@pytest.mark.parametrize("name", [*FLOATS, *MORE])
def test_of_floats(name: str, rng: np.random.Generator) -> None:
    ufunc, x = getattr(OF, name), rng.uniform(0.3, 2, (3, 4)) * rng.choice([-1, 1], (3, 4))
    calls = {
        "reduce": lambda x: ufunc.reduce(x),
        "reduce along": lambda x: ufunc.reduce(x, axis=1, keepdims=True),
        "accumulate": lambda x: ufunc.accumulate(x, -1),
        "reduceat": lambda x: ufunc.reduceat(x, [0, 1, 2], axis=1),
        "reduceat anyhow": lambda x: ufunc.reduceat(x, [1, 3, 0, 0, 2], axis=1),
    }
    if name in {"add", "multiply", "maximum", "fmin"}:
        calls["initial"] = lambda x: ufunc.reduce(x, axis=0, initial=0.5)
        calls["all"] = lambda x: ufunc.reduce(x, axis=(0, 1))
    for f in calls.values():
        for y in runs(f, x):
            same(y, np.asarray(f(x)), 1e-13)
        if name not in CONSTANT:
            fg.check_grads(f, (x,), order=1)
    same(fg.make_graph(calls["reduce"])(x[:1])(x[:1]), calls["reduce"](x[:1]), 0)


@pytest.mark.parametrize("name", list(INTEGERS))
def test_of_integers(name: str, rng: np.random.Generator) -> None:
    ufunc = getattr(OF, name)
    for dtype in (np.int64, np.int8, bool):
        x = rng.integers(1, 4, (2, 4)).astype(dtype)
        for f in (
            lambda x: ufunc.reduce(x, 1),
            lambda x: ufunc.accumulate(x, 1),
            lambda x: ufunc.reduceat(x, [0, 2], 1),
        ):
            try:
                expected = f(x)
            except TypeError:
                # NumPy subtracts no booleans.
                continue
            for y in runs(f, x):
                same(y, expected, 0)
    x = np.zeros((2, 0), int)
    if ufunc.identity is not None:
        same(fg.make_graph(lambda x: ufunc.reduce(x, 1))(x)(x), ufunc.reduce(x, 1), 0)


def test_into_arrays_and_dtypes(rng: np.random.Generator) -> None:
    x = rng.uniform(0.5, 2, (2, 3))

    def written(x: Any) -> Any:
        y = np.zeros_like(x, shape=3)
        np.subtract.reduce(x, out=y)
        return y + np.divide.accumulate(x, dtype=np.float32)[1]

    same(fg.make_graph(written)(x)(x), written(x), 1e-6)
    assert fg.make_graph(lambda x: np.subtract.reduce(x, dtype=np.float32))(x)(x).dtype == np.float32
    whole = np.array([6, 3, 2])
    same(fg.make_graph(lambda x: np.divide.reduce(x))(whole)(whole), np.asarray(np.divide.reduce(whole)), 0)


def test_what_is_reduced_by_nothing_is_new() -> None:
    x = np.array([[1.0, 2.0, 3.0]])
    for f in (
        lambda x: np.fmin.reduce(x),
        lambda x: np.subtract.reduce(x, keepdims=True),
        lambda x: np.fmax.reduce(x, ()),
    ):
        y = fg.vjp(f, x)[0]
        same(y, f(x), 0)
        assert not np.shares_memory(x, y)


def test_mistakes() -> None:
    x = np.ones((2, 3))
    for error, match, f in (
        (ValueError, "not reorderable", lambda x: np.subtract.reduce(x, axis=None)),
        (ValueError, "no identity", lambda x: np.subtract.reduce(x[:0])),
        (IndexError, "out-of-bounds", lambda x: np.add.reduceat(x, [0, 2])),
        (UnsupportedFunctionError, "compare results", lambda x: np.less.reduce(x)),
        (UnsupportedFunctionError, "depends on the processor", lambda x: np.power.reduce(x)),
        (UnsupportedFunctionError, "where", lambda x: np.hypot.reduce(x, where=x > 0, initial=0)),
    ):
        with pytest.raises(error, match=match):
            fg.make_graph(f)(x)


def test_parts_of_vectors() -> None:
    x, whole = np.arange(6.0), cast("Any", None)
    for f in (
        lambda x: np.add.reduceat(x, [0, 2], axis=whole),
        lambda x: np.maximum.reduceat(x, [3, 1], out=np.zeros(2, like=x)),
        lambda x: np.add.reduceat(x, np.zeros(0, int)),
        lambda x: np.multiply.reduceat(x[:0], np.zeros(0, int)),
    ):
        np.testing.assert_array_equal(fg.jit(f)(x), f(x))
