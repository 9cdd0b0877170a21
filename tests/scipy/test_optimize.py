"""Roots and minima against Newton's method in JAX with 64 bits, closed forms, differences and SciPy's own values."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

import funcgrad as fg
from funcgrad.errors import (
    ImplicitRuleError,
    NotDifferentiableError,
    StagedRandomWarning,
    TracerBoolConversionError,
    TreeMismatchError,
    UnsupportedFunctionError,
)
from funcgrad.scipy import optimize

theirs: Any = scipy.optimize
W = np.array([1.0, -2.0, 0.5])
P = np.array([0.6, 1.4])
T = np.linspace(0.0, 3.0, 12)
Y = 2 * np.exp(-0.7 * T) + 0.3 + 0.05 * np.random.default_rng(0).normal(size=12)
TIGHT: dict[str, Any] = {"ftol": 1e-15, "xtol": 1e-15, "gtol": 1e-15}


def crossing(x: Any, p: Any, np: Any = np) -> Any:
    return np.stack([np.exp(x[0]) + x[1] * p[0] - 2, x[0] ** 3 - x[1] + p[1]])


def bowl(x: Any, p: Any, np: Any = np) -> Any:
    return (x[0] - p[0]) ** 4 + (x[0] - p[0]) ** 2 + (x[1] - p[1] * x[0]) ** 2 + np.exp(0.1 * x[1])


@functools.cache
def peer(equation: Callable[[Any, Any], Any], near: tuple, p: tuple) -> tuple[Any, Any]:
    """Return the result of a few steps of Newton's method in JAX from near a root: a value of it, with its gradient."""

    def value(p: Any) -> Any:
        step = lambda _, x: x - jnp.linalg.solve(jax.jacfwd(equation)(x, p), equation(x, p))
        return jnp.sum(W[: len(near)] * jax.lax.fori_loop(0, 5, step, jnp.array(near)) ** 2)

    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, jax.jit(jax.value_and_grad(value))(jnp.array(p)))


def root_by(method: str, **options: Any) -> Callable[[Any, Any], Any]:
    return lambda m, p: m.root(crossing, [0.1, 0.2], (p,), method, **options).x


def least_by(method: str, **options: Any) -> Callable[[Any, Any], Any]:
    def least(m: Any, p: Any) -> Any:
        slopes = {"jac": lambda x, p: fg.grad(bowl)(x, p)}
        if method.startswith(("trust-e", "trust-k", "dog")):
            slopes["hess"] = lambda x, p: fg.hessian(bowl)(x, p)
        return m.minimize(bowl, np.array([0.3, 0.4]), (p,), method, tol=1e-13, **slopes, **options).x

    return least


def jacobian(x: Any, p: Any) -> Any:
    return np.stack([np.stack([np.exp(x[0]), p[0]]), np.stack([3 * x[0] ** 2, -1.0])])


LINEAR = theirs.LinearConstraint([[1.0]], 0.0, 1.0)
GRADIENT = jax.grad(functools.partial(bowl, np=jnp))
CROSSING = functools.partial(crossing, np=jnp)
Case = tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any], np.ndarray, float]
# Ours and SciPy's, the equation, what it depends on, and how far off a solution of SciPy's may be.
CASES: dict[str, Case] = {
    "root": (root_by("hybr", tol=1e-14), CROSSING, P, 1e-8),
    "root, a jacobian": (root_by("hybr", jac=jacobian, tol=1e-14), CROSSING, P, 1e-8),
    "root, lm": (root_by("lm", tol=1e-14), CROSSING, P, 1e-8),
    "root, krylov": (root_by("krylov", tol=1e-12), CROSSING, P, 1e-8),
    "root, broyden1": (root_by("broyden1", tol=1e-12), CROSSING, P, 1e-8),
    "root, pairs": (
        lambda m, p: (
            m.root(lambda x: (crossing(x, p), jacobian(x, fg.stop_gradient(p))), [0.1, 0.2], jac=True, tol=1e-14).x
        ),
        CROSSING,
        P,
        1e-8,
    ),
    "fsolve": (lambda m, p: m.fsolve(lambda x: list(crossing(x, p)), [0.1, 0.2], xtol=1e-14), CROSSING, P, 1e-8),
    "fixed_point": (
        lambda m, p: m.fixed_point(lambda x, p: 0.5 * (x + p / x), np.ones(2), (p,), xtol=1e-14),
        lambda x, p: x**2 - p,
        P,
        1e-8,
    ),
    "newton": (lambda m, p: m.newton(lambda x: x**3 - p, np.ones(2), tol=1e-14), lambda x, p: x**3 - p, P, 1e-8),
    **{f"minimize, {method}": (least_by(method), GRADIENT, P, 1e-6) for method in ("BFGS", "CG", "L-BFGS-B", "SLSQP")},
    **{f"minimize, {name}": (least_by(name), GRADIENT, P, 1e-6) for name in ("trust-exact", "trust-constr", "TNC")},
    "minimize, no gradient": (lambda m, p: m.minimize(bowl, np.zeros(2), (p,), tol=1e-10).x, GRADIENT, P, 1e-4),
}


@pytest.mark.parametrize("name", CASES)
def test_beside_newton_in_jax(name: str) -> None:
    call, equation, p, tolerance = CASES[name]
    found = call(optimize, p)
    np.testing.assert_array_equal(found, call(theirs, p))

    def ours(p: Any) -> Any:
        return np.sum(W[: len(found)] * call(optimize, p) ** 2)

    expected, slopes = peer(equation, tuple(np.round(found, 3)), tuple(p))
    value, gradient = fg.value_and_grad(ours)(p)
    # If the user gives a slope, SciPy gets the exact one instead, whose last digits differ.
    np.testing.assert_allclose(value, ours(p), rtol=1e-7 if "minimize" in name else 1e-12)
    np.testing.assert_allclose(value, expected, rtol=tolerance)
    np.testing.assert_allclose(gradient, slopes, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(fg.jvp(ours, (p,), (np.ones_like(p),))[1], np.sum(gradient), rtol=1e-9, atol=1e-12)
    compiled = fg.jit(fg.grad(ours), engine="numpy")
    np.testing.assert_allclose(compiled(p), gradient, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["root", "newton", "fixed_point", "minimize, trust-exact"])
def test_further_derivatives(name: str) -> None:
    """Second derivatives, which are differences of the first, batches and XLA."""
    call, _, p, _ = CASES[name]

    def ours(p: Any) -> Any:
        return np.sum(W[:2] * call(optimize, p) ** 2)

    gradient, h = fg.grad(ours), 1e-4
    expected = [(gradient(p + step) - gradient(p - step)) / (2 * h) for step in h * np.eye(2)]
    hessian = fg.hessian(ours)(p)
    np.testing.assert_allclose(hessian, expected, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(fg.jit(fg.hessian(ours))(p), hessian, rtol=1e-9, atol=1e-12)
    many = np.stack([p, 1.1 * p])
    np.testing.assert_allclose(fg.vmap(gradient)(many)[1], gradient(many[1]), rtol=1e-9)


SCALARS: dict[str, Callable[[Any, Any], Any]] = {
    "brentq": lambda m, a: m.brentq(lambda x: x**3 - a, 0, 10),
    "brenth": lambda m, a: m.brenth(lambda x, a: x**3 - a, 0, 10, (a,)),
    "bisect": lambda m, a: m.bisect(lambda x, a: x**3 - a, 0, a + 5, a),
    "ridder": lambda m, a: m.ridder(lambda x: x**3 - a, 0, 10, full_output=True)[1].root,
    "toms748": lambda m, a: m.toms748(lambda x: x**3 - a, 0, 10, k=2),
    "newton": lambda m, a: m.newton(lambda x: x**3 - a, 1.5, tol=1e-14),
    "newton, slopes": lambda m, a: m.newton(
        lambda x: x**3 - a, 1.5, fprime=lambda x: 3 * x**2, fprime2=lambda x: 6 * x, tol=1e-14
    ),
    "root_scalar": lambda m, a: m.root_scalar(lambda x, a: x**3 - a, a, bracket=(0, a + 2)).root,
    "root_scalar, slopes": lambda m, a: m.root_scalar(lambda x: (x**3 - a, 3 * x**2), x0=1.5, fprime=True).root,
    "root_scalar, secant": lambda m, a: m.root_scalar(lambda x: x**3 - a, x0=1.5, x1=1.8, method="secant").root,
    "root_scalar, a branch": lambda m, a: (
        m.root_scalar(lambda x, a: x**3 - a if x > 0 else -a - math.cosh(x), (a,), bracket=(-3, 9)).root
    ),
    "fsolve": lambda m, a: m.fsolve(lambda x: x**3 - a, 1.5, fprime=lambda x: np.diag(3 * x**2), xtol=1e-12)[0],
    "minimize_scalar": lambda m, a: m.minimize_scalar(lambda x: x**4 / 4 - a * x, (1.0, 3.0), tol=1e-13).x,
    "minimize_scalar, bounds": lambda m, a: (
        m.minimize_scalar(lambda x: x**4 / 4 - a * x, bounds=(0, a), options={"xatol": 1e-13}).x
    ),
}


@pytest.mark.parametrize("name", SCALARS)
def test_cube_roots(name: str) -> None:
    call, a = SCALARS[name], 5.0
    assert call(optimize, a) == call(theirs, a)
    ours = lambda a: call(optimize, a)
    # A minimum is found to half the digits.
    tolerance = 1e-7 if "minimize" in name else 1e-9
    np.testing.assert_allclose(fg.grad(ours)(a), a ** (-2 / 3) / 3, rtol=tolerance)
    np.testing.assert_allclose(fg.grad(fg.grad(ours))(a), -2 / 9 * a ** (-5 / 3), rtol=10 * tolerance)
    np.testing.assert_allclose(fg.vmap(ours)(np.array([a, 2 * a])), np.cbrt([a, 2 * a]), rtol=tolerance)
    engines = ("numpy", "xla") if name in ("brentq", "minimize_scalar, bounds") else ("numpy",)
    if name.endswith("a branch"):
        with pytest.raises(TracerBoolConversionError, match="Compute both sides"):
            fg.jit(fg.grad(ours))(a)
        return
    for engine in engines:
        np.testing.assert_allclose(fg.jit(fg.grad(ours), engine=engine)(a), a ** (-2 / 3) / 3, rtol=tolerance)


def test_many_roots() -> None:
    """Each by itself, of more numbers than a matrix is made for."""
    a = np.linspace(1.0, 9.0, 40)
    roots = lambda a: optimize.newton(lambda x: x**3 - a, np.full(40, 1.5), tol=1e-14)
    np.testing.assert_allclose(fg.grad(lambda a: np.sum(roots(a)))(a), a ** (-2 / 3) / 3, rtol=1e-9)
    with pytest.raises(ImplicitRuleError, match="its Jacobian is singular there"):
        fg.grad(lambda a: np.sum(optimize.newton(lambda x: (x - a) ** 3, np.full(40, 2.0), maxiter=200)))(2.0)


def test_within_jaxs_transforms() -> None:
    cube_root = fg.to_jax(lambda a: optimize.brentq(lambda x: x**3 - a, 0, 9))
    a = jnp.array([1.0, 8.0])
    np.testing.assert_allclose(jax.vmap(cube_root)(a), [1.0, 2.0], rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.vmap(jax.grad(cube_root)))(a), [1 / 3, 1 / 12], rtol=1e-6)
    np.testing.assert_allclose(jax.hessian(cube_root)(a[1]), -2 / 9 * 8 ** (-5 / 3), rtol=1e-5)


def test_random_numbers_are_told_of() -> None:
    with pytest.warns(StagedRandomWarning, match="scipy.optimize.root"):
        fg.grad(lambda a: optimize.root(lambda x: x - a + 0 * np.random.normal(), [0.5]).x[0])(1.0)  # noqa: NPY002  (it)


def test_complex_roots() -> None:
    """Differentiate by both parts of a function that is not holomorphic."""

    def ours(a: Any, b: Any) -> Any:
        z = optimize.newton(lambda z: z**2 + a + 1j * b * z * np.conj(z), 0.5 + 1.5j, tol=1e-14)
        return np.real(z) + 2 * np.imag(z)

    h = 1e-5
    slopes = [(ours(2.0 + s, 0.3 + t) - ours(2.0 - s, 0.3 - t)) / (2 * h) for s, t in ((h, 0), (0, h))]
    np.testing.assert_allclose(fg.grad(ours, (0, 1))(2.0, 0.3), slopes, rtol=1e-8)


@pytest.mark.parametrize("method", ["L-BFGS-B", "TNC", "SLSQP", "trust-constr", "Nelder-Mead", "Powell"])
def test_bounds_of_minima(method: str) -> None:
    """The first unknown is held by its bound, the second goes where it is best then."""

    def ours(a: Any, high: Any) -> Any:
        def f(x: Any) -> Any:
            return np.cosh(x[0] - a) + (x[1] - a * x[0] ** 2) ** 2

        bounds = [(None, high), (-9.0, None)] if method != "TNC" else theirs.Bounds([-9, -9], np.stack([high, 9.0]))
        slope = None if method[0] in "NP" else fg.grad(f)
        return optimize.minimize(f, np.zeros(2), method=method, jac=slope, bounds=bounds, tol=1e-10).x

    expected = np.array([[0.0, 0.25], [1.0, 2 * 2.0 * 0.5]])
    found = np.array(fg.jacrev(ours, (0, 1))(2.0, 0.5))
    np.testing.assert_allclose(found, expected, atol=1e-5)
    np.testing.assert_allclose(fg.jit(fg.jacfwd(ours, (0, 1)), engine="numpy")(2.0, 0.5), found, rtol=1e-9, atol=1e-12)
    # A bound that holds nothing.
    np.testing.assert_allclose(fg.jacrev(ours, (0, 1))(0.4, 3.0), [[1.0, 3 * 0.16], [0.0, 0.0]], atol=1e-4)


def nearest(p: Any, kind: str, method: str = "SLSQP", **options: Any) -> Any:
    """The place nearest to a point on a circle or in a disc, whose radius is the last of three numbers."""

    def inside(x: Any, q: Any) -> Any:
        return q[2] ** 2 - x[0] ** 2 - x[1] ** 2

    rows = [
        {"type": kind, "fun": inside, "args": (p,)},
        {"type": "ineq", "fun": lambda x: np.stack([x[0] + 9, 9 - x[0]])},
    ]
    away = lambda x: (x[0] - p[0]) ** 2 + (x[1] - p[1]) ** 2
    slope = None if method.startswith("COB") else fg.grad(away)
    found = optimize.minimize(away, [0.3, 0.4], method=method, jac=slope, constraints=rows, tol=1e-12, **options)
    return found.x


@pytest.mark.parametrize(
    ("kind", "method"),
    [("eq", "SLSQP"), ("ineq", "SLSQP"), ("ineq", "COBYLA"), ("ineq", "COBYQA"), ("eq", "trust-constr")],
)
@pytest.mark.filterwarnings("ignore:delta_grad == 0.0")
def test_constraints(kind: str, method: str) -> None:
    point = np.array([1.5, 2.0, 0.7])
    on_circle = lambda p: p[2] * p[:2] / np.sqrt(p[0] ** 2 + p[1] ** 2)
    ours = lambda p: nearest(p, kind, method)
    tolerance = 1e-6 if method != "COBYLA" else 1e-3
    np.testing.assert_allclose(ours(point), on_circle(point), rtol=tolerance)
    jacobian = fg.jacrev(ours)(point)
    np.testing.assert_allclose(jacobian, fg.jacrev(on_circle)(point), atol=tolerance)
    np.testing.assert_allclose(fg.jit(fg.jacfwd(ours), engine="numpy")(point), jacobian, rtol=1e-8, atol=1e-10)
    if kind == "ineq":
        # From within the disc nothing holds it.
        np.testing.assert_allclose(fg.jacrev(ours)(np.array([0.2, 0.3, 0.7])), np.eye(2, 3), atol=tolerance)


def test_constraints_and_bounds() -> None:
    """Second derivatives, and a bound that holds beside the circle."""
    point, weights = np.array([1.5, 2.0, 0.7]), np.array([1.0, 3.0])
    ours = lambda p: np.sum(weights * nearest(p, "eq") ** 2)
    known = lambda p: p[2] ** 2 * np.sum(weights * p[:2] ** 2) / np.sum(p[:2] ** 2)
    np.testing.assert_allclose(fg.hessian(ours)(point), fg.hessian(known)(point), atol=1e-6)

    def held(p: Any, high: Any) -> Any:
        return nearest(p, "eq", bounds=[(None, None), (None, high)])

    found = fg.jacrev(held, (0, 1))(point, 0.5)
    other = np.sqrt(0.49 - 0.25)
    np.testing.assert_allclose(found[0], [[0, 0, 0.7 / other], [0, 0, 0]], atol=1e-7)
    np.testing.assert_allclose(found[1], [-0.5 / other, 1.0], rtol=1e-7)


def test_values_at_minima() -> None:
    """The value at a minimum moves as the function does there."""
    for f in (
        lambda a: optimize.minimize(lambda x: np.cosh(x[0] - a) + a**2, [0.3], tol=1e-8).fun,
        lambda a: optimize.minimize_scalar(lambda x: np.cosh(x - a) + a**2).fun,
        lambda a: 2 * optimize.least_squares(lambda x: np.stack([x[0] - a, x[0] - a, 0 * x[0] + a]), [0.3]).cost + 1,
    ):
        np.testing.assert_allclose([f(2.0), fg.grad(f)(2.0), fg.grad(fg.grad(f))(2.0)], [5.0, 4.0, 2.0], atol=1e-5)


def test_results_say_what_scipys_say() -> None:
    plain = theirs.minimize(bowl, np.zeros(2), (P,))
    seen: list[Any] = []
    fg.grad(lambda p: seen.append(optimize.minimize(bowl, np.zeros(2), (p,))) or np.sum(seen[0].x))(P)
    result = seen[0]
    assert (result.success, result.message, result.nfev, result.nit) == (True, plain.message, plain.nfev, plain.nit)
    with pytest.raises(AttributeError, match=r"result has no hess_inv.*Compute it at x"):
        result.hess_inv  # noqa: B018  (what it raises)
    with pytest.warns(RuntimeWarning, match=r"good progress|iteration"):
        found = optimize.fsolve(lambda x: x**2 + 1, 0.7)
    assert np.isfinite(found).all()
    failed = fg.vjp(lambda a: float(optimize.root(lambda x: x**2 + a, 0.7).success), 1.0)[0]
    assert failed == 0.0
    staged = fg.jit(lambda a: optimize.root(lambda x: x**2 + a, 0.7).success, engine="numpy")
    assert (bool(staged(1.0)), bool(staged(-1.0))) == (False, True)


CALLS: dict[str, Callable[[Any], Any]] = {
    "root": lambda a: theirs.root(lambda x, a: x**3 - a, 1.0, (a,)).x[0],
    "root, closure": lambda a: theirs.root(lambda x: x**3 - a, 1.0).x[0],
    "brentq": lambda a: theirs.brentq(lambda x, a: x**3 - a, 0, 9, (a,)),
    "brentq, closure": lambda a: theirs.brentq(lambda x: x**3 - a, 0, 9),
    "minimize": lambda a: theirs.minimize(lambda x, a: (x[0] ** 3 - a) ** 2, [1.4], (a,), tol=1e-10).x[0],
    "minimize, closure": lambda a: theirs.minimize(lambda x: (x[0] ** 3 - a) ** 2, [1.4], tol=1e-10).x[0],
    "brent, closure": lambda a: theirs.brent(lambda x: (x**3 - a) ** 2, brack=(1.0, 1.2)),
    "golden, closure": lambda a: theirs.golden(lambda x: (x**3 - a) ** 2, brack=(1.0, 1.2), tol=1e-9),
    "fminbound, closure": lambda a: theirs.fminbound(lambda x: (x**3 - a) ** 2, 1.0, 2.0, xtol=1e-9),
    "least_squares, closure": lambda a: theirs.least_squares(lambda x: x**3 - a, [1.4], **TIGHT).x[0],
    "curve_fit": lambda a: theirs.curve_fit(lambda t, x: x**3 * t, T, a * T, [1.4], **TIGHT)[0][0],
}


@pytest.mark.filterwarnings("ignore:Covariance of the parameters")
@pytest.mark.parametrize("case", CALLS)
def test_scipys_own_names(case: str) -> None:
    gradient, name = fg.grad(CALLS[case]), case.partition(",")[0]
    with fg.intercept():
        np.testing.assert_allclose(gradient(3.0), 3.0 ** (-2 / 3) / 3, rtol=1e-6)
        assert fg.grad(lambda a: a * theirs.brentq(lambda x: x - 2, 0, 9))(1.0) == 2.0
    with pytest.raises(Exception) as caught:  # noqa: PT011  (SciPy's own, of any class)
        gradient(3.0)
    text = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert f"Call fg.scipy.optimize.{name} instead" in text


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda a: optimize.root(lambda x: (x - a) ** 2, [0.5]).x[0], np.linalg.LinAlgError, "ingular"),
        (lambda a: optimize.brentq(lambda x: (x - a) ** 3, -1, 2), np.linalg.LinAlgError, "ingular"),
        (
            lambda a: optimize.minimize(lambda x: (x[0] + x[1] - a) ** 2, np.zeros(2)).x[0],
            np.linalg.LinAlgError,
            "ingular",
        ),
        (lambda a: optimize.root(lambda x: np.stack([x[0], a]), [0.5]).x[0], TreeMismatchError, "as many equations"),
        (lambda a: optimize.root(lambda x: 1j * a * x, [0.5]).x[0], TypeError, "a complex guess"),
        (lambda a: optimize.minimize(lambda x: x * a, [0.5, 1.0]).x[0], TypeError, "needed a real number"),
        (
            fg.jit(lambda a: optimize.brentq(lambda x: x - a if x > 0 else -a, -1, 9), engine="numpy"),
            NotDifferentiableError,
            "branches on",
        ),
        (
            lambda a: optimize.minimize(
                lambda x: (x[0] - a) ** 2 if x[0] > 0 else x[0],
                [0.5],
                constraints={"type": "ineq", "fun": lambda x: x[0]},
            ).x[0],
            NotDifferentiableError,
            "branches on",
        ),
        (lambda a: optimize.root(lambda x: x - a, [0.5], tol=a).x[0], NotDifferentiableError, "option tol is traced"),
        (
            lambda a: optimize.minimize(lambda x: (x[0] - a) ** 2, [0.5], constraints=LINEAR).x[0],
            UnsupportedFunctionError,
            "a constraint is 'LinearConstraint'",
        ),
        (
            lambda a: optimize.minimize(lambda x: x[0] * a, [0.5], bounds=[(0, 1)] * 2).x[0],
            ValueError,
            "2 entries for 1",
        ),
        (lambda a: optimize.least_squares(lambda x: x - a, 0.5, loss=np.exp).x[0], UnsupportedFunctionError, "loss is"),
        (lambda a: optimize.least_squares(lambda x: x * 1j * a, 0.5).x[0], TypeError, "needed real numbers"),
        (lambda a: optimize.newton(lambda x: x - a, 0.5, full_output=True)[0], UnsupportedFunctionError, "full_output"),
        (lambda a: optimize.fsolve(lambda x: x - a, 0.5, full_output=1)[0], UnsupportedFunctionError, "full_output"),
        (
            lambda a: optimize.curve_fit(lambda t, b: b * t, T, a * T, full_output=True)[0][0],
            UnsupportedFunctionError,
            "full_output",
        ),
    ],
)
def test_refused(call: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fg.grad(call)(0.5)


def positive(residual: Any) -> Any:
    """A residual that is another one where the unknown is not positive, by a branch."""
    return lambda x: residual(x) if np.all(x > 0) else x - 1


# Each closes over `a`, and branches on the unknown. The second function gives the same numbers without branches.
BRANCHING: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "brentq": (
        lambda a: optimize.brentq(lambda x: -1.0 if x == 0 else np.sin(x) - a / 4 * x, 0.1, 3.0),
        lambda a: optimize.brentq(lambda x: np.sin(x) - a / 4 * x, 0.1, 3.0),
    ),
    "root_scalar": (
        lambda a: optimize.root_scalar(positive(lambda x: x**3 - a), bracket=(-1.0, 5.0)).root,
        lambda a: a ** (1 / 3),
    ),
    "newton": (lambda a: optimize.newton(positive(lambda x: x**3 - a), 1.0), lambda a: a ** (1 / 3)),
    "newton, fprime": (
        lambda a: optimize.newton(positive(lambda x: x**3 - a), 1.0, fprime=lambda x: 3 * x**2),
        lambda a: a ** (1 / 3),
    ),
    "fsolve": (lambda a: optimize.fsolve(positive(lambda x: x**3 - a), 1.0)[0], lambda a: a ** (1 / 3)),
    "root": (lambda a: optimize.root(positive(lambda x: x**3 - a), [1.0]).x[0], lambda a: a ** (1 / 3)),
    "fixed_point": (
        lambda a: optimize.fixed_point(lambda x: 0.5 * (x + a / x) if x > 0 else x + 1, 1.0),
        lambda a: a**0.5,
    ),
    "minimize": (
        lambda a: optimize.minimize(
            lambda x: np.sum((x**3 - a) ** 2) if x[0] > 0 else 9.0,
            [1.0],
            jac=lambda x: 6 * x**2 * (x**3 - a),
            tol=1e-12,
        ).x[0],
        lambda a: a ** (1 / 3),
    ),
    "minimize_scalar": (
        lambda a: optimize.minimize_scalar(lambda x: np.cosh(x - a**2) if x > 0 else 9.0, bounds=(0.1, 9.0)).x,
        lambda a: a**2,
    ),
    "least_squares": (
        lambda a: optimize.least_squares(positive(lambda x: x**3 - a), 1.0, **TIGHT).x[0],
        lambda a: a ** (1 / 3),
    ),
}


@pytest.mark.parametrize("case", BRANCHING)
def test_what_branches_on_its_unknown_has_derivatives_by_its_closure(case: str) -> None:
    call, expected = BRANCHING[case]
    tolerance = 1e-4 if case.startswith("minimize_scalar") else 1e-6
    np.testing.assert_allclose(call(1.5), expected(1.5), rtol=tolerance)
    np.testing.assert_allclose(fg.grad(call)(1.5), fg.grad(expected)(1.5), rtol=tolerance)
    np.testing.assert_allclose(fg.jvp(call, (1.5,), (2.0,))[1], 2 * fg.grad(expected)(1.5), rtol=tolerance)
    np.testing.assert_allclose(fg.hessian(call)(1.5), fg.hessian(expected)(1.5), rtol=10 * tolerance, atol=1e-6)
