"""Where an equation comes from: the user's line, the named blocks around it, and whether it is on the way back."""

from __future__ import annotations

import linecache
import os
import sys
from collections.abc import Callable
from contextvars import ContextVar
from types import CodeType, FrameType
from typing import Any, NamedTuple

from funcgrad._core.tracebacks import PACKAGE


class Block(NamedTuple):
    """A named part of a program; each call of it is a block of its own."""

    name: str
    call: int


# The named blocks around what runs now, outermost first.
blocks: ContextVar[tuple[Block, ...]] = ContextVar("funcgrad_blocks", default=())


class Line(NamedTuple):
    """A line of the user's code; ``str`` gives ``file:line``, without the folders.

    Args:
        path: the file.
        number: the line.
        blocks: the named blocks that it ran in, outermost first.
        backward: whether the equation belongs to the way back from this line.
    """

    path: str
    number: int
    blocks: tuple[Block, ...] = ()
    backward: bool = False

    def __str__(self) -> str:
        return f"{os.path.basename(self.path)}:{self.number}"

    @property
    def text(self) -> str:
        """What stands there; nothing where the file cannot be read."""
        return linecache.getline(self.path, self.number).strip()

    @property
    def back(self) -> Line:
        """The same on the way back."""
        return self if self.backward else Line(self.path, self.number, self.blocks, True)

    @property
    def place(self) -> Line:
        """The line alone."""
        return Line(self.path, self.number)


# What runs again what was recorded before: its code, and what reads from its frame where that came from.
Recorded = Callable[[FrameType, Callable[[int], Line | None]], Line | None]
Replaying = dict[str, tuple[CodeType, Recorded]]
# By file, what in it does so, by name; ``None`` for files that are not of this package. Of each operation that is
# recorded it is asked for several frames.
_files: dict[str, Replaying | None] = {}


def replays(function: Any, recorded: Recorded) -> None:
    """Say of a function that it runs again what was recorded, and how its frames tell what that is."""
    code: CodeType = function.__code__
    known = _known(code.co_filename)
    assert known is not None
    known[code.co_name] = code, recorded


def _known(filename: str) -> Replaying | None:
    return _files.setdefault(filename, {} if filename.startswith(PACKAGE) else None)


def user_line(depth: int = 2) -> Line | None:
    """The line of the innermost frame outside this package."""
    frame = sys._getframe(depth)
    while frame is not None:
        filename = frame.f_code.co_filename
        known = _files[filename] if filename in _files else _known(filename)
        if known is None:
            return Line(filename, frame.f_lineno)
        frame = frame.f_back
    return None


def origin(made_at: Callable[[int], Line | None]) -> Line | None:
    """Where an operation that is recorded now comes from.

    The frames say it, so that nothing needs to be kept for it while a program runs: of the user's code, of a graph that
    is evaluated, whose equations know, or of the pass back over a tape, whose nodes were recorded with an equation.

    Args:
        made_at: where the last equation comes from that was recorded before a serial number.
    """
    frame = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        filename = code.co_filename
        known = _files[filename] if filename in _files else _known(filename)
        if known is None:
            return Line(filename, frame.f_lineno, blocks.get())
        if known and (found := known.get(code.co_name)) is not None and found[0] is code:
            return found[1](frame, made_at)
        frame = frame.f_back
    return None


def around(frame: FrameType) -> Line:
    """The user's line around a frame that cannot say where what it runs is from."""
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return Line(frame.f_code.co_filename, frame.f_lineno, blocks.get())


def within(line: Line) -> Line:
    """A line recorded before, in the blocks around what runs now."""
    outer = blocks.get()
    return line if not outer or line.blocks[: len(outer)] == outer else line._replace(blocks=outer + line.blocks)
