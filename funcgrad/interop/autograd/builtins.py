"""Python's containers under autograd's names; in this library they hold traced values without a special type."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from funcgrad._core.bind import Tracer
from funcgrad._public import publish
from funcgrad._types import PyTree
from funcgrad.tree import leaves

__all__ = ["DictBox", "ListBox", "SequenceBox", "TupleBox", "dict", "isinstance", "list", "tuple", "type"]

dict = builtins.dict  # noqa: A001  (autograd's name)
list = builtins.list  # noqa: A001  (autograd's name)
tuple = builtins.tuple  # noqa: A001  (autograd's name)


class _HoldsTraced(builtins.type):
    """The metaclass of the container types: their instances are containers that hold a traced value."""

    kinds: builtins.tuple[builtins.type, ...]

    def __instancecheck__(cls, instance: object) -> bool:
        """Return whether a container of one of these kinds holds a traced value."""
        held = builtins.isinstance(instance, cls.kinds)
        return held and any(builtins.isinstance(leaf, Tracer) for leaf in leaves(instance))


class SequenceBox(metaclass=_HoldsTraced):
    """The type of lists and tuples that hold a traced value, for ``isinstance``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.interop.autograd import grad
        >>> from funcgrad.interop.autograd.builtins import SequenceBox
        >>> isinstance([1.0], SequenceBox)
        False
        >>> grad(lambda xs: xs[0] * isinstance(xs, SequenceBox))([3.0])
        [np.float64(1.0)]
    """

    kinds = (builtins.list, builtins.tuple)


class ListBox(builtins.list, metaclass=_HoldsTraced):
    """The type of lists that hold a traced value, for ``isinstance``; see `SequenceBox`."""

    kinds = (builtins.list,)


class TupleBox(builtins.tuple, metaclass=_HoldsTraced):
    """The type of tuples that hold a traced value, for ``isinstance``; see `SequenceBox`."""

    __slots__ = ()
    kinds = (builtins.tuple,)


class DictBox(builtins.dict, metaclass=_HoldsTraced):
    """The type of dicts that hold a traced value, for ``isinstance``; see `SequenceBox`."""

    kinds = (builtins.dict,)


def type(x: PyTree) -> builtins.type:  # noqa: A001  (autograd's name)
    """Tell the type of a value, or of the value that a traced one stands for.

    Args:
        x: anything.

    Returns:
        Of what is traced ``numpy.ndarray``, or where it has no axes the type of NumPy's numbers of its dtype.

    Example:
        >>> from funcgrad.interop.autograd import grad
        >>> from funcgrad.interop.autograd.builtins import type
        >>> float(grad(lambda x: x if type(x).__name__ == "float64" else 2 * x)(3.0))
        1.0
    """
    if not builtins.isinstance(x, Tracer):
        return builtins.type(x)
    return np.ndarray if x.shape else x.dtype.type


def isinstance(x: PyTree, kinds: Any) -> bool:  # noqa: A001  (autograd's name)
    """Tell whether a value, or what a traced one stands for, is an instance.

    Args:
        x: anything.
        kinds: a class, or a tuple of them.

    Returns:
        Return ``issubclass(type(x), kinds)`` for a traced value, and Python's answer for any other value.

    Example:
        >>> import numpy as np
        >>> from funcgrad.interop.autograd import grad
        >>> from funcgrad.interop.autograd.builtins import isinstance
        >>> grad(lambda x: np.sum(x) if isinstance(x, np.ndarray) else 2 * x)(np.ones(2))
        array([1., 1.])
    """
    return builtins.isinstance(x, kinds) or issubclass(type(x), kinds)


__dir__ = publish(__name__)
