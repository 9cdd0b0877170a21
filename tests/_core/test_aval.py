"""Kinds of dtypes: each dtype belongs to one kind or two."""

import jax
import ml_dtypes
import numpy as np
import pytest

import funcgrad as fg
from funcgrad._core.aval import aval_of, is_inexact, is_integral, is_real

KINDS = {
    "bool": {"integral", "real"},
    "int8": {"integral", "real"},
    "uint64": {"integral", "real"},
    "float16": {"inexact", "real"},
    ml_dtypes.bfloat16: {"inexact", "real"},
    "complex64": {"inexact"},
    "V4": set(),
    "M8[s]": set(),
    "U3": set(),
    "O": set(),
}


@pytest.mark.parametrize("name", KINDS, ids=str)
def test_kinds_of_dtypes(name: str) -> None:
    dtype = np.dtype(name)
    answers = {"inexact": is_inexact(dtype), "integral": is_integral(dtype), "real": is_real(dtype)}
    assert {kind for kind, holds in answers.items() if holds} == KINDS[name]


def test_bools_are_never_weak() -> None:
    with jax.enable_x64(True):
        one = jax.numpy.asarray(1.0)
        told = jax.numpy.array(True).clip(True, 0.5) != 0
        assert told.weak_type
        assert not aval_of(told).weak
        np.testing.assert_array_equal(fg.vjp(lambda x: np.multiply.outer(x, told), one)[0], 1.0)
