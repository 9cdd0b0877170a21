"""The methods of Python's and NumPy's numbers that arrays do not have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg

INTEGERS = [0, 1, 5, -6, 255, 256, 2**62, -(2**63), 2**63 - 1, True, np.int64(-5), np.uint8(200), np.int8(-128)]


@pytest.mark.parametrize("paths", [1, 4])
@pytest.mark.parametrize("engine", ["numpy", "numba", "xla"])
def test_bits(engine: str, paths: int) -> None:
    length = fg.jit(lambda n: n.bit_length(), engine=engine, paths=paths)
    count = fg.jit(lambda n: n.bit_count(), engine=engine, paths=paths)
    for n in INTEGERS:
        assert int(length(n)) == int(n).bit_length(), n
        assert int(count(n)) == int(n).bit_count(), n


@pytest.mark.parametrize("engine", ["numpy", "numba", "xla"])
def test_is_integer(engine: str) -> None:
    f = fg.jit(lambda x: x.is_integer(), engine=engine)
    for x in (2.0, 2.5, -0.0, 1e300, float("inf"), float("nan"), np.float32(3), np.float32(0.5), np.int64(4)):
        assert bool(f(x)) is bool(x.is_integer())
    assert bool(f(3)) is True


def test_a_path_follows_the_answer() -> None:
    def power(x: Any, n: Any) -> Any:
        y = 1.0
        for i in range(n.bit_length()):
            y = y * y * (x if (n >> (n.bit_length() - 1 - i)) & 1 else 1.0)
        return y if n.bit_count() > 1 else -y

    compiled = fg.jit(fg.grad(power), engine="numpy", paths=16)
    for n in (1, 5, 8, 13, 5):
        np.testing.assert_allclose(compiled(1.1, n), fg.grad(lambda x, n=n: power(x, n))(1.1))
    branched = fg.jit(lambda x: x if x.is_integer() else 2 * x, engine="numpy", paths=4)
    assert [float(branched(x)) for x in (1.0, 1.5, 2.0)] == [1.0, 3.0, 2.0]


def test_the_count_of_a_python_number_is_one() -> None:
    assert fg.jit(lambda x, n: x * n.bit_length(), engine="numpy")(np.float32(1.5), 5).dtype == np.float32


@pytest.mark.parametrize("name", ["bit_length", "bit_count", "is_integer"])
def test_arrays_and_other_numbers_have_none(name: str) -> None:
    found: list[bool] = []
    fg.make_graph(lambda *xs: found.extend(hasattr(x, name) for x in xs) or xs)(np.ones(2), np.arange(3), 1j)
    assert found == [False] * 3


def test_division_by_zero_on_a_path_is_that_of_the_program() -> None:
    f = fg.grad(lambda x: x**2 if x > 0 else x**0.5)
    for engine in ("numpy", "numba", "xla"):
        with np.errstate(divide="ignore", invalid="ignore"):
            compiled = fg.jit(f, paths=4, engine=engine)
            assert float(compiled(0.0)) == np.inf
            assert float(compiled(3.0)) == 6.0
            assert float(compiled(0.0)) == np.inf
            assert float(fg.jit(lambda x: 1 / x if x < 1 else x, paths=4, engine=engine)(0.0)) == np.inf
            assert float(fg.jit(lambda x: x**-1 if x < 1 else x, paths=4, engine=engine)(-0.0)) == -np.inf
