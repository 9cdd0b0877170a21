"""Triangular systems by blocks: BLAS's values and accuracy for every form, without OpenBLAS's threads."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.linalg

import funcgrad as fg
from funcgrad._ops.linalg import triangular

FLAGS = ("left_side", "lower", "transpose_a", "conjugate_a", "unit_diagonal")
FORMS = [dict(zip(FLAGS, flags, strict=True)) for flags in itertools.product((True, False), repeat=5)]
DTYPES = [np.float32, np.float64, np.complex128]


def system(n: int, m: int, left_side: bool, dtype: type, stack: tuple[int, ...] = ()) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    a = rng.normal(size=(*stack, n, n)) / n**0.5 + 4 * np.eye(n)
    b = rng.normal(size=(*stack, n, m) if left_side else (*stack, m, n))
    if np.dtype(dtype).kind == "c":
        return (a + 0.5j * np.swapaxes(a, -1, -2)).astype(dtype), (b - 1j * b).astype(dtype)
    return a.astype(dtype), b.astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.__name__)
@pytest.mark.parametrize("form", FORMS, ids=lambda form: "-".join(flag for flag in FLAGS if form[flag]))
def test_blocks_are_blas(form: dict[str, bool], dtype: type) -> None:
    a, b = system(70, 40, form["left_side"], dtype, (2,))
    got, wanted = triangular._by_blocks(a, b, **form), triangular._by_blas(a, b, **form)
    assert got.dtype == wanted.dtype
    np.testing.assert_allclose(got, wanted, rtol=0, atol=2e3 * np.finfo(dtype).eps * np.abs(wanted).max())


def test_an_ill_conditioned_factor_loses_no_more_digits_than_by_substitution() -> None:
    x = np.linspace(0, 1, 200)
    factor = np.linalg.cholesky(np.exp(-50 * (x[:, None] - x) ** 2) + 1e-10 * np.eye(200))
    b = np.random.default_rng(0).normal(size=(200, 200))
    y = fg.scipy.linalg.solve_triangular(factor, b, lower=True)
    error = np.abs(factor @ y - b) / (np.abs(factor) @ np.abs(y) * np.finfo(float).eps)
    assert error.max() < 200


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_not_finite_spreads_as_far_as_in_blas(value: float) -> None:
    a, b = system(70, 40, True, np.float64)
    a[40, 3] = b[50, 7] = value
    y = fg.scipy.linalg.solve_triangular(a, b, lower=True, check_finite=False)
    wanted = scipy.linalg.solve_triangular(a, b, lower=True, check_finite=False)
    np.testing.assert_allclose(y, wanted, rtol=1e-12)


def test_a_large_system_keeps_to_numpys_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    a, b = system(64, 64, True, np.float64)
    covariance = a @ a.T
    monkeypatch.setattr(triangular, "blas", None)
    gradient = fg.grad(lambda c: np.sum(np.linalg.cholesky(c) * b))(covariance)
    assert np.isfinite(gradient).all()
