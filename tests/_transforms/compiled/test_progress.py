"""Long compiles are told of, to those who watch and to nobody else."""

import io
import threading
import time
from contextlib import redirect_stderr
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._transforms.compiled import progress


class Terminal(io.StringIO):
    """What a person looks at."""

    def isatty(self) -> bool:
        return True


def compiling(seconds: float) -> None:
    progress.note_if_long("loss", 1234, compiling.__code__)
    time.sleep(seconds)


def wait_for_watchers() -> None:
    for thread in threading.enumerate():
        if thread.name == "funcgrad compiles":
            thread.join(10)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setattr(progress, "_AFTER", (0.1, 0.2))
    monkeypatch.setattr(progress, "_EVERY", 0.02)
    return Terminal()


def test_somebody_who_waits_is_told(terminal: Terminal) -> None:
    with redirect_stderr(terminal):
        compiling(0.3)
    wait_for_watchers()
    lines = terminal.getvalue().splitlines()
    assert lines[:2] == ["funcgrad: XLA is compiling loss (1,234 equations), for 0 s now"] * 2
    assert lines[2].startswith("funcgrad: XLA has compiled loss (1,234 equations) in ")
    assert len(lines) == 3


def test_what_is_quick_is_not_told_of(terminal: Terminal) -> None:
    with redirect_stderr(terminal):
        compiling(0.0)
    wait_for_watchers()
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_files_and_pipes_are_told_nothing(stream: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_AFTER", (0.0,))
    before = threading.active_count()
    with redirect_stderr(stream):
        compiling(0.0)
    assert threading.active_count() == before
    assert stream is None or stream.getvalue() == ""


def test_a_closed_terminal_is_no_terminal() -> None:
    stream = Terminal()
    assert progress.is_watched(stream)
    closed = io.StringIO()
    closed.close()
    assert not progress.is_watched(closed)


def test_a_compiled_function_asks(terminal: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        progress, "_watch", lambda stream, what, frame, thread: asked.append((what, frame.f_code.co_name))
    )
    f = fg.jit(lambda x: np.sin(x) * 2)
    with redirect_stderr(terminal):
        f(np.ones(3))
        f(np.ones(3))
    wait_for_watchers()
    assert asked == [("<lambda> (2 equations)", "__call__")]
