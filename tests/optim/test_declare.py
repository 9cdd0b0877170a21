"""``fg.extend.optimizer``: from one record the state, the pair of functions and PyTorch's class."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import HyperparameterError
from funcgrad.extend import REQUIRED, Flag, Number, Rule, Slot, optimizer
from funcgrad.optim._rules.sgd import SGD_RULE
from tests.optim._other_rules import ADAM, Adam
from tests.optim.make_stubs import STUBS, stubs

STEPS = 6
DATA = {"lr": 0.05, "weight_decay": 0.5}


def _fraction(value: float) -> bool:
    return 0 <= value < 1


def _lion(p: Any, g: Any, slots: dict[str, Any], hyper: Any, t: Any) -> tuple[Any, dict[str, Any]]:
    m = slots["momentum"]
    d = np.sign(hyper.beta1 * m + (1 - hyper.beta1) * g)
    if hyper.weight_decay is not None:
        d = d + hyper.weight_decay * p
    return p - hyper.lr * d, {"momentum": hyper.beta2 * m + (1 - hyper.beta2) * g}


LION = Rule(
    "lion",
    hyperparameters=(
        Number("lr", REQUIRED, "Invalid learning rate: {}", schedule=True),
        Number("beta1", 0.9, "Invalid beta parameter at index 0: {}", _fraction, option=("betas", 0)),
        Number("beta2", 0.99, "Invalid beta parameter at index 1: {}", _fraction, option=("betas", 1)),
        Number("weight_decay", 0.0, "Invalid weight_decay value: {}", optional=True),
    ),
    slots=(Slot("momentum", "exp_avg"),),
    step=_lion,
)
LionState, lion_init, lion_update, Lion = optimizer(LION)


def start() -> dict[str, np.ndarray]:
    return {"a": np.array([1.0, -2.0, 0.5]), "b": np.array([[3.0]])}


def gradient(p: np.ndarray) -> np.ndarray:
    return p - 0.3


def by_hand() -> dict[str, np.ndarray]:
    params = start()
    for name, p in params.items():
        m = np.zeros_like(p)
        for _ in range(STEPS):
            g = gradient(p)
            d = np.sign(0.9 * m + 0.1 * g) + DATA["weight_decay"] * p
            p, m = p - DATA["lr"] * d, 0.99 * m + 0.01 * g  # noqa: PLW2901  (the parameter of the next step)
        params[name] = p
    return params


@pytest.mark.parametrize("engine", ["eager", "numpy", "xla", "jax"])
def test_the_functions_compute_the_formula(engine: str) -> None:
    params: Any = start()
    state = lion_init(params, **DATA)
    compiled = {"eager": lion_update, "jax": jax.jit(lion_update)}
    update = compiled[engine] if engine in compiled else fg.jit(lion_update, engine=engine)
    with jax.enable_x64(True):
        for _ in range(STEPS):
            params, state = update({name: gradient(p) for name, p in params.items()}, state, params)
    for name, p in by_hand().items():
        np.testing.assert_allclose(params[name], p)


def test_the_class_computes_the_formula() -> None:
    lion = Lion(start(), **DATA)
    params = start()
    for _ in range(STEPS):
        params = lion.step(grads={name: gradient(p) for name, p in params.items()})
    for name, p in by_hand().items():
        np.testing.assert_allclose(params[name], p)


def test_numbers_change_without_compilation() -> None:
    params, traced = start(), []

    def update(grads: Any, state: Any, params: Any) -> Any:
        traced.append(1)
        return lion_update(grads, state, params)

    step = fg.jit(update)
    state = lion_init(params, **DATA)
    step(params, state, params)
    step(params, state.replace(lr=0.01, beta1=0.5), params)
    assert len(traced) == 1


def test_signatures_are_the_records() -> None:
    assert str(inspect.signature(lion_init)) == (
        "(params, *, lr, beta1=0.9, beta2=0.99, weight_decay=0.0, foreach=None, differentiable=False, "
        "master_dtype=None)"
    )
    parameters = inspect.signature(Lion).parameters
    assert [*parameters] == ["params", "lr", "betas", "weight_decay", "foreach", "differentiable"]
    assert parameters["betas"].default == (0.9, 0.99)


def test_names_are_the_records() -> None:
    made = optimizer(LION)
    assert [x.__name__ for x in made] == ["LionState", "lion_init", "lion_update", "Lion"]
    assert {x.__module__ for x in made} == {__name__}
    assert {x.__module__ for x in optimizer(LION, module="elsewhere")} == {"elsewhere"}
    # The module follows from the rule, whoever makes the call.
    called: dict[str, Any] = {"__name__": "caller", "optimizer": optimizer, "LION": LION}
    exec("made = optimizer(LION)", called)
    assert {x.__module__ for x in called["made"]} == {__name__}


def test_a_class_as_it_would_be_written_by_hand() -> None:
    made = optimizer(ADAM).optimizer(start(), 0.1, eps=1e-6)
    written = Adam(start(), 0.1, eps=1e-6)
    grads = {name: gradient(p) for name, p in start().items()}
    np.testing.assert_equal(made.step(grads=grads), written.step(grads=grads))
    assert made.state_dict()["param_groups"] == written.state_dict()["param_groups"]


def test_states_survive_pickling() -> None:
    state = lion_init(start(), **DATA)
    again = pickle.loads(pickle.dumps(state))
    np.testing.assert_equal(again.momentum, state.momentum)
    assert fg.tree.structure(again) == fg.tree.structure(state)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: lion_init(start()), TypeError, "lion_init: lr is not given; needed one of lr and learning_rate"),
        (lambda: lion_init(start(), lr=1, beta=2), TypeError, "lion_init: got an unexpected keyword argument 'beta'"),
        (lambda: Lion(start(), lr=1, beta=2), TypeError, "Lion: .*'beta'"),
        (lambda: Lion(start()), ValueError, "lr"),
        (lambda: lion_init(start(), lr=-1), HyperparameterError, "Invalid learning rate: -1"),
        (lambda: Lion(start(), lr=1, betas=(0.9, 1.0)), HyperparameterError, "index 1: 1.0"),
        (lambda: optimizer(Rule("x", (Number("step"),), (), _lion)), TypeError, "XState: the rule x .* 'step'"),
        (lambda: optimizer(Rule("x", (Number("m"),), (Slot("m", "m"),), _lion)), TypeError, "slot 'm', and a state"),
        (lambda: optimizer(Rule("x", (Flag("replace"),), (), _lion)), TypeError, "'replace'"),
    ],
    ids=["missing", "unknown", "class, unknown", "class, missing", "range", "option", "field", "twice", "method"],
)
def test_refusals(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_sgds_own_record_gives_sgd() -> None:
    made = optimizer(SGD_RULE)
    options: dict[str, Any] = {"lr": 0.1, "momentum": 0.9, "nesterov": True}
    grads = {name: gradient(p) for name, p in start().items()}
    ours = fg.sgd_update(grads, fg.sgd_init(start(), **options), start())
    theirs = made.update(grads, made.init(start(), **options), start())
    np.testing.assert_equal(theirs[0], ours[0])


def test_the_committed_types_are_those_of_the_rules() -> None:
    assert STUBS.read_text() == stubs(), "python -m tests.optim.make_stubs writes them anew"


def test_a_flag_needs_a_bool_as_its_default() -> None:
    with pytest.raises(TypeError, match=r"Flag 'cautious': the default is 'leave .*'; needed True or False.*about="):
        Flag("cautious", "leave some elements unchanged.")  # pyright: ignore[reportArgumentType]  (the mistake)
