"""Places by one number and by one for each axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import ConcretizationTypeError
from tests.numpy._surface import check_surface, same

K = np.array([[0, 5], [11, 23]])


@pytest.mark.parametrize("order", ["C", "F"])
def test_there_and_back(order: Any) -> None:
    for shape in ((2, 3, 4), (24,), 24, (4, 1, 6)):
        check_surface(lambda m, k, shape=shape: m.stack(m.unravel_index(k, shape, order)), [K])
    for mode in ("wrap", "clip", ("wrap", "clip")):
        f = lambda m, k, mode=mode: m.ravel_multi_index((k, k[::-1]), (3, 4), mode=mode, order=order)
        check_surface(f, [K - 5])
    check_surface(lambda m, k: m.ravel_multi_index(k, (3, 4), mode="wrap", order=order), [K])
    check_surface(lambda m, k: m.unravel_index(k, (3, 4), order)[1], [np.int64(7)])

    def seen(x: Any) -> Any:
        """Under a transform of known numbers the places are looked at, as NumPy does."""
        places = np.argsort(x)
        same(np.ravel_multi_index((places, places), (3, 3), order=order), 4 * np.asarray(places), 0)
        return x[np.unravel_index(places, (3,))] * np.arange(3)

    np.testing.assert_array_equal(fg.vjp(seen, np.array([2.0, 0.5, 1.0]))[1](np.ones(3))[0], [2, 0, 1])


def test_places_beyond() -> None:
    with pytest.raises(ConcretizationTypeError, match=r"mode 'raise' \(mode='clip'"):
        fg.jit(lambda k: np.ravel_multi_index((k, k), (3, 3)))(K)
    of: Any = np
    # If the numbers are not known, the nearest position counts.
    for engine in ("numpy", "xla"):
        f = fg.jit(lambda k: np.unravel_index(k, (2, 3))[1], engine=engine)
        np.testing.assert_array_equal(f(np.array([-1, 7, 4])), [0, 2, 1])
    mistakes: Any = (
        (lambda x: np.unravel_index(x, (2, 3)), TypeError, "only int indices"),
        (lambda x: np.unravel_index(x.astype(int) * 7, (2, 3)), ValueError, "index 7 is out of bounds"),
        (lambda x: np.ravel_multi_index((x.astype(int) * 7, [0]), (2, 3)), ValueError, "axis of length 2"),
        (lambda x: np.ravel_multi_index((x.astype(int),), (2, 3)), ValueError, "1 indices and 2 modes for 2 axes"),
        (lambda x: of.ravel_multi_index((x.astype(int),), (2,), mode="bend"), ValueError, "mode is 'bend'"),
    )
    for f, error, words in mistakes:
        # An array of a transform, whose numbers are known.
        with pytest.raises(error, match=words):
            fg.grad(lambda x, f=f: np.sum(f(np.ones_like(x))[0] * x))(np.ones(1))


def test_indices_by_shape(rng: np.random.Generator) -> None:
    square, x = rng.normal(size=(3, 3)), rng.normal(size=(3, 4))
    check_surface(lambda m, x: x[m.diag_indices_from(x)], [square])
    for k in (-1, 0, 1):
        check_surface(lambda m, x, k=k: x[m.tril_indices_from(x, k)], [x])
        check_surface(lambda m, x, k=k: x[m.triu_indices_from(x, k)], [x])
    with pytest.raises(ValueError, match="equal length"):
        fg.make_graph(np.diag_indices_from)(x)
