"""A transform never changes the arrays of its caller, whatever the function does to its arguments."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

Call = Callable[[np.ndarray, np.ndarray], Any]

ENGINES = ("numpy", "numba", "xla")
# Parameters that are functions of the user, and public functions that take one but run it on no arrays of the caller.
FUNCTIONS = {"f", "fun", "body", "cond", "residual", "true_fun", "branches"}
# The functions of these are called on JAX's arrays, which never change, or by NumPy (tests of `call_numpy`).
OTHERS = {"to_jax", "call_numpy", "debug_print"}


def doubled(x: Any, y: Any) -> Any:
    """Write to both arguments."""
    x += 1
    y *= 2
    return np.sum(x * y)


def by_second(x: Any, y: Any) -> Any:
    """Write to the argument that is not differentiated."""
    y *= 2
    return np.sum(x * y)


def in_containers(x: Any, y: Any) -> Any:
    y["rows"][0] *= 2
    return np.sum(x * y["rows"][0])


def branching(x: Any, y: Any) -> Any:
    y *= 2
    rounds = 0
    while rounds < x[0]:
        rounds += 1
    return np.sum(x * y) * rounds


def past_the_last_path(engine: str) -> Call:
    f = fg.jit(branching, engine=engine, paths=2)

    def call(x: np.ndarray, y: np.ndarray) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fg.errors.PathsWarning)
            return [f(k * x, y) for k in (1, 2, 3, 4)][-1]

    return call


def with_rules(kind: str) -> Callable[..., Any]:
    made = (fg.custom_vjp if kind == "vjp" else fg.custom_jvp)(doubled)
    if kind == "vjp":
        made.defvjp(lambda x, y: (doubled(x, y), (x, y)), lambda kept, ct: (ct * kept[1], ct * kept[0]))
    made.defjvp(lambda primals, tangents: (doubled(*primals), np.sum(tangents[0] * primals[1])))
    return made


# The result of each is that of the function on copies; ``None`` stands for the error of a read-only array.
CASES: dict[str, tuple[Call, Any]] = {
    "grad": (fg.grad(by_second), None),
    "value_and_grad": (fg.value_and_grad(by_second), None),
    "grad by name": (lambda x, y: fg.grad(by_second)(x, y=y), None),
    "grad of containers": (lambda x, y: fg.grad(in_containers)(x, {"rows": [y]}), None),
    "grad by both": (lambda x, y: fg.grad(doubled, (0, 1))(x, y)[0], [2, 2, 2]),
    "grad of the same array": (lambda x, y: fg.grad(doubled, (0, 1))(x, x)[1], [4, 4, 4]),
    "jacfwd": (fg.jacfwd(by_second), None),
    "jacrev": (fg.jacrev(by_second), None),
    "jacobian": (fg.jacobian(by_second), None),
    "hessian": (fg.hessian(by_second), None),
    "laplacian": (fg.laplacian(by_second), None),
    "jacfwd by both": (lambda x, y: fg.jacfwd(doubled, (0, 1))(x, y)[0], [2, 2, 2]),
    "hvp": (lambda x, y: fg.hvp(doubled, (x, y), (x * 0, y))[0], [2, 2, 2]),
    "vjp": (lambda x, y: fg.vjp(doubled, x, y)[1](1.0)[1], [4, 4, 4]),
    "jvp": (lambda x, y: fg.jvp(doubled, (x, y), (x, y * 0))[1], 6),
    "jet": (lambda x, y: fg.jet(doubled, (x, y), ([x], [y * 0]))[1][0], 6),
    "linearize": (lambda x, y: fg.linearize(doubled, x, y)[1](x, y * 0), 6),
    "linear_operator": (lambda x, y: fg.linear_operator(lambda x: doubled(x, x) * x, x) @ y * 0, [0, 0, 0]),
    "delta_method": (lambda x, y: fg.delta_method(lambda x: doubled(x, 1 * x))(x, np.eye(3))[0], 12),
    "check_grads": (lambda x, y: fg.check_grads(doubled, (x, y)), "nothing"),
    "make_graph": (lambda x, y: fg.make_graph(doubled)(x, y)(x, y), 12),
    "eval_shape": (lambda x, y: fg.eval_shape(doubled, x, y).shape, ()),
    "vmap": (lambda x, y: fg.vmap(doubled)(x[None], y[None])[0], 12),
    "vmap of one": (lambda x, y: fg.vmap(doubled, (0, None))(x[None], y)[0], 12),
    "checkpoint": (fg.checkpoint(doubled), 12),
    "custom_vjp": (with_rules("vjp"), 12),
    "custom_jvp": (with_rules("jvp"), 12),
    "scan": (lambda x, y: fg.scan(lambda c, t: (doubled(c, t) * c, None), x, y[None])[0], [24, 24, 24]),
    "fori_loop": (lambda x, y: fg.fori_loop(0, 1, lambda i, c: (c[0] * doubled(*c), c[1]), (x, y))[0], [24, 24, 24]),
    "while_loop": (
        lambda x, y: fg.while_loop(lambda c: c[0][0] < 2, lambda c: (c[0] * doubled(*c), c[1]), (x, y))[0],
        [24, 24, 24],
    ),
    "cond": (lambda x, y: fg.cond(True, doubled, by_second, x, y), 12),
    "switch": (lambda x, y: fg.switch(0, [doubled, by_second], x, y), 12),
    "associative_scan": (lambda x, y: fg.associative_scan(lambda a, b: a + b, np.stack([x, y]))[1], [2, 2, 2]),
    "implicit_root": (
        lambda x, y: fg.implicit_root(lambda z, a: z - a.__imul__(2), x, y, solver=lambda g, z: z - g(z)),
        [2, 2, 2],
    ),
    **{f"jit {e}": (fg.jit(doubled, engine=e), 12) for e in ENGINES},
    **{f"jit with paths {e}": (fg.jit(doubled, engine=e, paths=4), 12) for e in ENGINES},
    **{f"past the last path {e}": (past_the_last_path(e), 96) for e in ENGINES},
}
# Functions inside of another transform: their caller is a function, too, whose values they may not change.
INNER: dict[str, Callable[..., Any]] = {
    "jit": fg.jit(doubled, engine="numpy"),
    "jit with paths": fg.jit(doubled, engine="numpy", paths=4),
    "checkpoint": fg.checkpoint(doubled),
    "custom_vjp": with_rules("vjp"),
    "custom_jvp": with_rules("jvp"),
    "cond": lambda x, y: fg.cond(True, doubled, by_second, x, y),
}


def test_every_transform_is_tried() -> None:
    named = {name.split()[0] for name in CASES}
    for name in fg.__all__:
        try:
            parameters = inspect.signature(getattr(fg, name)).parameters
        except (TypeError, ValueError):
            continue
        assert FUNCTIONS.isdisjoint(parameters) or name in named | OTHERS, name


@pytest.mark.parametrize("name", CASES)
def test_the_callers_arrays_stay(name: str) -> None:
    call, expected = CASES[name]
    x, y = np.ones(3), np.ones(3)
    for _ in range(2):
        if expected is None:
            with pytest.raises(ValueError, match="read-only") as caught:
                call(x, y)
            assert any("Write into a copy" in note for note in caught.value.__notes__)
        else:
            result = call(x, y)
            assert expected == "nothing" or np.array_equal(np.asarray(result), expected)
        np.testing.assert_array_equal(x, 1)
        np.testing.assert_array_equal(y, 1)


@pytest.mark.parametrize("name", INNER)
def test_inner_functions_do_not_change_the_values_of_outer_ones(name: str) -> None:
    def f(x: Any, y: Any) -> Any:
        return INNER[name](x, y) + np.sum(x) + 10 * np.sum(y)

    x, y = np.ones(3), np.ones(3)
    found = [
        f(x, y),
        fg.vjp(f, x, y)[0],
        fg.jvp(f, (x, y), (x, y))[0],
        fg.vmap(f, (None, 0))(x, y[None])[0],
        *[fg.jit(f, engine=engine)(x, y) for engine in ENGINES],
        fg.value_and_grad(f)(x, y)[0],
        fg.jit(fg.value_and_grad(f), engine="numpy")(x, y)[0],
    ]
    np.testing.assert_array_equal(np.asarray(found, float), 45)


@pytest.mark.parametrize("name", ["checkpoint", "custom_vjp", "custom_jvp"])
def test_an_argument_that_is_handed_through_is_the_callers_object(name: str) -> None:
    f = getattr(fg, name)(lambda x: (x, x + 1))
    x = np.ones(3)
    assert f(x)[0] is x


def test_what_an_inner_compiled_function_hands_through_is_the_value_itself() -> None:
    def f(x: Any) -> Any:
        y = fg.jit(lambda x: x)(x)
        y *= 2
        return x + y

    for engine in ENGINES:
        np.testing.assert_array_equal(fg.jit(f, engine=engine)(np.ones(2)), 4)
    np.testing.assert_array_equal(f(np.ones(2)), 4)


def test_containers_without_arrays_are_the_callers_own() -> None:
    calls: list[str] = []

    def f(x: Any, log: list[str]) -> Any:
        log.append("called")
        return np.sum(x)

    fg.grad(f)(np.ones(3), calls)
    assert calls == ["called"]
