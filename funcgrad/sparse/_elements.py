"""The elements of a matrix, computed directly from the terms of the product with a vector."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse

from funcgrad._core.graph.ir import Graph
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.layout.shape import reshape
from funcgrad._ops.reduce.sort import gather_along_axis
from funcgrad._transforms.base.stage import stage_flat
from funcgrad.sparse._pattern import rows_of, shape_of
from funcgrad.sparse._terms import NotOfTerms, Term, is_number, terms_of


class Elements:
    """The elements of a matrix as a program of their own: factors of terms, and where each element stands among them.

    Args:
        graph: the factors, flat, as a function of the inputs of the product other than the vector.
        places: for each element of the pattern, its places in the factors; a row for each summand.
    """

    def __init__(self, graph: Graph, places: np.ndarray) -> None:
        self.graph = graph
        self.places = places

    def values(self, leaves: Sequence[Any], dtype: np.dtype) -> Any:
        """Return the elements in the order of the pattern."""
        flat = cast(self.graph.evaluate(*leaves)[0], dtype)
        total = gather_along_axis(flat, self.places[0], 0)
        for places in self.places[1:]:
            total = total + gather_along_axis(flat, places, 0)
        return total


def elements_of(graph: Graph, pattern: scipy.sparse.csr_array, dtype: np.dtype, *, symmetric: bool) -> Elements | None:
    """Return the elements of the matrix with which a graph multiplies its last input; ``None`` for other programs.

    The elements below the diagonal of a symmetric matrix are read above it.
    """
    terms: list[Term] = []

    def factors(*leaves: Any) -> list[Any]:
        for term in terms_of(graph, leaves):
            below = symmetric and term.source < np.arange(len(term.source))
            source = np.where(below, -1, term.source)
            if (source >= 0).any():
                terms.append(Term(source, term.factor))
        flat = [np.zeros(1, dtype)]
        for term in terms:
            factor = cast(np.asarray(1.0, dtype) if term.factor is None else term.factor, dtype)
            flat.append(reshape(factor, (math.prod(factor.shape),)))
        return [concatenate(flat, 0)]

    if any(var.aval.dtype.kind != "f" for var in (graph.inputs[-1], *graph.outputs)) or not pattern.nnz:
        return None
    try:
        staged = stage_flat(factors, [var.aval for var in graph.inputs[:-1]], graph.name)
    except NotOfTerms:
        return None
    places = _places(terms, pattern)
    if places is not None and symmetric:
        rows, columns = rows_of(pattern), pattern.indices
        mirror = np.lexsort((rows, columns))
        places = np.where(rows > columns, places[:, mirror], places)
    return None if places is None else Elements(staged, places)


def _places(terms: Sequence[Term], pattern: scipy.sparse.csr_array) -> np.ndarray | None:
    """Return where the elements stand among the factors, or ``None`` if products take fewer operations."""
    _, width = shape_of(pattern)
    longest = int(np.diff(pattern.indptr).max(initial=0))
    if len(terms) > 2 * longest + 2:
        return None
    keys, stands, start = [np.empty(0, np.intp)], [np.empty(0, np.intp)], 1
    for term in terms:
        (rows,) = np.nonzero(term.source >= 0)
        single = is_number(term.factor)
        keys.append(rows * width + term.source[rows])
        stands.append(np.full(len(rows), start) if single else start + rows)
        start += 1 if single else len(term.source)
    wanted, found = rows_of(pattern) * width + pattern.indices, np.concatenate(keys)
    numbers = np.minimum(np.searchsorted(wanted, found), len(wanted) - 1)
    # An element outside the pattern is zero: a choice that is known cuts it off.
    inside = wanted[numbers] == found
    numbers, at = numbers[inside], np.concatenate(stands)[inside]
    order = np.argsort(numbers, kind="stable")
    numbers, at = numbers[order], at[order]
    counts = np.bincount(numbers, minlength=pattern.nnz)
    # The first factor is zero, for elements with fewer summands.
    places = np.zeros((int(counts.max(initial=1)), pattern.nnz), np.intp)
    firsts = np.concatenate([[0], np.cumsum(counts)])
    places[np.arange(len(numbers)) - firsts[numbers], numbers] = at
    return places
