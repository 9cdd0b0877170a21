"""Infinities and NaN among the arguments of `scipy.linalg`: refused as in SciPy, where numbers are known."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg

import funcgrad as fg

A = np.array([[4.0, 1.0, 0.2], [1.0, 3.0, 0.5], [0.2, 0.5, 2.0]])
B = np.array([1.0, 2.0, 3.0])
BANDS = np.array([[0.0, 1.0, 1.0], [4.0, 4.0, 4.0], [1.0, 1.0, 0.0]])
PIVOTS = np.arange(3)

# The arguments of each function that has ``check_finite``. Each array of floats in turn gets a NaN or an infinity.
WITH_OPTION: dict[str, tuple[Any, ...]] = {
    "solve": (A, B),
    "inv": (A,),
    "det": (A,),
    "lstsq": (A, B),
    "pinv": (A,),
    "pinvh": (A,),
    "cholesky": (A,),
    "cho_factor": (A,),
    "cho_solve": ((A, True), B),
    "lu_factor": (A,),
    "lu": (A,),
    "qr": (A,),
    "rq": (A,),
    "norm": (A,),
    "expm_frechet": (A, A),
    "solve_triangular": (A, B),
    "solve_banded": ((1, 1), BANDS, B),
    "solveh_banded": (BANDS[:2], B),
    "cholesky_banded": (BANDS[:2],),
    "cho_solve_banded": ((BANDS[:2], False), B),
    "eigh": (A,),
    "eigvalsh": (A, A),
    "eig": (A,),
    "eigvals": (A,),
    "eigh_tridiagonal": (B, B[:2]),
    "eigvalsh_tridiagonal": (B, B[:2]),
    "eig_banded": (BANDS[:2],),
    "eigvals_banded": (BANDS[:2],),
    "svd": (A,),
    "svdvals": (A,),
    "solve_toeplitz": (B, B),
    "orthogonal_procrustes": (A, A),
}
ALWAYS: dict[str, tuple[Any, ...]] = {
    "lu_solve": ((A, PIVOTS), B),
    "logm": (A,),
    "polar": (A,),
    "solve_sylvester": (A, A, A),
    "solve_continuous_lyapunov": (A, A),
    "solve_discrete_lyapunov": (A, A),
    "subspace_angles": (A, A),
    "fractional_matrix_power": (A, 0.5),
}


# SciPy does not look at the factor of the one, nor at the right side of the others.
KEPT = {("lu_solve", True), ("solve_sylvester", False), ("solve_continuous_lyapunov", False)}


def _spoilt(x: Any, number: float) -> list[Any]:
    """Return the argument with the number in each of its arrays in turn."""
    if isinstance(x, tuple):
        return [(*x[:i], each, *x[i + 1 :]) for i, part in enumerate(x) for each in _spoilt(part, number)]
    if not isinstance(x, np.ndarray) or x.dtype.kind != "f":
        return []
    y = x.copy()
    y.flat[1] = number
    return [y]


@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
@pytest.mark.parametrize("name", [*WITH_OPTION, *ALWAYS])
def test_infinite_numbers_are_refused_as_in_scipy(name: str) -> None:
    arguments = {**WITH_OPTION, **ALWAYS}[name]
    ours = getattr(fg.scipy.linalg, name)
    for number in (np.nan, np.inf):
        for args in _spoilt(arguments, number):
            if (name, args[-1] is arguments[-1]) in KEPT:
                continue
            with pytest.raises(ValueError, match="must not contain infs or NaNs"):
                getattr(scipy.linalg, name)(*args)
            with pytest.raises(ValueError, match=r"scipy\.linalg\.\w+: array must not contain infs or NaNs.*f64\["):
                ours(*args)


@pytest.mark.parametrize("name", ["solve", "inv", "det", "cho_factor", "solve_triangular", "norm", "qr"])
def test_traced_numbers_that_are_known_are_refused(name: str) -> None:
    bad = A.copy()
    bad[1, 2] = bad[2, 1] = np.nan
    rest = WITH_OPTION[name][1:]
    run = lambda a: getattr(fg.scipy.linalg, name)(a, *rest)
    for call in (lambda: fg.vjp(run, bad), lambda: fg.jvp(run, (bad,), (A,))):
        with pytest.raises(ValueError, match="must not contain infs or NaNs"):
            call()
    # These functions know no numbers, so they check none.
    fg.jit(run)(bad)
    fg.jit(fg.vmap(run))(bad[None])


@pytest.mark.filterwarnings("ignore::scipy.linalg.LinAlgWarning")
def test_numbers_are_not_checked_without_the_option() -> None:
    bad = A.copy()
    bad[0, 0] = np.inf
    assert (
        np.isnan(fg.scipy.linalg.solve(bad, B, check_finite=False)).any()
        == np.isnan(scipy.linalg.solve(bad, B, check_finite=False)).any()
    )
    assert fg.scipy.linalg.norm(bad, check_finite=False) == np.inf
    # SciPy's default for this function.
    assert np.isnan(fg.scipy.linalg.matmul_toeplitz(np.array([np.nan, 1.0]), B[:2])).all()
