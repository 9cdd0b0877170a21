"""Shrink programs that are lines of Python: leave out lines as long as the same check fails in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.laws.fuzz.check import Report

SECONDS = 60.0

# Returns the findings of a program. Each text begins with the name of its check and a colon.
Find = Callable[[Any, Report], list[str]]


def shrunk(program: Any, what: str, findings: Find, seconds: float = SECONDS) -> tuple[Any, str]:
    """Return the program without the lines that the finding does not need, and its finding.

    ``program`` is a frozen dataclass with a field ``source``.
    """
    end, progress = time.monotonic() + seconds, True
    while progress:
        progress = False
        for source in _shorter(program.source):
            if time.monotonic() > end:
                return program, what
            smaller = replace(program, source=source)
            if (found := _fails(smaller, key_of(what), findings)) is not None:
                program, what, progress = smaller, found, True
                break
    return program, what


def key_of(what: str) -> str:
    """Return the name of the check that failed, and in what way."""
    return ":".join(what.split(":")[:2])


def _fails(program: Any, key: str, findings: Find) -> str | None:
    try:
        found = findings(program, Report())
    except Exception:  # noqa: BLE001  (no program any more)
        return None
    return next((what for what in found if key_of(what) == key), None)


def _shorter(source: str) -> Iterator[str]:
    """Return the source without each block, without each line that opens a block, and without each other line."""
    lines = source.splitlines()
    for i in range(len(lines) - 2, 0, -1):
        depth = _depth(lines[i])
        end = next((k for k in range(i + 1, len(lines)) if _depth(lines[k]) <= depth), len(lines))
        yield "\n".join([*lines[:i], *lines[end:]]) + "\n"
        if end > i + 1:
            inside = [line[4:] for line in lines[i + 1 : end]]
            yield "\n".join([*lines[:i], *inside, *lines[end:]]) + "\n"


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
