"""Taylor mode compared with JAX's, with nested ``jvp`` and known series, and under other transforms."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
import scipy.special
from jax.experimental.jet import jet as jet_of_jax

import funcgrad as fg
from funcgrad.errors import NonFiniteError, NotDifferentiableError, TreeMismatchError

RNG = np.random.default_rng(5)
X = RNG.uniform(0.3, 0.8, 4)
MATRIX = RNG.normal(size=(4, 4)) + 4 * np.eye(4)
TERMS = [RNG.normal(size=4) / 2 for _ in range(6)]


def nested(f: Callable[..., Any], x: Any, terms: list[Any]) -> list[Any]:
    """Return the derivatives along the curve, by ``jvp`` of ``jvp`` ..."""

    def start(t: Any) -> Any:
        return f(x + sum(t**k * (term / math.factorial(k)) for k, term in enumerate(terms, 1)))

    found, inner = [], start
    for _ in terms:

        def curve(t: Any, inner: Any = inner) -> Any:
            return fg.jvp(inner, (t,), (1.0,))[1]

        inner = curve
        found.append(curve(0.0))
    return found


def assert_series(got: list[Any], expected: list[Any], tolerance: float = 1e-10) -> None:
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1.0, np.max(np.abs(b), initial=0)))


def chain(np: Any) -> Callable[[Any], Any]:
    return lambda x: np.log(1 + np.exp(np.tanh(np.sin(x) * x) + np.cos(x) ** 2)) / (1 + x * x)


IN_JAX: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "chain": chain,
    **{
        name: lambda np, name=name: getattr(np, name)
        for name in ("exp", "log", "sin", "cos", "tanh", "sinh", "cosh", "sqrt", "log1p", "expm1", "square")
    },
    "third power": lambda np: lambda x: x**3,
    "real power": lambda np: lambda x: x**2.5,
    "quotient": lambda np: lambda x: np.sin(x) / x,
    "reciprocal": lambda np: lambda x: 1 / x,
    "products": lambda np: lambda x: np.dot(MATRIX, x) * np.sum(x * x),
    "maximum": lambda np: lambda x: np.maximum(x, 0.5) * np.max(x),
    "layout": lambda np: lambda x: np.concatenate([x[::-1].reshape(2, 2).T.ravel() ** 2, x[:2] * x[2:]]),
    "where": lambda np: lambda x: np.where(x > 0.5, np.exp(x), x * x),
    "cumsum": lambda np: lambda x: np.cumsum(x * x),
}


@pytest.mark.parametrize("name", IN_JAX)
def test_it_is_jaxs(name: str) -> None:
    f = IN_JAX[name]
    with jax.enable_x64(True):
        expected = jax.device_get(jax.jit(lambda x, s: jet_of_jax(f(jax.numpy), (x,), (s,)))(X, TERMS))
        unscaled = jax.device_get(
            jax.jit(lambda x, s: jet_of_jax(f(jax.numpy), (x,), (s,), factorial_scaled=False))(X, TERMS)
        )
    out, terms = fg.jet(f(np), (X,), (TERMS,))
    np.testing.assert_allclose(out, expected[0], rtol=1e-13)
    assert type(terms) is list
    assert_series(terms, expected[1])
    assert_series(fg.jet(f(np), (X,), (TERMS,), factorial_scaled=False)[1], unscaled[1])
    assert_series(fg.jet(f(np), [X], [tuple(TERMS)])[1], nested(f(np), X, TERMS))


@fg.custom_jvp
def damped(x: Any) -> Any:
    return np.sin(x) * x


damped.defjvp(lambda xs, x_dots: (damped(xs[0]), x_dots[0] * (np.cos(xs[0]) * xs[0] + np.sin(xs[0]))))


@fg.custom_jvp
def looped(x: Any) -> Any:
    return x**4


looped.defjvp(
    lambda xs, x_dots: (looped(xs[0]), x_dots[0] * fg.fori_loop(0, 2, lambda _, c: c * xs[0], 4 * xs[0])),
)


def writes(x: Any) -> Any:
    y = np.zeros_like(x)
    for i in range(1, 4):
        y[i] = y[i - 1] * x[i] + np.sin(x[i - 1])
    y[2:4] *= x[:2]
    y[[0, 1]] += x[2:] ** 2
    np.add.at(y, [1, 1], x[:2] * y[3])
    return y**2


OTHERS: dict[str, Callable[[Any], Any]] = {
    "solve": lambda x: np.linalg.solve(MATRIX + np.outer(x, x), np.sin(x)),
    "triangular": lambda x: fg.scipy.linalg.solve_triangular(MATRIX + np.outer(x, x), np.sin(x)),
    "triangular, transposed": lambda x: fg.scipy.linalg.solve_triangular(MATRIX * x, x, trans=1, lower=True),
    "inverse": lambda x: np.linalg.inv(MATRIX + np.outer(x, x)),
    "eigenvalues": lambda x: np.linalg.eigh(MATRIX + MATRIX.T + np.outer(x, x))[0],
    "eigenvectors": lambda x: np.linalg.eigh(MATRIX + MATRIX.T + np.outer(x, x))[1] ** 2,
    "singular values": lambda x: np.linalg.svd(MATRIX + np.outer(x, x))[1],
    "determinant": lambda x: np.linalg.det(MATRIX + np.outer(x, x)),
    "cholesky": lambda x: np.linalg.cholesky(np.outer(x, x) + np.eye(4)),
    "qr": lambda x: np.linalg.qr(MATRIX + np.outer(x, x))[1],
    "scan": lambda x: fg.scan(lambda c, t: (np.sin(c * t) + t, c * t), x[0] * 1.0, x)[1],
    "scan of matrices": lambda x: fg.scan(lambda c, r: (np.tanh(r @ c) * x, c), x, MATRIX.reshape(1, 4, 4))[0],
    "while": lambda x: fg.while_loop(lambda c: np.sum(c) < 100, lambda c: c * c + 2, x),
    "fori": lambda x: fg.fori_loop(0, 3, lambda _, c: np.sin(c) * x, x),
    "cond": lambda x: fg.cond(x[0] > 0, lambda x: x**4, lambda x: x, x),
    "compiled": fg.jit(lambda x: np.tanh(np.sin(x) * x), engine="numpy"),
    "compiled by XLA": fg.jit(lambda x: np.tanh(np.sin(x) * x)),
    "checkpoint": fg.checkpoint(lambda x: np.tanh(np.sin(x) * x)),
    "custom rule": lambda x: damped(x) ** 2,
    "custom rule with a loop": lambda x: looped(np.sin(x)),
    "implicit root": lambda x: fg.implicit_root(lambda y, x: y**3 + y - x, np.zeros(4), x),
    "writes": writes,
    "tangents": lambda x: np.tan(x) + np.arctan(x) + np.arcsinh(x),
    "gamma": scipy.special.gammaln,
    "erf": scipy.special.erf,
    "bessel": scipy.special.j0,
    "sort": lambda x: np.sort(x)[::-1] ** 2,
    "fft": lambda x: np.abs(np.fft.fft(x)),
    "prod": lambda x: np.prod(x) * np.cumprod(x),
    "norm": np.linalg.norm,
    "gradient": fg.grad(lambda x: np.sum(np.sin(x) * x)),
    "vmap": fg.vmap(lambda x: np.sin(x) * x),
    "jvp": lambda x: fg.jvp(np.sin, (x,), (x * x,))[1],
    "two operands": lambda x: np.hypot(x, x**2) + np.arctan2(x, x * x + 1) + np.logaddexp(x, 2 * x) + x**x,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "three factors": lambda x: np.einsum("i,j,k->ijk", x, np.sin(x), x * x),
    "complex": lambda x: np.abs(np.exp(1j * x) * (x + 2j)),
    "constant": lambda x: np.ones(3),
    "jet": lambda x: fg.jet(np.sin, (x,), ([x * x, 0, x],))[1][2],
}


@pytest.mark.parametrize("name", OTHERS)
def test_it_is_a_nest_of_jvp(name: str) -> None:
    f, before = OTHERS[name], X.copy()
    out, terms = fg.jet(f, (X,), (TERMS[:4],))
    np.testing.assert_allclose(out, f(X), rtol=1e-12)
    assert_series(terms, nested(f, X, TERMS[:4]), 1e-9)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("engine", ["numpy", "xla", "numba"])
@pytest.mark.parametrize("f", [chain(np), OTHERS["scan"], OTHERS["solve"]], ids=["chain", "scan", "solve"])
def test_compiled(f: Callable[..., Any], engine: str) -> None:
    def of(x: Any, terms: Any) -> Any:
        return fg.jet(f, (x,), (terms,))

    out, terms = fg.jit(of, engine=engine)(X, TERMS[:4])
    expected = of(X, TERMS[:4])
    np.testing.assert_allclose(out, expected[0], rtol=1e-12)
    assert_series(terms, expected[1])


def test_under_other_transforms() -> None:
    def third(x: Any, v: Any) -> Any:
        return np.sum(fg.jet(chain(np), (x,), ([v, 0, 0],))[1][2])

    def expected(x: Any, v: Any) -> Any:
        f: Any = chain(np)
        for _ in range(3):
            f = lambda x, f=f: fg.jvp(f, (x,), (v,))[1]
        return np.sum(f(x))

    v = TERMS[0]
    np.testing.assert_allclose(third(X, v), expected(X, v), rtol=1e-11)
    for argnum in (0, 1):
        np.testing.assert_allclose(fg.grad(third, argnum)(X, v), fg.grad(expected, argnum)(X, v), rtol=1e-9)
    np.testing.assert_allclose(
        fg.vmap(third)(np.stack([X, X / 2]), np.stack([v, v])), [third(X, v), third(X / 2, v)], rtol=1e-12
    )
    np.testing.assert_allclose(
        fg.linearize(lambda v: third(X, v), v)[1](X), fg.jvp(lambda v: third(X, v), (v,), (X,))[1], rtol=1e-11
    )
    with jax.enable_x64(True):
        x = jax.numpy.asarray(X)
        eager = third(x, jax.numpy.asarray(v))
        np.testing.assert_allclose(jax.grad(third)(X, v), fg.grad(third)(X, v), rtol=1e-10)
    assert isinstance(eager, jax.Array)
    np.testing.assert_allclose(eager, third(X, v), rtol=1e-12)


def test_known_series() -> None:
    """The series of 1 / (1 - x), the Catalan numbers, and factorials beyond float16."""
    order = 20
    line = [1.0, *[0] * (order - 1)]
    out, terms = fg.jet(lambda x: 1 / (1 - x), (0.0,), (line,), factorial_scaled=False)
    assert [out, *terms] == [1] * (order + 1)
    _, terms = fg.jet(lambda x: (1 - np.sqrt(1 - 4 * x)) / 2, (0.0,), (line,), factorial_scaled=False)
    np.testing.assert_allclose(terms, [scipy.special.comb(2 * n, n) / (n + 1) for n in range(order)], rtol=1e-12)
    _, terms = fg.jet(np.exp, (np.float16(0),), ([np.float16(1), *[0] * 9],))
    assert all(term.dtype == np.float16 for term in terms)
    # From order 8 on, 1 / k! has fewer digits in float16.
    np.testing.assert_allclose(np.array(terms[:7], float), 1, rtol=0.02)
    _, terms = fg.jet(np.sin, (0.0,), ([1.0, *[0] * 179],))
    np.testing.assert_allclose(terms[:9], [1, 0, -1, 0, 1, 0, -1, 0, 1], atol=1e-12)
    assert np.isfinite(terms).all()


def test_powers_of_zero() -> None:
    """Recurrences that divide by the base would give NaN."""
    zero = np.zeros(2)
    line = [np.ones(2), 0, 0, 0]
    for power, expected in ((2, [0, 2, 0, 0]), (3, [0, 0, 6, 0]), (4, [0, 0, 0, 24]), (0, [0] * 4), (1, [1, 0, 0, 0])):
        _, terms = fg.jet(lambda x, power=power: x**power, (zero,), (line,))
        np.testing.assert_array_equal(np.stack(terms)[:, 0], expected)
    with np.errstate(all="ignore"):
        _, terms = fg.jet(lambda x: x**2.5, (zero,), (line[:3],))
    np.testing.assert_array_equal(np.stack(terms)[:, 0], [0, 0, np.inf])


def test_trees_and_dtypes() -> None:
    def f(p: Any, c: Any) -> Any:
        return {"product": p["a"] * p["b"] * c, "integer": np.argmax(p["a"]), "same": p["b"]}

    single = np.float32(2.0)
    primals = {"a": X.astype(np.float32), "b": single}
    series = {"a": [TERMS[0].astype(np.float32), 0], "b": [np.float32(1), np.float32(0.5)]}
    out, terms = fg.jet(f, (primals, 3.0), (series, [0, 0]))
    assert terms["product"][1].dtype == out["product"].dtype == np.float32
    np.testing.assert_allclose(terms["product"][0], 3 * (series["a"][0] * 2 + primals["a"]), rtol=1e-6)
    np.testing.assert_allclose(terms["product"][1], 3 * (2 * series["a"][0] + 0.5 * primals["a"]), rtol=1e-6)
    assert [int(term) for term in terms["integer"]] == [0, 0]
    assert [float(term) for term in terms["same"]] == [1, 0.5]
    assert fg.jet(np.sin, (X,), ([],))[1] == []
    empty = fg.jet(lambda x: (np.sum(x), x * x), (np.zeros((0, 2)),), ([np.zeros((0, 2)), 0],))
    assert empty[1][0] == [0, 0]
    assert empty[1][1][1].shape == (0, 2)


def test_results_have_memory_of_their_own() -> None:
    terms = [X.copy(), X.copy()]
    _, found = fg.jet(lambda x: (x, x), (X,), (terms,))
    for term in (*found[0], *found[1]):
        term[0] = 7
    assert terms[0][0] == X[0] != 7


def test_effects_happen_once(capsys: pytest.CaptureFixture[str]) -> None:
    def f(x: Any) -> Any:
        fg.debug_print("{}", np.sum(x))
        return fg.fori_loop(0, 2, lambda i, c: (fg.debug_print("loop"), c * x)[1], x)

    fg.jet(f, (X,), (TERMS[:3],))
    assert capsys.readouterr().out.split().count("loop") == 2


def test_a_rule_may_write_to_its_plain_arrays() -> None:
    """Coefficients are computed after the rule has returned, from the numbers at the time of its call."""

    def rule_with(size: int) -> Callable[..., Any]:
        @fg.custom_jvp
        def f(x: Any) -> Any:
            return 6 * x**2

        def rule(xs: Any, x_dots: Any) -> Any:
            factor, y_dot = np.zeros(size), 0
            for i in range(3):
                factor[:] = i + 1
                y_dot = y_dot + 2 * xs[0] * factor * x_dots[0]
            return f(xs[0]), y_dot

        f.defjvp(rule)
        return f

    assert_series(fg.jet(rule_with(4), (X,), (TERMS[:3],))[1], fg.jet(lambda x: 6 * x**2, (X,), (TERMS[:3],))[1])
    x, terms = np.ones(2000), [np.ones(2000), 0]
    assert_series(fg.jet(rule_with(2000), (x,), (terms,))[1], fg.jet(lambda x: 6 * x**2, (x,), (terms,))[1])


def test_primitives_of_users() -> None:
    cube_p = fg.extend.elementwise(
        "cube_of_a_test", "x", numpy=lambda x: x**3, xla="cbrt", maps=[lambda t, x: 3 * x * x * t]
    )
    assert_series(fg.jet(cube_p, (X,), (TERMS,))[1], fg.jet(lambda x: x**3, (X,), (TERMS,))[1])


def test_a_product_of_users_need_not_commute() -> None:
    def multiply(a: Any, b: Any) -> Any:
        return 2 * a * np.real(b)

    product_p = fg.extend.elementwise(
        "product_of_a_test",
        "a b",
        numpy=multiply,
        xla=lambda lax, a, b: lax.mul(
            lax.full_like(a, 2), lax.mul(a, lax.complex(lax.real(b), lax.full_like(lax.real(b), 0)))
        ),
        maps=fg.extend.Multilinear(("a", "b"), [lambda t, b: 2 * t * np.real(b), lambda t, a: np.real(2 * t * a) + 0j]),
    )
    x, term = X + 0.5j * X[::-1], X[::-1] + 1j * X
    _, terms = fg.jet(lambda x: product_p(x, x), (x,), ([term, 0],))
    np.testing.assert_allclose(terms[0], multiply(term, x) + multiply(x, term))
    np.testing.assert_allclose(terms[1], 2 * multiply(term, term))


def test_debug_nans_looks_at_the_coefficients() -> None:
    zero = np.zeros(2)
    with np.errstate(all="ignore"), pytest.raises(NonFiniteError), fg.debug_nans():
        fg.jet(np.sqrt, (zero,), ([np.ones(2), 0],))
    with np.errstate(all="ignore"), pytest.raises(NonFiniteError, match="the derivative of mul"), fg.debug_nans():
        fg.jet(lambda x: x * np.full(2, 1e200), (zero,), ([np.ones(2), np.full(2, 1e300)],))


def test_order_eight_takes_less_time_than_five_nested_jvp() -> None:
    x = np.linspace(0.2, 0.9, 1000)
    f: Any = chain(np)

    def eight(x: Any) -> Any:
        return fg.jet(f, (x,), ([np.ones_like(x), *[np.zeros_like(x)] * 7],))

    five = f
    for _ in range(5):
        five = lambda x, f=five: fg.jvp(f, (x,), (np.ones_like(x),))[1]

    def best(g: Callable[[Any], Any]) -> float:
        g(x)
        times = []
        for _ in range(5):
            start = time.perf_counter()
            g(x)
            times.append(time.perf_counter() - start)
        return min(times)

    assert best(eight) < best(five)


BAD: dict[str, tuple[tuple[Any, ...], type[Exception], str]] = {
    "array for a tuple": ((np.sin, X, (TERMS,)), TypeError, r"primals is a ndarray.*Write \(primals,\)"),
    "array for the series": ((np.sin, (X,), X), TypeError, "series is a ndarray"),
    "count": ((np.sin, (X,), (TERMS, TERMS)), TreeMismatchError, "1 primals and 2 series"),
    "no list": ((np.sin, (X,), (X,)), TypeError, "has a ndarray for an array"),
    "lengths": ((np.add, (X, X), (TERMS, TERMS[:2])), ValueError, "have 2 and 6 terms"),
    "shape": ((np.sin, (X,), ([np.ones(3)],)), TreeMismatchError, r"f64\[3\] as term 0; needed f64\[4\]"),
    "dtype": ((np.sin, (X,), ([X.astype(np.float32)],)), TreeMismatchError, "needed f64"),
    "text": ((np.sin, (X,), (["x"],)), TypeError, "term 0, is a str"),
    "integers": ((np.sin, (np.arange(3),), ([np.arange(3)],)), NotDifferentiableError, "dtype int64"),
    "no function": ((3, (X,), (TERMS,)), TypeError, "jet"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input(case: str) -> None:
    args, error, text = BAD[case]
    with pytest.raises(error, match=text):
        fg.jet(*args)
    np.testing.assert_allclose(fg.jet(np.exp, (0.0,), ([1.0],))[1], [1])


def test_an_error_in_the_function_leaves_nothing_behind() -> None:
    def f(x: Any) -> Any:
        np.sin(x)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        fg.jet(f, (X,), (TERMS,))
    assert_series(fg.jet(np.sin, (X,), (TERMS[:2],))[1], nested(np.sin, X, TERMS[:2]))
