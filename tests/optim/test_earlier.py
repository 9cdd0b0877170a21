"""States and optimizers that an earlier release saved: pickles, files of ``fg.save``, and what Flax keeps."""

from __future__ import annotations

import dataclasses
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import optim
from funcgrad.autograd import tensor
from funcgrad.errors import CheckpointError, HyperparameterError
from funcgrad.extend import REQUIRED, Flag, Number, PyTorch, Rule, Slot, State, optimizer
from funcgrad.optim import schedules
from funcgrad.tree._flax import register_with_flax
from funcgrad.tree._register import NAMESPACE
from tests.optim.test_saving import Serialization, _methods

# The release before wrote these.
BEFORE = Path(__file__).with_name("before")
PARAMS: Any = {"w": np.arange(6.0).reshape(2, 3), "b": np.ones(2)}
GRADS: Any = {"w": np.cos(PARAMS["w"]), "b": np.full(2, 0.5)}
STARTS: dict[str, Any] = {
    "sgd": (fg.sgd_update, fg.sgd_init(PARAMS, lr=0.1, momentum=0.9, dampening=0.5)),
    "bare": (fg.sgd_update, fg.sgd_init(PARAMS, lr=0.1)),
    "packed": (fg.sgd_update, fg.sgd_init(PARAMS, lr=0.1, momentum=0.9, foreach=True)),
    "groups": (optim.adam_update, optim.adam_init(PARAMS, lr={"w": 0.1, "b": 0.2}, amsgrad=True)),
    "scheduled": (optim.adamw_update, optim.adamw_init(PARAMS, lr=schedules.warmup_cosine(0.0, 0.1, 3, 9))),
    "nadam": (optim.nadam_update, optim.nadam_init(PARAMS)),
}
# The hyperparameters of the release before, whose states know them by their place: a rule appends new ones.
NAMES = {
    "ASGD": "lr lambd alpha t0 weight_decay maximize",
    "Adadelta": "lr rho eps weight_decay maximize",
    "Adagrad": "lr lr_decay weight_decay initial_accumulator_value eps maximize",
    "Adam": "lr beta1 beta2 eps weight_decay amsgrad maximize decoupled_weight_decay",
    "AdamW": "lr beta1 beta2 eps weight_decay amsgrad maximize decoupled_weight_decay",
    "Adamax": "lr beta1 beta2 eps weight_decay maximize",
    "Lion": "lr beta1 beta2 weight_decay maximize",
    "Muon": "lr weight_decay momentum nesterov ns_a ns_b ns_c eps ns_steps adjust_lr_fn",
    "NAdam": "lr beta1 beta2 eps weight_decay momentum_decay decoupled_weight_decay maximize",
    "RAdam": "lr beta1 beta2 eps weight_decay decoupled_weight_decay maximize",
    "RMSprop": "lr alpha eps weight_decay momentum centered maximize",
    "Rprop": "lr etaminus etaplus step_size_min step_size_max maximize",
    "SGD": "lr momentum dampening weight_decay nesterov maximize",
    "SparseAdam": "lr beta1 beta2 eps maximize",
}


def two_steps(update: Any, state: Any) -> tuple[Any, Any]:
    params = PARAMS
    for _ in range(2):
        params, state = update(GRADS, state, params)
    return params, state


@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize("how", ["pickle", "file"])
def test_states_of_the_release_before_go_on(name: str, how: str) -> None:
    update, start = STARTS[name]
    params, state = two_steps(update, start)
    if how == "pickle":
        again = pickle.loads((BEFORE / "states.pickle").read_bytes())[name]
    else:
        likes = {key: begun for key, (_, begun) in STARTS.items()}
        again = fg.load(BEFORE / "states.safetensors", like=likes)[name]
    assert type(again) is type(state)
    assert fg.tree.structure(again) == fg.tree.structure(state)
    for x, y in zip(
        fg.tree.leaves(update(GRADS, again, params)), fg.tree.leaves(update(GRADS, state, params)), strict=True
    ):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_optimizers_of_the_release_before_go_on(name: str) -> None:
    again = pickle.loads((BEFORE / "optimizers.pickle").read_bytes())[name]
    p = tensor(PARAMS["w"].copy(), requires_grad=True)
    fresh = getattr(optim, name)([p], lr=0.1, **({"momentum": 0.9} if name == "SGD" else {}))
    for _ in range(2):
        fresh.step(grads=[GRADS["w"]])
    (q,) = again.param_groups[0]["params"]
    for optimizer_ in (fresh, again):
        optimizer_.step(grads=[GRADS["w"]])
    np.testing.assert_array_equal(q.detach().numpy(), p.detach().numpy())
    # As in PyTorch, an SGD from before the argument `fused` says False for it, and a new one None.
    assert repr(again).replace("fused: False", "fused: None") == repr(fresh)


@pytest.mark.parametrize("name", NAMES)
def test_rules_append_hyperparameters(name: str) -> None:
    names = getattr(optim, name).kind.rule.names
    before = tuple(NAMES[name].split())
    assert names[: len(before)] == before


def _step(p: Any, g: Any, slots: dict[str, Any], hyper: Any, t: Any) -> tuple[Any, dict[str, Any]]:
    del t
    m = hyper.momentum * slots["m"] + g
    d = m * getattr(hyper, "scale", 1.0)
    if getattr(hyper, "squares", False):
        return p - hyper.lr * d, {"m": m, "v": slots["v"] + g * g}
    return p - hyper.lr * d, {"m": m}


OLD = Rule(
    "heavy",
    hyperparameters=(Number("lr", REQUIRED, schedule=True), Number("momentum", 0.9)),
    slots=(Slot("m", "momentum_buffer"),),
    step=_step,
    torch=PyTorch("lr, momentum, *, foreach"),
)
NEW = dataclasses.replace(
    OLD,
    hyperparameters=(*OLD.hyperparameters, Number("scale", 0.5), Flag("squares"), Number("offset", 0.0, optional=True)),
    slots=(*OLD.slots, Slot("v", "squares", exists=lambda hyper: hyper.squares)),
    torch=PyTorch("lr, momentum, *, foreach", beyond=("scale", "squares", "offset")),
    structures={},
)
HeavyState, heavy_init, heavy_update, Heavy = optimizer(OLD)
Made = optimizer(NEW)


def pickled(state: State, like: State) -> Any:
    """Return a state of the new class from what a pickle of the old one holds."""
    again = object.__new__(type(like))
    again.__setstate__(pickle.loads(pickle.dumps(state.__dict__)))
    return again


def filed(state: State, like: State, path: Path) -> Any:
    fg.save(path, state)
    return fg.load(path, like=like)


def by_flax(state: State, like: State) -> Any:
    serialization = Serialization()
    data, meta = (
        ("numbers", "step", "slots", "taken", "masters"),
        ("hypers", "foreach", "differentiable", "master_dtype"),
    )
    for cls in (HeavyState, Made.state):
        register_with_flax(type("Flax", (), _methods(serialization)), cls, data, meta, NAMESPACE)  # pyright: ignore[reportArgumentType]  (a module by its functions)
    return serialization.from_state_dict(like, serialization.to_state_dict(state))


@pytest.mark.parametrize("how", ["pickle", "file", "flax"])
@pytest.mark.parametrize(
    "lr", [0.1, {"w": 0.1, "b": 0.2}, schedules.cosine(0.1, 9)], ids=["number", "groups", "schedule"]
)
def test_new_hyperparameters_have_their_defaults(how: str, lr: Any, tmp_path: Path) -> None:
    params, state = two_steps(heavy_update, heavy_init(PARAMS, lr=lr, momentum=0.7))
    like = Made.init(PARAMS, lr=lr, momentum=0.1, scale=3.0, offset=0.0)
    if how == "file":
        again = filed(state, like, tmp_path / "state.safetensors")
    else:
        again = pickled(state, like) if how == "pickle" else by_flax(state, like)
    assert (again.scale, again.squares, again.offset, again.momentum) == (0.5, False, 0.0, 0.7)
    assert fg.tree.structure(again) == fg.tree.structure(Made.init(PARAMS, lr=lr, momentum=0.7))
    # The default of the new factor is 0.5; the old rule has none.
    halved = fg.tree.map(lambda x: 0.5 * x, state.replace(lr=0.1).m)
    found, _ = Made.update(fg.tree.map(np.zeros_like, PARAMS), again.replace(lr=0.1, momentum=1.0), params)
    for x, m, p in zip(*map(fg.tree.leaves, (found, halved, params)), strict=True):
        np.testing.assert_allclose(x, p - 0.1 * m, rtol=1e-14)


def test_checkpoints_of_the_class_are_filled() -> None:
    old, new = Heavy([tensor(np.ones(2), requires_grad=True)], lr=0.1), Made.optimizer([np.ones(2)], lr=0.3, scale=2.0)
    old.step(grads=[np.ones(2)])
    new.load_state_dict(old.state_dict())
    assert (new.param_groups[0]["lr"], new.param_groups[0]["scale"], new.param_groups[0]["squares"]) == (
        0.1,
        0.5,
        False,
    )
    (found,) = new.step(grads=[np.zeros(2)])
    np.testing.assert_allclose(found, 1 - 0.1 * 0.5 * 0.9)


def test_options_beyond_pytorch_are_given_by_keyword() -> None:
    made = Made.optimizer([np.ones(2)], 0.1, scale=2.0)
    np.testing.assert_allclose(made.step(grads=[np.ones(2)])[0], 0.8)
    assert made.state_dict()["param_groups"][0]["scale"] == 2.0
    with pytest.raises(TypeError, match="too many positional"):
        Made.optimizer([np.ones(2)], 0.1, 0.9, 2.0)


@pytest.mark.parametrize(
    ("torch", "text"),
    [
        (PyTorch("lr"), "Rule 'heavy': the option 'momentum' is not among the arguments"),
        (PyTorch("lr, momentum, nesterov"), "'nesterov' is an argument of PyTorch's class; needed a hyperparameter"),
    ],
    ids=["missing", "unknown"],
)
def test_arguments_that_do_not_fit_the_rule(torch: PyTorch, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        dataclasses.replace(OLD, torch=torch)


def test_states_that_cannot_be_filled(tmp_path: Path) -> None:
    state = heavy_init(PARAMS, lr=0.1)
    needed = dataclasses.replace(
        OLD, hyperparameters=(*OLD.hyperparameters, Number("k")), torch=PyTorch(), structures={}
    )
    with pytest.raises(HyperparameterError, match="heavy: a state was read that was saved without k; needed a value"):
        pickled(state, optimizer(needed).init(PARAMS, lr=0.1, k=1.0))
    with pytest.raises(HyperparameterError, match="has 5 hyperparameters and 2 slots; needed at most 2 and 1"):
        pickled(Made.init(PARAMS, lr=0.1), state)
    with pytest.raises(CheckpointError, match="the file must match `like`"):
        filed(state, Made.init(PARAMS, lr=0.1, squares=True), tmp_path / "state.safetensors")
    with pytest.raises(CheckpointError, match="the file must match `like`"):
        filed(Made.init(PARAMS, lr=0.1), state, tmp_path / "state.safetensors")
