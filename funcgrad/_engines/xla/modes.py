"""Enter and leave JAX's 64-bit mode. Inside a trace that a user started, the user's mode stays."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.core
from jax.extend import core as _extend

from funcgrad._core.tracebacks import when_interrupted

# Public under ``jax.extend`` from 0.10 on.
_trace_state = getattr(_extend, "get_opaque_trace_state", None) or jax.core.get_opaque_trace_state


def _state_outside_any_trace() -> Any:
    """Return JAX's trace state in a new thread: this thread may be inside a ``jax.jit`` while the engine loads."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_trace_state).result()


_outside_any_trace = _state_outside_any_trace()


def inside_jax_trace() -> bool:
    """Return whether JAX is tracing in this thread; we must not change its mode then."""
    return _trace_state() != _outside_any_trace


_mode: Any = jax.enable_x64


# The value that `enter` returns where 64-bit arrays keep their bits anyway.
WIDE_LAST: Any = object()


def enter() -> Any:
    """Enter JAX's 64-bit mode, unless JAX is tracing; return the value that `leave` takes.

    A function with a ``finally`` takes half the time of our context manager, and that takes half the time of JAX's.
    """
    if _mode.value or _trace_state() != _outside_any_trace:
        return WIDE_LAST
    before = _entered.before = _mode.get_local()
    _mode.set_local(True)
    return before


def leave(before: Any) -> None:
    """Leave the mode that `enter` entered."""
    if before is not WIDE_LAST:
        _mode.set_local(before)
        _entered.before = WIDE_LAST


class _Entered(threading.local):
    """The mode of this thread before `enter` changed it. It never nests: inside our mode, `enter` changes nothing."""

    before: Any = WIDE_LAST


_entered = _Entered()


def _leave_at_last() -> None:
    """Leave our mode if an interruption came just before `leave`."""
    leave(_entered.before)


when_interrupted.append(_leave_at_last)


class _Scope:
    """The same as a context manager."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = enter()

    def __exit__(self, *_: object) -> None:
        leave(self._before)


def scope() -> _Scope:
    """Return a context manager in which dtypes mean the same as in NumPy.

    Inside a user's JAX trace it changes nothing.
    """
    return _Scope()
