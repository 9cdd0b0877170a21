"""Layers and losses give PyTorch's values and gradients: eager on both engines, compiled, and inside ``jax.jit``."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from tests._recorded import read_golden
from tests.laws._point import Together
from tests.laws._together import result, run_together
from tests.nn._cases import CASES, Case, cotangent, flat

# Compiling takes long, and the last digit of a sum differs between reductions.
COMPILED = [name for name, case in CASES.items() if case.options.get("reduction", "mean") == "mean"]
GOLDEN = read_golden(Path(__file__).with_name("golden_nn.npz"))


def value_and_gradients(case: Case, *args: Any) -> Any:
    """The value, and the gradients of the sum of it times ``cotangent``."""

    def weighed(*xs: Any) -> Any:
        y = case.ours(*xs, *args[case.differentiated :])
        return np.sum(np.multiply(y, cotangent(y))), y

    xs = args[: case.differentiated]
    (_, y), grads = fg.value_and_grad(weighed, argnums=tuple(range(len(xs))), has_aux=True)(*xs)
    return y, *grads


def list_of_all(case: Case, *args: Any) -> list[Any]:
    return list(value_and_gradients(case, *args))


def check(name: str, found: Any) -> None:
    np.testing.assert_allclose(flat(found), GOLDEN[name], rtol=1e-12, atol=1e-13)


def jax_arrays(tree: Any) -> Any:
    with jax.enable_x64(True):
        return jax.tree.map(jax.numpy.asarray, tree)


@pytest.mark.parametrize("name", CASES)
def test_numpy(name: str) -> None:
    case = CASES[name]
    check(name, value_and_gradients(case, *case.args))
    np.testing.assert_array_equal(case.ours(*case.args), value_and_gradients(case, *case.args)[0])


@pytest.mark.parametrize("name", COMPILED[::8])
def test_jax_arrays(name: str) -> None:
    case = CASES[name]
    args = jax_arrays(case.args)
    check(name, value_and_gradients(case, *args))
    assert case.ours(*args).dtype == np.float64


@pytest.mark.parametrize("at_once", [True, False])
def test_in_programs_of_jax(at_once: bool) -> None:
    """Run all cases in a few programs: as eager operations on JAX's arrays, and inside ``jax.jit``."""
    calls = {name: (partial(list_of_all, CASES[name]), list(CASES[name].args)) for name in COMPILED}
    found = run_together(calls, at_once=at_once)
    together = Together()
    for name in COMPILED:
        with together.named(name):
            y, *_ = results = result(found, name)
            assert y.dtype == np.float64
            check(name, results)
    together.settle()


@pytest.mark.parametrize("engine", ["xla", "numpy"])
@pytest.mark.parametrize("name", COMPILED)
def test_compiled(name: str, engine: str) -> None:
    case = CASES[name]
    check(name, fg.jit(lambda *args: value_and_gradients(case, *args), engine=engine)(*case.args))


@pytest.mark.parametrize("name", CASES)
def test_float32_stays(name: str) -> None:
    case = CASES[name]
    narrow = [a.astype(np.float32) if a.dtype.kind == "f" else a for a in case.args]
    results = value_and_gradients(case, *narrow)
    assert {np.asarray(y).dtype for y in results[1:]} == {np.dtype(np.float32)}
    np.testing.assert_allclose(flat(results), GOLDEN[name], rtol=2e-4, atol=2e-5)


def test_the_golden_file_is_what_torch_computes(torch: Any) -> None:
    together = Together()
    for name, case in CASES.items():
        with together.named(name):
            np.testing.assert_allclose(GOLDEN[name], flat(case.theirs(torch)), rtol=1e-14, atol=1e-14)
    together.settle()
