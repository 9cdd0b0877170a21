"""``scipy.signal`` under autograd's name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import funcgrad.numpy as fnp
from funcgrad._public import origins
from funcgrad._types import ArrayLike
from funcgrad.interop.autograd._namespace import namespace
from funcgrad.numpy.extend import as_value, sliding_window_view
from funcgrad.scipy import signal

Axes = tuple[Sequence[int], Sequence[int]] | list[Sequence[int]]


def convolve(
    A: ArrayLike,  # noqa: N803  (autograd's name)
    B: ArrayLike,  # noqa: N803  (autograd's name)
    axes: Axes | None = None,
    dot_axes: Axes = ((), ()),
    mode: str = "full",
) -> Any:
    """Convolve two arrays along some of their axes, and sum the products along others.

    Args:
        A: an array.
        B: an array.
        axes: the axes of ``A`` and those of ``B`` along which to convolve; all of both by default.
        dot_axes: the axes of ``A`` and those of ``B`` along which products are summed.
        mode: 'full', 'valid' or 'same' (as long as ``A``).

    Returns:
        An array with the other axes of ``A``, the other axes of ``B``, and the convolved axes.

    Raises:
        ValueError: the mode is another one, or in the mode 'valid' neither array is the longer one along all axes.

    Example:
        >>> import numpy as np
        >>> from funcgrad.interop.autograd.scipy.signal import convolve
        >>> convolve(np.ones((2, 3)), np.array([[1.0, 2.0]]), axes=([1], [1]), mode="valid")[:, 0]
        array([[3., 3.],
               [3., 3.]])
    """
    a, b = fnp.asarray(as_value(A)), fnp.asarray(as_value(B))
    if axes is None:
        return signal.convolve(a, b, mode)
    if mode not in ("full", "valid", "same"):
        raise ValueError(f"convolve: the mode is {mode!r}; needed 'full', 'valid' or 'same'. Pass one of these.")
    along = [[i % x.ndim for i in each] for x, each in zip((a, b), axes, strict=True)]
    summed = [[i % x.ndim for i in each] for x, each in zip((a, b), dot_axes, strict=True)]
    lengths = [[x.shape[i] for i in each] for x, each in zip((a, b), along, strict=True)]
    if mode == "valid" and not all(n >= m for n, m in zip(*lengths, strict=True)):
        if not all(n <= m for n, m in zip(*lengths, strict=True)):
            raise ValueError(
                f"convolve: along the axes to convolve the lengths are {lengths[0]} and {lengths[1]}; in the mode "
                "'valid' one array has to be the longer one along all of them. Use the mode 'full'."
            )
        return _summed((b, a), along[::-1], summed[::-1], turned=True)
    size = lengths[1]
    if mode != "valid":
        widths = [(0, 0)] * a.ndim
        for i, m in zip(along[0], size, strict=True):
            widths[i] = (m - 1, m - 1) if mode == "full" else (m - 1 - (m - 1) // 2, (m - 1) // 2)
        a = fnp.pad(a, widths)
    return _summed((a, b), along, summed, turned=False)


def _summed(pair: tuple[Any, Any], along: list[list[int]], summed: list[list[int]], *, turned: bool) -> Any:
    """Return the sums of products over windows of the longer array; ``turned`` if that is the second one."""
    a, b = pair
    windows = sliding_window_view(a, tuple([b.shape[i] for i in along[1]]), tuple(along[0])) if along[0] else a
    b = b[tuple([slice(None, None, -1) if i in along[1] else slice(None) for i in range(b.ndim)])]
    of_windows = list(range(a.ndim, a.ndim + len(along[0])))
    of_b = list(range(windows.ndim, windows.ndim + b.ndim))
    for i, number in zip(along[1], of_windows, strict=True):
        of_b[i] = number
    for i, j in zip(summed[1], summed[0], strict=True):
        of_b[i] = j
    rest = [
        [i for i in range(x.ndim) if i not in (*one, *two)] for x, one, two in zip(pair, along, summed, strict=True)
    ]
    kept = [rest[0], [of_b[i] for i in rest[1]]]
    out = [*kept[turned], *kept[not turned], *along[0]]
    return fnp.einsum(windows, [*range(a.ndim), *of_windows], b, of_b, out)


origins[convolve] = __name__
__getattr__, __dir__ = namespace(__name__, "funcgrad.scipy.signal", "scipy.signal", own=("convolve",))
