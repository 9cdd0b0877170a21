"""The laws of derivatives: those of every primitive obey all of them, on both engines, by the rows in ``rows/``.

The laws of a row are tried in one test, which names each that fails. What follows from two others is not among them:
forward mode is held against differences, reverse mode against forward mode, and so with the second order.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterator
from typing import Any
from unittest import mock

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.bind import Tracer
from funcgrad._core.graph.ir import check_graph
from funcgrad._core.primitive import Primitive, primitives
from funcgrad._core.trace.derivative import PerOperand, Undefined
from funcgrad._ops.elementwise.transcendental import exp_p
from funcgrad.errors import NotDifferentiableError
from tests.laws._cases import (
    Arrays,
    Case,
    Function,
    assert_close,
    assert_types,
    cases,
    difference,
    pairing,
    rows_by_file,
    weight,
)
from tests.laws._point import Law, Point, Together, hold_together, reverse
from tests.laws._together import result, run_together
from tests.laws.rows._row import Row

FILES = rows_by_file()
ROWS = [row for rows in FILES.values() for row in rows]


def is_smooth(row: Row) -> bool:
    """Whether the laws of derivatives apply to a row."""
    return row.differentiable and not row.elsewhere and any(type(x) is tuple for x in row.operands)


SMOOTH_FILES = [file for file, rows in FILES.items() if any(map(is_smooth, rows))]
SMOOTH = [row for row in ROWS if is_smooth(row)]
CONSTANT = [row for row in ROWS if not row.differentiable]
DOUBLE = {"real": ("float64",), "imaginary": ("complex128",)}
SINGLE = {"real": ("float32",), "imaginary": ("complex64",)}

# A law that holds to rounding: of derivatives of the first order, and of the second, or of those of the two engines.
EXACT = 1e-11
ROUNDED = 1e-9


def by_row(rows: list[Row]) -> Any:
    """Parametrize over rows, with readable ids."""
    return pytest.mark.parametrize("row", rows, ids=[row.id for row in rows])


def forward_mode_is_the_derivative(at: Point) -> None:
    assert_types(at.y_dots, at.ys)
    assert_close(at.y_dots, difference(at.f, at.xs, at.x_dots), at.case.row.tolerance)


def assert_paired(pairs: tuple[Arrays, Arrays], others: tuple[Arrays, Arrays], tolerance: float) -> None:
    """Two pairings of cotangents with tangents are equal, within a tolerance of the larger."""
    error = abs(pairing(*pairs) - pairing(*others))
    assert error <= tolerance * max(weight(*pairs), weight(*others))


def reverse_mode_is_its_transpose(at: Point) -> None:
    assert_types(at.x_bars, at.xs)
    assert_paired((at.x_bars, at.x_dots), (at.y_bars, at.y_dots), EXACT)


def one_operand_at_a_time(at: Point) -> None:
    """The cotangent of an operand does not depend on which others are differentiated."""
    if len(at.xs) == 1:
        return
    y_dots = []
    for i, x in enumerate(at.xs):

        def alone(x: Any, i: int = i) -> Arrays:
            return at.f(*at.xs[:i], x, *at.xs[i + 1 :])

        assert_close(reverse(alone, [x], at.y_bars), [at.x_bars[i]], EXACT)
        y_dots.append(fg.jvp(alone, [x], [at.x_dots[i]])[1])
    sums = [sum(np.asarray(part) for part in parts) for parts in zip(*y_dots, strict=True)]
    assert_close(sums, at.y_dots, EXACT)


def second_order_is_the_derivative_of_the_first(at: Point) -> None:
    """Forward mode of the cotangent."""
    assert_types(at.x_bar_dots, at.xs)
    assert_close(at.x_bar_dots, difference(at.cotangents, at.xs, at.x_dots), at.case.row.tolerance)


def second_orders_are_each_others_transpose(at: Point) -> None:
    """Reverse mode of the cotangent and of the tangent, against forward mode of the cotangent."""
    pulled = reverse(at.cotangents, at.xs, at.x_bar_bars)
    assert_types(pulled, at.xs)
    assert_paired((pulled, at.x_dots), (at.x_bar_bars, at.x_bar_dots), ROUNDED)
    pulled = reverse(at.tangents, at.xs, at.y_bars)
    assert_types(pulled, at.xs)
    assert_paired((pulled, at.x_dots), (at.x_bar_dots, at.x_dots), ROUNDED)


def staged_cotangents_are_the_same(at: Point) -> None:
    got = check_graph(fg.make_graph(at.cotangents)(*at.xs))(*at.xs)
    assert_types([np.asarray(x_bar) for x_bar in got], at.xs)
    assert_close(got, at.x_bars, EXACT)


def writes_change_no_pullback(at: Point) -> None:
    """Every array that the function read or returned is overwritten before the pass."""
    for i, number in enumerate(at.case.drawn):
        operands = [x.copy() if isinstance(x, np.ndarray) else x for x in at.operands]
        f = at.case.function(operands)
        others = [operands[k] for k in at.case.drawn]

        def alone(x: Any, i: int = i, f: Function = f, others: Arrays = others) -> Arrays:
            return f(*others[:i], x, *others[i + 1 :])

        ys, pullback = fg.vjp(alone, operands[number])
        for x in (*operands, *ys):
            if isinstance(x, np.ndarray):
                x[...] = 0
        assert_close(list(pullback(at.y_bars)), [at.x_bars[i]], EXACT)


LAWS = [
    forward_mode_is_the_derivative,
    reverse_mode_is_its_transpose,
    one_operand_at_a_time,
    writes_change_no_pullback,
    second_order_is_the_derivative_of_the_first,
    second_orders_are_each_others_transpose,
    staged_cotangents_are_the_same,
]


def single_precision_stays(at: Point) -> None:
    assert_types(at.y_dots, at.y_bars)
    assert_types(at.x_bars, at.xs)
    assert_types(reverse(at.cotangents, at.xs, at.x_dots), at.xs)


def single_precision_stays_on_xla(at: Point) -> None:
    """In 64-bit mode a float64 that slips in shows; shapes and dtypes alone are computed."""

    def derivatives(xs: Arrays, x_dots: Arrays, y_bars: Arrays) -> tuple:
        def cotangents(*xs: Any) -> Arrays:
            return reverse(at.f, list(xs), y_bars)

        seconds = reverse(cotangents, xs, x_dots)
        x_bars, x_bar_dots = fg.jvp(cotangents, xs, x_dots)
        return fg.jvp(at.f, xs, x_dots)[1], x_bars, seconds, x_bar_dots

    with jax.enable_x64(True):
        got = jax.eval_shape(derivatives, at.xs, at.x_dots, at.y_bars)
    for types, expected in zip(got, (at.y_bars, at.xs, at.xs, at.xs), strict=True):
        assert_types(types, expected)


SINGLE_LAWS = [single_precision_stays, single_precision_stays_on_xla]


@by_row(SMOOTH)
def test_derivatives(row: Row) -> None:
    hold_together(list(cases([row], **DOUBLE)), LAWS)


@pytest.mark.long
@by_row(SMOOTH)
def test_single_precision(row: Row) -> None:
    hold_together(list(cases([row], **SINGLE)), SINGLE_LAWS)


def all_derivatives(at: Point, operands: Arrays, x_dots: Arrays, y_bars: Arrays) -> list[Arrays]:
    """Ours in both modes and of the second order, and JAX's of the XLA implementation.

    JAX's reverse mode is its forward mode, taken apart and transposed.
    """
    f, xs = at.case.function(operands), [operands[i] for i in at.case.drawn]

    def cotangents(*xs: Any) -> Arrays:
        return reverse(f, list(xs), y_bars)

    x_bars, x_bar_dots = jax.jvp(cotangents, tuple(xs), tuple(x_dots))
    return [list(x_bars), list(fg.jvp(f, xs, x_dots)[1]), list(x_bar_dots), list(jax.vjp(f, *xs)[1](y_bars))]


def derivatives_of_arrays(at: Point) -> tuple[Function, Arrays]:
    """Return a function that computes all derivatives, and the arrays and directions that it takes."""
    _, arrays = at.case.function_of_arrays(at.operands)
    ends = len(arrays), len(arrays) + len(at.x_dots)

    def run(*given: Any) -> Arrays:
        whole = at.case.with_arrays(at.operands, given[: ends[0]])
        found = all_derivatives(at, whole, list(given[ends[0] : ends[1]]), list(given[ends[1] :]))
        return [x for values in found for x in values]

    return run, [*arrays, *at.x_dots, *at.y_bars]


@pytest.mark.long
@pytest.mark.parametrize("file", SMOOTH_FILES)
def test_derivatives_under_jax(file: str) -> None:
    """Check the rows of a file in one program."""
    rows = [row for row in FILES[file] if is_smooth(row) and not row.beyond_jax]
    points = [Point(case) for case in cases(rows, **DOUBLE)]
    found = run_together({at.case.id: derivatives_of_arrays(at) for at in points})
    together = Together()
    for at in points:
        with together.named(at.case.id):
            got = iter(result(found, at.case.id))
            for values in (at.x_bars, at.y_dots, at.x_bar_dots, at.x_bars):
                some = list(itertools.islice(got, len(values)))
                assert_types(some, [np.asarray(value) for value in values])
                assert_close(some, values, ROUNDED)
            assert next(got, None) is None
    together.settle()


def _one_of_each(rows: list[Row]) -> Iterator[Point]:
    for case in cases(list({row.primitive.name: row for row in reversed(rows) if is_smooth(row)}.values()), **DOUBLE):
        yield Point(case)


def _cotangents_of_arrays(at: Point) -> tuple[Function, Arrays]:
    count = len(at.xs)
    return lambda *given: reverse(at.f, list(given[:count]), list(given[count:])), [*at.xs, *at.y_bars]


@pytest.mark.long
@pytest.mark.parametrize("file", SMOOTH_FILES)
def test_cotangents_on_xla_arrays(file: str) -> None:
    """Without a jit around, outside JAX's 64-bit mode: one row of each primitive.

    One program runs each operation as it runs at once; those of the first primitive of the file do run so.
    """
    points = list(_one_of_each(FILES[file]))
    found = run_together({at.case.id: _cotangents_of_arrays(at) for at in points}, at_once=True)
    function, arrays = _cotangents_of_arrays(points[-1])
    with jax.enable_x64(True):
        arrays = [jax.numpy.asarray(x) for x in arrays]
    together = Together()
    for at, run in [
        *[(at, functools.partial(result, found, at.case.id)) for at in points],
        (points[-1], functools.partial(function, *arrays)),
    ]:
        with together.named(at.case.id):
            x_bars = run()
            assert_types(x_bars, at.xs)
            assert_close(x_bars, at.x_bars, ROUNDED)
    together.settle()


@pytest.mark.filterwarnings("ignore::funcgrad.errors.HiddenDependenceWarning")
@by_row(CONSTANT)
def test_results_without_derivative_are_plain(row: Row) -> None:
    for case in cases([row], **DOUBLE):
        operands = case.operands(np.random.default_rng(0))
        xs = [operands[i] for i in case.drawn]
        traced = []

        def f(*xs: Any, case: Case = case, operands: Arrays = operands) -> Any:
            whole = list(operands)
            for i, x in zip(case.drawn, xs, strict=True):
                whole[i] = x
            traced.extend(isinstance(y, Tracer) for y in case.run(whole))  # noqa: B023  (run in this round)
            return []

        if isinstance(row.primitive.derivative, Undefined):
            with pytest.raises(NotDifferentiableError, match=r"\w+"):
                fg.vjp(f, *xs)
            continue
        fg.vjp(f, *xs)
        fg.jvp(f, xs, xs)
        assert not any(traced), case.id


def right(t: Any, y: Any) -> Any:
    return t * y


def a_little_large(t: Any, y: Any) -> Any:
    return t * y * 1.0005


def constant(t: Any, y: Any) -> Any:
    return t * fg.stop_gradient(y)


def wide(t: Any, y: Any) -> Any:
    return t * y * np.float64(1)


# The derivative of exp with a fault in it: its reverse and forward rules, and the laws that notice it.
FAULTS: dict[str, tuple[Any, Any, set[Law]]] = {
    "none": (right, right, set()),
    "in both modes": (
        a_little_large,
        a_little_large,
        {forward_mode_is_the_derivative, second_order_is_the_derivative_of_the_first},
    ),
    "in reverse mode": (a_little_large, right, {reverse_mode_is_its_transpose}),
    "in forward mode": (right, a_little_large, {forward_mode_is_the_derivative, reverse_mode_is_its_transpose}),
    "in the derivative of reverse mode": (constant, right, {second_order_is_the_derivative_of_the_first}),
    "in the derivative of forward mode": (right, constant, {second_orders_are_each_others_transpose}),
    "in the dtype of forward mode": (right, wide, {single_precision_stays, single_precision_stays_on_xla}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_noticed(fault: str) -> None:
    """A law that never objects would be worthless: those that are left notice a fault of 0.05 % in every rule."""
    pull, push, noticed = FAULTS[fault]
    rules = {
        name: getattr(exp_p, name) for name in ("operands", "numpy", "xla", "aval", "batch", "cost", "elementwise")
    }
    derivative = PerOperand(exp_p.operands, [pull], [push])
    with mock.patch.dict(primitives):
        planted = Primitive("planted", derivative=derivative, **rules)
    found = list(cases([Row(planted, ((3,),))], **DOUBLE)), list(cases([Row(planted, ((3,),))], **SINGLE))
    failed = set()
    for some, laws in zip(found, (LAWS, SINGLE_LAWS), strict=True):
        try:
            hold_together(some, laws)
        except ExceptionGroup as group:
            failed |= {str(error.__notes__[-1]) for error in group.exceptions}
    of_laws = {f"planted-{'float32' if law in SINGLE_LAWS else 'float64'}: {law.__name__}" for law in noticed}
    assert of_laws <= failed
    assert bool(failed) == bool(noticed)
