"""Checks on eight virtual devices of a CPU. One process runs all of them, because starting it takes most of the time.

``test_sharding.py`` runs it; ``XLA_FLAGS=--xla_force_host_platform_device_count=8 python tests/_eight_devices.py`` does
so by hand.
"""

from __future__ import annotations

import re
import runpy
from collections import Counter
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import jax
import jax.monitoring
import numpy as np
import pytest
from jax.sharding import AxisType, Mesh, NamedSharding, SingleDeviceSharding
from jax.sharding import PartitionSpec as P

import funcgrad as fg

ROOT = Path(__file__).parents[1]
COLLECTIVE = re.compile(r" (all-reduce|all-gather|reduce-scatter|collective-permute|all-to-all)(?:-start)?\(")
AUTO, EXPLICIT = ((kind,) for kind in (AxisType.Auto, AxisType.Explicit))
MOMENTUM: dict[str, Any] = {"lr": 0.1, "momentum": 0.9}


def mesh_of(kinds: tuple[AxisType, ...], count: int = 8) -> Mesh:
    return jax.make_mesh((count,), ("data",), axis_types=kinds, devices=jax.devices()[:count])


def whole_and_rows(mesh: Mesh) -> tuple[NamedSharding, NamedSharding]:
    return NamedSharding(mesh, P()), NamedSharding(mesh, P("data"))


def collectives(compiled: Any, *args: Any) -> dict[str, int]:
    return Counter(COLLECTIVE.findall(compiled.lower(*args).compile().as_text()))


def lies_as(x: Any, sharding: Any) -> bool:
    return x.sharding.is_equivalent_to(sharding, x.ndim)


def numbers(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {"w": rng.normal(size=(16, 8)).astype("f4"), "b": rng.normal(size=8).astype("f4")}


def close(found: Any, wanted: Any, rtol: float = 1e-5) -> None:
    for x, y in zip(fg.tree.leaves(found), fg.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(np.asarray(x, np.float64), np.asarray(y, np.float64), rtol=rtol, atol=1e-6)


def explicit_axes() -> None:
    """With explicit axes JAX asks how a result is sharded, and our lowering answers."""
    mesh = jax.make_mesh((4, 2), ("data", "model"), axis_types=(AxisType.Explicit, AxisType.Explicit))
    rng = np.random.default_rng(0)
    shapes = {"x": (16, 8), "y": (16,), "w": (8, 4), "b": (4,), "v": (4,), "table": (10, 4)}
    plain = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    ids = np.arange(16) % 10
    specs = {"x": P("data", None), "y": P("data"), "w": P(None, "model"), "b": P("model"), "v": P("model")}
    specs["table"] = P(None, "model")
    spread = {name: jax.device_put(x, NamedSharding(mesh, specs[name])) for name, x in plain.items()}

    def hidden(p: Any) -> Any:
        return np.tanh(p["x"] @ p["w"] + p["b"])

    losses: dict[str, Callable[[Any], Any]] = {
        "mlp": lambda p: np.mean((hidden(p) @ p["v"] - p["y"]) ** 2),
        "einsum": lambda p: np.sum(np.einsum("bi,ij,j->b", p["x"], p["w"], p["v"]) * p["y"]),
        "where": lambda p: np.sum(np.where(hidden(p) > 0, hidden(p), 0)),
        "max": lambda p: np.sum(np.max(hidden(p), axis=1) * p["y"]),
        "softmax": lambda p: np.sum((h := np.exp(hidden(p))) / np.sum(h, axis=1, keepdims=True) * p["x"][:, :4]),
        "rows of a table": lambda p: np.sum(p["table"][ids] * hidden(p)),
        "an element of each row": lambda p: np.sum(hidden(p)[np.arange(16), ids % 4] * p["y"]),
        "std": lambda p: np.std(hidden(p)),
        "transpose": lambda p: np.sum((p["w"].T @ p["x"].T) * p["y"]),
        "reshape": lambda p: np.sum(np.reshape(hidden(p), (16, 2, 2)) ** 2),
        "sort": lambda p: np.sum(np.sort(hidden(p), axis=1) * p["v"]),
        "cumsum": lambda p: np.sum(np.cumsum(hidden(p), axis=0) * p["y"][:, None]),
    }
    for name, loss in losses.items():
        wanted = fg.grad(loss)(plain)
        for gradient in (fg.jit(fg.grad(loss)), fg.grad(loss))[: 2 if name == "mlp" else 1]:
            found = gradient(spread)
            for leaf in found:
                message = f"{name}: {leaf}"
                np.testing.assert_allclose(found[leaf], wanted[leaf], rtol=2e-4, atol=1e-4, err_msg=message)
    step = fg.jit(lambda p, s: fg.sgd_update(fg.grad(losses["mlp"])(p), s, p))
    params, state = step(spread, fg.sgd_init(spread, lr=0.1, momentum=0.9))
    assert {name: x.sharding.spec for name, x in params.items()} == specs, params["w"].sharding
    assert {name: x.sharding.spec for name, x in state.buffers.items()} == specs


def chosen_devices() -> None:
    """A step compiles once, on a chosen device and over a mesh, and its results stay there."""
    compiled: list[str] = []

    def note(event: str, duration_secs: float, **_: str | int) -> None:
        del duration_secs
        compiled.append(event)

    jax.monitoring.register_event_duration_secs_listener(note)
    for sharding in (SingleDeviceSharding(jax.devices()[1]), whole_and_rows(mesh_of(AUTO))[1]):
        for compiler in (jax.jit, fg.jit):
            params = jax.device_put(np.ones(8, np.float32), sharding)
            state = fg.sgd_init(params, **MOMENTUM, dampening=0.1)
            update = compiler(fg.sgd_update)
            for lr in (0.1, 0.2, 0.3):
                compiled.clear()
                new, state = update(params, state.replace(lr=lr), params)
                assert new.sharding == state.buffers.sharding == sharding, (new.sharding, sharding)
                assert lr == 0.1 or not any("backend_compile" in name for name in compiled), (sharding, lr)


# Muon needs matrices, SparseAdam needs rows, and a moving average has no gradients.
OTHERS = {"muon", "sparse_adam", "ema"}
NAMES = [name.removesuffix("_init") for name in vars(fg.optim)["__all__"] if name.endswith("_init")]
RULES = {
    name: (getattr(fg.optim, f"{name}_init"), getattr(fg.optim, f"{name}_update"))
    for name in NAMES
    if name not in OTHERS
}


def begun(rule: str, params: Any) -> Any:
    return RULES[rule][0](params, **(MOMENTUM if rule == "sgd" else {"lr": 0.1}))


def all_steps(grads: Any, states: Any, params: Any) -> Any:
    """Take one step of each rule."""
    return {rule: RULES[rule][1](grads, states[rule], params[rule]) for rule in states}


def every_rule_keeps_each_array_where_it_lies() -> None:
    """Try parameters, slots and gradients whole or in parts, in all mixtures. Equal shardings need no communication."""
    p, g = numbers(), numbers(1)
    wanted = all_steps(g, {rule: begun(rule, p) for rule in RULES}, dict.fromkeys(RULES, p))
    whole, rows = whole_and_rows(mesh_of(AUTO))
    for of_params, of_slots, of_grads in ((rows, rows, rows), (whole, rows, whole)):
        params, grads = jax.device_put(p, of_params), jax.device_put(g, of_grads)
        states = {rule: begun(rule, params) for rule in RULES}
        for rule, state in states.items():
            slots = {name: jax.device_put(getattr(state, name), of_slots) for name in held(state)}
            states[rule] = state.replace(**slots)
        step, given = fg.jit(all_steps), dict.fromkeys(RULES, params)
        for rule, (new, state) in step(grads, states, given).items():
            slots, expected = ([getattr(x, name) for name in held(x)] for x in (state, wanted[rule][1]))
            close((new, slots), (wanted[rule][0], expected))
            assert all(lies_as(x, of_params) for x in new.values()), rule
            assert all(lies_as(x, of_slots) for x in fg.tree.leaves(slots)), rule
        # New parameters are gathered if they must be whole. Nothing else is communicated.
        found = collectives(step, grads, states, given)
        assert found.keys() <= {"all-gather"}, found
        assert found["all-gather"] <= (0 if of_params == of_slots else len(p) * len(RULES)), found


def held(state: Any) -> list[str]:
    """Return the slots of a state that are arrays like the parameters."""
    return [name for name in state.slot_names if any(map(np.shape, fg.tree.leaves(getattr(state, name))))]


def eager_steps_keep_each_array_where_it_lies() -> None:
    for kinds in (AUTO, EXPLICIT):
        whole, rows = whole_and_rows(mesh_of(kinds))
        for of_params, of_slots in ((whole, rows), (rows, whole)):
            params = jax.device_put(numbers(), of_params)
            state = fg.sgd_init(params, **MOMENTUM)
            state = state.replace(buffers=jax.device_put(state.buffers, of_slots))
            new, state = fg.sgd_update(params, state, params)
            assert lies_as(new["w"], of_params), kinds
            assert lies_as(state.buffers["w"], of_slots), kinds
            close(new, fg.sgd_update(numbers(), fg.sgd_init(numbers(), **MOMENTUM), numbers())[0])
        average = fg.sharding.shard_state(fg.optim.ema_init(numbers()), mesh_of(kinds), "data")
        averages, average = fg.optim.ema_update(jax.device_put(numbers(), whole), average)
        assert lies_as(averages["w"], whole)
        assert lies_as(average.averages["w"], rows)


def steps_around_others_do_too() -> None:
    p, bad = numbers(), {k: np.full_like(x, np.nan) for k, x in numbers().items()}
    pairs = [fg.optim.skip_nonfinite(fg.sgd_init, fg.sgd_update), fg.optim.accumulate(fg.sgd_init, fg.sgd_update, 2)]
    for kinds in (AUTO, EXPLICIT):
        mesh = mesh_of(kinds)
        whole, rows = whole_and_rows(mesh)
        params = jax.device_put(p, whole)
        for (init, update), grads in zip(pairs, (bad, p), strict=True):
            state = fg.sharding.shard_state(init(params, **MOMENTUM), mesh, "data")
            given = jax.device_put(grads, whole)
            step = fg.jit(update)
            new, after = step(given, *step(given, state, params)[::-1])
            assert lies_as(new["w"], whole), (kinds, update)
            assert lies_as(after.inner.buffers["w"], rows), (kinds, update)
            close(new, p if grads is bad else {k: x * np.float32(0.9) for k, x in p.items()})


def under_transforms_and_on_other_engines() -> None:
    """A sharding constraint is an ordinary operation: it can be mapped and differentiated, and runs on all engines."""
    p = numbers()
    rates = np.array([0.1, 0.2], np.float32)

    def stepped(lr: Any) -> Any:
        state = fg.sgd_init(p, lr=lr, momentum=0.9)
        new, state = fg.sgd_update(p, state, p)
        return fg.sgd_update(p, state, new)[0]["b"]

    wanted = np.stack([stepped(lr) for lr in rates])
    for engine in ("xla", "numpy", *(["numba"] if find_spec("llvmlite") else [])):
        close(fg.jit(fg.vmap(stepped), engine=engine)(rates), wanted)
        step = fg.jit(fg.sgd_update, engine=engine, donate_argnums=1)
        new, state = step(p, fg.sgd_init(p, **MOMENTUM), p)
        assert engine == "xla" or new["b"] is not state.buffers["b"]
        close(new["b"], p["b"] * np.float32(0.9))
    by_hand = fg.jacrev(lambda g: fg.sgd_update({"w": p["w"], "b": g}, fg.sgd_init(p, **MOMENTUM), p)[0]["b"])
    close(fg.jit(by_hand)(p["b"]), -0.1 * np.eye(8))
    close(
        jax.jit(jax.jacfwd(fg.to_jax(lambda g: fg.sgd_update(g, fg.sgd_init(g, lr=0.1), p)[0]["b"])))(p)["b"],
        -0.1 * np.eye(8),
    )


def shardings_of_jit() -> None:
    p, x = numbers(), np.random.default_rng(2).normal(size=(64, 16)).astype("f4")

    def loss(p: Any, x: Any) -> Any:
        return np.mean(np.tanh(x @ p["w"] + p["b"]) ** 2)

    def step(p: Any, state: Any, x: Any) -> Any:
        return *fg.sgd_update(fg.grad(loss)(p, x), state, p), loss(p, x)

    for kinds in (AUTO, EXPLICIT):
        mesh = mesh_of(kinds)
        whole, rows = whole_and_rows(mesh)
        compiled = fg.jit(
            step, donate_argnums=(0, 1), in_shardings=(whole, None, rows), out_shardings=(whole, None, None)
        )
        found, state, _ = compiled(p, fg.sgd_init(p, **MOMENTUM), x)
        assert all(lies_as(y, whole) for y in found.values())
        close(found, step(p, fg.sgd_init(p, **MOMENTUM), x)[0])
        # The only communication adds up the gradients.
        assert collectives(compiled, found, state, x) == {"all-reduce": 1}, kinds
        wide = fg.jit(
            lambda p, x: (p["w"] * 2, x.T @ x, np.zeros(3)),
            in_shardings=(rows, whole),
            out_shardings=(whole, rows, None),
        )
        a, b, c = wide(p, x)
        assert lies_as(a, whole)
        assert lies_as(b, rows)
        assert type(c) is np.ndarray
        with jax.set_mesh(mesh):
            y = fg.jit(lambda n, x: n * x, static_argnums=0, in_shardings=P("data"), out_shardings=P(None, "data"))(
                2, x
            )
            assert y.sharding.spec == P(None, "data")
        refused(ValueError, "in_shardings must be a prefix", lambda w=whole: fg.jit(step, in_shardings=(w,))(p, p, x))
        refused(ValueError, "out_shardings one of the result", lambda w=whole: fg.jit(loss, out_shardings=(w, w))(p, x))
        refused(TypeError, "is a str; needed a sharding", lambda: fg.jit(loss, in_shardings="data")(p, x))
        refused(ValueError, 'engine "numpy"', lambda w=whole: fg.jit(loss, in_shardings=w, engine="numpy"))
    on_nothing: list[dict[str, Any]] = [{"in_shardings": P()}, {"out_shardings": P()}]
    for options in on_nothing:
        refused(ValueError, "none is set; needed a mesh", lambda options=options: fg.jit(loss, **options)(p, x))


def refused(error: type[Exception], pattern: str, call: Callable[[], Any]) -> None:
    with pytest.raises(error, match=pattern):
        call()


def shard_map_around_and_inside() -> None:
    p, x = numbers(), np.random.default_rng(2).normal(size=(64, 16)).astype("f4")

    def loss(p: Any, x: Any) -> Any:
        return np.mean(np.tanh(x @ p["w"] + p["b"]) ** 2)

    wanted = fg.grad(loss)(p, x)

    def local(p: Any, x: Any) -> Any:
        grads = {name: jax.lax.pmean(g, "data") for name, g in fg.jit(fg.grad(loss))(p, x).items()}
        return fg.sgd_update(grads, fg.sgd_init(p, **MOMENTUM), p)[0]

    def in_parts(p: Any, x: Any) -> Any:
        return jax.lax.pmean(fg.to_jax(loss)(p, x), "data")

    def in_its_parts(p: Any, x: Any) -> Any:
        # With explicit axes JAX requires that the argument has this sharding already, also when only types are
        # computed.
        return inside(p, jax.sharding.reshard(x, rows) if kinds == EXPLICIT else x)

    for kinds in (AUTO, EXPLICIT):
        mesh = mesh_of(kinds)
        whole, rows = whole_and_rows(mesh)
        on_mesh = jax.device_put(p, whole), jax.device_put(x, rows)
        around, inside = (
            jax.shard_map(f, mesh=mesh, in_specs=(P(), P("data")), out_specs=P()) for f in (local, in_parts)
        )
        close(jax.jit(around)(*on_mesh), fg.sgd_update(wanted, fg.sgd_init(p, **MOMENTUM), p)[0])
        close(fg.jit(fg.grad(fg.from_jax(in_its_parts)))(*on_mesh), wanted, 1e-4)


def states_are_spread() -> None:
    p = {"w": np.ones((24, 64), np.float16), "odd": np.ones(5, np.float32)}
    for kinds in (AUTO, EXPLICIT):
        mesh = mesh_of(kinds)
        state = fg.optim.adam_init(p, lr=0.1, master_dtype="float32")
        spread = fg.sharding.shard_state(state, mesh, "data")
        assert type(spread) is type(state)
        specs = {spread.exp_avg["w"].sharding.spec, spread.masters["w"].sharding.spec}
        assert specs == {P(None, "data")}
        assert spread.exp_avg["odd"].sharding.is_fully_replicated
        assert spread.step.sharding.is_fully_replicated
        close(fg.tree.leaves(spread), fg.tree.leaves(state))
        # Two averages and a master copy of w, an eighth on each device; two averages of the array of odd size, and the
        # numbers.
        each = 3 * 24 * 64 * 4 // 8 + 2 * 5 * 4
        held = fg.sharding.memory_per_device(spread)
        assert list(held) == [str(device) for device in jax.devices()]
        assert all(each <= size < each + 100 for size in held.values()), held
        params = jax.device_put(p, whole_and_rows(mesh)[0])
        new, after = fg.jit(fg.optim.adam_update)(params, spread, params)
        assert after.exp_avg["w"].sharding.spec == spread.exp_avg["w"].sharding.spec
        close(new, fg.optim.adam_update(p, state, p)[0], 1e-3)
    two = jax.make_mesh((4, 2), ("data", "model"), axis_types=AUTO * 2)
    buffers = jax.device_put(np.ones((16, 8), np.float32), NamedSharding(two, P("model")))
    state = fg.sgd_init(buffers, **MOMENTUM)
    assert fg.sharding.shard_state((state, {"x": 1}), two, "data")[0].buffers.sharding.spec == P("model", "data")
    packed = fg.sgd_init({"a": buffers, "b": buffers}, **MOMENTUM, foreach=True)
    assert packed.buffers["a"].sharding == buffers.sharding
    refused(ValueError, r"axis is 'rows'; needed one of", lambda: fg.sharding.shard_state(state, two, "rows"))
    refused(TypeError, "mesh is a dict; needed a jax.sharding.Mesh", lambda: fg.sharding.shard_state(state, {}, "data"))


def examples_equal_one_device() -> None:
    data_parallel = runpy.run_path(str(ROOT / "examples" / "data_parallel.py"))
    sharded = runpy.run_path(str(ROOT / "examples" / "sharded_optimizer.py"))
    one, eight = mesh_of(EXPLICIT, 1), mesh_of(EXPLICIT)
    close(data_parallel["train"](eight, 5), data_parallel["train"](one, 5), 1e-4)
    one, eight = mesh_of(AUTO, 1), mesh_of(AUTO)
    alone = sharded["train"](one, 3, 64, spread=False)
    params, state, losses = sharded["train"](eight, 3, 64, spread=True)
    np.testing.assert_allclose(losses, alone[2], rtol=2e-2)
    assert state.exp_avg["first"].sharding.spec == P(None, "data")
    assert params["first"].sharding.is_fully_replicated
    whole, part = (max(fg.sharding.memory_per_device(x).values()) for x in (alone[1], state))
    assert part < whole / 7


CHECKS = [
    explicit_axes,
    chosen_devices,
    every_rule_keeps_each_array_where_it_lies,
    eager_steps_keep_each_array_where_it_lies,
    steps_around_others_do_too,
    under_transforms_and_on_other_engines,
    shardings_of_jit,
    shard_map_around_and_inside,
    states_are_spread,
    examples_equal_one_device,
]


if __name__ == "__main__":
    assert jax.device_count() == 8
    for check in CHECKS:
        check()
