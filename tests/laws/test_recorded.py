"""PyTorch's recorded answers: they are read as they were given, and a difference is noticed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests import _recorded
from tests._recorded import PyTorch, assert_same, decoded, encoded, save

ANSWERS: list[Any] = [
    *[np.array([[1, 0, 3]], dtype) for dtype in (bool, int, np.float16, np.float32, float, complex, np.complex64)],
    np.array([0.1, np.nan, -np.inf, -0.0, 5e-324]),
    np.array([1.5, np.nan], ml_dtypes.bfloat16),
    np.zeros((0, 2)),
    np.array(2.5),
    [None, True, 3, 0.1, "text", {"a": [np.ones(2)]}],
]


@pytest.mark.parametrize("answer", ANSWERS, ids=repr)
def test_what_is_written_is_what_is_read(answer: Any) -> None:
    again = decoded(json.loads(json.dumps(encoded(answer))))
    assert_same(again, answer)
    if isinstance(answer, np.ndarray):
        assert again.tobytes() == answer.tobytes()


@pytest.mark.parametrize(
    ("found", "recorded"),
    [
        (1.0, 1.1),
        (1, 1.0),
        ("a", "b"),
        ([1], [1, 2]),
        (np.ones(2), np.ones((2, 1))),
        (np.ones(2), np.ones(2, np.float32)),
        (np.ones(2), np.array([1, np.nan])),
        (np.ones(2), np.array([1, 1 + 1e-6])),
    ],
)
def test_differences_are_noticed(found: Any, recorded: Any) -> None:
    with pytest.raises(AssertionError):
        assert_same(found, recorded)


def test_what_json_has_no_form_for() -> None:
    with pytest.raises(TypeError, match="record: set has no form in JSON"):
        encoded({1})


def test_answers_without_pytorch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_recorded, "HAS_TORCH", False)
    save(tmp_path / "recorded" / "test_some.json", {"test_a 1": encoded(np.arange(3)), "test_a 2": "two"})
    ask = PyTorch(tmp_path / "test_some.py", "test_a", None)
    np.testing.assert_array_equal(ask(lambda torch: torch.arange(3)), [0, 1, 2])
    assert ask(lambda torch: "something else") == "two"
    with pytest.raises(pytest.fail.Exception, match=r"no answer of PyTorch to 'test_a 3': `make record` writes"):
        ask(lambda torch: 0)
