"""Gradients that are known in some rows: produced by embeddings, taken by ``sgd_update``."""

from __future__ import annotations

import re
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import nn
from funcgrad.sparse import Rows

TABLE = np.arange(12.0).reshape(4, 3)
IDS = np.array([[1, 3], [1, 0]])
ROWS = Rows(np.array([3, 0, 3]), np.arange(9.0).reshape(3, 3), (4, 3))


def loss(table: Any, sparse_grad: bool = True) -> Any:
    once = nn.embedding(table, IDS, sparse_grad=sparse_grad)
    return np.sum(once**2) + np.sum(nn.embedding(table, np.array([2]), sparse_grad=sparse_grad))


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_rows_for_each_element_of_a_batch(engine: Any) -> None:
    def of_row(table: Any, ids: Any, sparse_grad: bool) -> Any:
        return np.sum(nn.embedding(table, ids, sparse_grad=sparse_grad) ** 2)

    def gradients(sparse_grad: bool) -> Any:
        one = fg.grad(lambda table, ids: of_row(table, ids, sparse_grad))
        return fg.jit(fg.vmap(one, (None, 0)), engine=engine)(TABLE, np.array([[1, 3], [1, 1], [0, 2]]))

    np.testing.assert_allclose(gradients(True).todense(), gradients(False))


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit, jax.jit], ids=["eager", "fg.jit", "jax.jit"])
def test_the_gradient_of_an_embedding(transform: Any) -> None:
    found = transform(fg.grad(loss))(TABLE)
    assert type(found) is Rows
    assert sorted(np.asarray(found.indices).tolist()) == [0, 1, 1, 2, 3]
    np.testing.assert_allclose(found.todense(), fg.grad(lambda table: loss(table, sparse_grad=False))(TABLE))


@pytest.mark.parametrize(
    "f",
    [
        lambda table: loss(table) + np.sum(table),
        lambda table: loss(2 * table),
        lambda table: loss(table) + np.sum(table[1]),
        fg.jit(loss),
    ],
    ids=["used whole", "computed", "indexed", "inside jit"],
)
def test_what_is_not_rows_alone_is_dense(f: Any) -> None:
    found = fg.grad(f)(TABLE)
    assert type(found) is np.ndarray or isinstance(found, jax.Array)
    expected = fg.jacfwd(f)(TABLE)
    np.testing.assert_allclose(found, expected)
    out, pullback = fg.vjp(f, TABLE)
    np.testing.assert_allclose(pullback(np.ones_like(out))[0], expected)


@pytest.mark.parametrize(
    "options",
    [{}, {"maximize": True}, {"momentum": 0.9}, {"momentum": 0.9, "dampening": 0.5, "maximize": True}],
    ids=str,
)
@pytest.mark.parametrize("update", [fg.sgd_update, fg.jit(fg.sgd_update), fg.jit(fg.sgd_update, engine="numpy")])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_numbers_equal_the_dense_rule(options: dict[str, Any], update: Any, dtype: str) -> None:
    table = TABLE.astype(dtype)
    rows = Rows(ROWS.indices, ROWS.values.astype(dtype), ROWS.shape)
    found, expected = table, table
    state = other = fg.sgd_init(table, lr=0.1, **options)
    for _ in range(3):
        found, state = update(rows, state, found)
        expected, other = fg.sgd_update(rows.todense(), other, expected)
    assert found.dtype == table.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype == "float32" else 1e-12)
    np.testing.assert_array_equal(table, TABLE.astype(dtype))


@pytest.mark.parametrize("weight_decay", [0.1, np.float64(0)], ids=str)
@pytest.mark.parametrize("update", [fg.sgd_update, fg.jit(fg.sgd_update), jax.jit(fg.sgd_update)])
@pytest.mark.parametrize("options", [{}, {"momentum": 0.9}, {"master_dtype": "float64"}], ids=str)
def test_weight_decay_is_refused_compiled_or_not(options: dict[str, Any], update: Any, weight_decay: Any) -> None:
    """A weight decay that is data may be 0 now and another number at the next step, so it is refused too."""
    params = {"table": TABLE.astype("float32")}
    state = fg.sgd_init(params, lr=0.1, weight_decay=weight_decay, **options)
    with pytest.raises(
        fg.errors.HyperparameterError, match=r"params\['table'\].*weight_decay option is not compatible with sparse"
    ):
        update({"table": Rows(ROWS.indices, ROWS.values.astype("float32"), ROWS.shape)}, state, params)


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        (Rows(np.array([0, 4]), np.ones((2, 3)), (4, 3)), IndexError, "row 4, out of bounds for f64[4,3]"),
        (Rows(np.array([-1]), np.ones((1, 3)), (4, 3)), IndexError, "row -1, out of bounds"),
        (Rows(np.array([0]), np.ones(3), (4, 3)), fg.errors.TreeMismatchError, "values f64[3]; needed"),
        (Rows(np.array([0.0]), np.ones((1, 3)), (4, 3)), fg.errors.TreeMismatchError, "indices f64[1]"),
        (Rows([0], [[1.0, 1.0, 1.0]], (4, 3)), fg.errors.TreeMismatchError, "are list and list; needed arrays"),
        (Rows(np.array([0]), np.ones((1, 3)), (5, 3)), fg.errors.TreeMismatchError, "needed rows of f64[4,3]"),
    ],
    ids=["bounds", "negative", "rank", "floats", "lists", "shape"],
)
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_rows_that_do_not_fit(rows: Rows, error: Any, message: str, momentum: float) -> None:
    table = TABLE.copy()
    with pytest.raises(error, match=rf"params\['t'\].*{re.escape(message)}"):
        fg.sgd_update({"t": rows}, fg.sgd_init({"t": table}, lr=0.1, momentum=momentum), {"t": table})
    np.testing.assert_array_equal(table, TABLE)


def test_in_place_under_donation() -> None:
    """The compiled step holds no second table."""
    table = jax.numpy.zeros((10_000, 64), np.float32)
    rows = Rows(np.arange(100), np.ones((100, 64), np.float32), table.shape)
    state = fg.sgd_init(table, lr=0.1)
    step: Any = fg.jit(fg.sgd_update, donate_argnums=(1, 2))
    compiled = step.lower(rows, state, table).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < 0.1 * table.nbytes
    assert compiled.memory_analysis().alias_size_in_bytes >= table.nbytes


@pytest.mark.parametrize(
    ("ids", "error"), [(np.array([4]), IndexError), (np.array([-1]), IndexError), (0.5, TypeError)]
)
def test_ids_that_do_not_fit(ids: Any, error: Any) -> None:
    with pytest.raises(error, match="embedding: "):
        nn.embedding(TABLE, ids)


def test_rows_that_do_not_fit_are_refused_when_made() -> None:
    with pytest.raises(fg.errors.TreeMismatchError, match=r"Rows: the values have shape \(1, 3\) .* needed \(2, 3\)"):
        Rows(np.array([0, 1]), np.ones((1, 3)), (2, 3))
    with pytest.raises(fg.errors.TreeMismatchError, match="Rows"):
        Rows(np.array([0, 1]), np.ones(3), (2, 3)).todense()
