"""A function's run on a tape and the passes back over it, which all of reverse mode uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from funcgrad._core.aval import is_inexact
from funcgrad._core.bind import active_trace
from funcgrad._core.lazy import LazyModule
from funcgrad._core.numbers import differentiated, plain
from funcgrad._core.trace.backward import backward_pass
from funcgrad._core.trace.kept import copied
from funcgrad._core.trace.place import had_writes, original, settled
from funcgrad._core.trace.reads import warn_if_hidden
from funcgrad._core.trace.reverse import ReverseTrace, ReverseTracer
from funcgrad._core.trace.tape import Node
from funcgrad._engines import lasting
from funcgrad._ops.index.rows import Rows
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._transforms.base.arguments import argument_name, differentiable_leaves, memory_of, own
from funcgrad._transforms.base.own import with_read_only
from funcgrad._types import Array, PyTree, Value
from funcgrad.numpy.extend import as_value, holds_tracer, is_foreign_array, is_object_array
from funcgrad.tree import LEAF, TreeDef, flatten, unflatten
from funcgrad.tree import map as tree_map

_NDARRAY = np.ndarray
_FLOAT64 = np.float64
_shortening: Any = LazyModule("funcgrad._transforms.base.shortening")


class Recording:
    """The run of a function on a tape.

    Args:
        trace: the trace, which has ended.
        inputs: the tracers and the structure of each differentiated argument.
        out: the function's result, with tracers, until the first pass.
    """

    __slots__ = ("inputs", "out", "trace")

    def __init__(
        self,
        trace: ReverseTrace,
        inputs: list[tuple[list[ReverseTracer], TreeDef]],
        out: Value,
    ) -> None:
        self.trace = trace
        self.inputs = inputs
        self.out = out

    @property
    def primals(self) -> list[ReverseTracer]:
        """The leaves of the differentiated arguments."""
        return [x for tracers, _ in self.inputs for x in tracers]

    def pull(
        self,
        seeds: Iterable[tuple[Any, Any]],
        given: Sequence[Any] = (),
        scope: AbstractContextManager[Any] | None = None,
        *,
        sparse: bool = False,
    ) -> list[Any]:
        """Return the cotangent of each argument, with its structure and dtypes, in memory of its own.

        Args:
            seeds: nodes with their cotangents. An iterator keeps no reference to the pairs it has yielded.
            given: arrays of the caller; the results do not share their memory.
            scope: the mode in which the engine works on these values, if it needs one.
            sparse: whether row-sparse cotangents may stay row-sparse.
        """
        # From here on only the pass refers to the tape, so the tape is freed while the pass runs.
        self.out = None
        if scope is None:
            bars = backward_pass(seeds, sparse=sparse)
        else:
            with scope:
                bars = backward_pass(seeds, sparse=sparse)
        if self.trace.reads and not all(x._node in bars for x in self.primals):
            warn_if_hidden(self.trace, bars)
        seen = set(map(memory_of, given)) if given else set()
        return [
            _cotangent(tracers[0], bars, seen, given)
            if treedef is LEAF
            else unflatten(treedef, [_cotangent(x, bars, seen, given) for x in tracers])
            for tracers, treedef in self.inputs
        ]

    def taken_apart(self, y: Value) -> tuple[Any, Node | None]:
        """Return the value of a leaf of the function's result, and its node if it has one."""
        if type(y) is ReverseTracer and y._owner is self.trace:
            return plain(y._value), y._node
        return y, None

    def untraced(self, tree: PyTree, *, separate: bool = False) -> Any:
        """Replace the tracers of this run in a pytree by their values, or by copies if a later pass reads the tape."""
        leaves, treedef = flatten(tree)
        values = [self.separate(leaf) if separate else self.taken_apart(leaf)[0] for leaf in leaves]
        pairs = zip(leaves, values, strict=True)
        return unflatten(treedef, [leaf if value is leaf else lasting(value) for leaf, value in pairs])

    def separate(self, y: Value) -> Any:
        """Return the value of a leaf of the function's result in memory that the tape does not read."""
        value, _ = self.taken_apart(y)
        return value.copy() if value is not y and type(value) is _NDARRAY else value


def record(transform: str, f: Callable[..., Any], args: tuple, kwargs: dict, numbers: Sequence[int]) -> Recording:
    """Run a function with the arguments of these numbers as inputs of a tape."""
    trace = ReverseTrace()
    trace.function = f
    new_args = list(args)
    if kwargs or len(args) > len(numbers):
        new_args, kwargs = with_read_only(trace, args, kwargs, numbers)
    inputs = []
    for number in numbers:
        tracers, treedef = _trace_argument(transform, trace, f, number, args)
        new_args[number] = tracers[0] if treedef is LEAF else unflatten(treedef, tracers)
        inputs.append((tracers, treedef))
    outer = None if active_trace() is None else _shortening.stages_first(trace, [tracers for tracers, _ in inputs])
    if outer is not None:

        def called(given: Sequence[Any]) -> Any:
            for number, x in zip(numbers, given, strict=True):
                new_args[number] = x
            return _result(f, new_args, kwargs)

        given = [new_args[number] for number in numbers]
        return Recording(trace, inputs, _shortening.run_staged(outer, called, given, trace))
    with trace:
        out = _result(f, new_args, kwargs)
        if had_writes(trace):
            out = tree_map(settled, out)
            inputs = [([original(x) for x in tracers], treedef) for tracers, treedef in inputs]
    return Recording(trace, inputs, out)


def _result(f: Callable[..., Any], args: Sequence[Any], kwargs: dict) -> Any:
    out = f(*args, **kwargs)
    return out if type(out) is ReverseTracer else without_object_arrays(out)


def _trace_argument(
    transform: str, trace: ReverseTrace, f: Callable[..., Any], number: int, args: tuple
) -> tuple[list[ReverseTracer], TreeDef]:
    try:
        arg = args[number]
    except IndexError:
        raise TypeError(
            f"{transform}: {argument_name(f, number)} is to be differentiated, but the call has {len(args)} positional "
            "arguments. Pass it by position, or change argnums."
        ) from None
    # The tape keeps the numbers, and the caller may write to the arrays, so it keeps copies. Most arguments are one
    # differentiable leaf. They are not flattened, which would take 1.8 us.
    kind = type(arg)
    if (
        (kind is _NDARRAY and arg.dtype.kind in "fc")
        or kind is _FLOAT64
        or kind is float
        or (kind is ReverseTracer and is_inexact(arg.dtype))
    ):
        x = copied(arg) if kind is _NDARRAY else differentiated(arg) if kind is float else arg
        return [trace.input(x)], LEAF
    leaves, treedef = differentiable_leaves(transform, f, number, arg)
    return [trace.input(copied(x) if type(x) is _NDARRAY else x) for x in leaves], treedef


def without_object_arrays(tree: PyTree) -> Any:
    """Stack object arrays of tracers in a pytree into traced arrays, while their trace is running.

    Object arrays of numbers become arrays of numbers. Other objects may be auxiliary data, and stay.
    """
    leaves, treedef = flatten(tree)
    return unflatten(treedef, [as_value(x) if is_object_array(x) or _hides_tracer(x) else settled(x) for x in leaves])


def _hides_tracer(x: Value) -> bool:
    return is_foreign_array(x) and holds_tracer(x)


def _cotangent(x: ReverseTracer, bars: dict[Any, Any], seen: set[int], given: Sequence[Any]) -> Array:
    """Return the cotangent of one leaf, zeros if no output depends on it."""
    bar = bars.get(x._node)
    if type(bar) is _NDARRAY:
        return own(bar, x.dtype, seen)
    if type(bar) is _FLOAT64 and type(x._value) is _FLOAT64:
        # A number shares no memory.
        return bar
    if bar is None:
        return zeros_like(x._value)
    if type(bar) is Rows:
        return Rows(bar.indices, lasting(own(bar.values, x.dtype, seen), given or (x,)), bar.shape)
    return lasting(own(bar, x.dtype, seen), given or (x,))
