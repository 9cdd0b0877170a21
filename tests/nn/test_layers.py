"""The modules of ``funcgrad.nn`` beside PyTorch: repr, keys, values in both modes, gradients, buffers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from funcgrad import nn
from funcgrad.autograd import tensor
from tests._recorded import PyTorch
from tests.nn._compared import Library, assert_close, module_outcome
from tests.nn._rows_modules import MODULES


def narrowed(x: Any) -> Any:
    """Return a result in float32."""
    if isinstance(x, list):
        return [narrowed(y) for y in x]
    if isinstance(x, dict):
        return {key: narrowed(y) for key, y in x.items()}
    return x.astype(np.float32) if isinstance(x, np.ndarray) and x.dtype == np.float64 else x


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize(("text", "arguments"), MODULES)
def test_module(text: str, arguments: str, pytorch: PyTorch) -> None:
    expected = pytorch(lambda torch: module_outcome(Library(torch), text, arguments))
    assert_close(module_outcome(Library(), text, arguments), expected, 1e-6)
    assert_close(module_outcome(Library(), text, arguments, "float32"), narrowed(expected), 2e-5)


def test_a_batch_of_one_process_is_the_whole_batch() -> None:
    x = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    ours, plain = nn.SyncBatchNorm(3), nn.BatchNorm1d(3)
    np.testing.assert_array_equal(ours(tensor(x)).detach(), plain(tensor(x)).detach())
    assert list(ours.state_dict()) == list(plain.state_dict())
