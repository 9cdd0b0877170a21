"""Taylor mode: ``jet``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad._core.aval import aval_of
from funcgrad._core.numbers import plain
from funcgrad._core.trace.jet import JetTrace, JetTracer
from funcgrad._core.tracebacks import folded
from funcgrad._engines import engine_scope, lasting
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._transforms.base.arguments import (
    argument_name,
    check_callable,
    differentiable_leaves,
    name_of,
    number_like,
    owned,
    returned,
    taken,
)
from funcgrad._types import ArrayLike, PyTree
from funcgrad.errors import TreeMismatchError
from funcgrad.tree import flatten, flatten_up_to, unflatten


@folded
def jet(
    fun: Callable[..., Any], primals: Sequence[Any], series: Sequence[Any], factorial_scaled: bool = True
) -> tuple[Any, Any]:
    """Compute a function and its derivatives of higher order along a curve.

    The curve is ``x(t) = primal + terms[0] t + terms[1] t**2 / 2! + ...``; its derivative of order ``k`` at 0 is
    ``terms[k - 1]``. The result has the derivatives of ``fun(x(t))`` at 0 in the same form.

    Args:
        fun: a function of as many arguments as there are primals.
        primals: pytrees of float or complex arrays, the point.
        series: one for each primal, with a list of terms in place of each array. A term has the shape and dtype of the
            array, or is the number 0, which costs no operations. The length of the lists is the order, and all have
            the same.
        factorial_scaled: whether terms are derivatives. If it is false, they are the coefficients of ``t**k``, here
            and in the result.

    Returns:
        ``(out, terms)``: the output, and a pytree like it with a list of terms in place of each array.

    Raises:
        NotDifferentiableError: a primal is of integer or boolean dtype, or ``fun`` has no forward mode.
        TreeMismatchError: a term has another structure, shape or dtype than its primal.
        ValueError: the lists of terms differ in length.

    Example:
        The derivatives of ``exp(x**2)`` along ``x = 1 + t``:

        >>> import numpy as np
        >>> import funcgrad as fg
        >>> out, terms = fg.jet(lambda x: np.exp(x**2), (1.0,), ([1.0, 0, 0],))
        >>> [round(float(term / out), 9) for term in terms]
        [2.0, 6.0, 20.0]

    It takes time in proportion to the square of the order, where a nest of `jvp` takes two to three times more for each
    order. It differs from JAX in that primals may be pytrees and terms the number 0.

    Source: the signature is that of ``jax.experimental.jet.jet``; Griewank and Walther, *Evaluating Derivatives*, 2nd
    edition (2008), chapter 13.
    """
    check_callable("jet", fun)
    for name, values in (("primals", primals), ("series", series)):
        if not isinstance(values, tuple | list):
            raise TypeError(
                f"jet: {name} is a {type(values).__name__}; needed a tuple with one for each positional argument of "
                f"{name_of(fun)}. Write ({name},) for one."
            )
    if len(primals) != len(series):
        raise TreeMismatchError(
            f"jet: there are {len(primals)} primals and {len(series)} series; needed one series for each primal."
        )
    given: list[Any] = []
    points = []
    for number, (primal, terms) in enumerate(zip(primals, series, strict=True)):
        found, treedef = differentiable_leaves("jet", fun, number, primal)
        lists = flatten_up_to(treedef, terms, f"jet: the series of {argument_name(fun, number)}")
        pairs = [(x, _checked(fun, number, x, each)) for x, each in zip(found, lists, strict=True)]
        given += [value for x, each in pairs for value in (x, *each) if value is not None]
        points.append((treedef, pairs))
    order = _order(fun, [len(each) for _, pairs in points for _, each in pairs])
    trace = JetTrace(order, zeros_like, engine_scope)
    with engine_scope(given):
        args = [
            unflatten(treedef, [trace.input(x, _scaled(each, factorial_scaled, _divided)) for x, each in pairs])
            for treedef, pairs in points
        ]
    with trace:
        out_leaves, out_tree = flatten(fun(*args))
        ys = [_terms(returned("jet", name_of(fun), y), trace) for y in out_leaves]
    values = [lasting(value, given) for value, _ in ys]
    with engine_scope([*given, *values]):
        results = [_scaled(terms, factorial_scaled, _multiplied) for _, terms in ys]
    unshared = iter(owned([term for terms in results for term in terms], [*given, *[value for value, _ in ys]]))
    return unflatten(out_tree, values), unflatten(out_tree, [[next(unshared) for _ in terms] for terms in results])


def _checked(fun: Callable[..., Any], number: int, x: ArrayLike, terms: PyTree) -> list[Any]:
    """Return the terms of one array."""
    where, needed = f"jet: the series of {argument_name(fun, number)}", aval_of(x)
    if not isinstance(terms, tuple | list):
        raise TypeError(
            f"{where} has a {type(terms).__name__} for an array {needed}; needed a list of terms, one for each order. "
            "Write [term] for one."
        )
    found = []
    for k, given in enumerate(terms):
        if type(given) in (int, float) and given == 0:
            found.append(None)
            continue
        term = taken(given)
        if not hasattr(term, "dtype"):
            term = number_like(term, needed, f"{where}, term {k},")
        if term.shape != needed.shape or term.dtype != needed.dtype:
            raise TreeMismatchError(
                f"{where} has {aval_of(term)} as term {k}; needed {needed}, the type of the primal. Convert or "
                "reshape it."
            )
        found.append(term)
    return found


def _order(fun: Callable[..., Any], lengths: Sequence[int]) -> int:
    if len(set(lengths)) > 1:
        raise ValueError(
            f"jet: the series of {name_of(fun)} have {' and '.join(map(str, sorted(set(lengths))))} terms; needed the "
            "same number for each array. Fill up with zeros."
        )
    return lengths[0] if lengths else 0


def _terms(y: ArrayLike, trace: JetTrace) -> tuple[Any, list[Any]]:
    """Return the value of an output and its coefficients."""
    if type(y) is not JetTracer or y._owner is not trace:
        return y, [zeros_like(y) for _ in range(trace.order)]
    value, found = y._value, [y._series[k] for k in range(1, trace.order + 1)]
    return plain(value), [zeros_like(value) if term is None else plain(term) for term in found]


def _scaled(terms: Sequence[Any], factorial_scaled: bool, scale: Callable[[Any, float], Any]) -> list[Any]:
    """Return the terms, multiplied with or divided by the factorials of their orders."""
    found = list(terms)
    for k in range(1, len(found) if factorial_scaled else 0):
        for factor in _factorial(k + 1):
            found[k] = None if found[k] is None else scale(found[k], factor)
    return found


def _factorial(k: int) -> list[int]:
    """Return factors of k! that are small enough for float16."""
    factors = [1]
    for i in range(2, k + 1):
        if factors[-1] * i > 60_000:
            factors.append(1)
        factors[-1] *= i
    return factors


def _divided(x: ArrayLike, factor: float) -> Any:
    return x / factor


def _multiplied(x: ArrayLike, factor: float) -> Any:
    return x * factor
