"""The law of batching: a primitive under ``vmap`` equals the loop over its batch, whichever operands are batched."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from tests.laws._cases import Arrays, Case, Function, cases, rows_by_file
from tests.laws._point import Together
from tests.laws._together import result, run_together
from tests.laws.rows._row import Row

SIZE = 3
FILES = rows_by_file()
ROWS = [row for rows in FILES.values() for row in rows]


def _batches(case: Case, rng: np.random.Generator) -> list[Arrays]:
    """The operands of each element of the batch; what the row gives is the same for all, indices roll."""
    return [case.operands(rng) for _ in range(SIZE)]


def _masks(operands: Arrays) -> list[tuple[bool, ...]]:
    """Which operands to batch: all, and each alone."""
    arrays = [i for i, x in enumerate(operands) if isinstance(x, np.ndarray)]
    whole = tuple(i in arrays for i in range(len(operands)))
    alone = [tuple(i == j for i in range(len(operands))) for j in arrays]
    return list(dict.fromkeys([whole, *alone]))


@pytest.mark.parametrize("row", ROWS, ids=[row.id for row in ROWS])
def test_batching_equals_a_loop(row: Row) -> None:
    together = Together()
    for case in cases([row], real=("float64",), imaginary=("complex128",)):
        with together.named(case.id):
            _check_against_a_loop(case, np.random.default_rng(0))
    together.settle()


def _check_against_a_loop(case: Case, rng: np.random.Generator) -> None:
    elements = _batches(case, rng)
    for mask in _masks(elements[0]):
        mixed = [
            [x if flag else shared for x, flag, shared in zip(operands, mask, elements[0], strict=True)]
            for operands in elements
        ]
        wanted = [np.stack(ys) for ys in zip(*[case.run(operands) for operands in mixed], strict=True)]
        stacked = [np.stack(xs) if flag else xs[0] for xs, flag in zip(zip(*mixed, strict=True), mask, strict=True)]
        in_axes = tuple(0 if flag else None for flag in mask)
        for got, want in zip(_mapped(case, in_axes, stacked), wanted, strict=True):
            assert got.shape == want.shape
            assert got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)


def _all_mapped(case: Case, rng: np.random.Generator) -> tuple[Function, Arrays]:
    """The primitive mapped over all its arrays, as a function of them; and the arrays."""
    elements = _batches(case, rng)
    flags = _masks(elements[0])[0]
    whole = [np.stack(xs) if flag else xs[0] for xs, flag in zip(zip(*elements, strict=True), flags, strict=True)]

    def run(*arrays: Any) -> Arrays:
        rest = iter(arrays)
        given = [next(rest) if flag else x for x, flag in zip(whole, flags, strict=True)]
        return _mapped(case, tuple(0 if flag else None for flag in flags), given)

    return run, [x for x, flag in zip(whole, flags, strict=True) if flag]


@pytest.mark.long
@pytest.mark.parametrize("file", FILES)
def test_batching_on_xla_is_numpys(file: str) -> None:
    """The rows of a file on arrays of the other engine, outside JAX's 64-bit mode, which rules must not need."""
    found = cases(FILES[file], real=("float64",), imaginary=("complex128",))
    calls = {case.id: _all_mapped(case, np.random.default_rng(0)) for case in found if case.dtype != np.complex128}
    results = run_together(calls, at_once=True)
    together = Together()
    for name, (run, arrays) in calls.items():
        with together.named(name):
            for got, want in zip(result(results, name), run(*arrays), strict=True):
                assert got.shape == want.shape
                assert got.dtype == want.dtype
                np.testing.assert_allclose(got, want, rtol=1e-11, atol=1e-11)
    together.settle()


def _mapped(case: Case, in_axes: tuple[int | None, ...], operands: Arrays) -> Arrays:
    """The primitive mapped over the operands that have an axis."""
    dynamic = [i for i, axis in enumerate(in_axes) if axis is not None]

    def run(*xs: object) -> Arrays:
        whole = list(operands)
        for i, x in zip(dynamic, xs, strict=True):
            whole[i] = x
        return case.run(whole)

    return fg.vmap(run)(*[operands[i] for i in dynamic])


EVERY_AXIS = list(itertools.product((0, 1, -1), (0, 1, -1)))


@pytest.mark.parametrize(("in_axis", "out_axis"), EVERY_AXIS)
def test_axes_are_where_jax_puts_them(in_axis: int, out_axis: int, rng: np.random.Generator) -> None:
    x = rng.normal(size=(3, 4, 5)).astype(np.float32)
    ours = fg.vmap(lambda a: np.sum(a * a, axis=0), in_axes=in_axis, out_axes=out_axis)(x)
    theirs = jax.vmap(lambda a: (a * a).sum(axis=0), in_axes=in_axis, out_axes=out_axis)(x)
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
