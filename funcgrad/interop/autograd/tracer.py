"""Traced values under autograd's names."""

from __future__ import annotations

from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from funcgrad._core.bind import Tracer, is_traced, is_value
from funcgrad._core.trace.reverse import ReverseTrace, ReverseTracer
from funcgrad._public import publish
from funcgrad._types import PyTree, Value
from funcgrad.interop.autograd.extend import notrace_primitive, primitive, register_notrace
from funcgrad.numpy.extend import concrete_value
from funcgrad.tree import map as tree_map

__all__ = ["Box", "getval", "isbox", "new_box", "notrace_primitive", "primitive", "register_notrace"]

Box = Tracer
isbox = is_traced


def getval(x: PyTree) -> Any:
    """Return the plain value of a traced value, without a derivative.

    Args:
        x: any value; traced values in tuples, lists and dicts are found too.

    Returns:
        A plain array or number; a value that is not traced is returned unchanged.

    Raises:
        ConcretizationTypeError: there is no single number: the value is staged or is a batch.

    Example:
        >>> import numpy as np
        >>> from funcgrad.interop.autograd import grad
        >>> from funcgrad.interop.autograd.tracer import getval
        >>> float(grad(lambda x: x * getval(x))(3.0))
        3.0
    """
    if isinstance(x, Tracer):
        return concrete_value(x, "getval")
    return tree_map(getval, x) if isinstance(x, list | tuple | dict) else x


class _BoxTrace(ReverseTrace):
    """The trace of the boxes that a program makes with `new_box`. It has no end at which arrays could be checked."""

    def keep(self, x: np.ndarray) -> np.ndarray:
        """Return a copy of a plain array for a node to keep, because the program may write to the array."""
        return x.copy()


# The traces by their numbers. A trace is forgotten when the last of its boxes is.
_traces: WeakValueDictionary[int, _BoxTrace] = WeakValueDictionary()


def new_box(value: Value, trace: int, node: Any) -> Any:
    """Return a traced value for a program that runs reverse mode itself, without a transform.

    Args:
        value: an array or a number. Integers become float64.
        trace: the number of the trace. Values of one number belong to one trace.
        node: ``core.VJPNode.new_root()``.

    Returns:
        A traced value. Its results have the attributes ``_value`` and ``_node``, and ``core.backward_pass`` takes the
        node.

    Raises:
        TypeError: the value is not an array or a number.

    Example:
        >>> import numpy as np
        >>> from funcgrad.interop.autograd.core import VJPNode, backward_pass
        >>> from funcgrad.interop.autograd.tracer import new_box
        >>> y = np.sin(new_box(np.array([0.0, np.pi]), 0, VJPNode.new_root()))
        >>> backward_pass(np.ones(2), y._node)
        array([ 1., -1.])
    """
    if not is_value(value):
        raise TypeError(
            f"new_box: the value is of type {type(value).__name__}; needed an array or a number. Make one box for each "
            "array of a list, a tuple or a dict."
        )
    owner = _traces.get(trace)
    if owner is None:
        owner = _traces[trace] = _BoxTrace()
    inexact = value if isinstance(value, Tracer) or np.asarray(value).dtype.kind in "fc" else np.asarray(value, float)
    return ReverseTracer(owner, inexact, node)


__dir__ = publish(__name__)
