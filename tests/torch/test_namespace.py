"""The whole namespace is light, says which names are missing, and takes arrays and traced values."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import torch
from funcgrad.torch import _names
from tests._recorded import PyTorch


def test_neither_pytorch_nor_jax_is_imported() -> None:
    code = "import sys, funcgrad.torch; print(sorted({'torch', 'jax', 'numba'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_modules_are_those_of_the_rooms() -> None:
    code = (
        "import funcgrad.torch.nn as nn, funcgrad.torch.nn.functional as F\n"
        "from funcgrad.torch.optim.lr_scheduler import StepLR\n"
        "import funcgrad.nn.functional, funcgrad.optim\n"
        "print(nn is funcgrad.nn, F is funcgrad.nn.functional, StepLR is funcgrad.optim.lr_scheduler.StepLR)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True True True\n"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("zerooos", r"The nearest name here is torch\.zeros"),
        ("quantize_per_tensor", "quantized dtypes"),
        ("jit", r"compiled by fg\.jit"),
        ("sparse_coo_tensor", r"funcgrad\.sparse"),
        ("ComplexFloatTensor", r"torch\.tensor\(\.\.\., dtype=\.\.\.\)"),
        ("lstsq", r"torch\.linalg"),
    ],
)
def test_a_missing_name_says_why(name: str, message: str) -> None:
    with pytest.raises(AttributeError, match=message):
        getattr(torch, name)


@pytest.mark.parametrize("module", ["linalg", "fft", "special", "func", "autograd", "distributions"])
def test_a_missing_name_of_a_module_is_refused(module: str) -> None:
    with pytest.raises(AttributeError, match=f"module 'funcgrad.torch.{module}' has no attribute 'nothing_such'"):
        getattr(getattr(torch, module), "nothing_such")  # noqa: B009  (the name is not there)


def test_most_of_pytorchs_functions_are_here(pytorch: PyTorch) -> None:
    def names(module: Any) -> list[str]:
        found = [each for each in dir(module) if not each.startswith("_") and callable(getattr(module, each))]
        return sorted(each for each in found if not isinstance(getattr(module, each), type))

    theirs = pytorch(names)
    unexplained = [each for each in theirs if not hasattr(torch, each) and _names.reason(each) == _names.UNWRITTEN]
    here = [each for each in theirs if hasattr(torch, each)]
    assert len(here) >= 430
    assert len(unexplained) <= 90, unexplained


@pytest.fixture
def doubles() -> Any:
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


@pytest.mark.usefixtures("doubles")
def test_the_default_dtype() -> None:
    assert torch.get_default_dtype() == torch.float64
    assert torch.tensor([1.0]).dtype == torch.float64
    assert torch.zeros(2).dtype == torch.float64
    assert torch.tensor([1, 2]).exp().dtype == torch.float64
    assert (torch.tensor([1, 2]) / 2).dtype == torch.float64
    assert torch.tensor([1j]).dtype == torch.complex128
    assert repr(torch.tensor([1.0])) == "tensor([1.])"


def test_results_go_into_out() -> None:
    out = torch.zeros(3)
    assert torch.add(torch.ones(3), 1, out=out) is out
    assert out.tolist() == [2.0, 2.0, 2.0]
    empty = torch.empty(0)
    torch.exp(torch.zeros(2), out=empty)
    assert empty.tolist() == [1.0, 1.0]
    with pytest.warns(UserWarning, match="was resized since it had shape"):
        torch.exp(torch.zeros(2), out=out)
    assert out.shape == (2,)
    values, indices = torch.zeros(2), torch.zeros(2, dtype=torch.int64)
    torch.max(torch.tensor([[1.0, 3.0], [5.0, 2.0]]), 1, out=(values, indices))
    assert (values.tolist(), indices.tolist()) == ([3.0, 5.0], [1, 0])
    with pytest.raises(RuntimeError, match=r"functions with out=\.\.\. arguments don't support automatic"):
        torch.exp(torch.zeros(2, requires_grad=True), out=torch.zeros(2))
    with torch.no_grad():
        torch.exp(torch.zeros(2, requires_grad=True), out=empty)


def test_memory_is_shared_with_arrays() -> None:
    array = np.zeros(3)
    t = torch.from_numpy(array)
    t[0] = 1.0
    array[1] = 2.0
    assert t.tolist() == [1.0, 2.0, 0.0]
    assert torch.as_tensor(array).numpy() is array
    assert torch.tensor(array).numpy() is not array


@pytest.mark.parametrize("engine", ["numpy", "numba", "xla"])
def test_functions_under_transforms(engine: str) -> None:
    def f(x: Any) -> Any:
        y = torch.cat([x, torch.relu(x)], dim=0)
        values = torch.topk(y, 2, dim=0).values
        return torch.sum(torch.softmax(y, dim=1)) + torch.logsumexp(values, dim=0).sum()

    x = np.array([[0.5, -1.0], [2.0, 0.3]])
    t = torch.tensor(x, requires_grad=True)
    f(t).backward()
    np.testing.assert_allclose(fg.grad(f)(x), t.grad, rtol=1e-12)
    np.testing.assert_allclose(fg.jit(fg.grad(f), engine=engine)(x), t.grad, rtol=1e-10)
    np.testing.assert_allclose(fg.vmap(f)(np.stack([x, 2 * x]))[0], f(x), rtol=1e-12)


def test_arrays_give_arrays() -> None:
    assert isinstance(torch.exp(np.zeros(2)), np.ndarray)
    assert isinstance(torch.cat([np.zeros(2), np.ones(1)]), np.ndarray)
    found = torch.max(np.array([[1.0, 2.0]]), dim=1)
    assert isinstance(found.values, np.ndarray)


def test_inference_mode() -> None:
    x = torch.ones(2, requires_grad=True)
    with torch.inference_mode():
        assert not (2 * x).requires_grad
        assert torch.is_inference_mode_enabled()
    with torch.inference_mode(False):
        assert (2 * x).requires_grad
    for decorate in (torch.inference_mode(), torch.inference_mode):
        called: Callable[[Any], Any] = decorate(lambda x: 2 * x)
        assert not called(x).requires_grad


def test_the_state_of_the_random_numbers() -> None:
    torch.manual_seed(5)
    torch.randn(3)
    state = torch.get_rng_state()
    first = torch.randn(20), torch.rand(3), torch.randn(1)
    torch.set_rng_state(state)
    again = torch.randn(20), torch.rand(3), torch.randn(1)
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert torch.initial_seed() == 5
    g = torch.Generator().manual_seed(5)
    assert torch.equal(torch.rand(2, generator=g), torch.rand(2, generator=torch.Generator().manual_seed(5)))
    with pytest.raises(RuntimeError, match="RNG state is wrong size"):
        torch.set_rng_state(torch.zeros(3, dtype=torch.uint8))


def test_print_options() -> None:
    x = torch.tensor([1.23456, 1e-6])
    try:
        torch.set_printoptions(precision=2, sci_mode=False)
        assert repr(x) == "tensor([1.23, 0.00])"
        torch.set_printoptions(threshold=3, edgeitems=1)
        assert repr(torch.arange(5)) == "tensor([0,  ..., 4])"
        with pytest.raises(ValueError, match="needed one of default, short, full"):
            torch.set_printoptions(profile="other")
    finally:
        torch.set_printoptions(profile="default")
    assert repr(torch.tensor([1.23456])) == "tensor([1.2346])"


def test_settings_of_pytorchs_kernels_are_accepted() -> None:
    # PyTorch's own test utilities freeze these settings in a process, so no program that both libraries run has them.
    torch.backends.cudnn.benchmark = False
    torch.backends.cudnn.deterministic = True
    torch.use_deterministic_algorithms(True)
    torch.use_deterministic_algorithms(False)


def test_namespaces_that_programs_import_without_need() -> None:
    import_module("funcgrad.torch.onnx")
    distributed = import_module("funcgrad.torch.distributed")
    assert not distributed.is_available()
    assert not torch.distributed.is_initialized()
    with pytest.raises(AttributeError, match=r"torch\.onnx' has no attribute 'export': ONNX files are not written"):
        torch.onnx.export  # noqa: B018  (the name is missing)


def test_inner_modules_are_attributes() -> None:
    nn: Any = torch.nn
    assert nn.modules.dropout.Dropout is nn.modules.Dropout is nn.Dropout
    assert nn.parameter.Parameter is nn.Parameter
    assert torch.distributions.normal.Normal is torch.distributions.Normal
    assert torch.utils.data.dataset.Dataset is torch.utils.data.Dataset
