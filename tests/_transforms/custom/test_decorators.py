"""Functions with custom rules: the rule is used eagerly, nested, staged, compiled, and by JAX's transforms."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad._core.graph.ir import check_graph
from funcgrad.errors import NotDifferentiableError, TreeMismatchError

X, Y = np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.3, -0.7])


@fg.custom_vjp
def doubled_sin(x: Any, y: Any) -> Any:
    """Return a function whose rule gives twice the derivative, to show that the rule was used."""
    return {"sin": np.sin(x) * y}


def _forward(x: Any, y: Any) -> Any:
    return {"sin": np.sin(x) * y}, {"kept": (x, y), "label": "text"}


def _backward(residuals: Any, out_bar: Any) -> Any:
    assert residuals["label"] == "text"
    x, y = residuals["kept"]
    return 2 * np.cos(x) * y * out_bar["sin"], 2 * np.sin(x) * out_bar["sin"]


doubled_sin.defvjp(_forward, _backward)


@fg.custom_jvp
def tripled_sin(x: Any, y: Any) -> Any:
    return {"sin": np.sin(x) * y}


@tripled_sin.defjvp
def _push(primals: Any, tangents: Any) -> Any:
    (x, y), (x_dot, y_dot) = primals, tangents
    return {"sin": np.sin(x) * y}, {"sin": 3 * (np.cos(x) * y * x_dot + np.sin(x) * y_dot)}


def vjp_loss(x: Any, y: Any) -> Any:
    return np.sum(doubled_sin(x, y)["sin"] ** 2)


def jvp_loss(x: Any, y: Any) -> Any:
    return np.sum(tripled_sin(x, y)["sin"] ** 2)


def expected(factor: float, x: Any = X, y: Any = Y) -> tuple[Any, Any]:
    s = np.sin(x)
    return 2 * factor * s * y * np.cos(x) * y, 2 * factor * s * y * s


CASES = {"custom_vjp": (vjp_loss, 2.0), "custom_jvp": (jvp_loss, 3.0)}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> tuple[Any, float]:
    return CASES[request.param]


def close(got: Any, wanted: Any, tolerance: float = 1e-12) -> None:
    for a, b in zip(fg.tree.leaves(got), fg.tree.leaves(wanted), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)


def test_plain_call_is_the_function() -> None:
    close(doubled_sin(X, Y), {"sin": np.sin(X) * Y})
    close(doubled_sin(X, y=Y), {"sin": np.sin(X) * Y})
    assert vars(doubled_sin)["__name__"] == "doubled_sin"


def test_the_rule_is_used(case: Any) -> None:
    f, factor = case
    close(fg.grad(f, (0, 1))(X, Y), expected(factor))
    close(fg.grad(f, 1)(X, Y), expected(factor)[1])
    close(fg.vjp(f, X, Y)[1](1.0), expected(factor))


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_the_rule_is_used_staged_and_compiled(case: Any, engine: str) -> None:
    f, factor = case
    jit = partial(fg.jit, engine=engine)
    close(jit(f)(X, Y), np.sum((np.sin(X) * Y) ** 2))
    close(jit(fg.grad(f, (0, 1)))(X, Y), expected(factor))
    close(fg.grad(jit(f), (0, 1))(X, Y), expected(factor))
    close(jit(fg.grad(jit(f), (0, 1)))(X, Y), expected(factor))


def test_a_graph_holds_the_call(case: Any) -> None:
    f, factor = case
    graph = check_graph(fg.make_graph(f)(X, Y))
    assert any(equation.primitive.name.startswith("custom_") for equation in graph.equations)
    assert "_sin" in str(graph)
    close(fg.grad(graph, (0, 1))(X, Y), expected(factor))
    close(fg.make_graph(fg.grad(f, (0, 1)))(X, Y)(X, Y), expected(factor))


def test_second_order(case: Any) -> None:
    """The first derivative is the rule's; the rule itself is differentiated as it is written."""
    f, factor = case
    wanted = np.diag(2 * factor * np.cos(2 * X) * Y**2)
    close(fg.jacrev(fg.grad(f))(X, Y), wanted)
    if factor == 3:
        close(fg.hessian(f)(X, Y), wanted)
        close(fg.jacfwd(fg.jacfwd(f))(X, Y), wanted)


def test_forward_mode(case: Any) -> None:
    f, factor = case
    if factor == 2:
        with pytest.raises(NotDifferentiableError, match=r"jvp: doubled_sin is a custom_vjp"):
            fg.jvp(f, (X, Y), (X, Y))
        return
    x_bar, y_bar = expected(factor)
    wanted = np.sum(x_bar * X) + np.sum(y_bar * Y)
    close(fg.jvp(f, (X, Y), (X, Y))[1], wanted)
    close(fg.jvp(fg.jit(f), (X, Y), (X, Y))[1], wanted)
    close(fg.linearize(f, X, Y)[1](X, Y), wanted)


@fg.custom_vjp
def in_both_modes(x: Any, y: Any) -> Any:
    """Reverse mode gives twice the derivative, forward mode three times."""
    return {"sin": np.sin(x) * y}


in_both_modes.defvjp(_forward, _backward)
in_both_modes.defjvp(_push)


def test_a_rule_for_each_mode() -> None:
    def f(x: Any, y: Any) -> Any:
        return np.sum(in_both_modes(x, y)["sin"] ** 2)

    twice, thrice = expected(2.0), np.sum(expected(3.0)[0] * X)
    for g in (f, fg.jit(f, engine="numpy"), fg.jit(f), fg.make_graph(f)(X, Y)):
        close(fg.grad(g, (0, 1))(X, Y), twice)
        close(fg.jvp(g, (X, Y), (X, 0 * Y))[1], thrice)
    rows = np.stack([X, 2 * X])
    close(fg.vmap(fg.grad(f), (0, None))(rows, Y)[0], twice[0])
    close(fg.vmap(lambda x: fg.jvp(f, (x, Y), (X, 0 * Y))[1])(rows)[0], thrice)
    close(fg.hvp(lambda x: f(x, Y), (X,), (X,)), 6 * np.cos(2 * X) * Y**2 * X)
    transposed = fg.custom_jvp(lambda x: x * x)
    transposed.defjvps(lambda x_dot, y, x: 2 * x * x_dot)
    close(fg.grad(transposed)(3.0), np.float64(6))
    transposed.defvjp(lambda x: (x * x, None), lambda _, y_bar: (y_bar,))
    close(fg.grad(transposed)(3.0), np.float64(1))
    close(fg.jvp(transposed, (3.0,), (1.0,))[1], np.float64(6))


def test_on_xla_arrays_and_under_jaxs_transforms(case: Any) -> None:
    f, factor = case
    with jax.enable_x64(True):
        arrays = (jax.numpy.asarray(X), jax.numpy.asarray(Y))
        close(jax.jit(fg.grad(f, (0, 1)))(*arrays), expected(factor))
        close(jax.grad(fg.make_graph(f)(X, Y), (0, 1))(*arrays), expected(factor))
        got = fg.grad(f, (0, 1))(*arrays)
    assert all(isinstance(x, jax.Array) for x in got)
    close(got, expected(factor))


def test_nondifferentiable_arguments() -> None:
    @partial(fg.custom_vjp, nondiff_argnums=(0, 2))
    def apply(f: Any, x: Any, scale: float) -> Any:
        return scale * f(x)

    apply.defvjp(lambda f, x, scale: (scale * f(x), x), lambda f, scale, x, y_bar: (scale * 10 * y_bar * x,))
    close(fg.grad(lambda x: np.sum(apply(np.sin, x, 3.0)))(X), 30 * X)
    close(fg.jit(fg.grad(lambda x: np.sum(apply(np.sin, x, 3.0))), engine="numpy")(X), 30 * X)

    @partial(fg.custom_jvp, nondiff_argnums=(0,))
    def call(f: Any, x: Any) -> Any:
        return f(x)

    call.defjvp(lambda f, primals, tangents: (f(*primals), 7 * tangents[0]))
    close(fg.grad(lambda x: np.sum(call(np.sin, x)))(X), np.full(3, 7.0))
    with pytest.raises(TypeError, match=r"defjvps .* nondiff_argnums"):
        call.defjvps(None)


def test_defjvps() -> None:
    @fg.custom_jvp
    def product(x: Any, y: Any) -> Any:
        return x * y

    product.defjvps(lambda x_dot, out, x, y: 5 * x_dot * y, None)
    close(fg.grad(lambda x, y: np.sum(product(x, y)), (0, 1))(X, Y), (5 * Y, np.zeros(3)))
    close(fg.jvp(product, (X, Y), (X, X))[1], 5 * X * Y)


def test_absent_cotangents_and_several_outputs() -> None:
    @fg.custom_vjp
    def pair(tree: Any, n: Any) -> Any:
        return tree["a"] + n, tree["b"], 3

    pair.defvjp(lambda tree, n: (pair(tree, n), None), lambda _, bars: ({"a": bars[0], "b": 2 * bars[1]}, None))
    tree = {"a": X, "b": Y}
    close(fg.grad(lambda t: np.sum(pair(t, np.arange(3))[0]))(tree), {"a": np.ones(3), "b": np.zeros(3)})
    close(fg.grad(lambda t: np.sum(pair(t, np.arange(3))[1]))(tree), {"a": np.zeros(3), "b": np.full(3, 2.0)})


def test_closures() -> None:
    """Functions may close over outer values. Their derivatives follow from the rule's own operations."""

    def f(t: Any) -> Any:
        @fg.custom_vjp
        def scaled(x: Any) -> Any:
            return t * x

        scaled.defvjp(lambda x: (t * x, None), lambda _, y_bar: (10 * t * y_bar,))
        return fg.grad(lambda x: np.sum(scaled(x)))(X)[0]

    assert float(fg.grad(f)(2.0)) == 10.0
    assert float(fg.jit(f, engine="numpy")(2.0)) == 20.0


def test_a_captured_traced_value_is_refused() -> None:
    def f(t: Any) -> Any:
        @fg.custom_vjp
        def scaled(x: Any) -> Any:
            return t * x

        scaled.defvjp(lambda x: (t * x, None), lambda _, y_bar: (t * y_bar,))
        return np.sum(scaled(t * X))

    with pytest.raises(NotDifferentiableError, match=r"closes over"):
        fg.grad(f)(2.0)
    with pytest.raises(NotDifferentiableError, match=r"scaled: .* closes over"):
        fg.grad(fg.jit(f, engine="numpy"))(2.0)
    assert float(fg.jit(f, engine="numpy")(2.0)) == 4 * np.sum(X)


def test_rules_under_value_branches() -> None:
    @fg.custom_jvp
    def f(x: Any) -> Any:
        return x if x > 0 else 2 * x

    f.defjvps(lambda x_dot, y, x: x_dot if x > 0 else 4 * x_dot)
    assert float(fg.grad(f)(1.0)) == 1.0
    assert float(fg.grad(f)(-1.0)) == 4.0


def test_refusals() -> None:
    plain = fg.custom_vjp(lambda x: x)
    assert plain(1.0) == 1.0
    with pytest.raises(AttributeError, match="no rule yet"):
        fg.grad(plain)(1.0)
    with pytest.raises(AttributeError, match="no rule yet"):
        fg.grad(fg.custom_jvp(lambda x: x))(1.0)
    bad = fg.custom_vjp(lambda x: np.sum(x))
    bad.defvjp(lambda x: np.sum(x), lambda _, y_bar: (y_bar,))
    with pytest.raises(TypeError, match=r"needed a pair \(out, residuals\)"):
        fg.grad(bad)(X)
    bad.defvjp(lambda x: (np.sum(x), None), lambda _, y_bar: y_bar)
    with pytest.raises(TreeMismatchError, match="cotangent for each of its 1"):
        fg.grad(bad)(X)
    bad.defvjp(lambda x: (np.sum(x), None), lambda _, y_bar: (y_bar,))
    with pytest.raises(TreeMismatchError, match="needed the argument's shape"):
        fg.grad(bad)(X)
    with pytest.raises(TypeError, match="nondiff_argnums"):
        fg.grad(lambda x: doubled_sin(x, "text"))(1.0)


def test_with_funcgrads_own_module_under_jax() -> None:
    @fg.custom_jvp
    def f(x: Any) -> Any:
        return fnp.sin(x)

    f.defjvps(lambda x_dot, y, x: 5 * x_dot)
    with jax.enable_x64(True):
        close(jax.vmap(jax.grad(f))(X), np.full(3, 5.0))
        close(jax.jit(jax.grad(lambda x: fnp.sum(f(x))))(X), np.full(3, 5.0))


@pytest.mark.parametrize(
    "f", [lambda x: x, lambda x: [x, x], lambda x: (np.float64(3.0), x * 2)], ids=["x", "x, x", "2x"]
)
def test_rules_around_rules_that_hand_their_argument_through(f: Any) -> None:
    x, direction = np.ones(3), np.array([1.0, 2.0, 3.0])

    def ruled(g: Any) -> Any:
        made = fg.custom_jvp(g)
        made.defjvp(lambda primals, tangents: fg.jvp(g, primals, tangents))
        return made

    def pulled(g: Any) -> Any:
        made = fg.custom_vjp(g)
        made.defvjp(lambda x: (g(x), x), lambda x, y_bar: fg.vjp(g, x)[1](y_bar))
        return made

    def along(g: Any) -> Any:
        y, pull = fg.vjp(g, x)
        return pull(fg.tree.map(lambda y: direction if np.shape(y) else 1.0, y))[0]

    for g in (ruled(f), ruled(ruled(f)), pulled(ruled(ruled(f))), ruled(ruled(ruled(f))), pulled(pulled(f))):
        np.testing.assert_array_equal(along(g), along(f))
        np.testing.assert_array_equal(along(fg.jit(g, engine="numpy")), along(f))


def test_nondifferentiable_arguments_by_name() -> None:
    @partial(fg.custom_vjp, nondiff_argnames="n")
    def power(x: Any, n: int) -> Any:
        return x**n

    power.defvjp(lambda x, n: (x**n, x), lambda n, x, y_bar: (100 * n * y_bar,))
    assert fg.grad(power)(2.0, 3) == fg.grad(lambda x: power(x, n=3))(2.0) == 300.0
    with pytest.raises(ValueError, match=r"nondiff_argnames of <lambda> has 'm'; needed names among \['x'\]"):
        fg.custom_jvp(lambda x: x, nondiff_argnames=["m"])
    with pytest.raises(TypeError, match=r"nondiff_argnames of <lambda> contains .* Use nondiff_argnums"):
        fg.custom_jvp(lambda x: x, nondiff_argnames=[0])  # pyright: ignore[reportArgumentType]  (refused)
