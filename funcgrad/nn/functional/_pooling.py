"""Pooling with PyTorch's arguments, and maxima with their positions."""

from __future__ import annotations

import math
from typing import Any

from funcgrad import numpy as fnp
from funcgrad._types import Array, Padding, PerAxis
from funcgrad.nn._functions import pooling, windows
from funcgrad.nn._functions.activations import relu
from funcgrad.nn._functions.convert import inexact
from funcgrad.nn._functions.refusals import floating
from funcgrad.nn._functions.sizes import per_axis


def _window(name: str, x: Array, how: tuple) -> list[tuple[int, int, int, int, int, int]]:
    """Return length, kernel, stride, padding, dilation and number of windows of each axis, in PyTorch's terms.

    Raises:
        RuntimeError: the windows do not fit; the texts are PyTorch's.
    """
    axes, kernel_size, stride, padding, dilation, ceil_mode = how
    if len(x.shape) not in (axes + 1, axes + 2):
        if axes == 1:
            rest = f"tensor with optional 0 dim batch size for input, but got:{list(x.shape)}"
            raise RuntimeError(f"{name}: Expected 2D or 3D (batch mode) {rest}")
        raise RuntimeError(f"non-empty {axes + 1}D or {axes + 2}D (batch mode) tensor expected for input")
    _check_sizes(name, axes, kernel_size, stride, dilation)
    kernels = per_axis(name, "kernel_size", kernel_size, axes, 1)
    strides = kernels if stride is None or stride == [] else per_axis(name, "stride", stride, axes, 1)
    paddings = per_axis(name, "padding", padding, axes, 0)
    dilations = per_axis(name, "dilation", dilation, axes, 1)
    space, rows = x.shape[-axes:], []
    for n, k, step, pad, d in zip(space, kernels, strides, paddings, dilations, strict=True):
        reach = (k - 1) * d + 1
        if 2 * pad > reach:
            raise RuntimeError(
                f"pad should be at most half of effective kernel size, but got pad={pad}, kernel_size={k} and "
                f"dilation={d}"
            )
        room = n + 2 * pad - reach
        count = (-(-room // step) if ceil_mode else room // step) + 1
        if ceil_mode and (count - 1) * step >= n + pad:
            count -= 1
        rows.append((n, k, step, pad, d, count if room >= 0 else 0))
    counts = [row[-1] for row in rows]
    if min(counts) < 1:
        given, made = ("x".join(map(str, (x.shape[-axes - 1], *each))) for each in (space, counts))
        raise RuntimeError(f"Given input size: ({given}). Calculated output size: ({made}). Output size is too small")
    return rows


def _check_sizes(name: str, axes: int, kernel_size: Any, stride: Any, dilation: Any) -> None:
    """Refuse sizes of another number and zeros, in PyTorch's words."""
    given = {"kernel_size": kernel_size, "stride": stride, "dilation": dilation}
    for what, value in given.items():
        sizes = value if isinstance(value, list | tuple) else (value,)
        if len(sizes) not in (0, 1, axes):
            if axes == 1:
                raise RuntimeError(
                    f"{name}() {what} must be an int, list of ints or tuple of ints of size 1 but got size {len(sizes)}"
                )
            count = "two" if axes == 2 else "three"
            raise RuntimeError(f"{name}: {what} must either be a single int, or a tuple of {count} ints")
        if any(n == 0 for n in sizes):
            if axes == 1:
                raise RuntimeError(f"{name}() {what} must be greater than zero, but got 0")
            if what != "dilation":
                raise RuntimeError("stride should not be zero")
            refused = " ".join(f"dilation{axis}: {n}" for axis, n in zip("THW"[-axes:], [*sizes] * axes, strict=False))
            raise RuntimeError(f"dilation should be greater than zero, but got {refused}")


def _stride(stride: Any) -> Any:
    """Return a stride; an empty list stands for the window, as in PyTorch."""
    return None if isinstance(stride, list) and not stride else stride


def _max_pool(name: str, input: Array, how: tuple, return_indices: bool) -> Any:
    x = floating("max_pool1d_impl", input) if name == "max_pool1d" and not return_indices else inexact(input)
    rows = _window(name, x, how)
    if not return_indices:
        return getattr(pooling, name)(x, *how[1:])
    return windows.maxima(x, [windows.sliding(*row) for row in rows])


def max_pool1d(
    input: Array,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Compute the maximum of each window of signals; see `funcgrad.nn.max_pool1d`.

    With ``return_indices`` the result is a pair with the positions of the maxima, counted in the flat space.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.max_pool1d(np.array([[1.0, 5.0, 2.0, 3.0]]), 2)
        array([[5., 3.]])
    """
    how = (1, kernel_size, _stride(stride), padding, dilation, ceil_mode)
    return _max_pool("max_pool1d", input, how, return_indices)


def max_pool1d_with_indices(
    input: Array,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Compute the maximum of each window of signals, and its position.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.max_pool1d_with_indices(np.array([[1.0, 5.0, 2.0, 3.0]]), 2)
        (array([[5., 3.]]), array([[1, 3]]))
    """
    del return_indices
    return max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool2d(
    input: Array,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Compute the maximum of each window of images; see `funcgrad.nn.max_pool2d`.

    With ``return_indices`` the result is a pair with the positions of the maxima, counted in the flat space.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.max_pool2d(np.arange(16.0).reshape(1, 4, 4), 2)
        array([[[ 5.,  7.],
                [13., 15.]]])
    """
    how = (2, kernel_size, _stride(stride), padding, dilation, ceil_mode)
    return _max_pool("max_pool2d", input, how, return_indices)


def max_pool2d_with_indices(
    input: Array,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Compute the maximum of each window of images, and its position.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.max_pool2d_with_indices(np.arange(16.0).reshape(1, 4, 4), 2)
        (array([[[ 5.,  7.],
                [13., 15.]]]), array([[[ 5,  7],
                [13, 15]]]))
    """
    del return_indices
    return max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool3d(
    input: Array,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Compute the maximum of each window of volumes; see `funcgrad.nn.max_pool3d`.

    With ``return_indices`` the result is a pair with the positions of the maxima, counted in the flat space.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.max_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 2)
        array([[[[7.]]]])
    """
    how = (3, kernel_size, _stride(stride), padding, dilation, ceil_mode)
    return _max_pool("max_pool3d", input, how, return_indices)


def max_pool3d_with_indices(
    input: Array,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    dilation: PerAxis = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """Compute the maximum of each window of volumes, and its position.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.max_pool3d_with_indices(np.arange(8.0).reshape(1, 2, 2, 2), 2)
        (array([[[[7.]]]]), array([[[[7]]]]))
    """
    del return_indices
    return max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def avg_pool1d(
    input: Array,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Array:
    """Compute the mean of each window of signals; see `funcgrad.nn.avg_pool1d`.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.avg_pool1d(np.array([[1.0, 5.0, 2.0, 3.0]]), 2)
        array([[3. , 2.5]])
    """
    x, stride = inexact(input), _stride(stride)
    _window("avg_pool1d", x, (1, kernel_size, stride, padding, 1, ceil_mode))
    return pooling.avg_pool1d(x, kernel_size, stride, padding, ceil_mode, count_include_pad)


def avg_pool2d(
    input: Array,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """Compute the mean of each window of images; see `funcgrad.nn.avg_pool2d`.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.avg_pool2d(np.arange(16.0).reshape(1, 4, 4), 2)
        array([[[ 2.5,  4.5],
                [10.5, 12.5]]])
    """
    x, stride = inexact(input), _stride(stride)
    _window("avg_pool2d", x, (2, kernel_size, stride, padding, 1, ceil_mode))
    return pooling.avg_pool2d(x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def avg_pool3d(
    input: Array,
    kernel_size: PerAxis,
    stride: PerAxis | None = None,
    padding: Padding = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """Compute the mean of each window of volumes; see `funcgrad.nn.avg_pool3d`.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.avg_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 2)
        array([[[[3.5]]]])
    """
    x, stride = inexact(input), _stride(stride)
    _window("avg_pool3d", x, (3, kernel_size, stride, padding, 1, ceil_mode))
    return pooling.avg_pool3d(x, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override)


def lp_pool1d(
    input: Array, norm_type: float, kernel_size: PerAxis, stride: PerAxis | None = None, ceil_mode: bool = False
) -> Array:
    """Compute the norm of each window of signals.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.lp_pool1d(np.array([[1.0, 5.0, 2.0, 3.0]]), 2, 2).round(4)
        array([[5.099 , 3.6056]])
    """
    count = math.prod(per_axis("lp_pool1d", "kernel_size", kernel_size, 1, 1))
    mean = avg_pool1d(fnp.power(inexact(input), norm_type), kernel_size, stride, 0, ceil_mode)
    # As in PyTorch, the sign is kept, and the derivative of a norm of 0 is NaN.
    return fnp.power(fnp.multiply(fnp.multiply(fnp.sign(mean), relu(fnp.abs(mean))), count), 1.0 / norm_type)


def lp_pool2d(
    input: Array, norm_type: float, kernel_size: PerAxis, stride: PerAxis | None = None, ceil_mode: bool = False
) -> Array:
    """Compute the norm of each window of images.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.lp_pool2d(np.arange(16.0).reshape(1, 4, 4), 2, 2).round(4)
        array([[[ 6.4807,  9.8995],
                [21.4009, 25.3377]]])
    """
    count = math.prod(per_axis("lp_pool2d", "kernel_size", kernel_size, 2, 1))
    mean = avg_pool2d(fnp.power(inexact(input), norm_type), kernel_size, stride, 0, ceil_mode)
    # As in PyTorch, the sign is kept, and the derivative of a norm of 0 is NaN.
    return fnp.power(fnp.multiply(fnp.multiply(fnp.sign(mean), relu(fnp.abs(mean))), count), 1.0 / norm_type)


def lp_pool3d(
    input: Array, norm_type: float, kernel_size: PerAxis, stride: PerAxis | None = None, ceil_mode: bool = False
) -> Array:
    """Compute the norm of each window of volumes.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.lp_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 2, 2).round(4)
        array([[[[11.8322]]]])
    """
    count = math.prod(per_axis("lp_pool3d", "kernel_size", kernel_size, 3, 1))
    mean = avg_pool3d(fnp.power(inexact(input), norm_type), kernel_size, stride, 0, ceil_mode)
    # As in PyTorch, the sign is kept, and the derivative of a norm of 0 is NaN.
    return fnp.power(fnp.multiply(fnp.multiply(fnp.sign(mean), relu(fnp.abs(mean))), count), 1.0 / norm_type)
