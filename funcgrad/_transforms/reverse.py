"""Reverse mode: ``grad``, ``value_and_grad`` and ``vjp``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from funcgrad._core.aval import aval_of, is_inexact
from funcgrad._core.bind import Tracer, is_value
from funcgrad._core.graph.ir import Graph
from funcgrad._core.numbers import plain
from funcgrad._core.trace.reverse import ReverseTrace, ReverseTracer, backward_pass
from funcgrad._core.trace.tape import Node
from funcgrad._core.tracebacks import fold, folded
from funcgrad._engines import engine_scope, lasting
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.index.rows import Rows
from funcgrad._ops.layout.copy import copy
from funcgrad._ops.layout.fill import ones_like, zeros_like
from funcgrad._transforms._arguments import (
    argument_name,
    check_callable,
    checked_argnums,
    differentiable_leaves,
    name_of,
    number_like,
    owned,
    refuse_repeated,
    require_inexact,
    returned,
    taken,
)
from funcgrad._transforms.stage import stage_flat
from funcgrad.errors import NonScalarOutputError, TreeMismatchError
from funcgrad.numpy.extend import as_value, holds_tracer, is_guest, is_object_array
from funcgrad.tree import LEAF, TreeDef, flatten, flatten_with_path, key_path_str, unflatten

P = ParamSpec("P")
R = TypeVar("R")

Argnums = int | Sequence[int]

_ONE = np.float64(1)

# Arguments of these types are one differentiable leaf where their dtype is inexact: no tree is looked for.
_LEAF_TYPES = (np.ndarray, ReverseTracer)


def grad(f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[P, Any]:
    """Make the function that computes the gradient of a scalar-valued function.

    Args:
        f: returns a real scalar (shape ``[]``); its arguments may be pytrees of arrays. With ``has_aux`` it returns
            ``(scalar, aux)``.
        argnums: by which positional arguments to differentiate.
        has_aux: whether ``f`` returns auxiliary data beside the scalar.

    Returns:
        A function of the arguments of ``f`` that returns the gradient: a pytree like the argument, or a tuple of them
        where ``argnums`` is a sequence; ``(gradient, aux)`` with ``has_aux``. Complex gradients follow JAX's
        convention (the conjugate of the steepest-ascent direction).

    Raises:
        NotDifferentiableError: an argument, or the output, is of integer or boolean dtype.
        NonScalarOutputError: the output is not a real scalar.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
        array([2., 4.])

    Source: Griewank and Walther, *Evaluating Derivatives*, 2nd edition (2008), chapter 3. The signature is
    ``jax.grad``'s.
    """
    compute = _computation(f, argnums, has_aux, "grad")

    @functools.wraps(f)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        # A door (see `folded`) without the call that one costs.
        try:
            value, grads = compute(*args, **kwargs)
        except Exception as error:
            fold(error)
            raise
        return (grads, value[1]) if has_aux else grads

    gradient.__name__ = f"grad_{name_of(f)}"
    return gradient


def value_and_grad(f: Callable[P, R], argnums: Argnums = 0, has_aux: bool = False) -> Callable[P, tuple[R, Any]]:
    """Make the function that computes a scalar-valued function and its gradient together.

    Args:
        f: as for `grad`.
        argnums: as for `grad`.
        has_aux: as for `grad`.

    Returns:
        A function that returns ``(value, gradient)``; ``((value, aux), gradient)`` with ``has_aux``.

    Raises:
        NotDifferentiableError: an argument, or the output, is of integer or boolean dtype.
        NonScalarOutputError: the output is not a real scalar.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> value, gradient = fg.value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
        >>> float(value), gradient
        (5.0, array([2., 4.]))
    """
    return folded(_computation(f, argnums, has_aux, "value_and_grad"))


def _computation(f: Callable[..., Any], argnums: Argnums, has_aux: bool, transform: str) -> Callable[..., Any]:
    argnums = checked_argnums(transform, f, argnums)
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    mixed = len(numbers) > 1 and min(numbers) < 0

    @functools.wraps(f)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        trace = ReverseTrace()
        new_args = list(args)
        inputs = []
        if mixed:
            refuse_repeated(transform, f, [number % max(len(args), 1) for number in numbers])
        for number in numbers:
            new_args[number], leaves, treedef = _trace_argument(trace, f, number, args)
            inputs.append((leaves, treedef))
        with trace:
            out = f(*new_args, **kwargs)
            if type(out) is not ReverseTracer:
                out = without_object_arrays(out)
        aux = None
        if has_aux:
            out, aux = split_aux(f, out)
            aux = untraced(aux, trace)
        value, seeds = _seeded(f, out, trace)
        # From here on nobody but the pass holds on to the tape, so it goes as the pass does.
        del out
        grads = _gradients(value, seeds, inputs)
        if type(value) is not np.float64:
            value = lasting(value, [x for tracers, _ in inputs for x in tracers])
        result = grads[0] if isinstance(argnums, int) else tuple(grads)
        return ((value, aux), result) if has_aux else (value, result)

    value_and_gradient.__name__ = f"value_and_grad_{name_of(f)}"
    return value_and_gradient


def _trace_argument(
    trace: ReverseTrace, f: Callable[..., Any], number: int, args: tuple
) -> tuple[Any, list[ReverseTracer], TreeDef]:
    if not -len(args) <= number < len(args):
        raise TypeError(
            f"grad: {argument_name(f, number)} is to be differentiated, but the call has {len(args)} positional "
            "arguments. Pass it by position, or change argnums."
        )
    arg = args[number]
    if type(arg) in _LEAF_TYPES and is_inexact(arg.dtype):
        tracer = trace.input(arg)
        return tracer, [tracer], LEAF
    leaves, treedef = differentiable_leaves("grad", f, number, arg)
    tracers = [trace.input(leaf) for leaf in leaves]
    return unflatten(treedef, tracers), tracers, treedef


def split_aux(f: Callable[..., Any], out: Any) -> tuple[Any, Any]:
    if isinstance(out, tuple | list) and len(out) == 2:
        return out[0], out[1]
    raise TypeError(
        f"grad: with has_aux=True, {name_of(f)} must return a pair (value, aux). It returned "
        f"{f'{len(out)} values' if isinstance(out, tuple | list) else f'a {type(out).__name__}'}. "
        "Return the pair, or leave out has_aux."
    )


def _seeded(f: Callable[..., Any], out: Any, trace: ReverseTrace) -> tuple[Any, Iterator[tuple[Any, Any]]]:
    """The value, and what the pass starts from; an iterator, since that holds on to nothing once it was used."""
    if type(out) is ReverseTracer and out.owner is trace:
        if out.shape or out.dtype.kind == "c":
            _refuse_output(f, out)
        if type(out.value) is np.float64:
            return out.value, iter([(out.node, _ONE)])
        return plain(out.value), iter([(out.node, ones_like(out.value))])
    if not _is_real_scalar(out):
        _refuse_output(f, out)
    require_inexact("grad", f, [out])
    return out, iter(())


def _gradients(
    value: Any, seeds: Iterator[tuple[Any, Any]], inputs: list[tuple[list[ReverseTracer], TreeDef]]
) -> list[Any]:
    if type(value) is np.float64:
        bars = backward_pass(seeds, sparse=True)
    else:
        with engine_scope((value,)):
            bars = backward_pass(seeds, sparse=True)
    seen: set[int] = set()
    return [
        _gradient(tracers[0], bars, seen)
        if treedef is LEAF
        else unflatten(treedef, [_gradient(x, bars, seen) for x in tracers])
        for tracers, treedef in inputs
    ]


def _is_real_scalar(out: Any) -> bool:
    aval = aval_of(out) if is_value(out) else None
    return aval is not None and aval.shape == () and aval.dtype.kind in "biufV"


def _refuse_output(f: Callable[..., Any], out: Any) -> Any:
    pairs = flatten_with_path(out)[0]
    if len(pairs) == 1:
        path, leaf = pairs[0]
        where = f" {key_path_str(path)}" if key_path_str(path) else ""
        text = str(aval_of(leaf)) if hasattr(leaf, "dtype") and is_value(leaf) else type(leaf).__name__
        if text.startswith("c"):
            needed = "a real scalar: take np.real or np.abs of it, or use fg.vjp"
        else:
            needed = "f32[] or f64[]. Reduce it with np.mean or np.sum, or use fg.jacrev"
    else:
        where, text, needed = (
            "",
            f"a {type(out).__name__} of {len(pairs)} leaves",
            "one scalar, or (scalar, aux) with has_aux=True",
        )
    raise NonScalarOutputError(
        f"grad: {name_of(f)} must return a scalar. Its output{where} is {text}; needed {needed}."
    )


def _gradient(x: ReverseTracer, bars: dict[Any, Any], seen: set[int]) -> Any:
    """The gradient of one leaf: zeros where nothing depends on it, and an array of its own that may be written to."""
    bar = bars.get(x.node)
    if bar is None:
        return zeros_like(x.value)
    if type(bar) is np.ndarray:
        if bar.dtype is not x.dtype:
            bar = bar.astype(x.dtype, copy=False)
        if bar.base is not None or id(bar) in seen:
            bar = bar.copy()
        seen.add(id(bar))
        return bar
    if isinstance(bar, Tracer):
        if id(bar) in seen:
            bar = copy(bar)
        seen.add(id(bar))
    if type(bar) is Rows:
        values = bar.values.copy() if type(bar.values) is np.ndarray else bar.values
        return Rows(bar.indices, lasting(cast(values, x.dtype), (x,)), bar.shape)
    return lasting(cast(bar, x.dtype), (x,))


def without_object_arrays(tree: Any) -> Any:
    """A pytree whose object arrays of tracers are stacked back into traced arrays, while their trace is running.

    Object arrays of numbers become those numbers. What else is no array may be auxiliary data, and stays.
    """
    leaves, treedef = flatten(tree)
    return unflatten(treedef, [as_value(x) if is_object_array(x) or _hides_tracer(x) else x for x in leaves])


def _hides_tracer(x: Any) -> bool:
    return is_guest(x) and holds_tracer(x)


def untraced(tree: Any, trace: ReverseTrace) -> Any:
    """A pytree in which the tracers of an ended trace are replaced by their values."""
    leaves, treedef = flatten(tree)
    return unflatten(treedef, [_value_of(leaf, trace) for leaf in leaves])


def _value_of(leaf: Any, trace: ReverseTrace) -> Any:
    return lasting(plain(leaf.value)) if type(leaf) is ReverseTracer and leaf.owner is trace else leaf


class Pullback:
    """The transposed derivative at a point: cotangents of the outputs in, cotangents of the primals out.

    It may be called any number of times. Its ``graph`` is the program it runs, with what the forward pass kept as
    constants.
    """

    def __init__(self, f_name: str, outputs: list[Any], out_tree: TreeDef, inputs: list[tuple[list, TreeDef]]) -> None:
        self._f_name = f_name
        self._outputs = outputs
        self._out_tree = out_tree
        self._inputs = inputs

    @folded
    def __call__(self, cotangent: Any) -> tuple[Any, ...]:
        """The cotangent of each primal, for a cotangent with the structure, shapes and dtypes of the output."""
        bars, treedef = flatten(cotangent)
        if treedef != self._out_tree:
            raise TreeMismatchError(
                f"vjp: the cotangent passed to the pullback of {self._f_name} has structure {treedef}; needed that of "
                f"the output, {self._out_tree}. Pass one cotangent for each output."
            )
        return self._pull(bars)

    @property
    def graph(self) -> Graph:
        """The pullback as a graph: its inputs are the cotangents."""
        avals = [aval_of(value) for value, _ in self._outputs]
        return stage_flat(lambda *bars: flatten(self._pull(list(bars)))[0], avals, f"vjp_{self._f_name}")

    def _pull(self, bars: list[Any]) -> tuple[Any, ...]:
        seeds = []
        for (value, node), bar in zip(self._outputs, bars, strict=True):
            seed = self._checked(value, bar)
            if node is not None:
                seeds.append((node, seed))
        with engine_scope([*bars, *(value for value, _ in self._outputs)]):
            leaves = backward_pass(seeds)
        results = []
        for tracers, treedef in self._inputs:
            found = [leaves.get(x.node) for x in tracers]
            whole = [zeros_like(x.value) if bar is None else bar for x, bar in zip(tracers, found, strict=True)]
            results.append((treedef, whole))
        primals = [x for tracers, _ in self._inputs for x in tracers]
        mine = iter(owned([x_bar for _, whole in results for x_bar in whole], [*bars, *primals]))
        return tuple([unflatten(treedef, [next(mine) for _ in whole]) for treedef, whole in results])

    def _checked(self, value: Any, bar: Any) -> Any:
        needed, bar = aval_of(value), taken(bar)
        if not isinstance(bar, Tracer) and not hasattr(bar, "dtype"):
            bar = number_like(bar, needed, f"vjp: a cotangent passed to the pullback of {self._f_name}")
        if bar.shape != needed.shape or (bar.dtype != needed.dtype and is_inexact(needed.dtype)):
            raise TreeMismatchError(
                f"vjp: a cotangent passed to the pullback of {self._f_name} is {aval_of(bar)}; needed {needed}, the "
                "type of the output. Convert or reshape it."
            )
        return bar


@folded
def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Compute a function and its pullback, the product of a cotangent with the Jacobian.

    Args:
        f: a function of as many arguments as there are primals.
        primals: pytrees of float or complex arrays, the point.
        has_aux: whether ``f`` returns ``(out, aux)``.

    Returns:
        ``(out, pullback)``, with ``aux`` as a third where ``has_aux``; ``pullback(out_bar)`` is a tuple with a
        cotangent per primal, and ``pullback.graph`` is its graph.

    Raises:
        NotDifferentiableError: a primal is of integer or boolean dtype.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> out, pullback = fg.vjp(np.sin, np.array([0.0, 1.0]))
        >>> pullback(np.array([1.0, 0.0]))[0]
        array([1., 0.])
    """
    check_callable("vjp", f)
    trace = ReverseTrace()
    new_args = []
    inputs = []
    for number, primal in enumerate(primals):
        leaves, treedef = differentiable_leaves("vjp", f, number, primal)
        tracers = [trace.input(leaf) for leaf in leaves]
        new_args.append(unflatten(treedef, tracers))
        inputs.append((tracers, treedef))
    with trace:
        out, aux = f(*new_args), None
        if has_aux:
            out, aux = split_aux(f, out)
            aux = without_object_arrays(aux)
        leaves, out_tree = flatten(out)
        leaves = [returned("vjp", name_of(f), y) for y in leaves]
    outputs = [_value_and_node(leaf, trace) for leaf in leaves]
    pullback = Pullback(name_of(f), outputs, out_tree, inputs)
    given = [x for tracers, _ in inputs for x in tracers]
    result = unflatten(out_tree, [lasting(value, given) for value, _ in outputs]), pullback
    return (*result, untraced(aux, trace)) if has_aux else result


def _value_and_node(leaf: Any, trace: ReverseTrace) -> tuple[Any, Node | None]:
    if type(leaf) is ReverseTracer and leaf.owner is trace:
        return plain(leaf.value), leaf.node
    return leaf, None
