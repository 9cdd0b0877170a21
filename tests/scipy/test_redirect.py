"""SciPy's functions by their own names: refused with ours named, and ours inside of ``fg.intercept()``."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.linalg
import scipy.signal
import scipy.signal.windows
import scipy.spatial.distance
import scipy.special
import scipy.stats
from scipy.special import softmax

import funcgrad as fg
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.scipy import interpolate, linalg, signal, special, stats
from funcgrad.scipy.spatial import distance

theirs: Any = scipy.stats
X, A = np.array([0.3, 0.5, 0.7]), np.array([[2, 0.1, 0.2], [0.1, 3, 0.3], [0.2, 0.3, 1.5]])
ORIGINALS = (softmax, scipy.linalg.cho_factor, theirs.rv_continuous.logpdf, type(theirs.multivariate_normal).logpdf)
SPLINE, LINE = scipy.interpolate.CubicSpline(X, A[0]), scipy.interpolate.interp1d(X, A)
GRID, BSPLINE = (
    scipy.interpolate.RegularGridInterpolator((X,), A[0]),
    scipy.interpolate.make_interp_spline(X, A[0], 2),
)
OUTSIDE = theirs.gamma(2.5, scale=2.0)
VECTORS = {
    "multivariate_normal": (theirs.multivariate_normal(X, A), "logpdf", (X, A)),
    "multivariate_t": (theirs.multivariate_t(X, A, 3.0), "pdf", (X, A, 3.0)),
    "dirichlet": (theirs.dirichlet(X + 1), "logpdf", (X + 1,)),
    "multinomial": (theirs.multinomial(3, X / X.sum()), "logpmf", (3, X / X.sum())),
    "wishart": (theirs.wishart(4.5, A), "logpdf", (4.5, A)),
}
POINTS = {"dirichlet": lambda x: x / np.sum(x), "multinomial": lambda x: x * 0 + 1, "wishart": lambda x: A * x[0]}

# SciPy's call, the same of ours, and the name in the refusal.
CALLS: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any], str]] = {
    "imported by name": (lambda x: softmax(x)[1], lambda x: special.softmax(x)[1], "special.softmax"),
    "special": (lambda x: scipy.special.comb(x + 2, 1.5), lambda x: special.comb(x + 2, 1.5), "special.comb"),
    "linalg": (
        lambda x: np.triu(scipy.linalg.cho_factor(A * x)[0]),
        lambda x: np.triu(linalg.cho_factor(A * x)[0]),
        "linalg.cho_factor",
    ),
    "signal": (
        lambda x: scipy.signal.lfilter([1.0], [1.0, 0.5], scipy.signal.windows.gaussian(5, x[0])),
        lambda x: signal.lfilter([1.0], [1.0, 0.5], signal.windows.gaussian(5, x[0])),
        "signal.lfilter",
    ),
    "signal by a filter of SciPy's design": (
        lambda x: scipy.signal.decimate(x, 2, ftype="fir"),
        lambda x: signal.decimate(x, 2, ftype="fir"),
        "signal.decimate",
    ),
    "a spline of traced data": (
        lambda x: vars(scipy.interpolate)["CubicSpline"](np.arange(3.0), x, bc_type=((1, x[0]), "natural"))(0.7),
        lambda x: interpolate.CubicSpline(np.arange(3.0), x, bc_type=((1, x[0]), "natural"))(0.7),
        "interpolate.CubicSpline",
    ),
    "a spline made outside": (
        lambda x: SPLINE(x),
        lambda x: interpolate.PPoly(SPLINE.c, SPLINE.x)(x),
        "interpolate.CubicSpline",
    ),
    "a line made outside": (lambda x: LINE(x), lambda x: interpolate.interp1d(X, A)(x), "interpolate.interp1d"),
    "B-splines made outside": (
        lambda x: BSPLINE(x, 1),
        lambda x: interpolate.make_interp_spline(X, A[0], 2)(x, 1),
        "interpolate.BSpline",
    ),
    "a grid": (
        lambda x: scipy.interpolate.RegularGridInterpolator((X,), x)([0.4]) + GRID(x[:, None]),
        lambda x: interpolate.RegularGridInterpolator((X,), x)([0.4]) + interpolate.interpn((X,), A[0], x[:, None]),
        "interpolate.RegularGridInterpolator",
    ),
    "distances": (
        lambda x: scipy.spatial.distance.pdist(A * x),
        lambda x: distance.pdist(A * x),
        "spatial.distance.pdist",
    ),
    "multiufunc": (
        lambda x: scipy.special.sph_harm_y(2, 1, x, X).real,
        lambda x: special.sph_harm_y(2, 1, x, X).real,
        "special.sph_harm_y",
    ),
    "a density": (lambda x: theirs.norm.logpdf(x, x[0]), lambda x: stats.norm.logpdf(x, x[0]), "stats.norm.logpdf"),
    "a quantile": (lambda x: theirs.gamma.ppf(x, a=2), lambda x: stats.gamma.ppf(x, 2), "stats.gamma.ppf"),
    "a moment": (lambda x: theirs.norm.mean(loc=x), lambda x: stats.norm.mean(loc=x), "stats.norm.mean"),
    "frozen inside": (
        lambda x: theirs.t(3.0, scale=x[1]).logpdf(X),
        lambda x: stats.t.logpdf(X, 3.0, scale=x[1]),
        "stats.t.logpdf",
    ),
    "frozen outside": (lambda x: OUTSIDE.logcdf(x), lambda x: stats.gamma.logcdf(x, 2.5, 0, 2.0), "stats.gamma.logcdf"),
    "a mass": (lambda x: theirs.poisson.logpmf(3, x), lambda x: stats.poisson.logpmf(3, x), "stats.poisson.logpmf"),
    "vectors": (
        lambda x: theirs.multivariate_normal.logpdf(x, X**2, A),
        lambda x: stats.multivariate_normal.logpdf(x, X**2, A),
        "stats.multivariate_normal.logpdf",
    ),
    "frozen vectors": (
        lambda x: theirs.multivariate_normal(x, A).logpdf(X),
        lambda x: stats.multivariate_normal.logpdf(X, x, A),
        "stats.multivariate_normal.__call__",
    ),
}


def of_vectors(name: str) -> tuple[Callable[[Any], Any], Callable[[Any], Any], str]:
    """A method of what SciPy froze outside, and ours."""
    frozen, method, params = VECTORS[name]
    point, ours = POINTS.get(name, np.sin), getattr(getattr(stats, name), method)
    return lambda x: getattr(frozen, method)(point(x)), lambda x: ours(point(x), *params), f"stats.{name}.{method}"


CALLS |= {f"{name} frozen outside": of_vectors(name) for name in VECTORS}


@pytest.mark.filterwarnings("ignore::funcgrad.errors.ObjectArrayWarning")
@pytest.mark.parametrize("case", CALLS)
def test_redirected_inside_and_refused_outside(case: str) -> None:
    call, ours, name = CALLS[case]
    expected = fg.grad(lambda x: np.sum(ours(x)))(X)
    gradient = fg.grad(lambda x: np.sum(call(x)))
    with fg.intercept():
        np.testing.assert_array_equal(gradient(X), expected)
        np.testing.assert_allclose(fg.jit(gradient, engine="numpy")(X), expected, rtol=1e-13)
        np.testing.assert_allclose(call(X), np.asarray(ours(X)), rtol=1e-12)
    with pytest.raises(UnsupportedFunctionError, match=rf"^scipy\.{name} met a traced value.*Call fg\.scipy\.{name} "):
        gradient(X)
    found = (softmax, scipy.linalg.cho_factor, theirs.rv_continuous.logpdf, type(theirs.multivariate_normal).logpdf)
    assert found == ORIGINALS


def test_plain_arguments_are_scipys() -> None:
    """Under a transform too, and in other threads all are."""
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append(type(theirs.norm(0.0, 1.0)))
        seen.append(type(theirs.norm(x[0], 1.0)))
        return np.sum(x)

    def elsewhere() -> None:
        with pytest.raises(UnsupportedFunctionError):
            fg.grad(lambda x: theirs.norm.logpdf(x[0]))(X)
        seen.append("raised")

    with fg.intercept():
        fg.grad(f)(X)
        thread = threading.Thread(target=elsewhere)
        thread.start()
        thread.join()
    assert [getattr(each, "__module__", each).partition(".")[0] for each in seen] == ["scipy", "funcgrad", "raised"]


def test_what_ours_lacks_is_refused_by_name() -> None:
    def f(x: Any) -> Any:
        return theirs.vonmises.cdf(x[0], 1.0)

    with fg.intercept(), pytest.raises(UnsupportedFunctionError, match=r"scipy\.stats\.vonmises\.cdf: .*no formula"):
        fg.grad(f)(X)
    with fg.intercept(), pytest.raises(KeyError):
        fg.grad(lambda x: theirs.norm.logpdf(x[0]) * {}["scale"])(X)
    assert theirs.rv_continuous.logpdf is ORIGINALS[2]


def test_a_class_that_stands_in_is_scipys() -> None:
    """A user's subclass, its checks and its instances from plain numbers are SciPy's."""
    plain = scipy.interpolate.CubicSpline
    with fg.intercept():
        stand = scipy.interpolate.CubicSpline
        kind = type("Mine", (stand,), {})
        made = [stand(X, A[0]), kind(X, A[0]), fg.grad(lambda x: (seen.append(stand(X, x)), np.sum(x))[1])]
        seen: list[Any] = []
        made[2](X)
        assert type(made[0]) is plain
        assert isinstance(made[1], kind)
        assert all(isinstance(each, stand) for each in (*made[:2], *seen, SPLINE))
        assert not isinstance(LINE, stand)
        assert not isinstance(made[0], kind)
        assert issubclass(plain, stand)
        assert type(seen[0]) is interpolate.CubicSpline
        np.testing.assert_array_equal(made[1](X), SPLINE(X))
    assert scipy.interpolate.CubicSpline is plain
