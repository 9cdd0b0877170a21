"""A traced number answers questions about its type as the number does."""

from __future__ import annotations

import copy
import functools
import math
import numbers
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import ConcretizationTypeError, TracerIntegerConversionError

ENGINES = ("numpy", "numba", "xla")
QUESTIONS: dict[str, Callable[[Any], bool]] = {
    "float": lambda x: isinstance(x, float),
    "int": lambda x: isinstance(x, int),
    "int or float": lambda x: isinstance(x, (int, float)),
    "complex": lambda x: isinstance(x, complex),
    "np.float64": lambda x: isinstance(x, np.float64),
    "np.float32": lambda x: isinstance(x, np.dtype("f4").type),
    "np.generic": lambda x: isinstance(x, np.generic),
    "np.integer": lambda x: isinstance(x, np.integer),
    "np.ndarray": lambda x: isinstance(x, np.ndarray),
    "isscalar": np.isscalar,
    "Number": lambda x: isinstance(x, numbers.Number),
    "Real": lambda x: isinstance(x, numbers.Real),
    "Integral": lambda x: isinstance(x, numbers.Integral),
    "list or tuple": lambda x: isinstance(x, list | tuple),
    "class": lambda x: issubclass(x.__class__, float),
}
NUMBERS = {
    "float": 2.0,
    "complex": 2.0 + 1j,
    "np.float64": np.float64(2.0),
    "np.float32": np.float32(2.0),
    "np.complex64": np.complex64(2.0),
    "array without axes": np.array(2.0),
}
INTEGERS = {"int": 2, "np.int64": np.int64(2), "np.int8": np.int8(2), "np.bool_": np.bool_(True)}


def answers(x: Any) -> dict[str, bool]:
    """The answers to all questions, except to the one for arrays: a traced array is no ndarray."""
    found = {name: bool(question(x)) for name, question in QUESTIONS.items()}
    if found.pop("np.ndarray"):
        assert isinstance(x, np.ndarray)
    return found


ROUTES: dict[str, Callable[[Callable[[Any], Any], Any], Any]] = {
    "vjp": lambda f, x: fg.vjp(f, x),
    "jvp": lambda f, x: fg.jvp(f, (x,), (x,)),
    "jet": lambda f, x: fg.jet(f, (x,), ([x],)),
    "linearize": lambda f, x: fg.linearize(f, x),
    "make_graph": lambda f, x: fg.make_graph(f)(x),
    "vjp of jvp": lambda f, x: fg.vjp(lambda x: fg.jvp(f, (x,), (x,))[1], x),
    "jit of vjp": lambda f, x: fg.jit(lambda x: fg.vjp(f, x)[0], engine="numpy")(x),
    "paths": lambda f, x: fg.jit(f, engine="numpy", paths=2)(x),
    "checkpoint": lambda f, x: fg.vjp(fg.checkpoint(f), x),
    **{engine: functools.partial(lambda engine, f, x: fg.jit(f, engine=engine)(x), engine) for engine in ENGINES},
}


# Integers have no derivative, and `jet` takes real series.
WITHOUT_DERIVATIVE = ("make_graph", "paths", *ENGINES)
PAIRS = [
    *[(kind, route) for kind in NUMBERS for route in ROUTES if not (route == "jet" and "complex" in kind)],
    *[(kind, route) for kind in INTEGERS for route in WITHOUT_DERIVATIVE],
]


@pytest.mark.parametrize(("kind", "route"), PAIRS)
def test_answers_are_those_of_the_plain_call(kind: str, route: str) -> None:
    x = {**NUMBERS, **INTEGERS}[kind]
    found: list[dict[str, bool]] = []

    def f(x: Any) -> Any:
        found.append(answers(x))
        return x

    ROUTES[route](f, x)
    assert found
    assert all(each == answers(x) for each in found)


@pytest.mark.parametrize("kind", NUMBERS)
def test_the_length_is_that_of_the_plain_call(kind: str) -> None:
    x, found = NUMBERS[kind], list[bool]()
    fg.vjp(lambda x: (found.append(hasattr(x, "__len__")), x)[1], x)
    assert found == [hasattr(x, "__len__")]


def test_elements_answer_too() -> None:
    def f(x: Any) -> Any:
        assert all(isinstance(y, np.float64) and np.isscalar(y) for y in (x[0], x.sum(), *x))
        assert not isinstance(x[0, ...], float)
        assert not np.isscalar(x)
        assert hasattr(x, "__len__")
        return np.sum(x)

    fg.grad(f)(np.ones(3))
    fg.jit(f, engine="numpy")(np.ones(3))
    fg.vmap(lambda x: f(x * np.ones(2)) if isinstance(x, np.float64) else None)(np.ones(3))


def test_a_program_that_asks_takes_the_same_branch() -> None:
    def f(x: Any) -> Any:
        return 3 * x if isinstance(x, float) else x

    for engine in ENGINES:
        compiled = fg.jit(f, engine=engine)
        # Numbers and arrays of one dtype do not share a program that asks.
        assert [float(compiled(x)) for x in (2.0, np.array(2.0), np.float64(2.0))] == [6.0, 2.0, 6.0]
    assert fg.value_and_grad(f)(2.0) == (6.0, 3.0)
    assert fg.value_and_grad(f)(np.float64(2.0)) == (6.0, 3.0)


def test_the_type_is_the_tracers() -> None:
    def f(x: Any) -> Any:
        assert type(x) is not float
        assert isinstance(x, fg.Tracer)
        assert fg.is_traced(x)
        assert isinstance(copy.copy(x), fg.Tracer)
        return x

    fg.grad(f)(2.0)


@pytest.mark.parametrize(
    ("f", "error"),
    [
        (math.sin, ConcretizationTypeError),
        (float, ConcretizationTypeError),
        (lambda x: complex(x, 1.0), ConcretizationTypeError),
        (lambda x: f"{x:.3f}" and "%.3f" % x, ConcretizationTypeError),  # noqa: UP031  (C code that asks for a float)
        (operator.index, TracerIntegerConversionError),
        (len, TypeError),
        (list, TypeError),
    ],
)
def test_code_in_c_does_not_drop_the_derivative(f: Callable[[Any], Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        fg.grad(f)(2.0)


def test_a_fraction_of_a_traced_number() -> None:
    assert fg.grad(lambda x: Fraction(1, 2) * x)(2.0) == 0.5


def test_a_number_is_matched() -> None:
    def f(x: Any) -> Any:
        match x:
            case float(y):
                return 3 * y
            case _:
                return x

    assert fg.value_and_grad(f)(2.0) == (6.0, 3.0)


def test_a_generic_function_takes_the_implementation_for_the_number() -> None:
    @functools.singledispatch
    def f(x: Any) -> Any:
        return x

    f.register(float, lambda x: 3 * x)
    f.register(fg.Tracer, lambda x: 5 * x)
    assert fg.grad(f)(2.0) == 3.0
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(f(x)))(np.ones(2)), [5.0, 5.0])
