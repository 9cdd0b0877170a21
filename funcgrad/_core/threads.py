"""The threads that share a computation on NumPy arrays, which lets go of Python's lock: one pool for all of them."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any


def workers() -> int:
    """How many threads work at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def together(tasks: Sequence[Callable[[], Any]]) -> None:
    """Do all of these, the first in this thread, and return when all are done; what one raises is raised here.

    A task must not call this itself: the threads that it would wait for may be waiting for it.
    """
    # Each in a copy of the caller's context: np.errstate, say, holds for all.
    waiting = [_pool().submit(copy_context().run, task) for task in tasks[1:]]
    try:
        tasks[0]()
    finally:
        # Whatever was raised here, nobody writes to the results any more when this returns. (`wait` takes 7 us more.)
        for one in waiting:
            one.exception()
    for one in waiting:
        one.result()


def each(do: Callable[[Any], Any], parts: Sequence[Any]) -> None:
    """Do this with each of the parts, of which a thread that is free takes the next."""
    # `next` of a counter is one step for all threads.
    numbers = itertools.count()

    def work() -> None:
        while (k := next(numbers)) < len(parts):
            do(parts[k])

    together([work] * min(workers(), len(parts)))


@functools.cache
def _pool() -> ThreadPoolExecutor:
    """The threads, started when they are first needed."""
    return ThreadPoolExecutor(max(workers() - 1, 1), "funcgrad")


# A forked process has no threads but its own.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
