"""Batching rules that many primitives share: ``rule(primitive, size, operands, batched, params)``.

An operand flagged in ``batched`` has the batch as its first axis, of length ``size``; so must the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad._core.bind import bind
from funcgrad._core.primitive import Primitive

BatchRule = Callable[[Primitive, int, tuple, tuple[bool, ...], dict], Any]


def batch_same(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> Any:
    """Batch a primitive of one array operand whose parameters contain no axes or shapes.

    Args:
        primitive: the primitive to apply.
        size: the length of the batch.
        operands: its one operand, with the batch as first axis.
        batched: whether each operand has a batch.
        params: the primitive's parameters.

    Returns:
        The result, with the batch as first axis.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> from funcgrad import extend
        >>> halved_p = extend.Primitive(
        ...     "halved",
        ...     operands=("x",),
        ...     numpy=lambda x: x // 2,
        ...     xla=lambda lax, x: lax.div(x, lax.full_like(x, 2)),
        ...     aval=lambda x: x,
        ...     derivative=extend.CONSTANT,
        ...     batch=extend.batch_same,
        ...     cost=lambda y, *operands, **params: y.size,
        ... )
        >>> fg.vmap(halved_p)(np.array([[2, 4], [6, 8]]))
        array([[1, 2],
               [3, 4]])
    """
    return bind(primitive, operands, params)


def batch_axes(*names: str) -> BatchRule:
    """Batch a primitive of one array operand whose parameters of these names are axes: each increases by one.

    Args:
        *names: names of the parameters that are axes.

    Returns:
        The rule for a primitive's ``batch``.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> from funcgrad import extend
        >>> reversed_order_p = extend.Primitive(
        ...     "reversed_order",
        ...     operands=("x",),
        ...     numpy=lambda x, axis: np.flip(x, axis),
        ...     xla=lambda lax, x, axis: lax.rev(x, (axis,)),
        ...     aval=lambda x, axis: x,
        ...     derivative=extend.CONSTANT,
        ...     batch=extend.batch_axes("axis"),
        ...     cost=lambda y, *operands, **params: y.size,
        ... )
        >>> fg.vmap(lambda x: reversed_order_p(x, axis=0))(np.array([[1, 2], [3, 4]]))
        array([[2, 1],
               [4, 3]])
    """

    def rule(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> Any:
        moved = {name: moved_axes(value) if name in names else value for name, value in params.items()}
        return bind(primitive, operands, moved)

    return rule


def moved_axes(axes: Any) -> Any:
    """Return the axes of the batched array that stand for axes of the unbatched one."""
    return axes + 1 if isinstance(axes, int) else tuple([axis + 1 for axis in axes])
