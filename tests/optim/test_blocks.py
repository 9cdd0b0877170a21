"""Steps in blocks on NumPy arrays: what the threads share with the caller."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core import threads
from funcgrad._engines.source import flat
from funcgrad._engines.source.flat import BLOCK, THREADED

SIZE = 4 * max(BLOCK, THREADED)


@pytest.fixture
def two_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads on a machine of any size."""
    monkeypatch.setattr(threads, "workers", lambda: 2)


def overflowing(at: slice) -> tuple[np.ndarray, np.ndarray]:
    """Parameters and gradients of which some overflow when they are added up."""
    params, grads = np.ones(SIZE, np.float32), np.ones(SIZE, np.float32)
    params[at] = grads[at] = np.finfo(np.float32).max
    return params, grads


@pytest.fixture
def by_ufuncs(monkeypatch: pytest.MonkeyPatch) -> None:
    """The step runs as it does without Numba."""
    monkeypatch.setattr(flat, "kernels_usable", lambda: False)


@pytest.mark.usefixtures("two_workers", "by_ufuncs")
@pytest.mark.parametrize("at", [slice(0, 1), slice(-1, None)], ids=["the caller's part", "the worker's part"])
def test_error_state_of_the_caller_holds_in_every_thread(at: slice) -> None:
    params, grads = overflowing(at)
    state = fg.sgd_init(params, lr=0.5, weight_decay=2.0)
    with np.errstate(over="raise"), pytest.raises(FloatingPointError, match="overflow"):
        fg.sgd_update(grads, state, params)
    with np.errstate(over="ignore", invalid="ignore"):
        new, _ = fg.sgd_update(grads, state, params)
    assert np.isinf(new[at]).all()
    assert np.isfinite(new).sum() == SIZE - 1
    with pytest.warns(RuntimeWarning, match="overflow"):
        fg.sgd_update(grads, state, params)


@pytest.mark.usefixtures("two_workers", "by_ufuncs")
def test_context_variables_of_the_caller_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="lost")
    seen: set[tuple[int, str]] = set()
    call: Callable[..., Any] = flat._call
    both = threading.Barrier(2, timeout=60)

    def watched(*args: Any) -> None:
        if threading.get_ident() not in {thread for thread, _ in seen}:
            seen.add((threading.get_ident(), variable.get()))
            # Neither thread does all the work before the other one begins.
            both.wait()
        call(*args)

    monkeypatch.setattr(flat, "_call", watched)
    variable.set("kept")
    params = np.ones(SIZE, np.float32)
    fg.sgd_update(params, fg.sgd_init(params, lr=0.1), params)
    assert len(seen) == 2
    assert {value for _, value in seen} == {"kept"}
