"""Colour the columns or rows of a pattern.

Two columns may have the same colour if no row has elements in both. One product of the matrix with a vector then gives
the elements of all columns of a colour.

Sources: Curtis, Powell and Reid, *On the Estimation of Sparse Jacobian Matrices*, IMA Journal of Applied Mathematics 13
(1974), for columns in groups. Gebremedhin, Manne and Pothen, *What Color Is Your Jacobian? Graph Coloring for Computing
Derivatives*, SIAM Review 47 (2005), algorithm 3.2 for the greedy colouring. Coleman and Verma, *The Efficient
Computation of Sparse Jacobian Matrices Using Automatic Differentiation*, SIAM Journal on Scientific Computing 19
(1998), for rows and columns together; here the longest rows are taken out first. For symmetric matrices see
``_star.py``.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse

from funcgrad.sparse._pattern import lengths, rows_of, shape_of
from funcgrad.sparse._star import star_colors

# The most pairs of columns with a common row, for each element of the matrix. A graph of more pairs takes too much
# memory.
_MOST_MEETINGS = 64


class Colors(NamedTuple):
    """The groups of columns and of rows that one product computes together.

    Args:
        columns: the colour of each column, an integer from 0. A column of colour -1 needs no product.
        rows: the colour of each row in the same way.
    """

    columns: np.ndarray
    rows: np.ndarray

    @property
    def forward(self) -> int:
        """The number of products of the matrix with a vector."""
        return int(self.columns.max(initial=-1)) + 1

    @property
    def reverse(self) -> int:
        """The number of products of the transpose with a vector."""
        return int(self.rows.max(initial=-1)) + 1

    @property
    def products(self) -> int:
        """The number of products with vectors from both sides."""
        return self.forward + self.reverse


def colors_of(matrix: scipy.sparse.csr_array, mode: str | None) -> Colors:
    """Return colours for a pattern.

    Args:
        matrix: the pattern, as a matrix of bools.
        mode: ``"forward"`` for columns, ``"reverse"`` for rows, ``"both"`` for the fewest of both, ``"symmetric"`` for
            columns of a symmetric matrix. ``None`` takes the fewest, and columns if two are equal.
    """
    rows, columns = shape_of(matrix)
    if mode == "symmetric":
        return Colors(star_colors(matrix), _none(rows))
    found: list[Colors] = []
    if mode in (None, "forward"):
        found.append(Colors(_greedy(matrix), _none(rows)))
    if mode == "reverse" or (mode is None and _longest(matrix.tocsc()) < found[0].products):
        found.append(Colors(_none(columns), _greedy(matrix.T.tocsr())))
    if mode in (None, "both"):
        fewest = min([colors.products for colors in found], default=None)
        found += _both(matrix, fewest)
    return min(found, key=lambda colors: colors.products)


def _none(count: int) -> np.ndarray:
    return np.full(count, -1)


def _longest(matrix: scipy.sparse.csr_array | scipy.sparse.csc_array) -> int:
    """Return the length of the longest row. A colouring of columns needs at least as many colours."""
    return int(lengths(matrix).max(initial=0))


def _greedy(matrix: scipy.sparse.csr_array) -> np.ndarray:
    """Return a colour for each column; columns that share a row differ. Of several orders, take the fewest colours."""
    by_column = matrix.tocsc()
    bound = _longest(matrix)
    nonempty = np.flatnonzero(lengths(by_column))
    best = _none(shape_of(matrix)[1])
    if bound == len(nonempty):
        best[nonempty] = np.arange(bound)
        return best
    starts: Any = by_column.indptr.tolist()
    rows: Any = by_column.indices.tolist()
    fewest = len(nonempty) + 1
    for order in _orders(matrix, by_column, nonempty):
        colors, count = _in_order(order.tolist(), starts, rows, shape_of(matrix)[0])
        if count < fewest:
            best, fewest = colors, count
        if fewest == bound:
            break
    return best


def _orders(
    matrix: scipy.sparse.csr_array, by_column: scipy.sparse.csc_array, nonempty: np.ndarray
) -> Iterator[np.ndarray]:
    """Return orders in which to colour columns: as given, most shared rows first, breadth first."""
    yield nonempty
    # A column shares rows with at most as many columns as its rows have elements.
    meets = (by_column.T.astype(np.intp) @ lengths(matrix))[nonempty]
    yield nonempty[np.argsort(-meets, kind="stable")]
    if meets.sum() > _MOST_MEETINGS * matrix.nnz:
        return
    beside = (by_column.T @ matrix).tocsr()
    order = scipy.sparse.csgraph.reverse_cuthill_mckee(beside, symmetric_mode=True)
    order = order[np.isin(order, nonempty)]
    yield order
    yield order[::-1]


def _in_order(order: list[int], starts: list[int], rows: list[int], count: int) -> tuple[np.ndarray, int]:
    """Give each column the first colour that no column in its rows has. An integer holds a set of colours as bits."""
    used = [0] * count
    found = [-1] * (len(starts) - 1)
    for column in order:
        mine = rows[starts[column] : starts[column + 1]]
        taken = 0
        for row in mine:
            taken |= used[row]
        free = ~taken & (taken + 1)
        found[column] = free.bit_length() - 1
        for row in mine:
            used[row] |= free
    colors = np.array(found)
    return colors, int(colors.max(initial=-1)) + 1


def _both(matrix: scipy.sparse.csr_array, fewest: int | None) -> list[Colors]:
    """Return colourings in which the longest rows are computed by rows, and the others by columns.

    The limit between long and short rows is tried at each power of two. At least as many products are needed as the
    longest short row has elements, and as many as a column has elements in long rows.
    """
    sizes = lengths(matrix)
    bounds = {}
    most = int(sizes.max(initial=0))
    while most > 1:
        most = int(sizes[sizes <= most // 2].max(initial=0))
        long = sizes > most
        met = np.bincount(_rows_of(matrix, long).indices, minlength=1).max(initial=0)
        bounds[most] = most + int(met)
    found = []
    for most in sorted(bounds, key=lambda each: bounds[each])[:2]:
        if fewest is None or bounds[most] < fewest:
            long = sizes > most
            columns, rows = _greedy(_rows_of(matrix, ~long)), _greedy(_rows_of(matrix, long).T.tocsr())
            found.append(Colors(columns, rows))
            fewest = min(fewest or found[-1].products, found[-1].products)
    if not found and fewest is None:
        found.append(Colors(_greedy(matrix), _none(shape_of(matrix)[0])))
    return found


def _rows_of(matrix: scipy.sparse.csr_array, kept: np.ndarray) -> scipy.sparse.csr_array:
    """Return the matrix with only these rows; the other rows are empty."""
    counts = np.where(kept, lengths(matrix), 0)
    starts = np.concatenate([[0], np.cumsum(counts)])
    columns = matrix.indices[np.repeat(kept, lengths(matrix))]
    return scipy.sparse.csr_array((np.ones(len(columns), bool), columns, starts), shape=shape_of(matrix))


def places_of(matrix: scipy.sparse.csr_array, colors: Colors, symmetric: bool) -> np.ndarray:
    """Return the position of each element of a matrix in the flattened products, from left and then from right."""
    rows, columns = rows_of(matrix), matrix.indices
    count, width = len(colors.rows), len(colors.columns)
    by_column = colors.columns[columns] * count + rows
    if symmetric:
        # Read an element from the product with its column's colour, if no other element of its row has this colour.
        # Otherwise read its mirror image.
        alone = np.bincount(by_column, minlength=colors.forward * count)[by_column] == 1
        return np.where(alone, by_column, colors.columns[rows] * count + columns)
    by_row = colors.forward * count + colors.rows[rows] * width + columns
    return np.where(colors.rows[rows] >= 0, by_row, by_column)
