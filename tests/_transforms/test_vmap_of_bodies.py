"""``vmap`` over primitives that hold functions: loops, branches, custom rules, black boxes and checkpoints."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import NotDifferentiableError
from tests._transforms._rows import ENGINES, RNG, SCALES, XS, YS, W, assert_same, looped, loss


def cell(w: Any, h: Any, x: Any) -> Any:
    h = np.tanh(w @ h + x)
    return h, np.sum(h * x)


@pytest.mark.parametrize("engine", [None, *ENGINES])
@pytest.mark.parametrize("mapped", ["weights", "carry", "rows", "all"])
def test_scan_within(mapped: str, engine: str | None) -> None:
    w, h, xs = RNG.normal(size=(2, 3, 3)), RNG.normal(size=(2, 3)), RNG.normal(size=(2, 4, 3))
    choice = [name in (mapped, "all") or mapped == "all" for name in ("weights", "carry", "rows")]
    args = [x if flag else x[0] for x, flag in zip((w, h, xs), choice, strict=True)]

    def f(w: Any, h: Any, xs: Any) -> Any:
        (last, count), ys = fg.scan(lambda c, x: ((cell(w, c[0], x)[0], c[1] + 1), cell(w, c[0], x)[1]), (h, 0), xs)
        return {"last": last, "sum": np.sum(ys**2) * count}

    def gradients(*args: Any) -> Any:
        return fg.grad(lambda w, h, xs: np.sum(f(w, h, xs)["last"]) + f(w, h, xs)["sum"], (0, 1, 2))(*args)

    in_axes = tuple(0 if flag else None for flag in choice)
    wrap = (lambda f: f) if engine is None else lambda f: fg.jit(f, engine=engine)
    for g in (f, gradients):
        rows = [g(*[x[i] if flag else x for x, flag in zip(args, choice, strict=True)]) for i in range(2)]
        assert_same(wrap(fg.vmap(g, in_axes=in_axes))(*args), fg.tree.map(lambda *x: np.stack(x), *rows))


def test_within_scan() -> None:
    def step(h: Any, x: Any) -> Any:
        return fg.vmap(lambda h, w: np.tanh(w @ h + x), in_axes=(0, None))(h, W[:, :3]), None

    def each(h: Any, x: Any) -> Any:
        return np.tanh(h @ W[:, :3].T + x), None

    h, xs = RNG.normal(size=(5, 3)), RNG.normal(size=(4, 3))
    wanted = fg.grad(lambda h: np.sum(fg.scan(each, h, xs)[0] ** 2))(h)
    assert_same(fg.grad(lambda h: np.sum(fg.scan(step, h, xs)[0] ** 2))(h), wanted)
    assert_same(fg.jit(fg.grad(lambda h: np.sum(fg.scan(step, h, xs)[0] ** 2)))(h), wanted)


@pytest.mark.parametrize("engine", [None, *ENGINES])
def test_each_element_ends_its_own_loop(engine: str | None) -> None:
    def f(x: Any) -> Any:
        return fg.while_loop(lambda s: s[0] < 10, lambda s: (s[0] * 1.5, s[1] + 1), (x, 0))

    def fixed(x: Any) -> Any:
        return fg.while_loop(lambda s: s[1] < 3, lambda s: (s[0] * x, s[1] + 1), (1.0, 0))

    xs = np.array([1.0, 4.0, 20.0])
    wrap = (lambda f: f) if engine is None else lambda f: fg.jit(f, engine=engine)
    assert_same(wrap(fg.vmap(f))(xs), looped(f, xs))
    assert_same(wrap(fg.vmap(fixed))(xs), looped(fixed, xs))
    slopes = wrap(fg.vmap(lambda x: fg.jvp(lambda x: f(x)[0], (x,), (1.0,))[1]))(xs)
    assert_same(slopes, 1.5 ** np.array([6.0, 3.0, 0.0]))
    assert_same(
        wrap(fg.vmap(lambda n: fg.fori_loop(0, n, lambda i, y: y * 2.0, 1.0)))(np.arange(4)), 2.0 ** np.arange(4)
    )


@pytest.mark.parametrize("engine", [None, *ENGINES])
def test_each_element_takes_its_own_branch(engine: str | None) -> None:
    def f(x: Any, y: Any) -> Any:
        return fg.cond(x > 0, lambda x, y: (np.sin(x) * y, y), lambda x, y: (x * x + y, np.cos(y)), x, y)

    wrap = (lambda f: f) if engine is None else lambda f: fg.jit(f, engine=engine)
    assert_same(wrap(fg.vmap(f, in_axes=(0, None)))(SCALES, W), looped(lambda x: f(x, W), SCALES))
    gradient = fg.grad(lambda x, y: np.sum(f(x, y)[0]) + np.sum(f(x, y)[1]), (0, 1))
    assert_same(wrap(fg.vmap(gradient, in_axes=(0, None)))(SCALES, W), looped(lambda x: gradient(x, W), SCALES))
    one = wrap(fg.vmap(lambda p, x: fg.cond(p, np.sin, np.cos, x), in_axes=(None, 0)))
    assert_same(one(np.bool_(True), SCALES), np.sin(SCALES))


@fg.custom_vjp
def bounded(x: Any, y: Any) -> Any:
    return {"product": np.sum(x * y)}


def _bounded_forward(x: Any, y: Any) -> Any:
    return {"product": np.sum(x * y)}, {"x": x, "y": y, "constant": np.ones(4)}


def _bounded_backward(kept: Any, bar: Any) -> Any:
    return np.clip(bar["product"] * kept["y"], -0.5, 0.5), bar["product"] * kept["x"] * kept["constant"]


bounded.defvjp(_bounded_forward, _bounded_backward)


@fg.custom_jvp
def tripled(x: Any, y: Any) -> Any:
    return {"product": np.sum(np.sin(x) * y)}


@tripled.defjvp
def _tripled_push(primals: Any, tangents: Any) -> Any:
    (x, y), (x_dot, y_dot) = primals, tangents
    return {"product": np.sum(np.sin(x) * y)}, {"product": 3 * np.sum(np.cos(x) * y * x_dot + np.sin(x) * y_dot)}


@pytest.mark.parametrize("engine", [None, *ENGINES])
@pytest.mark.parametrize("f", [bounded, tripled], ids=["custom_vjp", "custom_jvp"])
def test_custom_rules_are_kept(f: Any, engine: str | None) -> None:
    def g(x: Any, y: Any) -> Any:
        return f(x, y)["product"] ** 2

    wrap = (lambda f: f) if engine is None else lambda f: fg.jit(f, engine=engine)
    gradient, y = fg.grad(g, (0, 1)), XS[0]
    wanted = looped(lambda x: gradient(x, y), XS)
    assert_same(wrap(fg.vmap(gradient, in_axes=(0, None)))(XS, y), wanted)
    around = wrap(fg.grad(lambda x, y: np.sum(fg.vmap(g, in_axes=(0, None))(x, y)), (0, 1)))(XS, y)
    assert_same(around, (wanted[0], wanted[1].sum(0)))
    twice = fg.grad(lambda x: np.sum(fg.vmap(fg.vmap(g, in_axes=(0, None)), in_axes=(None, 0))(x, XS)))
    assert_same(wrap(twice)(XS), looped(lambda x: sum(gradient(x, y)[0] for y in XS), XS))


def test_custom_rules_refuse_mapped_values_that_they_do_not_see() -> None:
    def f(x: Any, s: Any) -> Any:
        g = fg.custom_vjp(lambda x: x * s)
        g.defvjp(lambda x: (x * s, None), lambda _, bar: (bar,))
        return g(x)

    assert_same(fg.vmap(f)(SCALES, SCALES), SCALES**2)
    with pytest.raises(NotDifferentiableError, match="closes over a value that vmap maps"):
        fg.grad(lambda x: np.sum(fg.vmap(f)(x, SCALES)))(SCALES)


@pytest.mark.parametrize("engine", [None, *ENGINES])
def test_a_black_box_is_called_for_each_element(engine: str | None) -> None:
    def box(x: Any, y: Any) -> Any:
        assert x.shape == (4,)
        return {"sum": np.sum(x) * y, "row": x * 2}

    def f(x: Any, y: Any) -> Any:
        return fg.call_numpy(box, {"sum": np.float64(0), "row": np.zeros(4)}, x, y)

    wrap = (lambda f: f) if engine is None else lambda f: fg.jit(f, engine=engine)
    assert_same(wrap(fg.vmap(f, in_axes=(0, None)))(XS, 2.0), looped(lambda x: box(x, 2.0), XS))
    assert fg.vmap(f, in_axes=(0, None))(XS[:0], 2.0)["row"].shape == (0, 4)


def test_checkpoint_within_and_around() -> None:
    f = fg.checkpoint(loss)
    wanted = looped(lambda x, y: fg.grad(loss)(W, x, y), XS, YS)
    assert_same(fg.vmap(fg.grad(f), in_axes=(None, 0, 0))(W, XS, YS), wanted)
    batch = fg.checkpoint(lambda w: np.sum(fg.vmap(f, in_axes=(None, 0, 0))(w, XS, YS)))
    assert_same(fg.grad(batch)(W), wanted.sum(0))
    assert_same(fg.jit(fg.grad(batch))(W), wanted.sum(0))


BODIES: dict[str, Any] = {
    "scan": lambda x: fg.scan(lambda c, t: (c * t, c), x, np.array([1.5, 2.0]))[0] ** 3,
    "scan over a constant": lambda x: fg.scan(lambda c, _: (c * x, None), 27.0 * x**0, None, length=3)[0],
    "fori_loop": lambda x: fg.fori_loop(0, 3, lambda i, c: c * x, 27.0 * x**0),
    "jit": lambda x: fg.jit(lambda x: 27.0 * x**3, engine="numpy")(x),
    "checkpoint": lambda x: fg.checkpoint(lambda x: 27.0 * x**3)(x),
    "cond": lambda x: fg.cond(x > 0, lambda x: 27.0 * x**3, lambda x: 27.0 * x * x * x, x),
}


@pytest.mark.parametrize("name", BODIES)
def test_a_custom_rule_that_pushes_through_a_body(name: str) -> None:
    """Primals and tangents go through one loop, and the results for the primals depend on no tangent."""
    body, x = BODIES[name], np.array([0.5, 2.0, -1.0])
    f = fg.custom_jvp(body)
    f.defjvp(lambda primals, tangents: fg.jvp(body, primals, tangents))

    def loss(x: Any) -> Any:
        return np.sum(fg.vmap(f)(x) * np.array([1.0, 2.0, 3.0]))

    weights = np.array([1.0, 2.0, 3.0])
    np.testing.assert_allclose(loss(x), np.sum(27 * x**3 * weights), rtol=1e-13)
    np.testing.assert_allclose(fg.grad(loss)(x), 81 * x**2 * weights, rtol=1e-13)
    np.testing.assert_allclose(fg.jit(fg.grad(loss), engine="numpy")(x), 81 * x**2 * weights, rtol=1e-13)
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(x), 81 * x**2, rtol=1e-13)
    np.testing.assert_allclose(fg.hessian(loss)(x), np.diag(162 * x * weights), rtol=1e-13, atol=1e-12)
