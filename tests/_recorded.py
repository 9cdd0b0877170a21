"""Answers of PyTorch: computed if PyTorch is installed, else read from recordings.

The recordings of ``tests/nn/test_utils.py`` are in ``tests/nn/recorded/test_utils.json``, one line for each answer.
``make record`` writes them anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

HAS_TORCH = find_spec("torch") is not None
# PyTorch's kernels differ between processors in the last digits. Narrow dtypes keep fewer digits.
Tolerance = dict[str, Any]
WIDE: Tolerance = {"rtol": 1e-9, "atol": 1e-11}
NARROW: Tolerance = {"rtol": 1e-4, "atol": 1e-5}


class PyTorch:
    """PyTorch's answers in one test, in the order in which the test asks for them.

    A call takes a function of the module ``torch`` and returns what that function returns, as numbers, texts, NumPy
    arrays, lists and dictionaries. With PyTorch, the function is run and its answer is held to the recorded one.
    """

    def __init__(self, file: Path, test: str, new: dict[Path, dict[str, Any]] | None) -> None:
        """Answer ``test`` of ``file``. If ``new`` is a dictionary, store the answers in it for the recording."""
        self.path = file.parent / "recorded" / f"{file.stem}.json"
        self.test, self.new, self.asked = test, new, 0

    def __call__(self, compute: Callable[[Any], Any], narrow: Tolerance = NARROW) -> Any:
        """Return the answer of ``compute(torch)``. ``narrow`` is how close narrow dtypes are to the recording."""
        self.asked += 1
        key = f"{self.test} {self.asked}"
        if not HAS_TORCH:
            return decoded(self._recorded(key))
        answer = encoded(compute(import_module("torch")))
        if self.new is not None:
            self.new.setdefault(self.path, {})[key] = answer
        else:
            assert_same(decoded(answer), decoded(self._recorded(key)), narrow)
        return decoded(answer)

    def _recorded(self, key: str) -> Any:
        held = load(self.path)
        if key not in held:
            pytest.fail(f"{self.path.name} has no answer of PyTorch to {key!r}: `make record` writes the file anew.")
        return held[key]


@cache
def load(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}


def save(path: Path, answers: dict[str, Any]) -> None:
    """Write one line for each answer, so that a changed answer is a changed line."""
    path.parent.mkdir(exist_ok=True)
    lines = [f"{json.dumps(key)}: {json.dumps(answer, separators=(',', ':'))}" for key, answer in answers.items()]
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def encoded(x: Any) -> Any:
    """Return ``x`` in a form for JSON; arrays keep their dtype and shape."""
    if isinstance(x, np.ndarray):
        parts = [x.real, x.imag] if x.dtype.kind == "c" else [x]
        numbers = [y.ravel().astype(float if x.dtype.kind not in "biu" else x.dtype).tolist() for y in parts]
        return {"dtype": x.dtype.name, "shape": list(x.shape), "values": numbers}
    if isinstance(x, dict):
        assert "dtype" not in x
        return {str(key): encoded(value) for key, value in x.items()}
    if isinstance(x, list | tuple):
        return [encoded(y) for y in x]
    if isinstance(x, np.generic):
        return x.item()
    if x is None or isinstance(x, str | int | float):
        return x
    raise TypeError(f"record: {type(x).__name__} has no form in JSON; return numbers, texts, arrays, lists of them")


def decoded(x: Any) -> Any:
    """Return the value that ``encoded`` was given, with lists for tuples."""
    if isinstance(x, list):
        return [decoded(y) for y in x]
    if not isinstance(x, dict):
        return x
    if "dtype" not in x:
        return {key: decoded(value) for key, value in x.items()}
    dtype = np.dtype(getattr(ml_dtypes, x["dtype"], x["dtype"]))
    values = [np.array(y) for y in x["values"]]
    whole = values[0] + 1j * values[1] if len(values) == 2 else values[0]
    return whole.astype(dtype).reshape(x["shape"])


def assert_same(found: Any, recorded: Any, narrow: Tolerance = NARROW) -> None:
    """Compare an answer of the installed PyTorch with the recorded one."""
    assert type(found) is type(recorded), f"PyTorch answers {found!r}; recorded is {recorded!r}"
    if isinstance(found, list | dict):
        assert len(found) == len(recorded)
        keys = found if isinstance(found, dict) else range(len(found))
        for key in keys:
            assert_same(found[key], recorded[key], narrow)
    elif isinstance(found, np.ndarray):
        assert (found.dtype, found.shape) == (recorded.dtype, recorded.shape)
        is_narrow = found.dtype.name in {"float32", "complex64", "float16", "bfloat16"}
        kind = complex if found.dtype.kind == "c" else float
        np.testing.assert_allclose(found.astype(kind), recorded.astype(kind), **(narrow if is_narrow else WIDE))
    elif isinstance(found, float):
        np.testing.assert_allclose(found, recorded, **WIDE)
    else:
        assert found == recorded


def read_golden(path: Path) -> dict[str, np.ndarray]:
    """Return the arrays of an ``.npz`` file, and close the file."""
    with np.load(path, allow_pickle=False) as held:
        return {name: held[name] for name in held.files}
