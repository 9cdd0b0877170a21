"""``vmap``: runs a function of single values once on a batch of them."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import is_engine_value, is_value
from funcgrad._core.trace.batch import BatchTrace, BatchTracer, named_size
from funcgrad._core.trace.place import own_place
from funcgrad._core.tracebacks import folded
from funcgrad._core.words import shown
from funcgrad._ops.layout.broadcast import with_batch
from funcgrad._ops.layout.shape import transpose
from funcgrad._ops.random.bits import untyped
from funcgrad._transforms.base.arguments import (
    argument_name,
    check_callable,
    name_of,
    owned,
    returned,
    taken,
)
from funcgrad._transforms.base.pickled import picklable
from funcgrad._types import Array, PyTree, Value
from funcgrad.errors import TreeMismatchError
from funcgrad.tree import TreeDef, broadcast_prefix, flatten, key_path_str, leaves, unflatten

F = TypeVar("F", bound=Callable[..., Any])


@picklable
def vmap(
    f: F, in_axes: PyTree = 0, out_axes: PyTree = 0, *, axis_name: Hashable | None = None, axis_size: int | None = None
) -> F:
    """Make the function that maps ``f`` over an axis of its arguments, in batched operations rather than a loop.

    Args:
        f: a function of pytrees of arrays.
        in_axes: the axis of each argument to map over: an int for all, or a tuple with an int, ``None`` (the argument
            is the same for all) or a pytree prefix for each positional argument. Keyword arguments are mapped over
            their axis 0.
        out_axes: the position of the mapped axis in the results: an int, ``None`` (the result is the same for all) or a
            pytree prefix.
        axis_name: a name for the mapped axis, by which `psum`, `pmean`, `pmax`, `pmin`, `all_gather` and `axis_index`
            inside of ``f`` refer to it.
        axis_size: the length of the mapped axis. It is needed only if no argument is mapped.

    Returns:
        A function of batched arguments.

    Raises:
        ValueError: nothing is mapped, an axis is out of bounds, or a mapped result has None in ``out_axes``.
        TreeMismatchError: mapped axes differ in length, or a prefix does not fit its tree.
        TracerBoolConversionError: ``f`` branches on a batched value.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.vmap(np.dot, in_axes=(0, None))(np.eye(2), np.array([3.0, 4.0]))
        array([3., 4.])

        The gradient for each example of a batch:

        >>> loss = lambda w, x, y: (np.dot(w, x) - y) ** 2
        >>> xs, ys = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 0.0])
        >>> fg.vmap(fg.grad(loss), in_axes=(None, 0, 0))(np.ones(2), xs, ys)
        array([[ 4.,  8.], [42., 56.]])

        A whole training run for several learning rates at once:

        >>> def train(lr):
        ...     w = np.zeros(2)
        ...     state = fg.sgd_init(w, lr=lr)
        ...     for _ in range(10):
        ...         w, state = fg.sgd_update(fg.grad(loss)(w, xs[0], ys[0]), state, w)
        ...     return loss(w, xs[0], ys[0])
        >>> np.round(fg.vmap(train)(np.array([0.0, 0.01, 0.1])), 3)
        array([1.   , 0.122, 0.   ])

        Each element of a batch with the batch's mean and variance:

        >>> def normalized(x):
        ...     mean = fg.pmean(x, "batch")
        ...     return (x - mean) / np.sqrt(fg.pmean((x - mean) ** 2, "batch"))
        >>> fg.vmap(normalized, axis_name="batch")(np.array([1.0, 2.0, 3.0, 4.0])).round(3)
        array([-1.342, -0.447,  0.447,  1.342])

    Source: the signature is ``jax.vmap``'s.
    """
    check_callable("vmap", f)
    if axis_size is not None and not (hasattr(axis_size, "__index__") and operator.index(axis_size) >= 0):
        raise ValueError(
            f"vmap: axis_size of {name_of(f)} is {shown(axis_size)}; needed a length from 0 on. Pass an integer, or "
            "leave it out if an argument is mapped."
        )
    return mapped(f, in_axes, out_axes, axis_name=axis_name, axis_size=axis_size)


def mapped(
    f: Callable[..., Any],
    in_axes: PyTree,
    out_axes: PyTree,
    beside: Sequence[Any] = (),
    *,
    axis_name: Hashable | None = None,
    axis_size: int | None = None,
) -> Any:
    """Return `vmap`. The closed-over values ``beside`` decide how results are returned."""

    @folded
    @functools.wraps(f)
    def batched(*args: Any, **kwargs: Any) -> Any:
        arguments, in_tree = flatten((args, kwargs))
        # A typed key of JAX stays one until the mapped axis is known: its data has one axis more.
        arguments = [x if is_engine_value(x) else taken(x) for x in arguments]
        axes = _axes_of(f, in_axes, args, kwargs, in_tree)
        size = _size_of(f, arguments, axes, in_tree, axis_size)
        trace = BatchTrace(size if axis_name is None else named_size(axis_name, size))
        trace.function = f
        pairs = zip(arguments, axes, strict=True)
        # Unmapped arguments may be indexed by mapped ones, and written to.
        inputs = [
            own_place(untyped(x), trace) if axis is None else trace.input(_to_front(x, axis)) for x, axis in pairs
        ]
        new_args, new_kwargs = unflatten(in_tree, inputs)
        with trace:
            out = f(*new_args, **new_kwargs)
            found, out_tree = flatten(out)
            _check_axes("out_axes", f, out_axes)
            places = broadcast_prefix(out_axes, out_tree, f"vmap: out_axes of {name_of(f)}", is_leaf=_is_axis)
            results = [_result(f, trace, y, place) for y, place in zip(found, places, strict=True)]
        return unflatten(out_tree, _stacked(results, places, [*arguments, *beside]))

    return batched


def _stacked(results: list, places: list, arguments: list) -> list:
    """Return the results as a loop would stack them, in new arrays; results without axis unchanged."""
    mapped = iter(
        owned([y for y, place in zip(results, places, strict=True) if place is not None], arguments, views=True)
    )
    return [y if place is None else next(mapped) for y, place in zip(results, places, strict=True)]


def _is_axis(axis: Any) -> bool:
    return axis is None or isinstance(axis, int)


def _axes_of(f: Callable[..., Any], in_axes: PyTree, args: tuple, kwargs: dict, in_tree: TreeDef) -> list[int | None]:
    if isinstance(in_axes, list):
        in_axes = tuple(in_axes)
    if isinstance(in_axes, tuple) and len(in_axes) != len(args):
        raise ValueError(
            f"vmap: in_axes has {len(in_axes)} entries for the {len(args)} positional arguments of {name_of(f)}; "
            "needed one for each, or a single int for all. Give None for an argument that is not mapped."
        )
    named = dict.fromkeys(kwargs, 0)
    whole = (in_axes if isinstance(in_axes, tuple) else (in_axes,) * len(args), named)
    _check_axes("in_axes", f, whole)
    return broadcast_prefix(whole, in_tree, f"vmap: in_axes of {name_of(f)}", is_leaf=_is_axis)


def _check_axes(name: str, f: Callable[..., Any], axes: Any) -> None:
    for axis in leaves(axes, _is_axis):
        if not _is_axis(axis):
            raise TypeError(
                f"vmap: {name} of {name_of(f)} has a {type(axis).__name__}; needed ints and None, in a prefix of the "
                "tree. Give the number of the axis to map over."
            )


def _size_of(f: Callable[..., Any], found: list, axes: list, in_tree: TreeDef, axis_size: int | None = None) -> int:
    sizes: dict[Any, int] = {}
    for i, (x, axis) in enumerate(zip(found, axes, strict=True)):
        if axis is None:
            continue
        shape = aval_of(x).shape if is_value(x) else ()
        if not -len(shape) <= axis < len(shape):
            _refuse_axis(f, x, axis, in_tree.accessors()[i])
        sizes.setdefault(shape[axis], i)
    if len(sizes) > 1:
        paths = in_tree.accessors()
        texts = [f"{size} along axis {axes[i]} of {_argument(f, paths[i])}" for size, i in sizes.items()]
        raise TreeMismatchError(
            f"vmap: the mapped axes of the arguments of {name_of(f)} have lengths that differ: {' and '.join(texts)}. "
            "Make them equal, or pass None in in_axes for what is not mapped."
        )
    if axis_size is None and not sizes:
        raise ValueError(
            f"vmap: in_axes maps no argument of {name_of(f)}; needed at least one. Give an argument with arrays an "
            "axis to map over, or pass axis_size."
        )
    size = next(iter(sizes)) if axis_size is None else operator.index(axis_size)
    if sizes and size not in sizes:
        (other, i), *_ = sizes.items()
        raise TreeMismatchError(
            f"vmap: axis_size is {size}, and axis {axes[i]} of {_argument(f, in_tree.accessors()[i])} has length "
            f"{other}; needed one length. Leave axis_size out, or change it."
        )
    return size


def _refuse_axis(f: Callable[..., Any], x: Value, axis: int, path: Any) -> NoReturn:
    arrived = f"{aval_of(x)}, which has no axis {axis}" if is_value(x) else f"a {type(x).__name__}"
    raise (ValueError if is_value(x) else TypeError)(
        f"vmap: in_axes asks for axis {axis} of {_argument(f, path)}. It is {arrived}; needed an array with that axis. "
        "Give an axis that it has, or None to leave it unmapped."
    )


def _argument(f: Callable[..., Any], path: Any) -> str:
    """Describe an argument's leaf by its path in ``(args, kwargs)``."""
    steps = path.path
    rest = key_path_str(path[2:])
    what = argument_name(f, steps[1]) if steps[0] == 0 else f"argument {steps[1]} of {name_of(f)}"
    return f"{what} at {rest}" if rest else what


def _to_front(x: Value, axis: int) -> Array:
    x = x if hasattr(x, "shape") else np.asarray(x)
    axis %= len(x.shape)
    x = untyped(x)
    return x if axis == 0 else transpose(x, (axis, *[i for i in range(len(x.shape)) if i != axis]))


def _result(f: Callable[..., Any], trace: BatchTrace, y: Value, place: int | None) -> Array:
    y = returned("vmap", name_of(f), y)
    value = y._value if type(y) is BatchTracer and y._owner is trace else None
    if place is None:
        if value is not None:
            raise ValueError(
                f"vmap: out_axes is None for a result {aval_of(y)} of {name_of(f)}, which differs from element to "
                "element. Give it an axis, or return what is the same for all."
            )
        return y
    if not is_value(y):
        raise TypeError(
            f"vmap: {name_of(f)} returned a {type(y).__name__}; needed arrays or numbers, in any pytree. Return it "
            "under out_axes=None, or not at all."
        )
    value = with_batch(y, trace.size, False) if value is None else value
    rank = len(value.shape)
    if not -rank <= place < rank:
        raise ValueError(
            f"vmap: out_axes asks for axis {place} of a result of {name_of(f)} that is {aval_of(value)} with the "
            f"mapped axis; needed an axis from {-rank} to {rank - 1}. Change out_axes, or the shape that is returned."
        )
    place %= rank
    return value if place == 0 else transpose(value, (*range(1, place + 1), 0, *range(place + 1, rank)))
