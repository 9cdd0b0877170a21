"""Packed and unpacked give equal numbers, in every form of packing."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from tests.optim._cases import OPTIONS, Options

SHAPES = [(3, 2), (4,), (), (0, 2), *[(i + 1,) for i in range(8)]]


def tree(rng: np.random.Generator, dtype: str = "float32") -> dict[str, Any]:
    return {f"p{i}": np.asarray(rng.standard_normal(shape), dtype) for i, shape in enumerate(SHAPES)}


def run(options: Options, grads: list[Any], params: Any, update: Any = fg.sgd_update, **more: Any) -> Any:
    state = fg.sgd_init(params, **options, **more)
    for g in grads:
        params, state = update(g, state, params)
    return params, state


def assert_equal(found: Any, expected: Any) -> None:
    jax.tree.map(np.testing.assert_array_equal, found, expected)


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("name", OPTIONS)
def test_equal_numbers(name: str, missing: bool, rng: np.random.Generator) -> None:
    params = tree(rng)
    grads = [tree(rng) for _ in range(3)]
    if missing:
        grads = [{**g, f"p{i}": None} for i, g in enumerate(grads)]
    expected, _ = run(OPTIONS[name], grads, params, foreach=False)
    for foreach in (None, True):
        found, state = run(OPTIONS[name], grads, params, foreach=foreach)
        assert_equal(found, expected)
        assert hasattr(state.buffers, "packed") == (foreach is True and OPTIONS[name]["momentum"] != 0)
    if not missing:
        packed, state = run(OPTIONS[name], [fg.tree.ravel(g) for g in grads], fg.tree.ravel(params))
        assert_equal(packed.unpack(), expected)


@pytest.mark.parametrize("engine", ["numpy", "xla"])
@pytest.mark.parametrize("name", ["lr-momentum-weight_decay-nesterov", "lr-momentum-dampening"])
def test_compiled(name: str, engine: str, rng: np.random.Generator) -> None:
    params, grads = tree(rng, "float64"), [tree(rng, "float64") for _ in range(3)]
    expected, _ = run(OPTIONS[name], grads, params, foreach=False)
    found, _ = run(OPTIONS[name], grads, params, fg.jit(fg.sgd_update, engine=engine), foreach=True)
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-12), found, expected)


def test_one_flat_array_for_each_dtype() -> None:
    mixed = {"a": np.ones((2, 2), np.float32), "b": np.zeros(3), "c": np.ones(1, np.float32), "d": 2.0}
    packed = fg.tree.ravel(mixed)
    assert [(x.dtype, x.shape) for x in packed.arrays] == [(np.float32, (5,)), (np.float64, (4,))]
    assert_equal(packed.unpack(), mixed)
    assert_equal(fg.tree.map(lambda x: 2 * x, packed).unpack(), fg.tree.map(lambda x: 2 * x, mixed))
    assert fg.tree.structure(packed) == fg.tree.structure(fg.tree.ravel(mixed))
    assert jax.tree.structure(packed) == jax.tree.structure(fg.tree.ravel(mixed))


def test_a_packed_tree_has_memory_of_its_own() -> None:
    x = np.ones(3)
    fg.tree.ravel([x]).arrays[0][:] = 0
    assert x.tolist() == [1, 1, 1]


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit, jax.jit], ids=["eager", "fg.jit", "jax.jit"])
def test_the_gradient_by_a_packed_tree_is_packed(transform: Any, rng: np.random.Generator) -> None:
    params = tree(rng)
    packed = fg.tree.ravel(params)

    def loss(params: Any) -> Any:
        return sum(np.sum(x**2) for x in params.values())

    def packed_loss(packed: Any) -> Any:
        return loss(packed.unpack())

    found = transform(fg.grad(packed_loss))(packed)
    assert type(found) is fg.tree.Packed
    jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, rtol=1e-6), found.unpack(), fg.grad(loss)(params))
    graph = fg.make_graph(fg.grad(packed_loss))(packed)
    assert [e.primitive.name for e in graph.equations].count("concatenate") == 1


def test_forward_and_second_order(rng: np.random.Generator) -> None:
    packed = fg.tree.ravel(tree(rng, "float64"))
    fg.check_grads(lambda packed: np.sum(packed.unpack()["p0"] ** 3) + np.sum(packed.unpack()["p1"] ** 2), (packed,))


@pytest.mark.parametrize("foreach", [None, True, False])
def test_compiles_once(foreach: bool | None, rng: np.random.Generator) -> None:
    count = 0

    def update(*args: Any) -> Any:
        nonlocal count
        count += 1
        return fg.sgd_update(*args)

    jitted = fg.jit(update, donate_argnums=(1, 2))
    params = jax.tree.map(jax.numpy.asarray, tree(rng))
    state = fg.sgd_init(params, lr=0.1, momentum=0.9, foreach=foreach)
    before = count
    structure = fg.tree.structure(state)
    for lr in (0.1, 0.2, 0.3):
        params, state = jitted(tree(rng), state.replace(lr=lr), params)
        assert fg.tree.structure(state) == structure
    # Once for the order of donated arguments, which needs the types of the results; JAX's tracing finds it staged.
    assert count - before <= 2


def test_prefixes_over_packed_buffers(rng: np.random.Generator) -> None:
    params, grads = tree(rng), [tree(rng) for _ in range(2)]
    options = {"lr": {name: 0.1 * (i + 1) for i, name in enumerate(params)}, "momentum": 0.9}
    expected, _ = run(options, grads, params, foreach=False)
    for foreach in (None, True):
        assert_equal(run(options, grads, params, foreach=foreach)[0], expected)


def test_momentum_set_to_zero_drops_packed_buffers(rng: np.random.Generator) -> None:
    state = fg.sgd_init(tree(rng), lr=0.1, momentum=0.9, dampening=0.1, foreach=True).replace(momentum=0.0)
    assert fg.tree.leaves(state.buffers) == []
    assert state.started is None


def test_what_is_no_array() -> None:
    with pytest.raises(TypeError, match=r"tree.ravel: a leaf is a str"):
        fg.tree.ravel(["text"])
