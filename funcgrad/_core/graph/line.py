"""The origin of an equation: the user's line, the named blocks around it, and whether it belongs to a derivative."""

from __future__ import annotations

import functools
import linecache
import os
import sys
from collections.abc import Callable
from contextvars import ContextVar
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.tracebacks import PACKAGE

_NUMPY = os.path.dirname(np.__file__) + os.sep


class Block(NamedTuple):
    """A named part of a program. Each call of the part is a new block."""

    name: str
    call: int


# The named blocks around the code that runs now, outermost first.
blocks: ContextVar[tuple[Block, ...]] = ContextVar("funcgrad_blocks", default=())


class Line(NamedTuple):
    """A line of the user's code. ``str`` gives ``file:line`` without folders, or ``In[3]:line`` for a notebook's cell.

    Args:
        path: the file.
        number: the line.
        blocks: the named blocks that it ran in, outermost first.
        backward: whether the equation computes a cotangent for this line.
    """

    path: str
    number: int
    blocks: tuple[Block, ...] = ()
    backward: bool = False

    def __str__(self) -> str:
        return f"{_cell(self.path) or os.path.basename(self.path)}:{self.number}"

    @property
    def text(self) -> str:
        """The text of the line; empty if the file cannot be read."""
        return linecache.getline(self.path, self.number).strip()

    @property
    def back(self) -> Line:
        """The same line, marked as belonging to the backward pass."""
        return self if self.backward else Line(self.path, self.number, self.blocks, True)

    @property
    def place(self) -> Line:
        """The line alone."""
        return Line(self.path, self.number)


def _cell(path: str) -> str | None:
    """Return the name of a notebook's cell, such as ``In[3]``, for which IPython makes a file name; None for a file."""
    ipython = sys.modules.get("IPython")
    shell: Any = ipython.get_ipython() if ipython else None
    name = shell.compile.format_code_name(path) if shell else None
    return name[1] if name else None


# Functions that run recorded operations again: the code of such a function, and a reader of its frames that returns the
# origin of the operation it is running.
Recorded = Callable[[FrameType, Callable[[int], Line | None]], Line | None]
Replaying = dict[str, tuple[CodeType, Recorded]]
# The replaying functions of each file, by name; ``None`` for files outside this package. Each recorded operation looks
# several frames up here.
_files: dict[str, Replaying | None] = {}


def replays(function: Any, recorded: Recorded) -> None:
    """Register a function that runs recorded operations again, and the reader of its frames."""
    code: CodeType = function.__code__
    known = _known(code.co_filename)
    assert known is not None
    known[code.co_name] = code, recorded


def _known(filename: str) -> Replaying | None:
    return _files.setdefault(filename, {} if filename.startswith(PACKAGE) else None)


def user_line(depth: int = 2) -> Line | None:
    """Return the line of the innermost frame outside this package and NumPy."""
    frame = sys._getframe(depth)
    while frame is not None:
        filename = frame.f_code.co_filename
        known = _files[filename] if filename in _files else _known(filename)
        if known is None and not filename.startswith(_NUMPY):
            return Line(filename, frame.f_lineno)
        frame = frame.f_back
    return None


def origin(made_at: Callable[[int], Line | None]) -> Line | None:
    """Return the origin of an operation that is recorded now.

    The frames tell it, so nothing has to be kept while a program runs. A frame belongs to the user's code, to the
    evaluation of a graph (its equations have lines), or to a backward pass (its nodes were recorded with equations).

    Args:
        made_at: returns the origin of the last equation recorded before a serial number.
    """
    # The two frames between belong to the trace and to who calls it, never to the user. Python makes a frame's object
    # when it is asked for, which takes a tenth of the time of an operation.
    frame = sys._getframe(3)
    while frame is not None:
        code = frame.f_code
        try:
            known = _files[code.co_filename]
        except KeyError:
            known = _known(code.co_filename)
        if known is None:
            return _line(code.co_filename, frame.f_lineno, blocks.get())
        if known and (found := known.get(code.co_name)) is not None and found[0] is code:
            return found[1](frame, made_at)
        frame = frame.f_back
    return None


# Loops record the same lines again and again.
_line = functools.lru_cache(10_000)(Line)


def around(frame: FrameType) -> Line:
    """Return the user's line around a frame that cannot tell the origin of what it runs."""
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return Line(frame.f_code.co_filename, frame.f_lineno, blocks.get())


def within(line: Line) -> Line:
    """Return a line recorded before, in the blocks around the code that runs now."""
    outer = blocks.get()
    return line if not outer or line.blocks[: len(outer)] == outer else line._replace(blocks=outer + line.blocks)
