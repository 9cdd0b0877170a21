"""Calls that NumPy refuses are refused of traced values too, by the class of its error; and what plain places mean."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp

X, M = np.array([0.3, 0.5, 0.9]), np.arange(6.0).reshape(2, 3)
# NumPy, whose stubs refuse these too.
UNTYPED: Any = np
REFUSED: dict[str, Callable[[Any], Any]] = {
    "nanargmax of NaN": lambda x: UNTYPED.nanargmax(x * UNTYPED.nan),
    "nanargmin of a row of NaN": lambda x: UNTYPED.nanargmin(UNTYPED.stack([x, x * UNTYPED.nan]), axis=1),
    "i0 of complex": lambda x: UNTYPED.i0(x * 1j),
    "a short sorter": lambda x: UNTYPED.searchsorted(x, x, sorter=UNTYPED.array([0, 1])),
    "a sorter of floats": lambda x: UNTYPED.searchsorted(x, x, sorter=UNTYPED.array([0.0, 1.0, 2.0])),
    "a side": lambda x: UNTYPED.searchsorted(x, x, side="middle"),
    "weights below zero": lambda x: UNTYPED.cov(x, fweights=[-1, 1, 1]),
    "a place beyond the end": lambda x: UNTYPED.partition(x, 5),
    "a place before the beginning": lambda x: UNTYPED.argpartition(x, -4),
    "a place between two": lambda x: UNTYPED.partition(x, 1.5),
    "an initial array": lambda x: UNTYPED.max(x, initial=(0, 0)),
    "an axis between two": lambda x: UNTYPED.cumsum(UNTYPED.stack([x, x]), axis=0.5),
    "a fraction above 1": lambda x: UNTYPED.quantile(x, x * 3),
    "a fraction of complex": lambda x: UNTYPED.quantile(x * 1j, 0.5),
    "more lengths than axes": lambda x: UNTYPED.fft.fftn(x, (2, 2), axes=(-2, -1)),
    "a matrix of one axis": lambda x: UNTYPED.vecmat(x, x),
    "vectors of two axes": lambda x: UNTYPED.linalg.outer(x, x[:, None]),
    "a cast that is not safe": lambda x: UNTYPED.clip(x, 0, 1, dtype=UNTYPED.float32, casting="safe"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_numpy_refuses(case: str) -> None:
    call = REFUSED[case]
    with pytest.raises((TypeError, ValueError, IndexError)) as info:
        call(X)
    kind = next(each for each in (IndexError, TypeError, ValueError) if isinstance(info.value, each))
    with pytest.raises(kind):
        fg.grad(lambda x: np.sum(x) + 0 * np.sum(np.real(call(x))))(X)


def test_places_in_arrays_that_take_traced_values() -> None:
    """`insert` and `delete` read places from such an array; NumPy's own found ours again, without end."""

    def moved(x: Any) -> Any:
        places = fnp.array([0, 2])
        y = np.insert(x, places, x[:2] * 2)
        return np.sum(np.delete(y, places[:1]) * np.arange(4.0))

    np.testing.assert_array_equal(fg.grad(moved)(X), fg.grad(lambda x: x[0] * 0 + x[1] + 4 * x[1] + 3 * x[2])(X))
    with fg.intercept():
        fg.grad(lambda x: np.sum(np.insert([1, 2, 3], 0, 0)) * np.sum(x))(X)
        assert fg.grad(lambda x: np.sum(np.insert(x, [], [])))(X).tolist() == [1.0, 1.0, 1.0]


def test_arguments_that_were_missing() -> None:
    missing = np.array([0.3, np.nan, 0.9])
    for name in ("nanstd", "nanvar"):
        function = getattr(np, name)
        expected = function(missing, mean=np.array([0.5]))
        y, slope = fg.value_and_grad(lambda x, f=function: f(x, mean=np.array([0.5])))(missing)
        np.testing.assert_allclose(y, expected, rtol=1e-15)
        assert slope[1] == 0
    for options in ({"casting": "unsafe"}, {"dtype": np.float32}, {"order": "C"}):
        y = fg.jit(lambda x, o=options: UNTYPED.clip(x, 0.4, 0.8, **o), engine="numpy")(X)
        np.testing.assert_array_equal(y, UNTYPED.clip(X, 0.4, 0.8, **options), strict=True)
    assert fg.grad(lambda x: np.sum(np.conjugate(x, np.empty_like(x))))(X).tolist() == [1.0] * 3
    joined = fg.grad(lambda x: np.sum(np.concatenate([x, x * x], axis=None, out=np.empty(6, like=x))))(X)
    np.testing.assert_allclose(joined, 1 + 2 * X)
    assert fg.grad(lambda m: fnp.sum(a=m) + fnp.trace(a=m) + np.sum(fnp.diagonal(a=m)))(M)[0].tolist() == [3, 1, 1]


def test_the_sign_of_a_singular_determinant_has_no_derivative() -> None:
    zero = np.zeros((2, 2))
    np.testing.assert_array_equal(fg.grad(lambda a: np.linalg.slogdet(a)[0])(zero), zero)
    with pytest.raises(np.linalg.LinAlgError, match="Singular"):
        fg.grad(lambda a: np.linalg.slogdet(a)[1])(zero)


@pytest.mark.parametrize("engine", ["xla", "numpy"])
def test_a_compiled_program_marks_a_row_of_nan_alone(engine: str) -> None:
    rows = np.array([[1.0, np.nan, 3.0], [np.nan, np.nan, np.nan]])
    np.testing.assert_array_equal(fg.jit(lambda x: np.nanargmax(x, axis=1), engine=engine)(rows), [2, -1])
    least = fg.jit(lambda x: np.nanargmin(x, axis=1, keepdims=True), engine=engine)(rows)
    np.testing.assert_array_equal(least, [[0], [-1]])
    assert least.dtype == np.intp
