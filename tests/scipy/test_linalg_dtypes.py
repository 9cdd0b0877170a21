"""Dtypes and shapes of the results of ``scipy.linalg``, beside SciPy's, for each kind of number and for stacks."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import funcgrad as fg

CALLS = {
    "lu": {},
    "lu-permuted": {"permute_l": True},
    "lu-places": {"p_indices": True},
    "lu_factor": {},
    "cholesky": {},
    "cho_factor": {},
    "qr": {},
    "qr-r": {"mode": "r"},
    "rq": {},
    "svd": {},
    "svdvals": {},
    "eig": {},
    "eigvals": {},
    "eigh": {},
    "eigvalsh": {},
    "inv": {},
    "pinv": {},
    "det": {},
    "polar": {},
    "expm": {},
    "sqrtm": {},
}
DTYPES = ["?", "b", "B", "h", "i", "l", "e", "f", "d", "g", "F", "D"]
# SciPy's one element of int8 becomes float16 in expm, and an empty matrix of integers stays one in qr.
SHAPES = [(1, 1), (2, 2), (4, 1, 1), (3, 2, 2)]


def _kinds(found: Any) -> list[Any]:
    return [(np.shape(x), np.asarray(x).dtype) for x in (found if isinstance(found, tuple | list) else (found,))]


def _definite(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    return np.broadcast_to(np.eye(shape[-1]) * 2, shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("call", CALLS)
def test_dtypes_are_scipys(call: str, dtype: str) -> None:
    name = call.partition("-")[0]
    for shape in SHAPES[1::2] if name in {"expm", "sqrtm"} else SHAPES:
        if dtype == "g" and name in {"expm", "det"}:
            continue  # SciPy computes one in extended precision, and refuses the other.
        a = _definite(dtype, shape)
        expected = _kinds(getattr(scipy.linalg, name)(a, **CALLS[call]))
        assert _kinds(getattr(fg.scipy.linalg, name)(a, **CALLS[call])) == expected, shape


@pytest.mark.parametrize("engine", ["numpy", "xla"])
@pytest.mark.parametrize("dtype", ["b", "l", "f", "F", "D"])
def test_dtypes_of_compiled_permutations(dtype: str, engine: Any) -> None:
    for shape in SHAPES:
        a = _definite(dtype, shape)
        compiled = fg.jit(fg.scipy.linalg.lu, engine=engine)
        assert _kinds(compiled(a)) == _kinds(scipy.linalg.lu(a))


def test_systems_of_small_numbers() -> None:
    for dtype in "?bhief":
        a, b = np.eye(2).astype(dtype), np.ones(2, dtype)
        for name in ("solve_triangular", "solve", "lstsq"):
            found, expected = (getattr(module, name)(a, b) for module in (fg.scipy.linalg, scipy.linalg))
            assert _kinds(found) == _kinds(expected), (name, dtype)
    bands = np.array([[0, 1, 1], [4, 4, 4]], np.int8)
    for name in ("cholesky_banded", "eig_banded"):
        found, expected = (getattr(module, name)(bands) for module in (fg.scipy.linalg, scipy.linalg))
        assert _kinds(found) == _kinds(expected), name


def test_squares_of_complex_residuals() -> None:
    a = np.eye(2, dtype=complex)
    assert _kinds(fg.scipy.linalg.lstsq(a, a)) == _kinds(scipy.linalg.lstsq(a, a))


def test_factors_of_a_stack_solve_its_systems() -> None:
    a, b = _definite("d", (3, 2, 2)) + 0.5, np.arange(6.0).reshape(3, 2, 1)
    factored = fg.scipy.linalg.cho_factor(a, lower=True)
    np.testing.assert_allclose(fg.scipy.linalg.cho_solve(factored, b), np.linalg.solve(a, b), rtol=1e-14)


def test_derivatives_of_half_precision() -> None:
    a = np.array([[3.0, 1.0], [2.0, 4.0]])
    slope = fg.grad(lambda a: np.sum(fg.scipy.linalg.inv(a)))(a.astype(np.float16))
    assert slope.dtype == np.float16
    np.testing.assert_allclose(slope, fg.grad(lambda a: np.sum(np.linalg.inv(a)))(a), rtol=1e-3)
