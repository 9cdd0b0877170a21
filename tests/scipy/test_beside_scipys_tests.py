"""Calls from SciPy's and NumPy's own tests, on traced values beside plain ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.ndimage
import scipy.signal
import scipy.spatial
import scipy.special
import scipy.stats

import funcgrad as fg
from funcgrad.scipy import linalg, ndimage, signal, spatial, special, stats

RNG = np.random.default_rng(0)
SAMPLE = np.array([1.0, 5.0, 2.0, 8.0])
# Weights of silver, as in NIST's data AtmWtAg: the digits that differ are the last ones.
SILVER = 107.868 + RNG.integers(0, 999, (2, 24)) * 1e-7
FACTORS = np.linalg.cholesky(np.eye(3) + np.full((2, 3, 3), 0.25))
LOWER: Any = np.array([True, True])
BYTES = np.arange(3, dtype=np.uint8)
IMAGE = RNG.random((5, 6))

# SciPy's function, ours, and the arguments; those that are arrays of floats are traced.
VALUES: dict[str, tuple[Callable[..., Any], Callable[..., Any], tuple[Any, ...]]] = {
    "gdtr of two negative numbers": (scipy.special.gdtr, special.gdtr, (-0.2, 0.4, np.array([-0.25, 0.0, 0.3]))),
    "gdtrc of two negative numbers": (scipy.special.gdtrc, special.gdtrc, (-0.2, 0.4, np.array([-0.25, 0.0, 0.3]))),
    "fdtr of negative degrees": (scipy.special.fdtr, special.fdtr, (np.array([-3.0, 3.0, -3.0, 3.0]), -2.0, 0.5)),
    "fdtr of negative numbers": (scipy.special.fdtr, special.fdtr, (-3.0, -2.0, np.array([-0.5, -4.0]))),
    "fdtr of infinity": (scipy.special.fdtr, special.fdtr, (3.0, 2.0, np.array([np.inf, 1e300, 0.0]))),
    "fdtrc of few degrees": (scipy.special.fdtrc, special.fdtrc, (np.array([1e-300, 2.0]), 3.0, np.array([0.9, 40.0]))),
    "fdtr of few degrees": (scipy.special.fdtr, special.fdtr, (3.0, np.array([1e-300, 2.0]), np.array([0.9, 40.0]))),
    "fdtrc of negative numbers": (scipy.special.fdtrc, special.fdtrc, (-3.0, -2.0, np.array([-0.5, -4.0]))),
    "poch beyond a pole": (
        scipy.special.poch,
        special.poch,
        (np.array([8.0, 4.0, 20.0, -3.0]), np.array([-14.0, -5.0, -14.0, 3.0])),
    ),
    "shapiro of NaN": (scipy.stats.shapiro, stats.shapiro, (np.array([0.0, 1.0, 2.0, 4.0, np.nan]),)),
    "weightedtau of one number": (scipy.stats.weightedtau, stats.weightedtau, (np.array([1.0]), np.array([2.0]))),
    "weightedtau by ranks": (
        *(scipy.stats.weightedtau, stats.weightedtau),
        (SAMPLE, SAMPLE[[1, 0, 3, 2]], np.array([0, 2, 1, 3])),
    ),
    "gamma.stats by position": (scipy.stats.gamma.stats, stats.gamma.stats, (2.0, 3.0, 4.0, "mv")),
    "iqr that refuses NaN": (
        lambda x: scipy.stats.iqr(x, nan_policy="raise"),
        lambda x: stats.iqr(x, nan_policy="raise"),
        (SAMPLE,),
    ),
    "cho_solve by flags": (
        lambda b: scipy.linalg.cho_solve((FACTORS, np.array([True, True])), b),
        lambda b: linalg.cho_solve((FACTORS, LOWER), b),
        (np.array([1.0, 2.0, 3.0]),),
    ),
    "subspace_angles of stacks": (
        *(scipy.linalg.subspace_angles, linalg.subspace_angles),
        (RNG.random((1, 3, 5, 2)), RNG.random((2, 1, 5, 2))),
    ),
    "savgol_filter by distance": (
        lambda x, d: scipy.signal.savgol_filter(x, 5, 2, deriv=1, delta=d[0]),
        lambda x, d: signal.savgol_filter(x, 5, 2, deriv=1, delta=d[0]),
        (IMAGE, np.array([0.5])),
    ),
    "savgol_filter by distance, nearest": (
        lambda x, d: scipy.signal.savgol_filter(x, 5, 2, deriv=2, delta=d[0], mode="nearest"),
        lambda x, d: signal.savgol_filter(x, 5, 2, deriv=2, delta=d[0], mode="nearest"),
        (IMAGE, np.array([0.5])),
    ),
    "cdist by a function of SciPy's": (
        lambda x: scipy.spatial.distance.cdist(x, x[:2], scipy.spatial.distance.braycurtis),
        lambda x: spatial.distance.cdist(x, x[:2], scipy.spatial.distance.braycurtis),
        (IMAGE,),
    ),
    "cdist of small integers by a function of SciPy's": (
        lambda x: scipy.spatial.distance.cdist(BYTES[None] * 100, BYTES[None] + 7, scipy.spatial.distance.braycurtis),
        lambda x: spatial.distance.cdist(BYTES[None] * 100, BYTES[None] + 7, scipy.spatial.distance.braycurtis) + 0 * x,
        (np.zeros((1, 1)),),
    ),
    "map_coordinates, grid-mirror": (
        lambda x: scipy.ndimage.map_coordinates(x, [[-1.5, 6.2], [0.5, 7.1]], order=1, mode="grid-mirror"),
        lambda x: ndimage.map_coordinates(x, [[-1.5, 6.2], [0.5, 7.1]], order=1, mode="grid-mirror"),
        (IMAGE,),
    ),
}


@pytest.mark.filterwarnings("ignore:One or more sample arguments is too small")
@pytest.mark.parametrize("name", VALUES)
def test_the_value_is_scipys(name: str) -> None:
    theirs, ours, args = VALUES[name]
    found = theirs(*args)
    needed = [found] if isinstance(found, np.ndarray | np.generic) else list(found)
    traced = [i for i, x in enumerate(args) if isinstance(x, np.ndarray) and x.dtype == float]

    def f(*xs: Any) -> Any:
        given = list(args)
        for i, x in zip(traced, xs, strict=True):
            given[i] = x
        return fg.tree.leaves(ours(*given))

    given = [args[i] for i in traced]
    compiled = [] if name == "iqr that refuses NaN" else [fg.jit(f, engine="numpy")(*given)]
    for result in (f(*given), fg.vjp(f, *given)[0] if given else f(), *compiled):
        for y, x in zip(result, needed, strict=True):
            np.testing.assert_allclose(y, x, rtol=1e-12)


def test_f_oneway_of_samples_far_from_zero_loses_no_digits() -> None:
    # Subtracting a number that all samples have in common is exact here, and changes nothing of the statistic.
    needed = scipy.stats.f_oneway(*(SILVER - 107.868))
    np.testing.assert_allclose(stats.f_oneway(*SILVER), needed, rtol=1e-7)
    np.testing.assert_allclose(stats.f_oneway(*SILVER), scipy.stats.f_oneway(*SILVER), rtol=1e-10)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_eigh_of_two_stacks_broadcasts_them(engine: str) -> None:
    halves = RNG.random((1, 3, 4, 4)), RNG.random((2, 1, 4, 4))
    a, b = halves[0] + np.swapaxes(halves[0], -1, -2), halves[1] @ np.swapaxes(halves[1], -1, -2) + np.eye(4)
    found = fg.jit(lambda a, b: linalg.eigh(a, b, eigvals_only=True), engine=engine)(a, b)
    np.testing.assert_allclose(found, scipy.linalg.eigh(a, b, eigvals_only=True), rtol=1e-10)


def test_the_residuals_of_complex_stacks_without_rows_left_are_complex() -> None:
    a = RNG.random((2, 3, 3)) + 1j
    theirs: Any = scipy.linalg.lstsq(a, np.ones(3))
    found = linalg.lstsq(a, np.ones(3))
    assert [x.dtype for x in found] == [x.dtype for x in theirs]


# Arguments of wrong types.
TEXT: Any = "False"
NUMBER: Any = 1.1
FLAGS: Any = [True, False]
DIAGONALS: Any = ([1, 0], [0, 1])
# The class of NumPy's or SciPy's error, and a call of ours that raises it.
ERRORS: dict[str, tuple[type[Exception], str, Callable[[Any], Any]]] = {
    "f_oneway": (TypeError, "Expected a boolean value", lambda x: stats.f_oneway(x, x + 1, equal_var=TEXT)),
    "iqr": (ValueError, "contains nan values", lambda x: stats.iqr(x * np.nan, nan_policy="raise")),
    "iqr, policy": (ValueError, "nan_policy must be one of", lambda x: stats.iqr(x, nan_policy="drop")),
    "gaussian_filter": (
        ValueError,
        "axes must be unique",
        lambda x: ndimage.gaussian_filter(x[None], 1.0, axes=(0, -2)),
    ),
    "gaussian_filter1d": (
        ValueError,
        "nonnegative integer",
        lambda x: ndimage.gaussian_filter1d(x, 1.0, radius=NUMBER),
    ),
    "digitize": (TypeError, "may not be complex", lambda x: np.digitize(x, np.array([1.0, 2.0 + 1j]))),
    "gradient": (TypeError, "invalid number of arguments", lambda x: np.gradient(x[None] * x[:, None], np.arange(4.0))),
    "choose": (TypeError, "needed integers", lambda x: np.choose(x, [x, x])),
    "searchsorted": (ValueError, "Sorter index out of range", lambda x: np.searchsorted(x, 2.0, sorter=[0, 1, 2, 4])),
    "unpackbits": (TypeError, "bitorder", lambda x: fg.jit(lambda x: np.unpackbits(x, bitorder=NUMBER))(BYTES)),
    "cho_solve": (ValueError, "others upper ones", lambda x: linalg.cho_solve((FACTORS, FLAGS), x[:3])),
    "solve_banded": (ValueError, "needed two numbers", lambda x: linalg.solve_banded(DIAGONALS, x[None], x)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_the_error_is_of_the_same_class(name: str) -> None:
    error, text, call = ERRORS[name]
    with pytest.raises(error, match=text):
        fg.vjp(call, SAMPLE)


# Calls of NumPy's own tests, as functions of a vector.
NUMPYS: dict[str, Callable[[Any], Any]] = {
    "transpose by an array": lambda x: (x[:, None] * x[None, :2]).transpose(np.array([1, 0])),
    "choose by bools": lambda x: np.choose(np.asarray([True, False]), (x[:2], 2 * x[:2])),
    "choose by traced bools": lambda x: np.choose(x > 1.5, (x, 2 * x)),
    "concatenate into a vector": lambda x: np.concatenate((x[None], [0, 1]), None, np.zeros(6, like=x)),
    "concatenate beside a number": lambda x: np.concatenate([x.astype(np.float32)[0], 1.0], axis=None),
}


@pytest.mark.parametrize("name", NUMPYS)
def test_the_value_is_numpys(name: str) -> None:
    f = NUMPYS[name]
    needed = np.asarray(f(SAMPLE))
    for y in (fg.vjp(f, SAMPLE)[0], fg.jit(f, engine="numpy")(SAMPLE)):
        assert (y.dtype, y.tolist()) == (needed.dtype, needed.tolist())
