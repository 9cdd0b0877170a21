"""Colourings: every element can be read from a product, and few products are needed."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse

from funcgrad.sparse._colors import Colors, colors_of, places_of
from funcgrad.sparse._pattern import rows_of
from funcgrad.sparse._star import star_colors


def drawn(seed: int, rows: int, columns: int, share: float) -> scipy.sparse.csr_array:
    rng = np.random.default_rng(seed)
    return scipy.sparse.csr_array(rng.random((rows, columns)) < share)


def symmetric(seed: int, size: int, share: float) -> scipy.sparse.csr_array:
    a = drawn(seed, size, size, share).toarray()
    return scipy.sparse.csr_array(a | a.T)


def read(pattern: scipy.sparse.csr_array, colors: Colors, *, mirror: bool, seed: int = 0) -> None:
    """Check that the products with all colours give back a matrix of random elements."""
    a = pattern.toarray() * np.random.default_rng(seed).normal(size=pattern.shape)
    a = np.triu(a) + np.triu(a, 1).T if mirror else a
    forward = [a @ (colors.columns == color) for color in range(colors.forward)]
    reverse = [(colors.rows == color) @ a for color in range(colors.reverse)]
    flat = np.concatenate([np.zeros(0), *forward, *reverse])
    places = places_of(pattern, colors, mirror)
    np.testing.assert_allclose(flat[places], a[rows_of(pattern), pattern.indices], atol=1e-12)


@pytest.mark.parametrize("mode", [None, "forward", "reverse", "both"])
@pytest.mark.parametrize("shape", [(1, 1), (12, 12), (30, 8), (8, 30), (0, 3), (3, 0), (40, 40)])
def test_each_element_is_read(shape: tuple[int, int], mode: str | None) -> None:
    for seed, share in itertools.product(range(6), (0.02, 0.1, 0.4, 1.0)):
        pattern = drawn(seed, *shape, share)
        colors = colors_of(pattern, mode)
        read(pattern, colors, mirror=False)
        if mode == "forward":
            assert not colors.reverse
            assert colors.products >= np.diff(pattern.indptr).max(initial=0)
        if mode is None:
            assert colors.products <= min(colors_of(pattern, each).products for each in ("forward", "reverse"))


@pytest.mark.parametrize("size", [1, 2, 5, 12, 40])
def test_each_element_of_a_symmetric_matrix_is_read(size: int) -> None:
    for seed, share in itertools.product(range(12), (0.0, 0.05, 0.2, 0.5, 1.0)):
        pattern = symmetric(seed, size, share)
        read(pattern, colors_of(pattern, "symmetric"), mirror=True)


def test_no_path_of_four_has_two_colors() -> None:
    for seed in range(20):
        pattern = symmetric(seed, 14, 0.15)
        colors = star_colors(pattern)
        near = [set(np.flatnonzero(row)) - {i} for i, row in enumerate(pattern.toarray())]
        for a in range(14):
            assert all(colors[a] != colors[b] for b in near[a])
            paths = ((a, b, c, d) for b in near[a] for c in near[b] - {a} for d in near[c] - {a, b})
            assert all(len({colors[v] for v in path}) >= 3 for path in paths)


def test_known_numbers_of_colors() -> None:
    size = 200
    tridiagonal = scipy.sparse.csr_array(np.abs(np.subtract.outer(np.arange(size), np.arange(size))) <= 1)
    assert colors_of(tridiagonal, None).products == 3
    assert colors_of(tridiagonal, "symmetric").products == 3
    arrow = np.eye(size, dtype=bool)
    arrow[0] = arrow[:, 0] = True
    assert colors_of(scipy.sparse.csr_array(arrow), "forward").products == size
    assert colors_of(scipy.sparse.csr_array(arrow), None).products == 3
    assert colors_of(scipy.sparse.csr_array(arrow), "symmetric").products == 2
    bordered = arrow | tridiagonal.toarray()
    assert colors_of(scipy.sparse.csr_array(bordered), None).products <= 5
    diagonal = scipy.sparse.csr_array(np.eye(size, dtype=bool))
    assert colors_of(diagonal, None).products == colors_of(diagonal, "symmetric").products == 1
    full = scipy.sparse.csr_array(np.ones((9, 5), bool))
    assert colors_of(full, None).products == 5
    assert colors_of(full, "reverse").products == 9


def test_columns_without_elements_have_no_color() -> None:
    pattern = scipy.sparse.csr_array(np.array([[0, 1, 0], [0, 1, 1]], bool))
    assert colors_of(pattern, "forward").columns.tolist() == [-1, 0, 1]
    assert colors_of(pattern, "reverse").columns.tolist() == [-1, -1, -1]
