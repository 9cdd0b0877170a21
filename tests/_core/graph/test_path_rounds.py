"""Loops of branches: paths that differ in the number of rounds share one loop of the written program."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from tests._transforms.compiled.test_paths import ENGINES, newton, paths_of


def secant(a: Any) -> Any:
    x0, x1 = a, a * 0.5 + 0.5
    while abs(x1 - x0) > 1e-9 * a:
        x0, x1 = x1, x1 - (x1 * x1 - a) * (x1 - x0) / (x1 * x1 - x0 * x0)
    return x1


def shrinking(a: Any) -> Any:
    x = np.linspace(0.1, 1.0, 4) * a
    total = np.zeros_like(x)
    while np.sum(x) > 1e-2:
        total += x
        x = (x.reshape(2, 2).T * 0.6).reshape(-1)
        x[0] = 0.0
    return x, total, x[::-1], a


def halvings(a: Any) -> Any:
    n = 0
    while a > 1.0 and n < 9:
        a = a * 0.5
        n += 1
    return a * n


LOOPS = {"newton": newton, "secant": secant, "shrinking": shrinking, "halvings": halvings}
STARTS = (2.0, 9.0, 0.5, 50.0, 3.0, 1.5, 1000.0, 30.0, 700.0, 1.01, 9.0)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", LOOPS)
def test_loops_of_branches(engine: str, name: str) -> None:
    """Compare values and gradients for numbers of rounds in any order."""
    f = LOOPS[name]
    total = fg.value_and_grad(lambda a: sum(np.sum(y) for y in fg.tree.leaves(f(a))))
    starts = STARTS if engine == "numpy" else STARTS[:6]
    for plain in (f, total):
        compiled = fg.jit(plain, paths=20, engine=engine)
        for a in starts * 2:
            for y, expected in zip(fg.tree.leaves(compiled(a)), fg.tree.leaves(plain(a)), strict=True):
                np.testing.assert_allclose(y, expected, 1e-11)
                assert np.asarray(y).dtype == np.asarray(expected).dtype


@pytest.mark.parametrize("engine", ["numpy", "numba"])
def test_paths_that_differ_in_the_number_of_rounds_share_their_code(engine: str) -> None:
    compiled = {roll: fg.jit(shrinking, paths=20, engine=engine, roll=roll) for roll in (True, False)}
    sources: dict[bool, list[str]] = {}
    for roll, f in compiled.items():
        for a in STARTS[:3]:
            f(a)
        few = f.source(2.0)
        for a in STARTS:
            f(a)
        sources[roll] = [few, f.source(2.0)]
    lengths = {roll: [source.count("\n") for source in both] for roll, both in sources.items()}
    assert lengths[True][0] == lengths[True][1] < lengths[False][0] < lengths[False][1]
    assert all("for r0 in range(" in source for source in sources[True])
    assert not any("for r0 in range(" in source for source in sources[False])


def test_a_number_of_rounds_that_no_call_had_is_a_new_path() -> None:
    """All paths begin with the same rounds, but the operations after them may depend on the number of rounds."""

    def f(a: Any) -> Any:
        n = 0
        while a > 1.0:
            a, n = a * 0.5, n + 1
        return np.sin(a) if n == 6 else a

    compiled = fg.jit(f, paths=20, engine="numpy")
    for a in (2.0**8, 2.0**4, 2.0**7, 2.0**6, 2.0**5, 2.0**6):
        assert float(compiled(a)) == float(f(a))
    assert paths_of(compiled) == [5]


def test_results_of_a_loop_have_memory_of_their_own() -> None:
    compiled = fg.jit(shrinking, paths=20, engine="numpy", donate_argnums=0)
    for a in STARTS:
        compiled(a)
    results = compiled(50.0)
    kept = [np.array(y) for y in results]
    results[0][...] = 7.0
    results[1][...] = 8.0
    np.testing.assert_array_equal(results[2], kept[2])
    np.testing.assert_array_equal(compiled(50.0)[1], kept[1])
