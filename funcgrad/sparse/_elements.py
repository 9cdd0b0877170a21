"""The elements of a matrix, computed directly from the terms of the product with a vector."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from funcgrad._core.graph.ir import Graph
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.index.gather import index_p
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.index.plan import Index
from funcgrad._ops.index.scatter import scatter_set_p
from funcgrad._ops.layout.copy import copy
from funcgrad._ops.layout.shape import reshape
from funcgrad._ops.reduce.sort import gather_along_axis
from funcgrad._transforms.base.stage import stage_flat
from funcgrad.sparse._parts import Parts, parts_of
from funcgrad.sparse._pattern import rows_of, shape_of
from funcgrad.sparse._terms import NotOfTerms, Term, is_number, terms_of

# The fewest elements of a write. A write takes at least 0.7 us, and reading an element from its place takes 0.6 ns.
_SHORTEST_WRITE = 1000
# The most writes, because each is a line of the program.
_MOST_WRITES = 64


class Write(NamedTuple):
    """A write from a slice of one part into a slice of the matrix's elements.

    Args:
        part: the number of the part.
        read: the elements of the part, or ``None`` for all.
        place: the elements of the matrix, in the order of the pattern.
        adds: whether to add to the elements that are there.
    """

    part: int
    read: Index | None
    place: Index
    adds: bool


class Elements:
    """A program that computes the elements of a matrix: the parts of factors, and the place of each element in them.

    If the matrix consists of few diagonals, each part is written into the elements directly, which halves the time for
    Broyden's tridiagonal matrix. For other matrices the parts are joined, and each element is read from its place.

    Args:
        graph: the parts, as a function of the inputs of the product other than the vector.
        fixed: the elements that the program fixes.
        places: for each element of the pattern, its places in the joined parts, after one zero; a row for each summand.
        writes: the writes that put the parts into the elements, or ``None`` where each element is read from its place.
    """

    def __init__(self, graph: Graph, fixed: np.ndarray, places: np.ndarray, writes: list[Write] | None) -> None:
        self.graph = graph
        self.fixed = fixed
        self.writes = writes
        if writes is None:
            self._numbers, self._places = _with_fixed(fixed, places)

    def values(self, leaves: Sequence[Any]) -> Any:
        """Return the elements in the order of the pattern."""
        parts = [reshape(part, (math.prod(part.shape),)) for part in self.graph.evaluate(*leaves)]
        if self.writes is not None:
            return self._written(parts, self.writes)
        flat = concatenate([self._numbers, *parts], 0)
        total = gather_along_axis(flat, self._places[0], 0)
        for places in self._places[1:]:
            total = total + gather_along_axis(flat, places, 0)
        return total

    def _written(self, parts: Sequence[Any], writes: Sequence[Write]) -> Any:
        y = copy(self.fixed)
        for write in writes:
            v = parts[write.part]
            v = v if write.read is None else index_p(v, index=write.read)
            y = scatter_set_p(y, index_p(y, index=write.place) + v if write.adds else v, index=write.place)
        return y


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
        return [cast(np.asarray(1.0, dtype) if term.factor is None else term.factor, dtype) for term in terms]

    if any(var.aval.dtype.kind != "f" for var in (graph.inputs[-1], *graph.outputs)) or not pattern.nnz:
        return None
    try:
        staged = stage_flat(factors, [var.aval for var in graph.inputs[:-1]], graph.name)
    except NotOfTerms:
        return None
    longest = int(np.diff(pattern.indptr).max(initial=0))
    # With more terms, products with vectors take fewer operations.
    if len(terms) > 2 * longest + 2:
        return None
    mirror = _mirror(pattern) if symmetric else np.arange(pattern.nnz)
    # If the parts are joined, each summand takes a pass over the elements. Fewer, longer parts then take less time.
    for in_parts in (True, False):
        taken = parts_of(staged, in_parts=in_parts)
        fixed, places = _fixed_elements(terms, taken.fixed, pattern)[mirror], _places(terms, taken, pattern)[:, mirror]
        writes = _writes([len(part.places) for part in taken.parts], fixed, places) if in_parts else None
        if writes is not None:
            break
    return Elements(taken.graph, fixed, places, writes)


def _mirror(pattern: scipy.sparse.csr_array) -> np.ndarray:
    """Return for each element of a symmetric pattern its number, or that of its mirror if it is below the diagonal."""
    rows, columns = rows_of(pattern), pattern.indices
    return np.where(rows > columns, np.lexsort((rows, columns)), np.arange(pattern.nnz))


def _numbers(term: Term, at: np.ndarray, pattern: scipy.sparse.csr_array) -> tuple[np.ndarray, np.ndarray]:
    """Return the matrix elements to which a factor contributes, and the factor's element for each of them.

    ``at`` has the numbers of the factor's elements; a factor that is a number has the same for all rows.
    """
    rows = np.arange(len(term.source)) if is_number(term.factor) else at
    stands = np.flatnonzero(term.source[rows] >= 0)
    rows = rows[stands]
    _, width = shape_of(pattern)
    wanted, found = rows_of(pattern) * width + pattern.indices, rows * width + term.source[rows]
    numbers = np.minimum(np.searchsorted(wanted, found), len(wanted) - 1)
    # An element outside the pattern is zero, because a known condition of a choice excludes it.
    inside = wanted[numbers] == found
    stands = np.zeros_like(stands) if is_number(term.factor) else stands
    return numbers[inside], stands[inside]


def _fixed_elements(terms: Sequence[Term], fixed: Sequence[np.ndarray], pattern: scipy.sparse.csr_array) -> np.ndarray:
    """Return the elements with the sums of the summands that the program fixes."""
    total = np.zeros(pattern.nnz, fixed[0].dtype)
    for term, factor in zip(terms, fixed, strict=True):
        if factor.any():
            numbers, stands = _numbers(term, np.arange(factor.size), pattern)
            total[numbers] += factor[stands]
    return total


def _places(terms: Sequence[Term], taken: Parts, pattern: scipy.sparse.csr_array) -> np.ndarray:
    """Return the places, in the joined parts, of the summands that the program computes."""
    found, stands, start = [np.empty(0, np.intp)], [np.empty(0, np.intp)], 1
    for part in taken.parts:
        numbers, at = _numbers(terms[part.factor], part.places, pattern)
        found.append(numbers)
        stands.append(start + at)
        start += len(part.places)
    numbers, at = np.concatenate(found), np.concatenate(stands)
    order = np.argsort(numbers, kind="stable")
    numbers, at = numbers[order], at[order]
    counts = np.bincount(numbers, minlength=pattern.nnz)
    # The first of the joined parts is zero, for elements with fewer summands.
    places = np.zeros((int(counts.max(initial=0)), pattern.nnz), np.intp)
    firsts = np.concatenate([[0], np.cumsum(counts)])
    places[np.arange(len(numbers)) - firsts[numbers], numbers] = at
    return places


def _with_fixed(fixed: np.ndarray, places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the fixed numbers to put before the joined parts, and the places of all summands in the result."""
    numbers, at = np.unique(np.append(fixed, fixed.dtype.type(0)), return_inverse=True)
    places = np.where(places > 0, places - 1 + len(numbers), at[-1])
    free = (places == at[-1]).argmax(0)
    each = np.arange(len(fixed))
    if (fixed != 0).any() and (places[free, each] != at[-1])[fixed != 0].any():
        places = np.concatenate([places, np.full((1, len(fixed)), at[-1])])
        free = np.full(len(fixed), len(places) - 1)
    places[free[fixed != 0], each[fixed != 0]] = at[:-1][fixed != 0]
    return numbers, places


def _writes(sizes: Sequence[int], fixed: np.ndarray, places: np.ndarray) -> list[Write] | None:
    """Return the writes that put parts of these sizes into the elements, or ``None`` where too many are needed."""
    most = most_writes(len(fixed))
    taken, writes = fixed != 0, list[Write]()
    starts = 1 + np.cumsum([0, *sizes])
    for row in places:
        for part, (start, stop) in enumerate(itertools.pairwise(starts)):
            (numbers,) = np.nonzero((row >= start) & (row < stop))
            runs = _runs(numbers, row[numbers] - start, most)
            if runs is None or len(writes) + len(runs) > most:
                return None
            for to, source in runs:
                place = Index((to,))
                read = None if source == slice(0, sizes[part], 1) else Index((source,))
                writes.append(Write(part, read, place, adds=bool(taken[to].any())))
                taken[to] = True
    return writes


def most_writes(count: int) -> int:
    """Return the number of writes that take as long as reading ``count`` elements in a given order."""
    return min(_MOST_WRITES, 3 + count // _SHORTEST_WRITE)


def _runs(numbers: np.ndarray, at: np.ndarray, most: int) -> list[tuple[slice, slice]] | None:
    """Return pairs of slices, of the elements of the matrix and of the part, or ``None`` where there are too many.

    An element that is read twice, above and below the diagonal, is in two runs.
    """
    order = np.lexsort((numbers, at))
    numbers, at = numbers[order], at[order]
    firsts = np.searchsorted(at, at)
    copies = np.arange(len(at)) - firsts
    found: list[tuple[slice, slice]] = []
    for copy_number in range(int(copies.max(initial=-1)) + 1):
        if len(found) > most:
            return None
        mine = copies == copy_number
        to, source = numbers[mine], at[mine]
        steps = np.stack([np.diff(to), np.diff(source)])
        turns = np.nonzero((steps[:, 1:] != steps[:, :-1]).any(0))[0] + 1
        if (steps[0] <= 0).any() or len(turns) > 4 * most + 4:
            return None
        start = 0
        while start < len(to):
            later = np.searchsorted(turns, start, side="right")
            last = int(turns[later]) if later < len(turns) else len(to) - 1
            found.append((_slice(to[start : last + 1]), _slice(source[start : last + 1])))
            start = last + 1
    return found


def _slice(numbers: np.ndarray) -> slice:
    """Return the slice that selects ascending numbers at equal distances."""
    step = int(numbers[1] - numbers[0]) if len(numbers) > 1 else 1
    return slice(int(numbers[0]), int(numbers[-1]) + 1, step)
