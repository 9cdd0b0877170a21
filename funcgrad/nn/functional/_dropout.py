"""Dropout: set random elements or channels to 0 in training."""

from __future__ import annotations

import warnings
from typing import Any

from funcgrad import numpy as fnp
from funcgrad._ops.elementwise.cast import cast
from funcgrad._types import Array
from funcgrad.nn._functions import random
from funcgrad.nn._functions.convert import inexact
from funcgrad.nn._functions.refusals import check_floats
from funcgrad.nn.functional._activations import written


def dropout(input: Array, p: float = 0.5, training: bool = True, inplace: bool = False) -> Array:
    """Set each element to 0 with probability ``p``, and divide the others by ``1 - p``.

    Args:
        input: an array.
        p: the probability, dimensionless.
        training: do nothing if it is false.
        inplace: write the result into ``input``.

    Returns:
        An array like ``input``.

    Raises:
        RuntimeError: in a compiled function, or under `funcgrad.vmap`, the numbers would be the same for all calls or
            rows; `funcgrad.nn.functional_call` takes a key.
        ValueError: ``p`` is no probability.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.dropout(np.array([1.0, 2.0]), p=1.0)
        array([0., 0.])
        >>> F.dropout(np.array([1.0, 2.0]), training=False)
        array([1., 2.])

    Source: Srivastava et al., *Dropout* (2014), section 4.
    """
    return _dropped("dropout", input, p, training, inplace, None)


def _dropped(name: str, input: Array, p: float, training: bool, inplace: bool, shape: Any) -> Array:
    check_probability(p)
    if not training or p == 0:
        return input
    check_floats(input)
    x = inexact(input)
    if p == 1:
        return written(input, fnp.multiply(x, 0), inplace)
    kept = cast(fnp.less(random.uniform(name, x, x.shape if shape is None else shape), 1 - p), x.dtype)
    return written(input, fnp.multiply(x, fnp.multiply(kept, 1 / (1 - p))), inplace)


def check_probability(p: float) -> None:
    """Refuse what is no probability."""
    if not 0 <= p <= 1:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _channels(shape: tuple[int, ...], lead: int) -> tuple[int, ...]:
    """Return the shape of one number for each channel; ``lead`` is 1 without a batch axis, and 2 with it."""
    if len(shape) < lead:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    return (*shape[:lead], *(1,) * (len(shape) - lead))


def dropout1d(input: Array, p: float = 0.5, training: bool = True, inplace: bool = False) -> Array:
    """Set each channel of signals to 0 with probability ``p``, and divide the others by ``1 - p``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.dropout1d(np.ones((2, 3)), p=1.0).sum()
        np.float64(0.0)
    """
    if len(input.shape) not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {len(input.shape)}D input. Note that dropout1d exists "
            "to provide channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional "
            "batch dimension (i.e. 2D or 3D inputs)."
        )
    return _dropped("dropout1d", input, p, training, inplace, _channels(input.shape, len(input.shape) - 1))


def dropout2d(input: Array, p: float = 0.5, training: bool = True, inplace: bool = False) -> Array:
    """Set each channel of images to 0 with probability ``p``, and divide the others by ``1 - p``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.dropout2d(np.ones((1, 2, 3, 3)), p=1.0).sum()
        np.float64(0.0)

    Source: Tompson et al., *Efficient object localization using convolutional networks* (2015), section 3.2.
    """
    if len(input.shape) not in (3, 4):
        warnings.warn(
            f"dropout2d: Received a {len(input.shape)}-D input to dropout2d, which is deprecated and will result in an "
            "error in a future release. To retain the behavior and silence this warning, please use dropout instead. "
            "Note that dropout2d exists to provide channel-wise dropout on inputs with 2 spatial dimensions, a channel "
            "dimension, and an optional batch dimension (i.e. 3D or 4D inputs).",
            stacklevel=2,
        )
    # As in PyTorch, the first two axes are batch and channels, even of an input with three axes.
    shape = _channels(input.shape, 2) if training and 0 < p < 1 else None
    return _dropped("dropout2d", input, p, training, inplace, shape)


def dropout3d(input: Array, p: float = 0.5, training: bool = True, inplace: bool = False) -> Array:
    """Set each channel of volumes to 0 with probability ``p``, and divide the others by ``1 - p``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.dropout3d(np.ones((1, 2, 3, 3, 3)), p=1.0).sum()
        np.float64(0.0)
    """
    if len(input.shape) not in (4, 5):
        warnings.warn(
            f"dropout3d: Received a {len(input.shape)}-D input to dropout3d, which is deprecated and will result in an "
            "error in a future release. To retain the behavior and silence this warning, please use dropout instead. "
            "Note that dropout3d exists to provide channel-wise dropout on inputs with 3 spatial dimensions, a channel "
            "dimension, and an optional batch dimension (i.e. 4D or 5D inputs).",
            stacklevel=2,
        )
    return _dropped("dropout3d", input, p, training, inplace, _channels(input.shape, 2 if len(input.shape) == 5 else 1))


def alpha_dropout(input: Array, p: float = 0.5, training: bool = False, inplace: bool = False) -> Array:
    """Drop elements so that mean 0 and variance 1 are kept; it goes with `selu`.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.alpha_dropout(np.array([1.0, 2.0]), training=False)
        array([1., 2.])

    Source: Klambauer et al., *Self-normalizing neural networks* (2017), section 3.
    """
    return _alpha_dropped("alpha_dropout", input, p, training, inplace, None)


def feature_alpha_dropout(input: Array, p: float = 0.5, training: bool = False, inplace: bool = False) -> Array:
    """Compute `alpha_dropout` for whole channels.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.feature_alpha_dropout(np.ones((1, 2, 2)), training=False).sum()
        np.float64(4.0)
    """
    shape = _channels(tuple(input.shape), 2) if training and 0 < p < 1 else None
    return _alpha_dropped("feature_alpha_dropout", input, p, training, inplace, shape)


def _alpha_dropped(name: str, input: Array, p: float, training: bool, inplace: bool, shape: Any) -> Array:
    check_probability(p)
    if not training or p == 0:
        return input
    check_floats(input)
    x = inexact(input)
    if p == 1:
        return written(input, fnp.multiply(x, 0), inplace)
    alpha = 1.7580993408473766
    a = ((alpha**2 * p + 1) * (1 - p)) ** -0.5
    kept = fnp.less(random.uniform(name, x, x.shape if shape is None else shape), 1 - p)
    y = fnp.add(fnp.multiply(fnp.where(kept, x, -alpha), a), a * alpha * p)
    return written(input, cast(y, x.dtype), inplace)
