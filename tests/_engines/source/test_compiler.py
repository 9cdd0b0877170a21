"""The compiler of kernels: each part of the text's language, and the check of arguments at a call."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("llvmlite")

from funcgrad._engines.source.kernels.compiler import entry
from funcgrad._engines.source.kernels.compiler.build import built
from funcgrad._engines.source.kernels.compiler.entry import Argument
from funcgrad._engines.source.kernels.compiler.functions import DTYPES

NUMBERS = {
    "f": [0.0, -0.0, 1.5, -2.75, math.inf, -math.inf, math.nan, 1e-30],
    "i": [0, 1, -1, 5, -7, 100, 127, -128],
    "u": [0, 1, 2, 200, 255, 128, 7, 64],
    "b": [True, False, True, True, False, False, True, False],
}


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FUNCGRAD_CACHE_DIR", str(tmp_path))


def array(x: Any, written: bool = False) -> Argument:
    return Argument(np.asarray(x).dtype, array=True, written=written)


def of_elements(text: str, operands: Sequence[np.ndarray], dtype: Any) -> np.ndarray:
    """Return an expression of each element, computed by a kernel."""
    y = np.zeros(operands[0].shape, dtype)
    names = [f"a{k}" for k in range(len(operands))]
    loads = [f"        x{k} = load({k + 1}, a{k}, i)" for k in range(len(operands))]
    lines = [f"def run(t, {', '.join(names)}, q):", "    for i in range(at(t, 0)):", *loads]
    lines += [f"        store(0, q, i, {text})"]
    table = np.array([y.size])
    run = built("\n".join(lines), [array(table), *map(array, operands), array(y, written=True)], returns=False)
    assert run(table, *operands, y) is None
    return y


@pytest.mark.parametrize("name", [name for name, dtype in DTYPES.items() if dtype.kind in "fiu"])
@pytest.mark.parametrize(
    "text", ["x0 + x1", "x0 - x1", "x0 * x1", "-x0", "x0 > x1", "x0 <= x1", "x0 == x1", "x0 != x1"]
)
def test_operators(name: str, text: str) -> None:
    dtype = DTYPES[name]
    x0 = np.array(NUMBERS[dtype.kind], dtype)
    x1 = np.roll(x0, 3)
    with np.errstate(all="ignore"):
        wanted = eval(text, {"x0": x0, "x1": x1})
    np.testing.assert_array_equal(of_elements(text, [x0, x1], wanted.dtype), wanted)


# Kernels do not convert floats to integers, nor complex numbers.
REAL = [name for name, dtype in DTYPES.items() if dtype.kind != "c"]
CONVERSIONS = [(x, y) for x in REAL for y in REAL if not (DTYPES[x].kind == "f" and DTYPES[y].kind in "iu")]


@pytest.mark.parametrize(("given", "name"), CONVERSIONS)
def test_conversions(given: str, name: str) -> None:
    x, dtype = np.array(NUMBERS[DTYPES[given].kind], DTYPES[given]), DTYPES[name]
    with np.errstate(all="ignore"):
        wanted = x.astype(dtype)
    text = "x0 != 0" if dtype.kind == "b" else f"{name}(x0)"
    assert of_elements(text, [x], dtype).tobytes() == wanted.tobytes()


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("x0 / x1", lambda x, y: x / y),
        ("sqrt(fabs(x0))", lambda x, y: np.sqrt(np.abs(x))),
        ("choose(x0 != x0, x1, -x0)", lambda x, y: np.where(np.isnan(x), y, -x)),
        ("x0 + (0.1)", lambda x, y: x + x.dtype.type(0.1)),
        ("x0 * -inf", lambda x, y: x * -np.inf),
        ("x0 if x0 > x1 or x1 != x1 else 2", lambda x, y: np.where((x > y) | np.isnan(y), x, 2).astype(x.dtype)),
        ("x0 if not (0 <= x0 < 2 and x1 > 0) else x1", lambda x, y: np.where((x >= 0) & (x < 2) & (y > 0), y, x)),
    ],
    ids=["quotient", "functions", "choose", "a number of the text", "an infinity", "or", "and"],
)
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_expressions_of_floats(name: str, text: str, wanted: Any) -> None:
    x = np.array(NUMBERS["f"], name)
    y = np.roll(x, 1)
    with np.errstate(all="ignore"):
        expected = wanted(x, y)
    assert expected.dtype == x.dtype
    np.testing.assert_array_equal(of_elements(text, [x, y], name), expected)


def test_integers_of_64_bits_keep_each_bit() -> None:
    x = np.array([2**63 + 1, 2**64 - 1, 3], np.uint64)
    np.testing.assert_array_equal(of_elements("x0 & uint64(18446744073709551615)", [x], np.uint64), x)
    np.testing.assert_array_equal(of_elements("x0 > uint64(9223372036854775808)", [x], bool), [True, True, False])
    y = np.array([-(2**63), 2**63 - 1], np.int64)
    np.testing.assert_array_equal(of_elements("int64(x0 + int64(-9223372036854775808))", [y], np.int64), [0, -1])


def test_bools_of_numbers_and_of_bools() -> None:
    x, y = np.array([True, True, False, False]), np.array([True, False, True, False])
    np.testing.assert_array_equal(of_elements("x0 & x1", [x, y], bool), x & y)
    np.testing.assert_array_equal(of_elements("x0 | (not x1)", [x, y], bool), x | ~y)
    np.testing.assert_array_equal(of_elements("x0 & True", [x], bool), x)


LOOPS = """
def run(t, q):
    T = t
    p = q
    n = 0
    k = 0
    while True:
        k += 1
        if k > at(T, 0): break
        if k == 3:
            continue
        for i in range(k):
            if i == 4: break
            n = n + 1
        store(0, p, k, n)
    if n > 100: return 7
    for i in range(2, 4):
        store(0, p, i + 6, i * n if i == 2 else -1)
    return 0
"""


def test_loops_that_jump() -> None:
    def wanted(rounds: int) -> list[int]:
        y, n = [0] * 10, 0
        for k in range(1, rounds + 1):
            if k != 3:
                n += min(k, 4)
                y[k] = n
        return [*y[:8], 2 * n, -1]

    y = np.zeros(10, np.int64)
    run = built(LOOPS, [array(y), array(y, written=True)], returns=True)
    assert run(np.array([6]), y) == 0
    assert y.tolist() == wanted(6)
    assert run(np.array([40]), np.zeros(50, np.int64)) == 7


FUNCTIONS = """
def scaled(B, k):
    if load(0, B, k) < 0: return 5 + k
    store(0, B, k, load(0, B, k) * 2)
    return 0

def cleared(B):
    store(0, B, 3, 0.0)

def run(q):
    B = q
    for k in range(3):
        v0 = scaled(B, k)
        if v0 != 0: return v0
    cleared(B)
    return 0
"""


def test_functions_of_the_text() -> None:
    run = built(FUNCTIONS, [array(np.ones(1), written=True)], returns=True)
    y = np.array([1.0, 2.0, 3.0, 4.0])
    assert run(y) == 0
    assert y.tolist() == [2, 4, 6, 0]
    y[1] = -1
    assert run(y) == 6
    assert y.tolist() == [4, -1, 6, 0]


def _call(dtype: Any, array: bool, written: bool = False) -> Any:
    """Return a kernel that copies its only argument to memory of one element."""
    text = f"def run(x, q): store(0, q, 0, {'load(1, x, 0)' if array else 'x'})"
    arguments = [Argument(np.dtype(dtype), array, written), Argument(np.dtype(dtype), array=True, written=True)]
    return built(text, arguments, returns=False)


def _copied(run: Any, x: Any, dtype: Any) -> Any:
    y = np.zeros(1, dtype)
    run(x, y)
    return y[0]


@pytest.mark.parametrize(
    ("dtype", "x"),
    [
        ("f8", 1.5), ("f8", 3), ("f8", np.float32(0.1)), ("f8", True), ("f4", 0.1), ("f4", np.float32(0.1)),
        ("i8", -(2**63)), ("i8", np.int32(-5)), ("i4", np.int32(-5)), ("u8", np.uint64(2**64 - 1)),
        ("u1", np.uint8(200)), ("?", True), ("?", np.bool_(False)), ("c16", 1 + 2j), ("c16", np.complex128(1 - 2j)),
    ],
)  # fmt: skip
def test_numbers_as_arguments(dtype: str, x: Any) -> None:
    assert _copied(_call(dtype, array=False), x, dtype) == np.dtype(dtype).type(x)


@pytest.mark.parametrize(
    ("dtype", "x", "error"),
    [
        ("f8", "text", TypeError),
        ("f8", 10**400, OverflowError),
        ("i8", 2**63, OverflowError),
        ("i8", 1.5, TypeError),
        ("c16", np.complex64(1j), TypeError),
    ],
)
def test_what_is_no_number_is_refused(dtype: str, x: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        _copied(_call(dtype, array=False), x, dtype)


def test_an_error_of_the_argument_passes_through() -> None:
    class Broken:
        def __float__(self) -> float:
            raise KeyError("of its own")

    with pytest.raises(KeyError, match="of its own"):
        _copied(_call("f8", array=False), Broken(), "f8")


class Derived(np.ndarray):
    pass


@pytest.mark.parametrize(
    "x",
    [
        np.array([2.5, 1.0]), np.array([[2.5]]), np.array([2.5]).view(Derived),
        np.array([2.5]).view(np.dtype("f8", metadata={"a": 1})),
    ],
    ids=["vector", "matrix", "subclass", "another dtype object"],
)  # fmt: skip
def test_arrays_that_a_kernel_reads(x: np.ndarray) -> None:
    assert _copied(_call("f8", array=True), x, "f8") == 2.5


def test_both_integers_of_64_bits_are_read() -> None:
    for kind in (np.longlong, np.int64):
        assert _copied(_call("i8", array=True), np.array([2**40], kind), "i8") == 2**40


@pytest.mark.parametrize(
    "x",
    [
        np.arange(4.0)[::2], np.ones((3, 3))[:, 1], np.array([1.0], ">f8"), np.array([1.0], "f4"), np.array([1], "i8"),
        [1.0], 1.0, None, np.zeros(17, np.uint8)[1:].view("f8"), np.datetime64("2020-01-01"),
    ],
)  # fmt: skip
def test_arrays_that_a_kernel_does_not_read(x: Any) -> None:
    with pytest.raises(TypeError, match=r"needs contiguous arrays and numbers of these types: float64\[\.\.\.\]"):
        _copied(_call("f8", array=True), x, "f8")


def test_memory_that_is_written_must_be_writeable_and_all_arguments_given() -> None:
    run, x = _call("f8", array=True), np.ones(1)
    x.flags.writeable = False
    assert _copied(run, x, "f8") == 1
    with pytest.raises(TypeError, match="needs contiguous arrays"):
        run(np.ones(1), x)
    for given in ((), (x,), (x, np.ones(1), x)):
        with pytest.raises(TypeError, match="needs contiguous arrays"):
            run(*given)


def test_many_arguments_are_checked_one_by_one() -> None:
    count = 400
    names = [f"a{k}" for k in range(count)]
    text = "\n".join(
        [f"def run({', '.join(names)}):", *[f"    store({k}, {name}, 0, {k})" for k, name in enumerate(names)]]
    )
    given: list[Any] = [np.zeros(1, np.float32 if k % 3 else np.int64) for k in range(count)]
    run = built(text, [array(x, written=True) for x in given], returns=False)
    run(*given)
    assert [int(x[0]) for x in given] == list(range(count))
    frozen = np.zeros(1, np.float32)
    frozen.flags.writeable = False
    for wrong in (np.zeros(1), np.zeros(4, np.float32)[::2], frozen, [0.0], 1.0, np.zeros(1, ">f4")):
        for k in (1, 200, count - 2):
            with pytest.raises(TypeError, match="a compiled kernel needs"):
                run(*given[:k], wrong, *given[k + 1 :])


def test_another_layout_of_arrays_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    entry.addresses.cache_clear()
    monkeypatch.setattr(entry, "_FLAGS", entry._FLAGS + ctypes.sizeof(ctypes.c_int))
    with pytest.raises(RuntimeError, match="lays out arrays in another way"):
        entry.addresses()
    entry.addresses.cache_clear()
