"""Schedules: optax's values, as values of their own; in states, compiled, and changed without compiling anew."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import optax
import pytest

import funcgrad as fg
from funcgrad.optim import schedules as s

COUNTS = [0, 1, 2, 3, 5, 7, 8, 10, 13, 20, 31, 100]
# Ours, and optax's of the same meaning.
PAIRS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "constant": (lambda: s.constant(0.3), lambda: optax.constant_schedule(0.3)),
    "linear": (lambda: s.linear(1.0, 0.25, 10, 3), lambda: optax.linear_schedule(1.0, 0.25, 10, 3)),
    "warmup": (lambda: s.warmup(0.0, 2.0, 7), lambda: optax.warmup_constant_schedule(0.0, 2.0, 7)),
    "polynomial": (lambda: s.polynomial(1.0, 0.1, 2.5, 12), lambda: optax.polynomial_schedule(1.0, 0.1, 2.5, 12)),
    "exponential": (lambda: s.exponential(1.0, 4, 0.5, 2), lambda: optax.exponential_decay(1.0, 4, 0.5, 2)),
    "bounded": (
        lambda: s.exponential(1.0, 4, 0.5, end_value=0.3),
        lambda: optax.exponential_decay(1.0, 4, 0.5, end_value=0.3),
    ),
    "growth": (
        lambda: s.exponential(1.0, 4, 2.0, staircase=True, end_value=3.0),
        lambda: optax.exponential_decay(1.0, 4, 2.0, staircase=True, end_value=3.0),
    ),
    "step": (lambda: s.step(1.0, 5, 0.1), lambda: optax.exponential_decay(1.0, 5, 0.1, staircase=True)),
    "multi_step": (
        lambda: s.multi_step(1.0, {10: 0.5, 3: 0.1}),
        lambda: optax.piecewise_constant_schedule(1.0, {3: 0.1, 10: 0.5}),
    ),
    "cosine": (lambda: s.cosine(1.0, 13, 0.1, 2.0), lambda: optax.cosine_decay_schedule(1.0, 13, 0.1, 2.0)),
    "warmup_cosine": (
        lambda: s.warmup_cosine(0.1, 1.0, 5, 20, 0.05),
        lambda: optax.warmup_cosine_decay_schedule(0.1, 1.0, 5, 20, 0.05),
    ),
    "one_cycle": (lambda: s.one_cycle(20, 1.0), lambda: optax.cosine_onecycle_schedule(20, 1.0)),
    "linear_one_cycle": (lambda: s.linear_one_cycle(20, 1.0), lambda: optax.linear_onecycle_schedule(20, 1.0)),
    "join": (
        lambda: s.join([s.linear(1.0, 0.5, 4), s.constant(0.1), s.cosine(2.0, 5)], [5, 8]),
        lambda: optax.join_schedules(
            [optax.linear_schedule(1.0, 0.5, 4), optax.constant_schedule(0.1), optax.cosine_decay_schedule(2.0, 5)],
            [5, 8],
        ),
    ),
}


@pytest.mark.parametrize("name", PAIRS)
def test_optaxs_values(name: str) -> None:
    ours, theirs = (make() for make in PAIRS[name])
    expected = [float(theirs(count)) for count in COUNTS]
    np.testing.assert_allclose([float(ours(count)) for count in COUNTS], expected, rtol=2e-6, atol=1e-7)
    counts = np.asarray(COUNTS)
    np.testing.assert_allclose(fg.jit(fg.vmap(ours), engine="numpy")(counts), expected, rtol=2e-6, atol=1e-7)
    np.testing.assert_allclose(fg.jit(lambda c: [ours(x) for x in c])(counts), expected, rtol=2e-6, atol=1e-7)


@pytest.mark.parametrize("name", [*PAIRS, "inverse_sqrt"])
def test_a_schedule_is_a_value(name: str) -> None:
    make: Callable[[], Any] = PAIRS[name][0] if name in PAIRS else lambda: s.inverse_sqrt(1.0, 4)
    first, second = make(), make()
    assert first is not second
    assert first == second
    assert hash(first) == hash(second)
    assert pickle.loads(pickle.dumps(first)) == first
    assert repr(first) == repr(second) != repr(s.constant(7))
    assert first != s.constant(7)


@pytest.mark.parametrize("name", [*PAIRS, "inverse_sqrt", "function"])
def test_counts_that_jax_traces(name: str) -> None:
    makes: dict[str, Callable[[], Any]] = {
        "inverse_sqrt": lambda: s.inverse_sqrt(1.0, 4),
        "function": lambda: lambda count: np.where(count < 2, 0.1, np.sqrt(1 / (1 + count))),
    }
    schedule = PAIRS[name][0]() if name in PAIRS else makes[name]()
    params, grads = np.zeros(2), np.ones(2)
    state = fg.sgd_init(params, lr=schedule)
    step = jax.jit(fg.sgd_update)
    for count in range(4):
        found, after = step(grads, state, params)
        np.testing.assert_allclose(found, [-float(schedule(count))] * 2, rtol=1e-5)
        state = fg.tree.map(np.asarray, after)
    if name != "function":
        np.testing.assert_allclose(jax.jit(schedule)(3), schedule(3), rtol=1e-6)


@pytest.mark.parametrize("engine", ["xla", "numpy"])
def test_a_schedule_made_again_compiles_nothing(engine: Any) -> None:
    traced = []

    def step(grads: Any, state: Any, params: Any) -> Any:
        traced.append(None)
        return fg.sgd_update(grads, state, params)

    update = fg.jit(step, engine=engine)
    params, state = np.ones(2), fg.sgd_init(np.ones(2), lr=s.cosine(0.1, 10))
    for _ in range(3):
        params, state = update(np.ones(2), state, params)
        state = state.replace(lr=s.cosine(0.1, 10))
    assert len(traced) == 1
    again = pickle.loads(pickle.dumps(state))
    assert fg.tree.structure(again) == fg.tree.structure(state)
    expected = 1 - sum(float(s.cosine(0.1, 10)(count)) for count in range(3))
    np.testing.assert_allclose(params, [expected, expected])


OPTAXS: dict[str, Callable[[], Any]] = {
    **{name: theirs for name, (_, theirs) in PAIRS.items()},
    "interpolated": lambda: optax.piecewise_interpolate_schedule("cosine", 1.0, {2: 0.5, 4: 0.1}),
    "warmup_exponential": lambda: optax.warmup_exponential_decay_schedule(0.1, 1.0, 2, 3, 0.5),
    "sgdr": lambda: optax.sgdr_schedule(
        [{"init_value": 0.1, "peak_value": 1.0, "decay_steps": 3, "warmup_steps": 1, "end_value": 0.1}] * 2
    ),
}
UPDATES: dict[str, Callable[[Any], Any]] = {
    "eager": lambda update: update,
    "xla": fg.jit,
    "numpy": lambda update: fg.jit(update, engine="numpy"),
    "jax": jax.jit,
}


@pytest.mark.parametrize(("how", "wide"), [("eager", True), ("xla", False), ("numpy", False), ("jax", True)])
@pytest.mark.parametrize("name", OPTAXS)
def test_optaxs_own_schedules_are_taken(name: str, how: str, wide: bool) -> None:
    schedule = OPTAXS[name]()
    with jax.enable_x64(wide):
        update = UPDATES[how](fg.sgd_update)
        params, state = np.ones(2), fg.sgd_init(np.ones(2), lr=schedule)
        for _ in range(3):
            params, state = update(np.ones(2), state, params)
        np.testing.assert_allclose(params, 1 - sum(float(schedule(count)) for count in range(3)), rtol=2e-6, atol=1e-6)
        assert np.asarray(params).dtype == (np.float32 if how == "jax" and not wide else np.float64)


FAMILY = [name.removesuffix("_init") for name in fg.optim.__all__ if f"{name[:-4]}update" in fg.optim.__all__]
# It takes gradients in rows alone.
FAMILY.remove("sparse_adam")
FAMILY.remove("ema")


@pytest.mark.parametrize(
    ("how", "kind"), [*[(how, "jax") for how in UPDATES], ("xla", "float32"), ("eager", "float64")]
)
@pytest.mark.parametrize("optimizer", FAMILY)
def test_every_optimizer_takes_a_schedule_of_jax(optimizer: str, how: str, kind: str) -> None:
    init, update = getattr(fg.optim, f"{optimizer}_init"), getattr(fg.optim, f"{optimizer}_update")
    theirs: Any = optax.join_schedules([optax.constant_schedule(0.1), optax.cosine_decay_schedule(0.1, 10)], [2])
    start = np.linspace(0.1, 1, 6).reshape(2, 3)
    array = jax.numpy.asarray if kind == "jax" else np.dtype(kind).type

    def run(update: Any, lr: Any, array: Any) -> Any:
        params = array(start)
        state = init(params, lr=lr)
        for count in range(4):
            params, state = update(array(start - 0.3 * count), state, params)
        return params

    expected = run(update, lambda count: float(theirs(count)), np.asarray)
    np.testing.assert_allclose(run(UPDATES[how](update), theirs, array), expected, rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("engine", ["xla", "numpy"])
def test_a_schedule_of_jax_in_a_loop_in_a_program_without_arguments(engine: str) -> None:
    schedule: Any = optax.exponential_decay(0.1, 4, 0.5)

    def train() -> Any:
        first = np.ones(2), fg.sgd_init(np.ones(2), lr=schedule)
        return fg.fori_loop(0, 3, lambda i, now: fg.sgd_update(np.ones(2), now[1], now[0]), first)[0]

    expected = [1 - sum(float(schedule(count)) for count in range(3))] * 2
    np.testing.assert_allclose(fg.jit(train, engine=engine)(), expected, rtol=1e-6)


def test_a_schedule_that_gives_no_number_is_refused() -> None:
    state = fg.sgd_init(np.ones(2), lr=lambda count: np.ones(2))
    with pytest.raises(TypeError, match=r"sgd: lr is f64\[2\]; needed a real number"):
        fg.sgd_update(np.ones(2), state, np.ones(2))


def test_pytorchs_classes_say_how_to_schedule() -> None:
    with pytest.raises(TypeError, match=r"lr is a function; .*LambdaLR"):
        fg.optim.SGD([np.ones(2)], lr=optax.constant_schedule(0.1))


def test_adam_takes_schedules_too() -> None:
    state = fg.optim.adam_init(np.ones(2), lr=s.step(0.5, 1, 0.5))
    first, state = fg.optim.adam_update(np.ones(2), state, np.ones(2))
    second, _ = fg.optim.adam_update(np.ones(2), state, first)
    np.testing.assert_allclose([1 - first[0], first[0] - second[0]], [0.5, 0.25], rtol=1e-6)


MISTAKES: dict[str, Callable[[], Any]] = {
    "linear": lambda: s.linear(1.0, 0.0, 0),
    "cosine": lambda: s.cosine(1.0, -1),
    "warmup_cosine": lambda: s.warmup_cosine(0.0, 1.0, 10, 10),
    "exponential": lambda: s.exponential(1.0, 5, 0.0),
    "multi_step": lambda: s.multi_step(1.0, {3: -1.0}),
    "join": lambda: s.join([s.constant(1.0)], [3]),
    "one_cycle": lambda: s.one_cycle(0, 1.0),
    "inverse_sqrt": lambda: s.inverse_sqrt(1.0, 0),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_are_named(name: str) -> None:
    with pytest.raises(ValueError, match="needed"):
        MISTAKES[name]()


FORMULAS = {
    "constant": s.constant(0.1),
    "polynomial": s.polynomial(0.1, 0.01, 2.0, 20),
    "linear": s.linear(0.0, 0.2, 30),
    "warmup": s.warmup(0.0, 0.1, 20),
    "exponential": s.exponential(0.1, 10, 0.7),
    "staircase": s.exponential(0.1, 3, 0.7, staircase=True, end_value=0.01),
    "step": s.step(0.1, 3, 0.7),
    "multi_step": s.multi_step(0.1, {3: 0.7, 5: 0.3}),
    "cosine": s.cosine(0.1, 100, 0.1, 0.7),
    "warmup_cosine": s.warmup_cosine(0.0, 0.1, 3, 9),
    "inverse_sqrt": s.inverse_sqrt(0.1, 3),
    "join": s.join([s.linear(0, 0.1, 5), s.cosine(0.1, 30)], [5]),
    "one_cycle": s.one_cycle(20, 0.1),
    "linear_one_cycle": s.linear_one_cycle(20, 0.1),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_counts_of_every_type_give_float64(name: str) -> None:
    schedule = FORMULAS[name]
    with jax.enable_x64(True):
        for count in (0, 7, 40):
            expected = float(schedule(count))
            for given in (np.int32(count), np.array(count, np.int32), jax.numpy.int32(count), jax.numpy.float32(count)):
                assert float(schedule(given)) == expected
            compiled = jax.jit(schedule)(jax.numpy.int32(count))
            assert compiled.dtype == np.float64
            np.testing.assert_allclose(float(compiled), expected, rtol=4e-16, atol=1e-17)


def test_a_compiled_step_reads_a_schedule_in_float64() -> None:
    schedule = FORMULAS["linear"]
    start, g = np.zeros(1), np.ones(1)
    with jax.enable_x64(True):
        for step in (jax.jit(fg.sgd_update), fg.jit(fg.sgd_update)):
            state = fg.sgd_init(start, lr=schedule)
            for count in range(3):
                p, state = step(g, state, start)
                np.testing.assert_allclose(np.asarray(p), [-schedule(count)], rtol=1e-15)
