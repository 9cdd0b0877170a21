"""Special functions of many elements on all cores: SciPy's numbers."""

import numpy as np
import pytest
import scipy.special

from funcgrad._ops.elementwise.special import normal


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", ["erfc", "erfinv", "ndtr"])
def test_they_have_the_bits_of_scipys(name: str, dtype: str, rng: np.random.Generator) -> None:
    """Values agree at infinities, ends of ranges and NaN, along rows, and in memory with gaps."""
    x = rng.uniform(-1, 1, (300, 401)).astype(dtype)
    x[0, :5] = [np.nan, 1, -1, np.inf, -np.inf]
    primitive = getattr(normal, f"{name}_p")
    for each in (x, x.T, x[:, ::2]):
        found, expected = primitive(each), getattr(scipy.special, name)(each)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
