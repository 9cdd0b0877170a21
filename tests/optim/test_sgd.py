"""SGD as a pure function: structure, compilation, memory, dtypes, schedules, derivatives, and what is refused."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any, cast

import jax
import numpy as np
import pytest

import funcgrad as fg

PARAMS = {"weight": np.array([[1.0, 2.0], [3.0, 4.0]]), "bias": np.array([0.5, -0.5])}
GRADS = {"weight": np.array([[0.1, 0.2], [0.3, 0.4]]), "bias": np.array([1.0, -1.0])}
MOMENTUM: dict[str, Any] = {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.01}


class Counted:
    """``sgd_update`` that counts how often it is traced."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, grads: Any, state: Any, params: Any) -> Any:
        self.count += 1
        return fg.sgd_update(grads, state, params)


def test_the_state_is_a_pytree_of_fixed_structure() -> None:
    params, state = PARAMS, fg.sgd_init(PARAMS, **MOMENTUM)
    before = fg.tree.structure(state)
    for grads in ({**GRADS, "bias": None}, GRADS, {"weight": None, "bias": None}):
        params, state = fg.sgd_update(grads, state, params)
        assert fg.tree.structure(state) == before
        assert jax.tree.structure(state) == jax.tree.structure(fg.sgd_init(PARAMS, **MOMENTUM))
    assert int(state.step) == 3


@pytest.mark.parametrize("compiler", [fg.jit, jax.jit], ids=["fg.jit", "jax.jit"])
@pytest.mark.parametrize("options", [{"lr": 0.1}, MOMENTUM, {**MOMENTUM, "dampening": 0.0, "nesterov": True}], ids=str)
def test_numbers_are_data_and_compile_once(compiler: Any, options: dict[str, Any]) -> None:
    counted = Counted()
    update = compiler(counted, donate_argnums=(1, 2))
    params = jax.tree.map(jax.numpy.asarray, PARAMS)
    state = fg.sgd_init(params, **options)
    params, state = update(GRADS, state, params)
    for lr in (0.01, 1, 0, np.float32(0.1), jax.numpy.float32(0.2)):
        params, state = update(GRADS, state.replace(lr=lr), params)
    on = {name: 0.25 for name in ("momentum", "dampening", "weight_decay") if options.get(name)}
    params, state = update(GRADS, state.replace(**on), params)
    # An array is data, also if it holds 0.
    params, state = update(GRADS, state.replace(**{name: np.float64(0) for name in on.keys() - {"momentum"}}), params)
    assert counted.count == 1


def test_arguments_stay_and_results_have_memory_of_their_own() -> None:
    cases: list[dict[str, Any]] = [{"lr": 0.1}, {"lr": 0.1, "momentum": 0.9}, MOMENTUM]
    for options in cases:
        params, grads = {k: v.copy() for k, v in PARAMS.items()}, {k: v.copy() for k, v in GRADS.items()}
        state = fg.sgd_init(params, **options)
        for step in range(3):
            given = {**grads, "bias": grads["bias"] if step else None}
            leaves = [x for x in fg.tree.leaves((given, state, params)) if isinstance(x, np.ndarray)]
            copies = [x.copy() for x in leaves]
            params, new_state = fg.sgd_update(given, state, params)
            for x, copy in zip(leaves, copies, strict=True):
                np.testing.assert_array_equal(x, copy)
            assert not _shares((params, new_state), given)
            assert not _shares((params, new_state.buffers, new_state.started), state)
            state = new_state


def _shares(tree: Any, other: Any) -> bool:
    arrays = [[x for x in fg.tree.leaves(t) if isinstance(x, np.ndarray)] for t in (tree, other)]
    return any(np.shares_memory(x, y) for x in arrays[0] for y in arrays[1])


def test_without_gradient_the_parameter_is_the_same_object() -> None:
    params, _ = fg.sgd_update({**GRADS, "bias": None}, fg.sgd_init(PARAMS, **MOMENTUM), PARAMS)
    assert params["bias"] is PARAMS["bias"]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64])
@pytest.mark.parametrize("compiled", [False, True])
def test_dtypes_stay(dtype: type, compiled: bool) -> None:
    params = fg.tree.map(lambda p: p.astype(dtype), PARAMS)
    update = fg.jit(fg.sgd_update) if compiled else fg.sgd_update
    state = fg.sgd_init(params, **MOMENTUM)
    for _ in range(2):
        params, state = update(params, state, params)
        assert {leaf.dtype for leaf in fg.tree.leaves((params, state.buffers))} == {np.dtype(dtype)}


def test_numbers_are_parameters_too() -> None:
    params, _ = fg.sgd_update({"w": 2.0}, fg.sgd_init({"w": 1.0}, lr=0.25), {"w": 1.0})
    assert params == {"w": 0.5}


@pytest.mark.parametrize("compiled", [False, True])
def test_a_schedule_gets_the_number_of_steps_taken(compiled: bool) -> None:
    update = fg.jit(fg.sgd_update) if compiled else fg.sgd_update
    params, state = np.zeros(1), fg.sgd_init(np.zeros(1), lr=lambda step: 0.5 + step)
    found = []
    for _ in range(3):
        new, state = update(np.ones(1), state, params)
        found.append(float(params[0]) - float(new[0]))
        params = new
    assert found == [0.5, 1.5, 2.5]


def test_a_schedule_and_a_number_take_each_others_place() -> None:
    state = fg.sgd_init(np.zeros(1), lr=lambda step: 1.0)
    params, state = fg.sgd_update(np.ones(1), state.replace(lr=0.5), np.zeros(1))
    params, _ = fg.sgd_update(np.ones(1), state.replace(lr=lambda step: 2.0 * step), params)
    assert params == [-2.5]


def test_momentum_set_to_zero_drops_the_buffers() -> None:
    params, state = fg.sgd_update(GRADS, fg.sgd_init(PARAMS, **MOMENTUM), PARAMS)
    state = state.replace(momentum=0.0)
    same: dict[str, Any] = {**MOMENTUM, "momentum": 0}
    assert fg.tree.structure(state) == fg.tree.structure(fg.sgd_init(PARAMS, **same))
    found, _ = fg.sgd_update(GRADS, state, params)
    expected, _ = fg.sgd_update(GRADS, fg.sgd_init(PARAMS, lr=0.1, weight_decay=0.01), params)
    np.testing.assert_array_equal(found["weight"], expected["weight"])


def test_derivatives_go_through_the_steps() -> None:
    def after_two_steps(lr: Any, params: Any, momentum: float = 0.9) -> Any:
        state = fg.sgd_init(params, lr=lr, momentum=momentum, weight_decay=0.1, nesterov=True)
        for _ in range(2):
            grads = fg.grad(lambda p: np.sum(p["weight"] ** 2) + np.sum(p["bias"] ** 4))(params)
            params, state = fg.sgd_update(grads, state, params)
        return np.sum(params["weight"] * params["weight"]) + np.sum(params["bias"])

    h = 1e-6
    difference = (after_two_steps(0.1 + h, PARAMS) - after_two_steps(0.1 - h, PARAMS)) / (2 * h)
    np.testing.assert_allclose(fg.grad(after_two_steps)(0.1, PARAMS), difference, rtol=1e-8)
    np.testing.assert_allclose(fg.jit(fg.grad(after_two_steps))(0.1, PARAMS), difference, rtol=1e-8)
    moved = {**PARAMS, "bias": PARAMS["bias"] + np.array([h, 0.0])}
    back = {**PARAMS, "bias": PARAMS["bias"] - np.array([h, 0.0])}
    difference = (after_two_steps(0.1, moved) - after_two_steps(0.1, back)) / (2 * h)
    np.testing.assert_allclose(fg.grad(after_two_steps, argnums=1)(0.1, PARAMS)["bias"][0], difference, rtol=1e-7)


def test_momentum_and_weight_decay_have_derivatives_too() -> None:
    def loss(hyper: Any) -> Any:
        state = fg.sgd_init(np.ones(2), lr=0.1, momentum=0.9, dampening=0.1).replace(**hyper)
        params = np.ones(2)
        for _ in range(3):
            params, state = fg.sgd_update(params, state, params)
        return np.sum(params)

    hyper = {"momentum": 0.8, "dampening": 0.2, "weight_decay": 0.3}
    found = fg.grad(loss)(hyper)
    for name, value in hyper.items():
        difference = (loss({**hyper, name: value + 1e-6}) - loss({**hyper, name: value - 1e-6})) / 2e-6
        np.testing.assert_allclose(found[name], difference, rtol=1e-8)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lr": -0.1}, "Invalid learning rate: -0.1"),
        ({"lr": float("nan")}, "Invalid learning rate: nan"),
        ({"lr": 0.1, "momentum": -1}, "Invalid momentum value: -1"),
        ({"lr": 0.1, "weight_decay": -2.5}, "Invalid weight_decay value: -2.5"),
        ({"lr": 0.1, "nesterov": True}, "Nesterov momentum requires a momentum and zero dampening"),
        ({**MOMENTUM, "nesterov": True}, "Nesterov momentum requires a momentum and zero dampening"),
    ],
)
def test_hyperparameters_out_of_range(options: dict[str, Any], message: str) -> None:
    with pytest.raises(fg.errors.HyperparameterError, match=f"^{re.escape(message)}$"):
        fg.sgd_init(PARAMS, **options)
    if "nesterov" not in options:
        with pytest.raises(fg.errors.HyperparameterError, match=f"^{re.escape(message)}$"):
            fg.sgd_init(PARAMS, lr=0.1, momentum=0.5).replace(**options)


def test_nesterov_by_replace_needs_momentum_without_dampening() -> None:
    for state in (fg.sgd_init(PARAMS, **MOMENTUM), fg.jit(lambda state: state)(fg.sgd_init(PARAMS, **MOMENTUM))):
        with pytest.raises(fg.errors.HyperparameterError, match="Nesterov momentum requires"):
            state.replace(nesterov=True)


def test_momentum_by_replace_needs_buffers() -> None:
    with pytest.raises(fg.errors.HyperparameterError, match=r"made with momentum 0.*sgd_init"):
        fg.sgd_init(PARAMS, lr=0.1).replace(momentum=0.9)


@pytest.mark.parametrize("value", ["0.1", None, 1j, np.ones(2), {"weight": "0.1"}], ids=repr)
def test_a_hyperparameter_that_is_no_number(value: Any) -> None:
    with pytest.raises(TypeError, match=r"lr(\['weight'\])? is .*needed a real number"):
        fg.sgd_init(PARAMS, lr=value)


def test_only_lr_may_be_a_schedule() -> None:
    with pytest.raises(TypeError, match="momentum is a function; only lr"):
        fg.sgd_init(PARAMS, lr=0.1, momentum=lambda step: 0.9)


def test_a_schedule_out_of_range() -> None:
    state = fg.sgd_init(PARAMS, lr=lambda step: -1.0)
    with pytest.raises(fg.errors.HyperparameterError, match=r"^Invalid learning rate: -1\.0$"):
        fg.sgd_update(GRADS, state, PARAMS)


@pytest.mark.parametrize("params", [{"n": np.arange(3)}, {"n": "text"}])
def test_parameters_must_be_inexact_arrays(params: Any) -> None:
    with pytest.raises(TypeError, match=r"params\['n'\] is .*needed a float or complex array"):
        fg.sgd_init(params, lr=0.1)


@pytest.mark.parametrize(
    ("grads", "message"),
    [
        ({"weight": GRADS["weight"]}, r"grads .*without \['bias'\]"),
        ({**GRADS, "bias": np.ones(3)}, r"params\['bias'\] is f64\[3\]; needed f64\[2\]"),
        ({**GRADS, "bias": np.ones(2, int)}, r"params\['bias'\] is i64\[2\]"),
        ({**GRADS, "bias": np.ones(2, complex)}, r"params\['bias'\] is c128\[2\]"),
        ({**GRADS, "bias": [1.0, 2.0]}, r"params\['bias'\] is a list"),
        ({**GRADS, "bias": 1.0}, r"params\['bias'\] is f64\[\]"),
        ([GRADS["weight"], GRADS["bias"]], "grads .*is a list of 2"),
    ],
    ids=["key", "shape", "integers", "complex", "list", "scalar", "structure"],
)
def test_gradients_that_do_not_fit(grads: Any, message: str) -> None:
    state = fg.sgd_init(PARAMS, **MOMENTUM)
    with pytest.raises(fg.errors.TreeMismatchError, match=message):
        fg.sgd_update(grads, state, PARAMS)
    with pytest.raises(fg.errors.TreeMismatchError, match=message):
        fg.jit(fg.sgd_update)(grads, state, PARAMS)


@pytest.mark.parametrize("state", [None, {"lr": 0.1}, np.ones(2)], ids=lambda state: type(state).__name__)
def test_what_is_no_state(state: Any) -> None:
    with pytest.raises(
        TypeError, match=rf"state is a {type(state).__name__}; needed an SGDState. The order is \(grads"
    ):
        fg.sgd_update(np.ones(2), state, np.ones(2))


def test_options_that_are_none() -> None:
    with pytest.raises(TypeError, match="foreach is 'yes'; needed True, False or None"):
        fg.sgd_init(np.ones(2), lr=0.1, foreach=cast(Any, "yes"))
    with pytest.raises(TypeError, match="master_dtype is 'float31'; needed a float dtype"):
        fg.sgd_init(np.ones(2), lr=0.1, master_dtype="float31")
    with pytest.raises(TypeError, match=r"SGDState.replace: 'learning' is no field .* needed one of lr, "):
        fg.sgd_init(np.ones(2), lr=0.1).replace(**cast(Any, {"learning": 0.1}))


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_a_state_of_other_parameters(momentum: float) -> None:
    state = fg.sgd_init({"weight": PARAMS["weight"]}, lr=0.1, momentum=momentum)
    with pytest.raises(fg.errors.TreeMismatchError, match=r"state.buffers .*without \['bias'\]"):
        fg.sgd_update(GRADS, state, PARAMS)


def test_a_state_of_other_shapes() -> None:
    state = fg.sgd_init({**PARAMS, "bias": np.ones(3)}, lr=0.1, momentum=0.9)
    with pytest.raises(fg.errors.TreeMismatchError, match=r"buffer of params\['bias'\] is f64\[3\]; needed f64\[2\]"):
        fg.sgd_update(GRADS, state, PARAMS)


def test_a_state_of_another_dtype() -> None:
    state = fg.sgd_init(fg.tree.map(np.float32, PARAMS), lr=0.1, momentum=0.9)
    with pytest.raises(fg.errors.TreeMismatchError, match=r"buffer of params\['bias'\] is f32\[2\]; needed f64\[2\]"):
        fg.sgd_update(GRADS, state, PARAMS)


def test_gradients_of_another_width_are_cast() -> None:
    params = fg.tree.map(np.float32, PARAMS)
    found, _ = fg.sgd_update(GRADS, fg.sgd_init(params, lr=0.1), params)
    assert found["weight"].dtype == np.float32


def test_on_numpy_without_jax() -> None:
    program = """if True:
        import sys
        import numpy as np
        import funcgrad as fg
        state = fg.sgd_init(np.ones(3), lr=0.1, momentum=0.9, nesterov=True)
        step = fg.jit(fg.sgd_update, engine="numpy")
        params, state = step(np.ones(3), state.replace(lr=0.2), np.ones(3))
        params, state = fg.sgd_update(np.ones(3), state, params)
        sys.exit("jax" in sys.modules and "jax was imported")
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_first_dampening_adds_flags_for_what_has_started() -> None:
    params = {"moved": np.ones(2), "waiting": np.ones(2)}
    state = fg.sgd_init(params, lr=0.1, momentum=0.9)
    assert state.started is None
    _, state = fg.sgd_update({"moved": np.ones(2), "waiting": None}, state, params)
    damped = state.replace(dampening=0.5)
    assert damped.started.tolist() == [True, False]
    assert state.started is None


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_a_0d_gradient_does_not_become_the_buffer(dtype: str) -> None:
    p, g = np.array(2.0, dtype), np.array(1.0, dtype)
    state = fg.sgd_init(p, lr=0.1, momentum=0.9, dampening=0.5)
    new, state = fg.sgd_update(g, state, p)
    assert not _shares((new, state.buffers), (g, p))
