"""``numpy.polynomial``, which has no hooks: what its own code makes of traced values, against differences."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import UnsupportedFunctionError

FAMILIES = {
    "polynomial": "poly",
    "chebyshev": "cheb",
    "legendre": "leg",
    "laguerre": "lag",
    "hermite": "herm",
    "hermite_e": "herme",
}
h = 1e-3
pytestmark = pytest.mark.filterwarnings("ignore::funcgrad.errors.ObjectArrayWarning")


def family(name: str) -> Callable[[str], Any]:
    module = importlib.import_module(f"numpy.polynomial.{name}")
    return lambda function: getattr(module, FAMILIES[name] + function)


def check(f: Callable[..., Any], *args: np.ndarray) -> None:
    """The value, and the gradient of a weighted sum by each argument against central differences."""
    expected = np.asarray(f(*args))
    weights = np.random.default_rng(0).normal(size=expected.shape)

    def loss(*args: Any) -> Any:
        y = f(*args)
        assert np.shape(y) == weights.shape
        return np.sum(y * weights)

    value, bars = fg.value_and_grad(loss, argnums=tuple(range(len(args))))(*args)
    np.testing.assert_allclose(value, loss(*args), rtol=1e-12)
    for i, (x, bar) in enumerate(zip(args, bars, strict=True)):

        def along(t: float, step: np.ndarray, i: int = i) -> Any:
            return loss(*args[:i], args[i] + t * step, *args[i + 1 :])

        steps = np.eye(x.size).reshape(x.size, *x.shape)
        slopes = np.array([8 * (along(h, s) - along(-h, s)) - along(2 * h, s) + along(-2 * h, s) for s in steps])
        np.testing.assert_allclose(np.ravel(bar), slopes / (12 * h), rtol=1e-7, atol=1e-8 * max(1, abs(value)))


@pytest.mark.parametrize("name", FAMILIES)
def test_evaluation(name: str, rng: np.random.Generator) -> None:
    of = family(name)
    x, c, table = rng.uniform(-0.8, 0.8, 3), rng.normal(size=4), rng.normal(size=(4, 3))
    # Shapes that would broadcast where x is taken for one point.
    check(of("val"), x, table)
    check(lambda x, c: of("val")(x, c, tensor=False), x, table)
    check(of("val"), rng.uniform(-0.8, 0.8, (2, 3)), c)
    check(of("grid2d"), x, x[:2], table)
    check(lambda x, y, c: of("val2d")(x, y, c), x, x[::-1], table)
    check(of("val3d"), x, x[::-1], x / 2, rng.normal(size=(2, 3, 2)))
    check(lambda x: of("vander")(x, 3), x)
    check(lambda c: of("companion")(c), c)
    f = fg.jit(lambda x: of("val")(x, table))
    np.testing.assert_allclose(f(x), of("val")(x, table), rtol=1e-12)


@pytest.mark.parametrize("name", FAMILIES)
def test_series(name: str, rng: np.random.Generator) -> None:
    of = family(name)
    for n, k in [(4, 3), (5, 2), (3, 3), (2, 3), (3, 1)]:
        a, b = rng.normal(size=n), rng.uniform(0.8, 1.2, k)
        for part in (0, 1):
            check(lambda a, b, part=part: of("div")(a, b)[part], a, b)
        check(of("mul"), a, b)
        check(of("sub"), a, b)
    check(lambda a: of("der")(of("int")(a, k=[1.0], lbnd=0.3), 2), a)
    check(of("fromroots"), b)
    check(lambda a: of("pow")(a, 3), rng.normal(size=2))


def test_roots_as_coefficients(rng: np.random.Generator) -> None:
    polyvalfromroots = family("polynomial")("valfromroots")
    check(polyvalfromroots, rng.normal(size=3), rng.normal(size=3))
    check(polyvalfromroots, rng.normal(size=3), rng.normal(size=(2, 3)))


def test_classes(rng: np.random.Generator) -> None:
    kind = np.polynomial.Chebyshev
    c, x = rng.normal(size=4), rng.normal(size=3)
    check(lambda c, x: kind(c, domain=[-2, 3]).deriv()(x), c, x)
    check(lambda c, x: (kind(c) % kind(x)).coef, c, x)
    check(lambda c, x: (kind(c) * kind(x) - 2).integ().coef, c, x)


@pytest.mark.parametrize("name", FAMILIES)
def test_what_lapack_does_is_refused(name: str, rng: np.random.Generator) -> None:
    of = family(name)
    x, y = np.linspace(-1, 1, 7), rng.normal(size=7)
    for f in (lambda t: of("fit")(t, y, 2), lambda t: of("fit")(x, t, 2), of("roots")):
        with pytest.raises(UnsupportedFunctionError, match=rf"polynomial.{name}.{FAMILIES[name]}.*by LAPACK"):
            fg.jacrev(f)(y)
    # What the message says to write.
    fit = fnp.linalg.lstsq(of("vander")(x, 2), y)[0]
    np.testing.assert_allclose(fit, of("fit")(x, y, 2))
    check(lambda x, y: fnp.linalg.lstsq(of("vander")(x, 2), y)[0], x, y)
    check(of("roots"), y[:2])
