"""What is said to somebody who watches while XLA takes long to compile: of which function, and since when."""

from __future__ import annotations

import sys
import threading
import time
from types import CodeType, FrameType
from typing import Any

# Who waits for so many seconds wonders; then once a minute. How often it is looked at whether it is over.
_AFTER = (3.0, 10.0, 30.0, 60.0)
_EVERY = 0.25


def note_if_long(name: str, equations: int, door: CodeType) -> None:
    """Say that a function is being compiled, if that takes seconds and somebody watches: never into files or pipes.

    To be called while it is staged. Another thread looks whether the call of ``door`` that this runs in goes on: calls
    of what is compiled already pay nothing.
    """
    stream = sys.stderr
    if not is_watched(stream):
        return
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not door:
        frame = frame.f_back
    if frame is not None:
        arguments = stream, f"{name} ({equations:,} equations)", frame, threading.get_ident()
        threading.Thread(target=_watch, args=arguments, name="funcgrad compiles", daemon=True).start()


def is_watched(stream: Any) -> bool:
    """Whether a stream is a terminal, or shown in a notebook."""
    if type(stream).__module__.startswith("ipykernel."):
        return True
    try:
        return bool(stream.isatty())
    except (AttributeError, ValueError):
        # There is none, as in a program without a console, or it is closed.
        return False


def _watch(stream: Any, what: str, frame: FrameType, thread: int) -> None:
    begin = time.monotonic()
    told = 0
    while _goes_on(frame, thread):
        seconds = time.monotonic() - begin
        if seconds >= (_AFTER[told] if told < len(_AFTER) else 60.0 * (told - len(_AFTER) + 2)):
            told += 1
            # A line of its own each time: others write to the stream too.
            _say(stream, f"XLA is compiling {what}, for {seconds:.0f} s now")
        time.sleep(min(_EVERY, _AFTER[0]))
    if told:
        _say(stream, f"XLA has compiled {what} in {time.monotonic() - begin:.1f} s")


def _say(stream: Any, text: str) -> None:
    stream.write(f"funcgrad: {text}\n")
    stream.flush()


def _goes_on(frame: FrameType, thread: int) -> bool:
    """Whether a thread is still in a call."""
    running = sys._current_frames().get(thread)  # noqa: SLF001  (Python's way to see another thread's frames)
    while running is not None and running is not frame:
        running = running.f_back
    return running is frame
