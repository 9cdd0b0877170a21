"""Convolution on XLA's CPU backend: few channels are products of matrices there, groups of one channel sums."""

import jax
import numpy as np
import pytest

from funcgrad._engines.xla.run import lax
from funcgrad._ops.contract.columns import conv_numpy
from funcgrad._ops.contract.conv import Window
from funcgrad._ops.contract.conv_xla import conv_xla

# Batch, channels, outputs, image, kernel, stride, padding, spread, dilation, groups.
CASES = {
    "depthwise": (2, 3, 3, 5, 3, 1, 1, 1, 1, 3),
    "depthwise, two outputs for each channel": (2, 3, 6, 6, 2, 2, 1, 1, 2, 3),
    "depthwise, with gaps and cut": (2, 3, 3, 4, 2, 1, -1, 2, 1, 3),
    "one channel": (3, 1, 4, 6, 3, 1, 2, 1, 1, 1),
    "few channels": (2, 3, 4, 6, 3, 1, 1, 1, 1, 1),
    "few channels, with strides": (2, 3, 4, 9, 3, 2, 1, 1, 2, 1),
    "few channels, with gaps and cut": (2, 2, 3, 5, 2, 1, -1, 2, 1, 1),
    "fewer outputs": (2, 4, 3, 5, 3, 1, 2, 1, 1, 1),
    "fewer outputs, with gaps and cut": (2, 4, 2, 5, 2, 1, -1, 3, 2, 1),
    "fewer outputs, with strides": (2, 4, 3, 7, 3, 2, 1, 1, 1, 1),
    "by a kernel that is an image": (1, 8, 4, 6, 5, 1, 1, 1, 1, 4),
    "by a kernel that is a dilated image": (1, 8, 4, 6, 3, 2, 1, 1, 2, 4),
}
CONVOLUTIONS = {
    "more products than a loop takes": (1, 1, 1, 13, 12, 1, 0, 1, 1, 1),
    "many channels": (2, 17, 3, 6, 3, 1, 1, 1, 1, 1),
    "groups of two channels": (2, 4, 4, 5, 3, 1, 0, 1, 1, 2),
}


@pytest.mark.parametrize("case", [*CASES, *CONVOLUTIONS])
@pytest.mark.parametrize("dtype", [np.float32, np.float16])
def test_it_is_the_sum_over_windows(case: str, dtype: type, rng: np.random.Generator) -> None:
    """As NumPy computes it; half precision is summed in float32. The other cases are XLA's convolutions."""
    n, channels, out, length, k, stride, padding, spread, dilation, groups = (CASES | CONVOLUTIONS)[case]
    x = rng.normal(size=(n, channels, length, length)).astype(dtype)
    kernel = rng.normal(size=(out, channels // groups, k, k)).astype(dtype)
    window = Window((stride,) * 2, ((padding, padding),) * 2, (spread,) * 2, (dilation,) * 2, groups)
    compiled = jax.jit(lambda x, kernel: conv_xla(lax, x, kernel, window=window))
    y = compiled(x, kernel)
    assert ("convolution" in compiled.trace(x, kernel).lower(lowering_platforms=("cpu",)).as_text()) == (
        case in CONVOLUTIONS
    )
    expected = conv_numpy(x.astype(np.float64), kernel.astype(np.float64), window=window)
    assert y.dtype == dtype
    tolerance = 1e-5 if dtype is np.float32 else 1e-2
    np.testing.assert_allclose(y, expected, rtol=tolerance, atol=tolerance)


def test_a_loop_reads_the_image() -> None:
    """XLA would compute what makes the image, such as a pooling, once for each slice, but once only for a loop."""
    kernel, window = np.ones((4, 3, 5, 5), np.float32), Window((1, 1), ((0, 0),) * 2, (1, 1), (1, 1), 1)
    compiled = jax.jit(lambda x: conv_xla(lax, jax.numpy.maximum(x, 0), kernel, window=window))
    text = compiled.trace(np.ones((2, 3, 9, 9), np.float32)).lower(lowering_platforms=("cpu",)).as_text()
    assert text.count("stablehlo.while") == 1
