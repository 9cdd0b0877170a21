"""``stop_gradient``."""

from __future__ import annotations

from typing import Any

from funcgrad import tree
from funcgrad._core.bind import is_value
from funcgrad._core.numbers import number_of
from funcgrad._ops.program.barrier import stop_gradient_p
from funcgrad._types import Value


def stop_gradient(x: Value) -> Any:
    """Return the argument as a constant: no derivative flows through it, in any transform.

    Args:
        x: a pytree of arrays; other leaves are returned unchanged.

    Returns:
        The same values. Under eager `grad` and `jvp` they are plain arrays, and a traced Python number is a Python
        number again.

    Example:
        >>> import funcgrad as fg
        >>> fg.grad(lambda x: x * fg.stop_gradient(x))(3.0)
        np.float64(3.0)

    Source: ``jax.lax.stop_gradient``.
    """
    return tree.map(lambda leaf: number_of(stop_gradient_p(leaf)) if is_value(leaf) else leaf, x)
