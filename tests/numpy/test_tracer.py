"""Tracers in Python's protocols and in third-party code: conversions, branches, object arrays, text, copies."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.optimize

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad._core.bind import Tracer
from funcgrad.errors import (
    ConcretizationTypeError,
    ObjectArrayWarning,
    TracerArrayConversionError,
    TracerAssignmentError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
)
from funcgrad.numpy._array.attach import ATTRIBUTES, METHODS
from funcgrad.numpy._array.operators import OPERATORS

X = np.array([1.0, 2.0, 3.0])
objects = pytest.mark.filterwarnings("ignore::funcgrad.errors.ObjectArrayWarning")


def test_a_traced_value_is_a_tracer_and_shows_no_numbers_by_the_way() -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append((fg.is_traced(x), isinstance(x[0] * 2, fg.Tracer), fg.is_traced([x]), hasattr(x, "value")))
        seen.append(hasattr(x, "tangent"))
        return np.sum(x * x)

    for transform in (fg.grad, fg.jacfwd, fg.jacrev, fg.hessian, fg.vmap, fg.make_graph):
        transform(f)(np.ones((2, 3)))
    assert set(seen) == {(True, True, False, False), False}
    assert not fg.is_traced(X)
    assert fg.is_traced(fg.autograd.tensor(X))


REFUSED: dict[str, tuple[Callable[[Any], Any], type[Exception]]] = {
    "float": (float, ConcretizationTypeError),
    "complex": (complex, ConcretizationTypeError),
    "math.sin": (math.sin, ConcretizationTypeError),
    "item": (lambda x: x.item(), ConcretizationTypeError),
    "tolist": (lambda x: x.tolist(), ConcretizationTypeError),
    "list index": (lambda x: [1.0, 2.0][x], TracerIntegerConversionError),
    "range": (lambda x: range(x), TracerIntegerConversionError),
    "asarray to float": (lambda x: np.asarray(x, float), TracerArrayConversionError),
    "array of floats": (lambda x: np.array([x, x], dtype=float), TracerArrayConversionError),
    "float64": (lambda x: np.float64(x), TracerArrayConversionError),
}


@pytest.mark.parametrize("count", [int, math.floor, math.ceil, math.trunc, round])
def test_integers_carry_no_derivative(count: Callable[[Any], int]) -> None:
    """They are constant between two numbers, so Python's integer may choose lengths and indices."""

    def part(x: Any) -> Any:
        n = count(x[0])
        assert type(n) is int
        return np.sum(x[:n] ** 2) * n + [0.0, x[1], x[2], x[3]][n]

    for first in (2.5, 1.7):
        x = np.array([first, 3.0, 1.0, -1.0])
        n = count(first)
        expected = np.where(np.arange(4) < n, 2 * x * n, 0)
        expected[n] += 1
        np.testing.assert_allclose(fg.grad(part)(x), expected)
        np.testing.assert_allclose(fg.jvp(part, (x,), (np.ones(4),))[1], expected.sum())
    for x, error in ((np.nan, ValueError), (np.inf, OverflowError)):
        with pytest.raises(error, match="cannot convert float"):
            fg.grad(lambda x: count(x) * x)(x)


@pytest.mark.parametrize("name", REFUSED)
def test_conversions_that_would_cut_the_derivative(name: str) -> None:
    convert, error = REFUSED[name]
    for transform in (fg.grad(convert), lambda x: fg.jvp(convert, (x,), (1.0,))):
        with pytest.raises(error, match=r"f64\[\](?s:.*)fg\.stop_gradient\(x\)"):
            transform(1.0)
    if error is not TracerArrayConversionError:
        with pytest.raises(error, match="under make_graph only its shape and dtype are known"):
            fg.make_graph(convert)(1.0)
        with pytest.raises(error, match=r"test_tracer\.py:\d+"):
            fg.make_graph(fg.grad(lambda x: convert(x)))(1.0)
    assert fg.grad(lambda x: x * x)(3.0) == 6.0


WRITES: dict[str, Callable[[Any], Any]] = {
    "astype of an object array": lambda x: np.asarray(x).astype(float),
    "an element of a plain array": lambda x: np.zeros(3).__setitem__(0, x[0]),
    "a slice of a plain array": lambda x: np.zeros(3).__setitem__(slice(3), x),
}


@objects
@pytest.mark.parametrize("name", WRITES)
def test_writing_tracers_into_floats(name: str) -> None:
    """NumPy words this error itself; ours is its cause."""
    with pytest.raises((ValueError, TracerArrayConversionError)) as raised:
        fg.grad(WRITES[name])(X)
    assert isinstance(raised.value.__cause__ or raised.value, ConcretizationTypeError)


def test_branches_on_values() -> None:
    def relu(x: Any) -> Any:
        while x > 4:
            x = x / 2
        return x if x > 0 and x != 7 else 0.0 * x

    assert fg.grad(relu)(3.0) == 1.0
    assert fg.grad(relu)(12.0) == 0.25
    assert fg.jvp(relu, (-1.0,), (1.0,))[1] == 0.0
    assert fg.grad(fg.grad(lambda x: relu(x) ** 3))(2.0) == 12.0
    assert fg.grad(lambda x: x * 2 if x else x)(3.0) == 2.0
    with pytest.raises(ValueError, match="ambiguous"):
        fg.grad(lambda x: np.sum(x) if x > 0 else 0.0)(X)
    for staged in (fg.make_graph(relu), fg.jit(relu), fg.make_graph(fg.grad(relu)), fg.jit(fg.grad(fg.grad(relu)))):
        with pytest.raises(TracerBoolConversionError, match=r"test_tracer\.py:\d+.*np\.where"):
            staged(3.0)


def test_comparisons_are_plain() -> None:
    def f(x: Any) -> Any:
        assert not isinstance(x > 1, Tracer)
        assert not (x == None).any()  # noqa: E711  (what is tested)
        assert (x != None).all()  # noqa: E711  (what is tested)
        assert not isinstance(np.isnan(x), Tracer)
        return np.sum(x[x > 1])

    np.testing.assert_array_equal(fg.grad(f)(X), [0, 1, 1])


def in_place(x: Any) -> Any:
    x += 1
    x *= 2
    x -= x / 4
    x /= 2
    x **= 2
    return np.sum(x)


def test_in_place_operators_rebind() -> None:
    before = X.copy()
    np.testing.assert_allclose(fg.grad(in_place)(X), 2 * 0.75**2 * (X + 1))
    np.testing.assert_array_equal(before, X)


def test_in_place_into_an_array_is_refused() -> None:
    def f(x: Any) -> Any:
        total = np.zeros(3)
        total += x
        return np.sum(total)

    with pytest.raises(TracerAssignmentError, match=r"np\.zeros\(n, like=x\).* t = t \+ x instead of t \+= x"):
        fg.grad(f)(X)
    with pytest.raises(TracerAssignmentError, match=r"numpy\.add\.at.* like=x"):
        fg.grad(lambda x: np.add.at(np.zeros(3), [0], x))(X)


OBJECTS: dict[str, Callable[[Any], Any]] = {
    "array of elements": lambda x: np.sum(np.array([x[0], x[1] * x[2]]) ** 2),
    "nested": lambda x: np.sum(np.array([[x[0], x[1]], [x[2], 1.0]]) @ np.array([1.0, 2.0])),
    "with constants": lambda x: np.sum(np.array([x[0], 3.0, x[1]]) * x),
    "asarray": lambda x: np.sum(np.sin(np.asarray(x)) * np.exp(np.asarray(x))),
    "ufuncs": lambda x: np.sum(np.hypot(np.asarray(x), 2.0) + np.arctan2(np.asarray(x), np.sqrt(np.asarray(x)))),
    "more ufuncs": lambda x: np.sum(np.log1p(np.cbrt(np.asarray(x))) + np.degrees(np.tanh(np.asarray(x)))),
    "absolute": lambda x: np.sum(np.absolute(-np.asarray(x)) * np.conjugate(np.asarray(x))),
    "maximum": lambda x: np.sum(np.maximum(np.asarray(x) ** 2, 2.0)),
    "floor": lambda x: np.sum(np.floor(np.asarray(x)) * np.asarray(x)),
    "dot": lambda x: np.dot(np.asarray(x), np.asarray(x) ** 3.0),
    "max": lambda x: np.max(np.asarray(x) * x),
    "reshaped": lambda x: np.sum(np.asarray(x).reshape(3, 1) * np.asarray(x)),
    "scalar": lambda x: np.sum(np.asarray(x[1]) * x),
    "our function": lambda x: fnp.sum(fnp.sin(np.array([x[0], x[2]]))),
    "meets a tracer": lambda x: np.sum(np.array([x[0], x[1], x[2]]) * x),
}


def flat_gradient(f: Callable[[Any], Any]) -> np.ndarray:
    return np.array([(f(X + 1e-6 * e) - f(X - 1e-6 * e)) / 2e-6 for e in np.eye(3)])


@objects
@pytest.mark.parametrize("name", OBJECTS)
def test_object_arrays(name: str) -> None:
    f = OBJECTS[name]
    gradient = fg.grad(f)(X + 0.3)
    assert gradient.dtype == np.float64
    shifted = flat_gradient(lambda x: f(x + 0.3))
    np.testing.assert_allclose(gradient, shifted, rtol=1e-6)
    np.testing.assert_allclose(fg.jvp(f, (X + 0.3,), (np.ones(3),))[1], shifted.sum(), rtol=1e-6)
    if name not in {"maximum", "max"}:
        np.testing.assert_allclose(fg.make_graph(fg.grad(f))(X)(X + 0.3), gradient)


@objects
def test_object_arrays_leave_no_transform() -> None:
    def pair(x: Any) -> Any:
        return np.array([x[0], x[1] * x[2]])

    value, pullback = fg.vjp(pair, X)
    assert value.dtype == np.float64
    np.testing.assert_array_equal(pullback(np.ones(2))[0], [1.0, 3.0, 2.0])
    assert fg.jvp(pair, (X,), (np.ones(3),))[1].dtype == np.float64
    np.testing.assert_array_equal(fg.make_graph(pair)(X)(X), [1.0, 6.0])
    gradient, aux = fg.grad(lambda x: (np.sum(x), pair(x)), has_aux=True)(X)
    assert aux.dtype == np.float64
    np.testing.assert_array_equal(gradient, np.ones(3))
    assert fg.grad(lambda x: np.asarray(x * x))(2.0) == 4.0
    assert fg.vjp(pair, X.astype(np.float32))[0].dtype == np.float32


@objects
def test_rosen_as_scipy_ships_it() -> None:
    x = np.array([1.3, 0.7, 0.8, 1.9, 1.2])
    np.testing.assert_allclose(fg.grad(scipy.optimize.rosen)(x), scipy.optimize.rosen_der(x))
    product = fg.jvp(fg.grad(scipy.optimize.rosen), (x,), (np.ones(5),))[1]
    np.testing.assert_allclose(product, scipy.optimize.rosen_hess_prod(x, np.ones(5)))


def test_one_warning_per_call_site() -> None:
    def f(x: Any) -> Any:
        total = 0.0
        for _ in range(3):
            total = total + np.array([x[0], x[1]]).sum()
        return total + np.asarray(x).sum()

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("default")
        fg.grad(f)(X)
        fg.grad(f)(X)
    lines = [(w.filename, w.lineno) for w in seen]
    assert [w.category for w in seen] == [ObjectArrayWarning] * 2
    assert len(set(lines)) == 2
    assert all(name == __file__ for name, _ in lines)
    assert "np.stack" in str(seen[0].message)


def test_large_arrays_are_not_taken_apart() -> None:
    with pytest.raises(TracerArrayConversionError, match=r"f64\[300\].*up to 256.*fnp\.asarray"):
        fg.grad(lambda x: np.sum(np.asarray(x)))(np.ones(300))


def test_text() -> None:
    seen = []
    fg.grad(lambda x: seen.append(f"{x} | {x[0]:.2f}") or np.sum(x))(X)
    fg.make_graph(lambda x: seen.append(repr(x)) or x)(X)
    assert seen == [
        "Traced<f64[3]> by grad, value=array([1., 2., 3.]) | 1.00",
        "Traced<f64[3]> by make_graph",
    ]
    with pytest.raises(ConcretizationTypeError, match=r"the format '\.2f'"):
        fg.make_graph(lambda x: f"{x:.2f}")(1.0)


def test_copies_and_namespace() -> None:
    def f(x: Any) -> Any:
        for copied in (copy.copy(x), copy.deepcopy({"x": x})["x"], x.copy()):
            assert copied is not x
            assert copied._value is not x._value
        assert {x: 1}[x] == 1
        assert x.__array_namespace__() is fnp
        return np.sum(+x - (-x) + abs(x))

    np.testing.assert_array_equal(fg.grad(f)(X), [3.0, 3.0, 3.0])


def test_what_is_attached_has_one_place() -> None:
    tables = OPERATORS, METHODS, ATTRIBUTES
    assert len(set().union(*tables)) == sum(map(len, tables))
    assert all(hasattr(Tracer, name) for table in tables for name in table)


def reshaped_in_place(x: Any) -> Any:
    y = x * 2
    y.shape = (2, 3)
    return np.sum(y[0])


def retyped_in_place(x: Any) -> Any:
    y = x * 2
    y.dtype = np.float32
    return np.sum(y)


def transposed_in_place(x: Any) -> Any:
    y = x * 2
    y.T = 0.0
    return np.sum(y)


WAYS: dict[str, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = {
    "grad": fg.grad,
    "jit of grad": lambda f: fg.jit(fg.grad(f), engine="numpy"),
    "jit": fg.jit,
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (x,)),
    "vmap": lambda f: lambda x: fg.vmap(f)(np.stack([x, x])),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("f", "words"),
    [
        (reshaped_in_place, r"x\.shape = value: x is a traced array f64\[6\].*x = x\.reshape\(shape\)"),
        (retyped_in_place, r"x\.dtype = value: .*x = x\.astype\(dtype\)"),
        (transposed_in_place, r"x\.T = value: .*x\[\.\.\.\] = value"),
    ],
)
def test_what_an_array_keeps_is_not_set(f: Callable[[Any], Any], words: str, way: str) -> None:
    with pytest.raises(AttributeError, match=words):
        WAYS[way](f)(np.arange(6.0))


def test_what_a_tensor_keeps_is_not_set() -> None:
    with pytest.raises(AttributeError, match=r"x = x\.reshape\(shape\)"):
        reshaped_in_place(fg.autograd.tensor(np.arange(6.0), requires_grad=True))
