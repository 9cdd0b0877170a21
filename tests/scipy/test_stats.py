"""Every distribution beside SciPy's: values, in the tails and at the ends, derivatives by points and all parameters."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
import scipy.special
import scipy.stats

import funcgrad as fg
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.scipy import stats
from funcgrad.scipy.stats._base import Distribution
from tests.laws._together import result, run_together

theirs: Any = scipy.stats

SHAPES: dict[str, tuple[float, ...]] = {
    **dict.fromkeys(("norm", "expon", "logistic", "cauchy", "laplace", "uniform", "gumbel_r", "gumbel_l"), ()),
    **dict.fromkeys(("halfnorm", "halfcauchy", "rayleigh", "moyal", "maxwell", "levy"), ()),
    **dict.fromkeys(("loggamma", "genlogistic", "powerlaw", "fisk", "lomax", "gompertz", "nakagami"), (1.8,)),
    **dict.fromkeys(("gengamma", "burr12"), (1.7, 2.3)),
    "invgauss": (0.8,),
    "loguniform": (0.4, 3.5),
    **dict.fromkeys(("t", "gamma", "chi2", "invgamma", "chi", "pareto", "weibull_min", "weibull_max"), (2.6,)),
    **dict.fromkeys(("lognorm", "vonmises", "skewnorm"), (0.7,)),
    **dict.fromkeys(("beta", "f", "exponweib"), (3.4, 5.6)),
    **dict.fromkeys(("genextreme", "genpareto"), (0.2,)),
    "truncnorm": (-0.4, 1.7),
    "poisson": (2.4,),
    "binom": (7, 0.3),
    "nbinom": (2.5, 0.4),
    "geom": (0.3,),
    "bernoulli": (0.3,),
    "betabinom": (7, 1.3, 2.4),
}
VECTORS = {"dirichlet", "multinomial", "multivariate_normal", "multivariate_t", "wishart"}
SAMPLES = {"iqr", "pearsonr", "spearmanr", "f_oneway", "kendalltau", "shapiro"}
SAMPLES |= {"bayes_mvs", "boxcox_llf", "siegelslopes", "weightedtau"}
# Other shapes, each with a reason to be tried.
MORE: list[tuple[str, tuple[float, ...]]] = [
    *[("t", (1e6,)), ("t", (math.inf,)), ("gamma", (0.4,)), ("gamma", (1.0,)), ("beta", (1.0, 1.0)), ("f", (2.0, 3.0))],
    *[("genextreme", (c,)) for c in (0.0, -0.3, 1.0)],
    *[("genpareto", (c,)) for c in (0.0, -0.3, -1.0)],
    *[("truncnorm", ends) for ends in ((3.0, 5.0), (-math.inf, 0.5), (1.0, math.inf), (-9.0, -8.0))],
    *[("binom", (4, 0.0)), ("binom", (4, 1.0)), ("poisson", (0.0,)), ("vonmises", (0.0,)), ("chi2", (2.0,))],
    ("gengamma", (1.7, -2.3)),
    *[("gamma", (-1.0,)), ("beta", (1.0, -2.0)), ("geom", (0.0,)), ("t", (0.0,))],
]
POINTS = np.array([-20, -3, -1, -0.5, 0, 1e-9, 0.1, 0.3, 0.5, 0.7, 1, 1.3, 2, 3, 5, 8, 20, 100, np.nan])
PARTS = np.array([0.0, 1e-6, 0.2, 0.5, 0.9, 1 - 1e-6, 1.0, -0.1, 1.1, np.nan])
QUANTILES = ("ppf", "isf")
MOMENTS = ("mean", "var", "std", "entropy")
# Here ours are finite, or right, and SciPy's are not.
BETTER = {("poisson", "logcdf"), ("geom", "logcdf"), ("burr12", "logcdf")}


def is_discrete(name: str) -> bool:
    return hasattr(getattr(theirs, name), "pmf")


def methods(name: str) -> list[str]:
    """Return the methods with a formula that take a point."""
    densities = ["pmf", "logpmf"] if is_discrete(name) else ["pdf", "logpdf"]
    distribution: Distribution = getattr(stats, name)
    both = [*densities, "cdf", "sf", "logcdf", "logsf", *QUANTILES]
    return [each for each in both if hasattr(distribution, each) and _is_there(distribution, each)]


def _is_there(distribution: Any, method: str) -> bool:
    try:
        getattr(distribution, method)(0.5, *SHAPES[distribution.name])
    except UnsupportedFunctionError as error:
        return not str(error).startswith(f"scipy.stats.{distribution.name}.{method}: funcgrad has no formula")
    return True


def test_every_distribution_is_tried() -> None:
    assert SHAPES.keys() | VECTORS | SAMPLES == set(stats.__all__)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", SHAPES)
def test_values(name: str) -> None:
    ours, other = getattr(stats, name), getattr(theirs, name)
    more = [shapes for each, shapes in MORE if each == name]
    options: list[tuple] = [(), (2,)] if is_discrete(name) else [(), (0.3, 1.7), (0.0, -1.0)]
    for shapes, rest in [(SHAPES[name], rest) for rest in options] + [(shapes, ()) for shapes in more]:
        for method in methods(name):
            x = PARTS if method in QUANTILES else POINTS
            got, expected = (getattr(each, method)(x, *shapes, *rest) for each in (ours, other))
            assert got.dtype == expected.dtype
            close = np.isclose(got, expected, rtol=1e-9, atol=1e-300, equal_nan=True)
            # Logarithms of what SciPy rounds to 0, or to 1, are better here.
            close |= (expected == -np.inf) & (got < -700)
            if (name, method) in BETTER:
                close |= abs(expected - got) < (1 if name == "burr12" else 1e-15)
            wrong = [(a, b, c) for a, b, c, fine in zip(x, got, expected, close, strict=True) if not fine]
            assert not wrong, (method, shapes, rest, wrong)
        for method in MOMENTS:
            if method.replace("std", "var") in ours._formulas:
                got, expected = (np.asarray(getattr(each, method)(*shapes, *rest)) for each in (ours, other))
                np.testing.assert_allclose(got, expected, err_msg=str((method, shapes)))


def inner_points(name: str) -> np.ndarray:
    """Three points of the support for location 0.2 and scale 1.5; of whole numbers, three of these."""
    shapes = SHAPES[name]
    if is_discrete(name):
        return np.array([1.0, 3.0, 2.0]) if name != "bernoulli" else np.array([0.0, 1.0, 0.0])
    return getattr(theirs, name).ppf([0.2, 0.45, 0.9], *shapes, 0.2, 1.5)


def call(name: str, method: str) -> tuple[Callable[..., Any], list[Any]]:
    """A method of a point and all parameters that are real numbers; and these."""
    shapes = [np.float64(each) for each in SHAPES[name]]
    point = np.array([0.2, 0.45, 0.9]) if method in QUANTILES else inner_points(name)
    if not is_discrete(name):
        return getattr(stats, name).__getattribute__(method), [point, *shapes, np.float64(0.2), np.float64(1.5)]
    moving = shapes[1:] if name in ("binom", "betabinom") else shapes
    fixed = shapes[: len(shapes) - len(moving)]
    return lambda *xs: getattr(getattr(stats, name), method)(point, *fixed, *xs), moving


def gradients(name: str, method: str) -> Callable[..., list[Any]]:
    """The value and the gradient of its sum."""
    f = call(name, method)[0]

    def run(*xs: Any) -> list[Any]:
        y, pull = fg.vjp(f, *xs)
        return [y, *pull(np.ones(y.shape, y.dtype))]

    return run


CASES = [
    (name, method)
    for name in SHAPES
    for method in ("logpdf", "logpmf", "cdf", "logsf", "ppf")
    # The last logarithm is that of 0.
    if method in methods(name) and (name, method) != ("bernoulli", "logsf")
]


@functools.cache
def on_xla() -> dict[str, Any]:
    return run_together({f"{n} {m}": (gradients(n, m), call(n, m)[1]) for n, m in CASES if m.startswith("log")})


@pytest.mark.long
@pytest.mark.parametrize(("name", "method"), CASES)
def test_gradients(name: str, method: str) -> None:
    f, args = call(name, method)
    y, *bars = gradients(name, method)(*args)
    step = 1e-4
    for i, bar in enumerate(bars):

        def at(t: float, i: int = i) -> Any:
            return f(*[x + t * step if j == i else x for j, x in enumerate(args)])

        slope = (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)
        expected = slope if np.shape(args[i]) else np.sum(slope)
        np.testing.assert_allclose(bar, expected, rtol=1e-6, atol=1e-8, err_msg=f"argument {i}")
    if method.startswith("log"):
        for got, on_numpy in zip(result(on_xla(), f"{name} {method}"), [y, *bars], strict=True):
            np.testing.assert_allclose(got, on_numpy, rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize("name", [name for name in SHAPES if not is_discrete(name)])
def test_second_derivatives_of_log_densities(name: str) -> None:
    f, args = call(name, "logpdf")
    total = lambda *xs: np.sum(f(*xs))
    places = tuple(range(1, len(args)))
    got = np.array(fg.hessian(total, places)(*args), dtype=float)
    step = 1e-5
    for i in places:

        def slope(t: float, i: int = i) -> np.ndarray:
            return np.array(fg.grad(total, places)(*[x + t * step if j == i else x for j, x in enumerate(args)]))

        np.testing.assert_allclose(got[i - 1], (slope(1) - slope(-1)) / (2 * step), rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", [name for name in SHAPES if not is_discrete(name)])
def test_outside_of_the_support(name: str) -> None:
    """The density is 0 there, with a derivative of 0 beside points that have others; under each engine."""
    ours, shapes = getattr(stats, name), SHAPES[name]
    x = np.array([-np.inf, -50.0, 0.3, 0.6, 50.0, np.inf])
    first, last = getattr(theirs, name).support(*shapes)
    inside = np.isfinite(x) & (x >= first) & (x <= last)
    gradient = fg.grad(lambda x, chosen: np.sum(np.where(chosen, ours.logpdf(x, *shapes), 0.0)))
    for way in (gradient, fg.jit(gradient, engine="numpy")):
        for chosen in (inside, ~inside):
            slopes = way(x, chosen)
            # The support has no end, and there is no derivative at infinity.
            slopes = slopes[1:-1] if name == "vonmises" else slopes
            assert np.isfinite(slopes).all()
            assert not slopes[~inside[1:-1] if len(slopes) == 4 else ~inside].any()
    logs = fg.grad(lambda shapes: np.sum(ours.logpdf(x[inside][0], *shapes) + ours.pdf(1e2, *shapes)))
    assert np.isfinite(logs(np.array(SHAPES[name]))).all()


def test_frozen() -> None:
    x = np.array([0.5, 1.5])
    frozen = stats.gamma(2.5, loc=0.1, scale=2.0)
    for method in ("logpdf", "pdf", "cdf", "sf", "logcdf", "logsf"):
        expected = getattr(theirs.gamma(2.5, 0.1, 2.0), method)(x)
        np.testing.assert_allclose(getattr(frozen, method)(x), expected)
    np.testing.assert_allclose(frozen.ppf(0.3), theirs.gamma(2.5, 0.1, 2.0).ppf(0.3))
    np.testing.assert_allclose([frozen.mean(), frozen.std(), frozen.median()], [5.1, math.sqrt(10), frozen.ppf(0.5)])
    np.testing.assert_allclose(frozen.interval(0.9), theirs.gamma(2.5, 0.1, 2.0).interval(0.9))
    np.testing.assert_allclose(stats.truncnorm(-1, 2, 0.5, 2).support(), theirs.truncnorm(-1, 2, 0.5, 2).support())
    slope = fg.grad(lambda s: np.sum(stats.norm(scale=s).logpdf(x)))(2.0)
    np.testing.assert_allclose(slope, np.sum(x**2 / 8 - 0.5))
    with pytest.raises(AttributeError, match=r"gamma> has no rvs: samples are in funcgrad\.random"):
        frozen.rvs()


REFUSED: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "a missing shape": (lambda: stats.gamma.logpdf(1.0), TypeError, r"scipy\.stats\.gamma\.logpdf: a is missing"),
    "too many": (lambda: stats.norm.pdf(1.0, 0, 1, 2), TypeError, r"3 parameters were given.*\(loc=0, scale=1\)"),
    "unknown": (lambda: stats.norm.pdf(1.0, mean=1), TypeError, r"mean is unknown"),
    "twice": (lambda: stats.norm.pdf(1.0, 0.0, loc=1), TypeError, r"loc is unknown, or given twice"),
    "no formula": (lambda: stats.vonmises.cdf(1.0, 2.0), UnsupportedFunctionError, r"vonmises\.cdf: .*no formula"),
    "complex": (lambda: stats.norm.pdf(1j), UnsupportedFunctionError, r"an argument is complex128"),
    "singular": (
        lambda: fg.grad(lambda c: stats.multivariate_normal.logpdf([0.0, 1.0], cov=c, allow_singular=True))(
            np.ones((2, 2))
        ),
        UnsupportedFunctionError,
        "allow_singular",
    ),
    "negative": (
        lambda: stats.multivariate_normal.logpdf([0.0, 1.0], cov=-np.eye(2), allow_singular=True),
        ValueError,
        "eigenvalue -1",
    ),
    "not positive": (
        lambda: stats.multivariate_normal.logpdf([0.0, 1.0], cov=-np.eye(2)),
        np.linalg.LinAlgError,
        "positive",
    ),
    "no matrix": (lambda: stats.multivariate_normal.logpdf([0.0], cov=np.ones((2, 3))), ValueError, r"shape \(2, 3\)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    f, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        f()


S = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.5]])
M, V = np.array([0.1, -0.2, 0.4]), np.array([[0.5, 1.0, -0.3], [0.0, 0.2, 2.0]])
P = np.array([0.2, 0.5, 0.3])
VECTOR_CASES: dict[str, tuple[str, str, tuple]] = {
    "normal": ("multivariate_normal", "logpdf", (V, M, S)),
    "normal, one point": ("multivariate_normal", "pdf", (V[0], M, S)),
    "normal, diagonal": ("multivariate_normal", "logpdf", (V, M, np.diag(S))),
    "normal, a number": ("multivariate_normal", "logpdf", (V, M, 2.0)),
    "normal, one dimension": ("multivariate_normal", "logpdf", (V[0], 0.3, 2.0)),
    "t": ("multivariate_t", "logpdf", (V, M, S, 3.5)),
    "t, normal": ("multivariate_t", "logpdf", (V, M, S, math.inf)),
    "dirichlet": ("dirichlet", "logpdf", (P, 2 + M)),
    "dirichlet, columns": ("dirichlet", "logpdf", (np.stack([P, P[::-1]], axis=1), 2 + M)),
    "dirichlet, short": ("dirichlet", "pdf", (P[:-1], 2 + M)),
    "multinomial": ("multinomial", "logpmf", (np.array([1, 2, 3]), 6, P)),
    "multinomial, rows": ("multinomial", "pmf", (np.array([[1, 2, 3], [1, 2, 2]]), 6, P)),
    "wishart": ("wishart", "logpdf", (S @ S, 5.5, S)),
}


@pytest.mark.parametrize("case", VECTOR_CASES)
def test_vectors(case: str) -> None:
    name, method, args = VECTOR_CASES[case]
    expected = getattr(getattr(theirs, name), method)(*args)
    f = getattr(getattr(stats, name), method)
    np.testing.assert_allclose(f(*args), expected, rtol=1e-12)
    np.testing.assert_allclose(getattr(getattr(stats, name)(*args[1:]), method)(args[0]), expected, rtol=1e-12)
    moving = tuple(np.asarray(x) for x in args if np.asarray(x).dtype.kind == "f" and np.isfinite(x).all())
    fixed = [x for x in args if np.asarray(x).dtype.kind != "f"]
    infinite = [x for x in args if np.asarray(x).dtype.kind == "f" and not np.isfinite(x).all()]
    # A matrix stays symmetric, whatever differences are taken.
    total = lambda *xs: np.sum(f(*fixed, *[x / 2 + x.T / 2 if x.shape == (3, 3) else x for x in xs], *infinite))
    fg.check_grads(total, moving, order=1)


def test_vectors_on_xla() -> None:
    methods = {case: getattr(getattr(stats, name), method) for case, (name, method, _) in VECTOR_CASES.items()}
    calls = {
        case: (lambda *xs, f=f: [f(*xs)], [np.asarray(x) for x in VECTOR_CASES[case][2]]) for case, f in methods.items()
    }
    found = run_together(calls)
    for case, (name, method, args) in VECTOR_CASES.items():
        expected = getattr(getattr(theirs, name), method)(*args)
        np.testing.assert_allclose(result(found, case)[0], expected, rtol=1e-11, err_msg=case)


def test_moments_of_vectors() -> None:
    np.testing.assert_allclose(stats.multivariate_normal(M, S).entropy(), theirs.multivariate_normal(M, S).entropy())
    np.testing.assert_allclose(stats.dirichlet.entropy(2 + M), theirs.dirichlet.entropy(2 + M))
    fg.check_grads(stats.dirichlet.entropy, (2 + M,), order=2)
    for method in ("mean", "var"):
        np.testing.assert_allclose(getattr(stats.dirichlet, method)(2 + M), getattr(theirs.dirichlet, method)(2 + M))


def test_tails() -> None:
    """Logarithms and their derivatives are not 0 where values round to 0."""
    ratio = math.sqrt(2 / math.pi) / scipy.special.erfcx(40 / math.sqrt(2))
    assert float(fg.grad(stats.norm.logcdf)(-40.0)) == pytest.approx(ratio, rel=1e-12)
    assert float(fg.grad(stats.norm.logsf)(40.0)) == pytest.approx(-ratio, rel=1e-12)
    density = float(theirs.norm.pdf(theirs.norm.ppf(1e-12)))
    assert float(fg.grad(stats.norm.ppf)(1e-12)) == pytest.approx(1 / density, rel=1e-9)
    hazard = math.sqrt(2 / math.pi) / scipy.special.erfcx(30 / math.sqrt(2))
    assert float(fg.grad(lambda a: stats.truncnorm.logpdf(31.0, a, 35.0))(30.0)) == pytest.approx(hazard, rel=1e-12)
    assert float(stats.expon.logcdf(100.0)) == pytest.approx(-math.exp(-100), rel=1e-12)
    assert float(fg.grad(fg.grad(stats.logistic.logpdf))(0.0)) == -0.5
    assert float(fg.grad(stats.t.cdf)(0.0, 3.0)) == pytest.approx(theirs.t.pdf(0, 3))


def test_batched_and_in_jax() -> None:
    x, shape = np.linspace(0.5, 3, 4), np.array([1.5, 2.5, 3.5, 0.7])
    each = fg.vmap(fg.grad(stats.gamma.logpdf, (0, 1)))(x, shape)
    for i in range(4):
        np.testing.assert_allclose([part[i] for part in each], fg.grad(stats.gamma.logpdf, (0, 1))(x[i], shape[i]))
    with jax.enable_x64(True):
        theirs_, ours = jax.scipy.stats.gamma.logpdf, fg.to_jax(lambda x, a: stats.gamma.logpdf(x, a))
        np.testing.assert_allclose(
            jax.vmap(jax.grad(ours, (0, 1)))(x, shape), jax.vmap(jax.grad(theirs_, (0, 1)))(x, shape), rtol=1e-12
        )


@pytest.mark.parametrize(
    ("name", "shapes", "end", "functions"),
    [
        ("gumbel_r", (), -1, ("pdf", "cdf", "sf", "logsf")),
        ("gumbel_l", (), 1, ("pdf", "cdf", "sf", "logcdf")),
        ("moyal", (), -1, ("pdf", "cdf", "sf", "logsf")),
        ("loggamma", (1.5,), 1, ("pdf", "cdf", "sf", "logcdf")),
        ("loggamma", (1e6,), 1, ("pdf", "cdf", "sf", "logcdf")),
    ],
)
def test_double_exponentials_end_with_derivatives_of_zero(
    name: str, shapes: tuple[float, ...], end: int, functions: tuple[str, ...]
) -> None:
    """Also where ``exp(x)`` overflows; a NaN stays one, and around the mode the numbers are SciPy's."""
    far = end * np.array([40.0, 700.0, 720.0, 1e5])
    near = np.linspace(-9.0, 9.0, 19) + math.log(shapes[0] if shapes else 1.0)
    for function in functions:
        ours, wanted = (getattr(getattr(module, name), function) for module in (stats, theirs))

        def f(x: Any, ours: Any = ours) -> Any:
            return ours(x, *shapes)

        with np.errstate(all="ignore"):
            # SciPy's formulas overflow on their way.
            np.testing.assert_array_equal(f(far), wanted(far, *shapes))
            known = wanted(near, *shapes)
        # SciPy takes the logarithm of a probability that underflows.
        underflown = np.isinf(known)
        np.testing.assert_allclose(f(near)[~underflown], known[~underflown], rtol=1e-7, atol=1e-14)
        assert np.all(f(near)[underflown] < -700)
        assert np.isnan(f(np.nan))
        for x in far:
            assert fg.value_and_grad(fg.grad(f))(x) == (0.0, 0.0)
            assert fg.jvp(f, (x,), (1.0,))[1] == 0.0


def test_exponweib_isf_in_the_tail() -> None:
    q = np.array([1e-300, 3e-16, 0.3, 1 - 1e-9])
    value, pullback = fg.vjp(lambda q: stats.exponweib.isf(q, 2.5, 0.75), q)
    expected = theirs.exponweib.isf(q, 2.5, 0.75)
    np.testing.assert_allclose(value, expected, rtol=1e-9)
    np.testing.assert_allclose(pullback(np.ones(4))[0], -1 / theirs.exponweib.pdf(expected, 2.5, 0.75), rtol=1e-7)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_cauchy_quantiles_compile(engine: str) -> None:
    q = np.array([1e-12, 0.2, 0.5, 0.9, 1 - 1e-9])
    for name in ("ppf", "isf"):
        found = fg.jit(getattr(stats.cauchy, name), engine=engine)(q)
        np.testing.assert_allclose(found, getattr(theirs.cauchy, name)(q), rtol=1e-9, atol=1e-15)
