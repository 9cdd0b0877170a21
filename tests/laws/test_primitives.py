"""The laws of what primitives compute: every primitive obeys all of them, by having a row in ``rows/``.

The laws of a row are tried in one test, which names each that fails.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.aval import aval_of
from funcgrad._core.graph.ir import check_graph
from tests.laws._cases import Arrays, Case, assert_close, assert_types, cases, rows_by_file
from tests.laws._point import Together
from tests.laws._together import result, run_together
from tests.laws.rows._row import Row

FILES = rows_by_file()
ROWS = [row for rows in FILES.values() for row in rows]
DOUBLE = {"real": ("float64",), "imaginary": ("complex128",)}

# A law that holds to rounding on NumPy, and between the engines (whose elementary functions round differently).
EXACT = 1e-11
ENGINES = 1e-9

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


def one_call(case: Case) -> None:
    """The aval is the result's, the cost is a number of operations, and the operands are left alone."""
    operands = case.operands(np.random.default_rng(0))
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


def staged(case: Case) -> None:
    operands = case.operands(np.random.default_rng(0))
    expected = [np.asarray(y) for y in case.run(operands)]
    f, arrays = case.function_of_arrays(operands)
    graph = check_graph(fg.make_graph(f)(*arrays))
    got = [np.asarray(y) for y in graph(*arrays)]
    assert_types(got, expected)
    assert_close(got, expected, EXACT)
    with jax.enable_x64(True):
        assert_types(jax.eval_shape(graph, *arrays), expected)


def engines_agree_on_types(case: Case) -> None:
    operands = case.operands(np.random.default_rng(0))
    f, arrays = case.function_of_arrays(operands)
    with jax.enable_x64(True):
        assert_types(jax.eval_shape(f, *arrays), [np.asarray(y) for y in case.run(operands)])


@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
def test_values(row: Row) -> None:
    single = list(cases([row], real=("float32",), imaginary=("complex64",)))
    double = list(cases([row], **DOUBLE))
    together = Together()
    for law, found in ((one_call, [*single, *double]), (staged, double), (engines_agree_on_types, single)):
        for case in found:
            with together.named(f"{case.id}: {law.__name__}"):
                law(case)
    together.settle()


@pytest.mark.parametrize("file", [file for file, rows in FILES.items() if not all(row.reads_values for row in rows)])
def test_engines_agree(file: str) -> None:
    """The rows of a file, by one program that runs each operation as it runs at once."""
    found = list(cases([row for row in FILES[file] if not row.reads_values], **DOUBLE))
    operands = {case.id: case.operands(np.random.default_rng(0)) for case in found}
    results = run_together({case.id: case.function_of_arrays(operands[case.id]) for case in found}, at_once=True)
    together = Together()
    for case in found:
        with together.named(case.id):
            expected = [np.asarray(y) for y in case.run(operands[case.id])]
            got = result(results, case.id)
            assert_types(got, expected)
            assert_close(got, expected, ENGINES)
    together.settle()


def _not_at_once() -> list[Case]:
    """The rows that look at values where they run, and one of each primitive that has no derivative."""
    smooth = {row.primitive.name for row in ROWS if row.differentiable and not row.elsewhere}
    others = {row.primitive.name: row for row in reversed(ROWS) if row.primitive.name not in smooth}
    return list(cases([*[row for row in ROWS if row.reads_values], *others.values()], **DOUBLE))


@pytest.mark.parametrize("case", _not_at_once(), ids=[case.id for case in _not_at_once()])
def test_engines_agree_operation_by_operation(case: Case) -> None:
    """Rows with derivatives are tried with their cotangents."""
    operands = case.operands(np.random.default_rng(0))
    expected = [np.asarray(y) for y in case.run(operands)]
    with jax.enable_x64(True):
        arrays = [jax.numpy.asarray(x) if isinstance(x, np.ndarray) else x for x in operands]
    got = case.run(arrays)
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
