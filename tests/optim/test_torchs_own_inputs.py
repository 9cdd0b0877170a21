"""PyTorch's own lists of inputs and errors for SGD, where they apply: the same numbers, and the same refusals."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest

from funcgrad.autograd import Tensor, tensor
from funcgrad.interop.torch import from_torch
from funcgrad.optim import SGD

torch = pytest.importorskip("torch")
# Imported, not tried: where PyTorch is, its lists are compared with, or it is seen that they were not.
common = import_module("torch.testing._internal.common_optimizers")

INPUTS = {given.desc or "default": given for given in common.optim_inputs_func_sgd("cpu", torch.float64)}
ERRORS = {given.optimizer_error_input.desc: given for given in common.optim_error_inputs_func_sgd("cpu", torch.float64)}


def options(given: Any) -> dict[str, Any]:
    # Newer PyTorch has a default learning rate.
    return {"lr": 1e-3, **from_torch(given.kwargs)}


@pytest.mark.parametrize("name", INPUTS)
def test_inputs(name: str) -> None:
    rng = np.random.default_rng(0)
    starts = [rng.standard_normal((2, 3)), rng.standard_normal(3)]
    steps = [[rng.standard_normal(x.shape) for x in starts] for _ in range(5)]
    ours = [tensor(x, requires_grad=True) for x in starts]
    theirs = [torch.tensor(x, requires_grad=True) for x in starts]
    mine, its = SGD(ours, **options(INPUTS[name])), torch.optim.SGD(theirs, **INPUTS[name].kwargs)
    for grads in steps:
        for p, q, g in zip(ours, theirs, grads, strict=True):
            p.grad, q.grad = tensor(g), torch.tensor(g)
        mine.step()
        its.step()
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(p.detach(), q.detach().numpy(), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    error = ERRORS[name]
    given = error.optimizer_error_input
    params = [tensor([1.0], requires_grad=True)] if given.params is None else from_torch(given.params)
    if error.error_type is UserWarning:
        with pytest.warns(UserWarning, match=error.error_regex):
            SGD(params, **options(given))
        return
    with pytest.raises(error.error_type, match=error.error_regex):
        SGD(params, **options(given))


def test_the_lists_are_not_empty() -> None:
    assert len(INPUTS) > 5
    assert len(ERRORS) > 5
    assert type(from_torch(torch.ones(1))) is Tensor
