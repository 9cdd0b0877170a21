"""The Numba engine: the operations that it compiles, the operations that it leaves to NumPy, and equal numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.lazy import LazyModule
from funcgrad._core.primitive import primitives
from funcgrad._engines.source import numba as engine
from funcgrad._engines.source.kernels import fuse, parallel, plan
from funcgrad._engines.source.kernels.nodes import Apply, KernelMemory
from tests.laws._cases import Case, all_rows, assert_close, assert_types, cases

pytest.importorskip("llvmlite")

# Only the first row of each primitive, because compiling takes long.
CASES = list({case.row.primitive.name: case for case in reversed(list(cases(all_rows(), real=("float64",))))}.values())
# Kernels add in NumPy's order, except over blocks of rows.
EXACT = 1e-11
GROUPS = 4


def together(group: list[Case], rng: np.random.Generator) -> tuple[Any, list[Any]]:
    """Return a program that computes many primitives on operands that it makes itself, compiled as one kernel."""
    functions = [case.function_of_arrays(case.operands(rng)) for case in group]

    def program(*given: Any) -> Any:
        made = [[x + 0 if x.dtype.kind in "fc" else x for x in xs] for xs in given]
        return [[y + y for y in fg.tree.leaves(f(*xs))] for (f, _), xs in zip(functions, made, strict=True)]

    return program, [arrays for _, arrays in functions]


@pytest.mark.long
@pytest.mark.parametrize("k", range(GROUPS))
def test_every_primitive(k: int, rng: np.random.Generator) -> None:
    program, arrays = together(CASES[k::GROUPS], rng)
    results = fg.tree.leaves(fg.jit(program, engine="numba")(*arrays))
    wanted = fg.tree.leaves(fg.jit(program, engine="numpy")(*arrays))
    assert_types([np.asarray(y) for y in results], [np.asarray(y) for y in wanted])
    assert_close([np.asarray(y) for y in results], [np.asarray(y) for y in wanted], EXACT)


def on_both(f: Callable[..., Any], *args: Any, **options: Any) -> tuple[list[Any], list[Any]]:
    """Return the leaves of a function's result on the Numba engine and on the NumPy engine."""
    results = fg.tree.leaves(fg.jit(f, engine="numba", **options)(*args))
    wanted = fg.tree.leaves(fg.jit(f, engine="numpy")(*args))
    assert_types([np.asarray(y) for y in results], [np.asarray(y) for y in wanted])
    return results, wanted


def same_bits(f: Callable[..., Any], *args: Any) -> None:
    for y, wanted in zip(*on_both(f, *args), strict=True):
        np.testing.assert_array_equal(y, wanted)


UNARY = [np.exp, np.tanh, np.negative, np.abs, np.sqrt, np.log1p, np.sign, np.square, np.floor, lambda x: x**3, np.cbrt]
BINARY = [np.add, np.subtract, np.multiply, np.true_divide, np.maximum, np.arctan2, np.hypot]
SHAPES = [(4, 6), (6,), (4, 1), (), (1, 6)]


def random_program(seed: int) -> Callable[..., Any]:
    """Draw elementwise operations, sums, products, views and indices in any order."""

    def program(*xs: Any) -> Any:
        rng = np.random.default_rng(seed)
        values, made = list(xs), []

        def drawn() -> Any:
            return values[rng.integers(len(values))]

        for _ in range(14):
            kind = rng.integers(8)
            x, y = drawn(), drawn()
            if kind < 2:
                values.append(UNARY[rng.integers(len(UNARY))](np.abs(x)))
            elif kind < 4:
                values.append(BINARY[rng.integers(len(BINARY))](x, y))
            elif kind == 4:
                values.append(np.where(x > y, x, 0.5))
            elif kind == 5:
                values.append([np.sum, np.max, np.min][rng.integers(3)](x, axis=None if rng.integers(2) else -1))
            elif kind == 6 and x.ndim == 2:
                values.append(x @ y.T if y.ndim == 2 and x.shape[1] == y.shape[1] else x[::-1, 1:].T)
            elif x.ndim == 2:
                values.append(x[np.array([0, -1, 0])] + np.mean(x))
            made.append(values[-1])
            # Values of other shapes are not used further.
            values = [v for v in values if v.shape in SHAPES]
        return made

    return program


@pytest.mark.filterwarnings("ignore:.*encountered in")
@pytest.mark.parametrize("seed", range(5))
def test_random_programs_have_the_same_bits(seed: int, rng: np.random.Generator) -> None:
    dtype = (np.float64, np.float32)[seed % 2]
    same_bits(random_program(seed), *[np.asarray(rng.normal(size=shape), dtype) for shape in SHAPES])


def test_integers_and_bools(rng: np.random.Generator) -> None:
    a, b = rng.integers(-100, 100, 12, np.int8), rng.integers(0, 200, 12, np.uint8)

    def program(a: Any, b: Any, c: Any, x: Any) -> Any:
        wraps = (a * a, b - 2 * b, a + b, -a, a**2, b // 7, b % 7, c // np.array([3, 0, -2] * 4))
        logic = (c & (a > 3), (a > 3) ^ (b < 9), ~(a > 3), np.logical_and(x, c), np.isnan(x / x))
        casts = (x.astype(bool), a.astype(np.float32), (a > 0).astype(np.int64), a.astype(np.uint16), c > 2.5)
        return wraps, logic, casts, np.sum(a > 0), np.sum(b), np.max(a), np.prod(c[:3])

    with np.errstate(all="ignore"):
        same_bits(program, a, b, rng.integers(-5, 5, 12), np.where(a > 0, 0.0, 1.5))


def test_python_bools_as_arguments() -> None:
    f = lambda x, flag: np.where(flag, x * 2, x - 1) * 3
    compiled = fg.jit(f, engine="numba")
    for flag in (True, False, np.True_, np.array(False)):
        np.testing.assert_array_equal(compiled(np.arange(3.0), flag), f(np.arange(3.0), flag))


def test_numbers_of_all_kinds() -> None:
    def program(x: Any, f: Any, i: Any, n: Any) -> Any:
        return x * f + i, (x - n) / f, n * f, np.inf - x, x * np.nan, np.where(x > 1, -np.inf, i), f**2 + i

    x = np.linspace(0, 2, 5, dtype=np.float32)
    same_bits(program, x, 2.5, 3, np.float32(0.1))
    same_bits(program, x, np.array(2.5), np.int64(3), np.array(0.1, np.float32))


def test_operands_that_are_not_as_kernels_want_them(rng: np.random.Generator) -> None:
    plain = rng.normal(size=(6, 4))
    unaligned = np.frombuffer(b"0" + plain.tobytes(), np.uint8)[1:].view(plain.dtype).reshape(plain.shape)
    locked = plain.copy()
    locked.setflags(write=False)
    f = fg.jit(lambda x: np.exp(x).sum(axis=0) * x - 2 / x, engine="numba")
    wanted = f(plain)
    for x in (np.asfortranarray(plain), np.repeat(plain, 2, axis=1)[:, ::2], unaligned, locked, plain[::-1][::-1]):
        np.testing.assert_array_equal(f(x), wanted)
    # The graph has this byte order, so it has a program of its own.
    np.testing.assert_array_equal(f(plain.astype(">f8")), wanted)


def test_indices_count_from_the_end_and_have_bounds(rng: np.random.Generator) -> None:
    x, v = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    ids = np.array([0, -1, 3, 0])

    def program(x: Any, v: Any, i: Any) -> Any:
        def loss(x: Any) -> Any:
            return np.sum(np.sin(x)[i] * v) + np.sum(x[i, np.abs(i) % 3] ** 2)

        return fg.value_and_grad(loss)(x)

    same_bits(program, x, v, ids)
    f: Any = fg.jit(program, engine="numba")
    for wrong in (5, -6):
        with pytest.raises(IndexError, match=f"index {wrong} is out of bounds for axis 0 with size 5"):
            f(x, v, np.array([0, wrong, 1, 1]))
    assert "return 1" in f.source(x, v, ids)


@pytest.mark.parametrize("shape", [(100_003,), (5_001, 33), (3, 40_000)], ids=["vector", "rows", "long rows"])
def test_large_arrays_go_in_blocks(shape: tuple[int, ...], rng: np.random.Generator) -> None:
    x, y = rng.normal(size=shape), rng.normal(size=shape)
    row = rng.normal(size=shape[1:])

    def program(x: Any, y: Any, row: Any) -> Any:
        z = np.tanh(x) * y + row
        return (
            z,
            np.exp(z) - x,
            np.where(z > 0, z, x),
            np.sum(z * z),
            np.sum(z, axis=-1),
            np.sum(z - x, axis=0),
            np.max(z),
        )

    results, wanted = on_both(program, x, y, row)
    for i, (a, b) in enumerate(zip(results, wanted, strict=True)):
        # Sums over the rows are sums of the sums of blocks.
        np.testing.assert_allclose(a, b, rtol=0 if i < 3 else 1e-12, atol=0 if i < 3 else 1e-9)
    f: Any = fg.jit(program, engine="numba")
    assert "for k in range(lo, hi)" in f.source(x, y, row)
    np.testing.assert_array_equal(f(np.asfortranarray(x), y, row)[1], wanted[1])


def test_a_softmax_goes_through_its_rows_once(rng: np.random.Generator) -> None:
    x = rng.normal(size=(5_001, 20))

    def loss(x: Any) -> Any:
        shifted = x - np.max(x, axis=1, keepdims=True)
        return np.sum(shifted**2 - np.log(np.sum(np.exp(shifted), axis=1, keepdims=True)))

    f: Any = fg.jit(fg.grad(loss), engine="numba")
    np.testing.assert_allclose(f(x), fg.grad(loss)(x), rtol=1e-13, atol=1e-15)
    assert f.source(x).count("def blocks") == 1


@pytest.mark.parametrize("size", [3, 200_000])
def test_a_donated_step(size: int, rng: np.random.Generator) -> None:
    params, grads = {"w": rng.normal(size=size)}, {"w": rng.normal(size=size)}
    state = fg.sgd_init(params, lr=0.1, momentum=0.9, weight_decay=0.1)

    def step(params: Any, state: Any, grads: Any) -> Any:
        return fg.sgd_update(grads, state, params)

    plain, given = params["w"].copy(), params["w"]
    donated = [x for x in fg.tree.leaves((params, state)) if np.shape(x) == (size,)]
    wanted = step({"w": plain}, fg.sgd_init({"w": plain}, lr=0.1, momentum=0.9, weight_decay=0.1), grads)
    f = fg.jit(step, engine="numba", donate_argnums=(0, 1))
    new, state = f(params, state, grads)
    np.testing.assert_array_equal(new["w"], wanted[0]["w"])
    assert any(new["w"] is x for x in donated) == (size > plan.SMALL)
    if size > plan.SMALL:
        given.setflags(write=False)
        with pytest.raises(ValueError, match="It cannot be written to"):
            f({"w": given}, state, grads)


def test_other_sizes_need_no_other_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "_compiled", {})
    f = fg.jit(fg.grad(lambda w, x: np.sum(np.tanh(x @ w) ** 2)), engine="numba")
    for n in (3, 4, 7):
        f(np.ones((2, 5)), np.ones((n, 2)))
    assert len(parallel._compiled) == 1


def test_transforms_around_and_loops_inside(rng: np.random.Generator) -> None:
    x, xs = rng.normal(size=3), rng.normal(size=(4, 3))

    def f(x: Any) -> Any:
        last, _ = fg.scan(lambda c, row: (np.tanh(c * row) + 0.1 * c - c * c, None), x, np.ones((2, 3)))
        y = fg.while_loop(lambda y: y < 3, lambda y: y * 2 + 0.5 + y * y, np.sum(last * last) + 0.1)
        return fg.cond(y > 0, lambda y: y * np.sin(y) + y, lambda y: -y, y) + np.sum(last)

    def g(x: Any) -> Any:
        return np.sum(np.sin(x) ** 2 * np.exp(x) + x[0] * x)

    for function, point in ((f, x), (g, x)):
        jitted = fg.jit(function, engine="numba")
        np.testing.assert_allclose(jitted(point), function(point), rtol=1e-14)
    np.testing.assert_allclose(fg.hessian(fg.jit(g, engine="numba"))(x), fg.hessian(g)(x), rtol=1e-13, atol=1e-14)
    np.testing.assert_allclose(
        fg.jit(fg.vmap(fg.grad(g)), engine="numba")(xs), fg.vmap(fg.grad(g))(xs), rtol=1e-13, atol=1e-14
    )
    np.testing.assert_allclose(fg.vmap(fg.jit(g, engine="numba"))(xs), fg.vmap(g)(xs), rtol=1e-13, atol=1e-14)


def test_parts_that_share_numbers_only(rng: np.random.Generator) -> None:
    xs = [rng.normal(size=(n, 3)) for n in range(2, 14)]

    def program(xs: Any) -> Any:
        total = np.sum(xs[0] * xs[0])
        mean = np.tanh(total) / 3 + 1
        return mean, [np.exp(x) * mean - x / (mean + 1) + x * x * total - np.sin(x) for x in xs]

    same_bits(program, xs)
    results, wanted = on_both(program, [rng.normal(size=(40_000 + i, 2)) for i in range(2)])
    np.testing.assert_allclose(results[1], wanted[1], rtol=1e-11, atol=1e-9)


def test_without_numba_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_llvm", LazyModule("llvm_that_is_not_there"))
    f = fg.jit(np.sin, engine="numba")
    with pytest.raises(ModuleNotFoundError, match="llvm_that_is_not_there"):
        f(1.0)

    class Absent:
        def __getattr__(self, name: str) -> Any:
            raise ModuleNotFoundError("No module named 'llvmlite'", name="llvmlite")

    monkeypatch.setattr(engine, "_llvm", Absent())
    with pytest.raises(ModuleNotFoundError, match=r"Install it \(pip install llvmlite\)"):
        f(1.0)


@pytest.mark.parametrize("name", ["relu", "logistic", "log_softmax"])
def test_a_primitive_with_an_expansion_is_one_loop_with_the_operations_around_it(name: str) -> None:
    primitive = primitives[name]
    params = {"axes": (1,)} if name == "log_softmax" else {}
    compiled = fg.jit(lambda x: primitive(x, **params) * 2 + 1, engine="numba")
    x = np.linspace(-2, 2, 6).reshape(2, 3)
    np.testing.assert_allclose(compiled(x), primitive.numpy(x, **params) * 2 + 1, rtol=1e-12)
    # A primitive without a form is called by its name.
    assert f"{name}_" not in compiled.source(x)


def test_a_warm_call_raises_nothing(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrays with gaps reach kernels from views, from arguments, and from functions that keep their operand's order."""

    def refused(kernel: Any, *given: Any) -> Any:
        raise AssertionError(f"a kernel refused {[type(x).__name__ for x in given]}")

    monkeypatch.setattr(engine.Whole, "_fitted", refused)

    def f(x: Any, y: Any) -> Any:
        flipped = np.flip(np.linalg.solve(y + 5 * np.eye(4), x))
        total = np.sum(np.sin(flipped) * np.cos(x) + np.tanh(y).T @ flipped) + np.linalg.det(y)
        turned = np.where(y.T > 0, np.exp(y.T), y.T)
        return total * np.sum(turned[::2] * turned[::2]) + np.dot(x[::-1], np.sqrt(1 + x * x))

    x = rng.standard_normal(4)
    for y in (np.asfortranarray(rng.standard_normal((4, 4))), rng.standard_normal((8, 8))[::2, ::2]):
        wanted, gradients = fg.jit(fg.value_and_grad(f, argnums=(0, 1)), engine="numpy")(x, y)
        compiled = fg.jit(fg.value_and_grad(f, argnums=(0, 1)), engine="numba")
        for _ in range(2):
            value, found = compiled(x, y)
            np.testing.assert_allclose(value, wanted, rtol=EXACT)
            for a, b in zip(found, gradients, strict=True):
                np.testing.assert_allclose(a, b, rtol=EXACT)


def test_a_long_straight_program_is_one_kernel(rng: np.random.Generator) -> None:
    factors = rng.uniform(0.5, 1.0, 240)

    def f(x: Any, y: Any) -> Any:
        for k in factors:
            x, y = y * k - x, x + y * (1.0 - k)
        return np.sum(x * y)

    x, y = rng.standard_normal((2, 50))
    compiled = fg.jit(f, engine="numba", roll=False)
    np.testing.assert_allclose(compiled(x, y), f(x, y), EXACT)
    assert compiled.source(x, y).count("def loop_") == 1


def test_arrays_of_a_power_of_two_lie_in_different_sets_of_the_cache() -> None:
    memories = [KernelMemory(np.dtype(float), (4096,)) for _ in range(3)]
    # Each array is read after the last one is made, so all of them have places of their own.
    made: list[Any] = [Apply(memory.whole(), "1.0", ()) for memory in memories]
    read: list[Any] = [Apply(memory.whole(), "{}", (memory.whole(),)) for memory in memories]
    places, _ = fuse.allotted([[step] for step in (*made, *read)], set())
    assert len({place % 4096 for place in places.values()}) == 3


def test_kernels_that_run_together_share_the_shares(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    run = parallel.run_shares
    monkeypatch.setattr(parallel, "workers", lambda: 2)
    monkeypatch.setattr(parallel, "run_shares", lambda shares, size: counts.append(len(shares)) or run(shares, size))
    sizes = [200_000] * 9 + [1_000_000]
    xs = [rng.normal(size=size) for size in sizes]
    on_both(lambda xs: [x * 2 + 1 for x in xs], xs)
    # 16 shares for two threads, in proportion to the sizes, and rounded up for each kernel.
    assert counts == [9 * 2 + 6]
