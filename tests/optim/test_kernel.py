"""Steps as kernels that Numba compiles: the numbers of the ufuncs, and the arrays that take the other way."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._engines.source import flat
from funcgrad._engines.source.flat import THREADED
from funcgrad._engines.source.kernels import parallel
from funcgrad.optim import SGD

SHAPES = ((3,), (2, 5), (), (0, 4), (THREADED // 512, 512), (700, 300))
OPTIONS = [
    {"momentum": momentum, "dampening": dampening, "weight_decay": decay, "nesterov": nesterov, "maximize": maximize}
    for momentum, dampening, decay, nesterov, maximize in itertools.product(
        (0.0, 0.9), (0.0, 0.3), (0.0, 0.1), (False, True), (False, True)
    )
    if not (nesterov and (momentum == 0 or dampening))
]


def arrays(rng: np.random.Generator, dtype: Any, shapes: Any) -> list[np.ndarray]:
    return [np.asarray(rng.normal(size=shape), dtype) for shape in shapes]


def trained(rng_seed: int, dtype: Any, options: dict[str, Any], shapes: Any) -> list[np.ndarray]:
    rng = np.random.default_rng(rng_seed)
    params = arrays(rng, dtype, shapes)
    optimizer = SGD(params, lr=0.1, **options)
    for _ in range(3):
        optimizer.step(grads=arrays(rng, dtype, shapes))
    buffers = [state["momentum_buffer"]._value for state in optimizer.state.values() if state]
    return [*params, *buffers]


@pytest.mark.long
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_kernels_compute_what_the_ufuncs_do(
    options: dict[str, Any], dtype: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("llvmlite")
    written = []
    begun = parallel.FlatKernel.begun

    def watched(*args: Any) -> Any:
        written.append(args)
        return begun(*args)

    monkeypatch.setattr(parallel.FlatKernel, "begun", watched)
    found = trained(0, dtype, options, SHAPES)
    assert written
    monkeypatch.setattr(flat, "kernels_usable", lambda: False)
    for mine, expected in zip(found, trained(0, dtype, options, SHAPES), strict=True):
        np.testing.assert_array_equal(mine, expected)
        assert mine.dtype == expected.dtype


def test_memory_in_pieces_and_other_dtypes_take_the_other_way(rng: np.random.Generator) -> None:
    strided = rng.normal(size=(600, 1000)).T
    half = rng.normal(size=(THREADED,)).astype(np.float16)
    swapped = rng.normal(size=(7,)).astype(">f8")
    params = [strided, half, swapped]
    state = fg.sgd_init(params, lr=0.5, momentum=0.9)
    new, _ = fg.sgd_update([p * 0 + 1 for p in params], state, params)
    for p, mine in zip(params, new, strict=True):
        np.testing.assert_allclose(mine.astype(float), (p - p.dtype.type(0.5)).astype(float), rtol=1e-3)


def test_errors_of_arithmetic_that_are_to_be_raised(rng: np.random.Generator) -> None:
    with np.errstate(over="raise"):
        assert not flat.kernels_usable()


def test_a_compiler_that_cannot_be_imported_is_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        @property
        def llvm_version_info(self) -> Any:
            raise ImportError("LLVM is not there")

    monkeypatch.setattr(flat, "_llvm", Broken())
    flat._is_installed.cache_clear()
    try:
        assert not flat.kernels_usable()
    finally:
        flat._is_installed.cache_clear()
