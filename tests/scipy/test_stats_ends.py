"""Distributions at the ends of their supports and of their parameters: the derivatives of the inside."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.scipy import stats
from funcgrad.scipy.stats._families import Continuous

# Shape parameters whose density at the ends is finite and, at one of them at least, not 0.
SHAPES: dict[str, tuple[float, ...]] = {
    "beta": (1.0, 2.0),
    "burr12": (1.0, 2.0),
    "chi": (1.0,),
    "chi2": (2.0,),
    "exponweib": (1.0, 1.0),
    "f": (2.0, 5.0),
    "fisk": (1.0,),
    "gamma": (1.0,),
    "genextreme": (0.5,),
    "gengamma": (1.0, 1.0),
    "genpareto": (-0.5,),
    "gompertz": (0.5,),
    "invgamma": (2.0,),
    "invgauss": (1.2,),
    "lognorm": (0.7,),
    "loguniform": (1.0, 3.0),
    "lomax": (2.0,),
    "nakagami": (0.5,),
    "pareto": (2.0,),
    "powerlaw": (1.0,),
    "truncnorm": (-1.0, 2.0),
    "weibull_max": (1.0,),
    "weibull_min": (1.0,),
}
WITHOUT = {"expon", "halfcauchy", "halfnorm", "levy", "maxwell", "rayleigh", "uniform"}
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
TAILS = ("cdf", "sf", "logcdf", "logsf")


def families() -> list[tuple[str, float, int]]:
    """Return each family with an end of its support and the direction to the inside."""
    found = []
    for name in sorted(dir(stats)):
        family = getattr(stats, name)
        if isinstance(family, Continuous) and not family.periodic:
            ends = family.support(*SHAPES.get(name, (1.5,) * len(family.shapes)))
            found += [(name, float(end), side) for end, side in zip(ends, (1, -1), strict=True) if np.isfinite(end)]
    return found


def test_every_family_is_here() -> None:
    assert {name for name, _, _ in families()} == {*SHAPES, *WITHOUT}


@pytest.mark.parametrize("method", TAILS)
@pytest.mark.parametrize(("name", "end", "side"), families())
def test_tails_take_the_slope_of_the_inside(name: str, end: float, side: int, method: str) -> None:
    shapes, family = SHAPES.get(name, ()), getattr(stats, name)
    tail, h = getattr(family, method), 1e-6
    # By numbers close to the end, where the formulas hold.
    near = [fg.grad(tail)(end + side * k * h, *shapes) for k in (1, 2)]
    expected = math.inf if np.isinf(tail(end, *shapes)) else 2 * near[0] - near[1]
    with np.errstate(all="ignore"):
        found = [fg.grad(tail)(end, *shapes), fg.jvp(lambda x: tail(x, *shapes), (end,), (1.0,))[1]]
        compiled = [fg.jit(fg.grad(tail), engine="numpy")(end, *shapes)]
        moved = fg.grad(lambda loc, scale: tail(loc + end * scale, *shapes, loc, scale), (0, 1))(0.3, 1.0)
    for slope in (*found, *compiled):
        np.testing.assert_allclose(abs(slope), abs(expected), rtol=1e-4, atol=2e-5)
        assert slope == 0 or (slope > 0) == ("cdf" in method)
    if np.isfinite(expected):
        # The end moves with location and scale.
        np.testing.assert_allclose(moved, 0, atol=1e-12)
        by_scale = fg.grad(lambda scale: tail(end, *shapes, 0.0, scale))(1.0)
        np.testing.assert_allclose(by_scale, -end * expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("method", ["cdf", "sf", "logsf"])
@pytest.mark.parametrize(
    "name", ["expon", "gamma", "weibull_min", "beta", "pareto", "truncnorm", "lomax", "f", "uniform"]
)
def test_second_derivatives_at_the_first_point(name: str, method: str) -> None:
    shapes, family = SHAPES.get(name, ()), getattr(stats, name)
    curve = fg.grad(fg.grad(getattr(family, method)))
    end = float(family.support(*shapes)[0])
    np.testing.assert_allclose(curve(end, *shapes), curve(end + 1e-7, *shapes), rtol=1e-4, atol=1e-4)


def test_shape_parameters_that_are_ends() -> None:
    for family, a, b in ((stats.loguniform, 1.0, 3.0), (stats.truncnorm, -1.0, 2.0)):
        low, high = family.pdf(a, a, b), family.pdf(b, a, b)
        np.testing.assert_allclose(fg.grad(family.cdf, (1, 2))(a, a, b), [-low, 0], atol=1e-12)
        np.testing.assert_allclose(fg.grad(family.logsf, (1, 2))(a, a, b), [low, 0], atol=1e-12)
        np.testing.assert_allclose(fg.grad(family.sf, (1, 2))(b, a, b), [0, high], atol=1e-12)


def test_a_loss_over_lifetimes() -> None:
    times = np.array([1.0, 1.5, 2.0])
    loss = lambda loc: np.sum(stats.weibull_min.logsf(times, 1.0, loc=loc))
    for run in (fg.grad(loss), fg.jit(fg.grad(loss)), fg.jit(fg.grad(loss), engine="numba")):
        assert run(1.0) == 3.0
    # The density at the end is infinite; the end does not move with the scale.
    by_scale = fg.grad(lambda scale: np.sum(stats.weibull_min.logsf(times, 0.7, loc=1.0, scale=scale)))
    rest = fg.grad(lambda scale: np.sum(stats.weibull_min.logsf(times[1:], 0.7, loc=1.0, scale=scale)))
    assert by_scale(2.0) == rest(2.0)
    np.testing.assert_allclose(fg.vmap(fg.grad(stats.expon.cdf))(np.array([-1.0, 0.0, 1.0])), [0, 1, np.exp(-1)])


@pytest.mark.parametrize("name", ["expon", "uniform", "gamma", "weibull_min", "weibull_max", "beta", "pareto", "norm"])
def test_quantiles_at_the_ends(name: str) -> None:
    shapes, family = SHAPES.get(name, ()), getattr(stats, name)
    for method, q in (("ppf", 0.0), ("ppf", 1.0), ("isf", 0.0), ("isf", 1.0)):
        f = getattr(family, method)
        end = f(q, *shapes)
        density = family.pdf(end, *shapes) if np.isfinite(end) else 0.0
        with np.errstate(all="ignore"):
            expected = (1 if method == "ppf" else -1) / density if density else np.inf * (1 if method == "ppf" else -1)
            for run in (fg.grad(f), fg.jit(fg.grad(f), engine="numpy")):
                np.testing.assert_allclose(run(q, *shapes), expected, rtol=1e-12)
            if np.isfinite(end) and density:
                inner = fg.grad(fg.grad(f))(abs(q - 1e-7), *shapes)
                np.testing.assert_allclose(fg.grad(fg.grad(f))(q, *shapes), inner, rtol=1e-4, atol=1e-5)


# A family, the point, shape parameters, and the derivatives of the density by the point and by each shape parameter.
DENSITIES: list[tuple[str, float, tuple[float, ...], list[float]]] = [
    ("beta", 0.0, (2.0, 3.0), [12, 0, 0]),
    ("beta", 1.0, (3.0, 2.0), [-12, 0, 0]),
    ("beta", 1.0, (2.0, 3.0), [0, 0, 0]),
    ("beta", 0.0, (1.5, 3.0), [math.inf, 0, 0]),
    ("gamma", 0.0, (2.0,), [1, 0]),
    ("gamma", 0.0, (3.0,), [0, 0]),
    ("chi", 0.0, (2.0,), [1, 0]),
    ("chi2", 0.0, (4.0,), [0.25, 0]),
    ("f", 0.0, (4.0, 5.0), [5.6, 0, 0]),
    ("weibull_min", 0.0, (2.0,), [2, 0]),
    ("weibull_max", 0.0, (2.0,), [-2, 0]),
    ("fisk", 0.0, (2.0,), [2, 0]),
    ("powerlaw", 0.0, (2.0,), [2, 0]),
    ("burr12", 0.0, (2.0, 3.0), [6, 0, 0]),
    ("nakagami", 0.0, (1.0,), [2, 0]),
    ("exponweib", 0.0, (2.0, 1.0), [2, 0, 0]),
    ("exponweib", 0.0, (1.0, 2.0), [2, 0, 0]),
    ("gengamma", 0.0, (2.0, 1.0), [1, 0, 0]),
    ("genpareto", 2.0, (-0.5,), [-0.5, 2]),
    ("genextreme", 2.0, (0.5,), [-0.5, -2]),
    ("rayleigh", 0.0, (), [1]),
    ("maxwell", 0.0, (), [0]),
]
# A family, the count, parameters, and the derivative of the mass by the last parameter.
MASSES: list[tuple[str, int, tuple[float, ...], float]] = [
    *[("poisson", k, (0.0,), slope) for k, slope in enumerate([-1.0, 1.0, 0.0])],
    *[("binom", k, (5, 0.0), slope) for k, slope in enumerate([-5.0, 5.0, 0.0, 0.0, 0.0, 0.0])],
    *[("binom", k, (5, 1.0), slope) for k, slope in enumerate([0.0, 0.0, 0.0, 0.0, -5.0, 5.0])],
    *[("bernoulli", k, (p,), slope) for p in (0.0, 1.0) for k, slope in enumerate([-1.0, 1.0])],
    *[("geom", k, (1.0,), slope) for k, slope in ((1, 1.0), (2, -1.0), (3, 0.0))],
    *[("nbinom", k, (3, 1.0), slope) for k, slope in enumerate([3.0, -3.0, 0.0])],
]


@pytest.mark.parametrize(("name", "x", "shapes", "expected"), DENSITIES)
def test_densities_that_are_0(name: str, x: float, shapes: tuple[float, ...], expected: list[float]) -> None:
    pdf = getattr(stats, name).pdf
    every = tuple(range(1 + len(shapes)))
    for run in (fg.grad(pdf, every), fg.jit(fg.grad(pdf, every), engine="numpy")):
        np.testing.assert_allclose(np.array(run(x, *shapes)), expected, rtol=1e-12)
    if np.isfinite(expected[0]):
        inside = 0.4 if x == 0 else x - 0.4
        points = np.array([x, -0.4 if name == "weibull_max" else inside])
        diagonal = [expected[0], fg.grad(pdf)(points[1], *shapes)]
        np.testing.assert_allclose(fg.jacrev(pdf)(points, *shapes), np.diag(diagonal), rtol=1e-12)
    assert pdf(x, *shapes) == 0


def test_second_derivative_of_a_density_that_is_0() -> None:
    np.testing.assert_allclose(fg.grad(fg.grad(stats.maxwell.pdf))(0.0), 2 * math.sqrt(2 / math.pi))
    np.testing.assert_allclose(fg.grad(fg.grad(stats.gamma.pdf))(0.0, 3.0), 1.0)
    np.testing.assert_allclose(fg.grad(fg.grad(stats.gamma.cdf))(0.0, 2.0), 1.0)


@pytest.mark.parametrize(("name", "k", "parameters", "slope"), MASSES)
def test_masses_at_the_ends_of_parameters(name: str, k: int, parameters: tuple[Any, ...], slope: float) -> None:
    family = getattr(stats, name)
    mass: Callable[[Any], Any] = lambda p: family.pmf(k, *parameters[:-1], p)
    log_mass: Callable[[Any], Any] = lambda p: family.logpmf(k, *parameters[:-1], p)
    p = parameters[-1]
    for run in (fg.grad(mass), fg.jit(fg.grad(mass), engine="numpy")):
        np.testing.assert_allclose(run(p), slope, rtol=1e-12)
    if mass(p) == 1:
        np.testing.assert_allclose(fg.grad(log_mass)(p), slope, rtol=1e-12)
    both = lambda p: family.pmf(np.array([k, k]), *parameters[:-1], p)
    np.testing.assert_allclose(fg.jacrev(both)(np.array([p, 0.4]))[0, 0], slope, rtol=1e-12)


def test_all_counts_at_once() -> None:
    for p, expected in ((0.0, [-5, math.inf]), (1.0, [-math.inf, 5]), (1e-9, [-5, 5e9]), (1 - 1e-9, [-5e9, 5])):
        found = fg.jacfwd(lambda p: stats.binom.logpmf(np.array([0.0, 5.0]), 5, p))(p)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_tails_of_geom_at_a_sure_success() -> None:
    for k, slope in ((1, 1.0), (2, 0.0), (3, 0.0)):
        for method, sign in (("cdf", 1), ("logcdf", 1), ("sf", -1)):
            tail = lambda p, k=k, method=method: getattr(stats.geom, method)(k, p)
            for run in (fg.grad(tail), fg.jit(fg.grad(tail), engine="numpy"), fg.jit(fg.grad(tail))):
                assert run(1.0) == sign * slope


def test_programs_on_xla() -> None:
    def slopes(x: Any, p: Any) -> list[Any]:
        return [
            *[fg.grad(getattr(stats.expon, method))(x) for method in TAILS],
            fg.grad(stats.expon.ppf)(x),
            fg.grad(stats.beta.pdf)(x, 2.0, 3.0),
            fg.grad(stats.weibull_min.pdf)(x, 2.0),
            fg.grad(lambda p: stats.binom.logpmf(0, 5, p))(p),
            fg.grad(lambda p: stats.poisson.pmf(1, p))(p),
        ]

    for engine in ("xla", "numba"):
        found = fg.jit(slopes, engine=engine)(0.0, 0.0)
        np.testing.assert_allclose(found, [1, -1, math.inf, -1, 1, 12, 2, -5, 1], rtol=1e-12)
