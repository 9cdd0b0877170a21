"""``out=`` and ``where=``: NumPy's value, in the array that was given, and the derivative of that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.errors import TracerAssignmentError, UnsupportedFunctionError
from tests.numpy._ways import X, check

# NumPy, whose stubs know neither all that it takes nor what is refused here.
UNTYPED: Any = np
A = X.reshape(1, 5) * np.array([[1.0], [-0.4], [1.3]])


def of_ufuncs(x: Any) -> Any:
    c = np.zeros_like(x)
    assert np.add(x, 2 * x, out=c) is c
    assert np.multiply(c, x, c) is c
    view = c[1:]
    np.sin(view, view)
    np.subtract(x[:1], c[1:2], out=c[:1])
    np.maximum(c, x, out=c)
    q, r = np.zeros_like(x), np.zeros_like(x)
    quotient, rest = np.divmod(x, 0.37, out=(q, r))
    assert quotient is q
    assert rest is r
    rest, whole = UNTYPED.modf(x * 3, out=(None, q))
    assert whole is q
    return np.sum(c**2) + np.sum(r * r * q) + np.sum(rest**2)


def of_ufuncs_methods(x: Any) -> Any:
    d, c = np.zeros_like(x, shape=(2, 5)), np.zeros_like(x)
    np.add.outer(x[:2], x, out=d)
    np.multiply.reduce(d, 0, out=c)
    np.add.accumulate(c, out=c)
    np.matmul(d, x, out=c[:2])
    return np.sum(c**2) + np.sum(d)


def where_it_is_smooth(x: Any) -> Any:
    c = x * 0.5
    assert np.log(x, out=c, where=x > 0) is c
    np.divide(1.0, c - c[0], out=c, where=c != c[0])
    np.power(x, 0.5, out=c, where=x > 0.4)
    np.arccosh(x, out=c, where=x > 2)
    np.divide(c, np.array([0.0, 1, 2, 0, 1]), c, where=[False, True, True, False, True])
    d = np.zeros_like(x, shape=(2, 5))
    np.multiply(x, x, out=d, where=np.array([[True], [False]]))
    return np.sum(c**2) + np.sum(d * d)


@pytest.mark.parametrize("f", [of_ufuncs, of_ufuncs_methods, where_it_is_smooth], ids=lambda f: f.__name__)
def test_ufuncs(f: Callable[[Any], Any]) -> None:
    check(f, on_xla=True)


# Each function by name, and by position where there is one; the shapes of the results are NumPy's.
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "sum": lambda a, out: np.sum(a, axis=0, out=out),
    "sum by position": lambda a, out: a.sum(1, None, out),
    "sum of all": lambda a, out: np.sum(a, out=out),
    "prod": lambda a, out: a.prod(0, None, out),
    "mean": lambda a, out: np.mean(a, 1, out=out, keepdims=True),
    "var": lambda a, out: a.var(0, None, out),
    "std": lambda a, out: np.std(a, 0, None, out, 1),
    "max": lambda a, out: a.max(0, out),
    "amin": lambda a, out: np.min(a, 1, out),
    "ptp": lambda a, out: np.ptp(a, 0, out),
    "all": lambda a, out: np.all(a > 0, 1, out=out),
    "any": lambda a, out: (a > 0).any(1, out=out),
    "argmax": lambda a, out: a.argmax(0, out=out),
    "cumsum": lambda a, out: np.cumsum(a, 0, None, out),
    "cumprod": lambda a, out: a.cumprod(1, out=out),
    "clip": lambda a, out: np.clip(a, 0.1, 1.0, out),
    "clip's method": lambda a, out: a.clip(0.1, None, out),
    "round": lambda a, out: a.round(1, out),
    "fix": lambda a, out: np.fix(a, out),
    "isposinf": lambda a, out: np.isposinf(a, out),
    "dot": lambda a, out: a.dot(a.T, out),
    "matmul": lambda a, out: np.matmul(a, a.T, out),
    "outer": lambda a, out: np.outer(a[0], a[1], out),
    "einsum": lambda a, out: np.einsum("ij,kj->ik", a, a, out=out),
    "multi_dot": lambda a, out: np.linalg.multi_dot([a, a.T, a], out=out),
    "trace": lambda a, out: a.trace(0, 0, 1, None, out),
    "take": lambda a, out: np.take(a, [2, 0], 1, out),
    "take's method": lambda a, out: a.take([[2, 0]], 1, out, "wrap"),
    "choose": lambda a, out: np.choose([0, 1, 0, 1, 1], [a[0], a[1]], out),
    "compress": lambda a, out: a.compress([True, False, True], 0, out),
    "concatenate": lambda a, out: np.concatenate([a, a * a], 0, out),
    "stack": lambda a, out: np.stack([a, a * a], 1, out, casting="same_kind"),
    "median": lambda a, out: np.median(a, 1, out),
    "quantile": lambda a, out: np.quantile(a, [0.2, 0.6], 1, out),
    "percentile": lambda a, out: np.percentile(a, 30.0, 0, out=out),
    "nansum": lambda a, out: np.nansum(a, 1, None, out),
    "nanmean": lambda a, out: np.nanmean(a, 1, out=out),
    "nanmax": lambda a, out: np.nanmax(a, 1, out=out),
    "nanstd": lambda a, out: np.nanstd(a, 1, out=out),
    "nancumsum": lambda a, out: np.nancumsum(a, 1, out=out),
    "reduce": lambda a, out: np.maximum.reduce(a, 1, out=out),
    "logaddexp": lambda a, out: np.logaddexp.reduce(a, 1, out=out),
    "nothing": lambda a, out: np.add(np.sum(a, 1, out=None), 1.0, out=out, order="K"),
}


@pytest.mark.filterwarnings("ignore::funcgrad.errors.HiddenDependenceWarning")
@pytest.mark.filterwarnings("ignore:numpy.fix is deprecated:DeprecationWarning")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_functions(call: Callable[[Any, Any], Any]) -> None:
    dtype = int if call is CALLS["argmax"] else float
    shape = np.shape(call(A, None))
    plain: Any = np.zeros(shape, dtype)
    assert call(A, plain) is plain
    value, pullback = fg.vjp(lambda a: call(a, None), A)
    weights = np.cos(np.arange(plain.size)).reshape(shape)

    def written(a: Any) -> Any:
        out = np.zeros_like(a, dtype, shape=shape)
        kept = out[...]
        assert call(a, out) is out
        return kept if dtype is int else np.sum(kept * weights)

    np.testing.assert_allclose(plain, value, rtol=1e-14)
    if dtype is int:
        np.testing.assert_array_equal(fg.vjp(written, A)[0], plain)
        return
    loss, gradient = fg.value_and_grad(written)(A)
    np.testing.assert_allclose(loss, np.sum(plain * weights), rtol=1e-14)
    (expected,) = pullback(weights) if value.dtype == float else (np.zeros_like(A),)
    np.testing.assert_allclose(gradient, expected, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(fg.jit(fg.grad(written), engine="numpy")(A), expected, rtol=1e-12, atol=1e-15)


def test_sums_take_the_wider_dtype() -> None:
    """NumPy adds up in the dtype of the array that it writes into, where that is wider."""
    x = np.array([1.0, 2**-30, -1.0], np.float32)
    plain = np.zeros(())
    np.sum(x, out=plain)
    assert plain == 2**-30

    def f(x: Any) -> Any:
        return np.sum(x, out=np.zeros_like(x, float, shape=()))

    assert fg.value_and_grad(f)(x)[0] == plain
    assert fg.grad(f)(x).dtype == np.float32


def written(x: Any, call: Callable[[Any, Any], Any], dtype: Any = float, shape: Any = 3) -> Any:
    return np.sum(call(x, np.zeros_like(x, dtype, shape=shape)))


MISTAKES: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "dtype of a ufunc": (
        lambda x: written(x, lambda x, out: np.add(x, x, out=out), int),
        UNTYPED._core._exceptions.UFuncTypeError,
        "Cannot cast ufunc 'add' output from",
    ),
    "dtype of another": (lambda x: written(x, lambda x, out: np.cumsum(x, out=out), int), TypeError, "same_kind"),
    "a cut derivative": (
        lambda x: written(x, lambda x, out: np.add(x, x, out=out, casting="unsafe"), int),
        TracerAssignmentError,
        "would be cut",
    ),
    "shape of a ufunc": (
        lambda x: written(x, lambda x, out: np.add(x, x, out=out), shape=2),
        ValueError,
        "broadcast|mismatch",
    ),
    "smaller than the result": (
        lambda x: written(x, lambda x, out: np.add(x, np.ones((2, 3)), out=out)),
        ValueError,
        r"non-broadcastable output operand with shape \(3,\) doesn't match the broadcast shape \(2,3\)",
    ),
    "shape of another": (
        lambda x: written(x, lambda x, out: np.sum(x, out=out)),
        ValueError,
        r"numpy\.sum: out= is f64\[3\] and the result f64\[\]; needed one shape",
    ),
    "a plain array": (
        lambda x: np.sum(np.cumsum(x, out=np.empty(3))),
        TracerAssignmentError,
        r"numpy\.cumsum: out= is an array f64\[3\] of plain numbers.*np\.zeros\(n, like=x\)",
    ),
    "a plain array under a mask": (
        lambda x: np.sum(np.exp(x, out=np.empty(3), where=x > 0)),
        TracerAssignmentError,
        r"numpy\.exp: out=.*like=x",
    ),
    "no array": (lambda x: UNTYPED.sum(x, out=[1.0]), TypeError, "must be of ArrayType"),
    "a mask alone": (
        lambda x: np.sum(np.sqrt(x, where=x > 1)),
        UnsupportedFunctionError,
        r"where= without out=.*out=np\.zeros_like\(x\)",
    ),
    "a mask of floats": (
        lambda x: written(x, lambda x, out: np.add(x, x, out=out, where=x)),
        TypeError,
        r"to dtype\('bool'\) according to the rule 'safe'",
    ),
    "a number": (
        lambda x: np.sum(np.add(x[0], 1.0, out=np.broadcast_to(x, (2, 3)))),
        ValueError,
        "read-only",
    ),
}


@pytest.mark.parametrize(("f", "error", "message"), MISTAKES.values(), ids=MISTAKES)
def test_mistakes(f: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        fg.grad(f)(np.array([0.5, 1.5, 2.0]))


def test_plain_arrays_are_written_to_as_well() -> None:
    x, out = np.array([1.0, 4.0]), np.zeros(2)
    assert fnp.cumsum(x, out=out) is out
    np.testing.assert_array_equal(out, [1, 5])
    whole = np.zeros(2, int)
    assert fnp.cumsum(x + 0.5, out=whole) is whole
    np.testing.assert_array_equal(whole, np.cumsum(x + 0.5, out=np.zeros(2, int)))


def test_nothing_is_written_where_one_of_several_does_not_fit() -> None:
    def f(x: Any) -> Any:
        q, r = np.zeros_like(x), np.zeros_like(x, shape=2)
        with pytest.raises(ValueError, match="broadcast"):
            np.divmod(x, 0.4, out=(q, r))
        return np.sum(q * x)

    np.testing.assert_array_equal(fg.grad(f)(X), np.zeros(5))
