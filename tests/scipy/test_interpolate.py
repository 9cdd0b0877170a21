"""Splines, lines and grids, against SciPy, JAX and differences; data and queries may be traced."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.interpolate
import scipy.sparse.linalg

import funcgrad as fg
from funcgrad import numpy as fnp
from funcgrad.errors import ConcretizationTypeError, UnsupportedFunctionError
from funcgrad.scipy import interpolate
from tests.numpy._surface import same
from tests.scipy._cases import Call, agree

theirs: Any = scipy.interpolate
QUERIES = [np.array([-1.0, 0.0, 0.3, 1.1, 2.5, 9.0, np.nan]), np.float64(0.7), np.array([[0.1, 0.2], [2.0, 5.0]])]


def both(call: Callable[[Any], Any], tolerance: float) -> None:
    """The same of SciPy and of ours."""
    close(call(interpolate), call(theirs), tolerance)


def close(got: Any, expected: Any, tolerance: float = 1e-9) -> None:
    got, expected = np.asarray(got), np.asarray(expected)
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def polynomials(make: Callable[[Any], Any], tolerance: float = 1e-9) -> None:
    """Call every method of piecewise polynomials."""
    expected, ours = make(theirs), make(interpolate)
    for at, extrapolate in itertools.product(QUERIES, (True, False, "periodic")):
        close(ours(at, extrapolate=extrapolate), expected(at, extrapolate=extrapolate), tolerance)
    for nu in (1, 3, 5):
        close(ours(QUERIES[2], nu), expected(QUERIES[2], nu), tolerance * 100**nu)
    close(ours.antiderivative(2)(QUERIES[0]), expected.antiderivative(2)(QUERIES[0]), tolerance)
    if getattr(expected, "k", 9) > 1:
        close(ours.derivative(2)(QUERIES[0]), expected.derivative(2)(QUERIES[0]), 1e4 * tolerance)
    if expected.c.dtype.kind == "f":
        for (a, b), how in itertools.product(((0.5, 2.2), (2.5, 0.1), (-1.0, 7.0)), (None, True, "periodic")):
            close(ours.integrate(a, b, how), expected.integrate(a, b, how), tolerance)


def points(rng: np.random.Generator, n: int) -> np.ndarray:
    return np.cumsum(rng.uniform(0.1, 1.0, n)) - 0.3


@pytest.mark.parametrize("n", [2, 3, 4, 7])
def test_cubic_splines_are_scipys(n: int, rng: np.random.Generator) -> None:
    x = points(rng, n)
    for y, axis in ((rng.normal(size=n), 0), (rng.normal(size=(2, n, 3)), 1), (rng.normal(size=n) * (1 + 2j), 0)):
        rest = rng.normal(size=(*y.shape[:axis], *y.shape[axis + 1 :]))
        first, last = (np.take(y, [i], axis) for i in (0, -1))
        for ends in ("not-a-knot", "clamped", ((1, rest), (2, rest)), ("natural", "not-a-knot")):
            polynomials(lambda m, y=y, axis=axis, ends=ends: m.CubicSpline(x, y, axis, ends))
        around = y + (first - last) * (np.arange(n) == n - 1).reshape((n, *(1,) * (y.ndim - axis - 1)))
        polynomials(lambda m, y=around, axis=axis: m.CubicSpline(x, y, axis, "periodic"))
        polynomials(lambda m, y=y, axis=axis: m.CubicHermiteSpline(x, y, y**2, axis, extrapolate=False))
        if y.dtype.kind == "f":
            polynomials(lambda m, y=y, axis=axis: m.PchipInterpolator(x, y, axis))
            for method in ("akima", "makima"):
                polynomials(lambda m, y=y, axis=axis, by=method: m.Akima1DInterpolator(x, y, axis, method=by))


def test_flat_data_and_polynomials(rng: np.random.Generator) -> None:
    x, y = np.arange(9), np.array([0, 0, 0, 1, 1, 2, 1, 1, 1])
    for name in ("CubicSpline", "PchipInterpolator", "Akima1DInterpolator"):
        polynomials(lambda m, name=name: getattr(m, name)(x, y))
    c, falling = rng.normal(size=(2, 3, 4, 2)), np.array([4.0, 3.0, 1.5, 1.0, 0.0])
    polynomials(lambda m: m.PPoly(c, falling[::-1], axis=1))
    close(interpolate.PPoly(c[0], falling)(QUERIES[0]), theirs.PPoly(c[0], falling)(QUERIES[0]))


@pytest.mark.parametrize("k", [0, 1, 2, 3, 5])
def test_bsplines_are_scipys(k: int, rng: np.random.Generator) -> None:
    t, c = np.sort(rng.uniform(0, 4, 2 * k + 6)), rng.normal(size=(2, k + 5))
    for extrapolate in (True, False, "periodic"):
        polynomials(lambda m, e=extrapolate: m.BSpline(t, c, k, e, 1), 1e-8)
    polynomials(lambda m: m.BSpline.basis_element(np.arange(k + 2.0)))
    for n in (k + 1, k + 4):
        x, y = points(rng, n + 1), rng.normal(size=(n + 1, 2))
        for ends in (None, "natural", ([(1, [0.3, 0.2])], [(2, [0.1, 0.5])])) if k == 3 else (None,):
            polynomials(lambda m, x=x, y=y, ends=ends: m.make_interp_spline(x, y, k, bc_type=ends), 1e-7)
        y[-1] = y[0]
        if k:
            polynomials(lambda m, x=x, y=y: m.make_interp_spline(x, y, k, bc_type="periodic"), 1e-7)


KINDS = ["linear", "nearest", "nearest-up", "previous", "next", "zero", "slinear", "quadratic", "cubic", 1]


@pytest.mark.parametrize("kind", KINDS)
def test_interp1d_is_scipys(kind: Any, rng: np.random.Generator) -> None:
    x = np.array([2.0, 0.5, 0.0, 1.25, 3.0])
    inside, beyond = np.array([[0.0, 0.3, 1.25], [0.25, 2.5, 3.0]]), np.array([-1.0, np.nan, 5.0, 2.0])
    for (y, axis), dtype in itertools.product(((rng.normal(size=(2, 5)), -1), (rng.normal(size=(2, 5, 3)), 1)), "dfil"):
        values = (9 * y).astype(dtype)
        rest = rng.normal(size=(*y.shape[:axis], *y.shape[axis:][1:]))
        both(lambda m, v=values, a=axis: m.interp1d(x, v, kind, a)(inside), 1e-5)
        for fill in (np.nan, (1.0, 2), "extrapolate", rest):
            options: dict[str, Any] = {"bounds_error": False, "fill_value": fill}
            both(lambda m, v=values, a=axis, options=options: m.interp1d(x, v, kind, a, **options)(beyond), 1e-5)


@pytest.mark.parametrize("method", ["linear", "nearest", "slinear", "cubic", "quintic", "pchip"])
def test_grids_are_scipys(method: str, rng: np.random.Generator) -> None:
    # SciPy finds the coefficients of splines by an iteration, to a few digits, unless told otherwise.
    splines = method in {"slinear", "cubic", "quintic"}
    how = {"solver": scipy.sparse.linalg.spsolve} if splines else {}
    grid = [points(rng, n) for n in (6, 7)]
    inside = np.stack([rng.uniform(p[0], p[-1], 4) for p in grid], -1)
    # SciPy's own pchip raises an error for NaN.
    nothing = inside * (1 if method == "pchip" else np.nan)
    at = np.concatenate([inside, inside - 9, nothing, np.stack([p[[0, -1, 2]] for p in grid], -1)])
    for values in (rng.normal(size=(6, 7)), rng.normal(size=(6, 7, 2)), rng.integers(0, 9, (6, 7))):
        for points_of, fill in (((grid[0][::-1], grid[1]), np.nan), (grid, 0.0), (grid, None)):
            v = values if points_of is grid else values.astype(float)
            args = (points_of, v, method, False, fill)
            both(lambda m, args=args: m.RegularGridInterpolator(*args, **how)(at), 1e-9)
        both(lambda m, v=values: m.interpn(grid, v, tuple(inside.T), method), 1e-2 if splines else 1e-9)
    if method in {"cubic", "quintic"}:
        smooth = np.sin(grid[0][:, None]) * grid[1]
        both(lambda m: m.RegularGridInterpolator(grid, smooth, method, **how)(inside, nu=(1, 0)), 1e-9)


def test_programs(rng: np.random.Generator) -> None:
    x, y, at = points(rng, 7), rng.normal(size=7), np.array([-0.2, 0.7, 1.3])
    knots, slope = np.array([0.0, 0, 0, 1, 2, 3, 3, 3]), np.float64(0.3)
    grid, values = (np.arange(3.0), np.array([0.0, 1.0, 3.0, 4.0])), rng.normal(size=(3, 4))
    spots = np.array([[0.5, 0.5], [1.3, 3.7]])
    calls: dict[str, Call] = {
        "CubicSpline": (lambda m, x, y, at: m.CubicSpline(x, y)(at), (x, y, at)),
        "CubicSpline with slopes": (lambda m, y, s: m.CubicSpline(x, y, 0, ((1, s), (2, s)))(at, 1), (y, slope)),
        "PchipInterpolator": (lambda m, x, y, at: m.PchipInterpolator(x, y)(at), (x, y, at)),
        "Akima1DInterpolator": (lambda m, x, y: m.Akima1DInterpolator(x, y)(at[1:]), (x, y)),
        "PPoly": (lambda m, c, x, at: m.PPoly(c, x)(at), (rng.normal(size=(3, 6)), x, at)),
        "antiderivative": (lambda m, c, x: m.PPoly(c, x).antiderivative()(at), (rng.normal(size=(3, 6)), x)),
        "BSpline": (lambda m, c, at: m.BSpline(knots, c, 2)(at), (rng.normal(size=(5, 2)), at)),
        "BSpline's derivative": (lambda m, c: m.BSpline(knots, c, 2).derivative()(at), (rng.normal(size=5),)),
        "make_interp_spline": (lambda m, x, y, at: m.make_interp_spline(x, y, 3)(at), (x, y, at)),
        "interp1d": (lambda m, y, at: m.interp1d(x, y)(at), (y, at[1:])),
        "linear grid": (lambda m, v, at: m.RegularGridInterpolator(grid, v)(at), (values, spots)),
        "nearest grid": (lambda m, v: m.RegularGridInterpolator(grid, v, "nearest")(spots), (values,)),
        "slinear grid": (lambda m, v, at: m.interpn(grid, v, at, "slinear"), (values, spots)),
    }
    agree(interpolate, theirs, calls, on_xla=("CubicSpline", "BSpline"), tolerance=1e-8)


def test_periodic_splines_are_differentiated(rng: np.random.Generator) -> None:
    x, y = points(rng, 6), rng.normal(size=5)
    for make in (interpolate.CubicSpline, lambda x, y, bc_type: interpolate.make_interp_spline(x, y, bc_type=bc_type)):
        fg.check_grads(
            lambda x, y, make=make: make(x, fnp.concatenate([y, y[:1]]), bc_type="periodic")(QUERIES[2]), (x, y)
        )


def test_beyond_the_ends_derivatives_are_nan_too() -> None:
    f = interpolate.CubicSpline(np.arange(4.0), np.arange(4.0) ** 2, extrapolate=False)
    assert np.isnan(fg.grad(f)(5.0))
    assert float(fg.grad(f)(1.5)) == pytest.approx(3.0)
    same(fg.jit(interpolate.interp1d(np.arange(3.0), np.arange(3.0)))(np.array([0.5, 9.0])), np.array([0.5, np.nan]), 0)


def test_refused(rng: np.random.Generator) -> None:
    x, y = np.arange(4.0), rng.normal(size=4)
    m = interpolate
    mistakes: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: m.CubicSpline(x[::-1], y), ValueError, "strictly increasing"),
        (lambda: m.CubicSpline(x, y[1:]), ValueError, "doesn't match the length of x"),
        (lambda: m.CubicSpline(x[:1], y[:1]), ValueError, "at least 2"),
        (lambda: m.CubicSpline(x, y * np.inf), ValueError, "y must contain only finite"),
        (lambda: m.CubicSpline(x * 1j, y), ValueError, "real values"),
        (lambda: m.CubicSpline(x, 3.0), ValueError, "y is a number"),
        (lambda: m.CubicSpline(x, y, bc_type="odd"), ValueError, "bc_type=odd is not allowed"),
        (lambda: m.CubicSpline(x, y, bc_type="periodic"), ValueError, "must be identical"),
        (lambda: m.CubicSpline(x, y, bc_type=("periodic", "natural")), ValueError, "both curve ends"),
        (lambda: m.CubicSpline(x, y, bc_type=((3, 0.0), "natural")), ValueError, "order must be 1 or 2"),
        (lambda: m.CubicSpline(x, y, bc_type=((1, x), "natural")), ValueError, "not the expected one"),
        (lambda: m.CubicSpline(x, y, bc_type=("natural",)), ValueError, "2 elements"),
        (lambda: m.CubicSpline(x, y).roots(), UnsupportedFunctionError, "CubicSpline.solve.*implicit_root"),
        (lambda: m.PchipInterpolator(x, y * 1j), ValueError, "PchipInterpolator only works with real"),
        (lambda: m.Akima1DInterpolator(x, y, method="odd"), NotImplementedError, "'odd' is unsupported"),
        (lambda: m.CubicHermiteSpline(x, y, y[1:]), ValueError, "must be identical"),
        (lambda: m.PPoly(y, x), ValueError, "2-dimensional"),
        (lambda: m.PPoly(y[None], x), ValueError, "number of coefficients"),
        (lambda: m.PPoly(y[None], x, axis=1), ValueError, "axis=1 must be between"),
        (lambda: m.BSpline(x, y[None], -1), ValueError, "one-dimensional"),
        (lambda: m.BSpline(x, y, 3), ValueError, "at least 8 knots"),
        (lambda: m.BSpline(np.array([0.0, 1, 0, 1, 2]), y, 0), ValueError, "non-decreasing"),
        (lambda: m.BSpline(np.arange(6.0), y, 1).derivative(2), ValueError, "must be <= order"),
        (lambda: m.make_interp_spline(x, y[1:]), ValueError, "incompatible"),
        (lambda: m.make_interp_spline(x[:3], y[:3]), ValueError, "at least|number of derivatives"),
        (lambda: m.make_interp_spline(x, y, 1, bc_type="natural"), ValueError, "too much info"),
        (lambda: m.make_interp_spline(x, y, bc_type="odd"), ValueError, "unknown boundary"),
        (lambda: m.make_interp_spline(x, y, bc_type=([(1, 0.0)], None)), ValueError, "does not match: expected 2"),
        (lambda: m.make_interp_spline(x, y, 1, t=np.arange(6.0)), ValueError, "out of bounds"),
        (lambda: m.make_interp_spline(x, y, bc_type="periodic"), ValueError, "does not match while periodic"),
        (lambda: m.make_interp_spline(x, y, t=x, bc_type="periodic"), NotImplementedError, "automatically"),
        (
            lambda: fg.jit(lambda x: m.make_interp_spline(x, y, 1, t=np.array([0.0, 0, 1, 2, 3, 3]))(1.5))(x),
            ConcretizationTypeError,
            "with knots t",
        ),
        (lambda: m.interp1d(x, y, "odd"), NotImplementedError, "odd is unsupported"),
        (lambda: m.interp1d(x, y[1:]), ValueError, "equal in length"),
        (lambda: m.interp1d(x, y)(9.0), ValueError, r"a value \(9.0\) in x_new is above"),
        (lambda: m.interp1d(x, y, bounds_error=True, fill_value="extrapolate"), ValueError, "at the same time"),
        (lambda: m.interp1d(x, y, fill_value=x), ValueError, "broadcast up to shape"),
        (lambda: m.RegularGridInterpolator((x,), y, "odd"), ValueError, "'odd' is not defined"),
        (lambda: m.RegularGridInterpolator((x, x), y), ValueError, "2 point arrays"),
        (lambda: m.RegularGridInterpolator((y * 0,), y), ValueError, "strictly ascending"),
        (lambda: m.RegularGridInterpolator((x,), y)([9.0]), ValueError, "out of bounds in dimension 0"),
        (lambda: m.RegularGridInterpolator((x,), y)(np.ones((2, 2))), ValueError, "have dimension 2"),
        (lambda: m.RegularGridInterpolator((x,), y)([1.0], nu=(1,)), ValueError, "only compute derivatives"),
        (lambda: m.RegularGridInterpolator((x,), y, "quintic"), ValueError, "at least 6 points"),
        (lambda: m.RegularGridInterpolator((x,), y * 1j, "pchip"), ValueError, "real values"),
    ]
    for f, error, words in mistakes:
        with pytest.raises(error, match=words):
            f()
