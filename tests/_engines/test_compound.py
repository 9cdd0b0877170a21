"""A compiled program contains a primitive of many XLA operations once, however often it uses it."""

import re
import warnings
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import scipy

A, B = np.eye(3) + 0.1, np.arange(3.0)


def _unrolled(step: Callable[[Any, Any], Any], times: int) -> Callable[..., Any]:
    def loss(a: Any, b: Any) -> Any:
        for _ in range(times):
            b = step(a + b, b)
        return np.sum(b)

    return loss


STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "solve": np.linalg.solve,
    "slogdet": lambda a, b: b * np.linalg.slogdet(a)[1],
    "det": lambda a, b: b * np.linalg.det(a),
    "cholesky": lambda a, b: np.linalg.cholesky(a @ a.T) @ b,
    "triangular": lambda a, b: scipy.linalg.solve_triangular(a, b, lower=True),
    "eigh": lambda a, b: np.linalg.eigh(a + a.T)[0] * b,
    "along an axis": lambda a, b: np.sort(a @ b),
}


def _bodies(function: Any, what: str) -> int:
    return len(re.findall(what, function.lower(A, B).as_text()))


def _twice(f: Callable[..., Any]) -> Callable[..., Any]:
    return fg.grad(lambda a, b: np.sum(fg.grad(f)(a, b)))


@pytest.mark.parametrize("order", range(3))
@pytest.mark.parametrize("name", STEPS)
def test_a_further_use_is_a_further_call(name: str, order: int) -> None:
    """Derivatives behave alike: 3 and 5 steps contain equally many calls of LAPACK, sorts and scatters."""
    transform = (lambda f: f, fg.grad, _twice)[order]
    few, more = (fg.jit(transform(_unrolled(STEPS[name], times)), roll=False) for times in (3, 5))
    heavy = r"stablehlo\.custom_call|stablehlo\.sort|stablehlo\.scatter|stablehlo\.while"
    assert _bodies(few, heavy) == _bodies(more, heavy)
    assert _bodies(few, "call @") < _bodies(more, "call @")


@pytest.mark.parametrize("name", STEPS)
def test_it_computes_what_the_eager_function_does(name: str) -> None:
    """The same holds if JAX differentiates our program."""
    f = _unrolled(STEPS[name], 2)
    np.testing.assert_allclose(fg.jit(fg.grad(f))(A, B), fg.grad(f)(A, B), rtol=1e-9, atol=1e-9)
    with jax.enable_x64(True):
        by_jax = jax.grad(fg.to_jax(f))(A, B)
    np.testing.assert_allclose(by_jax, fg.grad(f)(A, B), rtol=1e-9, atol=1e-9)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        narrow = fg.jit(f)(A.astype(np.float32), B.astype(np.float32))
    assert narrow.dtype == np.float32
