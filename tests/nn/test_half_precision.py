"""Norms of half precision compute in float32, as PyTorch's do: squares overflow above 256 and vanish below 2e-4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import torch

F = torch.nn.functional

FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "layer_norm": lambda x, w: (F.layer_norm(x, (4,)) * w).sum(),
    "rms_norm": lambda x, w: (F.rms_norm(x, (4,)) * w).sum(),
    "group_norm": lambda x, w: (F.group_norm(x.reshape(1, 4), 1) * w).sum(),
    "normalize": lambda x, w: (F.normalize(x, dim=0) * w).sum(),
    "std": lambda x, w: x.std() + 0 * w.sum(),
    "var": lambda x, w: x.var() + 0 * w.sum(),
}


@pytest.mark.parametrize("size", [1e-4, 200.0, 1e4])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_in_float32(name: str, size: float) -> None:
    values, weights = np.array([1.0, 0.5, -1.0, 0.9]) * size, [1.0, 2.0, 3.0, 4.0]
    found = []
    for dtype in (torch.float16, torch.float32):
        x = torch.tensor(values.astype(np.float16).astype(float), dtype=dtype, requires_grad=True)
        # Half precision ends at 65504, and so does the variance.
        with np.errstate(over="ignore"):
            y = FUNCTIONS[name](x, torch.tensor(weights, dtype=dtype))
            assert y.dtype == dtype
            y.backward()
            found.append([each.astype(np.float16).astype(float) for each in (y.detach().numpy(), x.grad.numpy())])
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=5e-3, atol=5e-3 * (name not in {"std", "var"}))
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=5e-3, atol=4e-3 * np.max(np.abs(found[1][1])))


@pytest.mark.parametrize("shape", [(0, 3), (0, 3, 4), (0, 3, 2, 2)])
def test_an_empty_batch(shape: tuple[int, ...]) -> None:
    x, weight, bias = torch.zeros(shape, requires_grad=True), torch.ones(3, requires_grad=True), torch.zeros(3)
    F.batch_norm(x, None, None, weight, bias, training=True).sum().backward()
    assert weight.grad.tolist() == [0, 0, 0]
    assert x.grad.shape == shape
