"""A faster `np.where` for NumPy values: the same bits, dtypes and shapes."""

from typing import Any

import numpy as np
import pytest

from funcgrad._core.choose import choose

N = 3000
SPECIAL = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, -1.5, 2.0])


def _values(rng: np.random.Generator, dtype: Any, *shape: int) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        return rng.choice(SPECIAL, shape).astype(dtype)


CASES: dict[str, Any] = {
    "zero after": lambda v: (v(N), 0),
    "zero before": lambda v: (0, v(N)),
    "two arrays": lambda v: (v(N), v(N)),
    "a number": lambda v: (v(N), 2),
    "two numbers": lambda v: (0, 1),
    "a negative zero": lambda v: (v(N), -0.0),
    "every other": lambda v: (v(2 * N)[::2], v(N)[::-1]),
    "broadcast": lambda v: (v(1), v(3, N)),
    "an array without axes": lambda v: (v(N), v()),
    "too wide a zero": lambda v: (v(2, N), 0),
}


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", ">f4", "c16", "i4", "?"])
@pytest.mark.parametrize("case", CASES)
def test_it_has_the_bits_of_numpys(case: str, dtype: str, rng: np.random.Generator) -> None:
    """The bits also agree for infinities, NaN and signed zeros, in every memory order."""
    c = rng.random(N) < 0.5
    a, b = CASES[case](lambda *shape: _values(rng, dtype, *shape))
    found, expected = choose(c, a, b), np.where(c, a, b)
    assert (found.dtype, found.shape, found.tobytes()) == (expected.dtype, expected.shape, expected.tobytes())


def test_two_axes_lie_in_memory_as_numpys_do(rng: np.random.Generator) -> None:
    """Transposed operands give a transposed result."""
    c, a = (rng.random((50, 60)) < 0.5).T, rng.normal(size=(50, 60)).T
    for b in (0, -a):
        found, expected = choose(c, a, b), np.where(c, a, b)
        assert found.strides == expected.strides
        assert np.array_equal(found, expected)


def test_memory_is_its_own(rng: np.random.Generator) -> None:
    """The result shares no memory with the operands."""
    c, a = np.ones(N, bool), rng.normal(size=N)
    assert not any(np.shares_memory(y, a) for y in (choose(c, a, 0), choose(c, a, a)))
