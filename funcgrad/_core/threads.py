"""One pool of threads for computations on NumPy arrays, which release Python's lock."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any


def workers() -> int:
    """Return how many threads work at once."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def together(tasks: Sequence[Callable[[], Any]]) -> None:
    """Run all tasks, the first in this thread; return when all are done, or raise the error of one of them.

    A task must not call this function: the threads that it would wait for may be waiting for it.
    """
    # Each task runs in a copy of the caller's context, so that np.errstate, for example, holds for all.
    waiting = [_pool().submit(copy_context().run, task) for task in tasks[1:]]
    try:
        tasks[0]()
    finally:
        # Wait for all tasks even after an error: no task may write to the results after this returns. (`wait` takes 7
        # us more.)
        for one in waiting:
            one.exception()
    for one in waiting:
        one.result()


def each(do: Callable[..., Any], parts: Sequence[Any], held: Callable[[], Sequence[Any]] = tuple) -> None:
    """Call the function with each part. Each thread takes the next part when it is free.

    Args:
        do: the function.
        parts: its first arguments.
        held: returns further arguments, such as memory; called once in each thread.
    """
    # `next` of a counter is atomic.
    numbers = itertools.count()

    def work() -> None:
        others = held()
        while (k := next(numbers)) < len(parts):
            do(parts[k], *others)

    together([work] * max(min(workers(), len(parts)), 1))


@functools.cache
def _pool() -> ThreadPoolExecutor:
    """Return the pool, which is made at the first call."""
    return ThreadPoolExecutor(max(workers() - 1, 1), "funcgrad")


# A forked process has only its main thread.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)
