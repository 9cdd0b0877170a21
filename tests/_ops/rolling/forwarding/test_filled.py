"""Arrays that are filled row by row: reads get the rows, as `forwarded` finds them one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.graph.simplify import drop_dead
from funcgrad._ops.rolling.forwarding.filled import filled
from funcgrad._ops.rolling.forwarding.forward import forwarded
from funcgrad._ops.rolling.table import Table
from tests._ops.rolling._rolled import assert_rolls

X = np.linspace(0.1, 0.9, 24)
ROWS = np.linspace(-1.0, 1.0, 72).reshape(24, 3)


def recurrence(x: Any, a: Any) -> Any:
    y = np.zeros(24, like=x)
    y[0] = x[0]
    for t in range(1, 24):
        y[t] = np.tanh(a * y[t - 1] + x[t])
    return np.sum(y**2)


def two_arrays(x: Any, a: Any) -> Any:
    c, d = np.zeros(24, like=x), np.zeros(24, like=x)
    c[0], d[0] = x[0], x[1] * a
    for t in range(1, 24):
        c[t] = x[t] / (2.0 - c[t - 1])
        d[t] = (x[t] - d[t - 1]) * c[t]
    for t in range(22, -1, -1):
        d[t] = d[t] - c[t] * d[t + 1]
    return d, c[-1]


def rows_before_the_first_write(x: Any, a: Any) -> Any:
    y = x.copy()
    for t in range(2, 24):
        y[t] = a * y[t - 1] - y[t - 2] + y[t]
    return y, y[0], y[1], y[23]


def a_part_of_the_rows(x: Any, a: Any) -> Any:
    y = x * 2.0
    for t in range(20, 3, -2):
        y[t] = y[t] * a
    return y


def numbers_and_copies(x: Any, a: Any) -> Any:
    y = np.zeros(24, like=x)
    y[0] = 1.5
    for t in range(1, 24):
        y[t] = y[t - 1] if t % 2 else y[t - 1] * a
    return y + x


def rows_of_several_numbers(x: Any, a: Any) -> Any:
    rows = np.reshape(np.concatenate([x, x, x]), (24, 3))
    y = np.empty((24, 3), like=x)
    y[0] = rows[0]
    for t in range(1, 24):
        y[t] = a * y[t - 1] + rows[t][::-1]
    return y, y[-1, 0]


def written_twice(x: Any, a: Any) -> Any:
    y = np.zeros(24, like=x)
    for t in range(24):
        y[t] = x[t] * a
        y[t] = y[t] + 1.0
    return y


def a_few_writes_beside(x: Any, a: Any) -> Any:
    y, z = np.zeros(24, like=x), np.zeros(3, like=x)
    z[1] = x[1] * a
    for t in range(24):
        y[t] = x[t] * z[1] + (y[t - 1] if t else z[0])
    return y, z


def arrays_of_an_inner_loop(x: Any, a: Any) -> Any:
    total = 0.0
    for k in range(6):
        y = np.zeros(8, like=x)
        y[0] = x[k]
        for t in range(1, 8):
            y[t] = y[t - 1] * a + x[t]
        total = total + np.sum(y * y)
    return total


def one_number_for_a_row(x: Any, a: Any) -> Any:
    y = np.zeros((24, 3), like=x)
    for t in range(24):
        y[t] = x[t] * a if t % 2 else 0.5
    return y


FOLLOWED = (
    recurrence,
    two_arrays,
    rows_before_the_first_write,
    a_part_of_the_rows,
    numbers_and_copies,
    rows_of_several_numbers,
    written_twice,
    a_few_writes_beside,
    arrays_of_an_inner_loop,
    one_number_for_a_row,
)


def a_version_before_the_last(x: Any, a: Any) -> Any:
    y = np.zeros(24, like=x)
    total = 0.0
    for t in range(24):
        y[t] = x[t] * a
        if t == 11:
            total = np.sum(y)
    return y, total


def two_versions(x: Any, a: Any) -> Any:
    y = x.copy()
    y[0] = x[1] * a
    z = y.copy()
    for t in range(1, 24):
        y[t] = y[t - 1] * a
        z[t] = z[t - 1] + a
    return y, z


def uneven_rows(x: Any, a: Any) -> Any:
    y = x.copy()
    for t in (1, 2, 4, 8, 16):
        y[t] = y[t - 1] * a
    return y


def columns(x: Any, a: Any) -> Any:
    y = np.zeros((3, 24), like=x)
    for t in range(24):
        y[:, t] = x[t] * a
    return y


def sums_of_rows(x: Any, a: Any) -> Any:
    return fg.grad(lambda x: np.sum(np.stack([x[t] * x[t - 1] * a for t in range(24)])))(x)


LEFT = (a_version_before_the_last, two_versions, uneven_rows, columns)


def parts_of(f: Callable[..., Any]) -> tuple[Any, Any]:
    graph = fg.make_graph(f)(X, 0.5)
    graph = drop_dead(graph)
    return graph, filled(graph, Table(graph.equations, graph.outputs))


@pytest.mark.parametrize("f", FOLLOWED, ids=lambda f: f.__name__)
def test_reads_of_rows_get_the_rows(f: Callable[..., Any]) -> None:
    graph, found = parts_of(f)
    short, _ = found
    fg.extend.check_graph(short)
    for args in ((X, 0.5), (-X, np.nan), (X * 0.0, -0.0)):
        for a, b in zip(graph.evaluate(*args), short.evaluate(*args), strict=True):
            assert np.asarray(a).tobytes() == np.asarray(b).tobytes()
    # Each equation that is left is one of those that are found one by one.
    one_by_one = forwarded(graph)
    assert sorted(str(each.primitive) for each in drop_dead(short).equations) == sorted(
        str(each.primitive) for each in one_by_one.equations
    )
    writes = [each for each in short.equations if each.primitive.name == "scatter_set"]
    assert len(writes) <= 1


@pytest.mark.parametrize("f", FOLLOWED, ids=lambda f: f.__name__)
def test_the_table_is_that_of_the_program(f: Callable[..., Any]) -> None:
    _, (short, table) = parts_of(f)
    expected = Table(short.equations, short.outputs)
    assert tuple(table.equations) == short.equations
    np.testing.assert_array_equal(table.starts, expected.starts)
    assert table.size == expected.size
    assert table.width == expected.width
    for a, b in zip((*table.operands, *table.outputs), (*expected.operands, *expected.outputs), strict=True):
        assert table.value(int(a)) is expected.value(int(b))
        assert table.aval(int(table.types[a])) == expected.aval(int(expected.types[b]))
    for k in range(table.size):
        assert (table.types[k] < 0) == (expected.types[k] < 0)
        assert table.types[k] < 0 or table.aval(int(table.types[k])) == expected.aval(int(expected.types[k]))
    reads, again = table.reads, expected.reads
    np.testing.assert_array_equal(reads.equations, again.equations)
    assert [table.value(k) for k in reads.bases.tolist()] == [expected.value(k) for k in again.bases.tolist()]
    for a, b in zip(reads.numbers.tolist(), again.numbers.tolist(), strict=True):
        assert (a < 0) == (b < 0)
        assert a < 0 or table.parts[a] == expected.parts[b]
    np.testing.assert_array_equal(table.live(), expected.live())
    all_of_them = np.ones(len(short.equations), bool)
    kinds, same = table.kinds(all_of_them), expected.kinds(all_of_them)
    np.testing.assert_array_equal(kinds[:, None] == kinds, same[:, None] == same)


@pytest.mark.parametrize("f", LEFT, ids=lambda f: f.__name__)
def test_other_updates_are_left(f: Callable[..., Any]) -> None:
    assert parts_of(f)[1] is None


@pytest.mark.parametrize("f", [*FOLLOWED, *LEFT, sums_of_rows], ids=lambda f: f.__name__)
def test_numbers_stay_the_same(f: Callable[..., Any]) -> None:
    assert_rolls(f, X, 0.5, most=200)


@pytest.mark.parametrize("f", FOLLOWED, ids=lambda f: f.__name__)
def test_gradients_stay_the_same(f: Callable[..., Any]) -> None:
    def loss(x: Any, a: Any) -> Any:
        return sum(np.sum(each**2) for each in fg.tree.leaves(f(x, a)))

    assert_rolls(fg.value_and_grad(loss, argnums=(0, 1)), X, 0.5, most=2000)
