"""Rows for ``funcgrad._ops.random.bits``."""

from typing import Any

import ml_dtypes
import numpy as np

from funcgrad._core.primitive import Primitive
from funcgrad._ops.random.bits import key_data_p, random_bits_p, random_fold_in_p, random_split_p, random_unit_p
from tests.laws.rows._row import Row

KEY = np.array([7, 42], np.uint32)
KEYS = np.arange(12, dtype=np.uint32).reshape(3, 2, 2) * 2**29
NONE = np.empty((0, 2), np.uint32)


def row(primitive: Primitive, keys: np.ndarray, *others: np.ndarray, name: str = "", **params: Any) -> Row:
    params = {key: np.dtype(value) if key == "dtype" else value for key, value in params.items()}
    return Row(primitive, (keys, *others), params, differentiable=False, name=name)


ROWS = [
    row(random_bits_p, KEY, shape=(3, 5), dtype="u8"),
    row(random_bits_p, KEY, shape=(), dtype="u4", name="scalar"),
    row(random_bits_p, KEYS, shape=(9,), dtype="u2", name="batch"),
    row(random_bits_p, KEY, shape=(20, 1000), dtype="u1", name="blocks"),
    row(random_bits_p, NONE, shape=(2,), dtype="u8", name="empty-batch"),
    row(random_unit_p, KEY, shape=(2, 3), dtype="f8"),
    row(random_unit_p, KEY, shape=(), dtype="f8", name="scalar"),
    row(random_unit_p, KEY, shape=(70_000,), dtype="f8", name="blocks"),
    row(random_unit_p, KEYS, shape=(3000,), dtype="f4", name="batch"),
    row(random_unit_p, KEYS, shape=(), dtype="f2", name="batch-of-scalars"),
    row(random_unit_p, KEY, shape=(30,), dtype=ml_dtypes.bfloat16, name="bfloat16"),
    row(random_unit_p, KEY, shape=(0, 3), dtype="f8", name="empty"),
    row(random_split_p, KEY, shape=(2,)),
    row(random_split_p, KEYS, shape=(4, 3), name="batch"),
    row(random_split_p, KEY, shape=(), name="one"),
    row(random_fold_in_p, KEY, np.array(2**32 - 1, np.uint32)),
    row(random_fold_in_p, KEYS, np.arange(6, dtype=np.uint32).reshape(3, 2), name="batch"),
    row(random_fold_in_p, NONE, np.empty(0, np.uint32), name="empty"),
    row(key_data_p, KEY),
]
