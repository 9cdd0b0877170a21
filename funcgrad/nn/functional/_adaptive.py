"""Pooling to a given size."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Array, OutputSize, PerAxis, ScalarLike
from funcgrad.nn._functions import random, windows
from funcgrad.nn._functions.convert import inexact
from funcgrad.nn._functions.mixing import mixed
from funcgrad.nn._functions.refusals import OF_MEAN, floating, refuse_integers, wrong_count
from funcgrad.nn._functions.sizes import per_axis
from funcgrad.numpy.extend import known_value


def _sizes(name: str, x: Array, output_size: OutputSize, axes: int) -> tuple[int, ...]:
    """Return the lengths of the result; ``None`` stands for that of the input."""
    if len(x.shape) not in (axes + 1, axes + 2):
        but = "but got" if "avg" in name else "but got:"
        raise RuntimeError(f"{name}(): Expected {axes + 1}D or {axes + 2}D tensor, {but} {list(x.shape)}")
    given: Any = tuple(output_size) if isinstance(output_size, list | tuple) else (output_size,) * axes
    if len(given) != axes:
        raise RuntimeError(wrong_count(name, axes, given))
    sizes = tuple([n if size is None else int(size) for n, size in zip(x.shape[-axes:], given, strict=True)])
    if min(sizes) < 0:
        raise RuntimeError(f"{name}: elements of output_size must be greater than or equal to 0 but received {given}")
    return sizes


def _adaptive_avg(name: str, input: Array, output_size: OutputSize, axes: int) -> Array:
    if output_size == 1 or (isinstance(output_size, tuple | list) and tuple(output_size) == (1,) * axes):
        refuse_integers(OF_MEAN, input)
    x = floating("adaptive_avg_pool2d" if axes < 3 else "adaptive_avg_pool3d_cpu", input)
    for i, size in enumerate(_sizes(name, x, output_size, axes)):
        axis = len(x.shape) - axes + i
        length = x.shape[axis]
        if size and length % size == 0:
            x = fnp.mean(reshape(x, (*x.shape[:axis], size, length // size, *x.shape[axis + 1 :])), axis=axis + 1)
            continue
        starts, ends = windows.adaptive(length, size)
        inside = (np.arange(length) >= starts[:, None]) & (np.arange(length) < ends[:, None])
        shares = inside / np.maximum(ends - starts, 1)[:, None]
        x = mixed(x, axis, shares)
    return x


def _adaptive_max(name: str, input: Array, output_size: OutputSize, axes: int, return_indices: bool) -> Any:
    x = floating("adaptive_max_pool2d" if axes < 3 else "adaptive_max_pool3d_cpu", input)
    sizes = _sizes(name, x, output_size, axes)
    alongs = [windows.between(*windows.adaptive(n, size)) for n, size in zip(x.shape[-axes:], sizes, strict=True)]
    found = windows.maxima(x, alongs)
    return found if return_indices else found[0]


def _fractional(axes: int, input: Array, kernel_size: PerAxis, options: tuple) -> tuple[Any, Any]:
    """Return the maxima of windows at pseudo-random places, and their positions (Graham, 2014)."""
    name, (output_size, output_ratio, samples) = f"fractional_max_pool{axes}d", options
    x = inexact(input)
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    lead, space = x.shape[:-axes], x.shape[-axes:]
    if len(x.shape) not in (axes + 1, axes + 2):
        raise RuntimeError(f"{name}: Expected {axes + 1}D or {axes + 2}D tensor, but got: {list(x.shape)}")
    kernel = per_axis(name, "kernel_size", kernel_size, axes, 1)
    if output_size is None:
        ratios = output_ratio if isinstance(output_ratio, list | tuple) else (output_ratio,) * axes
        output_size = tuple([int(n * ratio) for n, ratio in zip(space, ratios, strict=True)])
    sizes = per_axis(name, "output_size", output_size, axes, 1)
    for i, (n, size, k) in enumerate(zip(space, sizes, kernel, strict=True)):
        if size + k - 1 > n:
            axis = ("time", "height", "width")[3 - axes + i]
            raise RuntimeError(f"{name}: pool {axis} {k} too large relative to input {axis} {n}")
    channels = lead if len(lead) == 2 else (1, *lead)
    if samples is None:
        samples = random.uniform(name, x, (*channels, axes), x.dtype)
    known = known_value(samples)
    if known is None:
        raise RuntimeError(f"{name}: the samples are traced; needed known numbers. Pass a NumPy array.")
    numbers = np.broadcast_to(known.astype(x.dtype), (*channels, axes)).reshape(-1, axes)
    # PyTorch's samples of images are for the width first.
    numbers = numbers[:, ::-1] if axes == 2 else numbers
    planes = reshape(x, (-1, *space))
    found = []
    for j, plane in enumerate(numbers):
        starts = [_starts(*each) for each in zip(space, sizes, kernel, plane, strict=True)]
        alongs = [windows.between(start, start + k) for start, k in zip(starts, kernel, strict=True)]
        found.append(windows.maxima(planes[j], alongs))
    values, places = ([each[i] for each in found] for i in range(2))
    return reshape(fnp.stack(values), (*lead, *sizes)), reshape(fnp.stack(places), (*lead, *sizes))


def _starts(length: int, count: int, kernel: int, sample: Array) -> np.ndarray:
    """Return where the windows of an axis begin, computed in the dtype of the sample, as in PyTorch."""
    starts = np.full(count, length - kernel)
    if count > 1:
        step = sample.dtype.type(length - kernel) / sample.dtype.type(count - 1)
        i = np.arange(count - 1).astype(sample.dtype)
        starts[:-1] = ((i + sample) * step).astype(np.int64) - int(sample * step)
    return starts


def fractional_max_pool2d(
    input: Array,
    kernel_size: PerAxis,
    output_size: OutputSize = None,
    output_ratio: ScalarLike = None,
    return_indices: bool = False,
    _random_samples: Array = None,
) -> Any:
    """Compute maxima of windows of images at pseudo-random places, which give any size of the result (Graham, 2014).

    Args:
        input: ``f32[batch, channels, height, width]``, or without the batch.
        kernel_size: the size of the windows.
        output_size: the size of the result.
        output_ratio: the size of the result as a share of that of the input, if ``output_size`` is omitted.
        return_indices: whether the positions of the maxima in the flat space are returned, too.

    Returns:
        ``f32[batch, channels, *output_size]``.

    Raises:
        ValueError: neither size nor ratio is given.
        RuntimeError: the windows do not fit into the input.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.fractional_max_pool2d(np.arange(16.0).reshape(1, 4, 4), 2, output_size=2).shape
        (1, 2, 2)
    """
    found = _fractional(2, input, kernel_size, (output_size, output_ratio, _random_samples))
    return found if return_indices else found[0]


def fractional_max_pool3d(
    input: Array,
    kernel_size: PerAxis,
    output_size: OutputSize = None,
    output_ratio: ScalarLike = None,
    return_indices: bool = False,
    _random_samples: Array = None,
) -> Any:
    """Compute maxima of windows of volumes at pseudo-random places; see `fractional_max_pool2d`.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.fractional_max_pool3d(np.arange(27.0).reshape(1, 3, 3, 3), 2, output_size=2).shape
        (1, 2, 2, 2)
    """
    found = _fractional(3, input, kernel_size, (output_size, output_ratio, _random_samples))
    return found if return_indices else found[0]


def adaptive_avg_pool1d(input: Array, output_size: OutputSize) -> Array:
    """Compute means of signals over as many windows as the result has elements.

    Args:
        input: ``f32[batch, channels, ...]``, or without the batch.
        output_size: the length of the result, or one for each axis; ``None`` for that of the input.

    Returns:
        ``f32[batch, channels, *output_size]``.

    Raises:
        RuntimeError: the input has another number of axes.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.adaptive_avg_pool1d(np.arange(4.0).reshape(1, 4), 2)
        array([[0.5, 2.5]])
    """
    return _adaptive_avg("adaptive_avg_pool1d", input, output_size, 1)


def adaptive_max_pool1d(input: Array, output_size: OutputSize, return_indices: bool = False) -> Any:
    """Compute maxima of signals over as many windows as the result has elements.

    With ``return_indices`` the result is a pair with the positions of the maxima, counted in the flat space.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.adaptive_max_pool1d(np.arange(4.0).reshape(1, 4), 2)
        array([[1., 3.]])
    """
    return _adaptive_max("adaptive_max_pool1d", input, output_size, 1, return_indices)


def adaptive_avg_pool2d(input: Array, output_size: OutputSize) -> Array:
    """Compute means of images over as many windows as the result has elements.

    Args:
        input: ``f32[batch, channels, ...]``, or without the batch.
        output_size: the length of the result, or one for each axis; ``None`` for that of the input.

    Returns:
        ``f32[batch, channels, *output_size]``.

    Raises:
        RuntimeError: the input has another number of axes.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.adaptive_avg_pool2d(np.arange(16.0).reshape(1, 4, 4), 2)
        array([[[ 2.5,  4.5],
                [10.5, 12.5]]])
    """
    return _adaptive_avg("adaptive_avg_pool2d", input, output_size, 2)


def adaptive_max_pool2d(input: Array, output_size: OutputSize, return_indices: bool = False) -> Any:
    """Compute maxima of images over as many windows as the result has elements.

    With ``return_indices`` the result is a pair with the positions of the maxima, counted in the flat space.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.adaptive_max_pool2d(np.arange(16.0).reshape(1, 4, 4), 2)
        array([[[ 5.,  7.],
                [13., 15.]]])
    """
    return _adaptive_max("adaptive_max_pool2d", input, output_size, 2, return_indices)


def adaptive_avg_pool3d(input: Array, output_size: OutputSize) -> Array:
    """Compute means of volumes over as many windows as the result has elements.

    Args:
        input: ``f32[batch, channels, ...]``, or without the batch.
        output_size: the length of the result, or one for each axis; ``None`` for that of the input.

    Returns:
        ``f32[batch, channels, *output_size]``.

    Raises:
        RuntimeError: the input has another number of axes.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.adaptive_avg_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 1)
        array([[[[3.5]]]])
    """
    return _adaptive_avg("adaptive_avg_pool3d", input, output_size, 3)


def adaptive_max_pool3d(input: Array, output_size: OutputSize, return_indices: bool = False) -> Any:
    """Compute maxima of volumes over as many windows as the result has elements.

    With ``return_indices`` the result is a pair with the positions of the maxima, counted in the flat space.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.adaptive_max_pool3d(np.arange(8.0).reshape(1, 2, 2, 2), 1)
        array([[[[7.]]]])
    """
    return _adaptive_max("adaptive_max_pool3d", input, output_size, 3, return_indices)


def _with_indices(function: Any, example: str) -> Any:
    """Return the function with the positions of the maxima, under PyTorch's name for it."""
    name = f"{function.__name__}_with_indices"

    def pooled(input: Array, *args: Any, **options: Any) -> Any:
        return function(input, *args, **{**options, "return_indices": True})

    pooled.__name__ = pooled.__qualname__ = name
    pooled.__doc__ = f"""Return the maxima of `{function.__name__}`, and their positions in the flat space.

    Args:
        input: the array.
        args: the further arguments of `{function.__name__}`.
        options: those by name.

    Returns:
        A pair of arrays.

    Raises:
        RuntimeError: as `{function.__name__}` does.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> values, places = F.{name}({example})
        >>> values.shape == places.shape
        True

    Source: ``torch.nn.functional.{name}``.
    """
    return pooled


adaptive_max_pool1d_with_indices = _with_indices(adaptive_max_pool1d, "np.arange(4.0).reshape(1, 4), 2")
adaptive_max_pool2d_with_indices = _with_indices(adaptive_max_pool2d, "np.ones((1, 4, 4)), 2")
adaptive_max_pool3d_with_indices = _with_indices(adaptive_max_pool3d, "np.ones((1, 2, 2, 2)), 1")
fractional_max_pool2d_with_indices = _with_indices(fractional_max_pool2d, "np.ones((1, 4, 4)), 2, 2")
fractional_max_pool3d_with_indices = _with_indices(fractional_max_pool3d, "np.ones((1, 4, 4, 4)), 2, 2")
