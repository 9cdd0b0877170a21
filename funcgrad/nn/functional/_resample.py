"""Images made larger or smaller, and axes exchanged between channels and space."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Array, ScalarLike, ShapeLike
from funcgrad.nn._functions.convert import inexact
from funcgrad.nn._functions.mixing import cubic, interpolating, lanczos, mixed, smoothing, triangle
from funcgrad.nn._functions.refusals import floating
from funcgrad.nn.functional._adaptive import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from funcgrad.numpy.extend import as_value

_LINEAR = {"linear": 3, "bilinear": 4, "trilinear": 5, "bicubic": 4}
_ALL = ("nearest", "nearest-exact", "area", "lanczos", *_LINEAR)


def interpolate(
    input: Array,
    size: Any = None,
    scale_factor: ScalarLike = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Array:
    """Resize the spatial axes.

    Args:
        input: ``f32[batch, channels, ...]`` with one to three spatial axes.
        size: the new length, or one for each axis.
        scale_factor: in place of the size, the factor, or one for each axis.
        mode: ``"nearest"``, ``"nearest-exact"``, ``"area"``, ``"linear"`` (one axis), ``"bilinear"``, ``"bicubic"``
            and ``"lanczos"`` (two), ``"trilinear"`` (three).
        align_corners: whether the first and last elements keep their places.
        recompute_scale_factor: whether the factor is that of the rounded size.
        antialias: whether the kernel widens where an image gets smaller.

    Returns:
        ``f32[batch, channels, ...]``.

    Raises:
        ValueError: not exactly one of size and factor is given, or an option does not go with the mode.
        NotImplementedError: the mode is unknown, or does not fit the number of axes.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.interpolate(np.array([[[1.0, 3.0]]]), scale_factor=2, mode="linear")
        array([[[1. , 1.5, 2.5, 3. ]]])

    Source: ``torch.nn.functional.interpolate``; the cubic kernel is Keys' (1981).
    """
    x = inexact(input)
    axes = len(x.shape) - 2
    if mode in ("nearest", "area", "nearest-exact") and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
        )
    sizes, factors = _sizes(x, size, scale_factor, recompute_scale_factor)
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and axes == 2):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    _check_mode(mode, len(x.shape), bool(align_corners), antialias)
    if mode != "area":
        floating(f"compute_indices_weights_{mode}", input)
    if mode == "area":
        return (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[axes - 1](x, sizes)
    for i, (count, factor) in enumerate(zip(sizes, factors, strict=True)):
        length = x.shape[i + 2]
        if mode.startswith("nearest"):
            x = fnp.take(x, _nearest(length, count, factor, mode == "nearest-exact"), axis=i + 2)
        else:
            x = mixed(x, i + 2, _matrix(mode, (length, count, factor), bool(align_corners), antialias))
    return x


def _check_mode(mode: str, ndim: int, align_corners: bool, antialias: bool) -> None:
    if mode == "lanczos" and ndim == 4:
        if align_corners:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
    elif mode in _LINEAR and ndim in (3, 4, 5) and _LINEAR[mode] != ndim and mode != "bicubic":
        raise NotImplementedError(f"Got {ndim}D input, but {mode} mode needs {_LINEAR[mode]}D input")
    elif mode not in _ALL or ndim not in (3, 4, 5) or _LINEAR.get(mode, ndim) != ndim or mode == "lanczos":
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {ndim}D) for the modes: nearest | linear | "
            f"bilinear | bicubic | trilinear | lanczos | area | nearest-exact (got {mode})"
        )


def _sizes(x: Array, size: Any, scale_factor: ScalarLike, recompute: bool | None) -> tuple[tuple[int, ...], list[Any]]:
    """Return the new lengths, and the factor of each axis where it counts."""
    space = x.shape[2:]
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    given: Any = size if size is not None else scale_factor
    several: tuple[Any, ...] = tuple(given) if isinstance(given, list | tuple) else (given,) * len(space)
    if len(several) != len(space):
        scales = "scale_factor", "scale_factor of shape", "scale_factor in (s1, s2, ...,sK)"
        sizes = "output", "output size of", "output size in (o1, o2, ...,oK)"
        first, second, last = scales if size is None else sizes
        raise ValueError(
            f"Input and {first} must have the same number of spatial dimensions, but got input with spatial dimensions "
            f"of {list(space)} and {second} {given}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
            f"{last} format."
        )
    if size is not None:
        if recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        return tuple([int(n) for n in several]), [None] * len(space)
    counts = tuple([math.floor(n * float(factor)) for n, factor in zip(space, several, strict=True)])
    return counts, [None] * len(space) if recompute else [float(factor) for factor in several]


def _nearest(length: int, count: int, factor: float | None, exact: bool) -> np.ndarray:
    # PyTorch computes the places of all dtypes in float32.
    scale = np.float32(length / count if factor is None else 1 / factor)
    places = np.arange(count, dtype=np.float32) + np.float32(0.5 if exact else 0)
    return np.minimum((places * scale).astype(int), length - 1)


def _matrix(mode: str, lengths: tuple[int, int, float | None], align_corners: bool, antialias: bool) -> np.ndarray:
    length, count, factor = lengths
    if align_corners:
        scale = (length - 1) / (count - 1) if count > 1 else 0.0
    else:
        scale = length / count if factor is None else 1 / factor
    if antialias:
        kernel, reach = {"bicubic": (cubic(-0.5), 2), "lanczos": (lanczos, 3)}.get(mode, (triangle, 1))
        return smoothing(length, count, scale, kernel, reach)
    places = np.arange(count) * scale if align_corners else (np.arange(count) + 0.5) * scale - 0.5
    if mode == "bicubic":
        return interpolating(length, places, cubic(-0.75), 2)
    return interpolating(length, np.maximum(places, 0), triangle, 1)


def upsample(
    input: Array,
    size: ShapeLike | None = None,
    scale_factor: ScalarLike = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Array:
    """Resize the spatial axes; an older name of `interpolate`.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.upsample(np.array([[[1.0, 3.0]]]), 4)
        array([[[1., 1., 3., 3.]]])
    """
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Array, size: ShapeLike | None = None, scale_factor: ScalarLike = None) -> Array:
    """Resize by the nearest element.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.upsample_nearest(np.array([[[1.0, 3.0]]]), 4)
        array([[[1., 1., 3., 3.]]])
    """
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(input: Array, size: ShapeLike | None = None, scale_factor: ScalarLike = None) -> Array:
    """Resize images by linear interpolation, with the corners kept.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.upsample_bilinear(np.array([[[[1.0, 3.0]]]]), (1, 3))
        array([[[[1., 2., 3.]]]])
    """
    return interpolate(input, size, scale_factor, "bilinear", align_corners=True)


def _check_image(name: str, x: Any) -> None:
    if len(x.shape) < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {len(x.shape)} dimension(s)"
        )


def pixel_shuffle(input: Any, upscale_factor: int) -> Array:
    """Move channels into space: ``[..., c * r**2, h, w] -> [..., c, h * r, w * r]``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.pixel_shuffle(np.arange(4.0).reshape(4, 1, 1), 2)
        array([[[0., 1.],
                [2., 3.]]])

    Source: Shi et al., *Real-time single image and video super-resolution* (2016), eq. 4.
    """
    r = upscale_factor
    _check_image("pixel_shuffle", input)
    *lead, channels, height, width = input.shape
    if channels % r**2:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, "
            f"but input.size(-3)={channels} is not divisible by {r**2}"
        )
    n, split = len(lead), reshape(as_value(input), (*lead, channels // r**2, r, r, height, width))
    y = fnp.transpose(split, (*range(n), n, n + 3, n + 1, n + 4, n + 2))
    return reshape(y, (*lead, channels // r**2, height * r, width * r))


def pixel_unshuffle(input: Array, downscale_factor: int) -> Array:
    """Move space into channels, the inverse of `pixel_shuffle`.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.pixel_unshuffle(np.arange(4.0).reshape(1, 2, 2), 2).ravel()
        array([0., 1., 2., 3.])
    """
    r = downscale_factor
    _check_image("pixel_unshuffle", input)
    *lead, channels, height, width = input.shape
    for name, i, n in (("height", -2, height), ("width", -1, width)):
        if n % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({i})={n} is not "
                f"divisible by {r}"
            )
    n, split = len(lead), reshape(as_value(input), (*lead, channels, height // r, r, width // r, r))
    y = fnp.transpose(split, (*range(n), n, n + 2, n + 4, n + 1, n + 3))
    return reshape(y, (*lead, channels * r**2, height // r, width // r))


def channel_shuffle(input: Array, groups: int) -> Array:
    """Interleave the channels of groups.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.channel_shuffle(np.arange(4.0).reshape(1, 4, 1), 2).ravel()
        array([0., 2., 1., 3.])

    Source: Zhang et al., *ShuffleNet* (2018), section 3.1.
    """
    batch, channels, *space = input.shape
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        )
    split = reshape(as_value(input), (batch, groups, channels // groups, *space))
    return reshape(fnp.swapaxes(split, 1, 2), input.shape)
