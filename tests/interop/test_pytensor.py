"""``interop.pytensor.as_op``: values and derivatives of PyTensor's graphs around functions of arrays."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from funcgrad.interop.pytensor import as_op

pytensor: Any = pytest.importorskip("pytensor", reason="runs PyTensor itself, which is not installed here")
pt: Any = pytest.importorskip("pytensor.tensor", reason="runs PyTensor itself, which is not installed here")

# PyTensor says this of each operation that is Python code.
pytestmark = pytest.mark.filterwarnings("ignore:Numba will use object mode")
X, A = np.array([0.5, -1.0, 2.0]), np.array([[1.0, 2.0, 0.5], [0.0, 1.0, 3.0]])


def loss(a: Any, x: Any) -> Any:
    """A function with a write, which PyTensor's own operations do not have."""
    y = np.zeros(a.shape[0], like=a)
    y[:] = np.tanh(a @ x)
    return np.sum(y**2)


def two(x: Any, n: Any) -> Any:
    """Two results, and an input of integers."""
    return np.sin(x) * n, np.sum(x**3)


@pytest.mark.parametrize("mode", ["FAST_COMPILE", "NUMBA"])
def test_values_and_gradients(mode: str) -> None:
    a, x = pt.dmatrix("a"), pt.dvector("x")
    y = as_op(loss)(a, x)
    theirs = pt.sum(pt.tanh(a @ x) ** 2)
    assert (y.type.ndim, y.type.dtype) == (0, "float64")
    ours = pytensor.function([a, x], [y, *pytensor.grad(y, [a, x])], mode=mode)
    expected = pytensor.function([a, x], [theirs, *pytensor.grad(theirs, [a, x])], mode=mode)
    for got, wanted in zip(ours(A, X), expected(A, X), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-12)


def run(y: Any, inputs: dict[Any, Any]) -> Any:
    """The value of a graph, in the mode that compiles least."""
    return y.eval(inputs, mode="FAST_COMPILE")


def test_second_derivatives_and_both_directions() -> None:
    x, push = pt.dvector("x"), pytensor.gradient.pushforward
    y = as_op(lambda x: np.sum(np.sin(x) ** 3))(x)
    slope = pytensor.grad(y, x)
    sine, cosine = np.sin(X), np.cos(X)
    first, second = 3 * sine**2 * cosine, 6 * sine * cosine**2 - 3 * sine**3
    for got, expected in (
        (pytensor.grad(slope.sum(), x), second),
        (push(y, x, x), np.sum(first * X)),
        (push(y, x, x, use_op_pushforward=True), np.sum(first * X)),
        (push(slope, x, x, use_op_pushforward=True), second * X),
    ):
        np.testing.assert_allclose(run(got, {x: X}), expected, rtol=1e-10)


def test_several_results_and_integers() -> None:
    x, n = pt.dvector("x"), pt.lscalar("n")
    first, second = as_op(two)(x, n)
    assert (first.type.ndim, second.type.ndim) == (1, 0)
    slope = pytensor.grad(pt.sum(first), x) + pytensor.grad(second, x)
    np.testing.assert_allclose(run(slope, {x: X, n: 2}), 2 * np.cos(X) + 3 * X**2)
    assert as_op(two)(pt.as_tensor(X), 2)[0].type.shape == (3,)


def test_types_of_results() -> None:
    branching = lambda x: x * 2 if x[0] > 0 else -x
    with pytest.raises(TypeError, match=r"as_op: the types of the results of .*Pass otypes"):
        as_op(branching)(pt.dvector("x"))
    x = pt.dvector("x")
    y = as_op(branching, otypes=[pt.dvector])(x)
    np.testing.assert_array_equal(run(pytensor.grad(y.sum(), x), {x: X}), np.full(3, 2.0))
    with pytest.raises(TypeError, match="returned 1 arrays; needed 2"):
        run(as_op(lambda x: x, otypes=[pt.dvector, pt.dvector])(x)[0], {x: X})


def test_operations_are_equal_by_function_and_pickle() -> None:
    a, x = pt.dmatrix("a"), pt.dvector("x")
    op = as_op(loss)(a, x).owner.op
    assert op == as_op(loss)(a, x).owner.op == pickle.loads(pickle.dumps(op))
    assert op != as_op(two)(x, 2)[0].owner.op
