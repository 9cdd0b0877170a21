"""The Laplacian of a function, by one forward pass of value, Jacobian and Laplacian."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any, ParamSpec

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.numbers import plain
from funcgrad._core.trace.kept import copied
from funcgrad._core.tracebacks import folded
from funcgrad._engines import lasting
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._transforms.base.arguments import (
    argument_name,
    check_callable,
    checked_argnums,
    differentiable_leaves,
    name_of,
    owned,
    require_inexact,
    returned,
)
from funcgrad._transforms.base.own import with_read_only
from funcgrad._transforms.base.pickled import picklable
from funcgrad._transforms.derivative.higher_order import refuse_complex
from funcgrad._transforms.derivative.laplacian_trace import LaplacianTrace, LaplacianTracer
from funcgrad._types import Array
from funcgrad.errors import NonScalarOutputError
from funcgrad.tree import flatten, unflatten

P = ParamSpec("P")


@picklable
def laplacian(f: Callable[P, Any], argnums: int = 0) -> Callable[P, Any]:
    """Make the function that computes the Laplacian, the trace of the Hessian: ``sum_i d2 f / d x_i^2``.

    Args:
        f: a function of pytrees of arrays that returns a scalar, which may be complex.
        argnums: the positional argument, of real float dtype, to differentiate by. All of its elements count.

    Returns:
        A function of the arguments of ``f`` that returns the Laplacian, a scalar of the dtype of the output.

    Raises:
        NotDifferentiableError: the argument is complex, or the argument or the output is of integer or boolean dtype.
        NonScalarOutputError: the output is no scalar.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> float(fg.laplacian(lambda x: np.sum(x**3))(np.array([1.0, 2.0])))
        18.0

    One pass carries the value, the derivatives by each element, and the Laplacian of every intermediate array. For a
    network it needs less than half of the operations of ``np.trace(fg.hessian(f)(x))``. If an intermediate array
    depends on few elements of the argument, as in sums over neighbours, only the derivatives by these are stored.

    Source: Li et al., *A computational framework for neural network-based variational Monte Carlo with Forward
    Laplacian*, Nature Machine Intelligence 6 (2024).
    """
    check_callable("laplacian", f)
    number = checked_argnums("laplacian", f, argnums)
    if not isinstance(number, int):
        raise TypeError(
            f"laplacian: argnums of {name_of(f)} is a {type(argnums).__name__}; needed one position, counted from 0. "
            "Put the arrays into one argument, as a tuple."
        )

    called: Callable[..., Any] = f

    @folded
    @functools.wraps(f)
    def trace_of_hessian(*args: Any, **kwargs: Any) -> Any:
        if not -len(args) <= number < len(args):
            raise TypeError(
                f"laplacian: {argument_name(f, number)} is to be differentiated, but the call has {len(args)} "
                "positional arguments. Pass it by position, or change argnums."
            )
        found, in_tree = differentiable_leaves("laplacian", f, number, args[number])
        refuse_complex("laplacian", f"{name_of(f)} is asked by an input", "pass np.real and np.imag", found)
        ends = list(itertools.accumulate([aval_of(x).size for x in found], initial=0))
        trace = LaplacianTrace(ends[-1])
        whole, kwargs = with_read_only(trace, args, kwargs, [number])
        # Derivatives are computed later, and the function may write to the array of the caller.
        inputs = [copied(x) if type(x) is np.ndarray else x for x in found]
        whole[number] = unflatten(in_tree, [trace.input(x, first) for x, first in zip(inputs, ends, strict=False)])
        with trace:
            y = _scalar(f, called(*whole, **kwargs))
            result = zeros_like(y)
            if type(y) is LaplacianTracer and y._owner is trace:
                result = zeros_like(y._value) if y._laplacian is None else y._laplacian
        return lasting(owned([plain(result)], found)[0], found)

    return trace_of_hessian


def _scalar(f: Callable[..., Any], out: Array) -> Any:
    """Return the scalar that the function returned."""
    found, out_tree = flatten(out)
    alone = len(found) == 1 and out_tree == flatten(0.0)[1]
    y = returned("laplacian", name_of(f), found[0]) if alone else None
    if y is None or aval_of(y).shape:
        arrived = aval_of(y) if alone else out if out is None else f"a {type(out).__name__}"
        raise NonScalarOutputError(
            f"laplacian: {name_of(f)} must return a scalar. Its output is {arrived}; needed an array of shape []. "
            f"{'Is a return missing?' if out is None else 'Reduce it with sum or mean, or take one element.'}"
        )
    require_inexact("laplacian", f, [y])
    return y
