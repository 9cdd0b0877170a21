"""The stateful SGD: PyTorch's checks and messages, groups, state, hooks; and the functional rule beneath."""

import copy
import gc
import pickle
import resource
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import autograd, optim
from funcgrad.autograd import Tensor, no_grad, tensor
from funcgrad.errors import HyperparameterError
from funcgrad.optim import SGD, Optimizer, required
from tests._recorded import read_golden
from tests.optim._cases import OPTIONS, flat, gradients, initial_params
from tests.optim._grouped import RUNS, by_class, learned
from tests.optim._refusals import CALLS, answer

GOLDEN = read_golden(Path(__file__).with_name("golden_sgd.npz"))


def parameter(*numbers: float) -> Tensor:
    return tensor(np.array(numbers), requires_grad=True)


def run(optimizer: Any, params: list[Any], make: Any) -> np.ndarray:
    rows = []
    for grads in gradients():
        for p, g in zip(params, grads, strict=True):
            p.grad = None if g is None else make(g)
        optimizer.step()
        rows.append(flat([p.detach().numpy() for p in params]))
    return np.array(rows)


@pytest.mark.parametrize("name", OPTIONS)
def test_equals_the_functional_rule(name: str) -> None:
    params = [tensor(p, requires_grad=True) for p in initial_params()]
    memory = [p.detach().numpy() for p in params]
    found = run(SGD(params, **OPTIONS[name]), params, tensor)
    values = initial_params()
    state = fg.sgd_init(values, **OPTIONS[name])
    rows = []
    for grads in gradients():
        values, state = fg.sgd_update(grads, state, values)
        rows.append(flat(values))
    np.testing.assert_allclose(found, rows, rtol=1e-15, atol=1e-15)
    np.testing.assert_array_equal(flat(memory), found[-1])


@pytest.mark.parametrize("name", OPTIONS)
def test_equals_torch(name: str) -> None:
    params = [tensor(p, requires_grad=True) for p in initial_params()]
    found = run(SGD(params, **OPTIONS[name]), params, tensor)
    np.testing.assert_allclose(found, GOLDEN[name], rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("saved_at", [None, 3])
@pytest.mark.parametrize("name", RUNS)
def test_groups_equal_torchs(name: str, saved_at: int | None) -> None:
    for piece, found in by_class(RUNS[name], SGD, tensor, saved_at).items():
        np.testing.assert_allclose(found, GOLDEN[f"groups/{name}/{piece}"], rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize(
    "name", ["lr", "lr-momentum-weight_decay-nesterov", "lr-momentum-dampening", "lr-weight_decay-maximize"]
)
def test_values_of_the_other_engine_compile_once(name: str) -> None:
    jax = pytest.importorskip("jax")
    with jax.enable_x64(True):
        params = [tensor(jax.numpy.array(p), requires_grad=True) for p in initial_params()]
        optimizer = SGD(params, **OPTIONS[name])
        found = run(optimizer, params, lambda g: tensor(jax.numpy.array(g)))
    numpys = [tensor(p, requires_grad=True) for p in initial_params()]
    np.testing.assert_allclose(found, run(SGD(numpys, **OPTIONS[name]), numpys, tensor), rtol=1e-14, atol=1e-14)
    assert all(isinstance(p._value, jax.Array) for p in params)


@pytest.mark.parametrize("options", [{}, {"momentum": 0.9}, {"momentum": 0.9, "dampening": 0.3, "weight_decay": 0.1}])
def test_a_changed_learning_rate_compiles_nothing_anew(options: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    jax = pytest.importorskip("jax")
    staged = []

    def counted(*args: Any) -> Any:
        staged.append(args)
        return fg.sgd_update(*args)

    monkeypatch.setattr(SGD, "compiled_update", staticmethod(fg.jit(counted, donate_argnums=(1, 2))))
    params = [tensor(jax.numpy.ones(3), requires_grad=True), tensor(jax.numpy.ones((2, 2)), requires_grad=True)]
    optimizer = SGD([{"params": [p]} for p in params], lr=0.5, **options)
    for lr in (0.5, 0.25, 0.125, 1):
        for group in optimizer.param_groups:
            group["lr"] = lr
        before = params[0][0].item()
        for p in params:
            p.grad = tensor(jax.numpy.ones(p.shape))
        optimizer.step()
        assert params[0][0].item() < before
    assert len(staged) == 1


@pytest.mark.parametrize("dtype", ["float16", "float32", "bfloat16"])
def test_dtypes_are_kept(dtype: str) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    p = tensor(np.ones(3), dtype=kind, requires_grad=True)
    memory = p._value
    p.grad = tensor(np.ones(3), dtype=kind)
    optimizer = SGD([p], lr=0.5, momentum=0.9)
    optimizer.step()
    assert p._value is memory
    assert p.dtype == kind
    assert optimizer.state[p]["momentum_buffer"].dtype == kind
    np.testing.assert_array_equal(memory.astype(float), np.full(3, 0.5))


def test_large_parameters_in_blocks_and_threads(rng: np.random.Generator) -> None:
    shapes = [(700, 1000), (1000, 700), (5,), (300_001,)]
    values = [rng.standard_normal(shape) for shape in shapes]
    values[1] = np.asfortranarray(values[1])
    grads = [rng.standard_normal(shape) for shape in shapes]
    options: dict[str, Any] = {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1, "nesterov": True}
    params = [tensor(value, requires_grad=True) for value in values]
    optimizer = SGD(params, **options)
    velocity = [0.0] * 4
    for _ in range(3):
        for p, g in zip(params, grads, strict=True):
            p.grad = tensor(g)
        optimizer.step()
        directions = [g + 0.1 * value for g, value in zip(grads, values, strict=True)]
        velocity = [0.9 * v + d for v, d in zip(velocity, directions, strict=True)]
        values = [x - 0.1 * (d + 0.9 * v) for x, d, v in zip(values, directions, velocity, strict=True)]
    for p, value in zip(params, values, strict=True):
        np.testing.assert_allclose(p.detach(), value, rtol=1e-12)


def test_zero_grad() -> None:
    x = parameter(1.0, 2.0)
    optimizer = SGD([x], lr=0.1)
    (x * 2).sum().backward()
    gradient = x.grad
    optimizer.zero_grad()
    assert x.grad is gradient
    np.testing.assert_array_equal(gradient, [0, 0])
    optimizer.zero_grad(set_to_none=True)
    assert x.grad is None


def test_groups_and_a_changed_learning_rate() -> None:
    x, y = parameter(1.0), parameter(1.0)
    optimizer = SGD([{"params": [x]}, {"params": y, "lr": 1.0}], lr=0.5)
    optimizer.add_param_group({"params": [z := parameter(1.0)], "maximize": True})
    for p in (x, y, z):
        p.grad = tensor(np.ones(1))
    optimizer.step()
    assert [p.item() for p in (x, y, z)] == [0.5, 0.0, 1.5]
    optimizer.param_groups[0]["lr"] = 0.25
    optimizer.step()
    assert x.item() == 0.25


def test_closure_runs_with_gradients() -> None:
    x = parameter(3.0)
    optimizer = SGD([x], lr=0.1)

    def closure() -> Tensor:
        optimizer.zero_grad()
        loss = (x**2).sum()
        loss.backward()
        return loss

    with no_grad():
        assert optimizer.step(closure).item() == 9.0
    np.testing.assert_allclose(x.item(), 3 - 0.6)


def test_functional_code_is_served() -> None:
    params = {"layer": {"w": np.ones(2), "b": np.zeros(1)}}
    optimizer = SGD(params, lr=0.5, momentum=0.9)
    loss = lambda p: np.sum(p["layer"]["w"] ** 2) + np.sum(p["layer"]["b"])
    new = optimizer.step(grads=fg.grad(loss)(params))
    np.testing.assert_array_equal(new["layer"]["w"], [0, 0])
    assert new["layer"]["w"] is params["layer"]["w"]
    with pytest.raises(ValueError, match="grads has 1 leaves; needed 2"):
        optimizer.step(grads=[np.ones(2)])


def test_functional_code_on_the_other_engine() -> None:
    jax = pytest.importorskip("jax")
    params = {"w": jax.numpy.ones(2), "b": jax.numpy.zeros(1)}
    optimizer = SGD(params, lr=0.5)
    new = optimizer.step(grads={"w": jax.numpy.ones(2), "b": None})
    np.testing.assert_array_equal(new["w"], [0.5, 0.5])
    np.testing.assert_array_equal(new["b"], [0.0])


def test_differentiable_steps_equal_torchs() -> None:
    found = learned(tensor, SGD, autograd.grad, 0.0, np.array([0.3, 0.6]))[1]
    np.testing.assert_allclose(found, GOLDEN["differentiable"], rtol=1e-10)


def test_differentiable_steps_with_momentum() -> None:
    # PyTorch cuts the history of the first buffer; here it counts, as differences say.
    def loss_at(point: np.ndarray) -> float:
        return learned(tensor, SGD, autograd.grad, 0.9, point)[0]

    point, h = np.array([0.3, 0.6]), 1e-6
    numeric = [(loss_at(point + h * e) - loss_at(point - h * e)) / (2 * h) for e in np.eye(2)]
    np.testing.assert_allclose(learned(tensor, SGD, autograd.grad, 0.9, point)[1], numeric, rtol=1e-7)


@pytest.mark.parametrize("name", CALLS)
def test_answers_are_torchs(name: str) -> None:
    assert answer(CALLS[name], optim, lambda x: tensor(x, requires_grad=True)) == GOLDEN[f"answer/{name}"]


# Calls that newer PyTorch accepts, and the text with which older releases refused them.
ERRORS: dict[str, tuple[Any, type[Exception], str]] = {
    "a set": (lambda p, q: SGD({p}, lr=0.1), TypeError, "the ordering of tensors in sets will change between runs"),
    "no lr": (
        lambda p, q: SGD([p]),
        ValueError,
        "parameter group didn't specify a value of required optimization parameter lr",
    ),
    "group without lr": (lambda p, q: SGD([{"params": p, "lr": 1}, {"params": q}]), ValueError, "parameter lr"),
    "no number": (lambda p, q: SGD([p], lr=float("nan")), HyperparameterError, "Invalid learning rate: nan"),
    "negative lr": (lambda p, q: SGD([p], lr=-0.5), HyperparameterError, "Invalid learning rate: -0.5"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    call, error, message = ERRORS[name]
    with pytest.raises(error, match=message):
        call(parameter(1.0), parameter(2.0))


def trained() -> tuple[SGD, list[Tensor]]:
    params = [parameter(1.0, 2.0), parameter(3.0)]
    optimizer = SGD(params, lr=0.1, momentum=0.9)
    for p in params:
        p.grad = tensor(np.ones(p.shape))
    optimizer.step()
    return optimizer, params


def test_state_dict_round_trip() -> None:
    optimizer, params = trained()
    saved = optimizer.state_dict()
    assert sorted(saved["state"]) == [0, 1]
    assert saved["param_groups"][0]["params"] == [0, 1]
    again = SGD([tensor(p.detach(), dtype=np.float32).requires_grad_() for p in params], lr=5.0)
    again.load_state_dict({**saved, "state": {**saved["state"], "note": "kept"}})
    assert again.param_groups[0]["lr"] == 0.1
    assert again.state["note"] == "kept"
    buffer = again.state[again.param_groups[0]["params"][0]]["momentum_buffer"]
    assert buffer.dtype == np.float32
    np.testing.assert_array_equal(buffer, [1, 1])
    with pytest.raises(ValueError, match="different number of parameter groups"):
        again.load_state_dict({"state": {}, "param_groups": []})
    with pytest.raises(ValueError, match="doesn't match the size of optimizer's group"):
        again.load_state_dict({"state": {}, "param_groups": [{"params": [0]}]})


def test_older_checkpoints_lack_options() -> None:
    optimizer, _ = trained()
    saved = copy.deepcopy(optimizer.state_dict())
    expected = {"nesterov": False, "maximize": False, "foreach": None, "differentiable": False, "fused": False}
    for name in expected:
        del saved["param_groups"][0][name]
    optimizer.load_state_dict(saved)
    assert {name: optimizer.param_groups[0][name] for name in expected} == expected


def test_pickle_and_text() -> None:
    optimizer, _ = trained()
    again = pickle.loads(pickle.dumps(optimizer))
    (p, _q) = again.param_groups[0]["params"]
    np.testing.assert_array_equal(again.state[p]["momentum_buffer"], [1, 1])
    assert repr(again) == repr(optimizer)
    assert repr(optimizer).splitlines()[:3] == ["SGD (", "Parameter Group 0", "    dampening: 0"]
    assert repr(required) == "<required parameter>"
    assert pickle.loads(pickle.dumps(required)) is required


def test_hooks() -> None:
    optimizer, params = trained()
    seen: list[str] = []
    handles = [
        optimizer.register_step_pre_hook(lambda _, args, kwargs: seen.append("before" if args[0] is optimizer else "")),
        optimizer.register_step_post_hook(lambda *_: seen.append("after")),
    ]
    optimizer.step()
    handles[0].remove()
    optimizer.step()
    assert seen == ["before", "after", "after"]
    optimizer.register_state_dict_pre_hook(lambda _: seen.append("saving"))
    optimizer.register_state_dict_post_hook(lambda _, saved: {**saved, "extra": 1})
    saved = optimizer.state_dict()
    assert (seen[-1], saved["extra"]) == ("saving", 1)
    optimizer.register_load_state_dict_pre_hook(lambda _, saved: seen.append("loading"))
    optimizer.register_load_state_dict_post_hook(lambda _: seen.append("loaded"))
    optimizer.load_state_dict(saved)
    assert seen[-2:] == ["loading", "loaded"]
    optimizer.register_step_pre_hook(lambda *_: 3)
    with pytest.raises(RuntimeError, match="must return None or a tuple of"):
        optimizer.step()
    assert params[0].is_leaf


def test_subclasses() -> None:
    class Fixed(Optimizer):
        def __init__(self, params: Any, lr: Any = required) -> None:
            super().__init__(params, {"lr": lr})

        def step(self, closure: Any = None) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    p.data -= group["lr"] * p.grad

    p = parameter(1.0)
    with pytest.raises(ValueError, match="required optimization parameter lr"):
        Fixed([p])
    p.grad = tensor(np.ones(1))
    Fixed([p], lr=0.5).step()
    assert p.item() == 0.5
    with pytest.raises(NotImplementedError):
        Optimizer([p], {}).step()


def test_three_thousand_steps_leave_no_memory_behind() -> None:
    w, b = tensor(np.ones((50, 20)), requires_grad=True), tensor(np.zeros(50), requires_grad=True)
    optimizer = SGD([w, b], lr=1e-3, momentum=0.9)
    x = tensor(np.ones((64, 20)))

    def step() -> None:
        optimizer.zero_grad(set_to_none=True)
        (np.tanh(x @ w.T + b) ** 2).mean().backward()
        optimizer.step()

    for _ in range(50):
        step()
    gc.disable()
    try:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(3000):
            step()
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    finally:
        gc.enable()
    assert grown < 20_000


def test_a_step_leaves_a_sum_of_the_parameter_as_it_was() -> None:
    p = tensor(np.array(2.0), requires_grad=True)
    total = p.sum()
    total.backward()
    SGD([p], lr=0.1).step()
    assert total.item() == 2.0
    assert p.item() == 1.9
