"""Functions whose operations are recorded once and then replayed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad._public import publish
from funcgrad._transforms.base.stage import make_graph

__all__ = ["const_graph"]


def const_graph(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
    """Make the function that records the operations of another one at its first call, and replays them later.

    Args:
        fun: a function that does the same operations for all arguments.
        args: its first arguments, which are fixed.
        kwargs: its named arguments, which are fixed.

    Returns:
        A function of the other arguments. Their shapes and dtypes must be those of the first call.

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
