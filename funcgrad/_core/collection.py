"""Python's search for cycles, made rare while a program is staged and while its code is written.

A long program has hundreds of thousands of equations. They have no cycles, and Python's collector would go through them
again and again: half of the time of staging. Memory that is free at once is freed as always.
"""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator

# New objects between two searches. Python's own number is some hundreds to thousands.
_RARE = 4_000_000

_lock = threading.Lock()
_inside = 0
_before: tuple[int, int, int] = (0, 0, 0)


@contextlib.contextmanager
def rare_collection() -> Iterator[None]:
    """Make searches for cycles rare while this is entered in any thread. A collector that is rarer stays so."""
    global _inside, _before  # noqa: PLW0603  (the collector's settings are the interpreter's)
    with _lock:
        _inside += 1
        if _inside == 1:
            _before = gc.get_threshold()
            if 0 < _before[0] < _RARE:
                gc.set_threshold(_RARE, *_before[1:])
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            # The user's function may have set thresholds of its own: these stay.
            if _inside == 0 and gc.get_threshold() == (_RARE, *_before[1:]):
                gc.set_threshold(*_before)
