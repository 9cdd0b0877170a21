"""`solve_ivp`, `odeint` and `quad` against closed forms, JAX in 64 bits, differences and SciPy's own values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate
from jax.experimental import ode

import funcgrad as fg
from funcgrad.autograd import tensor
from funcgrad.errors import NotDifferentiableError, UnsupportedFunctionError
from funcgrad.scipy import integrate

theirs: Any = scipy.integrate
TIGHT: dict[str, Any] = {"rtol": 1e-11, "atol": 1e-12}
TIMES = np.linspace(0.0, 3.0, 7)
START, RATES = np.array([1.2, 0.8]), np.array([1.5, 1.0, 1.1, 0.7])
WEIGHTS = np.cos(np.arange(14.0)).reshape(7, 2)


def predators(t: Any, z: Any, a: Any, b: Any, c: Any, d: Any) -> list[Any]:
    x, y = z
    return [a * x - b * x * y, -c * y + d * x * y]


def ivp(m: Any, rates: Any, start: Any, method: str = "DOP853", **options: Any) -> Any:
    options = {"t_eval": TIMES, **TIGHT, **options}
    return m.solve_ivp(predators, (0, 3), start, method, args=tuple(rates), **options).y.T


def by_odeint(m: Any, rates: Any, start: Any) -> Any:
    return m.odeint(predators, start, TIMES, tuple(rates), tfirst=True, **TIGHT)


def by_closure(m: Any, rates: Any, start: Any) -> Any:
    def slope(t: Any, z: Any) -> Any:
        return np.stack(predators(t, z, *rates))

    return m.solve_ivp(slope, (0, 3), start, "DOP853", TIMES, **TIGHT).y.T


SOLVERS = {"solve_ivp": ivp, "odeint": by_odeint, "closure": by_closure}


def loss(solver: Callable[..., Any], m: Any = integrate) -> Callable[[Any, Any], Any]:
    return lambda rates, start: np.sum(WEIGHTS * solver(m, rates, start) ** 2)


@pytest.fixture(scope="module")
def from_jax() -> Any:
    """Values and gradient by ``jax.experimental.ode``."""
    with jax.enable_x64(True):

        def solution(rates: Any, start: Any) -> Any:
            slope = lambda z, t, rates: jnp.stack(predators(t, z, *rates))
            return ode.odeint(slope, start, jnp.asarray(TIMES), rates, rtol=1e-12, atol=1e-13)

        def scalar(rates: Any, start: Any) -> Any:
            return jnp.sum(WEIGHTS * solution(rates, start) ** 2)

        first = jax.grad(scalar, (0, 1))
        return jax.tree.map(np.asarray, (solution(RATES, START), first(RATES, START)))


@pytest.mark.parametrize("name", SOLVERS)
def test_predators_beside_jax(name: str, from_jax: Any) -> None:
    solver, (values, (by_rates, by_start)) = SOLVERS[name], from_jax
    np.testing.assert_array_equal(solver(integrate, RATES, START), solver(theirs, RATES, START))
    np.testing.assert_allclose(solver(integrate, RATES, START), values, rtol=1e-9)
    found = fg.grad(loss(solver), (0, 1))(RATES, START)
    np.testing.assert_allclose(found[0], by_rates, rtol=1e-8)
    np.testing.assert_allclose(found[1], by_start, rtol=1e-8)
    slope = fg.jvp(loss(solver), (RATES, START), (np.ones(4), np.ones(2)))
    np.testing.assert_allclose(slope[1], np.sum(by_rates) + np.sum(by_start), rtol=1e-8)
    np.testing.assert_allclose(slope[0], loss(solver, theirs)(RATES, START), rtol=1e-13)


@pytest.mark.parametrize("name", SOLVERS)
def test_second_derivatives_are_differences_of_the_first(name: str) -> None:
    gradient, h = fg.grad(loss(SOLVERS[name])), 1e-4
    rows = fg.hessian(loss(SOLVERS[name]))(RATES, START)
    step = h * np.eye(4)[1]
    difference = (gradient(RATES + step, START) - gradient(RATES - step, START)) / (2 * h)
    np.testing.assert_allclose(rows[1], difference, rtol=1e-6)
    np.testing.assert_allclose(rows, rows.T, rtol=1e-7)


@pytest.mark.parametrize("method", ["RK45", "RK23", "DOP853", "Radau", "BDF", "LSODA"])
def test_all_methods(method: str) -> None:
    """Solve a linear equation, whose solution is known."""
    a = np.array([[-1.0, 2.0], [-2.0, -0.5]])
    tight = 1e-5 if method == "RK23" else 1e-7

    def last(a: Any) -> Any:
        options = {"rtol": 0.1 * tight, "atol": np.array([0.1, 0.01]) * tight}
        return integrate.solve_ivp(lambda t, y: a @ y, (0, 1), START, method, [1.0], **options).y[:, 0]

    expected = fg.jacrev(lambda a: fg.scipy.linalg.expm(a) @ START)(a)
    np.testing.assert_allclose(fg.jacrev(last)(a), expected, atol=30 * tight)


def test_stiff_with_a_jacobian() -> None:
    """Van der Pol's equation, with a Jacobian of the user's, which closes over what is traced."""

    def last(mu: Any, method: str, m: Any = integrate, **options: Any) -> Any:
        def slope(t: Any, z: Any) -> list[Any]:
            return [z[1], mu * (1 - z[0] ** 2) * z[1] - z[0]]

        def jacobian(t: Any, z: Any) -> Any:
            return np.array([[0.0, 1.0], [-2 * mu * z[0] * z[1] - 1, mu * (1 - z[0] ** 2)]])

        options = {"jac": jacobian, **options}
        return m.solve_ivp(slope, (0, 20), [2.0, 0.0], method, [20.0], rtol=1e-9, atol=1e-9, **options).y[0, 0]

    expected = last(50.001, "Radau", theirs) - last(49.999, "Radau", theirs)
    for method in ("Radau", "BDF", "LSODA"):
        np.testing.assert_allclose(fg.grad(last)(50.0, method), expected / 0.002, rtol=1e-4)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_compiled(engine: str) -> None:
    for solver in (ivp, by_closure, by_odeint):
        gradient = fg.grad(loss(solver))
        compiled = fg.jit(gradient, engine=engine)(RATES, START)
        np.testing.assert_allclose(compiled, gradient(RATES, START), rtol=1e-9)
    hessian = fg.hessian(lambda k: ivp(integrate, [k, *RATES[1:]], START)[-1, 0])
    np.testing.assert_allclose(fg.jit(hessian, engine=engine)(1.5), hessian(1.5), rtol=1e-9)


def test_batched() -> None:
    many = np.stack([RATES, 1.1 * RATES])
    for solver in (ivp, by_closure, by_odeint):
        gradient = fg.grad(loss(solver))
        np.testing.assert_allclose(fg.vmap(gradient, (0, None))(many, START)[1], gradient(many[1], START), rtol=1e-9)
        jacobians = fg.vmap(fg.jacfwd(lambda rates, solver=solver: solver(integrate, rates, START)))(many)
        np.testing.assert_allclose(jacobians[0], fg.jacrev(lambda r, s=solver: s(integrate, r, START))(RATES))


def test_many_parameters() -> None:
    """More than the unknowns by far: then by reverse mode."""
    rng = np.random.default_rng(2)
    first, second = rng.normal(size=(9, 2)) / 2, rng.normal(size=(2, 9)) / 5

    def last(first: Any, second: Any) -> Any:
        slope = lambda t, y: second @ np.tanh(first @ y)
        return np.sum(integrate.solve_ivp(slope, (0, 1), START, "DOP853", [0.5, 1.0], **TIGHT).y ** 2)

    gradient, h = fg.grad(last, (0, 1)), 1e-4
    found = gradient(first, second)
    for way in (np.cos(np.arange(18.0)), np.sin(np.arange(18.0))):
        a, b = h * way.reshape(9, 2), h * way.reshape(2, 9)
        difference = (last(first + a, second + b) - last(first - a, second - b)) / 2
        np.testing.assert_allclose(np.sum(found[0] * a) + np.sum(found[1] * b), difference, rtol=1e-6)
    a, b = np.ones((9, 2)), np.ones((2, 9))
    slope = (gradient(first + h * a, second + h * b)[0] - gradient(first - h * a, second - h * b)[0]) / (2 * h)
    np.testing.assert_allclose(fg.hvp(last, (first, second), (a, b))[0], slope, rtol=1e-5, atol=1e-7)


def test_values_of_other_kinds() -> None:
    """Arrays of JAX's, narrow floats, integers, tensors, lists and intervals without length."""

    def last(k: Any, y0: Any = (1.0,)) -> Any:
        return integrate.solve_ivp(lambda t, y, k: -k * y, (0, 1), y0, t_eval=[1.0], args=(k,), **TIGHT).y[0, 0]

    expected = -math.exp(-0.5)
    for k in (0.5, np.float32(0.5), jnp.array(0.5), np.array(0.5)):
        slope = fg.grad(last)(k)
        np.testing.assert_allclose(np.asarray(slope), expected, rtol=1e-6)
        assert slope.dtype == getattr(k, "dtype", np.float64)
    np.testing.assert_allclose(jax.grad(fg.to_jax(last))(jnp.array(0.5)), expected, rtol=1e-6)
    np.testing.assert_allclose(fg.grad(lambda y: last(0.5, [y]))(2.0), -expected, rtol=1e-9)
    np.testing.assert_allclose(fg.grad(lambda k: last(k, [1]))(0.5), expected, rtol=1e-9)
    assert fg.grad(lambda y: integrate.solve_ivp(lambda t, y: -y, (1, 1), [y]).y[0, -1])(0.5) == 1
    assert fg.grad(lambda y: integrate.solve_ivp(lambda t, y: -y, (0, 1), [y], t_eval=[0.0]).y[0, 0])(0.5) == 1
    rates = fg.grad(lambda p: integrate.solve_ivp(predators, (0, 1), START, args=p).y[0, -1])
    tuples = fg.grad(lambda p: integrate.solve_ivp(predators, (0, 1), START, args=tuple(p)).y[0, -1])
    np.testing.assert_array_equal(rates(RATES), tuples(RATES))
    k = tensor(0.5, requires_grad=True)
    last(k).backward()
    np.testing.assert_allclose(np.asarray(k.grad), expected, rtol=1e-6)


def test_times() -> None:
    """Differentiate by both ends and by the times of results, given and chosen by SciPy, in both directions."""

    def given(t0: Any, t1: Any, y0: Any, t: Any) -> Any:
        y = integrate.solve_ivp(
            lambda t, y: -0.5 * y * t, (t0, t1), [y0], "DOP853", [t, t + 0.1 * (t1 - t0), t1], **TIGHT
        ).y[0]
        return y[0] * y[1] + y[2]

    def chosen(t0: Any, t1: Any, y0: Any, t: Any) -> Any:
        found = integrate.solve_ivp(lambda s, y: -0.5 * y * s * t, (t0, t1), [y0], "DOP853", **TIGHT)
        return found.y[0, -1] + found.y[0, 0] ** 2 + found.t[-1] + 2 * found.t[0]

    def by_hand(t0: Any, t1: Any, y0: Any, t: Any) -> Any:
        y = [y0 * np.exp(-0.25 * (s**2 - t0**2)) for s in (t, t + 0.1 * (t1 - t0), t1)]
        return y[0] * y[1] + y[2]

    def chosen_by_hand(t0: Any, t1: Any, y0: Any, t: Any) -> Any:
        return y0 * np.exp(-0.25 * t * (t1**2 - t0**2)) + y0**2 + t1 + 2 * t0

    def both(t0: Any, t1: Any, y0: Any, t: Any) -> Any:
        times = np.stack([t0, t, t, t1])
        return np.sum(integrate.odeint(lambda y, s: -0.5 * y * s, y0, times, **TIGHT)[1:, 0])

    def both_by_hand(t0: Any, t1: Any, y0: Any, t: Any) -> Any:
        return sum(y0 * np.exp(-0.25 * (s**2 - t0**2)) for s in (t, t, t1))

    for f, expected in ((given, by_hand), (chosen, chosen_by_hand), (both, both_by_hand)):
        for point in ((0.3, 2.0, 1.1, 1.2), (2.0, 0.3, 1.1, 0.9)):
            all_four = (0, 1, 2, 3)
            np.testing.assert_allclose(fg.grad(f, all_four)(*point), fg.grad(expected, all_four)(*point), rtol=1e-8)
            np.testing.assert_allclose(fg.hessian(f, 3)(*point), fg.hessian(expected, 3)(*point), rtol=1e-7)


def test_complex_values() -> None:
    def spin(w: Any, z: Any, t: Any = TIMES[1:]) -> Any:
        found = integrate.solve_ivp(
            lambda t, y, w: (1j * w - 0.1) * y, (0, 3), np.stack([z]), "DOP853", t, args=(w,), **TIGHT
        )
        return np.sum(np.abs(found.y - 0.3) ** 2)

    def by_hand(w: Any, z: Any) -> Any:
        return np.sum(np.abs(z * np.exp((1j * w - 0.1) * TIMES[1:]) - 0.3) ** 2)

    for w in (0.7, 0.7 + 0.2j):
        gradients = [fg.grad(f, (0, 1))(w, 0.4 - 0.9j) for f in (spin, by_hand)]
        np.testing.assert_allclose(*gradients, rtol=1e-8)
    with pytest.raises(TypeError, match="a real slope, or a complex value"):
        fg.grad(lambda w: integrate.solve_ivp(lambda t, y: 1j * w * y, (0, 1), [1.0]).y[0, -1])(1.0)


def test_a_function_that_branches() -> None:
    def switched(t: Any, y: Any, k: Any) -> Any:
        return -k * math.cos(t) * y if t < 1 else -k * math.cos(1) * y

    def last(k: Any) -> Any:
        return integrate.solve_ivp(switched, (0, 2), [1.0], args=(k,), t_eval=[2.0], max_step=0.1, rtol=1e-10).y[0, 0]

    rate = math.sin(1) + math.cos(1)
    np.testing.assert_allclose(fg.grad(last)(0.5), -rate * math.exp(-0.5 * rate), rtol=1e-7)
    with pytest.raises(NotDifferentiableError, match=r"branches on the numbers.*Pass the value in args"):
        fg.grad(lambda k: integrate.solve_ivp(lambda t, y: switched(t, y, k), (0, 2), [1.0]).y[0, -1])(0.5)


def test_what_breaks_off() -> None:
    """A solution that goes to infinity at 1/k: what was reached has its derivative."""

    def found(k: Any, **options: Any) -> Any:
        return integrate.solve_ivp(lambda t, y: k * y**2, (0, 2), [1.0], t_eval=[0.5, 1.5], **TIGHT, **options)

    plain = theirs.solve_ivp(lambda t, y: y**2, (0, 2), [1.0], t_eval=[0.5, 1.5], **TIGHT)
    assert not plain.success
    seen: list[Any] = []

    def first(k: Any) -> Any:
        seen.append(found(k))
        return seen[-1].y[0, 0]

    np.testing.assert_allclose(fg.grad(first)(1.0), 0.5 / 0.25, rtol=1e-8)
    assert (seen[0].success, seen[0].message, seen[0].nfev) == (False, plain.message, plain.nfev)
    assert seen[0].y.shape == plain.y.shape
    with pytest.raises(RuntimeError, match="SciPy did not reach the end"):
        fg.jit(first, engine="numpy")(1.0)


def test_reports() -> None:
    value, error, report = integrate.quad(lambda x: x, 0, 1, full_output=1)
    seen: list[Any] = []
    fg.grad(lambda b: seen.append(integrate.quad(lambda x: x, 0, b, full_output=1)) or seen[0][0])(1.0)
    assert seen[0][2]["neval"] == report["neval"]
    assert (value, error) == theirs.quad(lambda x: x, 0, 1)
    reports: list[Any] = []
    fg.grad(
        lambda k: (
            reports.append(integrate.odeint(lambda y, t: -k * y, 1.0, TIMES, full_output=1)) or reports[0][0][-1, 0]
        )
    )(1.0)
    assert reports[0][1]["message"] == "Integration successful."


CALLS: dict[str, Callable[[Any], Any]] = {
    "solve_ivp": lambda k: theirs.solve_ivp(lambda t, y: -y, (0, 1), [k], t_eval=[1.0], **TIGHT).y[0, 0],
    "solve_ivp, closure": lambda k: theirs.solve_ivp(lambda t, y: -k * y, (0, 1), [1.0], t_eval=[1.0], **TIGHT).y[0, 0],
    "odeint": lambda k: theirs.odeint(lambda y, t, k: -k * y, 1.0, [0, 1.0], (k,), **TIGHT)[1, 0],
    "odeint, closure": lambda k: theirs.odeint(lambda y, t: -k * y, 1.0, [0, 1.0], **TIGHT)[1, 0],
    "quad": lambda k: theirs.quad(lambda x, k: k * x, 0, 2, (k,))[0],
    "quad, closure": lambda k: theirs.quad(lambda x: k * x, 0, 2)[0],
}


@pytest.mark.parametrize("case", CALLS)
def test_scipys_own_names(case: str) -> None:
    """Redirected inside of `fg.intercept`, also by what a closure holds; refused outside, with ours named."""
    gradient, name = fg.grad(CALLS[case]), case.partition(",")[0]
    difference = (CALLS[case](0.5001) - CALLS[case](0.4999)) / 0.0002
    with fg.intercept():
        np.testing.assert_allclose(gradient(0.5), difference, rtol=1e-7)
        # Calls without traced values go to SciPy.
        assert fg.grad(lambda x: x * theirs.quad(lambda y: y, 0, 1)[0])(1.0) == 0.5
    with pytest.raises((TypeError, NotImplementedError)) as caught:
        gradient(0.5)
    text = "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert f"Call fg.scipy.integrate.{name} instead" in text


def decay(k: Any, **options: Any) -> Any:
    return integrate.solve_ivp(lambda t, y: -k * y, (0, 1), [1.0], **options).y[0, -1]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            fg.jit(lambda k: decay(k, events=lambda t, y: y[0], t_eval=[1.0]), engine="numpy"),
            UnsupportedFunctionError,
            "events were given under jit",
        ),
        (
            lambda k: integrate.solve_ivp(
                lambda t, y: -k * y, (0, 1), [1.0], events=lambda t, y: (y[0] - 0.8) * 0
            ).t_events[0][0],
            np.linalg.LinAlgError,
            "derivative of the root",
        ),
        (lambda k: decay(k, dense_output=True), UnsupportedFunctionError, r"dense_output was given.*t_eval"),
        (lambda k: decay(k, args=k), TypeError, r"write args=\(args,\)"),
        (
            lambda k: integrate.solve_ivp(lambda t, y: k * np.ones(3), (0, 1), START).y[0, 0],
            ValueError,
            "as many numbers",
        ),
        (lambda k: decay(k, rtol=k), NotDifferentiableError, "option rtol is traced"),
        (fg.jit(decay, engine="numpy"), UnsupportedFunctionError, "no t_eval was given"),
        (lambda k: integrate.quad(lambda x: x, 0, k, weight="cos", wvar=1)[0], UnsupportedFunctionError, "a weight"),
        (lambda k: integrate.quad(lambda x: 1j * k, 0, 1)[0], TypeError, "complex_func=True"),
        (lambda k: integrate.quad(lambda x: np.stack([k, k]), 0, 1)[0], TypeError, "needed a number"),
        (lambda k: integrate.odeint(lambda y, t: k * y, np.ones((2, 2)), TIMES)[0, 0], ValueError, "one axis for each"),
    ],
)
def test_refused(call: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fg.grad(call)(0.5)


def test_nothing_traced_is_scipys() -> None:
    """Events and dense output of plain arguments work inside of a transform, too."""

    def f(x: Any) -> Any:
        found = integrate.solve_ivp(lambda t, y: -y, (0, 1), [1.0], dense_output=True, events=lambda t, y: y[0] - 0.5)
        return x * found.sol(0.5)[0] * found.t_events[0][0]

    plain = theirs.solve_ivp(lambda t, y: -y, (0, 1), [1.0], dense_output=True, events=lambda t, y: y[0] - 0.5)
    assert fg.grad(f)(1.0) == plain.sol(0.5)[0] * plain.t_events[0][0]
