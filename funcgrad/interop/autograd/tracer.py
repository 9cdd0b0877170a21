"""Traced values under autograd's names."""

from __future__ import annotations

from typing import Any

from funcgrad._core.bind import Tracer, is_traced
from funcgrad._public import publish
from funcgrad._types import PyTree
from funcgrad.interop.autograd.extend import notrace_primitive, primitive, register_notrace
from funcgrad.numpy.extend import concrete_value
from funcgrad.tree import map as tree_map

__all__ = ["Box", "getval", "isbox", "notrace_primitive", "primitive", "register_notrace"]

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


__dir__ = publish(__name__)
