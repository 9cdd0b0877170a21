"""``funcgrad.nn.functional`` beside PyTorch: values, and gradients by all float arguments."""

from __future__ import annotations

import pytest

from tests._recorded import PyTorch
from tests.nn import _rows as rows
from tests.nn._compared import Library, assert_close, outcome


@pytest.mark.parametrize("text", rows.FUNCTIONS)
def test_values_and_gradients(text: str, pytorch: PyTorch) -> None:
    expected = pytorch(lambda torch: outcome(Library(torch), text))
    assert_close(outcome(Library(), text), expected, 1e-6)
