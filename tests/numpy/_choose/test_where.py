"""where, select, piecewise, clip, nan_to_num, and the tests of values they go by."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import NonConcreteBooleanIndexError
from tests.numpy._surface import check_surface, same

X = np.array([[-1.5, -0.2, 0.3], [0.9, 1.7, 4.0]])
SMOOTH: dict[str, Callable[..., Any]] = {
    "where": lambda m, x: m.where(x > 0.5, x * x, -x),
    "where of a number": lambda m, x: m.where(x > 0.5, x, 0.0),
    "where of another number": lambda m, x: m.where(x > 0.5, 2, x),
    "where broadcasts": lambda m, x: m.where(m.asarray([True, False, True]), x, x[:1]),
    "where of numbers as condition": lambda m, x: m.where(m.asarray([1.0, 0.0, 2.0]), x, 3.0),
    "select": lambda m, x: m.select([x < 0, x < 1], [x**2, 3 * x], 7.0),
    "select without default": lambda m, x: m.select([x < 0, x < 1], [x, m.sin(x)]),
    "clip": lambda m, x: m.clip(x, -1.0, 1.0),
    "clip by arrays": lambda m, x: m.clip(x, m.asarray([-1.0, 0.0, 0.5]), m.asarray([[0.7], [2.0]])),
    "clip from below": lambda m, x: m.clip(x, 0.0, None),
    "clip method": lambda m, x: x.clip(max=1.0) if m is np else m.clip(x, None, 1.0),
    "clip by keywords": lambda m, x: m.clip(x, min=-1.0, max=1.0),
    "nan_to_num": lambda m, x: m.nan_to_num(x),
    "fmax": lambda m, x: m.fmax(x, 0.5),
}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", SMOOTH)
def test_choices(name: str, dtype: str) -> None:
    f = SMOOTH[name]
    if dtype == "float32" and ("by arrays" in name or "number" in name):
        return
    check_surface(f, [X.astype(dtype)], tolerance=1e-10 if dtype == "float64" else 1e-5)


def test_where_keeps_dtypes() -> None:
    x = np.array([1.0, 2.0], np.float32)
    assert fg.grad(lambda x: np.sum(np.where(x > 1, x, 0.0)))(x).dtype == np.float32
    for other in (0, 0.0, np.float64(0), np.arange(2), np.int16(3)):
        graph = fg.make_graph(lambda x, other=other: np.where(x > 1, x, other))(x)
        assert graph(x).dtype == np.where(x > 1, x, other).dtype
    for other in (0, 0.5, 1j):
        n = np.array([1, 2])
        same(fg.make_graph(lambda n, other=other: np.where(n > 1, n, other))(n)(n), np.where(n > 1, n, other), 0.0)


def test_where_of_one_argument() -> None:
    x = np.array([3.0, -1.0, 2.0])
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(x[np.where(x > 0)]))(x), [1.0, 0.0, 1.0])
    with pytest.raises(fg.errors.ConcretizationTypeError, match="one argument"):
        fg.make_graph(lambda x: x[np.where(x > 0)])(x)
    with pytest.raises(ValueError, match="either both or neither"):
        fg.make_graph(lambda x: np.where(x > 0, x))(x)


def test_clip_at_the_bounds() -> None:
    x, low, high = np.array([0.0, 0.5, 1.0, 2.0, -1.0]), 0.0, 1.0
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(np.clip(x, low, high)))(x), [0.5, 1, 0.5, 0, 0])
    gradients = fg.grad(lambda low, high: np.sum(np.clip(x, low, high)), (0, 1))(low, high)
    assert [float(g) for g in gradients] == [1.5, 1.5]
    # If the lower bound is above the upper one, NumPy returns the upper one.
    gradients = fg.grad(lambda x, low, high: np.clip(x, low, high), (0, 1, 2))(0.5, 2.0, 1.0)
    assert [float(g) for g in gradients] == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("engine", [None, "xla", "numpy", "numba"])
def test_clip_shares_ties_as_minimum_and_maximum_do(engine: str | None) -> None:
    x, low, high = np.array([1.0, 2.0, 3.0, np.inf, 0.0]), np.array([1.0, 3.0, 1.0, 2.0, 0.0]), np.full(5, 3.0)
    pairs = [
        (lambda x, low, high: np.clip(x, low, high), lambda x, low, high: np.minimum(np.maximum(x, low), high)),
        (lambda x, low, high: np.clip(x, low, None), lambda x, low, high: np.maximum(x, low)),
        (lambda x, low, high: np.clip(x, None, high), lambda x, low, high: np.minimum(x, high)),
        (lambda x, low, high: np.clip(x, None, x), lambda x, low, high: np.minimum(x, x)),
    ]
    for clip, extrema in pairs:

        def gradients(f: Any) -> Any:
            whole = fg.grad(lambda *args: np.sum(f(*args)), (0, 1, 2))
            return (whole if engine is None else fg.jit(whole, engine=engine))(x, low, high)

        for got, expected in zip(gradients(clip), gradients(extrema), strict=True):
            np.testing.assert_array_equal(got, expected)
        np.testing.assert_array_equal(*[fg.jvp(f, (x, low, high), (np.ones(5),) * 3)[1] for f in (clip, extrema)])


def test_clip_of_integers() -> None:
    n = np.array([-5, 0, 5])
    for f in (lambda n: np.clip(n, -1, 2), lambda n: np.clip(n, None, 2), lambda n: np.clip(n, 0.5, 2)):
        same(fg.make_graph(f)(n)(n), f(n), 0.0)


PIECES: dict[str, tuple[Callable[[Any], Any], Callable[[np.ndarray], np.ndarray]]] = {
    "with a default": (
        lambda x: np.piecewise(x, [x < 0, x > 1], [lambda x: x**2, np.sqrt, 3.0]),
        lambda x: np.where(x < 0, 2 * x, np.where(x > 1, 0.5 / np.sqrt(np.abs(x)), 0.0)),
    ),
    "one condition": (
        lambda x: np.piecewise(x, x > 0, [np.log, lambda x: 2 * x]),
        lambda x: np.where(x > 0, 1 / x, 2.0),
    ),
    "with arguments": (
        lambda x: np.piecewise(x, [x > 0], [lambda x, a, b: a * x + b], 3.0, b=1.0),
        lambda x: np.where(x > 0, 3.0, 0.0),
    ),
}


@pytest.mark.parametrize("name", PIECES)
def test_piecewise(name: str) -> None:
    """A function sees the elements of its condition alone: no NaN comes back from where it is not defined."""
    f, slope = PIECES[name]
    x = np.array([-2.0, -0.5, 0.5, 1.5, 4.0])
    value, pullback = fg.vjp(f, x)
    np.testing.assert_allclose(value, f(x))
    np.testing.assert_allclose(pullback(np.ones(5))[0], slope(x))
    np.testing.assert_allclose(fg.make_graph(f)(x)(x), f(x))
    np.testing.assert_allclose(fg.jvp(f, (x,), (np.ones(5),))[1], slope(x))


# Functions that combine the elements they get.
COMBINING: dict[str, Callable[[Any], Any]] = {
    "mean": lambda x: np.piecewise(x, [x > 0], [lambda v: v - v.mean(), np.cumsum]),
    "overlapping": lambda x: np.piecewise(x, [x > 0, x > 1], [lambda v: 2 * v, lambda v: v[::-1]]),
    "not called for nothing": lambda x: np.piecewise(x, [x > 100, x < 100], [lambda v: v / v.max(), np.negative]),
    "rows": lambda x: np.piecewise(np.outer(x, x), [x > 0], [lambda v: v * v.sum(0), lambda v: v[:, :1] * 2]),
}


@pytest.mark.parametrize("name", COMBINING)
def test_a_piece_is_the_selected_part(name: str) -> None:
    f = COMBINING[name]
    x = np.array([-2.0, -0.5, 0.5, 1.5, 4.0])
    expected = f(x)
    for run in (lambda x: fg.vjp(f, x)[0], lambda x: fg.jvp(f, (x,), (x,))[0], fg.jit(f, paths=2, engine="numpy")):
        np.testing.assert_allclose(run(x), expected, rtol=1e-12)
    fg.check_grads(f, (x,), order=2)
    # The part is not known here, and elements must not be combined with others.
    for run in (fg.jit(f), fg.make_graph(f), lambda x: fg.vmap(f)(np.stack([x, x]))):
        with pytest.raises(NonConcreteBooleanIndexError, match=r"piecewise: the function of a piece applies"):
            run(x)


def test_pieces_of_unknown_conditions_compute_element_by_element() -> None:
    scale = np.arange(3.0)

    def doubled(v: Any) -> Any:
        v *= 2
        return np.where(v > 1, v, np.clip(v.astype(np.float32), 0.25, 9) * np.sum(scale))

    for f in (
        lambda x: np.piecewise(x, [x > 0], [doubled, np.abs]),
        lambda x: np.piecewise(x, True, [lambda v: 3 * v]),
        lambda x: np.piecewise(x[0] * np.ones(()), [x[0] < 0], [lambda v: v**2]),
    ):
        x = np.array([-2.0, -0.5, 0.5, 1.5, 0.0])
        for run in (fg.jit(f), fg.jit(f, engine="numpy"), lambda x, f=f: fg.vmap(f)(np.stack([x, x]))[1]):
            np.testing.assert_allclose(run(x), f(x), rtol=1e-6)


ODD = np.array([1.0, np.nan, np.inf, -np.inf, 0.0, -0.0, -3.0])
TESTS = ["isnan", "isinf", "isfinite", "isposinf", "isneginf", "logical_not"]
TESTS += ["signbit", "nan_to_num", "iscomplex", "isreal"]


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("dtype", ["float64", "float32", "complex128", "int64"])
def test_tests_of_values(name: str, dtype: str) -> None:
    x = np.array([1, 0, -3]) if dtype == "int64" else ODD.astype(dtype)
    if dtype == "complex128":
        if name in {"signbit", "isposinf", "isneginf"}:
            return
        x = np.concatenate([x, [complex(1, np.nan), complex(0, np.inf), 2j]])
    if dtype == "int64" and name == "signbit":
        return
    f = getattr(np, name)
    expected = f(x)
    for got in (fg.make_graph(f)(x)(x), fg.jit(f)(x)):
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


def test_nan_to_num_replaces_by_constants() -> None:
    gradient = fg.grad(lambda x: np.sum(np.nan_to_num(x, nan=2.0, posinf=3.0, neginf=4.0) * 2))(ODD)
    np.testing.assert_array_equal(gradient, [2, 0, 0, 0, 2, 2, 2])


@pytest.mark.parametrize("name", ["maximum", "minimum", "fmax", "fmin", "heaviside", "logaddexp", "hypot", "arctan2"])
def test_pairs_with_nan_and_infinity(name: str) -> None:
    x, y = (v.ravel() for v in np.meshgrid(ODD, ODD))
    f = getattr(np, name)
    with np.errstate(invalid="ignore"):
        expected = f(x, y)
        np.testing.assert_allclose(fg.jit(f)(x, y), expected, rtol=1e-12)


LOGICAL: dict[str, Callable[..., Any]] = {
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
}


@pytest.mark.parametrize("name", LOGICAL)
def test_logical(name: str) -> None:
    x, n, b = np.array([0.0, 1.5, np.nan]), np.array([0, 0, 2]), np.array([True, False, True])
    for pair in ((x, n), (n, b), (b, b), (x, 1.0), (b, True)):
        same(fg.jit(LOGICAL[name])(*pair), LOGICAL[name](*pair), 0.0)


BITWISE = {
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
    "not": lambda a, b: ~a,
    "left": lambda a, b: a << b,
    "right": lambda a, b: a >> b,
    "reflected": lambda a, b: (6 & a) + (1 << b),
}


@pytest.mark.parametrize("name", BITWISE)
def test_bitwise_operators(name: str) -> None:
    a, b = np.array([-5, 6, 1023]), np.array([0, 1, 3])
    same(fg.make_graph(BITWISE[name])(a, b)(a, b), BITWISE[name](a, b), 0.0)
    same(fg.jit(BITWISE[name])(a, b), BITWISE[name](a, b), 0.0)
    with pytest.raises(TypeError, match="not supported"):
        fg.make_graph(BITWISE[name])(a.astype(float), b)


CLOSE: dict[str, Callable[..., Any]] = {
    "isclose": lambda a, b: np.isclose(a, b),
    "isclose with NaN": lambda a, b: np.isclose(a, b, equal_nan=True),
    "allclose": lambda a, b: np.allclose(a, b),
    "allclose to itself": lambda a, b: np.allclose(a[:1], a[:1]),
    "array_equal": lambda a, b: np.array_equal(a, b),
    "array_equal with NaN": lambda a, b: np.array_equal(a, a, equal_nan=True),
    "array_equal of other shapes": lambda a, b: np.array_equal(a, b[1:]),
    "array_equiv": lambda a, b: np.array_equiv(a[:1], a[0]),
}


@pytest.mark.parametrize("name", CLOSE)
def test_closeness(name: str) -> None:
    a, b = ODD, ODD + np.array([1e-10, 0, 0, 0, 1e-3, 0, 0])
    same(fg.make_graph(CLOSE[name])(a, b)(a, b), np.asarray(CLOSE[name](a, b)), 0.0)

    def f(a: Any) -> Any:
        return np.sum(a) if np.all(CLOSE[name](a, b)) == np.all(CLOSE[name](ODD, b)) else 0.0 * np.sum(a)

    np.testing.assert_array_equal(fg.grad(f)(a), np.ones(7))


def test_angle() -> None:
    z = np.array([1 + 1j, -1 + 0.5j, 2 - 3j])
    check_surface(lambda m, z: m.angle(z), [z])
    check_surface(lambda m, z: m.angle(z, deg=True), [z])
    same(fg.make_graph(np.angle)(X)(X), np.angle(X), 0.0)


def test_parts() -> None:
    z = np.array([1 + 1j, -1 + 0.5j])
    check_surface(lambda m, z: z.real * z.imag + m.real(z.conj() * z), [z])
    check_surface(lambda m, x: x.real + x.imag + m.imag(x) + x.conj(), [X])


def test_truth_of_python_numbers_when_staged() -> None:
    """A comparison of Python numbers is a bool like any other: it is no weak number."""
    assert fg.jit(lambda x: (x > 1) * np.float32(2) + ((x > 1) & (x < 5)))(2.0) == 3.0
    assert fg.make_graph(lambda x: (x > 1) * np.float32(2))(2.0).outputs[0].aval.dtype == np.float32


def test_where_casts_integers_as_numpy_does() -> None:
    f = lambda c, x: (np.where(c, x, -2), np.where(c, 300, x))
    c, x = np.array([True, False]), np.array([3, 7], np.uint8)
    if np.lib.NumpyVersion(np.__version__) >= "2.5.0":
        for call in (f, fg.jit(f, engine="numpy")):
            with pytest.raises(OverflowError, match="out of bounds for uint8"):
                call(c, x)
        return
    for got, expected in zip(fg.jit(f, engine="numpy")(c, x), f(c, x), strict=True):
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)


def test_angle_of_real_numbers() -> None:
    x = np.array([2.0, -0.0, 0.0, -1.0, np.nan])
    np.testing.assert_array_equal(fg.vjp(np.angle, x)[0], np.angle(x))
    np.testing.assert_array_equal(fg.vjp(np.angle, x)[1](np.ones(5))[0], np.zeros(5))


def test_one_element_taken_is_no_view() -> None:
    x = np.ones((2, 2))
    for index in (1, np.array(1), np.int64(1)):
        for y in (fg.numpy.take(x, index, axis=0), fg.vjp(lambda x, i=index: np.take(x, i, axis=0), x)[0]):
            assert not np.shares_memory(x, y)


@pytest.mark.parametrize("name", ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"])
def test_signed_and_unsigned_integers_are_compared_on_xla(name: str) -> None:
    f = getattr(np, name)
    a, b = np.array([-1, 3, 2**62, 7]), np.array([2**64 - 1, 3, 5, 0], np.uint64)
    got = fg.jit(lambda a, b: (f(a, b), f(b, a)))(a, b)
    np.testing.assert_array_equal(got, (f(a, b), f(b, a)))


@pytest.mark.parametrize("engine", ["xla", "numpy"])
def test_bools_between_bounds(engine: str) -> None:
    x = np.array([True, False])
    for f in (
        lambda x: x.clip(False, True),
        lambda x: np.minimum(np.maximum(x, False), True),
        lambda x: np.maximum(x, True),
    ):
        expected = f(x)
        found = np.asarray(fg.jit(f, engine=engine)(x))
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype


def test_conditions_of_select_are_bools() -> None:
    x = np.arange(3.0)
    for run in (lambda f: fg.jit(f, engine="numpy")(x), lambda f: fg.vjp(f, x)):
        with pytest.raises(TypeError, match=r"invalid entry 1 in condlist, i64\[3\]"):
            run(lambda x: np.select([x > 1, np.zeros(3, int)], [x, -x]))


def test_choices_may_stand_without_their_list() -> None:
    x, i = np.arange(6.0).reshape(2, 3), np.array([[0, 1, 1], [1, 0, 1]])
    for f in (lambda i, x: i.choose(x, -x), lambda i, x: i.choose((x, -x)), lambda i, x: i.choose(x, -x, mode="clip")):
        np.testing.assert_array_equal(fg.jit(f, engine="numpy")(i, x), f(i, x))


def test_tolerances_are_weak_beside_a_python_number() -> None:
    x = np.array([1.0], np.float32)
    for b in (2, 2.0):
        close = functools.partial(np.isclose, b=b, atol=0, rtol=0.4999999999999999)
        np.testing.assert_array_equal(close(x), [True])
        np.testing.assert_array_equal(fg.jit(close)(x), [True])


@pytest.mark.parametrize("f", [np.isposinf, np.isneginf])
def test_complex_infinities_have_no_sign(f: Callable[..., Any]) -> None:
    for traced in (functools.partial(fg.vjp, f), fg.jit(f)):
        with pytest.raises(TypeError, match="complex infinities have no sign"):
            traced(np.array([np.inf + 1j]))
