"""States written and read again, by pickle, copies, Flax and orbax; and states as text."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import optim
from funcgrad.errors import TreeMismatchError
from funcgrad.extend import State
from funcgrad.optim import schedules
from funcgrad.tree._flax import register_with_flax
from funcgrad.tree._register import NAMESPACE

PARAMS: Any = {"w": np.arange(6, dtype=np.float32).reshape(2, 3), "b": [np.ones(3), np.array(2.0)]}
GRADS: Any = fg.tree.map(lambda x: np.cos(x).astype(x.dtype), PARAMS)
SKIPPING = optim.skip_nonfinite(optim.adam_init, optim.adam_update)
GATHERING = optim.accumulate(optim.sgd_init, optim.sgd_update, every=2)
Pair = tuple[Callable[..., Any], Callable[..., Any], dict[str, Any]]
PAIRS: dict[str, Pair] = {
    "sgd": (fg.sgd_init, fg.sgd_update, {"lr": 0.1, "momentum": 0.9}),
    "damped": (fg.sgd_init, fg.sgd_update, {"lr": 0.1, "momentum": 0.9, "dampening": 0.5}),
    "scheduled": (optim.adamw_init, optim.adamw_update, {"lr": schedules.warmup_cosine(0.0, 0.1, 3, 9)}),
    "groups": (optim.adam_init, optim.adam_update, {"lr": {"w": 0.1, "b": 0.2}, "amsgrad": True}),
    "packed": (fg.sgd_init, fg.sgd_update, {"lr": 0.1, "momentum": 0.9, "foreach": True}),
    "numbers in slots": (optim.nadam_init, optim.nadam_update, {"lr": 0.1}),
    "masters": (optim.rmsprop_init, optim.rmsprop_update, {"lr": 0.1, "master_dtype": "float64"}),
    "skipping": (*SKIPPING, {"lr": 0.1}),
    "gathering": (*GATHERING, {"lr": 0.1, "momentum": 0.5}),
    "average": (optim.ema_init, lambda grads, state, params: optim.ema_update(params, state), {"decay": 0.9}),
}
COPIES: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda state: pickle.loads(pickle.dumps(state)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
every = pytest.mark.parametrize("name", PAIRS)


def begun(name: str) -> tuple[Any, Any, Any]:
    """The update, and parameters and state after two steps."""
    init, update, options = PAIRS[name]
    params, state = PARAMS, init(PARAMS, **options)
    for _ in range(2):
        params, state = update(GRADS, state, params)
    return update, params, state


def assert_goes_on(name: str, again: Any) -> None:
    """A state that was saved takes the step that the other would."""
    update, params, state = begun(name)
    assert type(again) is type(state)
    assert fg.tree.structure(again) == fg.tree.structure(state)
    jax.tree.map(np.testing.assert_array_equal, update(GRADS, again, params), update(GRADS, state, params))


@every
@pytest.mark.parametrize("how", COPIES)
def test_copies(name: str, how: str) -> None:
    assert_goes_on(name, COPIES[how](begun(name)[2]))


class Serialization:
    """The calls that `flax.serialization` makes to classes, without the bytes."""

    def __init__(self) -> None:
        self.known: dict[type, Any] = {}

    def is_serializable(self, cls: type) -> bool:
        return cls in self.known

    def register_serialization_state(self, cls: type, to: Any, back: Any) -> None:
        self.known[cls] = to, back

    def to_state_dict(self, x: Any) -> Any:
        if isinstance(x, dict):
            return {key: self.to_state_dict(value) for key, value in x.items()}
        if isinstance(x, tuple | list):
            return {str(i): self.to_state_dict(value) for i, value in enumerate(x)}
        return self.known[type(x)][0](x) if type(x) in self.known else x

    def from_state_dict(self, target: Any, saved: Any, name: str = ".") -> Any:
        del name
        if isinstance(target, dict):
            return {key: self.from_state_dict(value, saved[key]) for key, value in target.items()}
        if isinstance(target, tuple | list):
            return type(target)([self.from_state_dict(value, saved[str(i)]) for i, value in enumerate(target)])
        return self.known[type(target)][1](target, saved) if type(target) in self.known else saved


@pytest.fixture
def serialization() -> Serialization:
    found = Serialization()
    data, meta = (
        ("numbers", "step", "slots", "taken", "masters"),
        ("hypers", "foreach", "differentiable", "master_dtype"),
    )
    for cls in (optim.SGDState, optim.AdamState):
        register_with_flax(SimpleNamespace(**_methods(found)), cls, data, meta, NAMESPACE)  # pyright: ignore[reportArgumentType]  (a module by its functions)
    return found


def _methods(x: Any) -> dict[str, Any]:
    return {name: getattr(x, name) for name in dir(x) if not name.startswith("_")}


@pytest.mark.parametrize("name", ["sgd", "damped", "groups"])
def test_parts_as_flax_keeps_them(name: str, serialization: Serialization) -> None:
    init, _, options = PAIRS[name]
    saved = serialization.to_state_dict(begun(name)[2])
    assert {"numbers", "step", "slots", "taken", "masters", "saved_with"} == saved.keys()
    assert_goes_on(name, serialization.from_state_dict(init(PARAMS, **options), saved))


@pytest.mark.parametrize(
    ("target", "text"),
    [
        (lambda: fg.sgd_init(PARAMS, lr=0.1, weight_decay=0.9), "momentum: a number.*needed.*momentum: off"),
        (lambda: fg.sgd_init(PARAMS, lr=schedules.constant(0.1), momentum=0.9), "lr: a number.*needed lr: a schedule"),
        (lambda: fg.sgd_init(PARAMS, lr=0.1, momentum=0.9, nesterov=True), "nesterov: False.*needed.*nesterov: True"),
        (lambda: fg.sgd_init(PARAMS, lr={"w": 0.1, "b": 0.1}, momentum=0.9), r"lr: a number.*needed lr: \{'w': a"),
        (lambda: fg.sgd_init({"w": np.ones(6), "b": PARAMS["b"]}, lr=0.1, momentum=0.9), r"shape \(2, 3\) at \.slots"),
        (lambda: fg.sgd_init(PARAMS, lr=0.1, momentum=0.9, master_dtype="float64"), "the saved state has 5 leaves"),
    ],
    ids=["terms", "schedule", "flag", "groups", "shape", "masters"],
)
def test_flax_gives_nothing_back_to_another_state(target: Any, text: str, serialization: Serialization) -> None:
    saved = serialization.to_state_dict(begun("sgd")[2])
    with pytest.raises(TreeMismatchError, match=f"SGDState: .*{text}"):
        serialization.from_state_dict(target(), saved)
    with pytest.raises(TreeMismatchError, match="SGDState: the saved state has a list; needed"):
        serialization.from_state_dict(begun("sgd")[2], [])


@every
def test_flax(name: str) -> None:
    serialization = pytest.importorskip("flax.serialization")
    init, _, options = PAIRS[name]
    target = {"params": PARAMS, "opt_state": init(PARAMS, **options)}
    saved = serialization.to_bytes({"params": PARAMS, "opt_state": begun(name)[2]})
    assert_goes_on(name, serialization.from_bytes(target, saved)["opt_state"])


@every
def test_orbax(name: str, tmp_path: Path) -> None:
    checkpoint = pytest.importorskip("orbax.checkpoint")
    init, _, options = PAIRS[name]
    checkpointer = checkpoint.StandardCheckpointer()
    checkpointer.save(tmp_path / "state", begun(name)[2])
    checkpointer.wait_until_finished()
    assert_goes_on(name, checkpointer.restore(tmp_path / "state", init(PARAMS, **options)))


@every
def test_what_numpys_steps_leave_are_arrays(name: str) -> None:
    """Orbax gives back no scalars of NumPy's."""
    update, params, state = begun(name)
    assert not any(isinstance(x, np.generic) for x in fg.tree.leaves(state))
    found = fg.jit(update, engine="numpy")(GRADS, state, params)[1]
    if not isinstance(found, State):
        return
    # The state of a parameter of shape [] is a scalar, as is every result of compiled NumPy.
    found = found.replace(**dict.fromkeys(found.slot_names), masters=None)
    assert not any(isinstance(x, np.generic) for x in fg.tree.leaves(found))


def test_text_shows_shapes() -> None:
    state = optim.adam_init({"w": np.ones((2, 3), np.float32), "b": [np.zeros(3)]}, lr=0.1)
    assert repr(state) == (
        "AdamState(lr=0.1, beta1=0.9, beta2=0.999, eps=1e-08, weight_decay=0.0, amsgrad=False, maximize=False, "
        "decoupled_weight_decay=False, step=0, exp_avg={'w': f32[2,3], 'b': [f64[3]]}, "
        "exp_avg_sq={'w': f32[2,3], 'b': [f64[3]]})"
    )
    many = fg.sgd_init([np.ones((10, 10))] * 50 + [np.ones(2, np.float32)], lr=schedules.constant(0.5), momentum=0.9)
    assert repr(many) == (
        "SGDState(lr=constant(value=0.5), momentum=0.9, dampening=0.0, weight_decay=0.0, nesterov=False, "
        "maximize=False, step=0, buffers=<51 leaves: 5,000 of f64, 2 of f32>)"
    )
    assert "buffers=Packed(50 leaves in arrays of [50])" in repr(
        fg.sgd_init([np.ones(1)] * 50, lr=0.1, momentum=0.9, foreach=True)
    )
    assert "adjust_lr_fn=None" in repr(optim.muon_init(np.ones((2, 2))))
    assert repr(optim.ema_init(np.ones(2))) == "EMAState(averages=f64[2], decay=0.999, step=0, debias=False)"
    skipping = SKIPPING[0](np.ones(2), lr=0.1)
    assert repr(skipping).startswith("SkipState(inner=AdamState(lr=0.1")


def test_text_under_transforms_computes_nothing() -> None:
    state = fg.sgd_init([np.ones(3)] * 3, lr=0.1, momentum=0.9, foreach=True)
    seen = []
    graph = fg.make_graph(lambda state: seen.append(repr(state)) or state.step)(state)
    assert not graph.equations
    jax.jit(lambda state: seen.append(repr(state)))(state)
    assert all("lr=f64[], momentum=f64[]" in text and "step=i32[]" in text for text in seen)
    shapes = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype), state)
    assert "lr=f64[]" in repr(shapes)
    assert "lr=0.1" in repr(jax.device_put(state, jax.devices()[0]))
