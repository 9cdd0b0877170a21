"""An array without axes is an array, and not a number: a write to it is seen by all of its names, as in NumPy."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

# Functions whose result is an array or a number, as NumPy decides. Some show the memory of ``x``.
MADE: dict[str, Callable[[Any], Any]] = {
    "x": lambda x: x,
    "copy": lambda x: x.copy(),
    "np.copy": np.copy,
    "astype": lambda x: x.astype(np.float64),
    "reshape": lambda x: np.reshape(x, ()),
    "x[...]": lambda x: np.atleast_1d(x)[0, ...],
    "x[0]": lambda x: np.atleast_1d(x)[0],
    "zeros_like": np.zeros_like,
    "broadcast_to": lambda x: np.broadcast_to(x, ()).copy(),
    "squeeze": np.squeeze,
    "transpose": np.transpose,
    "moveaxis": lambda x: np.moveaxis(x, (), ()),
    "real": np.real,
    "real_if_close": np.real_if_close,
    "+x": lambda x: +x,
    "x * 1": lambda x: x * 1,
    "conj": np.conj,
    "einsum": lambda x: np.einsum("->", x),
    "sum": np.sum,
    "take": lambda x: np.take(x, 0),
    "where": lambda x: np.where(x > 0, x, 1.0),
}


def _vjp_of(f: Callable[[Any], Any], x: Any) -> Any:
    return fg.vjp(f, x)[0]


WAYS: dict[str, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = {
    "vjp": lambda f: lambda x: fg.vjp(f, x)[0],
    "jvp": lambda f: lambda x: fg.jvp(f, (x,), (1.0,))[0],
    "xla": fg.jit,
    "numpy": lambda f: fg.jit(f, engine="numpy"),
    "numpy, paths": lambda f: fg.jit(f, engine="numpy", paths=4),
    "xla, paths": lambda f: fg.jit(f, paths=4),
    "vjp of xla": lambda f: functools.partial(_vjp_of, fg.jit(f)),
    "numpy of vjp": lambda f: fg.jit(lambda x: fg.vjp(f, x)[0], engine="numpy"),
    "xla of jvp": lambda f: fg.jit(lambda x: fg.jvp(f, (x,), (1.0,))[0]),
    "graph": lambda f: lambda x: fg.make_graph(f)(x)(x),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", MADE)
def test_a_write_is_seen_by_the_names_of_an_array_alone(name: str, way: str) -> None:
    def f(x: Any) -> Any:
        y = MADE[name](x)
        z = y
        z *= 2.0
        z += 1.0
        return x * 1.0, y * 1.0, z * 1.0

    run = WAYS[way](f)
    # The array and the number have one type. A program for one must not serve the other.
    for make in (lambda: np.array(3.0), lambda: np.float64(3.0), lambda: np.array(4.0), lambda: np.float64(4.0)):
        if name != "take" or isinstance(make(), np.ndarray):
            np.testing.assert_array_equal(run(make()), f(make()))


@pytest.mark.parametrize("engine", ["xla", "numpy"])
def test_a_program_is_kept_for_arrays_and_for_numbers(engine: str) -> None:
    def f(x: Any, n: Any) -> Any:
        y = x
        y *= n
        return x + n

    jitted = fg.jit(f, engine=engine)
    for _ in range(3):
        # Other shapes in between, for which JAX stages the same program anew.
        assert jitted(np.array(3.0), 2.0) == 8
        assert jitted(np.float64(3.0), 2.0) == 5
        np.testing.assert_array_equal(jitted(np.ones(2), 2.0), [4, 4])
        assert jitted(np.array(3.0), np.float64(2.0)) == 8
    assert fg.grad(jitted)(np.array(3.0), 2.0) == 2
    assert fg.grad(jitted)(np.float64(3.0), 2.0) == 1


def test_the_callers_array_stays() -> None:
    x = np.array(3.0)

    def f(x: Any) -> Any:
        y = x
        y += 1.0
        return x

    for engine in ("xla", "numpy"):
        assert fg.jit(f, engine=engine)(x) == 4
        assert x == 3


def _written(c: Any) -> Any:
    z = c
    z *= 2.0
    z += 1.0
    return c


def _custom_jvp(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    made = fg.custom_jvp(lambda x: f(x))
    made.defjvp(lambda xs, x_dots: (f(xs[0]), 2.0 * x_dots[0]))
    return made


def _custom_vjp(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    made = fg.custom_vjp(lambda x: f(x))
    made.defvjp(lambda x: (f(x), None), lambda _, y_bar: (2.0 * y_bar,))
    # The forward mode of the table has the same rule.
    made.defjvp(lambda xs, x_dots: (f(xs[0]), 2.0 * x_dots[0]))
    return made


def _while_loop(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: fg.while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, f(s[1])), (0, x))[1]


# Structured loops of three rounds of a function.
LOOPS: dict[str, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = {
    "scan": lambda f: lambda x: fg.scan(lambda c, _: (f(c), None), x, length=3)[0],
    "scan in pieces": lambda f: lambda x: fg.scan(lambda c, _: (f(c), None), x, length=3, checkpoint=2)[0],
    "fori_loop": lambda f: lambda x: fg.fori_loop(0, 3, lambda i, c: f(c), x),
    "while_loop": _while_loop,
}
# Functions that call another one.
CALLS: dict[str, Callable[[Callable[[Any], Any]], Callable[[Any], Any]]] = {
    "checkpoint": fg.checkpoint,
    "custom_jvp": _custom_jvp,
    "custom_vjp": _custom_vjp,
    "cond": lambda f: lambda x: fg.cond(x > 0, f, f, x),
    "cond of a known value": lambda f: lambda x: fg.cond(True, f, lambda x: x, x),
    "switch": lambda f: lambda x: fg.switch((x > 0).astype(int), [f, f], x),
    "stop_gradient": lambda f: lambda x: f(fg.stop_gradient(x)),
}
BOTH = (lambda: np.array(3.0), lambda: np.float64(3.0))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", LOOPS)
def test_the_carry_of_a_loop_is_an_array_if_its_initial_value_is_one(name: str, way: str) -> None:
    if name == "while_loop" and "vjp" in way:
        # Reverse mode of such a loop is refused.
        return
    for make in BOTH:
        expected = make()
        for _ in range(3):
            expected = _written(expected)
        np.testing.assert_array_equal(WAYS[way](LOOPS[name](_written))(make()), expected)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CALLS)
def test_the_argument_of_a_called_function_is_an_array_if_it_was_one(name: str, way: str) -> None:
    for make in BOTH:
        for f in (_written, lambda c: _written(c) * 1.0 + c):
            run = WAYS[way](CALLS[name](f))
            np.testing.assert_array_equal(run(make()), f(make()))


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("made", ["x", "copy", "np.copy", "x * 1", "zeros_like"])
@pytest.mark.parametrize("name", CALLS)
def test_the_result_of_a_called_function_is_an_array_if_the_functions_is(name: str, made: str, way: str) -> None:
    f = MADE[made]

    def program(x: Any) -> Any:
        y = CALLS[name](f)(x)
        z = y
        z *= 2.0
        return y * 1.0, z * 1.0

    for make in BOTH:
        y = f(make())
        z = y
        z *= 2.0
        np.testing.assert_array_equal(WAYS[way](program)(make()), (y * 1.0, z * 1.0))


def test_a_carry_that_turns_from_an_array_into_a_number_is_refused_if_it_is_written_to() -> None:
    def body(c: Any) -> Any:
        z = c
        z *= 2.0
        return c + z

    for name, loop in LOOPS.items():
        assert loop(body)(np.float64(3.0)) == 3 * 3**3, name
        with pytest.raises(TypeError, match=r"goes into .* as an array and comes out as a number"):
            loop(body)(np.array(3.0))
        # Without a write there is no difference.
        assert loop(lambda c: np.copy(c) * 2.0)(np.array(3.0)) == 24, name


def test_branches_that_return_an_array_and_a_number_are_refused_if_the_result_is_written_to() -> None:
    def f(x: Any, writes: bool) -> Any:
        y = fg.cond(x > 0, lambda x: x, lambda x: x * 1.0, x)
        z = y
        if writes:
            z *= 2.0
        return y + 0.0

    assert fg.jit(functools.partial(f, writes=False), engine="numpy")(np.array(3.0)) == 3
    with pytest.raises(TypeError, match=r"one function returned an array without axes, and another a number"):
        fg.jit(functools.partial(f, writes=True), engine="numpy")(np.array(3.0))


def test_a_loop_may_carry_what_one_branch_returns_as_an_array_and_another_as_a_number() -> None:
    def f(x: Any) -> Any:
        carry, _ = fg.scan(lambda c, _: (fg.cond(c > 5, lambda c: c, lambda c: c * 2.0, c), None), x, None, length=3)
        return carry

    assert f(np.array(3.0)) == 6
    assert fg.grad(f)(np.array(3.0)) == 2
    assert fg.jit(f, engine="numpy")(np.array(3.0)) == 6


@pytest.mark.parametrize("transform", ["custom_jvp", "custom_vjp", "stop_gradient"])
@pytest.mark.parametrize("make", [lambda: np.array(3.0), lambda: np.array([3.0, 1.0])])
def test_a_write_inside_does_not_reach_the_callers_array(transform: str, make: Callable[[], Any]) -> None:
    run = CALLS[transform](_written)
    for way in ("vjp", "jvp"):
        x = make()
        if way == "vjp":
            fg.vjp(run, x)
        else:
            fg.jvp(run, (x,), (np.ones_like(x),))
        np.testing.assert_array_equal(x, make())


def test_the_type_of_an_array_without_axes_stands_for_an_array() -> None:
    for engine in ("numpy", "xla"):
        graph = fg.jit(_written, engine=engine).graph(fg.ShapeDtype((), np.float64))
        assert graph(np.array(3.0)) == 7
        assert fg.jit(_written, engine=engine).graph(np.float64(0.0))(np.float64(3.0)) == 3
    assert fg.make_graph(_written)(fg.ShapeDtype((), np.float64))(np.array(3.0)) == 7


def test_lower_tells_arrays_from_numbers() -> None:
    lowered = {x: fg.jit(_written).lower(x).as_text() for x in (fg.ShapeDtype((), np.float64), np.float64(3.0))}
    array = fg.jit(_written).lower(np.array(3.0)).as_text()
    of_type, of_number = lowered.values()
    assert "multiply" in array
    assert array == of_type
    assert "multiply" not in of_number


@pytest.mark.parametrize("engine", ["xla", "numpy"])
def test_a_result_without_axes_of_a_compiled_function_is_a_number(engine: str) -> None:
    for f in (fg.jit(lambda x: x * 2.0, engine=engine), fg.grad(fg.jit(lambda x: x * x, engine=engine))):
        for make in BOTH:
            y = f(make())
            first = y
            y += 1.0
            assert (first, y) == (6, 7)


@pytest.mark.parametrize("engine", ["xla", "numpy", "numba"])
@pytest.mark.parametrize("name", MADE)
def test_a_compiled_function_returns_a_number_where_the_function_does(name: str, engine: str) -> None:
    f = MADE[name]
    compiled = fg.jit(lambda x: {"made": f(x), "of a sum": f(np.sum(x))}, engine=engine)
    for x in (np.array(2.0), np.float64(2.0)):
        needed = {"made": f(x), "of a sum": f(np.sum(x))}
        assert {key: type(y) for key, y in compiled(x).items()} == {key: type(y) for key, y in needed.items()}


@pytest.mark.parametrize("paths", [1, 4])
@pytest.mark.parametrize("engine", ["xla", "numpy", "numba"])
def test_each_call_of_a_compiled_function_returns_an_array_of_its_own(engine: str, paths: int) -> None:
    f = fg.jit(lambda x: (np.copy(x), np.copy(np.sum(x)), [+x]), engine=engine, paths=paths)
    x = np.array(2.0)
    for _ in range(3):
        copied, made, (number,) = f(x)
        assert (type(copied), type(made), type(number)) == (np.ndarray, np.ndarray, np.float64)
        copied += 1.0
        made += 1.0
        assert x == 2.0
        assert np.array_equal(f(x)[0], 2.0)
        assert np.array_equal(f(x)[1], 2.0)


def test_the_structure_of_a_graphs_result_does_not_tell_arrays_from_numbers() -> None:
    graph = fg.jit(lambda x: {"copy": np.copy(x), "sum": np.sum(x)}, engine="numpy").graph(np.array(2.0))
    assert graph.trees is not None
    assert graph.trees[1] == fg.tree.structure({"copy": 0.0, "sum": 0.0})
