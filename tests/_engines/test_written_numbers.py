"""A number that a staged program writes to many elements: Python's or NumPy's, at slices and at index arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad._ops.index.plan import SLOT, Index
from funcgrad._ops.index.scatter import scatter_add_p, scatter_set_p

_X = np.arange(12.0).reshape(3, 4)
_PLACES = {
    "column": (Index((slice(None), 1)), ()),
    "element": (Index((2, 1)), ()),
    "row": (Index((-1,)), ()),
    "empty": (Index((slice(2, 2),)), ()),
    "array": (Index((SLOT,)), (np.array([2, 0, 2]),)),
    "elements": (Index((SLOT, SLOT)), (np.array([2, 0]), np.array([1, 3]))),
}


@pytest.mark.parametrize("engine", ["numpy", "numba", "xla"])
@pytest.mark.parametrize("place", _PLACES)
@pytest.mark.parametrize("update", [scatter_set_p, scatter_add_p], ids=["set", "add"])
@pytest.mark.parametrize("number", [2, 2.0, np.float64(2.0)], ids=["int", "float", "float64"])
def test_one_number_is_written_to_all_elements(number: Any, update: Any, place: str, engine: Any) -> None:
    index, arrays = _PLACES[place]

    def written(x: np.ndarray) -> Any:
        return update(x * 1.0, number, *arrays, index=index)

    expected = _X.copy()
    entries = index.filled(arrays)
    if update is scatter_set_p:
        expected[entries] = number
    else:
        np.add.at(expected, entries, number)
    np.testing.assert_array_equal(fg.jit(written, engine=engine)(_X), expected)
