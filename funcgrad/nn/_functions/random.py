"""Random numbers of layers: from one seeded generator, or from the key of a pure call."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import numpy as np

from funcgrad import random
from funcgrad._core.bind import active_trace
from funcgrad._engines import is_abstract
from funcgrad._types import Array, DTypeLike
from funcgrad.autograd.extend import default_generator, drawn_by_rows, rows


class Keys:
    """A key from which each draw takes a part."""

    def __init__(self, key: Any) -> None:
        self._key = key

    def take(self) -> Any:
        """Return a key that no other draw gets."""
        self._key, taken = random.split(self._key)
        return taken


_keys: ContextVar[Keys | None] = ContextVar("funcgrad_nn_keys", default=None)


def manual_seed(seed: int) -> None:
    """Seed the random numbers that initialize modules, and those of dropout, as ``torch.manual_seed`` does.

    Args:
        seed: any integer; the numbers are those of PyTorch for the same seed.

    Example:
        >>> from funcgrad import nn
        >>> nn.manual_seed(0)
        >>> first = nn.Linear(2, 1).weight
        >>> nn.manual_seed(0)
        >>> bool((nn.Linear(2, 1).weight == first).all())
        True
    """
    default_generator.manual_seed(seed)


@contextlib.contextmanager
def drawing_from(key: Any) -> Iterator[None]:
    """Draw from parts of a key in a ``with`` block; from the generator if it is ``None``."""
    token = _keys.set(None if key is None else Keys(key))
    try:
        yield
    finally:
        _keys.reset(token)


def uniform(asked: str, x: Array, shape: tuple[int, ...], dtype: DTypeLike = np.float64) -> Array:
    """Draw numbers from 0 to 1 for a computation with ``x``; PyTorch's stream depends on the dtype.

    Args:
        asked: the name of the layer, for messages.
        x: the value that the numbers meet.
        shape: the shape of the result.
        dtype: of the numbers.

    Raises:
        RuntimeError: the numbers would become constants of a compiled program, or the same for all rows of a batch.
    """
    keys = _keys.get()
    if keys is not None:
        return random.uniform(keys.take(), shape)
    if rows.get():
        return drawn_by_rows(lambda whole: default_generator.random(whole, dtype), tuple(shape))
    _check_eager(asked, x)
    return default_generator.random(shape, dtype)


def normal(asked: str, x: Array, shape: tuple[int, ...]) -> Any:
    """Draw numbers of the standard normal distribution for a computation with ``x``, as float64."""
    keys = _keys.get()
    if keys is not None:
        return random.normal(keys.take(), shape)
    _check_eager(asked, x)
    return default_generator.standard_normal(shape)


def _check_eager(asked: str, x: Array) -> None:
    """Refuse a draw from the generator where a function runs once for several calls or rows."""
    trace, found = active_trace(), "a compiled function" if is_abstract(x) else ""
    while trace is not None and not found:
        if not trace.concrete or trace.transform == "vmap":
            found = trace.transform
        trace = trace.outer
    if found:
        raise RuntimeError(
            f"{asked}: random numbers were asked for under {found} without a key; the function runs once, so all of "
            "its calls or rows would get the same numbers. Pass a key: nn.functional_call(module, parameters, args, "
            "key=key)."
        )
