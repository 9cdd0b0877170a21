"""What autograd's rules for NumPy are written with, for rules of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad._public import publish

__all__ = ["unbroadcast", "unbroadcast_f"]


def unbroadcast(x: Any, target_meta: tuple[tuple[int, ...], int, np.dtype, bool], broadcast_idx: int = 0) -> Any:
    """Sum a cotangent over the axes in which its operand was broadcast.

    Args:
        x: the cotangent.
        target_meta: shape, number of axes, dtype of the operand, and whether it is complex, as autograd's
            ``metadata`` gives them.
        broadcast_idx: where the new axes are: 0 in front, -1 behind.

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


def unbroadcast_f(target: Any, f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Make a pullback that sums over the axes in which its operand was broadcast.

    Args:
        target: the operand.
        f: the pullback as if nothing was broadcast.

    Returns:
        The pullback.

    Example:
        >>> import numpy as np
        >>> from funcgrad.interop.autograd.numpy.numpy_vjps import unbroadcast_f
        >>> float(unbroadcast_f(2.0, lambda g: 3 * g)(np.ones(4)))
        12.0
    """
    meta = np.shape(target), np.ndim(target), getattr(target, "dtype", np.dtype(float)), bool(np.iscomplexobj(target))
    return lambda out_bar: unbroadcast(f(out_bar), meta)


__dir__ = publish(__name__)
