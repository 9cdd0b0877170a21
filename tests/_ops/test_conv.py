"""Small convolutions keep their columns for the kernel's cotangent."""

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import nn
from funcgrad._ops.contract import conv as module
from funcgrad.autograd import grad, tensor
from funcgrad.testing import check_grads

SMALL = ((5, 4, 9, 8), (6, 2, 3, 2))
OPTIONS = {"stride": (2, 1), "padding": (1, 2), "dilation": (1, 2), "groups": 2}


def _counting(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    calls: list[int] = []
    usual = module.kernel_bar_of
    monkeypatch.setattr(module, "kernel_bar_of", lambda *args: [calls.append(1), usual(*args)][1])
    return calls


def _loss(x: Any, kernel: Any) -> Any:
    return np.sum(np.sin(nn.conv2d(x, kernel, **OPTIONS)))


@pytest.mark.parametrize("argnums", [0, 1, (0, 1)])
def test_kept_columns_give_the_derivative(
    argnums: Any, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiled function, which keeps none, has the same gradient; so have higher derivatives."""
    calls = _counting(monkeypatch)
    operands = [rng.normal(size=shape) for shape in SMALL]
    found = fg.grad(_loss, argnums=argnums)(*operands)
    assert bool(calls) == (argnums != 0)
    expected = fg.jit(fg.grad(_loss, argnums=argnums), engine="numpy")(*operands)
    for one, other in zip(fg.tree.leaves(found), fg.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
    check_grads(_loss, operands, order=2)


def test_a_recorded_pass_has_derivatives(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    """With `create_graph` the pass uses operations that can be differentiated by all operands."""
    calls = _counting(monkeypatch)
    x, kernel = [tensor(rng.normal(size=shape), requires_grad=True) for shape in SMALL]
    bars = grad(_loss(x, kernel), (x, kernel), create_graph=True)
    assert not calls
    found = grad(sum((bar**2).sum() for bar in bars), (x, kernel))

    def squares(x: np.ndarray, kernel: np.ndarray) -> Any:
        bars = fg.grad(_loss, argnums=(0, 1))(x, kernel)
        return sum(np.sum(bar**2) for bar in bars)

    expected = fg.grad(squares, argnums=(0, 1))(x.detach().numpy(), kernel.detach().numpy())
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-10, atol=1e-10)


def test_images_that_are_overwritten_before_the_pass(rng: np.random.Generator) -> None:
    """With tensors the pass is refused, as in PyTorch. Of a plain array it reads the numbers before the write."""
    x, kernel = (rng.normal(size=shape) for shape in SMALL)
    images = tensor(x.copy())
    y = nn.conv2d(images, tensor(kernel, requires_grad=True), **OPTIONS).sum()
    images.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()

    def overwriting(kernel: np.ndarray) -> np.ndarray:
        y = np.sum(nn.conv2d(x, kernel, **OPTIONS))
        x[...] = 1
        return y

    expected = fg.grad(lambda kernel: np.sum(nn.conv2d(x, kernel, **OPTIONS)))(kernel)
    np.testing.assert_allclose(fg.grad(overwriting)(kernel), expected, rtol=1e-12)
