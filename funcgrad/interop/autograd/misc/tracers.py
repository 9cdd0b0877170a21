"""Functions whose operations are recorded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad._public import publish
from funcgrad._transforms.base.stage import make_graph

__all__ = ["const_graph"]


def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """Make the function that records the operations of another one when it is first called, and then repeats these.

    Args:
        fun: a function that does the same operations for all arguments.
        args: its first arguments, which stay as they are.
        kwargs: arguments by name, which do so too.

    Returns:
        A function of the further arguments, of the shapes and dtypes of the first call: others are refused.

    Example:
        >>> import numpy as np
        >>> from funcgrad.interop.autograd import grad
        >>> from funcgrad.interop.autograd.misc.tracers import const_graph
        >>> scaled = const_graph(lambda a, x: np.sum(a * x), 3.0)
        >>> grad(scaled)(np.ones(2)), float(scaled(np.array([1.0, 2.0])))
        (array([3., 3.]), 9.0)
    """
    found: list[Any] = []

    def repeated(*rest: Any) -> Any:
        if not found:
            found.append(make_graph(lambda *rest: fun(*args, *rest, **kwargs))(*rest))
        return found[0](*rest)

    return repeated


__dir__ = publish(__name__)
