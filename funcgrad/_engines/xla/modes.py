"""JAX's 64-bit mode: entered where it is ours to choose, left as it is inside somebody else's trace."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.core
import jax.extend.core

from funcgrad._core.tracebacks import when_interrupted

# Public under ``jax.extend`` from 0.10 on.
_trace_state = getattr(jax.extend.core, "get_opaque_trace_state", None) or jax.core.get_opaque_trace_state


def _state_outside_any_trace() -> Any:
    """JAX's trace state in a new thread: this one may be inside a ``jax.jit`` while the engine is loaded."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(_trace_state).result()


_outside_any_trace = _state_outside_any_trace()


def inside_jax_trace() -> bool:
    """Whether JAX is tracing in this thread; its mode is then not ours to choose."""
    return _trace_state() != _outside_any_trace


_mode: Any = jax.enable_x64


# What `enter` returns where 64-bit arrays keep their bits anyway.
WIDE_LAST: Any = object()


def enter() -> Any:
    """Enter JAX's 64-bit mode, or stay in the mode in force inside somebody else's trace; `leave` takes what it gives.

    A function with a ``finally`` takes half the time of a context manager of ours, and that half of JAX's.
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
    """The mode that this thread left for ours, the one time that it did: inside of ours there is nothing to enter."""

    before: Any = WIDE_LAST


_entered = _Entered()


def _leave_at_last() -> None:
    """Leave our mode where an interruption came just before that was done."""
    leave(_entered.before)


when_interrupted.append(_leave_at_last)


class _Scope:
    """The same as a context."""

    __slots__ = ("_before",)

    def __enter__(self) -> None:
        self._before = enter()

    def __exit__(self, *_: object) -> None:
        leave(self._before)


def scope() -> _Scope:
    """The mode in which dtypes mean what they mean in NumPy; the mode in force inside somebody else's trace."""
    return _Scope()
