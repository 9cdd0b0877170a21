"""Pure states and PyTorch's ``state_dict``: a run continues in the other form."""

from __future__ import annotations

import copy
from typing import Any

import jax
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import funcgrad as fg
from funcgrad import optim
from funcgrad.autograd import tensor
from funcgrad.errors import TreeMismatchError
from funcgrad.interop.torch import to_torch
from funcgrad.optim import schedules
from tests.optim._family import FAMILY, SGD, STEPS, Made, Run, drawn, made_of

EVERY = {**FAMILY, "SGD": SGD}
HALF = 4
# PyTorch keeps their slots that are numbers in float32, and this library in float64.
IN_FLOAT32 = {"ASGD": 1e-6, "NAdam": 1e-6}
# They do not read the count of a parameter in every form, and then keep none.
WITHOUT_COUNTS = ("Adadelta", "Adagrad", "RMSprop")
DTYPES = [np.float64, np.float32, np.float16, np.complex128]


class Sides:
    """One run in PyTorch's form and as a pure state."""

    def __init__(self, made: Made, run: Run) -> None:
        self.made, self.run = made, run
        self.flat = [p for group in run.starts for p in group]
        self.size = len(run.starts[0])
        # With one group PyTorch's order is that of the leaves.
        self.groups = {f"p{i}": i // self.size for i in range(len(self.flat))} if len(run.groups) > 1 else None

    def optimizer(self, params: list[Any], kind: Any) -> Any:
        size, groups = self.size, copy.deepcopy(self.run.groups)
        of_groups = [{"params": params[k * size : (k + 1) * size], **options} for k, options in enumerate(groups)]
        return kind(of_groups, **{**self.made.required, **self.run.constructor})

    def tree(self, arrays: list[Any]) -> dict[str, Any]:
        return {f"p{i}": np.array(x) for i, x in enumerate(arrays)}

    def update(self, grads: list[Any], state: Any, params: Any) -> tuple[Any, Any]:
        return self.made.update({f"p{i}": g for i, g in enumerate(grads)}, state, params)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("seed", range(6))
def test_a_run_continues_in_both_forms_to_the_bit(name: str, seed: int) -> None:
    made = EVERY[name]
    dtype = DTYPES[seed % 4] if made.rule.refusal is None and made.rule.dense is None else np.float64
    sides = Sides(made, drawn(made, 300 + seed, dtype))
    ps = [tensor(p.copy(), requires_grad=True) for p in sides.flat]
    optimizer = sides.optimizer(ps, made.cls)
    for grads in sides.run.grads[:HALF]:
        optimizer.step(grads=grads)
    params = sides.tree([p.numpy(force=True) for p in ps])
    state = optim.from_state_dict(made.state, optimizer.state_dict(), params)
    again = [tensor(p.copy(), requires_grad=True) for p in params.values()]
    other = sides.optimizer(again, made.cls)
    other.load_state_dict(optim.to_state_dict(state, params, groups=sides.groups))
    for grads in sides.run.grads[HALF:]:
        optimizer.step(grads=grads)
        other.step(grads=grads)
        params, state = sides.update(grads, state, params)
    for p, q, x in zip(ps, again, params.values(), strict=True):
        assert_array_equal(p.numpy(force=True), x)
        assert_array_equal(q.numpy(force=True), x)
    saved, expected = optim.to_state_dict(state, params, groups=sides.groups), optimizer.state_dict()
    assert saved["param_groups"] == expected["param_groups"]
    for number, entry in expected["state"].items():
        for key, value in entry.items():
            if key != "step" or name not in WITHOUT_COUNTS:
                assert_array_equal(np.asarray(saved["state"][number][key]), np.asarray(value))


@pytest.mark.torch
@pytest.mark.parametrize("name", EVERY)
def test_a_run_continues_in_pytorch_and_back(torch: Any, name: str) -> None:
    made = EVERY[name]
    if not hasattr(torch.optim, name):
        pytest.skip("PyTorch has no such optimizer")

    def step(optimizer: Any, ps: Any, grads: Any) -> None:
        for p, g in zip(ps, grads, strict=True):
            p.grad = None if g is None else torch.tensor(g) if isinstance(g, np.ndarray) else to_rows(g)
        optimizer.step()

    def to_rows(g: Any) -> Any:
        return torch.sparse_coo_tensor(to_torch(g.indices)[None], to_torch(g.values), g.shape, check_invariants=False)

    for seed in range(8):
        sides = Sides(made, drawn(made, seed))
        kind = getattr(torch.optim, name)
        ps = [torch.tensor(p, requires_grad=True) for p in sides.flat]
        optimizer = sides.optimizer(ps, kind)
        for grads in sides.run.grads[:3]:
            step(optimizer, ps, grads)
        params = sides.tree([p.detach().numpy() for p in ps])
        state = optim.from_state_dict(made.state, optimizer.state_dict(), params)
        again = [torch.tensor(p, requires_grad=True) for p in params.values()]
        other = sides.optimizer(again, kind)
        other.load_state_dict(to_torch(optim.to_state_dict(state, params, groups=sides.groups)))
        for grads in sides.run.grads[3:]:
            step(optimizer, ps, grads)
            step(other, again, grads)
            params, state = sides.update(grads, state, params)
        rtol = IN_FLOAT32.get(name, 1e-12)
        for p, q, x in zip(ps, again, params.values(), strict=True):
            assert_allclose(x, p.detach().numpy(), rtol=rtol, atol=rtol)
            assert_allclose(q.detach().numpy(), p.detach().numpy(), rtol=rtol, atol=rtol)


@pytest.mark.parametrize("name", ["SGD", "Adam", "NAdam", "Lion"])
def test_packed_states_and_jax_arrays(name: str) -> None:
    made = EVERY.get(name) or made_of(getattr(optim, name))
    options = {**made.required, **({"momentum": 0.9} if name == "SGD" else {})}
    with jax.enable_x64(True):
        for params, foreach in (
            ({"b": np.ones(2), "a": np.arange(3.0)}, True),
            ({"b": jax.numpy.ones(2), "a": jax.numpy.arange(3.0)}, None),
        ):
            grads = fg.tree.map(lambda p: p * 0 + 0.5, params)
            new, state = made.update(grads, made.init(params, **options, foreach=foreach), params)
            again = optim.from_state_dict(made.state, optim.to_state_dict(state, new), new)
            assert fg.tree.structure(again.slots) == fg.tree.structure(state.slots)
            for x, y in zip(
                fg.tree.leaves(made.update(grads, again, new)[0]),
                fg.tree.leaves(made.update(grads, state, new)[0]),
                strict=True,
            ):
                assert type(x) is type(y)
                assert_array_equal(x, y)


def test_numbers_groups_and_schedules() -> None:
    # PyTorch has w and v in one group, and b in another.
    params = {"w": np.ones(3), "b": np.ones(1), "v": np.ones(2)}
    numbers, groups = {"w": 0, "v": 1, "b": 2}, {"w": 0, "b": 1, "v": 0}
    lr = {"w": schedules.linear(0.1, 0.2, 10), "b": 0.3, "v": schedules.linear(0.1, 0.2, 10)}
    state = optim.adam_init(params, lr=lr, weight_decay=0.01)
    new, state = optim.adam_update(params, state, params)
    given: list[dict[str, Any]] = [{"numbers": numbers}, {"numbers": numbers, "groups": groups}]
    for options in given:
        saved = optim.to_state_dict(state, new, **options)
        assert [group["params"] for group in saved["param_groups"]] == [[0, 1], [2]]
        assert_allclose([group["lr"] for group in saved["param_groups"]], [0.11, 0.3])
        assert [saved["state"][i]["exp_avg"].shape for i in range(3)] == [(3,), (2,), (1,)]
        again = optim.from_state_dict(optim.AdamState, saved, new, **options)
        assert {key: x.shape for key, x in again.exp_avg.items()} == {"w": (3,), "b": (1,), "v": (2,)}
        assert_allclose([again.lr["w"], again.lr["b"], again.lr["v"]], [0.11, 0.3, 0.11])
        assert float(again.weight_decay) == 0.01
    # The default is the order of the leaves.
    by_leaves = optim.to_state_dict(optim.adam_init(params), params)
    shapes = [by_leaves["state"][i]["exp_avg"].shape for i in range(3)]
    assert shapes == [x.shape for x in fg.tree.leaves(params)]
    bare = {"state": {}, "param_groups": [{"lr": 0.1, "params": [0]}]}
    assert int(optim.from_state_dict(optim.SGDState, bare, np.ones(2), step=7).step) == 7


def test_refusals() -> None:
    params = {"a": np.ones(2), "b": np.ones(3)}
    state = optim.adam_init(params)
    saved = optim.to_state_dict(state, params)
    with pytest.raises(TypeError, match="state is a dict; needed the state of a rule"):
        optim.to_state_dict({}, params)  # pyright: ignore[reportArgumentType]  (refused)
    halves = {"a": np.ones(2, np.float16)}
    with_masters = optim.adam_init(halves, master_dtype="float32")
    with pytest.raises(ValueError, match="master copies in float32"):
        optim.to_state_dict(with_masters, halves)
    with pytest.raises(ValueError, match=r"params\['a'\] and params\['b'\] are in one group and have different"):
        optim.to_state_dict(optim.adam_init(params, lr={"a": 0.1, "b": 0.2}), params, groups=0)
    with pytest.raises(ValueError, match=r"numbers has \[1, 1\]; needed each number from 0 to 1 once"):
        optim.to_state_dict(state, params, numbers={"a": 1, "b": 1})
    with pytest.raises(TypeError, match=r"saved is \{\}; needed a dict with 'state'"):
        optim.from_state_dict(optim.AdamState, {}, params)
    with pytest.raises(TreeMismatchError, match=r"params has 1 parameters, and the state_dict groups of \[2\]"):
        optim.from_state_dict(optim.AdamState, saved, {"a": np.ones(2)})
    with pytest.raises(TreeMismatchError, match=r"exp_avg of params\['a'\] has the shape \(2,\); needed \(3,\)"):
        optim.from_state_dict(optim.AdamState, saved, {"a": np.ones(3), "b": np.ones(2)})


RULES_THAT_COUNT = ["Adam", "AdamW", "NAdam", "RAdam", "Adamax", "Adagrad", "ASGD", "Rprop", "SGD"]


@pytest.mark.parametrize("name", RULES_THAT_COUNT)
def test_the_printed_step_is_the_one_that_counts(name: str) -> None:
    made = EVERY[name]
    extra = {"Adagrad": {"lr_decay": 0.1}, "SGD": {"momentum": 0.9, "dampening": 0.5}}.get(name, {})
    params, grads = {"a": np.ones(3), "b": np.ones(2)}, {"a": np.full(3, 0.5), "b": np.full(2, 0.5)}
    state = made.init(params, **made.required, **extra)
    for i in range(STEPS):
        # ``b`` has no gradient at two steps.
        params, state = made.update({**grads, "b": None} if i in {1, 4} else grads, state, params)
    assert state.replace(step=state.step).taken.tolist() == state.taken.tolist()
    assert "taken=[7, 5]" in repr(state)
    later = state.replace(step=1000)
    assert later.step.dtype == np.int32
    assert later.taken.tolist() == [1000, 998]
    # The same state, made by PyTorch's class from a checkpoint with these counts.
    saved = optim.to_state_dict(later, params)
    optimizer = made.cls([tensor(p.copy(), requires_grad=True) for p in params.values()], **made.required)
    optimizer.load_state_dict(saved)
    expected = dict(zip(params, optimizer.step(grads=list(grads.values())), strict=True))

    def stepped(state: Any, params: Any) -> Any:
        return made.update(grads, state.replace(step=1000), params)[0]

    for run in (stepped, *[fg.jit(stepped, engine=engine) for engine in ("numpy", "numba", "xla")]):
        new = run(state, params)
        for key, x in expected.items():
            assert_allclose(new[key], x, rtol=1e-14)
    restarted = state.replace(step=0)
    assert restarted.taken.tolist() == [0, 0]
    for bad in (-1, 2.0, True, "3", np.ones(2, int), None):
        with pytest.raises(TypeError, match="needed a number of steps, an integer of at least 0"):
            state.replace(step=bad)


def test_bias_correction_after_replace_is_pytorchs(pytorch: Any) -> None:
    def expected(torch: Any) -> Any:
        p = torch.ones(1, dtype=torch.float64, requires_grad=True)
        optimizer = torch.optim.Adam([p], lr=0.1)
        p.grad = torch.full((1,), 0.5, dtype=torch.float64)
        optimizer.step()
        saved = optimizer.state_dict()
        saved["state"][0]["step"] = torch.tensor(1000.0)
        optimizer.load_state_dict(saved)
        optimizer.step()
        return p.detach().numpy()

    p, g = np.ones(1), np.full(1, 0.5)
    p, state = optim.adam_update(g, optim.adam_init(p, lr=0.1), p)
    assert_allclose(optim.adam_update(g, state.replace(step=1000), p)[0], pytorch(expected), rtol=1e-14)


def test_a_replaced_slot_is_packed_as_the_one_before() -> None:
    params = {"a": np.ones(3), "b": np.ones(2)}
    averages = {"a": np.full(3, 0.1), "b": np.full(2, 0.2)}
    packed, plain = [optim.adam_init(params, foreach=foreach).replace(exp_avg=averages) for foreach in (True, False)]
    for x, y in zip(*[optim.adam_update(params, s, params)[0].values() for s in (packed, plain)], strict=True):
        assert_array_equal(x, y)
