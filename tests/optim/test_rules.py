"""Parts that follow from a rule's record: SGD's signatures, and optimizers that consist of a record only."""

from __future__ import annotations

import inspect
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.autograd import tensor
from funcgrad.errors import HyperparameterError
from funcgrad.optim import SGD, SGDState, required
from funcgrad.optim._rules.rule import REQUIRED, Number, Rule, Slot
from funcgrad.optim._rules.sgd import SGD_RULE
from funcgrad.optim._state.begin import begin
from funcgrad.optim._state.state import STATIC, Hyperparameter, SlotTree, State
from funcgrad.optim._update import update
from tests._recorded import PyTorch
from tests.optim._other_rules import Adam, AdamState, NAdam, NAdamState

STEPS = 12
SHAPES = ((3, 2), (4,), ())


@pytest.mark.parametrize("function", [fg.sgd_init, SGD.__init__])
def test_signatures_are_the_records(function: Any) -> None:
    parameters = inspect.signature(function).parameters
    for x in SGD_RULE.hyperparameters:
        found = parameters[x.name].default
        needed = {inspect.Parameter.empty, required} if x.default is REQUIRED else {x.default}
        assert found in needed, x.name
    others = {"self", "params", "foreach", "differentiable", "fused", "master_dtype", "learning_rate"}
    assert [name for name in parameters if name not in others] == list(SGD_RULE.names)


def test_the_state_has_an_attribute_for_each() -> None:
    found = [name for name, x in vars(SGDState).items() if isinstance(x, Hyperparameter)]
    assert found == list(SGD_RULE.names)
    assert [x.slot for x in vars(SGDState).values() if isinstance(x, SlotTree)] == [x.name for x in SGD_RULE.slots]


def arrays(seed: int, dtype: Any = np.float64) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [np.asarray(rng.standard_normal(shape), dtype) for shape in SHAPES]


def gradients(dtype: Any = np.float64) -> list[list[Any]]:
    """In each step another parameter has none: its steps are its own."""
    return [[None if i == step % 5 else g for i, g in enumerate(arrays(100 + step, dtype))] for step in range(STEPS)]


def options_of(kind: type[State], options: dict[str, Any]) -> dict[str, Any]:
    defaults = {x.name: x.default for x in kind.rule.hyperparameters}
    return {**defaults, **options}


def by_torch(torch: Any, name: str, dtype: Any, options: dict[str, Any]) -> list[np.ndarray]:
    params = [torch.tensor(p, requires_grad=True) for p in arrays(0, dtype)]
    optimizer = getattr(torch.optim, name)(params, foreach=False, **options)
    for grads in gradients(dtype):
        for p, g in zip(params, grads, strict=True):
            p.grad = None if g is None else torch.tensor(g)
        optimizer.step()
    return [p.detach().numpy() for p in params]


def by_functions(kind: type[State], dtype: Any, options: dict[str, Any], transform: Any, **more: Any) -> list[Any]:
    static = {"foreach": None, "differentiable": False, "master_dtype": None, **more}
    params = arrays(0, dtype)
    state = begin(kind, params, options_of(kind, options), **static)
    step = transform(lambda *args: update(kind, *args))
    for grads in gradients(dtype):
        params, state = step(grads, state, params)
    return params


def by_class(cls: Any, dtype: Any, options: dict[str, Any], make: Any, saved_at: int | None = None) -> list[Any]:
    params = [tensor(make(p), requires_grad=True) for p in arrays(0, dtype)]
    optimizer = cls(params, **options)
    for step, grads in enumerate(gradients(dtype)):
        if step == saved_at:
            saved, optimizer = optimizer.state_dict(), cls(params, lr=99.0)
            optimizer.load_state_dict(saved)
        for p, g in zip(params, grads, strict=True):
            p.grad = None if g is None else tensor(make(g))
        optimizer.step()
    return [np.asarray(p.detach()) for p in params]


CASES: dict[str, tuple[str, Any, Any, dict[str, Any]]] = {
    "Adam": ("Adam", Adam, AdamState, {"lr": 0.1}),
    "Adam, all": ("Adam", Adam, AdamState, {"lr": 0.1, "weight_decay": 0.1, "amsgrad": True, "maximize": True}),
    "NAdam": ("NAdam", NAdam, NAdamState, {"lr": 0.1}),
}


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", CASES)
def test_a_rule_that_is_a_record_equals_torchs(name: str, dtype: Any, pytorch: PyTorch) -> None:
    called, cls, kind, options = CASES[name]
    expected = pytorch(lambda torch: by_torch(torch, called, dtype, options))
    # PyTorch keeps NAdam's product in float32.
    rtol = {"NAdam": 1e-6}.get(called, 1e-12) if dtype is np.float64 else 1e-5
    found = {
        "functions": by_functions(kind, dtype, options, lambda f: f),
        "functions, each alone": by_functions(kind, dtype, options, lambda f: f, foreach=False),
        "functions, packed": by_functions(kind, dtype, options, lambda f: f, foreach=True),
        "class": by_class(cls, dtype, options, lambda x: x),
        "class, saved and loaded": by_class(cls, dtype, options, lambda x: x, saved_at=5),
    }
    for way, mine in found.items():
        for x, y in zip(mine, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=rtol, err_msg=way)
            assert x.dtype == y.dtype


@pytest.mark.parametrize("name", ["Adam, all", "NAdam"])
def test_a_rule_that_is_a_record_compiled(name: str) -> None:
    _, cls, kind, options = CASES[name]
    expected = by_functions(kind, np.float64, options, lambda f: f)
    ways = [by_functions(kind, np.float64, options, fg.jit)]
    ways.append(by_functions(kind, np.float64, options, lambda f: fg.jit(f, engine="numpy")))
    with jax.enable_x64(True):
        ways.append(by_class(cls, np.float64, options, jax.numpy.asarray))
    for found in ways:
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12)


def test_checks_of_a_record() -> None:
    with pytest.raises(HyperparameterError, match=r"^Invalid beta parameter at index 1: 1\.5$"):
        Adam([np.ones(2)], betas=(0.9, 1.5))
    given = options_of(AdamState, {"eps": float("nan")})
    with pytest.raises(HyperparameterError, match=r"^Invalid epsilon value: nan$"):
        begin(AdamState, np.ones(2), given, foreach=None, differentiable=False, master_dtype=None)


def test_the_checkpoint_has_pytorchs_layout() -> None:
    optimizer = Adam([np.ones(2), np.ones(3)], amsgrad=True)
    optimizer.step(grads=[np.ones(2), None])
    saved = optimizer.state_dict()
    assert list(saved["state"]) == [0]
    assert set(saved["state"][0]) == {"step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"}
    assert saved["state"][0]["step"].item() == 1
    assert saved["param_groups"][0]["betas"] == (0.9, 0.999)


def _orthogonal(p: Any, g: Any, slots: dict[str, Any], hyper: Any, t: Any) -> tuple[Any, dict[str, Any]]:
    return p - hyper.lr * (g @ (g.T @ g)), {"count": slots["count"] + hyper.more}


WHOLE = Rule(
    "whole",
    (Number("lr"), Number("more", 0.5)),
    (Slot("count", "count", begin=lambda hyper: hyper.more),),
    _orthogonal,
    elementwise=False,
)


@fg.tree.register_dataclass(meta_fields=STATIC, when_made=True)
class WholeState(State):
    rule = WHOLE
    lr, more = Hyperparameter(), Hyperparameter()
    counts = SlotTree("count")


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit], ids=["eager", "jit"])
def test_a_rule_that_is_not_elementwise(transform: Any) -> None:
    """A step that is not elementwise, such as Muon's, is staged for each shape, and never cut into blocks or packed."""
    rng = np.random.default_rng(0)
    params, grads = [[rng.standard_normal((n, 3)) for n in range(2, 11)] for _ in range(2)]
    given = {"lr": 0.1, "more": 0.25}
    state = begin(WholeState, params, given, foreach=None, differentiable=False, master_dtype=None)
    new, state = transform(lambda *args: update(WholeState, *args))(grads, state, params)
    for p, g, mine, count in zip(params, grads, new, state.counts, strict=True):
        np.testing.assert_allclose(mine, p - 0.1 * g @ (g.T @ g), rtol=1e-12)
        np.testing.assert_array_equal(count, np.full(p.shape, 0.5))


@pytest.mark.parametrize("engine", [None, "numpy", "xla"])
@pytest.mark.parametrize(
    ("name", "expected"), [("adam", -1e7), ("adamw", -1e7), ("adagrad", -1e9), ("rmsprop", -1e7), ("adamax", -1e7)]
)
def test_a_step_differentiated_by_a_gradient_of_zero(name: str, expected: float, engine: str | None) -> None:
    """The root of the second moment has a kink there, and its factor, the first moment, is 0."""
    init, update_by = getattr(fg.optim, f"{name}_init"), getattr(fg.optim, f"{name}_update")
    p = np.ones(3)
    gradient = fg.grad(lambda g: np.sum(update_by(g, init(p, lr=0.1), p)[0]))
    found = (gradient if engine is None else fg.jit(gradient, engine=engine))(np.zeros(3))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_clipping_gradients_of_zero_has_a_derivative() -> None:
    clipped = lambda g: np.sum(fg.optim.clip_by_global_norm({"a": g}, 1.0)["a"])
    np.testing.assert_array_equal(fg.grad(clipped)(np.zeros(3)), 1)
    np.testing.assert_array_equal(fg.grad(lambda g: fg.optim.global_norm([g]))(np.zeros(3)), 0)
