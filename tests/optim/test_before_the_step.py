"""Gradients before a step, clipped, gathered or skipped; and averages of parameters after it."""

from __future__ import annotations

import pickle
from typing import Any

import jax
import numpy as np
import optax
import pytest

import funcgrad as fg
from funcgrad import optim
from funcgrad.errors import HyperparameterError
from funcgrad.sparse import Rows

TREE: Any = {"a": np.array([[3.0, -4.0]]), "b": [np.array(12.0), None], "c": np.zeros((0, 3))}
COMPLEX: Any = [np.array([3.0 + 4.0j, 0.0])]
ROWS: Any = [Rows(np.array([1, 1, 0]), np.array([[1.0, 0.0], [2.0, 4.0], [0.0, 12.0]]), (3, 2))]
WAYS: dict[str, Any] = {"eager": lambda f: f, "xla": fg.jit, "numpy": lambda f: fg.jit(f, engine="numpy")}
ways = pytest.mark.parametrize("way", WAYS)


def same(found: Any, expected: Any, **tolerance: Any) -> None:
    assert fg.tree.structure(found) == fg.tree.structure(expected)
    for x, y in zip(fg.tree.leaves(found), fg.tree.leaves(expected), strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype
        np.testing.assert_allclose(x, y, **{"rtol": 1e-12, **tolerance})


@ways
@pytest.mark.parametrize(("tree", "norm"), [(TREE, 13.0), (COMPLEX, 5.0), (ROWS, 13.0), ([], 0.0), (2.0, 2.0)])
def test_the_norm(tree: Any, norm: float, way: str) -> None:
    found = WAYS[way](optim.global_norm)(tree)
    np.testing.assert_allclose(found, norm)
    assert np.asarray(found).dtype == np.float64


def test_the_norm_of_narrow_leaves_is_added_up_in_float32() -> None:
    found = optim.global_norm([np.full(4096, 300.0, np.float16)])
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, 300.0 * 64)


@ways
@pytest.mark.parametrize("limit", [0.0, 6.5, 13.0, 20.0])
def test_clipping_by_the_norm(limit: float, way: str) -> None:
    clip = WAYS[way](optim.clip_by_global_norm)
    factor = min(1.0, limit / 13)
    for tree in (TREE, ROWS):
        found = clip(tree, limit)
        if factor == 1.0:
            jax.tree.map(np.testing.assert_array_equal, found, tree)
        same(found, fg.tree.map(lambda x: x if np.asarray(x).dtype.kind == "i" else np.asarray(x) * factor, tree))
    reference = optax.clip_by_global_norm(limit).update(jax.tree.map(np.float32, TREE), optax.EmptyState())[0]
    same(clip(jax.tree.map(np.float32, TREE), limit), jax.tree.map(np.asarray, reference), rtol=1e-6)


def test_clipping_what_is_zero_or_not_finite() -> None:
    same(optim.clip_by_global_norm([np.zeros(2)], 0.0), [np.zeros(2)])
    assert np.isnan(optim.clip_by_global_norm([np.array([1.0, np.nan])], 1.0)[0]).all()
    assert (
        optim.clip_by_global_norm([np.array([3.0], np.float32), np.array([4.0])], np.float64(1))[0].dtype == np.float32
    )


@ways
def test_clipping_by_value(way: str) -> None:
    clip = WAYS[way](optim.clip_by_value)
    same(clip(TREE, 3.5), {"a": np.array([[3.0, -3.5]]), "b": [np.array(3.5), None], "c": np.zeros((0, 3))})
    assert np.isnan(clip(np.array([np.nan]), 1.0)).all()


def test_the_limit_is_data() -> None:
    for f in (optim.clip_by_global_norm, optim.clip_by_value):
        traced = []

        def clip(tree: Any, limit: Any, f: Any = f, traced: Any = traced) -> Any:
            traced.append(1)
            return f(tree, limit)

        step = fg.jit(clip)
        for limit in (1.0, 2.0, 30.0):
            same(step(TREE, limit), f(TREE, limit))
        assert len(traced) == 1


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: optim.global_norm({"n": np.arange(3)}), TypeError, r"global_norm: the leaf \['n'\] is i64\[3\]"),
        (lambda: optim.global_norm(["x"]), TypeError, r"the leaf \[0\] is a str"),
        (lambda: optim.clip_by_global_norm(TREE, -1.0), HyperparameterError, "max_norm is -1.0; needed zero or more"),
        (lambda: optim.clip_by_global_norm(TREE, np.nan), HyperparameterError, "max_norm is nan"),
        (lambda: optim.clip_by_global_norm(TREE, np.ones(2)), TypeError, r"max_norm is f64\[2\]; needed a number"),
        (lambda: optim.clip_by_value(COMPLEX, 1.0), TypeError, r"c128\[2\]; needed a float array"),
        (lambda: optim.accumulate(fg.sgd_init, fg.sgd_update, 0), ValueError, "every is 0; needed 1 or more"),
        (lambda: optim.ema_init(TREE, decay=1.5), HyperparameterError, "decay is 1.5; needed a number from 0 to 1"),
        (lambda: optim.ema_init(TREE).replace(decay=np.nan), HyperparameterError, "decay is nan"),
        (lambda: optim.ema_init(TREE, decay=lambda t: 0.5, debias=True), HyperparameterError, "Turn debias off"),
    ],
)
def test_refusals(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


PARAMS: Any = {"w": np.array([1.0, -2.0]), "b": np.array(0.5)}


def gradients(step: int) -> Any:
    rng = np.random.default_rng(step)
    return {"w": rng.standard_normal(2), "b": rng.standard_normal(())}


class Counted:
    def __init__(self, f: Any) -> None:
        self.f, self.count = f, 0

    def __call__(self, *args: Any) -> Any:
        self.count += 1
        return self.f(*args)


@ways
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_steps_that_are_not_finite_are_skipped(way: str, bad: float) -> None:
    init, update = optim.skip_nonfinite(optim.adam_init, optim.adam_update)
    counted = Counted(update)
    step = WAYS[way](counted)
    params, state = PARAMS, init(PARAMS, lr=0.1)
    expected, inner = PARAMS, optim.adam_init(PARAMS, lr=0.1)
    rows = []
    for i in range(7):
        grads = gradients(i)
        if i in (0, 3, 4):
            grads["w"][1] = bad
            params, state = step(grads, state, params)
        else:
            params, state = step(grads, state, params)
            expected, inner = optim.adam_update(grads, inner, expected)
        same(params, expected)
        same(state.inner, inner)
        rows.append((int(state.skipped), int(state.in_a_row)))
    assert rows == [(1, 1), (1, 0), (1, 0), (2, 1), (3, 2), (3, 0), (3, 0)]
    assert way == "eager" or counted.count == 1


def test_skipping_hands_on_hyperparameters_and_is_pickled() -> None:
    init, _ = optim.skip_nonfinite(optim.adam_init, optim.adam_update)
    state = init(PARAMS, learning_rate=0.1).replace(lr=0.5, skipped=np.int32(3))
    assert (float(state.inner.lr), int(state.skipped)) == (0.5, 3)
    again = pickle.loads(pickle.dumps(state))
    assert fg.tree.structure(again) == fg.tree.structure(state)
    with pytest.raises(TypeError, match="no field"):
        state.replace(rate=1.0)


@ways
@pytest.mark.parametrize("every", [1, 3])
def test_steps_for_several_gradients(way: str, every: int) -> None:
    init, update = optim.accumulate(optim.adam_init, optim.adam_update, every)
    counted = Counted(update)
    step = WAYS[way](counted)
    params, state = PARAMS, init(PARAMS, lr=0.1)
    expected, inner = PARAMS, optim.adam_init(PARAMS, lr=0.1)
    for i in range(7):
        params, state = step(gradients(i), state, params)
        if i % every == every - 1:
            mean = fg.tree.map(lambda *xs: np.asarray(sum(xs) / every), *[gradients(i - k) for k in range(every)])
            expected, inner = optim.adam_update(mean, inner, expected)
        same(params, expected, rtol=1e-10)
        assert int(state.count) == (i + 1) % every
    assert way == "eager" or counted.count == 1


def test_gathered_gradients_that_are_missing_narrow_or_rows() -> None:
    init, update = optim.accumulate(fg.sgd_init, fg.sgd_update, 2)
    params: Any = [np.ones(2), np.ones(2, np.float16), np.ones((3, 2))]
    state = init(params, lr=1.0, weight_decay=0.0)
    assert [x.dtype for x in state.gathered] == [np.float64, np.float32, np.float64]
    rows = Rows(np.array([0, 0]), np.ones((2, 2)), (3, 2))
    params, state = update([np.ones(2), np.full(2, 2.0, np.float16), rows], state, params)
    params, state = update([None, np.zeros(2, np.float16), rows], state, params)
    same(params, [np.ones(2), np.zeros(2, np.float16), np.array([[-1.0, -1.0], [1.0, 1.0], [1.0, 1.0]])])
    # The gathered gradient of the first parameter waits.
    params, state = update([None, None, None], state, params)
    params, state = update([np.zeros(2), None, None], state, params)
    same(params[0], np.full(2, 0.5))


@ways
def test_moving_averages(way: str) -> None:
    counted = Counted(optim.ema_update)
    step = WAYS[way](counted)
    params: Any = {"w": np.array([1.0, 2.0]), "half": np.ones(2, np.float16), "z": np.array(1j), "n": np.array([1])}
    state = optim.ema_init(params, decay=0.9)
    expected = {name: np.asarray(p, np.float32 if name == "half" else None) for name, p in params.items()}
    for i in range(1, 4):
        new = {name: (p + i).astype(p.dtype) for name, p in params.items()}
        averages, state = step(new, state.replace(decay=0.9 if i < 3 else 0.5))
        kept = 0.9 if i < 3 else 0.5
        expected = {
            name: new[name] if name == "n" else kept * x + (1 - kept) * new[name] for name, x in expected.items()
        }
        same(averages, {name: np.asarray(x, params[name].dtype) for name, x in expected.items()}, rtol=1e-3)
        np.testing.assert_allclose(averages["w"], expected["w"])
    assert way == "eager" or counted.count == 1
    assert state.averages["half"].dtype == np.float32


def test_averages_beside_optax_and_with_schedules() -> None:
    ours = optim.ema_init(np.zeros(2), decay=0.9, debias=True)
    theirs = optax.ema(0.9, debias=True)
    held = theirs.init(np.zeros(2))
    slow = optim.ema_init(np.zeros(1), decay=lambda t: np.minimum(0.999, (1 + t) / (10 + t)))
    average = 0.0
    for i in range(4):
        p = np.array([i, 1.0 - i])
        found, ours = optim.ema_update(p, ours)
        expected: Any
        expected, held = theirs.update(p, held)
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)
        (mine,), slow = optim.ema_update(np.array([float(i)]), slow)
        decay = min(0.999, (1 + i) / (10 + i))
        average = decay * average + (1 - decay) * i
        np.testing.assert_allclose(mine, average)


def test_averages_have_memory_of_their_own() -> None:
    p = np.ones(2)
    state = optim.ema_init([p, np.arange(2)], decay=0.5)
    averages, _ = optim.ema_update([p, np.arange(2)], state)
    p[:] = 7.0
    averages[0][:] = 9.0
    np.testing.assert_array_equal(state.averages[0], np.ones(2))


def test_all_of_it_in_one_loop_on_one_program() -> None:
    """Clipped, gathered, skipped and averaged, by scan."""
    init, update = optim.accumulate(*optim.skip_nonfinite(optim.adamw_init, optim.adamw_update), every=2)

    def run(params: Any, xs: Any) -> Any:
        def body(carry: Any, x: Any) -> Any:
            params, state, average = carry
            grads = optim.clip_by_global_norm(fg.grad(lambda p: np.sum((p["w"] - x) ** 2) + p["b"] ** 2)(params), 1.0)
            params, state = update(grads, state, params)
            _, average = optim.ema_update(params, average)
            return (params, state, average), optim.global_norm(grads)

        return fg.scan(body, (params, init(params, lr=0.1), optim.ema_init(params)), xs)

    xs = np.random.default_rng(0).standard_normal((6, 2))
    eager, norms = run(PARAMS, xs)
    for way in ("xla", "numpy"):
        found, _ = WAYS[way](run)(PARAMS, xs)
        same(found[0], eager[0], rtol=1e-10)
        same(found[2].averages, eager[2].averages, rtol=1e-10)
    assert np.all(norms <= 1 + 1e-12)
