"""The step for a gradient that is known only in some rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of, is_integer
from funcgrad._core.bind import is_value
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.plan import SLOT, Index
from funcgrad._ops.index.rows import Rows
from funcgrad._ops.index.scatter import scatter_add_p, scatter_set_p
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Array, ArrayLike
from funcgrad.errors import SparseGradientError, TreeMismatchError
from funcgrad.optim._rules.rule import Structure
from funcgrad.optim._run.program import Program

_ROWS = Index((SLOT,))


def check_rows(structure: Structure, g: Rows, p: Array) -> tuple[type[Exception], str] | None:
    """Return the fault in rows as the gradient of a parameter, if there is one."""
    if structure.sparse is not None:
        return SparseGradientError, f"is sparse: {structure.sparse}"
    if tuple(g.shape) != tuple(p.shape):
        return TreeMismatchError, f"is {g}; needed rows of {aval_of(p)}, the type of the parameter."
    if not (is_value(g.indices) and is_value(g.values)):
        arrived = f"{type(g.indices).__name__} and {type(g.values).__name__}"
        return (
            TreeMismatchError,
            f"has indices and values that are {arrived}; needed arrays. Convert them with np.array.",
        )
    indices, values = aval_of(g.indices), aval_of(g.values)
    if len(indices.shape) != 1 or not is_integer(indices.dtype) or values.shape != (*indices.shape, *p.shape[1:]):
        return TreeMismatchError, (
            f"is {g} with indices {indices} and values {values}; needed integers of shape [k] and values of shape "
            f"[k{''.join(f',{n}' for n in p.shape[1:])}]."
        )
    if type(g.indices) is np.ndarray and g.indices.size:
        low, high = int(g.indices.min()), int(g.indices.max())
        if low < 0 or high >= p.shape[0]:
            return IndexError, (
                f"has row {low if low < 0 else high}, out of bounds for {aval_of(p)}. Rows are counted from 0 to "
                f"{p.shape[0] - 1}."
            )
    return None


def step_rows(program: Program, p: Array, g: Rows, scalars: Sequence[Any]) -> Array:
    """Return ``p`` after a step in the given rows. The rule computes the change from 0, and the change is added."""
    (added,) = program.run((0.0, g.values), scalars, separated=False)
    return scatter_add_p(p, added, g.indices, index=_ROWS)


def coalesced(g: Rows, p: Array) -> tuple[Any, Any]:
    """Return the distinct indices and their rows. Rows with the same index are added.

    For NumPy arrays the indices become distinct. For other arrays the number of indices stays, because shapes must be
    known before values: every index of a row then has the row's sum, taken from one of them.
    """
    rest = tuple(g.shape[1:])
    if type(g.indices) is np.ndarray and type(g.values) is np.ndarray:
        indices, places = np.unique(g.indices, return_inverse=True)
        return indices, scatter_add_p(np.zeros((len(indices), *rest), g.values.dtype), g.values, places, index=_ROWS)
    count = g.indices.shape[0]
    if 0 in rest:
        return g.indices, g.values
    # One integer for each row of the parameter, on the parameter's engine.
    nowhere = cast(zeros_like(reshape(p, (g.shape[0], math.prod(rest)))[:, 0]), np.dtype(np.int32))
    one = index_p(
        scatter_set_p(nowhere, np.arange(count, dtype=np.int32), g.indices, index=_ROWS), g.indices, index=_ROWS
    )
    return g.indices, index_p(scatter_add_p(zeros_like(g.values), g.values, one, index=_ROWS), one, index=_ROWS)


def rows_at(x: Array, indices: ArrayLike) -> Array:
    """Return the rows of ``x`` at some indices."""
    return index_p(x, indices, index=_ROWS)


def with_rows(x: Array, indices: ArrayLike, rows: Any, into: Any = None) -> Array:
    """Return ``x`` with other rows at some indices, written to the given memory."""
    if type(into) is not np.ndarray:
        return scatter_set_p(x, rows, indices, index=_ROWS)
    if into is not x:
        np.copyto(into, x)
    into[np.asarray(indices)] = rows
    return into
