"""Images sampled at the points of a grid, and grids of affine maps."""

from __future__ import annotations

import itertools
import math
import warnings
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import is_floating
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.layout.shape import reshape
from funcgrad._transforms.custom.stop_gradient import stop_gradient
from funcgrad._types import Array
from funcgrad.nn._functions.convert import inexact
from funcgrad.nn._functions.refusals import floating


def _aligned(align_corners: bool | None) -> bool:
    if align_corners is None:
        warnings.warn(
            "Default grid_sample and affine_grid behavior has changed to align_corners=False since 1.3.0. Please "
            "specify align_corners=True if the old behavior is desired. See the documentation of grid_sample for "
            "details.",
            UserWarning,
            stacklevel=3,
        )
    return bool(align_corners)


def affine_grid(theta: Array, size: Any, align_corners: bool | None = None) -> Array:
    """Return the points that affine maps give to the elements of images, for `grid_sample`.

    Args:
        theta: ``f32[batch, 2, 3]`` for images, ``f32[batch, 3, 4]`` for volumes.
        size: the shape of the result of `grid_sample`.
        align_corners: whether -1 and 1 are the centers of the first and last elements, rather than their edges.

    Returns:
        ``f32[batch, height, width, 2]``, or ``f32[batch, depth, height, width, 3]``.

    Raises:
        ValueError: shapes or dtypes do not fit.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.affine_grid(np.eye(2, 3)[None], (1, 1, 1, 2), align_corners=True)
        array([[[[-1.,  0.],
                 [ 1.,  0.]]]])

    Source: Jaderberg et al., *Spatial transformer networks* (2015), eq. 1.
    """
    align = _aligned(align_corners)
    if not is_floating(theta.dtype):
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) not in (4, 5):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size "
            f"{size}."
        )
    axes = len(size) - 2
    if tuple(theta.shape[1:]) != (axes, axes + 1) or len(theta.shape) != 3:
        raise ValueError(
            f"Expected a batch of {axes}D affine matrices of shape Nx{axes}x{axes + 1} for size {size}. Got "
            f"torch.Size({list(theta.shape)})."
        )
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    space = tuple(size[2:])
    lines = [_line(n, align) for n in space]
    # The last axis of an image is the first coordinate.
    points = np.stack([*np.meshgrid(*lines, indexing="ij")[::-1], np.ones(space)], axis=-1)
    flat = points.reshape(-1, axes + 1).astype(theta.dtype)
    return reshape(fnp.matmul(flat, fnp.swapaxes(theta, 1, 2)), (theta.shape[0], *space, axes))


def _line(n: int, align: bool) -> np.ndarray:
    if n <= 1:
        return np.zeros(n)
    line = np.linspace(-1, 1, n)
    return line if align else line * (n - 1) / n


def grid_sample(
    input: Array,
    grid: Array,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Array:
    """Sample images at points.

    Args:
        input: ``f32[batch, channels, height, width]``, or with a depth before the height.
        grid: ``f32[batch, ..., 2]`` or ``f32[batch, ..., 3]``: points, -1 to 1 along each axis, the last axis first.
        mode: ``"bilinear"``, ``"nearest"`` or, for images, ``"bicubic"``.
        padding_mode: ``"zeros"``, ``"border"`` or ``"reflection"``: the elements outside.
        align_corners: whether -1 and 1 are the centers of the first and last elements, rather than their edges.

    Returns:
        ``f32[batch, channels, ...]``.

    Raises:
        RuntimeError: the shapes do not fit.
        ValueError: a mode is unknown.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> points = np.array([[[[0.0, 0.0], [-1.0, 0.0]]]])
        >>> F.grid_sample(np.array([[[[1.0, 3.0]]]]), points, align_corners=True)
        array([[[[2., 1.]]]])

    Source: Jaderberg et al., *Spatial transformer networks* (2015), eq. 5.
    """
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    align = _aligned(align_corners)
    x, points = floating("grid_sampler_2d_cpu_kernel_impl", input), inexact(grid)
    _check_shapes(x, points, mode)
    axes = len(x.shape) - 2
    space = x.shape[2:]
    flat = reshape(points, (points.shape[0], math.prod(points.shape[1:-1]), axes))
    # The coordinates of the last axis come first.
    places = [_place(flat[..., axes - 1 - i], n, align) for i, n in enumerate(space)]
    if mode != "bicubic":
        places = [_inside(p, n, padding_mode, align) for p, n in zip(places, space, strict=True)]
    taps = [_taps(p, mode) for p in places]
    total: Any = None
    for chosen in itertools.product(*taps):
        where, weights = zip(*chosen, strict=True)
        values = _gathered(x, where, (padding_mode, align) if mode == "bicubic" else ("", align))
        for weight in weights:
            values = values if weight is None else fnp.multiply(values, fnp.expand_dims(weight, 1))
        total = values if total is None else fnp.add(total, values)
    return reshape(total, (*x.shape[:2], *points.shape[1:-1]))


def _check_shapes(x: Array, points: Array, mode: str) -> None:
    ndim = len(x.shape)
    if ndim not in (4, 5) or len(points.shape) != ndim:
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but got input with sizes "
            f"{list(x.shape)} and grid with sizes {list(points.shape)}"
        )
    if x.shape[0] != points.shape[0]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
            f"{list(x.shape)} and grid with sizes {list(points.shape)}"
        )
    if points.shape[-1] != ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {ndim - 2} in last dimension, but got grid with sizes "
            f"{list(points.shape)}"
        )
    if mode == "bicubic" and ndim != 4:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")


def _place(points: Array, n: int, align: bool) -> Array:
    """Return points from -1 to 1 as places among ``n`` elements."""
    if align:
        return fnp.multiply(fnp.add(points, 1), (n - 1) / 2)
    return fnp.divide(fnp.subtract(fnp.multiply(fnp.add(points, 1), n), 1), 2)


def _inside(place: Any, n: int, padding_mode: str, align: bool) -> Array:
    """Return places moved into the image, as the padding says."""
    if padding_mode == "zeros":
        return place
    if padding_mode == "reflection":
        low, span = (0.0, float(n - 1)) if align else (-0.5, float(n))
        if span == 0:
            return fnp.multiply(place, 0)
        far = fnp.abs(fnp.subtract(place, low))
        turns = stop_gradient(fnp.floor(fnp.divide(far, span)))
        rest = fnp.subtract(far, fnp.multiply(turns, span))
        even = fnp.equal(fnp.remainder(turns, 2), 0)
        place = fnp.add(fnp.where(even, rest, fnp.subtract(span, rest)), low)
    place = fnp.where(fnp.less_equal(place, 0), 0, place)
    return fnp.where(fnp.greater_equal(place, n - 1), n - 1, place)


def _taps(place: Any, mode: str) -> list[tuple[Any, Any]]:
    """Return the elements that count along one axis, as whole numbers, with their weights."""
    if mode == "nearest":
        return [(stop_gradient(fnp.rint(place)), None)]
    first = stop_gradient(fnp.floor(place))
    t = fnp.subtract(place, first)
    if mode == "bilinear":
        return [(first, fnp.subtract(1, t)), (fnp.add(first, 1), t)]
    steps = range(-1, 3)
    weights = [_cubic(fnp.abs(fnp.subtract(t, step)), near=step in (0, 1)) for step in steps]
    return [(fnp.add(first, step), weight) for step, weight in zip(steps, weights, strict=True)]


def _cubic(t: Array, near: bool) -> Array:
    """Return Keys' kernel with the slope -0.75 at distances below 1 (``near``), or from 1 to 2."""
    a = -0.75
    if near:
        inner = fnp.subtract(fnp.multiply(t, a + 2), a + 3)
        return fnp.add(fnp.multiply(fnp.multiply(inner, t), t), 1)
    inner = fnp.add(fnp.multiply(fnp.subtract(t, 5), t), 8)
    return fnp.multiply(fnp.subtract(fnp.multiply(inner, t), 4), a)


def _gathered(x: Array, where: tuple[Any, ...], padding: tuple[str, bool]) -> Array:
    """Return the elements at whole places of each axis: ``f32[batch, channels, points]``, 0 outside of the image."""
    batch, channels, *space = x.shape
    if padding[0] in ("border", "reflection"):
        moved = [fnp.rint(_inside(p, n, *padding)) for p, n in zip(where, space, strict=True)]
    else:
        moved = list(where)
    index: Any = 0
    kept: Any = True
    for p, n in zip(moved, space, strict=True):
        kept = fnp.logical_and(kept, fnp.logical_and(fnp.greater_equal(p, 0), fnp.less_equal(p, n - 1)))
        whole = cast(fnp.minimum(fnp.maximum(p, 0), n - 1), np.dtype(np.int64))
        index = fnp.add(fnp.multiply(index, n), whole)
    flat = reshape(x, (batch, channels, math.prod(space)))
    index = fnp.broadcast_to(fnp.expand_dims(index, 1), (batch, channels, index.shape[1]))
    values = fnp.take_along_axis(flat, index, axis=2)
    return fnp.where(fnp.expand_dims(kept, 1), values, 0)
