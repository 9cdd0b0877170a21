"""Staging: what the recorded equations hold."""

from typing import Any

import numpy as np
import pytest

import funcgrad as fg

NUMBERS: list[Any] = [2.0, 2, 0.0, -0.0, float("nan"), float("inf"), 2**53 + 1, True, 1e-320]


@pytest.mark.parametrize("first", [False, True], ids=["number_first", "value_first"])
def test_python_numbers_beside_a_float_are_the_same_bits(first: bool) -> None:
    """Numbers that are equal without being the same, such as zeros of both signs, stay apart in one program."""
    x = np.array([1.5, -2.0, 3.0])

    def f(x: Any) -> list[Any]:
        return [x * n if first else n * x for n in NUMBERS for _ in range(2)]

    found = fg.jit(f, engine="numpy", roll=False)(x)
    for y, wanted in zip(found, f(x), strict=True):
        assert y.dtype == wanted.dtype
        assert y.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.complex64, np.int64])
def test_python_numbers_beside_other_dtypes(dtype: type) -> None:
    x = np.array([1, 2, 3], dtype)

    def f(x: Any) -> list[Any]:
        return [x * 2, x + 0.1, x * 3, x + 0.1, x - 2]

    for y, wanted in zip(fg.jit(f, engine="numpy")(x), f(x), strict=True):
        assert y.dtype == wanted.dtype
        np.testing.assert_array_equal(y, wanted)


def test_lines_of_two_functions_at_one_place() -> None:
    """Two functions with equal code on other lines keep their own lines."""
    namespaces: list[dict[str, Any]] = [{}, {}]
    for k, names in enumerate(namespaces):
        exec(compile("\n" * (10 * k) + "def f(x):\n    return x * x\n", f"file{k}.py", "exec"), names)
    lines = [fg.make_graph(names["f"])(1.0).equations[0].source for names in namespaces for _ in range(2)]
    assert [(line.path, line.number) for line in lines if line] == [("file0.py", 2)] * 2 + [("file1.py", 12)] * 2
