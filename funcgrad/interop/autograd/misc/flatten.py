"""Convert a tree to one flat vector and back, as ``autograd.misc.flatten``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad._public import publish
from funcgrad._types import ArrayLike, PyTree, Value
from funcgrad.tree import flatten as tree_flatten
from funcgrad.tree import unflatten as tree_unflatten

__all__ = ["flatten", "flatten_func"]


def flatten(value: Value) -> tuple[Any, Callable[[Any], Any]]:
    """Concatenate all numbers of nested tuples, lists and dicts into one vector.

    Args:
        value: arrays and numbers, in any nesting; dicts in the order of their keys.

    Returns:
        ``(vector, unflatten)``; ``unflatten(vector)`` has the structure, the shapes and the dtypes of ``value``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.interop.autograd.misc.flatten import flatten
        >>> vector, unflatten = flatten({"w": np.ones((1, 2)), "b": 3.0})
        >>> vector
        array([3., 1., 1.])
        >>> unflatten(2 * vector)["w"]
        array([[2., 2.]])
    """
    leaves, treedef = tree_flatten(value)
    shapes = [np.shape(leaf) for leaf in leaves]
    dtypes = [getattr(leaf, "dtype", np.dtype(type(leaf))) for leaf in leaves]
    ends = np.cumsum([int(np.prod(shape)) for shape in shapes]).tolist()
    vector = fnp.concatenate([fnp.reshape(leaf, (-1,)) for leaf in leaves]) if leaves else np.zeros(0)

    def unflatten(vector: ArrayLike) -> Any:
        parts = fnp.split(vector, ends[:-1]) if leaves else []
        shaped = [fnp.reshape(part, shape) for part, shape in zip(parts, shapes, strict=True)]
        return tree_unflatten(treedef, [_cast(x, dtype) for x, dtype in zip(shaped, dtypes, strict=True)])

    return vector, unflatten


def _cast(x: PyTree, dtype: np.dtype) -> Any:
    """Cast to the original dtype, except from float to integer and from complex to float, which would lose numbers."""
    return x.astype(dtype) if x.dtype != dtype and np.can_cast(x.dtype, dtype, "same_kind") else x


def flatten_func(func: Callable[..., Any], example: PyTree) -> tuple[Callable[..., Any], Callable[[Any], Any], Any]:
    """Convert a function from trees to trees into a function from vectors to vectors.

    Args:
        func: a function whose first argument has the structure of the example.
        example: a value for the first argument.

    Returns:
        ``(flat_func, unflatten, flat_example)``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.interop.autograd.misc.flatten import flatten_func
        >>> flat_func, unflatten, x = flatten_func(lambda p: (p["a"], p["b"] ** 2), {"a": 1.0, "b": np.array([2.0])})
        >>> flat_func(x)
        array([1., 4.])
    """
    flat_example, unflatten = flatten(example)

    def flat_func(x: PyTree, *args: Any) -> Any:
        return flatten(func(unflatten(x), *args))[0]

    return flat_func, unflatten, flat_example


__dir__ = publish(__name__)
