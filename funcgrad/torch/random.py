"""``torch.random``: seeds and states of the random numbers."""

import contextlib as _contextlib
from collections.abc import Iterator as _Iterator
from typing import Any as _Any

from funcgrad._public import publish as _publish
from funcgrad.torch._settings import get_rng_state, initial_seed, manual_seed, seed, set_rng_state

__all__ = ["fork_rng", "get_rng_state", "initial_seed", "manual_seed", "seed", "set_rng_state"]


@_contextlib.contextmanager
def fork_rng(devices: _Any = None, enabled: bool = True, **_: _Any) -> _Iterator[None]:
    """``torch.random.fork_rng``: restore the state of the random numbers at the end of a ``with`` block.

    Example:
        >>> import funcgrad.torch as torch
        >>> state = torch.get_rng_state()
        >>> with torch.random.fork_rng():
        ...     x = torch.rand(2)
        >>> torch.equal(state, torch.get_rng_state())
        True
    """
    del devices
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)


__dir__ = _publish(__name__)
