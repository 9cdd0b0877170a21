"""``fg.ShapeDtype``: types instead of arrays, for calls that need no numbers."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest

import funcgrad as fg

X = np.ones((3, 4))
TYPE = fg.ShapeDtype((3, 4), np.float64)


def f(params: Any) -> Any:
    return np.sum(params["x"] * 2.0)


def test_what_it_is() -> None:
    assert (TYPE.shape, TYPE.dtype, TYPE.ndim, TYPE.size) == ((3, 4), np.dtype(np.float64), 2, 12)
    assert fg.ShapeDtype([np.int64(3), 4], "f8") == TYPE == pickle.loads(pickle.dumps(TYPE)) == copy.deepcopy(TYPE)
    assert len({TYPE, fg.ShapeDtype(np.array([3, 4]), float), fg.ShapeDtype(12, float)}) == 2
    assert TYPE != (3, 4)
    assert repr(fg.ShapeDtype(2, ml_dtypes.bfloat16)) == "ShapeDtype(bf16[2])"
    assert fg.ShapeDtype(np.array(5), bool).shape == (5,)
    assert fg.ShapeDtype((), complex).size == 1
    assert fg.tree.map(lambda x: x.shape, {"x": TYPE}) == {"x": (3, 4)}
    assert jax.tree.leaves({"x": TYPE}) == [TYPE]
    with pytest.raises(AttributeError, match="Make another one"):
        TYPE.shape = (1,)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_graphs_of_types_are_those_of_arrays(engine: str) -> None:
    assert str(fg.make_graph(f)({"x": TYPE})) == str(fg.make_graph(f)({"x": X}))
    jitted: Any = fg.jit(f, engine=engine)
    graph = jitted.graph({"x": TYPE})
    assert str(graph) == str(jitted.graph({"x": X}))
    assert graph({"x": X}) == 24.0
    jaxs = {"x": jax.ShapeDtypeStruct(X.shape, X.dtype)}
    assert str(fg.make_graph(f)(jaxs)) == str(fg.make_graph(f)({"x": TYPE}))


def test_programs_of_types_are_those_of_arrays() -> None:
    jitted: Any = fg.jit(f)
    assert jitted.lower({"x": TYPE}).as_text() == jitted.lower({"x": X}).as_text()


def test_results_of_black_boxes() -> None:
    y = fg.jit(lambda x: fg.call_numpy(np.sort, TYPE, x))(-X)
    np.testing.assert_array_equal(np.asarray(y), -X)


@pytest.mark.parametrize(
    ("shape", "dtype", "message"),
    [
        (3.5, float, r"shape is 3\.5; needed integers"),
        ((3, "4"), float, "needed integers"),
        (np.ones(2), float, "needed integers"),
        (None, float, "needed integers"),
        (3, None, "dtype is None; needed a dtype of numbers"),
        (3, "U3", "needed a dtype of numbers"),
        (3, object, "needed a dtype of numbers"),
        (3, "float33", "needed a dtype of numbers"),
    ],
)
def test_what_is_no_type_is_refused(shape: Any, dtype: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        fg.ShapeDtype(shape, dtype)


def test_lengths_below_zero_are_refused() -> None:
    with pytest.raises(ValueError, match="needed lengths from 0 on"):
        fg.ShapeDtype((3, -1), float)


@pytest.mark.parametrize("transform", [fg.grad, fg.vmap, fg.jit, lambda f: fg.jit(f, engine="numpy"), lambda f: f])
def test_where_numbers_are_needed_it_is_refused(transform: Any) -> None:
    with pytest.raises(TypeError, match="ShapeDtype"):
        transform(f)({"x": TYPE})
    with pytest.raises(TypeError, match=r"is a ShapeDtype; needed an array .* call the function itself with arrays"):
        fg.jit(f)({"x": TYPE})


def test_types_of_results() -> None:
    def apply(params: Any, x: Any, name: str) -> Any:
        return {"y": params["x"] @ x, "n": 3 if name == "three" else None}

    expected = {"y": fg.ShapeDtype(3, np.float64), "n": fg.ShapeDtype((), np.int64)}
    for given in (TYPE, X, jax.ShapeDtypeStruct((3, 4), np.float64)):
        assert fg.eval_shape(apply, {"x": given}, np.ones(4, np.float32), name="three") == expected
    assert fg.eval_shape(fg.grad(f), {"x": TYPE}) == {"x": TYPE}
    assert fg.eval_shape(lambda key: fg.random.normal(key, (2,)), jax.random.key(0)) == fg.ShapeDtype(2, np.float64)
    with pytest.raises(fg.errors.TracerBoolConversionError, match="under eval_shape"):
        fg.eval_shape(lambda x: x if x > 0 else -x, 1.0)
    with pytest.raises(TypeError, match="eval_shape: an output of <lambda> is a str"):
        fg.eval_shape(lambda x: "text", 1.0)
    with pytest.raises(TypeError, match="eval_shape: f is a float"):
        fg.eval_shape(1.0)  # pyright: ignore[reportArgumentType]  (refused)


def test_graphs_with_static_arguments() -> None:
    def power(x: Any, n: int) -> Any:
        return x**n if n > 0 else x

    for graph in (
        fg.make_graph(power, static_argnums=1)(2.0, 3),
        fg.make_graph(power, static_argnames="n")(2.0, n=3),
        fg.make_graph(power, static_argnums=1, paths=True)(2.0, 3),
    ):
        assert (graph.name, graph(4.0)) == ("power", 64.0)
    with pytest.raises(ValueError, match="make_graph: static_argnums of power has 3, and there is no such argument"):
        fg.make_graph(power, static_argnums=3)
    unhashable: Any = []
    with pytest.raises(ValueError, match="make_graph: a static argument of power is a list, which cannot be hashed"):
        fg.make_graph(power, static_argnums=1)(2.0, unhashable)
