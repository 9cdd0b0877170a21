"""Integers in functions that follow branches: lengths, indices, and functions whose results are as long as they say."""

from __future__ import annotations

import math
import operator
import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import errors

X = np.array([0.5, -1.0, 2.0, 0.5])
INPUTS = (X, -X, np.array([3.0, 2.0, 2.0, 1.0]), np.array([0.25, 4.0, -1.0, 0.75]))
AWKWARD = (np.array([np.nan, 2.0, np.nan, -0.0]), np.full(4, 5.0), np.array([np.inf, 0.0, -np.inf, 1.0]))


def _as_plain(f: Callable[[Any], Any], inputs: Any, engine: str = "numpy", paths: int = 16) -> None:
    """Compare a compiled function with the plain one: results with their dtypes, exceptions, and gradients."""
    compiled = fg.jit(f, paths=paths, engine=engine)
    slope = fg.jit(fg.grad(_total(f)), paths=paths, engine=engine)
    for x in (*inputs, *inputs):
        try:
            expected = f(x)
        except (ValueError, OverflowError, IndexError) as error:
            with pytest.raises(type(error)):
                compiled(x)
            continue
        for y, z in zip(_leaves(compiled(x)), _leaves(expected), strict=True):
            np.testing.assert_array_equal(y, z)
            assert np.asarray(y).dtype == np.asarray(z).dtype
        np.testing.assert_allclose(slope(x), fg.grad(_total(f))(x), 1e-12)


def _leaves(y: Any) -> list[Any]:
    return list(y) if isinstance(y, tuple) else [y]


def _total(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: sum(np.sum(y * np.cos(np.arange(np.size(y))).reshape(np.shape(y))) for y in _leaves(f(x)))


def _rounded(x: Any) -> Any:
    n = round(x[2])
    rows = [x[i] * i for i in range(math.ceil(abs(x[1])))]
    return x[:n] * n, x[math.floor(x[0])] * math.trunc(x[1]), np.sum(x) + sum(rows), round(x[0], 1) * x[1]


FOLLOWED: dict[str, Callable[[Any], Any]] = {
    "where": lambda x: x[np.where(x > 0.4)] * 2,
    "compress": lambda x: np.compress(x[:3] > 0, x) * np.sum(np.extract(x > 0.4, x)),
    "unique": lambda x: np.unique(x) * 2,
    "places of unique": lambda x: np.unique(x, return_index=True),
    "parts of unique": lambda x: np.unique(np.reshape(x, (2, 2)), return_inverse=True, return_counts=True),
    "all of unique": lambda x: np.unique(x, return_index=True, return_inverse=True, return_counts=True),
    "intersect1d": lambda x: np.intersect1d(x, np.array([2.0, -1.0, 7.0])),
    "intersect1d of unique": lambda x: np.intersect1d(x[1:2], np.array([2.0, -1.0, 7.0]), assume_unique=True),
    "setdiff1d": lambda x: np.setdiff1d(x, np.array([2.0, -1.0])),
    "setdiff1d of unique": lambda x: np.setdiff1d(x, np.array([2.0, -1.0]), assume_unique=True),
    "setxor1d": lambda x: np.setxor1d(x, np.array([2.0, -1.0, 7.0])),
    "union1d": lambda x: np.union1d(x, np.array([2.0, -1.0, 7.0])),
    "repeat": lambda x: np.repeat(x, np.abs(np.sign(np.nan_to_num(x))).astype(int)),
    "bincount": lambda x: x * np.sum(np.bincount(np.argsort(x)[:2], x[:2])),
    "tolist": lambda x: sum(x[i] * k for k, i in enumerate(np.argsort(x).tolist())),
    "delete": lambda x: np.delete(x, np.argmax(x)),
    "insert": lambda x: np.insert(x, np.argmin(x), x[0] * 2),
    "trim_zeros": lambda x: np.trim_zeros(np.where(x > 0.4, x, 0.0)),
    "digitize": lambda x: x[np.digitize(0.3, np.sort(x)) - 1] * 2,
}


@pytest.mark.parametrize("name", FOLLOWED)
def test_lengths_that_follow_from_numbers(name: str) -> None:
    with np.errstate(invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.PathsWarning)
        _as_plain(FOLLOWED[name], (*INPUTS, *AWKWARD[name == "digitize" :]))


def test_roots_of_a_polynomial() -> None:
    """The guards hold which coefficients are zero, and whether all roots are real."""
    compiled = fg.jit(np.roots, paths=8, engine="numpy")
    for p in ([1.0, -3.0, 2.0], [1.0, 0.0, 1.0], [0.0, 2.0, -4.0], [3.0, 1.0, 0.0], [0.0, 5.0, 0.0], [0.0, 0.0, 7.0]):
        y, expected = compiled(np.array(p)), np.roots(np.array(p))
        np.testing.assert_allclose(np.sort_complex(y), np.sort_complex(expected), 1e-12)
        assert y.dtype == expected.dtype


def test_unique_has_a_path_for_each_count() -> None:
    compiled = fg.jit(lambda x: np.unique(x, return_counts=True), paths=8, engine="numpy")
    for x in (*INPUTS, -INPUTS[2]):
        compiled(x)
    assert compiled.cache_size() == 2


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_rounded_numbers_are_integers(engine: str) -> None:
    """A number of no use as an index leaves no path of its own."""
    _as_plain(_rounded, (*INPUTS, *AWKWARD), engine)
    scaled = fg.jit(lambda x: round(x) * x + math.floor(x), paths=2, engine=engine)
    for x in (0.5, 1.5, 2.5, -7.2, 1e100, np.float64(3.7)):
        assert scaled(x) == round(x) * x + math.floor(x)
    assert scaled.cache_size() <= 4
    with pytest.raises(ValueError, match="cannot convert float NaN to integer"):
        scaled(math.nan)
    assert scaled(4.5) == 22.0


@pytest.mark.parametrize("engine", ["numpy", "numba", "xla"])
def test_integers_of_calls_past_the_last_path(engine: str) -> None:
    """They run eagerly, and are right."""
    if engine == "numba":
        pytest.importorskip("llvmlite")
    slope = fg.jit(fg.grad(lambda x: np.sum(x[: int(x[0])] ** 2)), paths=2, engine=engine)
    inputs = [np.arange(n, n + 5.0) for n in (1, 2, 3, 1, 4)]
    with pytest.warns(errors.PathsWarning, match=r"int\(\) went 2 ways"):
        slopes = [slope(x) for x in inputs]
    for x, y in zip(inputs, slopes, strict=True):
        np.testing.assert_array_equal(y, np.where(np.arange(5) < x[0], 2 * x, 0))


def test_a_refusal_says_why_a_number_is_not_followed() -> None:
    for asked in (float, math.isnan, lambda x: f"{x:.3f}"):
        with pytest.raises(errors.ConcretizationTypeError, match="each number would need a path of its own"):
            fg.jit(lambda x, asked=asked: (asked(x), x)[1], paths=4, engine="numpy")(2.5)


FOLLOWED_BY_PATHS: dict[str, Callable[[Any], Any]] = {
    "a branch": lambda x: x if x[0] > 0 else -x,
    "a mask": lambda x: x[x > 0],
    "nonzero": np.flatnonzero,
    "where": lambda x: np.where(x > 0)[0],
    "unique": np.unique,
    "int": lambda x: x[: int(x[2])],
    "list": lambda x: [1.0, 2.0, 3.0, 4.0][np.argmax(x)] * x,
    "tolist": lambda x: x[np.argsort(x).tolist()[0]],
    "item": lambda x: x[np.argsort(x)[0].item()],
    "roots": np.roots,
    "repeat": lambda x: np.repeat(x, np.argsort(x)),
    "zeros": lambda x: np.zeros(np.argmax(x)) + x[0],
    "checkpoint": fg.checkpoint(lambda x: x if x[0] > 0 else -x),
}


@pytest.mark.parametrize("name", FOLLOWED_BY_PATHS)
def test_jit_names_the_option_that_follows_numbers(name: str) -> None:
    f = FOLLOWED_BY_PATHS[name]
    with pytest.raises(TypeError) as found:
        fg.jit(f, engine="numpy")(X)
    told = f"{found.value}{getattr(found.value, '__notes__', '')}"
    assert re.search(r"Or follow the (branch|numbers?): fg\.jit\(f, paths=8\)\.", told)
    np.testing.assert_array_equal(fg.jit(f, paths=8, engine="numpy")(X), f(X))


def test_jit_does_not_name_it_where_it_refuses_too() -> None:
    for f in (float, lambda x: x.item(), lambda x: np.reshape(x, (1,)).tolist(), lambda x: f"{x:.2f}"):
        with pytest.raises(errors.ConcretizationTypeError) as found:
            fg.jit(lambda x, f=f: (f(x), x)[1], engine="numpy")(2.5)
        assert "paths=8" not in str(found.value)


@pytest.mark.parametrize("transform", [fg.grad, lambda f: fg.jit(f, paths=4, engine="numpy"), fg.jit])
def test_numbers_are_no_keys(transform: Callable[..., Any]) -> None:
    """Two equal numbers would be two elements of a set, and a dictionary would not find one."""
    for f in (lambda x: x[0] * len(set(x)), lambda x: {1.0: 2.0}[x[0]] * x[1]):
        with pytest.raises(errors.ConcretizationTypeError, match=r"hash\(\) was asked of a value f64\[\] at"):
            transform(f)(np.ones(3))


def test_integers_of_a_path_are_keys() -> None:
    table: dict[Any, float] = {0: 10.0, 1: 20.0, 2: 30.0, 3: 40.0}
    looked_up = fg.jit(
        lambda x: table[np.argmax(x)] * x + len({i % 2 for i in np.argsort(x)[:2]}), paths=8, engine="numpy"
    )
    for x in (*INPUTS, *INPUTS):
        expected = table[int(np.argmax(x))] * x + len({int(i % 2) for i in np.argsort(x)[:2]})
        np.testing.assert_array_equal(looked_up(x), expected)


TABLE = np.arange(12.0).reshape(3, 4)
PLAIN_INDEXED: dict[str, Callable[[Any], Any]] = {
    "integers": lambda x: TABLE[np.argsort(x)[:3], 1:] * x[1:],
    "integers beside integers": lambda x: TABLE[np.argmin((TABLE - x) ** 2, axis=0), np.arange(4)] * x,
    "mask": lambda x: np.sum(TABLE[:, x > 0]) * x,
    "number": lambda x: TABLE[0][np.argmax(x)] * x,
    "in a tuple": lambda x: TABLE[np.argmax(x) % 3, np.argmin(x)] * x,
}


@pytest.mark.parametrize("engine", ["numpy", "xla"])
@pytest.mark.parametrize("name", PLAIN_INDEXED)
def test_a_plain_array_is_indexed(name: str, engine: str) -> None:
    """NumPy asks an index for one number first, and then for an array."""
    _as_plain(PLAIN_INDEXED[name], INPUTS, engine)


def test_a_question_to_an_array_raises_on_every_path() -> None:
    """A new path begins with the answers of the call before; an array with axes has none of them."""

    def f(x: Any) -> Any:
        ranks = np.argsort(x)
        try:
            first = operator.index(ranks)
        except TypeError:
            first = int(ranks[0])
        return x * first

    _as_plain(f, INPUTS)


def test_long_indices_of_plain_arrays_are_refused() -> None:
    table = np.arange(100.0)
    with pytest.raises(errors.TracerArrayConversionError, match=r"Write funcgrad\.numpy\.take"):
        fg.jit(lambda x: table[np.argsort(x)] * x, paths=8)(np.arange(100.0))
    with pytest.raises(errors.TracerArrayConversionError, match=r"so that it is traced too\. Or follow.*paths=8"):
        fg.jit(lambda x: TABLE[np.argmax(x)] * x)(X)
