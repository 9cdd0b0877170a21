"""The Numba engine: what it compiles, what it leaves to NumPy, and that nobody can tell from the numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from tests.laws._cases import Case, all_rows, assert_close, assert_types, cases

pytest.importorskip("numba")

# The first row of each primitive: to compile takes its time.
CASES = list({case.row.primitive.name: case for case in reversed(list(cases(all_rows(), real=("float64",))))}.values())
# Kernels add in NumPy's order; over blocks of rows they do not.
EXACT = 1e-11
GROUPS = 4


def together(group: list[Case], rng: np.random.Generator) -> tuple[Any, list[Any]]:
    """One program for many primitives, on operands that it made itself: as compiled by the kernel."""
    functions = [case.function_of_arrays(case.operands(rng)) for case in group]

    def program(*given: Any) -> Any:
        made = [[x + 0 if x.dtype.kind in "fc" else x for x in xs] for xs in given]
        return [[y + y for y in fg.tree.leaves(f(*xs))] for (f, _), xs in zip(functions, made, strict=True)]

    return program, [arrays for _, arrays in functions]


@pytest.mark.parametrize("k", range(GROUPS))
def test_every_primitive(k: int, rng: np.random.Generator) -> None:
    program, arrays = together(CASES[k::GROUPS], rng)
    results = fg.tree.leaves(fg.jit(program, engine="numba")(*arrays))
    wanted = fg.tree.leaves(fg.jit(program, engine="numpy")(*arrays))
    assert_types([np.asarray(y) for y in results], [np.asarray(y) for y in wanted])
    assert_close([np.asarray(y) for y in results], [np.asarray(y) for y in wanted], EXACT)
