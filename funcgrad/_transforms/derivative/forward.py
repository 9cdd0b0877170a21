"""Forward mode: ``jvp``, and ``linearize``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of, is_inexact
from funcgrad._core.bind import Tracer, active_trace, is_value
from funcgrad._core.graph.ir import Graph
from funcgrad._core.graph.simplify import simplify
from funcgrad._core.lazy import LazyModule
from funcgrad._core.numbers import plain
from funcgrad._core.trace.forward import ForwardTrace, ForwardTracer
from funcgrad._core.trace.reads import warn_if_hidden
from funcgrad._core.trace.staging import StagingTrace
from funcgrad._core.tracebacks import folded
from funcgrad._engines import engine_scope, is_abstract, lasting
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._ops.random.bits import untyped
from funcgrad._transforms.base.arguments import (
    argument_name,
    check_callable,
    differentiable_leaves,
    name_of,
    number_like,
    owned,
    require_value,
    returned,
    taken,
    tangent_like,
)
from funcgrad._transforms.base.recording import without_object_arrays
from funcgrad._transforms.debug import evaluated
from funcgrad._transforms.derivative.reverse import split_aux
from funcgrad._types import Array, PyTree, Value
from funcgrad.errors import TreeMismatchError
from funcgrad.tree import flatten, flatten_up_to, unflatten

_shortening: Any = LazyModule("funcgrad._transforms.base.shortening")
# JAX's dtype for the tangents of integers, ``jax.dtypes.float0``.
_FLOAT0 = np.dtype([("float0", np.void)])


@folded
def jvp(
    f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False
) -> tuple[Any, ...]:
    """Compute a function and its derivative along a direction, the product of the Jacobian with a tangent.

    Args:
        f: a function of as many arguments as there are primals.
        primals: pytrees of float or complex arrays, the point. Integers and booleans may be among them.
        tangents: one per primal, with its structure and shapes: the direction. Numbers of another dtype are cast where
            NumPy does so (``same_kind``), integers where nothing is lost. The tangent of an integer or a boolean is
            ``None`` or zero.
        has_aux: whether ``f`` returns ``(out, aux)``.

    Returns:
        ``(out, out_dot)``, both with the structure of the output, and ``aux`` as a third with ``has_aux``.

    Raises:
        NotDifferentiableError: a primal is of integer or boolean dtype, and its tangent is not zero.
        TreeMismatchError: a tangent has another structure, shape or dtype than its primal.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.jvp(lambda x: x**2, (np.array([1.0, 2.0]),), (np.array([1.0, 1.0]),))
        (array([1., 4.]), array([2., 4.]))

    Source: Griewank and Walther, *Evaluating Derivatives*, 2nd edition (2008), section 3.1.
    """
    check_callable("jvp", f)
    for name, values in (("primals", primals), ("tangents", tangents)):
        if not isinstance(values, tuple | list):
            raise TypeError(
                f"jvp: {name} is a {type(values).__name__}; needed a tuple with one for each positional argument of "
                f"{name_of(f)}. Write ({name[:-1]},) for one."
            )
    if len(primals) != len(tangents):
        raise TreeMismatchError(
            f"jvp: there are {len(primals)} primals and {len(tangents)} tangents; needed one tangent for each primal."
        )
    trace = ForwardTrace(engine_scope)
    trace.function = f
    args = []
    given = []
    for number, (primal, tangent) in enumerate(zip(primals, tangents, strict=True)):
        found, treedef = flatten(primal)
        dots = flatten_up_to(treedef, tangent, f"jvp: the tangent of {argument_name(f, number)}")
        fixed = [_is_fixed(x, x_dot) for x, x_dot in zip(found, dots, strict=True)]
        if any(fixed):
            checked = unflatten(treedef, [0.0 if is_fixed else x for x, is_fixed in zip(found, fixed, strict=True)])
        else:
            checked = primal
        leaves = differentiable_leaves("jvp", f, number, checked)[0]
        values = []
        for x, x_dot, whole, is_fixed in zip(leaves, dots, found, fixed, strict=True):
            if is_fixed:
                values.append(taken(whole))
                continue
            pair = x, _checked(f, number, x, x_dot)
            values.append(trace.input(*pair))
            given += pair
        args.append(unflatten(treedef, values))
    outer = None if active_trace() is None else _shortening.stages_first(trace, args)
    staged = (
        None
        if outer is None
        else _shortening.run_staged(outer, lambda args: without_object_arrays(f(*args)), args, trace)
    )
    with trace:
        out = f(*args) if outer is None else staged
        out, aux = split_aux("jvp", f, out) if has_aux else (out, None)
        leaves, out_tree = flatten(out)
        found = [require_value("jvp", f, returned("jvp", name_of(f), y)) for y in leaves]
        pairs = [_primal_and_tangent(y, trace) for y in found]
    if trace.reads and not any(type(y) is ForwardTracer and y._owner is trace for y in found):
        warn_if_hidden(trace, None)
    out_dots = owned([x_dot for _, x_dot in pairs], [*given, *[x for x, _ in pairs]])
    result = unflatten(out_tree, [lasting(x, given) for x, _ in pairs]), unflatten(out_tree, out_dots)
    return (*result, _ended(aux)) if has_aux else result


def _is_fixed(x: Value, x_dot: PyTree) -> bool:
    """Return whether a leaf has an integer or boolean dtype and no tangent: ``None``, JAX's float0, or zeros."""
    if type(x) is np.ndarray and x.dtype.kind in "fc":
        return False
    if not is_value(x) or is_inexact(aval_of(untyped(x)).dtype):
        return False
    if x_dot is None or getattr(x_dot, "dtype", None) == _FLOAT0:
        return True
    return is_value(x_dot) and not isinstance(x_dot, Tracer) and not is_abstract(x_dot) and not np.any(x_dot)


def _checked(f: Callable[..., Any], number: int, x: Value, x_dot: PyTree) -> Array:
    needed, x_dot = aval_of(x), taken(x_dot)
    if not hasattr(x_dot, "dtype"):
        x_dot = number_like(x_dot, needed, f"jvp: the tangent of {argument_name(f, number)}")
    x_dot = tangent_like(x_dot, needed)
    if x_dot.shape != needed.shape or x_dot.dtype != needed.dtype:
        raise TreeMismatchError(
            f"jvp: the tangent of {argument_name(f, number)} is {aval_of(x_dot)}; needed {needed}, the type of the "
            "primal. Convert or reshape it."
        )
    return x_dot


def _primal_and_tangent(leaf: Value, trace: ForwardTrace) -> tuple[Any, Any]:
    if type(leaf) is ForwardTracer and leaf._owner is trace:
        return plain(leaf._value), plain(leaf._tangent)
    return leaf, zeros_like(leaf)


class Linearized:
    """The derivative at a point, as a function of the tangents. Its ``graph`` is the program it runs."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph

    def __repr__(self) -> str:
        return f"<linearized {self.graph.name}: {len(self.graph.equations)} equations>"

    @folded
    def __call__(self, *tangents: PyTree) -> Any:
        """Return the tangent of the output, for one tangent per primal with the same structure, shapes and dtypes."""
        assert self.graph.trees is not None
        in_tree, out_tree = self.graph.trees
        dots = flatten_up_to(in_tree, tangents, f"linearize: the tuple of tangents of {self.graph.name}")
        pairs = zip(dots, self.graph.inputs, strict=True)
        given = [self._checked(x_dot, var.aval) for x_dot, var in pairs]
        out_dots = evaluated(self.graph, given)
        return unflatten(out_tree, owned(out_dots, [*given, *[value for _, value in self.graph.constants]]))

    def _checked(self, x_dot: PyTree, needed: Aval) -> Array:
        x_dot = taken(x_dot)
        if not hasattr(x_dot, "dtype"):
            x_dot = number_like(x_dot, needed, f"linearize: a tangent passed to {self.graph.name}")
        x_dot = tangent_like(x_dot, needed)
        if x_dot.shape != needed.shape or x_dot.dtype != needed.dtype:
            raise TreeMismatchError(
                f"linearize: a tangent passed to {self.graph.name} is {aval_of(x_dot)}; needed {needed}, the type of "
                "the primal. Convert or reshape it."
            )
        return x_dot


@folded
def linearize(f: Callable[..., Any], *primals: PyTree, has_aux: bool = False) -> tuple[Any, ...]:
    """Compute a function and its derivative at a point, as a linear function of tangents.

    The function runs once. For many tangents at one point this is cheaper than a `jvp` for each.

    Args:
        f: a function of as many arguments as there are primals.
        primals: pytrees of float or complex arrays, the point.
        has_aux: whether ``f`` returns ``(out, aux)``.

    Returns:
        ``(out, f_jvp)``, and ``aux`` as a third with ``has_aux``; ``f_jvp(*tangents)`` is the tangent of the output.

    Raises:
        NotDifferentiableError: a primal is of integer or boolean dtype.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> out, f_jvp = fg.linearize(np.sin, np.array([0.0, 1.0]))
        >>> f_jvp(np.array([1.0, 0.0]))
        array([1., 0.])
    """
    check_callable("linearize", f)
    trace = StagingTrace("linearize", copies=True, effects=False)
    for number, primal in enumerate(primals):
        differentiable_leaves("linearize", f, number, primal)
    found, in_tree = flatten(primals)
    dots = unflatten(in_tree, [trace.input(aval_of(x)) for x in found])
    extra: list[Any] = []

    def without_aux(*args: Any) -> Any:
        out, aux = split_aux("linearize", f, f(*args))
        extra.append(aux)
        return out

    with trace:
        out, out_dot = jvp(functools.wraps(f)(without_aux) if has_aux else f, primals, dots)
        out_dots, out_tree = flatten(out_dot)
        graph = simplify(trace.graph(out_dots, f"jvp_{name_of(f)}")).with_trees(in_tree, out_tree)
    result = out, Linearized(graph)
    return (*result, _ended(extra[0])) if has_aux else result


def _ended(tree: PyTree) -> Any:
    """Replace the tracers of an ended forward pass in a pytree by their values."""
    found, treedef = flatten(tree)
    return unflatten(treedef, [x._value if type(x) is ForwardTracer and not x._owner.alive else x for x in found])
