"""Every function of ``funcgrad.scipy.special`` beside SciPy's: values, dtypes, derivatives, and what is refused."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.scipy.special
import numpy as np
import pytest
import scipy.special as scipys

import funcgrad as fg
from funcgrad.errors import NotDifferentiableError, UnsupportedFunctionError
from funcgrad.scipy import special
from tests.laws._together import result, run_together

ANY, POSITIVE, OTHER = np.array([-2.3, 0.4, 1.7]), np.array([1.3, 0.4, 2.5]), np.array([0.8, 3.1, 1.7])
UNIT, ORDERS = np.array([0.3, 0.7, 0.2]), np.array([0, 1, 3])


def _all(names: str, value: Any) -> dict[str, Any]:
    return dict.fromkeys(names.split(), value)


# Per function the arguments that it is tried with; of integers there are no derivatives.
ARGUMENTS: dict[str, tuple[np.ndarray, ...]] = {
    **_all("erfc erfcx erfi dawsn ndtr log_ndtr exprel cosm1 j0 j1 rgamma expi gammasgn", (ANY,)),
    **_all("loggamma exp1 y0 y1 k0 k1 k0e k1e spence jv yv iv zeta factorial softplus", (POSITIVE,)),
    **_all("erfinv erfcinv ndtri ellipk ellipkm1 ellipe", (UNIT,)),
    "ndtri_exp": (-POSITIVE,),
    **_all(
        "beta betaln binom gammainc gammaincc rel_entr kl_div huber pseudo_huber boxcox boxcox1p inv_boxcox "
        "inv_boxcox1p poch comb perm jv yv iv ive kv kve jn",
        (POSITIVE, OTHER),
    ),
    **_all("gammaincinv gammainccinv stdtrit", (POSITIVE, UNIT)),
    **_all("stdtr owens_t", (POSITIVE, ANY)),
    **_all("chdtr chdtrc", (POSITIVE, OTHER)),
    "chdtri": (POSITIVE, UNIT),
    **_all("fdtr fdtrc gdtr gdtrc", (POSITIVE, OTHER, POSITIVE)),
    **_all("betainc betaincc betaincinv betainccinv", (POSITIVE, OTHER, UNIT)),
    **_all("yn kn expn", (ORDERS, OTHER)),
    **_all("eval_legendre eval_chebyt eval_chebyu eval_hermite eval_hermitenorm eval_laguerre", (ORDERS, UNIT)),
    **_all("eval_gegenbauer eval_genlaguerre", (ORDERS, POSITIVE, UNIT)),
    "eval_jacobi": (ORDERS, POSITIVE, OTHER, UNIT),
    **_all("ellipkinc ellipeinc", (ANY, np.array([0.2, -1.5, 0.7]))),
    "hyp0f1": (POSITIVE, ANY),
    "hyp1f1": (POSITIVE, OTHER, ANY),
    "hyp2f1": (POSITIVE, OTHER, POSITIVE + 1, UNIT),
    "hyperu": (POSITIVE, OTHER, POSITIVE),
}
# The positions of arguments for which no rule is known.
REFUSED: dict[str, tuple[int, ...]] = {
    **_all("jv yv iv ive kv kve jn hyp0f1 zeta", (0,)),
    **_all("hyp1f1 hyperu eval_gegenbauer eval_genlaguerre", (0, 1)),
    **_all("hyp2f1 eval_jacobi", (0, 1, 2)),
    **_all("ellipkinc ellipeinc", (1,)),
}
# SciPy's Python functions of these do not take traced values; ours are called.
PYTHON = {"factorial", "softplus", "comb", "perm"}
ELSEWHERE = "multigammaln lambertw sph_harm_y sinc wofz"


def ours_or_theirs(name: str) -> Callable[..., Any]:
    return getattr(special if name in PYTHON or not hasattr(scipys, name) else scipys, name)


def differentiated(name: str) -> list[int]:
    """The numbers of the arguments by which there are derivatives."""
    return [i for i, x in enumerate(ARGUMENTS[name]) if x.dtype.kind == "f" and i not in REFUSED.get(name, ())]


def function(name: str) -> Callable[..., Any]:
    """The value, and the gradient of its sum by what has rules."""
    f, chosen = ours_or_theirs(name), differentiated(name)

    def value_and_gradients(*xs: Any) -> list[Any]:
        y, pull = fg.vjp(lambda *moved: f(*_placed(xs, chosen, moved)), *[xs[i] for i in chosen])
        return [y, *pull(np.ones(y.shape, y.dtype))]

    return value_and_gradients


def _placed(xs: Any, chosen: list[int], moved: Any) -> list[Any]:
    xs = list(xs)
    for i, x in zip(chosen, moved, strict=True):
        xs[i] = x
    return xs


@functools.cache
def on_xla() -> dict[str, Any]:
    return run_together({name: (function(name), list(args)) for name, args in ARGUMENTS.items() if name != "zeta"})


@pytest.mark.long
@pytest.mark.parametrize("name", ARGUMENTS)
def test_values_and_gradients(name: str) -> None:
    args = ARGUMENTS[name]
    expected = getattr(scipys, name)(*args) if hasattr(scipys, name) else np.logaddexp(args[0], 0)
    if name == "zeta":
        np.testing.assert_allclose(special.zeta(args[0] + 1), scipys.zeta(args[0] + 1))
        return
    y, *gradients = function(name)(*args)
    assert y.dtype == expected.dtype
    np.testing.assert_allclose(y, expected, rtol=1e-12)
    np.testing.assert_allclose(getattr(special, name)(*args), expected, rtol=1e-12)
    for got, on_numpy in zip(result(on_xla(), name), [y, *gradients], strict=True):
        np.testing.assert_allclose(got, on_numpy, rtol=1e-8)
    for i, gradient in zip(differentiated(name), gradients, strict=True):
        np.testing.assert_allclose(gradient, _difference(name, i), rtol=1e-7, atol=1e-9, err_msg=f"argument {i}")


def _difference(name: str, i: int, step: float = 5e-4) -> np.ndarray:
    args, f = ARGUMENTS[name], getattr(special, name)

    def at(t: float) -> np.ndarray:
        return f(*[x + t * step if j == i else x for j, x in enumerate(args)])

    return (8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * step)


@pytest.mark.parametrize("name", [name for name in ARGUMENTS if name not in PYTHON])
def test_dtypes(name: str) -> None:
    for kind in (np.int64, np.float32):
        args = [np.ones(2, np.int64 if x.dtype.kind == "i" else kind) for x in ARGUMENTS[name]]
        with np.errstate(all="ignore"):
            assert getattr(special, name)(*args).dtype == getattr(scipys, name)(*args).dtype


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_rule_is_refused_by_name(name: str) -> None:
    # An incomplete elliptic integral ends where its root does.
    args = [x + 1.0 if name[:5] != "ellip" else x for x in ARGUMENTS[name]]
    f = getattr(special, name)
    for i in REFUSED[name]:
        with pytest.raises(
            NotDifferentiableError, match=r"^scipy\.special\.\w+: its derivative by .* no closed formula"
        ):
            fg.grad(lambda x, i=i: np.sum(f(*args[:i], x, *args[i + 1 :])))(args[i])


def _mills(x: float) -> float:
    return math.sqrt(2 / math.pi) / scipys.erfcx(-x / math.sqrt(2))


def _log_density(a: float, x: float) -> float:
    return math.exp((a - 1) * math.log(x) - x - math.lgamma(a))


# Points at which values are poor or formulas cancel: the derivative, and the second one where it is given.
TAILS: dict[str, tuple[Callable[[Any], Any], float, float, float | None]] = {
    "log_ndtr": (scipys.log_ndtr, -40.0, _mills(-40), -_mills(-40) * (_mills(-40) - 40)),
    "log_ndtr far": (scipys.log_ndtr, -1e6, _mills(-1e6), None),
    "log_ndtr right": (scipys.log_ndtr, 20.0, math.exp(-200) / math.sqrt(2 * math.pi), None),
    "erfcx": (scipys.erfcx, 1e4, -5.6418957508e-9, 1.12837915016e-12),
    "dawsn": (scipys.dawsn, 1e4, -5.000000075e-9, 1.000000030e-12),
    "ndtri": (scipys.ndtri, 1e-12, math.sqrt(2 * math.pi) * math.exp(7.034483825301131**2 / 2), None),
    "erfinv": (scipys.erfinv, 1 - 2.0**-33, 921362263.04511385, None),
    "erfcinv": (scipys.erfcinv, 1e-300, -0.886226925452758 * math.exp(scipys.erfcinv(1e-300) ** 2), None),
    "rgamma at a pole": (scipys.rgamma, -3.0, -6.0, None),
    "gammainc": (lambda x: scipys.gammainc(3.0, x), 600.0, _log_density(3, 600), None),
    "gammaincc by a": (lambda a: scipys.gammaincc(a, 0.5), 1.0, 0.48945757610237842, None),
    "gammainc, 0": (lambda x: scipys.gammainc(1.0, x), 0.0, 1.0, None),
    "betaln": (lambda a: scipys.betaln(a, 1.0), 1e10, -1e-10, 1e-20),
    "ellipk": (scipys.ellipk, 1e-9, math.pi / 8 * (1 + 9 / 8 * 1e-9), 9 * math.pi / 64),
    "exprel": (scipys.exprel, 1e-9, 0.5 + 1e-9 / 3, 1 / 3),
    "spence": (scipys.spence, 1.0, -1.0, 0.5),
    "boxcox": (lambda x: scipys.boxcox(2.5, x), 0.0, math.log(2.5) ** 2 / 2, math.log(2.5) ** 3 / 3),
    "boxcox at 0": (lambda x: scipys.boxcox(0.0, x), 2.0, 0.25, -0.25),
    "binom at a zero": (lambda n: scipys.binom(n, 5.0), 3.0, -0.05, None),
    "kl_div": (lambda y: scipys.kl_div(0.0, y), 2.0, 1.0, 0.0),
    "rel_entr": (lambda y: scipys.rel_entr(0.0, y), 2.0, 0.0, 0.0),
    "huber": (lambda r: scipys.huber(1.0, r), -3.0, -1.0, 0.0),
}


@pytest.mark.parametrize("name", TAILS)
def test_tails(name: str) -> None:
    f, x, first, second = TAILS[name]
    assert float(fg.grad(f)(x)) == pytest.approx(first, rel=1e-8)
    if second is not None:
        assert float(fg.grad(fg.grad(f))(x)) == pytest.approx(second, rel=1e-6, abs=1e-14)


def test_tails_on_xla() -> None:
    found = run_together({k: (lambda x, f=f: [fg.grad(f)(x)], [np.float64(x)]) for k, (f, x, _, _) in TAILS.items()})
    for name, (_, _, first, _) in TAILS.items():
        np.testing.assert_allclose(result(found, name)[0], first, rtol=1e-8, err_msg=name)


def test_python_functions() -> None:
    x, theirs = POSITIVE + 2, vars(scipys)["multigammaln"]
    np.testing.assert_allclose(special.multigammaln(x, 3), [theirs(each, 3) for each in x])
    np.testing.assert_allclose(fg.grad(lambda x: special.multigammaln(x, 2))(3.0), np.sum(scipys.psi([3.0, 2.5])))
    np.testing.assert_allclose(special.comb([5, 4, -1], [2, 6, 1]), scipys.comb([5, 4, -1], [2, 6, 1]))
    np.testing.assert_allclose(special.comb(4.0, 2.0, repetition=True), scipys.comb(4, 2, repetition=True))
    np.testing.assert_allclose(special.perm([5, 4], [2, 6]), scipys.perm([5, 4], [2, 6]))
    np.testing.assert_allclose(special.factorial([0, 4, -1]), scipys.factorial([0, 4, -1]))
    np.testing.assert_allclose(fg.grad(scipys.zeta, 1)(3.0, 2.0), -3 * scipys.zeta(4, 2))
    for call in (special.comb, special.perm):
        with pytest.raises(UnsupportedFunctionError, match="exact=True"):
            call(3.0, 2.0, exact=True)
    with pytest.raises(ValueError, match=r"multigammaln: d is 0"):
        special.multigammaln(x, 0)


def test_lambertw() -> None:
    z = np.array([0.0, 0.5, 3.0, 50.0])
    for k in (0, 1, -1):
        got, slope = fg.jvp(lambda z, k=k: scipys.lambertw(z, k), (z[1:],), (np.ones(3),))
        w = scipys.lambertw(z[1:], k)
        np.testing.assert_allclose(got, w)
        np.testing.assert_allclose(slope, w / (z[1:] * (1 + w)))
    assert float(fg.grad(lambda x: special.lambertw(x).real)(0.0)) == 1.0
    np.testing.assert_allclose(fg.jit(fg.grad(lambda x: special.lambertw(x).real))(1.0), 0.3618962566348892)
    with pytest.raises(UnsupportedFunctionError, match=r"lambertw: k is float64"):
        special.lambertw(1.0, 0.5)


@pytest.mark.parametrize(("n", "m"), [(0, 0), (2, 1), (3, -2), (4, 4)])
def test_spherical_harmonics(n: int, m: int) -> None:
    theta, phi = np.array([0.0, 0.4, 2.0]), np.array([0.3, 2.0, 5.0])
    y, by_theta, by_phi = scipys.sph_harm_y(n, m, theta, phi, diff_n=1)[0], None, None
    slopes = scipys.sph_harm_y(n, m, theta, phi, diff_n=1)[1]
    ours = lambda theta, phi: special.sph_harm_y(n, m, theta, phi)
    zero, one = np.zeros(3), np.ones(3)
    got, by_theta = fg.jvp(ours, (theta, phi), (one, zero))
    by_phi = fg.jvp(ours, (theta, phi), (zero, one))[1]
    np.testing.assert_allclose(got, y, atol=1e-15)
    np.testing.assert_allclose(by_theta, slopes[..., 0], atol=1e-14)
    np.testing.assert_allclose(by_phi, slopes[..., 1], atol=1e-14)
    gradient = fg.grad(lambda theta: np.sum(ours(theta, phi).real))(theta)
    np.testing.assert_allclose(gradient, by_theta.real, atol=1e-14)


def test_scipy_on_xlas_side_is_a_function_to_jax() -> None:
    """A function that runs on the host has our derivative and our batching rule in JAX."""
    with jax.enable_x64(True):
        ours = fg.to_jax(lambda v, x: special.jv(v, x))
        orders, xs = np.array([0.0, 1.0]), np.array([0.5, 2.0])
        slopes = jax.jit(jax.vmap(jax.vmap(jax.grad(ours, 1), (0, None)), (None, 0)))(orders, xs)
        np.testing.assert_allclose(slopes, scipys.jvp(orders, xs[:, None]), rtol=1e-12)
        second = jax.grad(jax.grad(ours, 1), 1)(0.0, 1.0)
        np.testing.assert_allclose(second, scipys.jvp(0, 1.0, 2), rtol=1e-12)
        exact = jax.grad(lambda a: jax.scipy.special.gammainc(a, 2.0))(1.5)
    np.testing.assert_allclose(fg.grad(scipys.gammainc)(1.5, 2.0), exact, rtol=1e-8)


def test_what_runs_on_the_host_computes_with_the_least_numbers() -> None:
    """XLA's threads take them as 0, by which Bessel functions of great arguments are wrong by a thousandth."""
    x = np.array([650.0, 700.0])
    np.testing.assert_allclose(fg.jit(lambda x: special.iv(1.0, x))(x), scipys.iv(1.0, x), rtol=1e-13)


def test_calls_that_fit_no_signature() -> None:
    with pytest.raises(TypeError, match=r"scipy\.special\.jv: 1 arguments were given. It takes 2: v, x"):
        special.jv(1.0)
