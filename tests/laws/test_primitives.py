"""The laws of primitives: every primitive obeys all of them, on both engines, by having a row in ``rows/``."""

from __future__ import annotations

import functools
import itertools
import subprocess
import sys
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.aval import aval_of
from funcgrad._core.bind import Tracer
from funcgrad._core.graph.ir import check_graph
from funcgrad._core.trace.derivative import Undefined
from funcgrad.errors import NotDifferentiableError
from tests.laws._cases import (
    Arrays,
    Case,
    Function,
    assert_close,
    assert_types,
    cases,
    difference,
    like,
    pairing,
    rows_by_file,
    weight,
)
from tests.laws._together import result, run_together

FILES = rows_by_file()
FILE_OF = {row.id: file for file, rows in FILES.items() for row in rows}
ROWS = [row for rows in FILES.values() for row in rows]
SMOOTH = [
    row for row in ROWS if row.differentiable and not row.elsewhere and any(type(x) is tuple for x in row.operands)
]
CONSTANT = [row for row in ROWS if not row.differentiable]

# A law that holds to rounding on NumPy, and between the engines (whose elementary functions round differently).
EXACT = 1e-11
ENGINES = 1e-9


def by_case(rows: list, *, real: tuple[str, ...] = ("float64",), imaginary: tuple[str, ...] = ("complex128",)) -> Any:
    """Parametrize over rows and dtypes, with readable ids."""
    found = list(cases(rows, real=real, imaginary=imaginary))
    return pytest.mark.parametrize("case", found, ids=[case.id for case in found])


every_dtype = {"real": ("float32", "float64"), "imaginary": ("complex64", "complex128")}
single = {"real": ("float32",), "imaginary": ("complex64",)}

PRIMITIVES_OF_THE_PACKAGE = """
import importlib, pkgutil, funcgrad
for module in pkgutil.walk_packages(funcgrad.__path__, "funcgrad."):
    importlib.import_module(module.name)
from funcgrad._core.primitive import primitives
print(*primitives)
"""


def test_every_primitive_has_a_row() -> None:
    # In a process of its own: tests elsewhere declare primitives too.
    run = subprocess.run([sys.executable, "-c", PRIMITIVES_OF_THE_PACKAGE], capture_output=True, text=True, check=True)
    assert set(run.stdout.split()) - {row.primitive.name for row in ROWS} == set()


def test_row_ids_differ() -> None:
    ids = [row.id for row in ROWS]
    assert sorted({name for name in ids if ids.count(name) > 1}) == []


@by_case(ROWS, **every_dtype)
def test_one_call(case: Case, rng: np.random.Generator) -> None:
    """The aval is the result's, the cost is a number of operations, and the operands are left alone."""
    operands = case.operands(rng)
    before = [np.array(x) for x in operands]
    results = case.run(operands)
    assert [np.asarray(x).tobytes() for x in operands] == [x.tobytes() for x in before]
    given = [aval_of(x) for x in operands]
    avals = case.row.primitive.aval(*given, **case.row.params)
    avals = list(avals) if case.row.primitive.multiple_results else [avals]
    assert [str(aval) for aval in avals] == [str(aval_of(y)) for y in results]
    cost = case.row.primitive.cost(avals[0], *given, **case.row.params)
    assert isinstance(cost, int)
    assert cost >= 0


def evaluate_on_xla(case: Case, operands: Arrays) -> Arrays:
    """Run each operation at once on ``jax.Array`` s."""
    with jax.enable_x64(True):
        arrays = [jax.numpy.asarray(x) if isinstance(x, np.ndarray) else x for x in operands]
    return case.run(arrays)


@functools.cache
def results_on_xla(file: str) -> dict[str, Any]:
    """The results of the cases of a file, by one program."""
    found = cases(FILES[file], real=("float64",), imaginary=("complex128",))
    rng = np.random.default_rng
    return run_together({case.id: case.function_of_arrays(case.operands(rng(0))) for case in found}, at_once=True)


@by_case([row for row in ROWS if not row.reads_values])
def test_engines_agree(case: Case, rng: np.random.Generator) -> None:
    expected = [np.asarray(y) for y in case.run(case.operands(rng))]
    got = result(results_on_xla(FILE_OF[case.row.id]), case.id)
    assert_types(got, expected)
    assert_close(got, expected, ENGINES)


WITH_COTANGENTS = {row.primitive.name for row in SMOOTH}


@by_case(
    [
        *[row for row in ROWS if row.reads_values],
        *{row.primitive.name: row for row in reversed(ROWS) if row.primitive.name not in WITH_COTANGENTS}.values(),
    ]
)
def test_engines_agree_operation_by_operation(case: Case, rng: np.random.Generator) -> None:
    """One row of each primitive; those with derivatives are below, with their cotangents."""
    operands = case.operands(rng)
    expected = [np.asarray(y) for y in case.run(operands)]
    got = evaluate_on_xla(case, operands)
    assert_types(got, expected)
    assert_close(got, expected, ENGINES)


@pytest.mark.filterwarnings("ignore:Explicitly requested dtype float64")
def test_what_needs_jaxs_64_bit_mode_is_noticed(rng: np.random.Generator) -> None:
    """A program of all rows shows what running at once shows: an operation that is not ours is cut to 32 bits."""
    x = rng.normal(size=3)

    def wrong(x: Any) -> Arrays:
        return [fg.numpy.exp(x), x / 3.0, x * jax.numpy.asarray(1 / 3)]

    with jax.enable_x64(True):
        array = jax.numpy.asarray(x)
    expected = wrong(array)
    assert [y.dtype for y in expected] == [np.float64, np.float32, np.float32]
    got = result(run_together({"wrong": (wrong, [x])}, at_once=True), "wrong")
    assert_types(got, expected)
    assert_close(got, expected, 1e-15)


@by_case(ROWS, **single)
def test_engines_agree_on_types(case: Case, rng: np.random.Generator) -> None:
    operands = case.operands(rng)
    f, arrays = case.function_of_arrays(operands)
    with jax.enable_x64(True):
        assert_types(jax.eval_shape(f, *arrays), [np.asarray(y) for y in case.run(operands)])


@by_case(ROWS)
def test_staged(case: Case, rng: np.random.Generator) -> None:
    operands = case.operands(rng)
    expected = [np.asarray(y) for y in case.run(operands)]
    f, arrays = case.function_of_arrays(operands)
    graph = check_graph(fg.make_graph(f)(*arrays))
    got = [np.asarray(y) for y in graph(*arrays)]
    assert_types(got, expected)
    assert_close(got, expected, EXACT)
    with jax.enable_x64(True):
        assert_types(jax.eval_shape(graph, *arrays), expected)


def reverse(f: Function, xs: Arrays, y_bars: Arrays) -> Arrays:
    """The cotangents of ``xs``."""
    return list(fg.vjp(f, *xs)[1](y_bars))


@by_case(SMOOTH)
def test_reverse_mode_against_differences(case: Case, rng: np.random.Generator) -> None:
    operands = case.operands(rng)
    f, xs = case.function(operands), [operands[i] for i in case.drawn]
    y_bars = like(rng, f(*xs))
    x_bars = reverse(f, xs, y_bars)
    assert_types(x_bars, xs)
    for _ in range(3):
        x_dots = like(rng, xs)
        y_dots = difference(f, xs, x_dots)
        error = abs(pairing(x_bars, x_dots) - pairing(y_bars, y_dots))
        assert error <= case.row.tolerance * weight(y_bars, y_dots)


@by_case(SMOOTH)
def test_forward_mode_against_differences(case: Case, rng: np.random.Generator) -> None:
    operands = case.operands(rng)
    f, xs = case.function(operands), [operands[i] for i in case.drawn]
    x_dots = like(rng, xs)
    _, y_dots = fg.jvp(f, xs, x_dots)
    assert_types(y_dots, f(*xs))
    assert_close(y_dots, difference(f, xs, x_dots), case.row.tolerance)


@by_case(SMOOTH)
def test_modes_are_each_others_transpose(case: Case, rng: np.random.Generator) -> None:
    operands = case.operands(rng)
    f, xs = case.function(operands), [operands[i] for i in case.drawn]
    x_dots, y_bars = like(rng, xs), like(rng, f(*xs))
    _, y_dots = fg.jvp(f, xs, x_dots)
    x_bars = reverse(f, xs, y_bars)
    error = abs(pairing(x_bars, x_dots) - pairing(y_bars, y_dots))
    assert error <= EXACT * max(weight(y_bars, y_dots), weight(x_bars, x_dots))


@by_case(SMOOTH)
def test_one_operand_at_a_time(case: Case, rng: np.random.Generator) -> None:
    """The cotangent of an operand does not depend on which others are differentiated."""
    operands = case.operands(rng)
    f, xs = case.function(operands), [operands[i] for i in case.drawn]
    y_bars, x_dots = like(rng, f(*xs)), like(rng, xs)
    together = reverse(f, xs, y_bars)
    y_dots = []
    for i, x in enumerate(xs):

        def alone(x: Any, i: int = i) -> Arrays:
            return f(*xs[:i], x, *xs[i + 1 :])

        assert_close(reverse(alone, [x], y_bars), [together[i]], EXACT)
        y_dots.append(fg.jvp(alone, [x], [x_dots[i]])[1])
    sums = [sum(np.asarray(part) for part in parts) for parts in zip(*y_dots, strict=True)]
    assert_close(sums, fg.jvp(f, xs, x_dots)[1], EXACT)


@by_case(SMOOTH)
def test_second_order(case: Case, rng: np.random.Generator) -> None:
    """Forward and reverse mode of the cotangent, and reverse mode of the tangent, against differences."""
    operands = case.operands(rng)
    f, xs = case.function(operands), [operands[i] for i in case.drawn]
    y_bars, x_dots, x_bar_bars = like(rng, f(*xs)), like(rng, xs), like(rng, xs)

    def cotangents(*xs: Any) -> Arrays:
        return reverse(f, list(xs), y_bars)

    changes = difference(cotangents, xs, x_dots)
    _, pushed = fg.jvp(cotangents, xs, x_dots)
    assert_close(pushed, changes, case.row.tolerance)
    assert_types(pushed, xs)
    pulled = reverse(cotangents, xs, x_bar_bars)
    assert_types(pulled, xs)
    error = abs(pairing(pulled, x_dots) - pairing(x_bar_bars, changes))
    assert error <= case.row.tolerance * weight(x_bar_bars, changes)

    def tangents(*xs: Any) -> Arrays:
        return list(fg.jvp(f, xs, x_dots)[1])

    changes = difference(tangents, xs, x_dots)
    pulled = reverse(tangents, xs, y_bars)
    error = abs(pairing(pulled, x_dots) - pairing(y_bars, changes))
    assert error <= case.row.tolerance * weight(y_bars, changes)


@by_case(SMOOTH, **single)
def test_single_precision_stays(case: Case, rng: np.random.Generator) -> None:
    operands = case.operands(rng)
    f, xs = case.function(operands), [operands[i] for i in case.drawn]
    y_bars, x_dots = like(rng, f(*xs)), like(rng, xs)
    assert_types(fg.jvp(f, xs, x_dots)[1], y_bars)
    assert_types(reverse(f, xs, y_bars), xs)
    assert_types(reverse(lambda *xs: reverse(f, list(xs), y_bars), xs, x_dots), xs)


@by_case(SMOOTH)
def test_staged_cotangents(case: Case, rng: np.random.Generator) -> None:
    operands = case.operands(rng)
    f, xs = case.function(operands), [operands[i] for i in case.drawn]
    y_bars = like(rng, f(*xs))

    def cotangents(*xs: Any) -> Arrays:
        return reverse(f, list(xs), y_bars)

    got = check_graph(fg.make_graph(cotangents)(*xs))(*xs)
    assert_types([np.asarray(x_bar) for x_bar in got], xs)
    assert_close(got, cotangents(*xs), EXACT)


def all_derivatives(case: Case, operands: Arrays, x_dots: Arrays, y_bars: Arrays) -> dict[str, Arrays]:
    """Ours in both modes, JAX's of the XLA implementation, and JAX's of ours."""
    f, xs = case.function(operands), [operands[i] for i in case.drawn]

    def cotangents(*xs: Any) -> Arrays:
        return reverse(f, list(xs), y_bars)

    second = jax.jvp(cotangents, tuple(xs), tuple(x_dots))
    return {
        "reverse": list(second[0]),
        "forward": list(fg.jvp(f, xs, x_dots)[1]),
        "second": list(second[1]),
        "jax reverse": list(jax.vjp(f, *xs)[1](y_bars)),
        "jax forward": list(jax.jvp(f, tuple(xs), tuple(x_dots))[1]),
    }


def point_and_directions(case: Case) -> tuple[Arrays, Arrays, Arrays]:
    """The operands, and directions of those that are drawn and of the results."""
    rng = np.random.default_rng(0)
    operands = case.operands(rng)
    xs = [operands[i] for i in case.drawn]
    return operands, like(rng, xs), like(rng, case.function(operands)(*xs))


def derivatives_of_arrays(case: Case) -> tuple[Function, Arrays]:
    """All derivatives, one after the other, as a function of the arrays and directions; and those."""
    operands, x_dots, y_bars = point_and_directions(case)
    _, arrays = case.function_of_arrays(operands)
    ends = len(arrays), len(arrays) + len(x_dots)

    def run(*given: Any) -> Arrays:
        whole = case.with_arrays(operands, given[: ends[0]])
        found = all_derivatives(case, whole, list(given[ends[0] : ends[1]]), list(given[ends[1] :]))
        return [x for values in found.values() for x in values]

    return run, [*arrays, *x_dots, *y_bars]


@functools.cache
def derivatives_on_xla(file: str) -> dict[str, Any]:
    """The derivatives of the cases of a file, by one program."""
    rows = [row for row in SMOOTH if FILE_OF[row.id] == file]
    found = cases(rows, real=("float64",), imaginary=("complex128",))
    return run_together({case.id: derivatives_of_arrays(case) for case in found})


@by_case(SMOOTH)
def test_derivatives_under_jax(case: Case) -> None:
    operands, x_dots, y_bars = point_and_directions(case)
    f, xs = case.function(operands), [operands[i] for i in case.drawn]
    x_bars, y_dots = reverse(f, xs, y_bars), list(fg.jvp(f, xs, x_dots)[1])
    _, seconds = fg.jvp(lambda *xs: reverse(f, list(xs), y_bars), xs, x_dots)
    expected = {"reverse": x_bars, "forward": y_dots, "second": seconds}
    expected |= {"jax reverse": x_bars, "jax forward": y_dots}
    got = iter(result(derivatives_on_xla(FILE_OF[case.row.id]), case.id))
    for values in expected.values():
        some = list(itertools.islice(got, len(values)))
        assert_types(some, [np.asarray(value) for value in values])
        assert_close(some, values, ENGINES)
    assert next(got, None) is None


@by_case(SMOOTH, **single)
def test_single_precision_stays_on_xla(case: Case, rng: np.random.Generator) -> None:
    """In 64-bit mode a float64 that slips in shows; shapes and dtypes alone are computed."""
    operands = case.operands(rng)
    f, xs = case.function(operands), [operands[i] for i in case.drawn]
    x_dots, y_bars = like(rng, xs), like(rng, f(*xs))

    def derivatives(xs: Arrays, x_dots: Arrays, y_bars: Arrays) -> tuple:
        def cotangents(*xs: Any) -> Arrays:
            return reverse(f, list(xs), y_bars)

        seconds = reverse(cotangents, xs, x_dots)
        return fg.jvp(f, xs, x_dots)[1], cotangents(*xs), seconds, fg.jvp(cotangents, xs, x_dots)[1]

    with jax.enable_x64(True):
        got = jax.eval_shape(derivatives, xs, x_dots, y_bars)
    for types, expected in zip(got, (y_bars, xs, xs, xs), strict=True):
        assert_types(types, expected)


@by_case(list({row.primitive.name: row for row in reversed(SMOOTH)}.values()))
def test_cotangents_on_xla_arrays(case: Case, rng: np.random.Generator) -> None:
    """Without a jit around: every operation runs at once on ``jax.Array`` s, outside JAX's 64-bit mode."""
    operands = case.operands(rng)
    f, xs = case.function(operands), [operands[i] for i in case.drawn]
    y_bars = like(rng, f(*xs))
    with jax.enable_x64(True):
        arrays = [jax.numpy.asarray(x) for x in xs]
        bars = [jax.numpy.asarray(y_bar) for y_bar in y_bars]
    x_bars = reverse(f, arrays, bars)
    assert_types(x_bars, xs)
    assert_close(x_bars, reverse(f, xs, y_bars), ENGINES)


@by_case(CONSTANT)
def test_results_without_derivative_are_plain(case: Case, rng: np.random.Generator) -> None:
    operands = case.operands(rng)
    xs = [operands[i] for i in case.drawn]
    traced = []

    def f(*xs: Any) -> Any:
        whole = list(operands)
        for i, x in zip(case.drawn, xs, strict=True):
            whole[i] = x
        traced.extend(isinstance(y, Tracer) for y in case.run(whole))
        return []

    if isinstance(case.row.primitive.derivative, Undefined):
        with pytest.raises(NotDifferentiableError, match=r"\w+"):
            fg.vjp(f, *xs)
        return
    fg.vjp(f, *xs)
    fg.jvp(f, xs, xs)
    assert not any(traced)
