"""The processes of one program on several machines: who this one is, and what they agree on."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.experimental import multihost_utils


def is_shared(x: Any) -> bool:
    """Whether an array lies on devices of other processes too."""
    return isinstance(x, jax.Array) and not x.is_fully_addressable


def index() -> int:
    """The number of this process."""
    return jax.process_index()


def count() -> int:
    """How many processes there are."""
    return jax.process_count()


def all_agree(well: bool) -> bool:
    """Wait until every process has come here; whether all is well with each."""
    return count() == 1 or bool(np.all(multihost_utils.process_allgather(np.array(well))))
