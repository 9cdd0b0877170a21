"""What a dtype's values are: each dtype is of one kind or two."""

import ml_dtypes
import numpy as np
import pytest

from funcgrad._core.aval import is_inexact, is_integral, is_real

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
