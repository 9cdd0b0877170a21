"""Helper functions of autograd's rules for NumPy, for user-written rules."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad._public import publish
from funcgrad._types import ArrayLike, PyTree, Value
from funcgrad.interop.autograd.numpy._makers import metadata

__all__ = ["balanced_eq", "match_complex", "replace_zero", "unbroadcast", "unbroadcast_f"]


def unbroadcast(x: PyTree, target_meta: tuple[tuple[int, ...], int, np.dtype, bool], broadcast_idx: int = 0) -> Any:
    """Sum a cotangent over the axes along which its operand was broadcast.

    Args:
        x: the cotangent.
        target_meta: the operand's shape, number of axes, dtype, and whether it is complex, as autograd's ``metadata``
            returns them.
        broadcast_idx: the position of the new axes: 0 for the front, -1 for the end.

    Returns:
        The cotangent of the operand.

    Example:
        >>> import numpy as np
        >>> from funcgrad.interop.autograd.numpy.numpy_vjps import unbroadcast
        >>> unbroadcast(np.ones((3, 2)), ((2,), 1, np.dtype(float), False))
        array([3., 3.])
    """
    shape, ndim, _, is_complex = target_meta
    while np.ndim(x) > ndim:
        x = fnp.sum(x, axis=broadcast_idx)
    for axis, size in enumerate(shape):
        if size == 1 and np.shape(x)[axis] != 1:
            x = fnp.sum(x, axis=axis, keepdims=True)
    return fnp.real(x) if np.iscomplexobj(x) and not is_complex else x


def unbroadcast_f(target: Value, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make a pullback that sums over the axes along which its operand was broadcast.

    Args:
        target: the operand.
        f: the pullback without broadcasting.

    Returns:
        The pullback.

    Example:
        >>> import numpy as np
        >>> from funcgrad.interop.autograd.numpy.numpy_vjps import unbroadcast_f
        >>> float(unbroadcast_f(2.0, lambda g: 3 * g)(np.ones(4)))
        12.0
    """
    meta = metadata(target)
    return lambda out_bar: unbroadcast(f(out_bar), meta)


def replace_zero(x: PyTree, val: Value) -> Any:
    """Return an array in which another value replaces the zeros.

    Args:
        x: an array.
        val: the value, or an array of values that broadcasts.

    Returns:
        An array.

    Example:
        >>> import numpy as np
        >>> from funcgrad.interop.autograd.numpy.numpy_vjps import replace_zero
        >>> replace_zero(np.array([0.0, 2.0]), 1.0)
        array([1., 2.])
    """
    return fnp.where(fnp.not_equal(x, 0), x, val)


def balanced_eq(x: PyTree, z: ArrayLike, y: PyTree) -> Any:
    """Return the part of a maximum's derivative that belongs to one operand: one half for equal operands.

    Args:
        x: the operand.
        z: the maximum or minimum of both.
        y: the other operand.

    Returns:
        1, 0, or 0.5 for equal operands.

    Example:
        >>> import numpy as np
        >>> from funcgrad.interop.autograd.numpy.numpy_vjps import balanced_eq
        >>> x, y = np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 2.0])
        >>> balanced_eq(x, np.maximum(x, y), y)
        array([0. , 0.5, 1. ])
    """
    return fnp.equal(x, z) / (1.0 + fnp.equal(x, y))


def match_complex(target: Value, x: PyTree) -> Any:
    """Return an array as complex if a second array is complex, and its real part if the second is real.

    Args:
        target: the second array.
        x: the array.

    Returns:
        The array, complex if ``target`` is.

    Example:
        >>> import numpy as np
        >>> from funcgrad.interop.autograd.numpy.numpy_vjps import match_complex
        >>> match_complex(1.0, np.array([2.0 + 3.0j])), match_complex(1j, np.array([2.0]))
        (array([2.]), array([2.+0.j]))
    """
    if np.iscomplexobj(target):
        return x if np.iscomplexobj(x) else x + 0j
    return fnp.real(x) if np.iscomplexobj(x) else x


__dir__ = publish(__name__)
