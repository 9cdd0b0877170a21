"""``stop_gradient``."""

from __future__ import annotations

import numpy as np

from funcgrad import tree
from funcgrad._core.bind import is_value
from funcgrad._core.numbers import number_of
from funcgrad._ops.program.barrier import stop_gradient_p
from funcgrad._types import Array, PyTree, Value
from funcgrad.numpy.extend import array_as


def stop_gradient(x: Value) -> PyTree:
    """Return the argument as a constant: no derivative flows through it, in any transform.

    Args:
        x: a pytree of arrays; other leaves are returned unchanged.

    Returns:
        The same values, in memory of their own. Under eager `grad` and `jvp` they are plain arrays, and a traced Python
        number is a Python number again.

    Example:
        >>> import funcgrad as fg
        >>> fg.grad(lambda x: x * fg.stop_gradient(x))(3.0)
        np.float64(3.0)

    Source: ``jax.lax.stop_gradient``.
    """
    return tree.map(lambda leaf: _stopped(leaf) if is_value(leaf) else leaf, x)


def _stopped(x: Value) -> Array:
    y = number_of(stop_gradient_p(x))
    # A write to the result must not change the array that it was computed from, as it does not under `jit`.
    return y.copy() if type(y) is np.ndarray else array_as(y, x)
