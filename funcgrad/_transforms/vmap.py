"""``vmap``: a function of single values, run once on a batch of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.batch import BatchTrace, BatchTracer
from funcgrad._core.bind import is_value
from funcgrad._ops.broadcast import broadcast_to
from funcgrad._ops.shape import expand_dims, transpose
from funcgrad._transforms._arguments import name_of
from funcgrad.errors import TreeMismatchError
from funcgrad.numpy._convert import from_objects
from funcgrad.tree import broadcast_prefix, flatten, key_paths, unflatten


def vmap(f: Callable[..., Any], in_axes: Any = 0, out_axes: Any = 0) -> Callable[..., Any]:
    """Make the function that maps ``f`` over an axis of its arguments, in batched operations rather than a loop.

    Args:
        f: a function of pytrees of arrays.
        in_axes: which axis of each argument to map over; an int for all, or a tuple with an int, ``None`` (the argument
            is the same for all) or a pytree prefix for each positional argument. Keyword arguments are mapped over
            their axis 0.
        out_axes: where the mapped axis stands in the results; an int, ``None`` (a result that is not mapped) or a
            pytree prefix.

    Returns:
        A function of batched arguments.

    Raises:
        ValueError: nothing is mapped, an axis is out of bounds, or mapped axes differ in length.
        TracerBoolConversionError: ``f`` branches on a batched value.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.vmap(np.dot, in_axes=(0, None))(np.eye(2), np.array([3.0, 4.0]))
        array([3., 4.])

    Source: the signature is ``jax.vmap``'s.
    """

    @functools.wraps(f)
    def batched(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = flatten((args, kwargs))
        axes = _axes_of(f, in_axes, args, kwargs, in_tree)
        size = _size_of(f, leaves, axes, in_tree)
        trace = BatchTrace(size)
        inputs = [x if axis is None else trace.input(_to_front(x, axis)) for x, axis in zip(leaves, axes, strict=True)]
        new_args, new_kwargs = unflatten(in_tree, inputs)
        with trace:
            out = f(*new_args, **new_kwargs)
            found, out_tree = flatten(out)
            places = broadcast_prefix(out_axes, out_tree, "vmap: out_axes", is_leaf=_is_axis)
            results = [_result(f, trace, y, place) for y, place in zip(found, places, strict=True)]
        return unflatten(out_tree, results)

    return batched


def _is_axis(axis: Any) -> bool:
    return axis is None or isinstance(axis, int)


def _axes_of(f: Callable[..., Any], in_axes: Any, args: tuple, kwargs: dict, in_tree: Any) -> list[int | None]:
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise ValueError(
            f"vmap: in_axes has {len(in_axes)} entries for the {len(args)} positional arguments of {name_of(f)}; needed "
            "one for each, or a single int for all."
        )
    named = dict.fromkeys(kwargs, 0)
    whole = (in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args), named)
    return broadcast_prefix(whole, in_tree, "vmap: in_axes", is_leaf=_is_axis)


def _size_of(f: Callable[..., Any], leaves: list, axes: list, in_tree: Any) -> int:
    sizes: dict[int, str] = {}
    for path, x, axis in zip(key_paths(in_tree), leaves, axes, strict=True):
        if axis is None:
            continue
        shape = x.shape if hasattr(x, "shape") else np.shape(x)
        if not -len(shape) <= axis < len(shape):
            raise ValueError(
                f"vmap: in_axes asks for axis {axis} of the argument at {path} of {name_of(f)}, which has shape {shape}. "
                "Give an axis that it has, or None to leave it unmapped."
            )
        sizes.setdefault(shape[axis], f"{path} with {shape[axis]} along axis {axis}")
    if len(sizes) > 1:
        raise TreeMismatchError(
            f"vmap: the mapped axes of the arguments of {name_of(f)} differ in length: {' and '.join(sizes.values())}. "
            "Make them equal, or pass None in in_axes for what is not mapped."
        )
    if not sizes:
        raise ValueError(
            f"vmap: in_axes maps no argument of {name_of(f)}. Give at least one argument an axis to map over."
        )
    return next(iter(sizes))


def _to_front(x: Any, axis: int) -> Any:
    x = x if hasattr(x, "shape") else np.asarray(x)
    axis %= len(x.shape)
    return x if axis == 0 else transpose(x, (axis, *[i for i in range(len(x.shape)) if i != axis]))


def _result(f: Callable[..., Any], trace: BatchTrace, y: Any, place: int | None) -> Any:
    if isinstance(y, np.ndarray) and y.dtype.kind == "O":
        y = from_objects(y)
    mapped = type(y) is BatchTracer and y.trace is trace
    if place is None:
        if mapped:
            raise ValueError(
                f"vmap: out_axes is None for a result of {name_of(f)} that is mapped. Give it an axis, or reduce it."
            )
        return y
    if not is_value(y):
        raise TypeError(f"vmap: {name_of(f)} returned a {type(y).__name__}; needed arrays or numbers, in any pytree.")
    y = y if hasattr(y, "shape") else np.asarray(y)
    value = y.value if mapped else broadcast_to(expand_dims(y, (0,)), (trace.size, *y.shape))
    place = place % len(value.shape)
    return value if place == 0 else transpose(value, (*range(1, place + 1), 0, *range(place + 1, len(value.shape))))
