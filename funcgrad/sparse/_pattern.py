"""Patterns: which inputs each element of an array depends on, as the rows of a sparse matrix of bools."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy.sparse

from funcgrad._types import ArrayLike
from funcgrad.errors import PatternSizeError


class Pattern:
    """For each element of an array, in C order, the numbers of the inputs that it depends on.

    Args:
        starts: the inputs of element ``i`` are ``columns[starts[i] : starts[i + 1]]``, in ascending order.
        columns: the numbers of inputs.
        width: the number of inputs.
        limit: the most entries that a pattern may have.

    Raises:
        PatternSizeError: the pattern has more entries.
    """

    __slots__ = ("columns", "limit", "starts", "width")

    def __init__(self, starts: np.ndarray, columns: np.ndarray, width: int, limit: int) -> None:
        self.starts = starts
        self.columns = columns
        self.width = width
        self.limit = limit
        self._check(len(columns))

    def _check(self, count: int) -> None:
        if count > self.limit:
            raise PatternSizeError(
                f"sparse: the pattern of an intermediate array has {count:,} entries or more; needed at most "
                f"{self.limit:,} (max_nonzeros). Pass a larger max_nonzeros if memory allows (5 bytes for each entry), "
                "or use fg.jacobian or fg.linear_operator: this derivative is not sparse."
            )

    @property
    def empty(self) -> bool:
        return not len(self.columns)

    @property
    def size(self) -> int:
        """The number of elements."""
        return len(self.starts) - 1

    def same(self, other: Pattern) -> bool:
        return np.array_equal(self.starts, other.starts) and np.array_equal(self.columns, other.columns)

    def take(self, places: np.ndarray) -> Pattern:
        counts = np.append(np.diff(self.starts), 0)[places]
        starts = _starts(counts)
        self._check(int(starts[-1]))
        shifts = np.append(self.starts[:-1], 0)[places] - starts[:-1]
        columns = self.columns[np.repeat(shifts, counts) + np.arange(starts[-1])]
        return Pattern(starts, columns, self.width, self.limit)

    def grouped(self, starts: np.ndarray, members: np.ndarray) -> Pattern:
        if self.empty:
            return nothing(len(starts) - 1, self.width, self.limit)
        if len(starts) == 2 and len(members) == self.size:
            found = np.zeros(self.width, bool)
            found[self.columns] = True
            columns = np.flatnonzero(found)
            return Pattern(np.array([0, len(columns)]), columns, self.width, self.limit)
        terms = int(np.diff(self.starts)[members].sum())
        if min(terms, (len(starts) - 1) * self.width) > self.limit:
            self._check(min(terms, (len(starts) - 1) * self.width))
        groups = _matrix(np.asarray(starts), np.asarray(members), self.size)
        return self._from(groups @ self.matrix())

    def union(self, other: Pattern) -> Pattern:
        if other is self or other.empty:
            return self
        if self.empty:
            return other
        return self._from(self.matrix() + other.matrix())

    def joined(self, others: Sequence[Pattern]) -> Pattern:
        parts = [self, *others]
        counts = np.concatenate([np.diff(part.starts) for part in parts])
        self._check(int(counts.sum()))
        return Pattern(_starts(counts), np.concatenate([part.columns for part in parts]), self.width, self.limit)

    def matrix(self) -> scipy.sparse.csr_array:
        """Return the pattern as SciPy's matrix, a row for each element."""
        return _matrix(self.starts, self.columns, self.width)

    def _from(self, matrix: scipy.sparse.csr_array) -> Pattern:
        matrix.sort_indices()
        return Pattern(matrix.indptr, matrix.indices, self.width, self.limit)


def nothing(size: int, width: int, limit: int) -> Pattern:
    """Return the pattern of an array that depends on no input."""
    return Pattern(np.zeros(size + 1, np.intp), np.empty(0, np.intp), width, limit)


def each(shape: tuple[int, ...], limit: int) -> Pattern:
    """Return the pattern of the inputs themselves."""
    size = math.prod(shape)
    return Pattern(np.arange(size + 1), np.arange(size), size, limit)


def _starts(counts: np.ndarray) -> np.ndarray:
    starts = np.zeros(len(counts) + 1, np.intp)
    np.cumsum(counts, out=starts[1:])
    return starts


def _matrix(starts: np.ndarray, columns: np.ndarray, width: int) -> scipy.sparse.csr_array:
    return scipy.sparse.csr_array((np.ones(len(columns), bool), columns, starts), shape=(len(starts) - 1, width))


def rows_of(matrix: scipy.sparse.csr_array) -> np.ndarray:
    """Return the row of each element of a matrix, in their order."""
    return np.repeat(np.arange(shape_of(matrix)[0]), lengths(matrix))


def lengths(matrix: scipy.sparse.csr_array | scipy.sparse.csc_array) -> np.ndarray:
    """Return the number of elements in each row of a matrix; in each column, if it is stored by columns."""
    return np.diff(matrix.indptr)


def shape_of(matrix: ArrayLike) -> tuple[int, int]:
    """Return the shape of a matrix, which SciPy's types leave open."""
    return matrix.shape


def with_short_indices(matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
    """Return the matrix with indices of 32 bits where they suffice, as SciPy's solvers need them.

    Copies of them also take half of the time.
    """
    dtype = scipy.sparse.get_index_dtype(maxval=max(matrix.nnz, *shape_of(matrix)))
    parts = (matrix.data, matrix.indices.astype(dtype), matrix.indptr.astype(dtype))
    return scipy.sparse.csr_array(parts, shape=shape_of(matrix))
