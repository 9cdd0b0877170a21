"""``numpy.polynomial``, which has no hooks: what its own code makes of traced values, against differences."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import ConcretizationTypeError, UnsupportedFunctionError
from funcgrad.numpy import polynomial

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
    np.testing.assert_allclose(value, loss(*args), rtol=1e-12, atol=1e-14)
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
def test_fits_and_roots(name: str, rng: np.random.Generator) -> None:
    """NumPy computes them by LAPACK: its own functions refuse and name ours, which have its values."""
    of, prefix = family(name), FAMILIES[name]
    fit, roots = (getattr(polynomial, prefix + end) for end in ("fit", "roots"))
    x, y, w = np.linspace(-1, 1, 7), rng.normal(size=7), rng.uniform(0.5, 1, 7)
    for f in (lambda t: of("fit")(t, y, 2), lambda t: of("fit")(x, t, 2), of("roots")):
        with pytest.raises(UnsupportedFunctionError, match=rf"by LAPACK.* Use funcgrad.numpy.polynomial.{prefix}"):
            fg.jacrev(f)(y)
    table = rng.normal(size=(7, 2))
    for args, options in [((x, y, 2), {"w": w}), ((x, table, [0, 3, 1]), {}), ((x, table, 2), {"w": w, "rcond": 1e-9})]:
        expected = of("fit")(*args, **options)
        for engine in ("numpy", "xla"):
            f = fg.jit(lambda x, y, args=args, options=options: fit(x, y, *args[2:], **options), engine=engine)
            np.testing.assert_allclose(f(*args[:2]), expected, rtol=1e-10, atol=1e-12)
        check(lambda x, y, args=args, options=options: fit(x, y, *args[2:], **options), *args[:2])
    check(lambda w: fit(x, y, 2, w=w), w)
    full, (residuals, rank, values, cutoff) = fg.jvp(lambda y: fit(x, y, 3, full=True), (y,), (y,))[0]
    for ours, numpys in zip((full, residuals, rank, values, cutoff), flat(of("fit")(x, y, 3, full=True)), strict=True):
        np.testing.assert_allclose(ours, numpys)
    # Coefficients of a polynomial with known roots, real or not; zeros at the end do not count.
    for zeros in ([-0.7, 0.2, 0.9], [0.3], [0.5 + 1j, 0.5 - 1j, 0.1]):
        c = np.real(of("fromroots")(zeros))
        found = fg.jvp(roots, (c,), (c,))[0]
        assert found.dtype == of("roots")(c).dtype
        np.testing.assert_allclose(found, of("roots")(c), rtol=1e-8, atol=1e-12)
        # A root moves by the value of a term over the slope there.
        slopes = -of("vander")(found, len(c) - 1) / of("val")(found, of("der")(c))[:, None]
        for k, step in enumerate(np.eye(len(c))):
            moved = fg.jvp(lambda c: roots(np.append(c, 0.0)), (c,), (step,))[1]
            np.testing.assert_allclose(moved, slopes[:, k], rtol=1e-8, atol=1e-9)
        check(lambda c: np.sum(np.abs(roots(c) - 2)), c)
    batched = fg.vmap(lambda y: fit(x, y, 2))(table.T)
    np.testing.assert_allclose(batched, of("fit")(x, table, 2).T, rtol=1e-10)


def flat(result: Any) -> list[Any]:
    return [result[0], *result[1]]


def test_classes_of_ours(rng: np.random.Generator) -> None:
    x, y = np.linspace(0, 3, 7), rng.normal(size=7)
    for name in ("Polynomial", "Chebyshev", "Legendre", "Laguerre", "Hermite", "HermiteE"):
        ours, numpys = getattr(polynomial, name), getattr(np.polynomial, name)
        assert isinstance(ours([1.0]) + ours([2.0]), numpys)
        check(lambda y, ours=ours: ours.fit(x, y, 3)(0.4), y)
        check(lambda x, ours=ours: ours.fit(x, y, 2, domain=[0, 3]).coef, x)
        # The domain is that of the points, and moves with them.
        check(lambda x, ours=ours: ours.fit(x, y, 2)(0.4), x)
        check(lambda c, ours=ours: np.abs(ours(c, domain=[0, 3]).roots()), numpys.fromroots([0.1, 0.8]).coef)


def test_bad_fits() -> None:
    x = np.arange(3.0)
    for args, error, words in [
        ((x, 1.5), TypeError, "deg must be an int"),
        ((x, -1), ValueError, "expected deg >= 0"),
        ((x[:2], 1), TypeError, "of the same length"),
    ]:
        with pytest.raises(error, match=words):
            fg.jvp(lambda y, args=args: polynomial.polyfit(x, y, *args[1:]), args[:1], args[:1])
    with pytest.raises(ConcretizationTypeError, match="polyroots"):
        fg.jit(polynomial.polyroots)(x)
    with pytest.warns(np.exceptions.RankWarning):
        fg.jvp(lambda y: polynomial.polyfit(0 * x, y, 2), (x,), (x,))


SERIES: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda kind, c: kind(c) + kind([1.0, 2.0, 0.0, 1.0]),
    "product": lambda kind, c: kind(c) * kind([1.0, 2.0]) - 3.0,
    "product by a number": lambda kind, c: c[0] * kind([1.0, 2.0, 3.0, 4.0]),
    "quotient": lambda kind, c: kind(c) // kind([1.0, 2.0]) + kind([1.0, 2.0, 3.0, 4.0]) % kind(c),
    "power": lambda kind, c: (kind(c) ** 2).deriv(),
    "composition": lambda kind, c: kind(c)(kind([1.0, 2.0])) / c[0],
}


@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize("family", ["Polynomial", "Chebyshev", "Laguerre"])
def test_arithmetic_of_series_compiles(family: str, name: str) -> None:
    f, c = SERIES[name], np.array([1.0, 2.0, 3.0])
    ours, numpys = getattr(polynomial, family), getattr(np.polynomial, family)
    coefficients = lambda c: f(ours, c).coef
    np.testing.assert_allclose(fg.jit(coefficients, engine="numpy")(c), f(numpys, c).coef, rtol=1e-13)
    loss = lambda c: np.sum(fnp.sin(coefficients(c)))
    np.testing.assert_allclose(fg.jit(fg.grad(loss), engine="numpy")(c), fg.grad(loss)(c), rtol=1e-11)


def test_a_zero_at_the_end_stays_where_it_is_not_known() -> None:
    f = lambda c: (polynomial.Polynomial(c) * polynomial.Polynomial([1.0, 2.0])).coef
    np.testing.assert_array_equal(f(np.array([1.0, 0.0])), [1.0, 2.0])
    np.testing.assert_array_equal(fg.jit(f, engine="numpy")(np.array([1.0, 0.0])), [1.0, 2.0, 0.0])


@pytest.mark.parametrize("name", ["add", "sub", "mul", "mulx", "div", "pow"])
@pytest.mark.parametrize("prefix", ["poly", "cheb", "leg", "lag", "herm", "herme"])
def test_numpys_functions_compile_inside_intercept(prefix: str, name: str) -> None:
    modules = {"poly": "polynomial", "cheb": "chebyshev", "leg": "legendre", "lag": "laguerre", "herm": "hermite"}
    modules["herme"] = "hermite_e"
    module, function = getattr(np.polynomial, modules[prefix]), f"{prefix}{name}"
    second = {"mulx": (), "pow": (2,)}.get(name, ([1.0, 2.0],))

    def f(c: Any) -> Any:
        y = getattr(module, function)(c, *second)
        return y[0] if name == "div" else y

    c = np.array([0.5, -1.0, 2.0])
    with fg.intercept():
        np.testing.assert_allclose(fg.jit(f, engine="numpy")(c), f(c), rtol=1e-13)
        np.testing.assert_allclose(fg.jit(fg.jacfwd(f))(c), fg.jacfwd(f)(c), rtol=1e-13)


# NumPy divides a series by Python's numbers only.
@pytest.mark.parametrize("name", [name for name in SERIES if name != "composition"])
@pytest.mark.parametrize("family", ["Polynomial", "Chebyshev", "Laguerre"])
def test_numpys_classes_compile_inside_intercept(family: str, name: str) -> None:
    c, kind = np.array([1.0, 2.0, 3.0]), getattr(np.polynomial, family)
    f = lambda c: SERIES[name](kind, c).coef
    before = vars(kind)["_mul"]
    with fg.intercept():
        np.testing.assert_allclose(fg.jit(f, engine="numpy")(c), f(c), rtol=1e-13)
        np.testing.assert_allclose(fg.jit(fg.jacfwd(f), engine="numpy")(c), fg.jacfwd(f)(c), rtol=1e-11)
    assert vars(kind)["_mul"] is before


@pytest.mark.parametrize("family", ["Polynomial", "Chebyshev", "Legendre", "Laguerre", "Hermite", "HermiteE"])
def test_fits_and_roots_of_numpys_classes_inside_intercept(family: str, rng: np.random.Generator) -> None:
    kind, x, y = getattr(np.polynomial, family), np.linspace(0, 3, 7), rng.normal(size=7)
    with fg.intercept():
        check(lambda y: kind.fit(x, y, 3)(0.4), y)
        check(lambda c: np.abs(kind(c, domain=[0, 3]).roots()), kind.fromroots([0.1, 0.8]).coef)


def test_the_error_of_numpys_classes_names_ours() -> None:
    with pytest.raises(TypeError, match="unsupported operand") as caught:
        fg.jit(lambda c: (np.polynomial.Polynomial(c) * np.polynomial.Polynomial([1.0, 2.0])).coef)(np.ones(3))
    assert "take funcgrad.numpy.polynomial.Polynomial" in caught.value.__notes__[0]
