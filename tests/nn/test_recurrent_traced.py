"""Recurrent layers under transforms: scans, whose derivative computes the weights' cotangents after the loop."""

import pickle
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import autograd, nn
from funcgrad._core.graph.ir import Graph
from funcgrad._ops.contract import late
from funcgrad.autograd import tensor

CASES = {
    "LSTM": lambda: nn.LSTM(3, 4, bidirectional=True, dtype=np.float64),
    "GRU": lambda: nn.GRU(3, 4, bidirectional=True, dtype=np.float64),
    "RNN": lambda: nn.RNN(3, 4, 2, dtype=np.float64),
    "RNN with ReLU": lambda: nn.RNN(3, 4, nonlinearity="relu", bias=False, dtype=np.float64),
}


def _loss(module: nn.Module, values: Any, x: Any) -> Any:
    y, state = nn.functional_call(module, values, (x,))
    states = state if isinstance(state, tuple) else (state,)
    return np.sum(np.sin(y)) + sum(np.sum(np.cos(each)) for each in states)


def _made(name: str, rng: np.random.Generator) -> tuple[nn.Module, dict[str, np.ndarray], np.ndarray]:
    module = CASES[name]()
    values = {key: rng.normal(size=p.shape) * 0.5 for key, p in module.named_parameters()}
    return module, values, rng.normal(size=(5, 2, 3))


def _eagerly(module: nn.Module, values: dict[str, np.ndarray], x: np.ndarray) -> list[np.ndarray]:
    """Return the gradients of NumPy's loops, which have rules of their own."""
    module.load_state_dict({key: tensor(value) for key, value in values.items()})
    given = tensor(x, requires_grad=True)
    y, state = module(given)
    states = state if isinstance(state, tuple) else (state,)
    (y.sin().sum() + sum(each.cos().sum() for each in states)).backward()
    return [*[p.grad.numpy() for _, p in module.named_parameters()], given.grad.numpy()]


@pytest.mark.parametrize("engine", [None, "numpy", "xla"])
@pytest.mark.parametrize("name", CASES)
def test_gradients_are_those_of_the_eager_loop(name: str, engine: Any, rng: np.random.Generator) -> None:
    module, values, x = _made(name, rng)
    pull = fg.grad(lambda values, x: _loss(module, values, x), (0, 1))
    found = (pull if engine is None else fg.jit(pull, engine=engine))(values, x)
    expected = _eagerly(module, values, x)
    for one, other in zip([*[found[0][key] for key in values], found[1]], expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", CASES)
def test_other_transforms_agree(name: str, rng: np.random.Generator) -> None:
    module, values, x = _made(name, rng)

    def f(x: Any) -> Any:
        return _loss(module, values, x)

    slope = fg.grad(f)(x)
    np.testing.assert_allclose(fg.jvp(f, (x,), (np.ones_like(x),))[1], np.sum(slope), rtol=1e-10)
    np.testing.assert_allclose(fg.vmap(fg.grad(f))(np.stack([x, -x]))[0], slope, rtol=1e-10)
    np.testing.assert_allclose(fg.jet(f, (x,), ((np.ones_like(x),),))[1][0], np.sum(slope), rtol=1e-10)
    short = x[:2, :1]
    hessian = fg.hessian(f)(short)
    np.testing.assert_allclose(fg.jit(fg.jacrev(fg.jacrev(f)))(short), hessian, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(fg.jacrev(fg.jacfwd(f))(short), hessian, rtol=1e-9, atol=1e-11)


def test_a_layer_that_is_not_differentiated_is_a_scan(rng: np.random.Generator) -> None:
    """Its graph can be pickled, and mapped."""
    module, values, x = _made("LSTM", rng)
    assert _loops(pickle.loads(pickle.dumps(fg.make_graph(lambda x: _loss(module, values, x))(x))))
    expected = _loss(module, values, x)
    np.testing.assert_allclose(fg.vmap(lambda x: _loss(module, values, x))(x[None])[0], expected, rtol=1e-12)


def _loops(graph: Graph) -> list[Any]:
    return [each.params["loop"] for each in graph.equations if each.primitive.name == "scan"]


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_the_second_loop_does_not_carry_the_weights(
    name: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their cotangents are one product of all steps."""
    monkeypatch.setattr(late, "LEAST_OPERATIONS", 0)
    module, values, x = _made(name, rng)
    # Derivatives of loops are kept, and no other test has sequences of this length.
    x = x[:4]
    loops = _loops(fg.make_graph(fg.grad(lambda values: _loss(module, values, x)))(values))
    assert len(loops) == 4
    assert all(len(aval.shape) == 2 and aval.shape[0] == 2 for loop in loops for aval in loop.avals[: loop.carry])


@pytest.mark.parametrize("name", CASES)
def test_gradients_of_gradients_of_the_last_outputs(name: str, rng: np.random.Generator) -> None:
    """The final states are not read, so they have no cotangents in the first pass."""
    module, values, x = _made(name, rng)
    module.load_state_dict({key: tensor(value) for key, value in values.items()})
    parameters = dict(module.named_parameters())
    loss = (module(tensor(x))[0] ** 2).sum()
    slopes = autograd.grad(loss, list(parameters.values()), create_graph=True)
    total: Any = sum((slope**2).sum() for slope in slopes)
    total.backward()

    def squares(values: Any) -> Any:
        slopes = fg.grad(lambda values: np.sum(nn.functional_call(module, values, (x,))[0] ** 2))(values)
        return sum(np.sum(slope**2) for slope in slopes.values())

    expected = fg.grad(squares)(values)
    for key, p in parameters.items():
        np.testing.assert_allclose(p.grad.numpy(), expected[key], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
@pytest.mark.parametrize("written", ["the hidden weight", "the first state"])
def test_an_operand_that_was_written_to_is_refused(kind: str, written: str, rng: np.random.Generator) -> None:
    """The eager loop keeps its operands without copies, as PyTorch's does."""
    module: Any = getattr(nn, kind)(3, 4)
    h, c = (tensor(rng.normal(size=(1, 2, 4)).astype(np.float32)) for _ in range(2))
    y, _ = module(tensor(rng.normal(size=(5, 2, 3)).astype(np.float32)), (h, c) if kind == "LSTM" else h)
    with autograd.no_grad():
        (h if written == "the first state" else module.weight_hh_l0).mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_outputs_may_be_written_to(rng: np.random.Generator) -> None:
    """The loop's derivative reads a copy of the states before the steps."""
    module = nn.LSTM(3, 4, bidirectional=True, dtype=np.float64)
    x, gradients = tensor(rng.normal(size=(5, 2, 3))), []
    for writes in (False, True):
        y = module(x)[0]
        (y.mul_(2) if writes else y * 2).sum().backward()
        gradients.append(module.weight_hh_l0.grad.numpy().copy())
        module.zero_grad()
    np.testing.assert_array_equal(*gradients)


class _Doubled(nn.Module):
    def forward(self, x: Any) -> Any:
        return _doubled(x)


@fg.custom_vjp
def _doubled(x: Any) -> Any:
    return np.sin(x)


_doubled.defvjp(lambda x: (np.sin(x), x), lambda x, y_bar: (2 * y_bar * np.cos(x),))


@pytest.mark.parametrize("engine", ["numpy", "xla"])
def test_a_custom_rule_in_a_compiled_module(engine: Any) -> None:
    """The function is staged with the traced value beneath the tensor."""
    x = np.array([0.5, 1.0])

    def f(x: Any) -> Any:
        return np.sum(nn.functional_call(_Doubled(), {}, (x,)))

    np.testing.assert_allclose(fg.jit(f, engine=engine)(x), np.sum(np.sin(x)))
    np.testing.assert_allclose(fg.jit(fg.grad(f), engine=engine)(x), 2 * np.cos(x))
