"""A function that catches an error of an operation goes another way for other numbers, and paths follow it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import PathsWarning

GOOD = np.array([[2.0, 0.5], [0.5, 1.0]])
INDEFINITE = np.array([[1.0, 2.0], [2.0, 1.0]])
SINGULAR = np.array([[1.0, 2.0], [2.0, 4.0]])


def factor(k: Any) -> Any:
    try:
        low = np.linalg.cholesky(k)
    except np.linalg.LinAlgError:
        return 100 * np.sum(k)
    return np.sum(low)


def definite(k: Any) -> Any:
    try:
        np.linalg.cholesky(k)
        sign = 1.0
    except np.linalg.LinAlgError:
        sign = -1.0
    return sign * np.sum(k)


def more_and_more(k: Any) -> Any:
    added = 0.0
    while True:
        try:
            low = np.linalg.cholesky(k + added * np.eye(2))
            break
        except np.linalg.LinAlgError:
            added = 2 * added + 1.5
    return np.sum(np.log(np.diag(low))) + added


def solution(k: Any) -> Any:
    try:
        return np.sum(np.linalg.solve(k, np.ones(2)))
    except np.linalg.LinAlgError:
        return 7 * np.sum(k)


def inverse(k: Any) -> Any:
    try:
        return np.sum(np.linalg.inv(k))
    except np.linalg.LinAlgError:
        return 7 * np.sum(k)


def overflow(k: Any) -> Any:
    with np.errstate(over="raise"):
        try:
            return np.sum(np.exp(400 * k[0, 1] * k))
        except FloatingPointError:
            return 3 * np.sum(k)


def warning(k: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.sum(1 / (k - 1))
        except RuntimeWarning:
            return 3 * np.sum(k)


def doubled(k: np.ndarray) -> np.ndarray:
    if k[0, 0] < 1.5:
        raise ValueError("too small")
    return 2 * k


def python(k: Any) -> Any:
    try:
        return np.sum(fg.call_numpy(doubled, fg.ShapeDtype((2, 2), np.float64), k))
    except ValueError:
        return 3 * np.sum(k)


FUNCTIONS = [factor, definite, more_and_more, solution, inverse, overflow, warning, python]
ORDERS = [(GOOD, INDEFINITE, SINGULAR, GOOD, SINGULAR), (INDEFINITE, GOOD, GOOD, SINGULAR), (SINGULAR, GOOD, SINGULAR)]


@pytest.mark.filterwarnings("ignore::funcgrad.errors.PathsWarning")
@pytest.mark.parametrize("f", FUNCTIONS)
@pytest.mark.parametrize("engine", ["numpy", "numba", "xla"])
def test_an_error_that_is_caught_belongs_to_the_numbers(engine: str, f: Callable[..., Any]) -> None:
    if f is overflow:
        # 1e-3 * K does not overflow.
        np.testing.assert_allclose(fg.jit(f, engine=engine, paths=8)(0.001 * GOOD), f(0.001 * GOOD))
    for order in ORDERS:
        compiled = fg.jit(f, engine=engine, paths=8)
        for k in order:
            np.testing.assert_allclose(compiled(k), f(k), rtol=1e-12)
    if f is python:
        return
    compiled, inner = fg.jit(fg.grad(f), engine=engine, paths=8), fg.grad(fg.jit(f, engine=engine, paths=8))
    for k in (GOOD, INDEFINITE, GOOD):
        expected = fg.grad(f)(k)
        np.testing.assert_allclose(compiled(k), expected, rtol=1e-12)
        np.testing.assert_allclose(inner(k), expected, rtol=1e-12)


@pytest.mark.parametrize("engine", ["numpy", "numba", "xla"])
def test_an_error_that_is_not_caught_is_raised(engine: str) -> None:
    compiled = fg.jit(lambda k: np.sum(np.linalg.cholesky(k)), engine=engine, paths=4)
    for k in (GOOD, INDEFINITE, GOOD):
        if k is INDEFINITE:
            with pytest.raises(np.linalg.LinAlgError):
                compiled(k)
        else:
            np.testing.assert_allclose(compiled(k), np.sum(np.linalg.cholesky(k)))


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_the_warning_names_the_error(engine: str) -> None:
    compiled = fg.jit(factor, engine=engine, paths=4)
    with pytest.warns(PathsWarning, match=r"it caught a LinAlgError of cholesky at .*np.linalg.eigvalsh"):
        compiled(INDEFINITE)
    np.testing.assert_allclose(compiled(GOOD), factor(GOOD))


def test_the_warning_names_the_error_of_a_program() -> None:
    compiled = fg.jit(factor, engine="numpy", paths=4)
    compiled(GOOD)
    with pytest.warns(PathsWarning, match="its program raised a LinAlgError, which it catches"):
        compiled(INDEFINITE)
