"""The origin of an equation: the user's line, the named blocks around it, and whether it belongs to a derivative."""

from __future__ import annotations

import functools
import linecache
import os
import sys
import threading
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


# Functions that run recorded operations again have a reader of their frames, which returns the origin of the operation
# that such a function is running.
Recorded = Callable[[FrameType, Callable[[int], Line | None]], Line | None]


# For each code of a function, by its id: the lines that were met by their places in the code, the reader of its frames
# if it replays operations, or ``None`` for other code of this package. Each recorded operation looks several frames up.
_codes: dict[int, dict[int, Line] | Recorded | None] = {}
# The codes themselves, which are kept so that no other one gets the id of one. Notebooks make new code again and again.
_kept: list[CodeType] = []
_MOST_CODES = 10_000
_adding = threading.Lock()
_replaying: dict[CodeType, Recorded] = {}


def replays(function: Any, recorded: Recorded) -> None:
    """Register a function that runs recorded operations again, and the reader of its frames."""
    _replaying[function.__code__] = recorded


def _known(code: CodeType) -> dict[int, Line] | Recorded | None:
    known = _replaying.get(code) if code.co_filename.startswith(PACKAGE) else {}
    with _adding:
        if len(_kept) >= _MOST_CODES:
            _codes.clear()
            _kept.clear()
        _kept.append(code)
        _codes[id(code)] = known
    return known


def user_line(depth: int = 2) -> Line | None:
    """Return the line of the innermost frame outside this package and NumPy."""
    frame = sys._getframe(depth)
    while frame is not None:
        filename = frame.f_code.co_filename
        if not filename.startswith((PACKAGE, _NUMPY)):
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
        known: Any
        try:
            known = _codes[id(code)]
        except KeyError:
            known = _known(code)
        if type(known) is dict:
            # Python counts the lines of a function up to this one, which takes as long as the rest of this function.
            place = frame.f_lasti
            line = known.get(place)
            if line is None or line.blocks is not blocks.get():
                line = known[place] = _line(code.co_filename, frame.f_lineno, blocks.get())
            return line
        if known is not None:
            return known(frame, made_at)
        frame = frame.f_back
    return None


# Equal lines are one object.
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
