"""Every primitive in written code: what its line says of memory is true, so that nothing is written over too early."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core import threads
from funcgrad._engines.source import blocks, clusters
from tests.laws._cases import Case, all_rows, assert_close, assert_types, cases

CASES = list(cases(all_rows(), real=("float64",), imaginary=("complex128",)))
EXACT = 1e-11


def program_of(case: Case, operands: list[Any]) -> tuple[Any, list[Any]]:
    """A program whose results would be wrong if a result lay in an operand's memory and its line did not say so.

    The operands are the program's own, what is made of the results may be put in their memory, and the operands are
    read once more after that.
    """
    f, arrays = case.function_of_arrays(operands)

    def program(*xs: Any) -> Any:
        own = [np.maximum(x, x) if x.dtype.kind in "fc" else x for x in xs]
        ys = f(*own)
        twice = [y + y for y in ys]
        return twice, [-x if x.dtype.kind in "fc" else ~x for x in own], ys[0]

    return program, arrays


@pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])
def test_nothing_is_written_over(case: Case, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clusters, "_LARGE_BYTES", 1)
    monkeypatch.setattr(blocks, "BLOCK", 2)
    monkeypatch.setattr(threads, "workers", lambda: 1)
    program, arrays = program_of(case, case.operands(rng))
    wanted = [np.asarray(y) for y in fg.tree.leaves(program(*arrays))]
    given = [[x.copy() for x in arrays] for _ in range(2)]
    positions = tuple(range(len(arrays)))
    for jitted, xs in (
        (fg.jit(program, engine="numpy"), arrays),
        (fg.jit(program, engine="numpy"), given[0]),
        (fg.jit(program, engine="numpy", donate_argnums=positions), given[1]),
    ):
        results = fg.tree.leaves(jitted(*xs))
        assert_types([np.asarray(y) for y in results], wanted)
        assert_close([np.asarray(y) for y in results], wanted, EXACT)
        for i, y in enumerate(results):
            assert not any(np.shares_memory(y, other) for other in results[:i])
            assert xs is given[1] or not any(np.shares_memory(y, x) for x in xs)
    for x, kept in zip(arrays, given[0], strict=True):
        np.testing.assert_array_equal(x, kept)
