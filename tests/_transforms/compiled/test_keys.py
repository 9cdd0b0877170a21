"""A compiled function keeps one program for each type and value of static arguments, and for each order of a dict."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

ENGINES = ["numpy", "numba", "xla"]


@dataclasses.dataclass(frozen=True)
class Factor:
    value: Any


def number(c: Any) -> Any:
    return c[0] if type(c) is tuple else c.value if type(c) is Factor else c


def scaled(x: Any, c: Any) -> Any:
    return np.copysign(x, number(c)) * number(c)


FACTORS = [1, 1.0, True, np.float32(1), np.float64(1), 0.0, -0.0, 0, float("nan")]


@pytest.mark.parametrize("paths", [1, 4])
@pytest.mark.parametrize("engine", ENGINES)
def test_static_values_of_other_types_are_other_programs(engine: str, paths: int) -> None:
    by_position = fg.jit(scaled, static_argnums=1, engine=engine, paths=paths)
    by_name = fg.jit(scaled, static_argnames="c", engine=engine, paths=paths)
    factors = [*FACTORS, *[(c,) for c in FACTORS[:4]], *[Factor(c) for c in FACTORS[-5:]]]
    for _ in range(2):
        for c in factors:
            expected = np.asarray(scaled(3, c))
            for y in (by_position(3, c), by_name(3, c=c)):
                assert np.asarray(y).dtype == expected.dtype
                np.testing.assert_array_equal(y, expected)
                assert np.signbit(y) == np.signbit(expected)
    assert by_position.cache_size() == by_name.cache_size() == len(factors)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_static_index_is_no_mask(engine: str) -> None:
    f = fg.jit(lambda x, i: x[i], static_argnums=1, engine=engine)
    x = np.arange(3.0)
    for i in (1, True, 1, np.True_):
        np.testing.assert_array_equal(f(x, i), x[i])


@fg.tree.register_dataclass(meta_fields=["power"])
@dataclasses.dataclass(frozen=True)
class Model:
    weights: Any
    power: Any


@fg.tree.register_node
class Held:
    def __init__(self, weights: Any, power: Any) -> None:
        self.weights, self.power = weights, power

    def tree_flatten(self) -> tuple[Any, Any]:
        return (self.weights,), self.power

    @classmethod
    def tree_unflatten(cls, power: Any, children: Any) -> Held:
        return cls(children[0], power)


@pytest.mark.parametrize("kind", [Model, Held])
@pytest.mark.parametrize("paths", [1, 4])
@pytest.mark.parametrize("engine", ENGINES)
def test_static_fields_of_other_types_are_other_programs(engine: str, paths: int, kind: Any) -> None:
    f = fg.jit(lambda model, x: (np.copysign(x, model.power), x * model.power), engine=engine, paths=paths)
    for _ in range(2):
        for power in (1, 1.0, True, 0.0, -0.0):
            sign, y = f(kind(np.ones(2), power), 3)
            assert np.asarray(y).dtype == np.asarray(3 * power).dtype
            assert np.asarray(sign) == np.copysign(3, power)


def layers(p: Any, x: Any) -> Any:
    for w in p.values():
        x = np.sin(w * x + 1)
    return {name: x * w for name, w in p.items()}


FIRST = {"layer2": np.float64(0.3), "layer10": np.float64(0.7)}
SECOND = {name: FIRST[name] for name in reversed(FIRST)}


@pytest.mark.parametrize("paths", [1, 4])
@pytest.mark.parametrize("engine", ENGINES)
def test_a_dict_keeps_its_order(engine: str, paths: int) -> None:
    f = fg.jit(layers, engine=engine, paths=paths)
    named = fg.jit(lambda x, **p: layers(p, x), engine=engine, paths=paths)
    nested = fg.jit(lambda tree: layers(tree[1]["p"], 0.5), engine=engine, paths=paths)
    for _ in range(2):
        for p in (FIRST, SECOND, {int(name[5:]): w for name, w in FIRST.items()}):
            expected = layers(p, 0.5)
            calls = [f(p, 0.5), nested((None, {"p": p}))]
            calls += [named(0.5, **p)] if "layer2" in p else []  # pyright: ignore[reportCallIssue]  (these keys are names)
            for y in calls:
                assert list(y) == list(p)
                for name, value in expected.items():
                    np.testing.assert_allclose(y[name], value, rtol=1e-14)
    assert (f.cache_size(), named.cache_size()) == (3, 2)
    np.testing.assert_allclose(f(FIRST, 0.5)["layer2"], 0.3 * math.sin(0.7 * math.sin(0.3 * 0.5 + 1) + 1))
    np.testing.assert_allclose(f(SECOND, 0.5)["layer2"], 0.3 * math.sin(0.3 * math.sin(0.7 * 0.5 + 1) + 1))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_gradient_of_a_compiled_function_takes_the_program_of_the_order(engine: str) -> None:
    f = fg.jit(layers, engine=engine)
    for p in (FIRST, SECOND):
        compiled = fg.grad(lambda p: f(p, 0.5)["layer2"])(p)
        eager = fg.grad(lambda p: layers(p, 0.5)["layer2"])(p)
        whole = fg.jit(fg.grad(lambda p: layers(p, 0.5)["layer2"]), engine=engine)(p)
        assert list(compiled) == list(eager) == list(whole) == list(p)
        for name in p:
            np.testing.assert_allclose(compiled[name], eager[name], rtol=1e-13)
            np.testing.assert_allclose(whole[name], eager[name], rtol=1e-13)


@pytest.mark.parametrize("engine", ENGINES)
def test_static_and_other_arguments_by_name_keep_their_order(engine: str) -> None:
    f = fg.jit(lambda **p: layers(p, 0.5), static_argnames="layer2", engine=engine)
    for p in (FIRST, SECOND, FIRST):
        y, expected = f(**p), layers(p, 0.5)
        assert list(y) == list(expected)
        np.testing.assert_allclose([*y.values()], [*expected.values()], rtol=1e-14)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_order_of_names_does_not_count_where_the_function_does_not_see_it(engine: str) -> None:
    f = fg.jit(lambda x, *, scale, shift: x * scale + shift, engine=engine)
    assert float(f(2.0, scale=3.0, shift=1.0)) == float(f(2.0, shift=1.0, scale=3.0)) == 7.0
    assert f.cache_size() == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_a_step_of_an_optimizer_returns_the_parameters_in_their_order(engine: str) -> None:
    step = fg.jit(fg.sgd_update, engine=engine)
    for order in ("wb", "bw", "wb"):
        p = {name: np.ones(2, np.float32) for name in order}
        state = fg.sgd_init(p, lr=0.1, momentum=0.9)
        for _ in range(2):
            p, state = step(p, state, p)
        assert "".join(p) == order == "".join(state.slots[0])


def test_a_lowered_program_has_the_order_of_the_arguments() -> None:
    f = fg.jit(layers)
    for order in (FIRST, SECOND):
        p = {name: np.float32(w) for name, w in order.items()}
        y = f.lower(p, np.float32(0.5)).compile()(p, np.float32(0.5))
        np.testing.assert_allclose(y["layer2"], layers(order, 0.5)["layer2"], rtol=1e-6)


def test_a_graph_is_one_program_that_reads_its_inputs_by_their_keys() -> None:
    graph = fg.make_graph(layers)(FIRST, 0.5)
    for p in (FIRST, SECOND):
        np.testing.assert_allclose(graph(p, 0.5)["layer2"], layers(FIRST, 0.5)["layer2"])


def test_functions_of_jax_and_for_jax_have_programs_for_types_and_orders() -> None:
    jnp = pytest.importorskip("jax.numpy")
    from_jax = fg.from_jax(lambda model: jnp.sum(model.weights) * jnp.copysign(1.0, model.power))
    to_jax = fg.to_jax(lambda p: layers(p, 0.5))
    for power in (0.0, -0.0, 0.0):
        assert float(from_jax(Model(np.ones(2), power))) == np.copysign(2, power)
    for p in (FIRST, SECOND):
        np.testing.assert_allclose(to_jax(p)["layer2"], layers(p, 0.5)["layer2"], rtol=1e-6)


def test_patterns_are_kept_by_type_and_order() -> None:
    f = fg.sparse.jacobian(lambda x, p: x ** next(iter(p.values())) * x[::-1] if len(p) else x)
    x = np.array([1.0, 2.0])
    for p in ({"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}):
        expected = fg.jacobian(lambda x, p=p: x ** next(iter(p.values())) * x[::-1])(x)
        np.testing.assert_allclose(f(x, p).toarray(), expected)


def test_the_reason_for_a_program_names_the_order(caplog: pytest.LogCaptureFixture) -> None:
    f = fg.jit(layers, engine="numpy")
    with caplog.at_level("DEBUG", "funcgrad"):
        f(FIRST, 0.5)
        f(SECOND, 0.5)
    assert "argument 0 (p) of layers has its keys in another order" in caplog.text
