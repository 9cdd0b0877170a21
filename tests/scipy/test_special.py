"""Special functions: SciPy's values and dtypes, derivatives against differences, SciPy's own ufuncs as the way in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import mpmath
import numpy as np
import pytest
import scipy.special

import funcgrad as fg
from funcgrad.scipy import special
from tests.scipy.test_special_rules import ARGUMENTS, ELSEWHERE

UNARY = "cbrt digamma entr erf erfc erfinv exp2 exp10 expit expm1 gamma gammaln i0 i0e i1 i1e log1p log_expit logit "
UNARY += "ndtr ndtri psi"
BINARY = "betaln xlog1py xlogy"
X, Y = np.array([0.3, 0.7, 0.2]), np.array([1.3, 0.4, 2.5])


def test_every_function_is_tried() -> None:
    python = {"logsumexp", "softmax", "log_softmax", "polygamma", *ELSEWHERE.split()}
    assert {*UNARY.split(), *BINARY.split()} | python | ARGUMENTS.keys() == set(special.__all__)


@pytest.mark.parametrize("name", [*UNARY.split(), *BINARY.split()])
def test_ufuncs(name: str) -> None:
    theirs, ours = getattr(scipy.special, name), getattr(special, name)
    args = (X, Y)[: theirs.nin]
    expected = theirs(*args)
    np.testing.assert_allclose(ours(*args), expected, rtol=1e-12)
    value, pullback = fg.vjp(theirs, *args)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    fg.check_grads(theirs, args, order=2)
    np.testing.assert_allclose(fg.jit(theirs)(*args), expected, rtol=1e-10)
    single = [x.astype(np.float32) for x in args]
    value, pullback = fg.vjp(theirs, *single)
    assert value.dtype == np.float32
    assert all(bar.dtype == np.float32 for bar in pullback(np.ones(3, np.float32)))


@pytest.mark.parametrize("name", [*UNARY.split(), *BINARY.split()])
def test_dtypes(name: str) -> None:
    theirs, ours = getattr(scipy.special, name), getattr(special, name)
    for dtype in (np.int64, np.float32, np.float64):
        args = [np.ones(2, dtype)] * theirs.nin
        with np.errstate(all="ignore"):
            assert ours(*args).dtype == theirs(*args).dtype


AWKWARD: dict[str, tuple[Callable[[Any], Any], float, float]] = {
    "expit far right": (scipy.special.expit, 800.0, 0.0),
    "expit far left": (scipy.special.expit, -800.0, 0.0),
    "log_expit far left": (scipy.special.log_expit, -800.0, 1.0),
    "xlogy at zero": (lambda x: scipy.special.xlogy(0.0, x), 0.0, 0.0),
    "erf far out": (scipy.special.erf, 30.0, 0.0),
    "i1 at zero": (scipy.special.i1, 0.0, 0.5),
    "i0 at zero": (scipy.special.i0, 0.0, 0.0),
    "gamma below zero": (scipy.special.gamma, -0.5, float(scipy.special.gamma(-0.5) * scipy.special.psi(-0.5))),
}


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_points(name: str) -> None:
    f, x, slope = AWKWARD[name]
    assert float(fg.grad(f)(x)) == pytest.approx(slope, abs=1e-14)


@pytest.mark.parametrize("order", [0, 1, 3])
def test_polygamma(order: int) -> None:
    np.testing.assert_allclose(special.polygamma(order, Y), scipy.special.polygamma(order, Y))
    gradient = fg.grad(lambda x: np.sum(special.polygamma(order, x)))(Y)
    np.testing.assert_allclose(gradient, scipy.special.polygamma(order + 1, Y))


def test_betaln_far_from_one_and_at_poles() -> None:
    numbers = [0.0, -0.0, 0.5, 1.0, 2.0, -0.5, -1.0, -2.0, -2.5, 100.0, 1e3, 1e8, 1e15, 1e300, np.inf, -np.inf, np.nan]
    a, b = np.meshgrid(numbers, [*numbers, 1e-10, 1e-300])
    expected = scipy.special.betaln(a, b)
    for engine in ("numpy", "xla"):
        np.testing.assert_allclose(fg.jit(special.betaln, engine=engine)(a, b), expected, rtol=1e-9, atol=1e-10)


M = np.array([[1.0, -2.0, 3.0], [0.5, 1000.0, 999.0]])
SUMS: dict[str, Callable[[Any, Any], Any]] = {
    "logsumexp": lambda m, x: m.logsumexp(x),
    "logsumexp of an axis": lambda m, x: m.logsumexp(x, axis=1),
    "logsumexp keepdims": lambda m, x: m.logsumexp(x, axis=0, keepdims=True),
    "logsumexp with factors": lambda m, x: m.logsumexp(x, axis=1, b=np.array([1.0, 0.5, 2.0])),
    "logsumexp with sign": lambda m, x: m.logsumexp(x, axis=1, b=np.array([1.0, -5.0, 0.5]), return_sign=True)[0],
    "softmax": lambda m, x: m.softmax(x),
    "softmax of an axis": lambda m, x: m.softmax(x, axis=-1),
    "log_softmax": lambda m, x: m.log_softmax(x, axis=0),
}


@pytest.mark.parametrize("name", SUMS)
def test_sums_of_exponentials(name: str) -> None:
    f = SUMS[name]
    expected = f(scipy.special, M)
    got = f(special, M)
    assert got.shape == expected.shape
    np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-12)
    small = np.where(np.abs(M) > 100, 0.7, M)
    fg.check_grads(lambda x: f(special, x), (small,), order=2)
    single = M.astype(np.float32)
    assert f(special, single).dtype == f(scipy.special, single).dtype
    with jax.enable_x64(True):
        np.testing.assert_allclose(jax.jit(lambda x: f(special, x))(M), expected, rtol=1e-12, atol=1e-12)


def test_logsumexp_of_nothing_and_infinity() -> None:
    with np.errstate(divide="ignore"):
        assert special.logsumexp(np.array([-np.inf, -np.inf])) == -np.inf
    assert special.logsumexp(np.array([1.0, np.inf])) == np.inf
    gradient = fg.grad(special.logsumexp)(np.array([0.0, -np.inf]))
    np.testing.assert_array_equal(gradient, [1.0, 0.0])


@pytest.mark.parametrize("numbers", [[0, 1, np.inf], [np.inf, np.inf], [-np.inf, -np.inf], [0, np.nan], [-np.inf, 0]])
def test_beside_infinity(numbers: list[float]) -> None:
    x = np.array([[2.0, *numbers][-2:], numbers[:2]])
    with np.errstate(all="ignore"):
        for name in ("softmax", "log_softmax", "logsumexp"):
            ours = lambda x, name=name: getattr(special, name)(x, axis=1)
            expected = getattr(scipy.special, name)(x, axis=1)
            for y in (ours(x), fg.vjp(ours, x)[0], fg.jit(ours, engine="numpy")(x), fg.jit(ours)(x)):
                np.testing.assert_allclose(y, expected)


def test_refused() -> None:
    with pytest.raises(fg.errors.UnsupportedFunctionError, match=r"scipy\.special\.expit: an operand is complex"):
        special.expit(np.array([1j]))
    with pytest.raises(fg.errors.UnsupportedFunctionError, match=r"scipy\.special\.airy"):
        fg.grad(scipy.special.airy)(1.0)


def test_sums_of_nothing() -> None:
    """The logarithm of an empty sum is -inf; softmax has nothing to give, where SciPy raises."""
    for shape, axis in (((0,), None), ((0, 3), 0), ((2, 0), 1), ((2, 0), 0)):
        x = np.ones(shape)
        with np.errstate(divide="ignore"):
            expected = scipy.special.logsumexp(x, axis=axis)
            np.testing.assert_array_equal(fg.vjp(lambda x, axis=axis: special.logsumexp(x, axis), x)[0], expected)
            np.testing.assert_array_equal(fg.vjp(lambda x, axis=axis: special.log_softmax(x, axis), x)[0], x)
        np.testing.assert_array_equal(fg.vjp(lambda x, axis=axis: special.softmax(x, axis), x)[0], x)


EXTREMES = np.array([0.0, -0.0, 1.0, -1.0, 0.5, -0.5, -2.5, -3.0, -20.3, 1e-10, -1e-10, 30.0, 172.0, -170.5, 700.0])
EXTREMES = np.append(EXTREMES, [-700.0, 1e10, -1e10, 1e300, -1e300, np.inf, -np.inf, np.nan])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", [*UNARY.split(), "polygamma 1", "polygamma 2", "polygamma 3"])
def test_extremes(name: str) -> None:
    """SciPy's values at zero, poles, infinities, NaN and far out, on both engines."""
    if name.startswith("polygamma"):
        order = int(name[-1])
        f, expected = lambda x: special.polygamma(order, x), scipy.special.polygamma(order, EXTREMES)
    else:
        f, expected = getattr(scipy.special, name), getattr(scipy.special, name)(EXTREMES)
    np.testing.assert_allclose(fg.vjp(f, EXTREMES)[0], expected, rtol=1e-13)
    np.testing.assert_allclose(fg.jit(f)(EXTREMES), expected, rtol=1e-9, atol=1e-16)


def test_the_quantile_far_in_the_tails() -> None:
    p = np.array([1e-300, 1e-100, 1e-20, 1e-10, 1e-3, 0.3, 0.5, 0.7, 1 - 1e-10, 0.0, 1.0, -0.1, 1.1, np.nan])
    expected = scipy.special.ndtri(p)
    np.testing.assert_allclose(special.ndtri(p), expected, rtol=1e-15)
    np.testing.assert_allclose(fg.jit(scipy.special.ndtri)(p), expected, rtol=1e-13, atol=1e-16)


@pytest.mark.filterwarnings("ignore:floating point number truncated:RuntimeWarning")
@pytest.mark.parametrize("name", ["kn", "yn", "expn"])
def test_an_order_is_whole(name: str) -> None:
    """SciPy leaves out what is behind the point: by the order the result is a step function."""
    function = getattr(scipy.special, name)
    orders, x = np.array([0.3, 2.9, 1.0]), np.array([0.7, 2.5, 1.5])
    for compiled in (fg.make_graph(function)(orders, x), fg.jit(function), fg.jit(function, engine="numpy")):
        np.testing.assert_allclose(compiled(orders, x), function(orders, x), rtol=1e-12)
    by_order, by_x = fg.grad(lambda n, x: np.sum(function(n, x)), argnums=(0, 1))(orders, x)
    np.testing.assert_array_equal(by_order, 0)
    np.testing.assert_allclose(by_x, fg.grad(lambda x: np.sum(function(np.trunc(orders), x)))(x), rtol=1e-12)


@pytest.mark.parametrize("ignored", [2.0, 1e4, np.inf, np.nan])
def test_terms_without_weight_count_for_nothing(ignored: float) -> None:
    a, b = np.array([1.0, ignored]), np.array([1.0, 0.0])
    value, pullback = fg.vjp(lambda a, b: special.logsumexp(a, b=b), a, b)
    assert value == scipy.special.logsumexp(a, b=b) == fg.jit(lambda a, b: special.logsumexp(a, b=b))(a, b) == 1
    a_bar, b_bar = pullback(1.0)
    np.testing.assert_array_equal(a_bar, [1, 0])
    assert b_bar[0] == 1
    np.testing.assert_allclose(b_bar[1], np.e if ignored == 2 else np.exp(0.999 * np.log(np.finfo(float).max)))


def test_poch_between_poles() -> None:
    z, m = np.array([-12.0, -3, -3, -3, 0, 0]), np.array([-8.0, 2, 3, 5, 0, -2])
    np.testing.assert_allclose(fg.vjp(special.poch, z, m)[0], scipy.special.poch(z, m), rtol=1e-13)
    np.testing.assert_allclose(fg.grad(lambda z: special.poch(z, 3.0))(-3.0), 11, rtol=1e-12)


@pytest.mark.parametrize("z", [1e8, 1e10, 1e15, 1e17, 1e100, 1e300])
@pytest.mark.parametrize("m", [-40.0, -1.0, -0.5, 0.3, 1.0, 2.0])
def test_poch_of_large_numbers(z: float, m: float) -> None:
    # The gamma functions agree in most digits of their logarithms.
    with np.errstate(over="ignore", under="ignore"):
        expected = scipy.special.poch(z, m)
        np.testing.assert_allclose(special.poch(z, m), expected, rtol=1e-12)
        np.testing.assert_allclose(fg.jit(special.poch, engine="numpy")(z, m), expected, rtol=1e-12)
    if 0 < expected < 1e300:
        slope = fg.grad(special.poch, argnums=1)(z, m)
        np.testing.assert_allclose(slope, expected * np.log(z), rtol=1e-7)


def test_poch_is_infinite_where_only_the_upper_gamma_function_has_a_pole() -> None:
    assert special.poch(-0.5, 0.5) == special.poch(-0.5, -0.5) == special.poch(2.0, -2.0) == np.inf


def test_logsumexp_takes_the_wider_dtype_first() -> None:
    a, b = np.array([2, 1], np.float32), np.array([1.0, -1.0])
    value, pullback = fg.vjp(lambda a, b: special.logsumexp(a, b=b), a, b)
    expected: Any = scipy.special.logsumexp(a, b=b)
    np.testing.assert_allclose(value, expected, rtol=1e-15)
    assert pullback(np.float64(1))[0].dtype == np.float32


@pytest.mark.parametrize("size", [3.0, 50.0, 1e3, 1e5, 1e6, 1e10, 1e15, 1e22])
@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_incomplete_beta_of_large_parameters_on_xla(size: float, dtype: str, rng: np.random.Generator) -> None:
    """XLA's continued fraction ends too early: it gave -inf for 0.5."""
    a, b = (size * rng.uniform(0.5, 2.0, (2, 50))).astype(dtype)
    x = a / (a + b)
    x = (x + np.sqrt(x * (1 - x) / (a + b)) * rng.uniform(-2, 2, 50)).clip(0.05, 0.95).astype(dtype)
    for name in ("betainc", "betaincc"):
        y, expected = np.asarray(fg.jit(getattr(special, name))(a, b, x)), getattr(scipy.special, name)(a, b, x)
        assert y.dtype == expected.dtype
        np.testing.assert_allclose(y, expected, rtol=1e-10 if dtype == "f8" else 2e-4, atol=0.0)


def test_incomplete_beta_of_large_parameters_under_jaxs_transforms() -> None:
    f = fg.to_jax(lambda a: special.betainc(a, 6e4, 0.4545))
    with jax.enable_x64(True):
        np.testing.assert_allclose(
            jax.jit(jax.vmap(f))(np.array([5.0, 5e4])), scipy.special.betainc([5.0, 5e4], 6e4, 0.4545)
        )
        slope = jax.grad(lambda x: fg.to_jax(special.betainc)(5e4, 6e4, x))(0.4545)
    np.testing.assert_allclose(slope, fg.grad(lambda x: special.betainc(5e4, 6e4, x))(0.4545))


def test_pseudo_huber_of_infinity() -> None:
    r, delta = np.array([np.inf, -np.inf, 2.0]), np.array([1.0, 0.3, 1e300])
    for f in (special.pseudo_huber, fg.jit(special.pseudo_huber), fg.jit(special.pseudo_huber, engine="numpy")):
        np.testing.assert_allclose(np.asarray(f(delta, r)), [np.inf, np.inf, 2.0])


@pytest.mark.parametrize("b", [1e-100, 1e-8, 0.3, 13.0])
@pytest.mark.parametrize("a", [1e-8, 0.3, 7.0, 1e6])
def test_the_slope_of_beta_keeps_its_digits(a: float, b: float) -> None:
    """The difference ``digamma(a) - digamma(a + b)`` would be rounding alone for a small ``b``."""
    # Type checkers cannot see the functions of its contexts.
    mp: Any = mpmath.mp
    with mp.workdps(300):
        expected = [float(mp.psi(n, mp.mpf(a)) - mp.psi(n, mp.mpf(a) + mp.mpf(b))) for n in (0, 1)]
    slope = fg.grad(lambda a: special.betaln(a, b))
    np.testing.assert_allclose([slope(a), fg.grad(slope)(a)], expected, rtol=1e-14)
    np.testing.assert_allclose(fg.jit(slope)(a), expected[0], rtol=1e-14)


def test_the_slope_of_the_rising_factorial_at_zero() -> None:
    """`poch(z, 0)` is 1, and its derivative by the second argument is the digamma function."""
    z, zero = np.array([0.5, 1.0, 5.0, 50.0, -0.5]), np.zeros(5)
    for f in (special.poch, fg.jit(special.poch), fg.jit(special.poch, engine="numpy")):
        np.testing.assert_array_equal(f(z, zero), np.ones(5))
        total = lambda z, m, f=f: np.sum(f(z, m))
        by_z, by_m = fg.grad(total, argnums=(0, 1))(z, zero)
        np.testing.assert_allclose(by_m, scipy.special.psi(z), rtol=1e-13)
        np.testing.assert_allclose(by_z, zero, atol=1e-13)
    second = fg.jvp(lambda m: fg.jvp(lambda m: special.poch(z, m), (m,), (zero + 1,))[1], (zero,), (zero + 1,))[1]
    np.testing.assert_allclose(second, scipy.special.psi(z) ** 2 + scipy.special.polygamma(1, z)[()], rtol=1e-12)
    # At a pole the function is 1 at 0 alone.
    assert special.poch(-3.0, 0.0) == 1


@pytest.mark.parametrize("x", [1e-100, 1e-20, 1e-8, 0.3, 0.7])
def test_the_curvature_of_incomplete_gamma_functions(x: float) -> None:
    for a in (1.0, 2.0, 0.5, 30.0):
        expected = ((a - 1) / x - 1) * np.exp((a - 1) * np.log(x) - x - scipy.special.gammaln(a))
        for f, sign in ((special.gammainc, 1.0), (special.gammaincc, -1.0)):
            found = fg.grad(fg.grad(lambda x, a=a, f=f: f(a, x)))(x)
            np.testing.assert_allclose(found, sign * expected, rtol=1e-10)
    assert fg.grad(special.gammainc, 1)(2.0, np.inf) == fg.grad(special.gammaincc, 1)(0.5, np.inf) == 0


@pytest.mark.parametrize("m", [1e-12, 1e-8, -1e-8, 0.3, 3.0, 4.5])
@pytest.mark.parametrize("z", [1e-8, 0.5, 1.0, 5.0, 19.0, 50.0, 1e6])
def test_the_derivatives_of_the_rising_factorial_keep_their_digits(z: float, m: float) -> None:
    """The difference ``digamma(z + m) - digamma(z)`` would be rounding alone for a small ``m``."""
    mp: Any = mpmath.mp
    if z + m <= 0:
        m = -m
    with mp.workdps(60):
        y, a, b = mp.rf(mp.mpf(z), mp.mpf(m)), mp.mpf(z) + mp.mpf(m), mp.mpf(z)
        step, upper = mp.psi(0, a) - mp.psi(0, b), mp.psi(0, a)
        curvature = y * (step**2 + mp.psi(1, a) - mp.psi(1, b))
        expected = [float(each) for each in (y * step, y * upper, curvature)]
    by_z = fg.grad(special.poch)
    found = [by_z(z, m), fg.grad(special.poch, 1)(z, m), fg.grad(by_z)(z, m)]
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=0)
    np.testing.assert_allclose(fg.jit(fg.grad(special.poch, (0, 1)))(z, m), expected[:2], rtol=1e-9, atol=0)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_the_divergence_of_huge_numbers(engine: Any) -> None:
    """The sum of the two overflows."""
    huge = np.array([1e308, 1.7e308])
    f = fg.jit(lambda x, y: fg.vjp(special.kl_div, x, y)[0], engine=engine)
    np.testing.assert_array_equal(f(huge, huge), [0, 0])
    slopes = fg.jit(fg.grad(lambda x, y: np.sum(special.kl_div(x, y)), (0, 1)), engine=engine)
    np.testing.assert_array_equal(slopes(huge, huge), np.zeros((2, 2)))
    np.testing.assert_allclose(f(huge, huge[::-1]), huge * np.log(huge / huge[::-1]) - huge + huge[::-1], rtol=1e-12)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
@pytest.mark.parametrize("lmbda", [1e-300, -1e-300, 1e-160, 0.0])
def test_inv_boxcox1p_of_a_tiny_power(lmbda: float, engine: Any) -> None:
    """SciPy's value is ``x`` in place of ``expm1(x)``."""
    x = np.array([0.3, -2.0, 50.0, 1e-200])
    f = fg.jit(special.inv_boxcox1p, engine=engine)
    np.testing.assert_allclose(f(x, lmbda), np.expm1(x), rtol=1e-14)
    assert f(x.astype(np.float32), lmbda).dtype == np.float32
    np.testing.assert_allclose(fg.vjp(special.inv_boxcox1p, x, lmbda)[0], np.expm1(x), rtol=1e-14)
