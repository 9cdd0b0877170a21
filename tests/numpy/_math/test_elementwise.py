"""Elementwise functions: NumPy's values and dtypes, JAX's gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.numpy._base import dispatch
from tests.numpy._surface import check_surface

UNARY = {
    "normal": "exp exp2 expm1 sin cos arctan sinh cosh tanh arcsinh square fabs absolute negative positive sinc i0 "
    "deg2rad rad2deg degrees radians real imag conjugate",
    "unit": "arcsin arccos arctanh tan",
    "positive": "log log2 log10 log1p sqrt cbrt reciprocal",
    "above_one": "arccosh",
}
COMPLEX = "exp expm1 sin cos arctan sinh cosh tanh arcsinh square log log10 sqrt reciprocal conjugate real imag"
BINARY = "add subtract multiply divide true_divide power float_power arctan2 hypot logaddexp logaddexp2 maximum "
BINARY += "minimum fmax fmin remainder mod fmod copysign"
RANGES = {"normal": (-2.0, 2.0), "unit": (-0.8, 0.8), "positive": (0.5, 2.0), "above_one": (1.2, 3.0)}
# jax.numpy lacks these, or gives them another derivative.
JAX_NAMES = {"float_power": "power", "fabs": "abs", "mod": "fmod"}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(("sample", "name"), [(s, name) for s, names in UNARY.items() for name in names.split()])
def test_unary(sample: str, name: str, dtype: str, rng: np.random.Generator) -> None:
    x = rng.uniform(*RANGES[sample], (3, 2)).astype(dtype)
    tolerance = 1e-10 if dtype == "float64" else 1e-4
    if name == "absolute":
        x = np.where(np.abs(x) < 0.1, x + 0.3, x)
    check_surface(lambda m, x: getattr(m, name)(x), [x], tolerance=tolerance)


@pytest.mark.parametrize("name", COMPLEX.split())
def test_unary_complex(name: str, rng: np.random.Generator) -> None:
    z = rng.uniform(0.2, 1.5, 4) + 1j * rng.uniform(0.2, 1.5, 4)
    check_surface(lambda m, z: getattr(m, name)(z), [z])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", BINARY.split())
def test_binary(name: str, dtype: str, rng: np.random.Generator) -> None:
    x = rng.uniform(2.3, 2.6, (3, 2)).astype(dtype)
    y = rng.uniform(1.0, 1.1, 2).astype(dtype)
    tolerance = 1e-10 if dtype == "float64" else 1e-4
    if name == "float_power" and dtype == "float32":
        assert fg.vjp(np.float_power, x, y)[0].dtype == np.float64
        return
    # For positive operands the two remainders coincide, and jax.numpy's mod has no derivative by the divisor.
    check_surface(
        lambda m, x, y: getattr(m, name)(x, y),
        [x, y],
        jax_f=lambda m, x, y: getattr(m, JAX_NAMES.get(name, name))(x, y),
        tolerance=tolerance,
    )


INTEGERS = "exp sin sqrt square negative absolute sign floor reciprocal rint deg2rad isnan invert conjugate"


@pytest.mark.parametrize("name", INTEGERS.split())
@pytest.mark.parametrize("dtype", ["int64", "int32", "uint8"])
def test_integers_promote_as_in_numpy(name: str, dtype: str) -> None:
    x = np.array([1, 2, 5], dtype)
    # NumPy computes small integers in float16.
    check_surface(lambda m, x: getattr(m, name)(x), [x], tolerance=1e-3 if dtype == "uint8" else 1e-10)


MIXED: dict[str, Callable[[Any, Any], Any]] = {
    "float32 and a Python float": lambda m, x: m.add(x, 1.5),
    "float32 and float64": lambda m, x: m.multiply(x, np.arange(3.0)),
    "float32 and int64": lambda m, x: m.multiply(x, np.arange(3)),
    "float32 and int16": lambda m, x: m.multiply(x, np.arange(3, dtype=np.int16)),
    "float32 and bool": lambda m, x: m.multiply(x, np.array([True, False, True])),
    "float32 and a Python bool": lambda m, x: m.multiply(x, True),
    "float32 and a Python complex": lambda m, x: m.real(m.multiply(x, 1j + 2)),
    "float32 and a NumPy scalar": lambda m, x: m.multiply(x, np.float64(2)),
}


@pytest.mark.parametrize("name", MIXED)
def test_promotion(name: str) -> None:
    x = np.array([0.5, 1.0, 2.0], np.float32)
    expected = MIXED[name](np, x)
    value, _ = fg.vjp(lambda x: MIXED[name](np, x), x)
    assert value.dtype == expected.dtype
    np.testing.assert_array_equal(value, expected)
    assert fg.make_graph(lambda x: MIXED[name](np, x))(x).outputs[0].aval.dtype == expected.dtype
    assert fg.grad(lambda x: np.sum(MIXED[name](np, x)))(x).dtype == np.float32


@pytest.mark.parametrize("order", [1, 2, 3])
def test_sinc_at_zero(order: int) -> None:
    """The derivatives of sin(u)/u at 0 are 0, -1/3, 0; just beside 0 the closed form has no digits left."""
    f = np.sinc
    for _ in range(order):
        f = fg.grad(f)
    expected = {1: 0.0, 2: -(np.pi**2) / 3, 3: 0.0}[order]
    assert float(f(0.0)) == pytest.approx(expected, abs=1e-12)
    assert float(f(1e-9)) == pytest.approx(expected, abs=1e-6)


AWKWARD: dict[str, tuple[Callable[..., Any], float, float]] = {
    "hypot at the origin": (lambda x: np.hypot(x, 0.0 * x), 0.0, 0.0),
    "power 2 at zero": (lambda x: x**2, 0.0, 0.0),
    "power 0 at zero": (lambda x: x**0.0, 0.0, 0.0),
    "x ** y at a zero base": (lambda y: np.power(0.0, y), 2.0, 0.0),
    "x ** 1.0 at zero": (lambda x: np.power(x, np.float64(1.0)), 0.0, 1.0),
    "logaddexp of minus infinity": (lambda x: np.logaddexp(x, -np.inf), 1.0, 1.0),
    "logaddexp far apart": (lambda x: np.logaddexp(x, -1e4), 1.0, 1.0),
    "tanh saturated": (np.tanh, 400.0, 0.0),
    "expm1 far left": (np.expm1, -1e3, 0.0),
    "abs at zero": (np.abs, 0.0, 0.0),
    "maximum where equal": (lambda x: np.maximum(x, 1.0), 1.0, 0.5),
    "sign": (lambda x: np.sign(x) * x, 2.0, 1.0),
    "cbrt of a negative number": (np.cbrt, -8.0, 1 / 12),
}


@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_points(name: str) -> None:
    f, x, expected = AWKWARD[name]
    assert float(fg.grad(f)(x)) == pytest.approx(expected, abs=1e-12)
    assert float(fg.jvp(f, (x,), (1.0,))[1]) == pytest.approx(expected, abs=1e-12)


# At equal infinities each operand has half of the derivative, the limit along ``logaddexp(x, x)``.
INFINITE = {
    "both inf": (np.inf, np.inf, (0.5, 0.5)),
    "both -inf": (-np.inf, -np.inf, (0.5, 0.5)),
    "inf and a number": (np.inf, 1.0, (1.0, 0.0)),
    "a number and -inf": (1.0, -np.inf, (1.0, 0.0)),
    "of two signs": (-np.inf, np.inf, (0.0, 1.0)),
}


@pytest.mark.parametrize("name", INFINITE)
@pytest.mark.parametrize("function", [np.logaddexp, np.logaddexp2], ids=lambda f: f.__name__)
@pytest.mark.parametrize("engine", [None, "numpy", "numba", "xla"])
def test_logaddexp_of_infinities(engine: str | None, function: np.ufunc, name: str) -> None:
    a, b, expected = INFINITE[name]
    gradient: Any = fg.grad(lambda a, b: function(a, b), (0, 1))
    slopes = (gradient if engine is None else fg.jit(gradient, engine=engine))(a, b)
    assert tuple(map(float, slopes)) == expected
    assert float(fg.jvp(lambda a, b: function(a, b), (a, b), (1.0, 1.0))[1]) == 1.0


def test_sign_of_complex_numbers(rng: np.random.Generator) -> None:
    z = rng.normal(size=3) + 1j * rng.normal(size=3)
    check_surface(lambda m, z: m.sign(z), [z], jax_f=lambda m, z: z / m.abs(z))


def test_outer() -> None:
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0, 5.0])
    check_surface(lambda m, x, y: np.subtract.outer(x, y) if m is np else x[:, None] - y, [x, y])
    check_surface(lambda m, x, y: np.hypot.outer(x, y) if m is np else m.hypot(x[:, None], y), [x, y])


def test_dtype_option() -> None:
    x = np.array([1.0, 2.0])
    value, pullback = fg.vjp(lambda x: np.multiply(x, x, dtype=np.float32), x)
    assert value.dtype == np.float32
    assert pullback(np.ones(2, np.float32))[0].dtype == np.float64


def test_refused_options() -> None:
    x = np.array([1.0, 2.0])
    with pytest.raises(fg.errors.UnsupportedFunctionError, match="where= without out="):
        fg.grad(lambda x: np.sum(np.sqrt(x, where=x > 1)))(x)
    with pytest.raises(fg.errors.TracerAssignmentError, match="like=x"):
        fg.grad(lambda x: np.sum(np.add(x, x, out=np.zeros(2))))(x)
    with pytest.raises(fg.errors.UnsupportedFunctionError, match=r"numpy\.isnat"):
        fg.make_graph(np.isnat)(np.array([2]))


def test_complex_numbers_are_refused_where_numpy_refuses_them() -> None:
    z = np.array([1j])
    functions: list[Callable[..., Any]] = [np.floor, np.cbrt, np.fabs, lambda z: np.arctan2(z, z)]
    for f in functions:
        with pytest.raises(TypeError, match="not supported"):
            fg.make_graph(f)(z)


def test_functions_take_everything() -> None:
    """Plain arrays, Python numbers, lists and ``jax.Array`` s."""
    assert fnp.sin(0.0) == 0.0
    assert type(fnp.add([1, 2], 3)) is np.ndarray
    with jax.enable_x64(True):
        x = jax.numpy.arange(3.0)
    y = fnp.exp(fnp.multiply(x, 2.0))
    assert isinstance(y, jax.Array)
    np.testing.assert_allclose(y, np.exp(2.0 * np.arange(3)))


POWERS = {
    "operator": lambda a, b: a**b,
    "power": np.power,
    "float_power": np.float_power,
    "power of arrays": lambda a, b: np.sum(np.power(a * np.ones(2), b)) / 2,
}


@pytest.mark.parametrize("name", POWERS)
@pytest.mark.parametrize("nest", ["hessian", "reverse over reverse", "forward over forward", "compiled"])
def test_second_derivatives_of_a_power_at_exponent_zero(name: str, nest: str) -> None:
    """The mixed one is 1 / a, though the first derivative by the base is 0 there."""
    f, both = POWERS[name], (0, 1)
    second = {
        "hessian": fg.hessian(f, both),
        "reverse over reverse": fg.jacrev(fg.grad(f, both), both),
        "forward over forward": fg.jacfwd(fg.jacfwd(f, both), both),
        "compiled": fg.jit(fg.hessian(f, both), engine="numpy"),
    }[nest]
    log = np.log(2.0)
    np.testing.assert_allclose(second(np.array(2.0), np.array(0.0)), [[0, 0.5], [0.5, log * log]], atol=1e-14)
    np.testing.assert_allclose(
        second(np.array(2.0), np.array(3.0)), [[12, 4 * (1 + 3 * log)], [4 * (1 + 3 * log), 8 * log * log]], rtol=1e-13
    )


# The derivatives by the base twice, by both, and by the exponent twice; NaN where a number would be wrong. If one is
# infinite the others are NaN: a direction that is zero in one argument is multiplied by it.
AT_BASE_ZERO = {
    0.0: (np.nan, np.nan, np.nan),
    1.0: (np.nan, np.nan, np.nan),
    2.0: (2, 0, 0),
    3.0: (0, 0, 0),
    0.5: (np.nan, np.nan, np.nan),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("nest", ["hessian", "reverse over reverse", "forward over forward", "compiled", "xla"])
def test_second_derivatives_of_a_power_at_base_zero(nest: str) -> None:
    """The mixed one is ``a ** (b - 1) * (1 + b * log(a))``, infinite up to the exponent 1."""
    f, both = np.power, (0, 1)
    second = {
        "hessian": fg.hessian(f, both),
        "reverse over reverse": fg.jacrev(fg.grad(f, both), both),
        "forward over forward": fg.jacfwd(fg.jacfwd(f, both), both),
        "compiled": fg.jit(fg.hessian(f, both), engine="numpy"),
        "xla": fg.jit(fg.hessian(f, both)),
    }[nest]
    for exponent, (by_base, mixed, by_exponent) in AT_BASE_ZERO.items():
        (aa, ab), (ba, bb) = second(np.array(0.0), np.array(exponent))
        for got, exact in ((aa, by_base), (ab, mixed), (ba, mixed), (bb, by_exponent)):
            assert got == exact if np.isfinite(exact) else not np.isfinite(got), (exponent, got, exact)


@pytest.mark.parametrize("exponent", [0, 1, 2, 3])
@pytest.mark.parametrize("base", [0.0, -2.0])
@pytest.mark.parametrize("kind", [int, float, np.float64, np.array])
def test_powers_of_zero_and_of_negative_numbers(base: float, exponent: int, kind: Any) -> None:
    power = [np.polynomial.Polynomial([0] * exponent + [1]).deriv(order)(base) for order in (1, 2, 3)]
    f = lambda a: a ** kind(exponent)
    for expected in power:
        f = fg.grad(f)
        np.testing.assert_allclose(f(np.float64(base)), expected, rtol=1e-14)


def test_i0_of_halves() -> None:
    x = np.array([0.5, 2.0], np.float16)
    for got in (fg.vjp(np.i0, x)[0], fg.jit(np.i0, engine="numpy")(x)):
        assert got.dtype == np.float16
        np.testing.assert_allclose(got, np.i0(x), rtol=2e-3)


def test_complex_powers_of_zero_on_xla() -> None:
    exponents = np.array([3 + 0.5j, 2, 0, -1 + 1j, 0.5j])
    with np.errstate(all="ignore"):
        for base in (0.0, np.zeros(5, complex)):
            expected = np.power(base, exponents)
            np.testing.assert_array_equal(fg.jit(lambda b, base=base: np.power(base, b))(exponents), expected)
    slopes = fg.jit(lambda a, b: fg.jvp(np.power, (a, b), (a + 1, b * 0 + 1))[1])(np.zeros(2, complex), exponents[:2])
    np.testing.assert_array_equal(slopes, [0, 0])


@pytest.mark.parametrize("name", ["arcsin", "arccos", "arcsinh", "arccosh"])
def test_complex_derivatives_on_both_sides_of_a_branch_cut(name: str) -> None:
    f, h = getattr(np, name), 1e-6
    for z in (complex(3, 0.0), complex(3, -0.0), complex(-3, 0.0), complex(-3, -0.0), -2 + 1j, 2 - 1j):
        # Along the cut, which a difference across it would leave.
        z, step = (complex(z.imag, z.real), 1j) if name == "arcsinh" else (z, 1)  # noqa: PLW2901  (the point moves)
        slope = fg.jvp(f, (np.complex128(z),), (np.complex128(1),))[1]
        ends = [complex(z.real + s, z.imag) if step == 1 else complex(z.real, z.imag + s) for s in (h, -h)]
        np.testing.assert_allclose(slope, (f(ends[0]) - f(ends[1])) / (2 * h * step), rtol=1e-6, atol=1e-9)


def test_logaddexp_reduce_of_nothing() -> None:
    x = np.zeros((0, 3))
    np.testing.assert_array_equal(fg.vjp(lambda x: np.logaddexp.reduce(x, axis=0), x)[0], [-np.inf] * 3)


def test_functions_of_traced_arrays_do_what_the_operators_do() -> None:
    x, z = np.array([0.5, -2.0, 3.0]), np.array([1.5, 2.0, -1.0])
    pairs = [
        (lambda a, b: a + b, np.add),
        (lambda a, b: a * b, np.multiply),
        (lambda a, b: a - b, np.subtract),
        (lambda a, b: a / b, np.divide),
    ]
    for operator, ufunc in pairs:
        for other in (z, 2.0, 3, np.float32(2), np.arange(1, 4), None):
            forms = [lambda a, f=f, o=other: np.sin(f(a, a * 2 if o is None else o)) for f in (operator, ufunc)]
            forms += [lambda a, f=f, o=other: np.sin(f(a * 2 if o is None else o, a)) for f in (operator, ufunc)]
            for one, two in (forms[:2], forms[2:]):
                for primal in (x, 0.5, np.float64(0.5), x.astype(np.float32)):
                    (y, y_dot), (v, v_dot) = (fg.jvp(f, (primal,), (primal,)) for f in (one, two))
                    assert np.asarray(y).dtype == np.asarray(v).dtype
                    np.testing.assert_array_equal(y, v)
                    np.testing.assert_array_equal(y_dot, v_dot)


def test_a_ufunc_that_is_declared_anew_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    for table in (dispatch.ufuncs, dispatch.direct_ufuncs):
        for ufunc in (np.arctan, np.hypot):
            monkeypatch.setitem(table, ufunc, table[ufunc])
    fg.extend.implements(np.arctan)(lambda x: x * 3)
    fg.extend.implements(np.hypot)(lambda x, y: x * y * 2)
    x = np.array([0.5, 2.0])
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(np.arctan(x) + np.hypot(x, 1.5)))(x), [6.0, 6.0])


@pytest.mark.parametrize("other", [2, 0.5, -1.0])
@pytest.mark.parametrize("function", [np.logaddexp, np.logaddexp2])
def test_a_python_number_does_not_widen_the_derivative(function: Any, other: Any) -> None:
    for x in (np.float32(1.0), np.ones(3, np.float32)):
        for f in (lambda x: np.sum(function(x, other)), lambda x: np.sum(function(other, x))):
            assert fg.grad(f)(x).dtype == np.float32
            assert fg.jvp(f, (x,), (x,))[1].dtype == np.float32
            assert fg.jit(fg.grad(f), engine="numpy")(x).dtype == np.float32


@pytest.mark.parametrize("name", ["sinh", "cosh", "tanh", "sin", "cos", "tan", "exp", "expm1"])
def test_complex_numbers_near_the_axes(name: str, rng: np.random.Generator) -> None:
    """Each part has its digits, however small it is beside the other one."""
    size = 10.0 ** rng.uniform(-12, 1, (2, 400)) * rng.choice([-1, 1], (2, 400))
    x, function = size[0] + 1j * size[1], getattr(np, name)
    y, expected = np.asarray(fg.jit(function)(x)), function(x)
    for part in (np.real, np.imag):
        np.testing.assert_allclose(part(y), part(expected), rtol=1e-11)
