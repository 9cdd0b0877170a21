"""Star colourings of the columns of a symmetric matrix.

Each element, or its mirror image, can then be read from one product.

The columns are vertices of a graph, and two are neighbours if the matrix has an element at their row and column.
Neighbours have different colours, and each path of four vertices has three colours or more. Of the two products that an
element and its mirror image are in, at least one has no other summand there.

Sources: Coleman and Moré, *Estimation of Sparse Hessian Matrices and Graph Coloring Problems*, Mathematical Programming
28 (1984). Gebremedhin, Tarafdar, Manne and Pothen, *New Acyclic and Star Coloring Algorithms with Application to
Computing Hessians*, SIAM Journal on Scientific Computing 29 (2007), algorithm 4.1. Here an integer
holds a set of colours as bits, and each vertex keeps the colours that stars through its neighbours forbid.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse

from funcgrad.sparse._pattern import lengths, rows_of, shape_of


def star_colors(matrix: scipy.sparse.csr_array) -> np.ndarray:
    """Return the colour of each column of a symmetric pattern; -1 where a column is empty.

    The fewest that some orders give.
    """
    size, _ = shape_of(matrix)
    nonempty = np.flatnonzero(lengths(matrix))
    best = np.full(size, -1)
    rows = rows_of(matrix)
    off = rows != matrix.indices
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows[off], minlength=size))])
    columns = matrix.indices[off]
    if len(columns) == len(nonempty) * (len(nonempty) - 1):
        best[nonempty] = np.arange(len(nonempty))
        return best
    lists = [columns[a:b].tolist() for a, b in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True)]
    fewest = size + 1
    # A path of three needs two colours, and one of four needs three.
    for order in _orders(matrix, np.diff(starts), nonempty):
        colors = _in_order(order.tolist(), lists)
        count = int(colors.max(initial=-1)) + 1
        if count < fewest:
            best, fewest = colors, count
        if fewest <= 2:
            break
    return best


def _orders(matrix: scipy.sparse.csr_array, degrees: np.ndarray, nonempty: np.ndarray) -> Iterator[np.ndarray]:
    """Return orders in which to colour vertices: the given order, most neighbours first, and breadth first."""
    yield nonempty
    if np.ptp(degrees[nonempty]) if len(nonempty) else 0:
        yield nonempty[np.argsort(-degrees[nonempty], kind="stable")]
    order = scipy.sparse.csgraph.reverse_cuthill_mckee(matrix, symmetric_mode=True)
    yield order[np.isin(order, nonempty)]


def _in_order(order: list[int], neighbours: list[list[int]]) -> np.ndarray:
    """Give each vertex the first colour that leaves no path of four with two colours.

    The lists hold for each vertex: its colour as a bit, the colours of its neighbours, the colours that two or more
    neighbours have, and the colours of the neighbours that are the centre of a star in which the vertex is a leaf.
    ``firsts`` has the first neighbour of each colour.
    """
    size = len(neighbours)
    own, once, twice, centres = [0] * size, [0] * size, [0] * size, [0] * size
    firsts: list[dict[int, int]] = [{} for _ in range(size)]
    for v in order:
        near = neighbours[v]
        taken, many = 0, twice[v]
        for w in near:
            color = own[w]
            if color:
                taken |= color | centres[w]
                if color & many:
                    taken |= once[w]
        color = ~taken & (taken + 1)
        own[v] = color
        for w in near:
            if once[w] & color:
                centre = own[w]
                if not twice[w] & color:
                    twice[w] |= color
                    centres[firsts[w][color]] |= centre
                centres[v] |= centre
            else:
                once[w] |= color
                firsts[w][color] = v
            # A colour that two neighbours have makes this vertex the centre of a star with these neighbours as leaves.
            if own[w] & many:
                centres[w] |= color
    return np.array([color.bit_length() - 1 for color in own])
