"""Bad calls of ``funcgrad.nn`` are refused with PyTorch's class and text."""

from __future__ import annotations

import pytest

from tests._recorded import PyTorch
from tests.nn._compared import Library, message
from tests.nn._rows_refused import REFUSED


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", REFUSED)
def test_class_and_text(text: str, pytorch: PyTorch) -> None:
    expected = pytorch(lambda torch: message(Library(torch), text))
    assert expected[0] != "nothing"
    assert message(Library(), text) == expected
