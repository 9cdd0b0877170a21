"""The modules of ``funcgrad.nn`` beside PyTorch: repr, keys, values in both modes, gradients, buffers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests._recorded import PyTorch
from tests.nn import _rows as rows
from tests.nn._compared import Library, assert_close, module_outcome


def narrowed(x: Any) -> Any:
    """Return a result in float32."""
    if isinstance(x, list):
        return [narrowed(y) for y in x]
    if isinstance(x, dict):
        return {key: narrowed(y) for key, y in x.items()}
    return x.astype(np.float32) if isinstance(x, np.ndarray) and x.dtype == np.float64 else x


@pytest.mark.filterwarnings("ignore:enable_nested_tensor is True")
@pytest.mark.parametrize(("text", "arguments"), rows.MODULES)
def test_module(text: str, arguments: str, pytorch: PyTorch) -> None:
    expected = pytorch(lambda torch: module_outcome(Library(torch), text, arguments))
    assert_close(module_outcome(Library(), text, arguments), expected, 1e-6)
    assert_close(module_outcome(Library(), text, arguments, "float32"), narrowed(expected), 2e-5)
