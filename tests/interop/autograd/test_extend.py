"""Primitives in autograd's style: their rules in both modes, in batches, nested and staged, and foreign arrays."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
import scipy.special

import funcgrad as fg
import funcgrad.interop.autograd as ag
import funcgrad.interop.autograd.numpy as anp
import funcgrad.interop.autograd.scipy as asp
from funcgrad.errors import ConcretizationTypeError, NotDifferentiableError
from funcgrad.interop.autograd import builtins, extend, tracer
from funcgrad.interop.autograd._primitive import _tell_kept
from funcgrad.interop.autograd.extend import defjvp, defvjp, notrace_primitive, primitive
from funcgrad.interop.autograd.numpy.numpy_vjps import unbroadcast_f

X, V = np.array([0.5, 1.5, 2.5]), np.array([1.0, -2.0, 0.5])


@primitive
def scaled(x: Any, y: Any, *, k: float = 1.0) -> Any:
    """A product of plain arrays only.

    Its rule gives twice the derivative in reverse mode, three times in forward mode.
    """
    assert type(x) is not fg.Tracer
    return k * np.multiply(np.ascontiguousarray(x), np.ascontiguousarray(y))


defvjp(
    scaled,
    lambda ans, x, y, k=1.0: unbroadcast_f(x, lambda g: 2 * k * g * y),
    lambda ans, x, y, k=1.0: unbroadcast_f(y, lambda g: 2 * k * g * x),
)
defjvp(scaled, lambda g, ans, x, y, k=1.0: 3 * k * g * y, lambda g, ans, x, y, k=1.0: 3 * k * x * g)


@primitive
def gammaln(x: Any) -> Any:
    return scipy.special.gammaln(np.asarray(x) if not fg.is_traced(x) else refuse())


def refuse() -> Any:
    raise AssertionError("a traced value came to the function itself")


defvjp(gammaln, lambda ans, x: lambda g: g * digamma(x))
digamma = primitive(lambda x: scipy.special.digamma(x))
defvjp(digamma, lambda ans, x: lambda g: g * scipy.special.polygamma(1, x))


def test_each_mode_has_its_rule() -> None:
    assert scaled(2.0, 3.0, k=2.0) == 12
    np.testing.assert_array_equal(ag.grad(lambda x: np.sum(scaled(x, V, k=2.0)))(X), 4 * V)
    np.testing.assert_array_equal(ag.grad(lambda y: np.sum(scaled(X, y)))(2.0), 2 * X.sum())
    by_both = ag.grad(lambda x, y: np.sum(scaled(x, y)), (0, 1))(X, V)
    np.testing.assert_array_equal(by_both, [2 * V, 2 * X])
    np.testing.assert_array_equal(ag.make_jvp(lambda x: scaled(x, x))(X)(V)[1], 6 * X * V)
    assert vars(scaled)["__name__"] == "scaled"


def test_the_function_sees_plain_values_at_every_level_and_in_batches() -> None:
    np.testing.assert_allclose(ag.grad(lambda x: np.sum(gammaln(x) ** 2))(X), 2 * gammaln(X) * digamma(X))
    expected = np.diag(scipy.special.polygamma(1, X))
    np.testing.assert_allclose(ag.jacobian(ag.elementwise_grad(gammaln))(X), expected)
    np.testing.assert_allclose(ag.hessian(lambda x: np.sum(gammaln(x)))(X), expected)
    np.testing.assert_allclose(ag.jacobian(lambda x: anp.outer(gammaln(x), X))(X)[1, 2], [0, digamma(1.5) * 2.5, 0])
    np.testing.assert_allclose(fg.vmap(gammaln)(np.stack([X, 2 * X])), gammaln(np.stack([X, 2 * X])))
    np.testing.assert_allclose(fg.vmap(fg.grad(gammaln))(X), digamma(X))
    np.testing.assert_allclose(fg.jit(fg.grad(lambda x: np.sum(scaled_sin(x))), engine="numpy")(X), 5 * np.cos(X))
    with pytest.raises(NotDifferentiableError, match="has a rule for reverse mode only"):
        ag.make_jvp(gammaln)(X)(V)


@primitive
def scaled_sin(x: Any) -> Any:
    return 5 * np.sin(x)


defjvp(scaled_sin, lambda g, ans, x: 5 * g * np.cos(x))


def test_other_declarations() -> None:
    np.testing.assert_allclose(ag.grad(lambda x: np.sum(scaled_sin(x)))(X), 5 * np.cos(X))  # Transposed.
    parts = primitive(lambda xs, n: tuple(n * x for x in xs))
    extend.defvjp_argnums(parts, lambda argnums, ans, args, kwargs: lambda g: ([7 * g[0], 7 * g[1]],))
    got = ag.grad(lambda xs: np.sum(parts(xs, 2)[0]) + np.sum(parts(xs, 2)[1]))([X, V])
    np.testing.assert_array_equal(got, np.full((2, 3), 7.0))
    by_number = primitive(lambda x, y: x * y)
    extend.defvjp_argnum(by_number, lambda number, ans, args, kwargs: lambda g: g * args[1 - number] * 10)
    extend.def_linear(by_number)
    np.testing.assert_array_equal(ag.grad(by_number, (0, 1))(2.0, 3.0), [30, 20])
    assert ag.make_jvp(lambda x: by_number(x, x))(3.0)(1.0)[1] == 6
    same = primitive(lambda x, y: x @ y)
    defjvp(same, None, "same")
    assert ag.make_jvp(lambda x: same(x, x))(X)(V)[1] == X @ V
    sums = primitive(lambda x: x)
    extend.defjvp_argnums(sums, lambda argnums, tangents, ans, args, kwargs: 2 * tangents[0])
    assert ag.grad(sums)(1.0) == 2
    steps = primitive(np.floor)
    extend.register_notrace(None, steps)
    assert ag.grad(lambda x: x * steps(x))(2.5) == 2
    assert ag.grad(lambda x: x * notrace_primitive(lambda y: float(y))(x))(2.5) == 2.5
    third = primitive(lambda x, y: x * y)
    defvjp(third, lambda ans, x, y: lambda g: g * x, argnums=[1])
    assert ag.grad(third, 1)(3.0, 1.0) == 3
    with pytest.raises(NotImplementedError, match="VJP of <lambda> wrt argnum 0 not defined"):
        ag.grad(third)(3.0, 1.0)
    with pytest.raises(NotImplementedError, match="and none is declared"):
        ag.grad(primitive(np.sin))(1.0)
    with pytest.raises(TypeError, match="defvjp: a rule was given for a float; needed a function made by primitive"):
        defvjp(1.0, None)  # pyright: ignore[reportArgumentType]  (the misuse under test)
    with pytest.raises(
        TypeError, match="register_notrace: sin was given, a ufunc; needed a function made by primitive"
    ):
        extend.register_notrace(None, np.sin)  # pyright: ignore[reportArgumentType]  (the misuse under test)


# Functions of this library, NumPy and SciPy, and a method of a distribution, with their derivatives at 0.5.
COVERED = {
    "ours of scipy.special": (asp.special.expit, lambda x: scipy.special.expit(x) * scipy.special.expit(-x)),
    "ours of numpy": (anp.sinc, lambda x: (np.cos(np.pi * x) - np.sinc(x)) / x),
    "a ufunc of numpy": (np.sin, np.cos),
    "a function of numpy": (np.sum, np.ones_like),
    "a ufunc of scipy": (scipy.special.gammaln, scipy.special.digamma),
    "a distribution's": (asp.stats.norm.logcdf, lambda x: np.exp(asp.stats.norm.logpdf(x) - asp.stats.norm.logcdf(x))),
}


@pytest.mark.parametrize("name", COVERED)
def test_functions_with_derivatives_keep_them(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """A function that has derivatives keeps them in either mode, and a debug message reports this once."""
    f, slope = COVERED[name]
    _tell_kept.cache_clear()
    with caplog.at_level(logging.DEBUG, "funcgrad.interop.autograd"):
        for _ in range(2):
            defvjp(f, lambda ans, x: lambda g: 7 * g)
            defjvp(f, lambda g, ans, x: 7 * g)
            extend.defvjp_argnum(f, lambda number, ans, args, kwargs: lambda g: 7 * g)
            extend.defvjp_argnums(f, lambda argnums, ans, args, kwargs: lambda g: [7 * g])
            extend.defjvp_argnum(f, lambda number, g, ans, args, kwargs: 7 * g)
            extend.defjvp_argnums(f, lambda argnums, gs, ans, args, kwargs: 7 * gs[0])
            extend.def_linear(f)
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        f"{f.__name__} has derivatives here, and they stay in force"
    ]
    np.testing.assert_allclose(ag.grad(f)(0.5), slope(0.5), rtol=1e-14)
    np.testing.assert_allclose(ag.make_jvp(f)(0.5)(2.0)[1], 2 * slope(0.5), rtol=1e-14)
    # A function needs a primitive for its rule to be used.
    own = primitive(f)
    defvjp(own, lambda ans, x: lambda g: 7 * g)
    assert ag.grad(own)(0.5) == 7


def test_a_rule_for_what_is_no_primitive_is_not_used(caplog: pytest.LogCaptureFixture) -> None:
    """As in autograd, the operations of the function are differentiated. A warning reports this once."""

    def doubled(x: Any) -> Any:
        return 2 * x

    with caplog.at_level(logging.WARNING, "funcgrad.interop.autograd"):
        defvjp(doubled, lambda ans, x: lambda g: 7 * g)
        defjvp(doubled, "same")
    [record] = caplog.records
    assert record.levelname == "WARNING"
    assert record.getMessage().startswith("doubled is no primitive, and its operations are followed: a rule declared")
    assert ag.grad(doubled)(1.0) == 2


def test_a_jacobian_uses_the_rules_of_reverse_mode() -> None:
    """As in autograd, the function of plain values is not called with the tangents of a linear program."""

    @primitive
    def filled(x: Any) -> Any:
        y = np.zeros((2, 2))
        y[np.tril_indices(2)] = x
        return y

    defvjp(filled, lambda ans, x: lambda g: g[np.tril_indices(2)])
    defjvp(filled, lambda g, ans, x: filled(g))
    expected = np.zeros((2, 2, 3))
    expected[0, 0, 0] = expected[1, 0, 1] = expected[1, 1, 2] = 1
    np.testing.assert_array_equal(ag.jacobian(filled)(X), expected)
    np.testing.assert_array_equal(ag.jacobian(lambda x: filled(filled(x)[np.tril_indices(2)]))(X), expected)


def test_a_rule_may_ask_for_the_numbers_of_its_cotangent() -> None:
    """Also in a Jacobian, whose cotangents form a batch."""
    cubed = primitive(lambda x: np.asarray(x) ** 3)
    defvjp(cubed, lambda ans, x: lambda g: tracer.getval(g) * 3 * x**2)
    np.testing.assert_array_equal(ag.jacobian(cubed)(X), np.diag(3 * X**2))
    np.testing.assert_array_equal(ag.jacobian(lambda x: 2 * cubed(x)[:2])(X), 2 * np.diag(3 * X**2)[:2])
    # As in autograd, the derivative by the cotangent is lost, and the derivative by the argument is not.
    np.testing.assert_array_equal(ag.hessian(lambda x: np.sum(cubed(x)))(X), np.diag(6 * X))
    broken = primitive(lambda x: np.asarray(x) ** 3)
    defvjp(broken, lambda ans, x: lambda g: g * float(x[0]))
    with pytest.raises(ConcretizationTypeError, match="float"):
        fg.vmap(fg.grad(lambda x: np.sum(broken(x))))(np.stack([X, X]))


def test_results_of_integers_have_no_tangent() -> None:
    """The tangent of an integer result is ignored, whatever a rule returns for it."""
    ranked = primitive(lambda x: (np.sort(x), np.argsort(x)))
    defjvp(ranked, lambda g, ans, x: (g[ans[1]], g[:1]))
    x, order = np.array([2.0, 3.0, 1.0]), [2, 0, 1]
    out, out_dot = ag.make_jvp(lambda x: ranked(x)[0] * ranked(x)[1])(x)(X)
    np.testing.assert_array_equal(out, x[order] * order)
    np.testing.assert_array_equal(out_dot, X[order] * order)
    np.testing.assert_array_equal(ag.jacobian(lambda x: ranked(x)[0])(x), np.eye(3)[order])


def test_containers_that_hold_traced_values() -> None:
    def f(tree: Any) -> Any:
        assert isinstance(tree, builtins.DictBox)
        assert isinstance(tree["a"], builtins.ListBox)
        assert isinstance(tree["b"], builtins.TupleBox)
        assert all(isinstance(tree[key], builtins.SequenceBox) for key in ("a", "b"))
        assert not isinstance(tree["b"], builtins.ListBox | builtins.DictBox)
        assert not isinstance(tree["a"][0], builtins.SequenceBox)
        return tree["a"][0] * tree["b"][0]

    tree = {"a": [3.0], "b": (2.0,)}
    assert ag.grad(f)(tree) == {"a": [2.0], "b": (3.0,)}
    for plain, kind in ((tree, builtins.DictBox), (tree["a"], builtins.ListBox), (tree["b"], builtins.TupleBox)):
        assert not isinstance(plain, kind)
    assert not isinstance(1.0, builtins.SequenceBox)


def test_methods_and_writes() -> None:
    class Model:
        @primitive
        def apply(self, x: Any) -> Any:
            return 2 * x

    defvjp(Model.apply, lambda ans, self, x: lambda g: 20 * g, argnums=[1])
    assert ag.grad(Model().apply)(1.0) == 20

    def written(x: Any) -> Any:
        y = x * 1
        y[0] = 3.0
        return np.sum(scaled(y, V))

    np.testing.assert_array_equal(ag.grad(written)(X), [0, -4, 1])


def test_what_is_beneath() -> None:
    def f(x: Any) -> Any:
        assert tracer.isbox(x)
        assert all(isinstance(x, kind) for kind in (tracer.Box, anp.numpy_boxes.ArrayBox))
        assert builtins.isinstance(x, np.ndarray)
        assert builtins.isinstance(x[0], (float, int))
        assert builtins.type(x) is np.ndarray
        assert builtins.isinstance((x,), builtins.tuple)
        assert not builtins.isinstance({}, builtins.list)
        assert type(tracer.getval(x)) is np.ndarray
        value = tracer.getval({"a": [x, 1]})["a"][0]
        return np.sum(value * x) + anp.int64(x[1]) * x[0]

    np.testing.assert_array_equal(ag.grad(f)(X), [1.5, 1.5, 2.5])
    assert builtins.isinstance(builtins.dict(a=1), dict)
    assert builtins.type(3) is int
    assert tracer.getval("text") == "text"
    with pytest.raises(ConcretizationTypeError, match="getval needs the numbers"):
        fg.vmap(tracer.getval)(X)
