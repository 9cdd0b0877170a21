"""The part of autograd's ``core`` that other packages use: operators on functions of one argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad._core.trace import backward
from funcgrad._core.trace.tape import Node, new_leaf
from funcgrad._public import publish
from funcgrad._types import PyTree, Value
from funcgrad.interop.autograd import differential_operators
from funcgrad.interop.autograd._vspace import VSpace, vspace
from funcgrad.interop.autograd.extend import (
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    primitive,
)
from funcgrad.interop.autograd.tracer import Box, getval, isbox

__all__ = [
    "Box",
    "VJPNode",
    "VSpace",
    "backward_pass",
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "getval",
    "isbox",
    "make_jvp",
    "make_vjp",
    "primitive",
    "vspace",
]


def make_vjp(fun: Callable[[Any], Any], x: PyTree) -> tuple[Callable[[Any], Any], Any]:
    """Return the pullback of a function of one argument at a point, and its output.

    Args:
        fun: a function of one argument.
        x: the point.

    Returns:
        ``(vjp, out)``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.interop.autograd.core import make_vjp
        >>> vjp, out = make_vjp(np.sin, 0.0)
        >>> float(out), float(vjp(2.0))
        (0.0, 2.0)
    """
    return differential_operators.make_vjp(fun)(x)


def make_jvp(fun: Callable[[Any], Any], x: PyTree) -> Callable[[Any], tuple[Any, Any]]:
    """Return the function from a tangent to the output of a function of one argument, and its tangent.

    Args:
        fun: a function of one argument.
        x: the point.

    Returns:
        ``jvp``, where ``jvp(x_dot)`` is ``(out, out_dot)``.

    Example:
        >>> from funcgrad.interop.autograd.core import make_jvp
        >>> out, out_dot = make_jvp(lambda x: x**3, 2.0)(1.0)
        >>> float(out), float(out_dot)
        (8.0, 12.0)
    """
    return differential_operators.make_jvp(fun)(x)


class VJPNode:
    """The nodes at which a backward pass ends.

    Example:
        >>> from funcgrad.interop.autograd.core import VJPNode, backward_pass
        >>> from funcgrad.interop.autograd.tracer import new_box
        >>> x = new_box(3.0, 0, VJPNode.new_root())
        >>> float(backward_pass(1.0, (x * x)._node))
        6.0
    """

    @staticmethod
    def new_root() -> Node:
        """Return a node for ``tracer.new_box``."""
        return new_leaf()


def backward_pass(g: Value, end_node: Node) -> Any:
    """Return the cotangent of the box that was made with `VJPNode.new_root`, given that of a result.

    Args:
        g: the cotangent of the result.
        end_node: the attribute ``_node`` of the result.

    Returns:
        The cotangent of the box.

    Raises:
        ValueError: the result depends on several boxes.

    Example:
        >>> import numpy as np
        >>> from funcgrad.interop.autograd.core import VJPNode, backward_pass
        >>> from funcgrad.interop.autograd.tracer import new_box
        >>> x = new_box(np.array([1.0, 2.0]), 0, VJPNode.new_root())
        >>> backward_pass(np.array([1.0, 0.0]), (x**2)._node)
        array([2., 0.])
    """
    bars = backward.backward_pass([(end_node, g)])
    if len(bars) != 1:
        raise ValueError(
            f"backward_pass: the result depends on {len(bars)} boxes; needed one, because the cotangents of several "
            "have no order. Make one box, or use make_vjp with a tuple."
        )
    return next(iter(bars.values()))


__dir__ = publish(__name__)
