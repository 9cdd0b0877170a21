"""Propagation of uncertainty: the covariance of a function of uncertain quantities, to first order."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import Aval, aval_of, common_dtype, is_real
from funcgrad._core.tracebacks import folded
from funcgrad._transforms.base.arguments import (
    argument_name,
    check_callable,
    differentiable_leaves,
    name_of,
    number_like,
    require_inexact,
    taken,
)
from funcgrad._transforms.base.pickled import picklable
from funcgrad._transforms.derivative.higher_order import jacobian, refuse_complex
from funcgrad._types import ArrayLike
from funcgrad.errors import TreeMismatchError
from funcgrad.tree import TreeDef, flatten, flatten_up_to, leaves, unflatten


@picklable
def delta_method(f: Callable[[Any], Any]) -> Callable[[Any, Any], tuple[Any, Any]]:
    """Make the function that propagates a covariance through ``f`` to first order: ``cov_out = J @ cov @ J.T``.

    Args:
        f: a function of one pytree of real float arrays, which returns one. Give it other arguments by a closure.

    Returns:
        A function of ``(x, cov)`` that returns ``(f(x), cov_out)``. ``cov`` has the structure of ``x`` twice: the block
        of the leaves ``a`` and ``b`` has shape ``a.shape + b.shape`` and the units of their product. For one vector it
        is the usual matrix. ``cov_out`` has the structure of the output twice. It is symmetric, and correct to first
        order: ``f`` has to be nearly linear over the spread of ``x``.

        A product with an exact zero is zero, also where the other factor is infinite or NaN. Outputs that depend on
        no common uncertain quantity therefore have the covariance 0, and a quantity of variance 0 adds nothing.

    Raises:
        NotDifferentiableError: a quantity or an output is complex, or of integer or boolean dtype.
        TreeMismatchError: ``cov`` has not the structure of ``x`` twice, or a block has another shape.
        ValueError: ``cov`` is not symmetric, or a variance is negative (numbers that are traced are not checked).

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> ratio = fg.delta_method(lambda p: p["a"] / p["b"])
        >>> cov = {"a": {"a": 0.04, "b": 0.0}, "b": {"a": 0.0, "b": 0.01}}
        >>> value, variance = ratio({"a": 6.0, "b": 2.0}, cov)
        >>> round(float(value), 3), round(float(variance), 4)
        (3.0, 0.0325)

    Source: Casella and Berger, *Statistical Inference*, 2nd edition (2002), section 5.5.4; JCGM 102:2011, equation 3.
    """
    check_callable("delta_method", f)

    @folded
    def propagated(x: ArrayLike, cov: ArrayLike) -> tuple[Any, Any]:
        found, in_tree = differentiable_leaves("delta_method", f, 0, x)
        refuse_complex("delta_method", f"{name_of(f)} is asked by an input", "pass np.real and np.imag", found)
        avals = list(map(aval_of, found))
        matrix = _matrix(f, in_tree, avals, cov)
        slopes, value = jacobian(_with_value(f), has_aux=True)(x)
        outs, out_tree = flatten(value)
        rows = leaves(slopes)
        flat = [
            _row(rows[i : i + len(avals)], aval_of(y), avals) for i, y in zip(_steps(rows, avals), outs, strict=True)
        ]
        whole = fnp.concatenate(flat, 0) if flat else np.zeros((0, matrix.shape[0]))
        spread = _product(_product(whole, matrix), whole.T)
        blocks = _blocks((spread + spread.T) * 0.5, list(map(aval_of, outs)))
        return value, unflatten(out_tree, [unflatten(out_tree, row) for row in blocks])

    return functools.update_wrapper(propagated, f, ("__module__", "__name__", "__qualname__"), ())


def _with_value(f: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, Any]]:
    """Return the function that returns the output of ``f`` also as auxiliary data."""

    @functools.wraps(f)
    def twice(x: ArrayLike) -> tuple[Any, Any]:
        y = f(x)
        require_inexact("delta_method", f, leaves(y))
        refuse_complex("delta_method", f"{name_of(f)} has an output", "take np.real and np.imag apart", y)
        return y, y

    return twice


def _steps(rows: Sequence[Any], avals: Sequence[Aval]) -> range:
    return range(0, len(rows), len(avals))


def _row(blocks: Sequence[Any], y: Aval, avals: Sequence[Aval]) -> Any:
    """Return the rows of the Jacobian that belong to one output, as a matrix."""
    pairs = zip(blocks, avals, strict=True)
    return fnp.concatenate([fnp.reshape(block, (y.size, aval.size)) for block, aval in pairs], 1)


def _matrix(f: Callable[..., Any], in_tree: TreeDef, avals: Sequence[Aval], cov: ArrayLike) -> Any:
    """Return the covariance of all quantities as one matrix."""
    where = f"delta_method: the covariance of {argument_name(f, 0)}"
    if not avals:
        raise TypeError(f"{where} was given, and the argument has no arrays; needed one or more uncertain quantities.")
    rows = [flatten_up_to(in_tree, row, where) for row in flatten_up_to(in_tree, cov, where)]
    blocks = [
        [_block(where, block, a, b) for block, b in zip(row, avals, strict=True)]
        for row, a in zip(rows, avals, strict=True)
    ]
    matrix = fnp.concatenate([fnp.concatenate(row, 1) for row in blocks], 0)
    if type(matrix) is np.ndarray:
        _check_symmetric(where, matrix)
    return matrix


def _block(where: str, block: ArrayLike, a: Aval, b: Aval) -> Any:
    """Return one block of the covariance as a matrix."""
    needed = Aval((*a.shape, *b.shape), _common(a, b))
    block = taken(block)
    if not hasattr(block, "dtype"):
        block = number_like(block, needed, where)
    if block.shape != needed.shape or not is_real(block.dtype):
        raise TreeMismatchError(
            f"{where} has a block {aval_of(block)} for quantities of types {a} and {b}; needed {needed}. Its shape is "
            "that of the first quantity followed by that of the second: reshape the block, or give a block for each "
            "pair of leaves."
        )
    return fnp.reshape(block, (a.size, b.size))


def _common(a: Aval, b: Aval) -> np.dtype:
    """Return the dtype of the covariance of two arrays."""
    return common_dtype(a.dtype, b.dtype)


def _check_symmetric(where: str, matrix: np.ndarray) -> None:
    if np.any(np.diagonal(matrix) < 0):
        raise ValueError(f"{where} has a negative variance on its diagonal; needed 0 or more. Pass squares of errors.")
    scale = np.max(np.abs(matrix), initial=0.0, where=np.isfinite(matrix))
    finite = np.where(np.isfinite(matrix), matrix, 0)
    if np.any(np.abs(finite - finite.T) > np.sqrt(np.finfo(finite.dtype).eps) * scale):
        raise ValueError(
            f"{where} is not symmetric; needed the same covariance for (a, b) and (b, a). Pass (cov + cov.T) / 2 if "
            "it differs by rounding only."
        )


def _product(a: ArrayLike, b: ArrayLike) -> Any:
    """Return the matrix product in which an exact zero times infinity or NaN is zero."""
    if all(type(x) is np.ndarray and np.isfinite(x).all() for x in (a, b)):
        return a @ b
    plain = [fnp.where(fnp.isfinite(x), x, 0) for x in (a, b)]
    # Terms of a factor that is not finite: how many an element has, and the sum of their signs (NaN for NaN).
    signs = [fnp.sign(x) for x in (a, b)]
    counts = [fnp.where(x == 0, 0.0, 1.0) for x in (a, b)]
    touched, total = (
        _terms_outside(values, [fnp.where(fnp.isfinite(x), 0, value) for x, value in zip((a, b), values, strict=True)])
        for values in (counts, signs)
    )
    infinite = fnp.where(total > 0, np.inf, -np.inf)
    outside = fnp.where(fnp.abs(total) == touched, infinite, np.nan)
    return fnp.where(touched == 0, plain[0] @ plain[1], outside)


def _terms_outside(values: Sequence[Any], outside: Sequence[Any]) -> Any:
    """Return the sum over the terms of a product in which a factor is not finite."""
    return outside[0] @ values[1] + values[0] @ outside[1] - outside[0] @ outside[1]


def _blocks(matrix: ArrayLike, avals: Sequence[Aval]) -> list[list[Any]]:
    """Split a matrix over all elements into the blocks of pairs of arrays."""
    ends = np.cumsum([0, *[aval.size for aval in avals]])
    spans = [slice(int(start), int(stop)) for start, stop in itertools.pairwise(ends)]
    return [
        [
            fnp.reshape(matrix[rows, columns], (*a.shape, *b.shape)).astype(_common(a, b))
            for columns, b in zip(spans, avals, strict=True)
        ]
        for rows, a in zip(spans, avals, strict=True)
    ]
