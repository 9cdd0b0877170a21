"""SGD gives PyTorch's numbers, for every combination of options, on both engines, compiled or not."""

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from tests._recorded import PyTorch, read_golden
from tests.optim._cases import OPTIONS, gradients, initial_params, trajectory
from tests.optim._grouped import RUNS, by_rule
from tests.optim.make_golden import golden

GOLDEN = read_golden(Path(__file__).with_name("golden_sgd.npz"))
# PyTorch's kernels round ``a + alpha * b`` once where NumPy rounds twice.
ROUNDING: Any = {"rtol": 1e-14, "atol": 1e-14}


def jax_arrays(tree: Any) -> Any:
    with jax.enable_x64(True):
        return jax.tree.map(jax.numpy.asarray, tree)


@pytest.mark.parametrize("name", OPTIONS)
def test_numpy(name: str) -> None:
    params = initial_params()
    found = trajectory(fg.sgd_update, fg.sgd_init(params, **OPTIONS[name]), params)
    np.testing.assert_allclose(found, GOLDEN[name], **ROUNDING)


@pytest.mark.parametrize("name", OPTIONS)
def test_jax_arrays_uncompiled(name: str) -> None:
    params = jax_arrays(initial_params())
    found = trajectory(fg.sgd_update, fg.sgd_init(params, **OPTIONS[name]), params)
    np.testing.assert_allclose(found, GOLDEN[name], **ROUNDING)


@pytest.mark.parametrize("engine", ["xla", "numpy"])
@pytest.mark.parametrize("name", OPTIONS)
def test_compiled(name: str, engine: str) -> None:
    params = initial_params()
    found = trajectory(fg.jit(fg.sgd_update, engine=engine), fg.sgd_init(params, **OPTIONS[name]), params)
    np.testing.assert_allclose(found, GOLDEN[name], **ROUNDING)


@pytest.mark.parametrize("name", OPTIONS)
def test_inside_jax_jit(name: str) -> None:
    params = initial_params()
    with jax.enable_x64(True):
        found = trajectory(jax.jit(fg.sgd_update), fg.sgd_init(params, **OPTIONS[name]), params)
    np.testing.assert_allclose(found, GOLDEN[name], **ROUNDING)


@pytest.mark.parametrize("name", OPTIONS)
def test_staged(name: str) -> None:
    params = initial_params()
    state = fg.sgd_init(params, **OPTIONS[name])
    graphs = [fg.make_graph(fg.sgd_update)(grads, state, params) for grads in gradients()]
    calls = iter(graphs)
    found = trajectory(lambda *args: next(calls)(*args), state, params)
    np.testing.assert_allclose(found, GOLDEN[name], **ROUNDING)


@pytest.mark.parametrize("name", RUNS)
def test_groups_as_trees_of_options(name: str) -> None:
    found = by_rule(RUNS[name], fg.sgd_init, fg.sgd_update)
    np.testing.assert_allclose(found, GOLDEN[f"groups/{name}/rows"], **ROUNDING)


@pytest.mark.parametrize("engine", ["xla", "numpy"])
@pytest.mark.parametrize("name", ["all-late", "dampening-in turn"])
def test_groups_compiled(name: str, engine: str) -> None:
    found = by_rule(RUNS[name], fg.sgd_init, fg.jit(fg.sgd_update, engine=engine))
    np.testing.assert_allclose(found, GOLDEN[f"groups/{name}/rows"], **ROUNDING)


def test_the_golden_file_is_what_torch_computes(torch: Any) -> None:
    found = golden(torch)
    assert set(found) == set(GOLDEN)
    for name, x in found.items():
        if x.dtype.kind == "U":
            assert x == GOLDEN[name], name
        else:
            np.testing.assert_allclose(x, GOLDEN[name], rtol=1e-15, atol=1e-15, err_msg=name)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "complex64", "complex128"])
def test_dtypes(dtype: str, rng: np.random.Generator, pytorch: PyTorch) -> None:
    numbers = rng.standard_normal((6, 8)) + (1j * rng.standard_normal((6, 8)) if "complex" in dtype else 0)
    options = {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1, "nesterov": True}

    def theirs(torch: Any) -> np.ndarray:
        start, *grads = [torch.tensor(row).to(getattr(torch, dtype)) for row in numbers]
        optimizer = torch.optim.SGD([start.requires_grad_()], **options)
        for g in grads:
            start.grad = g
            optimizer.step()
        return np.asarray(start.detach().float()) if dtype == "bfloat16" else start.detach().numpy()

    ours, *grads = [row.astype(jax.numpy.dtype(dtype)) for row in numbers]
    state = fg.sgd_init(ours, **options)
    for g in grads:
        ours, state = fg.sgd_update(g, state, ours)
        assert ours.dtype == state.buffers.dtype == jax.numpy.dtype(dtype)
    epsilon = float(jax.numpy.finfo(dtype).eps)
    np.testing.assert_allclose(_wide(ours), _wide(pytorch(theirs)), rtol=0, atol=6 * epsilon)


def _wide(x: np.ndarray) -> np.ndarray:
    return x.astype(complex)
