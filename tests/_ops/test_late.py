"""The gradient of a loop: sums over its rounds are products after it, with the numbers of the unrolled program."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.torch as ft
from funcgrad._ops.contract import late
from funcgrad._ops.program.scan import Loop, scan_p
from tests._recorded import PyTorch

ENGINES = [None, "numpy", "numba", "xla"]


@pytest.fixture(autouse=True)
def _every_loop_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late, "LEAST_OPERATIONS", 0)


def normal(*shape: int, dtype: Any = np.float64) -> Any:
    rng = np.random.default_rng(sum(shape))
    x = rng.normal(size=shape) / 2
    return (x + 0.1j * rng.normal(size=shape)).astype(dtype) if np.dtype(dtype).kind == "c" else x.astype(dtype)


class Net(NamedTuple):
    """A loop: its step, weights, first state and rows, and how many of the weights' sums stay in the loop."""

    step: Callable[[Any, Any, Any], Any]
    weights: Any
    state: Any
    xs: Any
    left: int = 0

    def loss(self, weights: Any, state: Any, xs: Any, **options: Any) -> Any:
        last, ys = fg.scan(lambda h, x: (self.step(weights, h, x),) * 2, state, xs, **options)
        return np.sum(np.abs(last) ** 2) + np.sum(np.sin(np.abs(ys)))

    def unrolled(self, weights: Any, state: Any, xs: Any, *, reverse: bool = False) -> Any:
        total = 0.0
        for x in xs[::-1] if reverse else xs:
            state = self.step(weights, state, x)
            total = total + np.sum(np.sin(np.abs(state)))
        return np.sum(np.abs(state) ** 2) + total

    @property
    def operands(self) -> tuple[Any, Any, Any]:
        return self.weights, self.state, self.xs


def gated(w: Any, h: Any, x: Any) -> Any:
    a, b = np.split(x @ w["in"] + h @ w["hidden"] + w["bias"], 2, axis=-1)
    return np.tanh(a) / (1 + np.exp(-b)) + 0.5 * h


W, H, X = normal(4, 4), normal(2, 4), normal(6, 2, 4)
NETS = {
    "matrix after": Net(lambda w, h, x: np.tanh(h @ w + x), W, H, X),
    "matrix before": Net(lambda w, h, x: np.tanh(w @ h + x), W, normal(4, 2), normal(6, 4, 2)),
    "transposed": Net(lambda w, h, x: np.tanh(h @ w.T + x), W, H, X),
    "transposed result": Net(lambda w, h, x: np.tanh((w @ h.T).T + x), W, H, X),
    "vector": Net(lambda w, h, x: np.tanh(w @ h + x), W, normal(4), normal(6, 4)),
    "vector before": Net(lambda w, h, x: np.tanh(h @ w + x), W, normal(4), normal(6, 4)),
    "outer product": Net(lambda w, h, x: np.tanh(np.sum(np.outer(h, x) * w, 1)), W, normal(4), normal(6, 4), 1),
    "two products": Net(lambda w, h, x: np.tanh(h @ w + x @ w), W, H, X),
    "two transposed products": Net(lambda w, h, x: np.tanh(h @ w + x @ w.T), W, H, X),
    "product of products": Net(lambda w, h, x: np.tanh(h @ w) @ w + x, W, H, X),
    "linear": Net(lambda w, h, x: h @ w + x, W, H, X),
    "linear in the rows": Net(lambda w, h, x: h + x @ w, W, H, X),
    "several weights": Net(gated, {"in": normal(4, 8), "hidden": normal(4, 8), "bias": normal(8)}, H, X),
    "rows as they are": Net(lambda w, h, x: np.tanh(h @ w["w"] + w["b"] + x), {"w": W, "b": normal(4)}, H, X),
    "no product": Net(lambda w, h, x: np.tanh(h * w + x), normal(4), H, X, 1),
    "a stack too large": Net(lambda w, h, x: np.tanh(h @ w), normal(2, 2), normal(9, 2), normal(6, 1), 1),
    "a share read twice": Net(lambda w, h, x: np.tanh(h @ (w * x)), W, H, normal(6, 4, 4), 1),
    "stacks of matrices": Net(
        lambda w, h, x: np.tanh(np.einsum("bij,bjk->bik", h, w) + x),
        normal(3, 4, 4),
        normal(3, 2, 4),
        normal(6, 3, 2, 4),
    ),
    "einsum": Net(
        lambda w, h, x: np.tanh(np.einsum("nab,abcd->ncd", h, w) + x),
        normal(2, 3, 2, 3),
        normal(4, 2, 3),
        normal(6, 4, 2, 3),
    ),
    "one round": Net(lambda w, h, x: np.tanh(h @ w + x), W, H, X[:1]),
    "no round": Net(lambda w, h, x: np.tanh(h @ w + x), W, H, X[:0]),
    "no batch": Net(lambda w, h, x: np.tanh(h @ w + x), W, H[:0], X[:, :0]),
    "width 1": Net(lambda w, h, x: np.tanh(w @ h + x), normal(1, 1), normal(1), normal(6, 1)),
}


def gradients(f: Callable[..., Any], net: Net, engine: str | None = None, **options: Any) -> Any:
    g = fg.grad(lambda *operands: f(*operands, **options), argnums=(0, 1, 2))
    return (g if engine is None else fg.jit(g, engine=engine))(*net.operands)


def loops_backward(net: Net) -> list[Loop]:
    """Return the loops of the gradient that go backward, from the last round to the first."""
    staged = fg.make_graph(net.loss)(*net.operands)
    graph = fg.make_graph(fg.grad(staged, argnums=(0, 1, 2)))(*net.operands)
    loops = [x.params["loop"] for x in graph.equations if x.primitive is scan_p]
    return [loop for loop in loops if loop.reverse]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("name", NETS)
def test_gradients_are_those_of_the_unrolled_program(name: str, reverse: bool, engine: str | None) -> None:
    net = NETS[name]
    found = gradients(net.loss, net, engine, reverse=reverse)
    wanted = gradients(net.unrolled, net, reverse=reverse)
    fg.tree.map(lambda a, b: np.testing.assert_allclose(a, b, 1e-12, 1e-13), found, wanted)
    assert all(x.dtype == np.float64 for x in fg.tree.leaves(found))


@pytest.mark.parametrize("name", NETS)
def test_the_loop_carries_only_sums_that_are_no_products(name: str) -> None:
    net = NETS[name]
    (loop,) = loops_backward(net)
    assert loop.carry == 1 + net.left


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("dtype", [np.float32, np.complex128, np.complex64])
@pytest.mark.parametrize("name", ["matrix after", "vector", "two products", "stacks of matrices"])
def test_other_dtypes(name: str, dtype: Any, engine: str | None) -> None:
    weights, state, xs = [normal(*x.shape, dtype=dtype) for x in NETS[name].operands]
    net = Net(NETS[name].step, weights, state, xs)
    found, wanted = gradients(net.loss, net, engine), gradients(net.unrolled, net)
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype
        exact = np.dtype(dtype).char in "dD"
        np.testing.assert_allclose(a, b, *((1e-11, 1e-12) if exact else (1e-3, 1e-4)))


@pytest.mark.parametrize("name", ["matrix after", "vector", "several weights", "two products"])
def test_further_derivatives(name: str) -> None:
    net = NETS[name]
    weights, state, xs = net.operands
    dots = fg.tree.map(np.ones_like, weights)

    def of(f: Callable[..., Any]) -> list[Any]:
        def slope(weights: Any) -> Any:
            return fg.jvp(lambda w: f(w, state, xs), (weights,), (dots,))[1]

        g = fg.grad(lambda w: f(w, state, xs))
        states = np.stack([state, 2 * state])
        found = [
            fg.jvp(g, (weights,), (dots,))[1],
            fg.grad(slope)(weights),
            fg.grad(lambda w: sum(np.sum(x**2) for x in fg.tree.leaves(g(w))))(weights),
            fg.vmap(lambda h: fg.grad(f)(weights, h, xs))(states),
            fg.grad(lambda w: fg.vmap(lambda h: f(w, h, xs))(states).sum())(weights),
            fg.jit(fg.vmap(lambda h: fg.grad(f)(weights, h, xs)))(states),
        ]
        return fg.tree.leaves(found)

    for a, b in zip(of(net.loss), of(net.unrolled), strict=True):
        np.testing.assert_allclose(a, b, 1e-10, 1e-11)


def test_the_graph_can_be_pickled() -> None:
    net = NETS["several weights"]
    staged = fg.make_graph(net.loss)(*net.operands)
    graph = fg.make_graph(fg.grad(staged))(*net.operands)
    found, wanted = pickle.loads(pickle.dumps(graph))(*net.operands), graph(*net.operands)
    fg.tree.map(np.testing.assert_array_equal, found, wanted)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_loop_in_a_loop(engine: str | None) -> None:
    net = NETS["matrix after"]

    def nested(weights: Any, state: Any, xs: Any) -> Any:
        def piece(h: Any, rows: Any) -> Any:
            return fg.scan(lambda h, x: (net.step(weights, h, x), None), h, rows)[0], None

        return np.sum(fg.scan(piece, state, xs.reshape(3, 2, 2, 4))[0] ** 2)

    def unrolled(weights: Any, state: Any, xs: Any) -> Any:
        for x in xs:
            state = net.step(weights, state, x)
        return np.sum(state**2)

    for a, b in zip(gradients(nested, net, engine), gradients(unrolled, net), strict=True):
        np.testing.assert_allclose(a, b, 1e-12)


def test_a_loop_in_pieces_keeps_no_stacks_of_all_rounds() -> None:
    net = NETS["matrix after"]
    staged = fg.make_graph(lambda w, h, x: net.loss(w, h, x, checkpoint=2))(*net.operands)
    graph = fg.make_graph(fg.grad(staged))(*net.operands)
    loops = [x.params["loop"] for x in graph.equations if x.primitive is scan_p and x.params["loop"].reverse]
    assert [loop.carry for loop in loops] == [2]
    found = graph(*net.operands)
    np.testing.assert_allclose(found, fg.grad(net.unrolled)(*net.operands), 1e-12)


@pytest.mark.parametrize(("rounds", "left"), [(10, 1), (1000, 0)])
def test_a_small_loop_carries_all_sums(monkeypatch: pytest.MonkeyPatch, rounds: int, left: int) -> None:
    monkeypatch.setattr(late, "LEAST_OPERATIONS", 50_000)
    net = Net(lambda w, h, x: np.sin(w @ h + x), normal(8, 8), normal(8), normal(rounds, 8))
    (loop,) = loops_backward(net)
    assert loop.carry == 1 + left


def slopes(torch: Any, kind: str) -> list[np.ndarray]:
    """Return PyTorch's gradients by the weights of a recurrent module."""
    module = getattr(torch.nn, kind)(3, 4, dtype=torch.float64)
    for p in module.parameters():
        p.data = torch.tensor(normal(*p.shape))
    module(torch.tensor(normal(6, 2, 3)))[0].square().sum().backward()
    return [p.grad.numpy() for p in module.parameters()]


@pytest.mark.parametrize("engine", ENGINES[1:])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_modules(pytorch: PyTorch, kind: str, engine: str) -> None:
    module = getattr(ft.nn, kind)(3, 4, dtype=ft.float64)
    params = {name: normal(*p.shape) for name, p in module.named_parameters()}

    @fg.jit(engine=engine)
    def slope(params: Any, x: Any) -> Any:
        return fg.grad(lambda params: (ft.func.functional_call(module, params, (x,))[0] ** 2).sum())(params)

    found = slope(params, normal(6, 2, 3))
    for (name, _), y in zip(module.named_parameters(), pytorch(lambda torch: slopes(torch, kind)), strict=True):
        np.testing.assert_allclose(found[name], y, 1e-10, 1e-12)
