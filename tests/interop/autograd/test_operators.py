"""autograd's operators compared with autograd itself, for the same functions."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.interop.autograd as ours
import funcgrad.interop.autograd.numpy as our_np
from funcgrad.errors import NonScalarOutputError, NotDifferentiableError
from funcgrad.interop.autograd import core, wrap_util

theirs: Any = pytest.importorskip("autograd")
their_np: Any = pytest.importorskip("autograd.numpy")

RNG = np.random.default_rng(3)
X, V, W = RNG.normal(size=4), RNG.normal(size=4), RNG.normal(size=(2, 4))


def scalar(np: Any, x: Any) -> Any:
    return np.sum(np.tanh(x) ** 2 * np.exp(0.1 * x)) + np.dot(x, x) / (1 + np.sum(np.abs(x)))


def vector(np: Any, x: Any) -> Any:
    return np.array([x[0] * x[1], np.sum(x**3), np.sin(x[-1])])


def matrix(np: Any, x: Any) -> Any:
    return np.linalg.solve(np.outer(x, x) + 4 * np.eye(len(x)), np.stack([x, np.cos(x)], axis=1))


def of_two(np: Any, x: Any, w: Any) -> Any:
    return np.sum(np.dot(w, x) ** 2) * np.max(w)


def of_tree(np: Any, tree: Any) -> Any:
    (a, b), rest = tree
    return np.sum(a * b) + sum(np.sum(part**2) for part in rest["parts"])


# Calls of an operator: a name, a function, and positional arguments.
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda ag, np: ag.grad(lambda x: scalar(np, x))(X),
    "grad of one element": lambda ag, np: ag.grad(lambda x: np.reshape(scalar(np, x), (1, 1)))(X),
    "grad by argnum": lambda ag, np: ag.grad(lambda x, w: of_two(np, x, w), 1)(X, W),
    "grad by two": lambda ag, np: ag.grad(lambda x, w: of_two(np, x, w), [1, 0])(X, W),
    "grad of a number": lambda ag, np: ag.grad(lambda x: x**3 / (1 + x))(2.0),
    "grad of a constant": lambda ag, np: ag.grad(lambda x: 3.0)(X),
    "grad of a tree": lambda ag, np: ag.grad(lambda t: of_tree(np, t))(((X, V), {"parts": [W, 2.0]})),
    "grad with options": lambda ag, np: ag.grad(lambda x, *, scale: scale * np.sum(x**2))(X, scale=3.0),
    "grad of single precision": lambda ag, np: ag.grad(lambda x: np.sum(np.sin(x)))(X.astype("f4")),
    "grad by complex": lambda ag, np: ag.grad(lambda z: np.sum(np.abs(z) ** 3))(X + 1j * V),
    "grad of grad": lambda ag, np: ag.grad(lambda x: np.sum(ag.grad(lambda y: scalar(np, y * x))(x)))(X),
    "value and grad": lambda ag, np: ag.value_and_grad(lambda x: np.reshape(scalar(np, x), (1,)))(X),
    "grad named": lambda ag, np: ag.grad_named(lambda x, w: of_two(np, x, w), "w")(X, W),
    "elementwise": lambda ag, np: ag.elementwise_grad(lambda x: np.sin(x) * x)(W),
    "elementwise of a matrix": lambda ag, np: ag.elementwise_grad(lambda x: matrix(np, x))(X),
    "deriv": lambda ag, np: ag.deriv(lambda t: np.array([t, t**2]))(3.0),
    "jacobian": lambda ag, np: ag.jacobian(lambda x: vector(np, x))(X),
    "jacobian of a matrix": lambda ag, np: ag.jacobian(lambda x: matrix(np, x))(X),
    "jacobian by argnum": lambda ag, np: ag.jacobian(lambda x, w: np.dot(w, x), 1)(X, W),
    "jacobian of a number": lambda ag, np: ag.jacobian(lambda t: np.array([t, t**2]))(3.0),
    "hessian": lambda ag, np: ag.hessian(lambda x: scalar(np, x))(X),
    "hessian of a vector": lambda ag, np: ag.hessian(lambda x: vector(np, x))(X),
    "holomorphic": lambda ag, np: ag.holomorphic_grad(lambda z: np.exp(z) * z**2)(1.0 + 2.0j),
    "vjp": lambda ag, np: ag.make_vjp(lambda x: vector(np, x))(X)[0](V[:3]),
    "vjp in another precision": lambda ag, np: ag.make_vjp(lambda x: vector(np, x))(X)[0](V[:3].astype("f4")),
    "output of vjp": lambda ag, np: ag.make_vjp(lambda x: vector(np, x))(X)[1],
    "jvp": lambda ag, np: ag.make_jvp(lambda x: vector(np, x))(X)(V),
    "jvp by argnum": lambda ag, np: ag.make_jvp(lambda x, w: np.dot(w, x), 1)(X, W)(2 * W),
    "hvp": lambda ag, np: ag.make_hvp(lambda x: scalar(np, x))(X)[0](V),
    "gradient of hvp": lambda ag, np: ag.make_hvp(lambda x: scalar(np, x))(X)[1],
    "hessian vector product": lambda ag, np: ag.hessian_vector_product(lambda x: scalar(np, x))(X, V),
    "hessian tensor product": lambda ag, np: ag.hessian_tensor_product(lambda w: np.sum(np.sin(w) ** 3))(W, 2 * W),
    "vector jacobian product": lambda ag, np: ag.vector_jacobian_product(lambda x: vector(np, x))(X, V[:3]),
    "tensor jacobian product": lambda ag, np: ag.tensor_jacobian_product(lambda x: matrix(np, x))(X, W.T),
    "ggnvp": lambda ag, np: ag.make_ggnvp(lambda x: vector(np, x))(X)(V),
    "ggnvp of a loss": lambda ag, np: ag.make_ggnvp(
        lambda x, w: np.dot(w, np.sin(x)), g=lambda y: np.sum(np.exp(y)), f_argnum=0
    )(X, W)(V),
    "checkpoint": lambda ag, np: ag.grad(lambda x: ag.checkpoint(lambda y: scalar(np, y))(x) ** 2)(X),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore:Output seems independent of input")
def test_operators_are_autograds(name: str) -> None:
    got, expected = CALLS[name](ours, our_np), CALLS[name](theirs, their_np)
    assert fg.tree.structure(got) == fg.tree.structure(expected)
    for a, b in zip(fg.tree.leaves(got), fg.tree.leaves(expected), strict=True):
        assert np.shape(a) == np.shape(b)
        assert np.asarray(a).dtype == np.asarray(b).dtype
        np.testing.assert_allclose(a, b, rtol=1e-5 if np.asarray(a).dtype == "f4" else 1e-10, atol=1e-12)


def test_plain_numpy_does_too_and_compiles() -> None:
    gradient = ours.grad(lambda x: scalar(np, x))
    expected = theirs.grad(lambda x: scalar(their_np, x))(X)
    np.testing.assert_allclose(gradient(X), expected)
    np.testing.assert_allclose(fg.jit(ours.grad(lambda x: scalar(our_np, x)), engine="numpy")(X), expected)
    rows = fg.vmap(ours.grad(lambda x: scalar(our_np, x)))(np.stack([X, V]))
    np.testing.assert_allclose(rows[0], expected)


def test_auxiliary_output() -> None:
    gradient, aux = ours.grad_and_aux(lambda x: (scalar(our_np, x), {"twice": 2 * x}))(X)
    np.testing.assert_array_equal(gradient, ours.grad(lambda x: scalar(our_np, x))(X))
    np.testing.assert_array_equal(aux["twice"], 2 * X)


def test_gradients_by_name() -> None:
    def f(x: Any, *more: Any, w: Any = W, **named: Any) -> Any:
        return of_two(our_np, x, w) * more[0] * named["k"]

    by_x, by_w = theirs.grad(lambda x, w: of_two(their_np, x, w), (0, 1))(X, W)
    found = ours.multigrad_dict(f)(X, 2.0, k=3.0)
    assert list(found) == ["x", "more", "w", "named"]
    np.testing.assert_allclose(found["x"], 6 * by_x)
    np.testing.assert_allclose(found["w"], 6 * by_w)
    np.testing.assert_allclose(found["more"][0], 3 * of_two(np, X, W))
    np.testing.assert_allclose(found["named"]["k"], 2 * of_two(np, X, W))


def test_jvp_in_reverse_mode() -> None:
    expected = ours.make_jvp(lambda x: matrix(our_np, x))(X)(V)[1]
    np.testing.assert_allclose(ours.make_jvp_reversemode(lambda x: matrix(our_np, x))(X)(V), expected)


def test_functions_of_one_argument() -> None:
    vjp, out = core.make_vjp(our_np.square, X)
    np.testing.assert_array_equal(vjp(V), 2 * X * V)
    np.testing.assert_array_equal(out, X**2)
    np.testing.assert_array_equal(core.make_jvp(our_np.square, X)(V)[1], 2 * X * V)
    assert wrap_util.unary_to_nary(lambda f, x: f(x) + 1)(lambda x, y: x * y, argnum=1)(2, 3) == 7
    assert ours.grad(scalar, 1).__name__ == "grad_of_scalar_wrt_argnum_1"


def test_arrays_of_integers_are_taken_as_doubles() -> None:
    """Compare with autograd, nested as well, and for a density whose times are counted in whole days."""
    autograd = pytest.importorskip("autograd")
    days = np.array([1, 2, 5])
    for x in (days, days.astype("u1"), days[::2]):
        for operator in ("grad", "elementwise_grad", "jacobian", "hessian"):

            def f(np: Any, x: Any, operator: str = operator) -> Any:
                y = np.exp(-x / 3) * x**2
                return y if operator in ("elementwise_grad", "jacobian") else np.sum(y)

            got = getattr(ours, operator)(lambda x, f=f: f(our_np, x))(x)
            expected = getattr(autograd, operator)(lambda x, f=f: f(autograd.numpy, x))(x.astype(float))
            np.testing.assert_allclose(got, expected, rtol=1e-13)
            assert got.dtype == float
    tree = ours.grad(lambda t, k: our_np.sum(t["a"][0] ** 2) * k)({"a": [days]}, 2)
    np.testing.assert_array_equal(tree["a"][0], 4 * days)
    both = ours.grad(lambda x, y: our_np.sum(x * y), (0, 1))(days, days[:1])
    np.testing.assert_array_equal(both[1], [8.0])
    vjp, out = ours.make_vjp(lambda x: x / 2)(days)
    np.testing.assert_array_equal(out, days / 2)
    np.testing.assert_array_equal(vjp(np.ones(3)), [0.5] * 3)


def test_refusals() -> None:
    with pytest.raises(NonScalarOutputError, match=r"sin must return one real number. Its output is f64\[4\]"):
        ours.grad(our_np.sin)(X)
    with pytest.raises(NotDifferentiableError, match="It has dtype int64"):
        ours.grad(our_np.sum)(3)
    with pytest.raises(NotDifferentiableError, match="It has dtype bool"):
        ours.grad(our_np.sum)(np.array([True]))
    with pytest.raises(NotDifferentiableError, match="whose values do not change continuously"):
        ours.grad(lambda x: x > 0)(1.0)
    with pytest.raises(NotDifferentiableError, match="elementwise_grad: exp has a value of type c128"):
        ours.elementwise_grad(our_np.exp)(X + 1j)
    with pytest.raises(ValueError, match="grad_named: scalar has no argument 'y'; there are np, x"):
        ours.grad_named(scalar, "y")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ours.grad(lambda x: 1.0)(2.0) == 0
