"""Pads with PyTorch's arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import Array
from funcgrad.numpy.extend import as_value

_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad(input: Array, pad: Any, mode: str = "constant", value: float | None = None) -> Array:
    """Add elements at the ends of the last axes; a negative number cuts elements off.

    Args:
        input: an array.
        pad: pairs of numbers, those of the last axis first.
        mode: ``"constant"``, ``"reflect"``, ``"replicate"`` or ``"circular"``.
        value: the added elements for ``"constant"``; 0 by default.

    Returns:
        The longer array.

    Raises:
        RuntimeError: the numbers do not fit the axes.
        NotImplementedError: a mode is unknown, or pads other axes than the spatial ones.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.pad(np.array([[1, 2]]), (1, 2), value=7)
        array([[7, 1, 2, 7, 7]])
        >>> F.pad(np.array([[1, 2, 3]]), (1, 1), mode="reflect")
        array([[2, 1, 2, 3, 2]])

    Source: ``torch.nn.functional.pad``.
    """
    x, numbers = as_value(input), [int(n) for n in pad]
    ndim = len(x.shape)
    if len(numbers) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(numbers) > 2 * ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(numbers)} and input of dimension {ndim}"
        )
    pairs = [(ndim - 1 - i, numbers[2 * i], numbers[2 * i + 1]) for i in range(len(numbers) // 2)]
    if mode == "constant":
        return _constant(x, pairs, 0 if value is None else value)
    _check(mode, ndim, numbers, value)
    for axis, before, after in pairs:
        _check_reach(mode, x, axis, (before, after))
        x = fnp.take(x, _indices(x.shape[axis], before, after, mode), axis=axis)
    return x


def _constant(x: Array, pairs: list[tuple[int, int, int]], value: float) -> Array:
    widths, cuts = [(0, 0)] * len(x.shape), [slice(None)] * len(x.shape)
    for axis, before, after in pairs:
        widths[axis] = max(before, 0), max(after, 0)
        cuts[axis] = slice(max(-before, 0), x.shape[axis] - max(-after, 0))
        if x.shape[axis] + min(before, 0) + min(after, 0) < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
    if any(cut != slice(0, n) for cut, n in zip(cuts, x.shape, strict=True) if cut != slice(None)):
        x = x[tuple(cuts)]
    return fnp.pad(x, widths, constant_values=value) if any(sum(pair) for pair in widths) else x


def _check(mode: str, ndim: int, numbers: list[int], value: float | None) -> None:
    if mode not in _MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if not (len(numbers) in (2, 4, 6) and ndim in (len(numbers) // 2 + 1, len(numbers) // 2 + 2)):
        raise NotImplementedError(
            f"Padding size {len(numbers)} is not supported for {ndim}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )


def _check_reach(mode: str, x: Array, axis: int, pair: tuple[int, int]) -> None:
    if mode == "reflect" and max(pair) >= x.shape[axis]:
        raise RuntimeError(
            "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
            f"({pair[0]}, {pair[1]}) at dimension {axis} of input {list(x.shape)}"
        )
    if mode == "circular" and max(pair) > x.shape[axis]:
        raise RuntimeError("Padding value causes wrapping around more than once.")


def _indices(length: int, before: int, after: int, mode: str) -> np.ndarray:
    kept = np.arange(length)[max(-before, 0) : length - max(-after, 0)]
    widths = (max(before, 0), max(after, 0))
    mode_of_numpy: Any = _MODES[mode]
    return np.pad(kept, widths, mode=mode_of_numpy) if any(widths) else kept
