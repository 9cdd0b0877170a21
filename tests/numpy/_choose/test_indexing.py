"""Indexing: NumPy's values, JAX's gradients, and accumulation in linear time."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import NonConcreteBooleanIndexError
from tests.numpy._surface import check_surface, same

ROWS = np.array([2, 0, -1, 2])
COLUMN = np.array([[1], [-2]])
MASK = np.array([True, False, True])

# Each indexes an array of shape (3, 4, 5).
KEYS: dict[str, Any] = {
    "integer": 1,
    "negative integer": -1,
    "numpy integer": np.int32(2),
    "array of no axes": np.array(2),
    "slice": slice(1, None),
    "slice of numpy integers": slice(np.int64(0), np.int64(2)),
    "column": (slice(None), 3),
    "element": (1, 2, 3),
    "reversed": slice(None, None, -1),
    "strided": (slice(None), slice(3, 0, -2), slice(None, None, 3)),
    "empty slice": slice(2, 1),
    "nothing": (),
    "ellipsis": Ellipsis,
    "ellipsis and integer": (..., 2),
    "new axes": (None, 1, None, ..., None),
    "rows": ROWS,
    "list of rows": [0, 0, 2],
    "empty list": [],
    "range of rows": range(0, 3, 2),
    "empty range": range(0),
    "rows of rows": COLUMN,
    "two arrays": (ROWS, COLUMN),
    "array, slice, array": (ROWS, slice(1, 3), COLUMN),
    "array, new axis, array": (ROWS, None, COLUMN),
    "slice and two arrays": (slice(None, None, -1), ROWS, COLUMN),
    "integer, slice, array": (0, slice(1, None), ROWS),
    "integer beside array": (slice(None), 1, ROWS),
    "array, ellipsis, integer": (ROWS, ..., -1),
    "mask": MASK,
    "mask of two axes": np.arange(12).reshape(3, 4) % 3 == 0,
    "mask and array": (MASK, np.array([0, 3])),
    "slice, mask": (slice(None), np.array([True, True, False, True])),
    "ellipsis, mask": (..., np.array([True, True, False, True, False])),
    "true": True,
    "false": False,
    "true beside an array": (True, ROWS, slice(0, 2)),
    "unsigned": ROWS.astype(np.uint8) % 3,
}


def added_at(x: np.ndarray, key: Any, v: np.ndarray) -> np.ndarray:
    """``x`` with ``v`` added to ``x[key]``, an element selected twice receiving twice."""
    y = x.copy()
    np.add.at(y, key, v)
    return y


def on_both_engines(f: Any, *args: np.ndarray) -> list[Any]:
    """Return the results of a function of arrays on NumPy, staged, and compiled by XLA."""
    graph = fg.make_graph(f)(*args)
    with jax.enable_x64(True):
        return [f(*args), graph(*args), jax.jit(graph)(*args)]


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_getitem(key: Any, rng: np.random.Generator) -> None:
    x = rng.normal(size=(3, 4, 5))
    y_bar = rng.normal(size=x[key].shape)

    def f(x: Any, y_bar: Any) -> Any:
        y, pullback = fg.vjp(lambda x: x[key], x)
        return y, pullback(y_bar)[0]

    for y, x_bar in on_both_engines(f, x, y_bar):
        same(y, x[key], 0)
        same(x_bar, added_at(np.zeros_like(x), key, y_bar), 1e-12)


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_at_add(key: Any, rng: np.random.Generator) -> None:
    x, y_bar = rng.normal(size=(2, 3, 4, 5))
    v = rng.normal(size=x[key].shape)

    def f(x: Any, v: Any, y_bar: Any) -> Any:
        y, pullback = fg.vjp(lambda x, v: x.at[key].add(v), x, v)
        return y, *pullback(y_bar)

    for y, x_bar, v_bar in on_both_engines(f, x, v, y_bar):
        same(y, added_at(x, key, v), 1e-12)
        same(x_bar, y_bar, 0)
        same(v_bar, y_bar[key], 0)


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_at_set(key: Any, rng: np.random.Generator) -> None:
    x, y_bar = rng.normal(size=(2, 3, 4, 5))
    v = rng.normal(size=x[key].shape)
    assigned, rest = x.copy(), y_bar.copy()
    assigned[key] = v
    rest[key] = 0

    def f(x: Any, v: Any, y_bar: Any) -> Any:
        y, pullback = fg.vjp(lambda x, v: x.at[key].set(v), x, v)
        return y, *pullback(y_bar)

    for y, x_bar, v_bar in on_both_engines(f, x, v, y_bar):
        same(y, assigned, 0)
        same(x_bar, rest, 0)
        # If several values are assigned to one element, only the value that stays has a derivative.
        same(v_bar, np.where(assigned[key] == v, y_bar[key], 0), 0)


def test_of_two_values_set_in_one_place_the_lost_one_has_no_derivative() -> None:
    _, pullback = fg.vjp(lambda v: np.zeros(3) + fnp.at(np.zeros(3))[[1, 1]].set(v), np.array([5.0, 7.0]))
    np.testing.assert_array_equal(pullback(np.ones(3))[0], [0.0, 1.0])


# Each of x: f64[3, 4] and v: f64[2, 4], beside the same without ``at``.
UPDATES: dict[str, tuple[Any, Any]] = {
    "subtract": (lambda x, v: x.at[1:].subtract(v), lambda m, x, v: m.concatenate([x[:1], x[1:] - v])),
    "multiply": (lambda x, v: x.at[1:].multiply(v), lambda m, x, v: m.concatenate([x[:1], x[1:] * v])),
    "divide": (lambda x, v: x.at[1:].divide(v), lambda m, x, v: m.concatenate([x[:1], x[1:] / v])),
    "power": (lambda x, v: x.at[1:].power(2.0), lambda m, x, v: m.concatenate([x[:1], x[1:] ** 2])),
    "min": (lambda x, v: x.at[1:].min(v), lambda m, x, v: m.concatenate([x[:1], m.minimum(x[1:], v)])),
    "max": (lambda x, v: x.at[1:].max(v), lambda m, x, v: m.concatenate([x[:1], m.maximum(x[1:], v)])),
    "apply": (lambda x, v: x.at[1:].apply(np.sin), lambda m, x, v: m.concatenate([x[:1], m.sin(x[1:])])),
    "get": (lambda x, v: x.at[1:].get(), lambda m, x, v: x[1:]),
    "of one number": (lambda x, v: x.at[[0, 2]].set(1.0), lambda m, x, v: m.where(MASK[:, None], 1.0, x)),
    "of a broadcast value": (
        lambda x, v: x.at[:, 1:].add(v[0, 0]),
        lambda m, x, v: m.concatenate([x[:, :1], x[:, 1:] + v[0, 0]], 1),
    ),
    "of rows": (
        lambda x, v: x.at[[2, 0]].multiply(v),
        lambda m, x, v: m.stack([x[0] * v[1], x[1], x[2] * v[0]]),
    ),
    "of masked elements": (
        lambda x, v: x.at[MASK].multiply(v),
        lambda m, x, v: m.stack([x[0] * v[0], x[1], x[2] * v[1]]),
    ),
}


@pytest.mark.parametrize(("update", "meaning"), UPDATES.values(), ids=UPDATES)
def test_other_updates(update: Any, meaning: Any, rng: np.random.Generator) -> None:
    x, v = rng.uniform(0.5, 2, size=(3, 4)), rng.uniform(0.5, 2, size=(2, 4))
    y, pullback = fg.vjp(update, x, v)
    expected, reference = fg.vjp(lambda x, v: meaning(np, x, v), x, v)
    y_bar = rng.normal(size=y.shape)
    same(y, expected, 1e-12)
    for got, wanted in zip(pullback(y_bar), reference(y_bar), strict=True):
        same(got, wanted, 1e-12)


def test_at_of_a_plain_array_leaves_it_alone() -> None:
    x = np.zeros(3)
    np.testing.assert_array_equal(fnp.at(x)[1].set(2.0), [0, 2, 0])
    np.testing.assert_array_equal(x, 0)


@pytest.mark.parametrize(
    ("update", "error", "message"),
    [
        (lambda x: fnp.at(np.arange(3))[0].set(x[0]), TypeError, "cannot hold it"),
        (lambda x: x[5], IndexError, "out of bounds"),
        (lambda x: x[0, 0], IndexError, "too many indices"),
        (lambda x: x[..., ...], IndexError, "single ellipsis"),
        (lambda x: x[1.0], IndexError, "only integers"),
        (lambda x: x[np.array([1.0])], IndexError, "integer"),
        (lambda x: x["a"], IndexError, "only integers"),
        (lambda x: x[np.array([True, False])], IndexError, "boolean index did not match"),
        (lambda x: x[np.ones((3, 1), bool)], IndexError, "too many indices"),
        (lambda x: x[np.array([0, 7])], IndexError, "out of bounds"),
        (lambda x: len(x[0]), TypeError, "unsized|has no len"),
        (lambda x: list(x[0]), TypeError, "0-d"),
    ],
)
@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_refusals(update: Any, error: type[Exception], message: str, engine: str) -> None:
    x: Any = np.arange(3.0) if engine == "numpy" else jax.numpy.arange(3.0)
    with pytest.raises(error, match=message):
        fg.vjp(update, x)


@pytest.mark.parametrize("key", [5, (0, 0), (slice(None), 0)])
def test_static_indices_are_checked_when_staged(key: Any) -> None:
    with pytest.raises(IndexError):
        fg.make_graph(lambda x: x[key])(np.arange(3.0))


def test_a_mask_without_numbers_is_refused() -> None:
    with pytest.raises(NonConcreteBooleanIndexError, match=r"bool\[3\].*np.where"):
        fg.make_graph(lambda x: x[x > 0])(np.arange(3.0))
    with pytest.raises(NonConcreteBooleanIndexError):
        jax.jit(fg.grad(lambda x: np.sum(x[x > 0])))(np.arange(3.0))


def test_a_mask_with_numbers_is_an_index() -> None:
    got = fg.grad(lambda x: np.sum(x[x > 0] ** 2))(np.array([1.0, -2.0, 3.0]))
    np.testing.assert_array_equal(got, [2, 0, 6])


@pytest.mark.parametrize("position", [0, 2, -1, -3])
def test_a_traced_position(position: int, rng: np.random.Generator) -> None:
    x = rng.normal(size=(3, 4))
    i = np.array(position)
    graph = fg.make_graph(fg.grad(lambda x, i: np.sum(x[i] ** 2)))(x, i)
    expected = np.zeros((3, 4))
    expected[position] = 2 * x[position]
    same(graph(x, i), expected, 1e-12)
    with jax.enable_x64(True):
        same(jax.jit(graph)(x, i), expected, 1e-12)


def test_out_of_bounds_at_run_time_shows_as_nan() -> None:
    with jax.enable_x64(True):
        got = jax.jit(fg.make_graph(lambda x, i: x[i])(np.ones(3), np.array([0, 7])))(np.ones(3), np.array([0, 7]))
    np.testing.assert_array_equal(got, [1.0, np.nan])


def test_iteration_unpacking_and_length() -> None:
    def f(x: Any) -> Any:
        a, b, c = x
        assert len(x) == 3
        return a * b + sum(row[0] for row in x) * c

    x = np.array([[2.0], [3.0], [5.0]])
    np.testing.assert_array_equal(fg.grad(lambda x: f(x)[0])(x), [[8], [7], [15]])


def test_pieces_of_nested_transforms(rng: np.random.Generator) -> None:
    x = rng.normal(size=6)

    def f(x: Any) -> Any:
        return sum(x[i] ** 2 * x[i + 1] for i in range(5)) + np.sum(x[::2] ** 3)

    def whole(x: Any) -> Any:
        return np.sum(x[:-1] ** 2 * x[1:]) + np.sum(np.where(np.arange(6) % 2 == 0, x**3, 0))

    expected = fg.grad(lambda x: np.sum(fg.grad(whole)(x) ** 2))(x)
    for got in on_both_engines(fg.grad(lambda x: np.sum(fg.grad(f)(x) ** 2)), x):
        same(got, expected, 1e-12)


def test_an_array_used_whole_and_in_parts(rng: np.random.Generator) -> None:
    x = rng.normal(size=4)
    for order in itertools.permutations([lambda x: np.sum(x * x), lambda x: x[1] * 3, lambda x: np.sum(x[[0, 0, 2]])]):
        got = fg.grad(lambda x, order=order: sum(part(x) for part in order))(x)
        np.testing.assert_allclose(got, 2 * x + [2, 3, 1, 0])


def test_rows_of_one_array_become_one_concatenation_on_xla() -> None:
    x = np.ones((8, 3))
    graph = fg.make_graph(fg.grad(lambda x: sum(np.sum(x[t] ** 2) for t in range(8))))(x)
    text = str(jax.jit(graph).lower(x).as_text())
    assert text.count("stablehlo.concatenate") == 1
    assert "scatter" not in text
    assert "pad" not in text


def test_a_loop_over_rows_takes_one_buffer() -> None:
    # Each piece of an array of 80 MB fills a buffer in 30 ms or more: 1,000 of them would take half a minute.
    x = np.ones((1000, 10_000))
    got = fg.grad(lambda x: sum(x[t, t] for t in range(1000)))(x)
    assert got.sum() == 1000


SELECTIONS: dict[str, tuple[Any, tuple]] = {
    "take": (lambda m, x: m.take(x, np.array([[0, 5], [7, 0]])), ((3, 4),)),
    "take along an axis": (lambda m, x: m.take(x, np.array([1, 1]), axis=1), ((3, 4),)),
    "take one": (lambda m, x: m.take(x, 2, axis=-1), ((3, 4),)),
    "take, clipped": (lambda m, x: m.take(x, np.array([-3, 9]), axis=0, mode="clip"), ((3, 4),)),
    "take, wrapped": (lambda m, x: m.take(x, np.array([-3, 9]), axis=0, mode="wrap"), ((3, 4),)),
    "the take method": (lambda m, x: x.take(np.array([1, 2]), axis=0), ((3, 4),)),
    "take_along_axis": (lambda m, x: m.take_along_axis(x, np.array([[0, 0], [3, 1], [2, 2]]), 1), ((3, 4),)),
    "take_along_axis, flat": (lambda m, x: m.take_along_axis(x, np.array([5, 0, 5]), None), ((3, 4),)),
    "take_along_axis, broadcast": (lambda m, x: m.take_along_axis(x, np.array([[2, 0]]), 1), ((3, 4),)),
    "compress": (lambda m, x: m.compress(np.array([True, False, True]), x, axis=0), ((3, 4),)),
    "extract": (lambda m, x: m.extract(np.arange(12).reshape(3, 4) % 2 == 0, x), ((3, 4),)),
    "choose": (lambda m, x, y: m.choose(np.array([0, 1, 1]), [x, y]), ((3,), (2, 3))),
    "diag of a vector": (lambda m, x: m.diag(x, 1), ((3,),)),
    "diag of a matrix": (lambda m, x: m.diag(x, -1), ((3, 4),)),
    "diagflat": (lambda m, x: m.diagflat(x), ((2, 2),)),
    "tril": (lambda m, x: m.tril(x, 1), ((2, 3, 4),)),
    "triu": (lambda m, x: m.triu(x, -1), ((3, 4),)),
}


# The functions of jax.numpy for those that it does not compile.
COMPILED = {
    "compress": lambda m, x: x[np.array([0, 2])],
    "extract": lambda m, x: x.ravel()[::2],
    "choose": lambda m, x, y: m.choose(np.array([0, 1, 1]), [x, y], mode="clip"),
}


@pytest.mark.parametrize("name", SELECTIONS)
def test_selections(name: str, rng: np.random.Generator) -> None:
    f, shapes = SELECTIONS[name]
    check_surface(f, [rng.normal(size=shape) for shape in shapes], jax_f=COMPILED.get(name))


def test_a_vector_has_triangles(rng: np.random.Generator) -> None:
    # jax.numpy takes matrices only.
    check_surface(lambda m, x: m.tril(x), [rng.normal(size=3)], jax_f=lambda m, x: m.tril(m.broadcast_to(x, (3, 3))))


@pytest.mark.parametrize("name", ["nonzero", "flatnonzero", "argwhere"])
def test_positions_are_plain_arrays(name: str) -> None:
    x = np.array([[0.0, 2.0], [3.0, 0.0]])
    seen: list[Any] = []
    fg.grad(lambda x: (seen.append(getattr(np, name)(x)), np.sum(x))[1])(x)
    np.testing.assert_array_equal(seen[0], getattr(np, name)(x))


def test_a_mask_of_nothing() -> None:
    """NumPy takes it for any length."""
    x, mask = np.ones((2, 3)), np.zeros(0, bool)
    assert x[mask].shape == (0, 3)
    for under in (lambda f: fg.vjp(f, x)[0], lambda f: fg.jit(f)(x)):
        assert under(lambda x: x[mask]).shape == (0, 3)
        np.testing.assert_array_equal(under(lambda x: fnp.at(x)[mask].set(5.0)), x)


@pytest.mark.parametrize("index", [([[]], [[]]), [], [[]], (slice(None), [[]])], ids=str)
def test_lists_without_elements_are_integers(index: Any) -> None:
    x = np.arange(12.0).reshape(3, 4)
    assert fg.grad(lambda x: np.sum(x[index]))(x).shape == x.shape
    for engine in ("numpy", "xla"):
        y = fg.jit(lambda x: x[index], engine=engine)(x)
        assert (y.shape, y.dtype) == (x[index].shape, x.dtype)
