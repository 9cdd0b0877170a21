"""The processes of one program on several machines: the number of this one, and what all agree on."""

from __future__ import annotations

import jax
import numpy as np
from jax.experimental import multihost_utils

from funcgrad._types import Value


def is_shared(x: Value) -> bool:
    """Return whether parts of an array lie on devices of other processes."""
    return isinstance(x, jax.Array) and not x.is_fully_addressable


def index() -> int:
    """Return the number of this process."""
    return jax.process_index()


def count() -> int:
    """Return the number of processes."""
    return jax.process_count()


def all_agree(well: bool) -> bool:
    """Wait until every process is here; return whether ``well`` is true in all of them."""
    return count() == 1 or bool(np.all(multihost_utils.process_allgather(np.array(well))))
