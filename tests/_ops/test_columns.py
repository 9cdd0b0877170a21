"""Convolution in NumPy at the sizes at which the algorithm changes, compared with sums over windows."""

from itertools import product

import numpy as np
import pytest

from funcgrad._ops.contract import columns
from funcgrad._ops.contract.conv import Window

# Batch, channels, outputs, image, kernel, stride, padding, spread, dilation, groups.
CASES = {
    "small products, a batch for several threads": (32, 3, 4, 24, 5, 1, 2, 1, 1, 1),
    "small products in groups": (9, 4, 6, 20, 3, 1, 1, 1, 1, 2),
    "strides": (20, 2, 3, 33, 4, 2, 1, 1, 1, 1),
    "dilation": (20, 2, 3, 24, 3, 1, 2, 1, 2, 1),
    "few places": (64, 2, 3, 5, 4, 1, 0, 1, 1, 1),
    "products that BLAS shares": (3, 32, 40, 30, 3, 1, 1, 1, 1, 1),
    "products that BLAS shares, several images at once": (11, 8, 96, 12, 3, 1, 0, 1, 1, 1),
    "a kernel that is an image": (5, 40, 6, 14, 10, 1, 0, 1, 1, 1),
    "long images, summed over": (7, 64, 16, 14, 10, 1, 0, 1, 1, 1),
    "images summed over in groups": (6, 24, 8, 16, 12, 1, 0, 1, 1, 4),
    "a dilated kernel that is an image": (5, 40, 6, 21, 10, 1, 0, 1, 2, 1),
    "added back": (40, 16, 3, 10, 5, 1, 4, 1, 1, 1),
    "added back in groups": (40, 16, 2, 10, 5, 1, 4, 1, 1, 2),
    "added back along both axes": (40, 24, 1, 10, 3, 1, 2, 1, 1, 1),
    "added back, dilated": (40, 16, 3, 10, 5, 1, 6, 1, 2, 1),
    "apart": (24, 5, 4, 12, 3, 1, 2, 2, 1, 1),
    "apart and strided": (24, 5, 4, 12, 3, 2, 2, 3, 1, 1),
    "apart, and a kernel longer than the result": (8, 3, 4, 14, 24, 1, 1, 2, 1, 1),
}


def _reference(x: np.ndarray, kernel: np.ndarray, window: Window) -> np.ndarray:
    (stride, _), ((low, high), _), (spread, _), (dilation, _), groups = window
    n, channels, length, _ = x.shape
    wide = np.zeros((n, channels, (length - 1) * spread + 1, (length - 1) * spread + 1), x.dtype)
    wide[..., ::spread, ::spread] = x
    wide = np.pad(wide, ((0, 0), (0, 0), (low, high), (low, high)))
    out, inner, k, _ = kernel.shape
    m = window.lengths(x.shape[2:], kernel.shape[2:])[0]
    parts = wide.reshape(n, groups, inner, *wide.shape[2:])
    y = np.zeros((n, groups, out // groups, m, m), x.dtype)
    for i, j in product(range(k), repeat=2):
        rows, cols = (slice(at * dilation, at * dilation + (m - 1) * stride + 1, stride) for at in (i, j))
        weights = kernel[:, :, i, j].reshape(groups, out // groups, inner)
        y += np.einsum("goc,ngcpq->ngopq", weights, parts[..., rows, cols])
    return y.reshape(n, out, m, m)


@pytest.mark.parametrize("case", CASES)
def test_conv_is_the_sum_over_windows(case: str, rng: np.random.Generator) -> None:
    """The result has memory of its own without gaps, whatever the layout of the operands."""
    n, channels, out, length, k, stride, padding, spread, dilation, groups = CASES[case]
    x, kernel = rng.normal(size=(n, channels, length, length)), rng.normal(size=(out, channels // groups, k, k))
    window = Window((stride,) * 2, ((padding, padding),) * 2, (spread,) * 2, (dilation,) * 2, groups)
    for turned in (x, np.asfortranarray(x)):
        y = columns.conv_numpy(turned, kernel, window=window)
        np.testing.assert_allclose(y, _reference(x, kernel, window), rtol=1e-10, atol=1e-10)


def test_the_cases_reach_both_ways_to_share(monkeypatch: pytest.MonkeyPatch, rng: np.random.Generator) -> None:
    """Some are computed by several threads, others in consecutive blocks."""
    shared = []
    monkeypatch.setattr(columns, "each", lambda do, parts: [shared.append(len(parts)), *map(do, parts)])
    monkeypatch.setattr(columns, "workers", lambda: 4)
    for case in CASES:
        test_conv_is_the_sum_over_windows(case, rng)
    assert len(shared) >= 8
    assert min(shared) >= 2
