"""A plugin for pytest: it writes the tests that passed, with their CPU time, to the file CLIENTS_REPORT.

Time on the clock says little on a machine that does other work too. pymanopt's tests import TensorFlow and PyTorch,
whose part of them is not run: where one of them is not installed, an empty module stands for it, with what a fixture
seeds.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

_seconds: dict[str, float | None] = {}


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[Any]:
    """Measure a test itself, without its fixtures."""
    start = time.process_time()
    try:
        return (yield)
    finally:
        _seconds[item.nodeid] = time.process_time() - start


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A test that failed or was skipped in one of its phases has no time."""
    if not report.passed:
        _seconds[report.nodeid] = None


def pytest_sessionfinish() -> None:
    """Write the times."""
    where = os.environ.get("CLIENTS_REPORT")
    if where:
        Path(where).write_text(json.dumps(_seconds))


def stand_in(name: str, **attributes: object) -> None:
    """Make ``import name`` give an empty module, unless there is a real one."""
    if name not in sys.modules and importlib.util.find_spec(name) is None:
        module = ModuleType(name)
        vars(module).update(attributes)
        sys.modules[name] = module


def seeded(seed: int) -> None:
    """Do nothing: there are no random numbers to seed."""
    del seed


if __name__ == "measured":
    stand_in("tensorflow", random=SimpleNamespace(set_seed=seeded))
    # SciPy asks whether arrays are of this class whenever a module of that name is loaded.
    stand_in("torch", manual_seed=seeded, autograd=SimpleNamespace(), Tensor=type("Tensor", (), {}))
