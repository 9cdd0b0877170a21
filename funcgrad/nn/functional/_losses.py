"""Losses that compare predictions with targets, with PyTorch's arguments."""

from __future__ import annotations

import warnings
from typing import Any, NoReturn

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import is_inexact
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._types import Array
from funcgrad.autograd.extend import is_tensor, type_name
from funcgrad.nn._functions import losses
from funcgrad.nn._functions.convert import inexact
from funcgrad.nn._functions.refusals import OF_MEAN, floating, is_integral_tensor, refuse_integers
from funcgrad.numpy.extend import as_value, known_value


def stepped(x: Array) -> Array:
    """Return ``max(x, 0)``, whose derivative at 0 is 1, as that of PyTorch's ``clamp``."""
    return fnp.where(fnp.less(x, 0), 0, x)


def legacy(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """Return the reduction that PyTorch's older arguments mean, and warn as PyTorch does; refuse unknown ones."""
    if size_average is not None or reduce is not None:
        mean, reduces = size_average is None or size_average, reduce is None or reduce
        reduction = ("mean" if mean else "sum") if reduces else "none"
        warnings.warn(
            f"size_average and reduce args will be deprecated, please use reduction='{reduction}' instead.",
            UserWarning,
            stacklevel=3,
        )
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return reduction


def reduced(values: Array, reduction: str) -> Array:
    """Return the mean or the sum of values, or the values."""
    if reduction == "none":
        return values
    return (fnp.mean if reduction == "mean" else fnp.sum)(values)


def constant(x: Array) -> Any:
    """Return the value of a tensor without history, which is cheaper to compute with; other values as they are."""
    return x._value if is_tensor(x) and not x._owner.requires_grad(x) else x


def floats_for(target: Array, x: Array) -> Array:
    """Return targets without needless history. Integers get the dtype of ``x``, as in PyTorch's promotion."""
    y = as_value(constant(target))
    y = y if hasattr(y, "dtype") else np.asarray(y)
    return y if is_inexact(y.dtype) else cast(y, x.dtype)


def _pair(input: Any, target: Any, kernel: str = "") -> tuple[Any, Any]:
    """Return both as floats of one shape; warn as PyTorch does if one is broadcast."""
    x = floating(kernel, input) if kernel and is_integral_tensor(target) else inexact(input)
    y = floats_for(target, x)
    if x.shape != y.shape:
        warnings.warn(
            f"Using a target size (torch.Size({list(y.shape)})) that is different to the input size "
            f"(torch.Size({list(x.shape)})). This will likely lead to incorrect results due to broadcasting. Please "
            "ensure they have the same size.",
            UserWarning,
            stacklevel=3,
        )
        try:
            shape = np.broadcast_shapes(x.shape, y.shape)
        except ValueError:
            a, b = x.shape, y.shape
            axis = next(i for i in range(-1, -min(len(a), len(b)) - 1, -1) if a[i] != b[i] and 1 not in (a[i], b[i]))
            raise RuntimeError(
                f"The size of tensor a ({a[axis]}) must match the size of tensor b ({b[axis]}) at non-singleton "
                f"dimension {max(len(a), len(b)) + axis}"
            ) from None
        x, y = fnp.broadcast_to(x, shape), fnp.broadcast_to(y, shape)
    return x, y


def _weighted(values: Array, weight: Array) -> Array:
    return values if weight is None else fnp.multiply(values, floats_for(weight, values))


def _weighted_mean(values: Array, weight: Array, reduction: str) -> Array:
    """Reduce weighted values; the mean divides by the sum of the weights."""
    if weight is None:
        return reduced(values, reduction)
    if tuple(weight.shape) != tuple(values.shape):
        raise ValueError("Weights and input must have the same size.")
    if reduction != "mean":
        return reduced(_weighted(values, weight), reduction)
    return fnp.divide(fnp.sum(_weighted(values, weight)), fnp.sum(floats_for(weight, values)))


def l1_loss(
    input: Array,
    target: Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Array = None,
) -> Array:
    """Compute the absolute error of each element, and the mean or the sum.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.l1_loss(np.array([1.0, 2.0]), np.array([0.0, 4.0]))
        np.float64(1.5)
    """
    reduction = legacy(size_average, reduce, reduction)
    if reduction == "mean" and is_integral_tensor(target):
        refuse_integers(OF_MEAN, input)
    x, y = _pair(input, target)
    return _weighted_mean(fnp.abs(fnp.subtract(x, y)), weight, reduction)


def mse_loss(
    input: Array,
    target: Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Array = None,
) -> Array:
    """Compute the squared error of each element, and the mean or the sum.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.mse_loss(np.array([1.0, 2.0]), np.array([0.0, 4.0]))
        np.float64(2.5)
    """
    reduction = legacy(size_average, reduce, reduction)
    x, y = _pair(input, target, "mse_cpu")
    if weight is None:
        kind: Any = reduction
        return losses.mse_loss(x, y, kind)
    return _weighted_mean(fnp.square(fnp.subtract(x, y)), weight, reduction)


def smooth_l1_loss(
    input: Array,
    target: Array,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Array:
    """Compute the absolute error, squared where it is less than ``beta``: ``d**2 / (2 * beta)`` or ``d - beta / 2``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.smooth_l1_loss(np.array([1.0, 5.0]), np.array([0.5, 2.0]), reduction="none")
        array([0.125, 2.5  ])

    Source: Girshick, *Fast R-CNN* (2015), eq. 3.
    """
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    reduction = legacy(size_average, reduce, reduction)
    if beta == 0:
        return l1_loss(input, target, reduction=reduction)
    x, y = _pair(input, target, "smooth_l1_cpu")
    difference = fnp.subtract(x, y)
    distance = fnp.abs(difference)
    near = fnp.multiply(fnp.square(difference), 0.5 / beta)
    return reduced(fnp.where(fnp.less(distance, beta), near, fnp.subtract(distance, 0.5 * beta)), reduction)


def huber_loss(input: Array, target: Array, reduction: str = "mean", delta: float = 1.0, weight: Array = None) -> Array:
    """Compute half the squared error where it is at most ``delta``, ``delta * (d - delta / 2)`` elsewhere.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.huber_loss(np.array([1.0, 5.0]), np.array([0.5, 2.0]), "none", 2.0)
        array([0.125, 4.   ])

    Source: Huber, *Robust estimation of a location parameter* (1964), section 1.
    """
    if not delta > 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    legacy(None, None, reduction)
    x, y = _pair(input, target, "huber_cpu")
    difference = fnp.subtract(x, y)
    distance = fnp.abs(difference)
    far = fnp.multiply(fnp.subtract(distance, 0.5 * delta), delta)
    values = fnp.where(fnp.less_equal(distance, delta), fnp.multiply(fnp.square(difference), 0.5), far)
    return reduced(_weighted(values, weight), reduction)


def nll_loss(
    input: Array,
    target: Array,
    weight: Array = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """Compute the negative log-likelihood of classes; see `funcgrad.nn.nll_loss`.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.nll_loss(np.array([[-1.0, -2.0]]), np.array([1]))
        np.float64(2.0)
    """
    kind: Any = legacy(size_average, reduce, reduction)
    x, y = inexact(input), constant(target)
    y = _checked_classes(x, y, weight, "nll")
    return losses.nll_loss(x, y, constant(weight), ignore_index=ignore_index, reduction=kind)


def cross_entropy(
    input: Array,
    target: Array,
    weight: Array = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Array:
    """Compute the cross entropy between softmax of logits and class indices or probabilities.

    See `funcgrad.nn.cross_entropy`.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> float(F.cross_entropy(np.array([[0.0, 0.0]]), np.array([1])))
        0.6931471805599453
    """
    kind: Any = legacy(size_average, reduce, reduction)
    if not 0 <= label_smoothing <= 1:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    x, y = inexact(input), as_value(constant(target))
    is_probabilities = tuple(y.shape) == tuple(x.shape) and is_inexact(y.dtype)
    if not is_probabilities:
        y = _checked_classes(x, y, weight, "entropy")
    if is_integral_tensor(input):
        floating(f"log_softmax{'_lastdim' if len(x.shape) < 3 else ''}_kernel_impl", input)
    return losses.cross_entropy(
        x, y, constant(weight), ignore_index=ignore_index, reduction=kind, label_smoothing=label_smoothing
    )


def _refuse_spatial(shape: tuple[int, ...], target: Any, needed: tuple[int, ...], loss: str) -> NoReturn:
    """Refuse class indices of a wrong shape for inputs with more than two axes."""
    found = list(target.shape)
    if len(shape) != 4 or loss != "nll":
        raise RuntimeError(f"Expected target size {list(needed)}, got {found}")
    if len(found) != 3:
        raise RuntimeError(
            f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {len(found)}"
        )
    raise RuntimeError(f"size mismatch (got input: {list(shape)} , target: {found}")


def _checked_classes(x: Any, target: Any, weight: Any, loss: str) -> Array:
    """Return class indices; refuse other shapes or dtypes, and weights of another number, in PyTorch's words."""
    shape = tuple(x.shape)
    if not shape and loss == "entropy":
        raise RuntimeError(
            f"Expected floating point type for target with class probabilities, got {type_name(target.dtype)}"
        )
    if not shape:
        raise ValueError("Expected 1 or more dimensions (got 0)")
    if len(shape) == 1 and len(target.shape) == 1:
        if target.shape[0] != 1:
            raise ValueError(f"For 1D input, 1D target must have size 1, but got target size: {target.shape[0]}")
        target = fnp.reshape(target, ())
    needed = (shape[0], *shape[2:]) if len(shape) > 1 else ()
    if len(shape) > 1 and target.shape and target.shape[0] != shape[0]:
        raise ValueError(f"Expected input batch_size ({shape[0]}) to match target batch_size ({target.shape[0]}).")
    if len(shape) == 2 and len(target.shape) > 1:
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    if len(shape) > 2 and tuple(target.shape) != needed:
        _refuse_spatial(shape, target, needed, loss)
    if is_inexact(target.dtype) or (is_tensor(x) and str(target.dtype) not in ("int64", "uint8")):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {type_name(target.dtype)}")
    classes = shape[min(len(shape) - 1, 1)]
    if weight is not None and tuple(weight.shape) != (classes,):
        raise RuntimeError(
            f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of "
            f"shape: {list(weight.shape)}"
        )
    return target


def binary_cross_entropy(
    input: Array,
    target: Array,
    weight: Array = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Array:
    """Compute ``-(t * log(x) + (1 - t) * log(1 - x))`` for probabilities; a logarithm is at least -100.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.binary_cross_entropy(np.array([0.5, 0.0]), np.array([1.0, 1.0]), reduction="none").round(4)
        array([  0.6931, 100.    ])
    """
    reduction = legacy(size_average, reduce, reduction)
    x = floating("binary_cross_entropy", input)
    if is_tensor(input) and is_tensor(target) and target.dtype != x.dtype:
        raise RuntimeError(f"Found dtype {type_name(target.dtype)} but expected {type_name(x.dtype)}")
    y = floats_for(target, x)
    if x.shape != y.shape:
        raise ValueError(
            f"Using a target size (torch.Size({list(y.shape)})) that is different to the input size "
            f"(torch.Size({list(x.shape)})) is deprecated. Please ensure they have the same size."
        )
    known = known_value(x)
    if known is not None and known.size and not (known.min() >= 0 and known.max() <= 1):
        raise RuntimeError("all elements of input should be between 0 and 1")
    ones = fnp.multiply(y, _log(x))
    values = fnp.negative(fnp.add(ones, fnp.multiply(fnp.subtract(1, y), _log(fnp.subtract(1, x)))))
    return reduced(_weighted(values, weight), reduction)


def _log(p: Any) -> Array:
    """Return the logarithm, at least -100; its derivative at 0 is 1e12, as in PyTorch."""
    zero = fnp.equal(p, 0)
    return fnp.where(zero, fnp.subtract(fnp.multiply(p, 1e12), 100), fnp.log(fnp.where(zero, 1, p)))


def binary_cross_entropy_with_logits(
    input: Array,
    target: Array,
    weight: Array = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Array = None,
) -> Array:
    """Compute the binary cross entropy of ``sigmoid(x)``, without overflow.

    Args:
        input: logits.
        target: probabilities of the same shape.
        weight: of each element, or ``None``.
        size_average: an older argument; ``reduction`` replaces it.
        reduce: an older argument; ``reduction`` replaces it.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        pos_weight: the weight of positive targets, for each class.

    Returns:
        A scalar, or an array like ``input`` for the reduction ``"none"``.

    Raises:
        ValueError: the shapes differ.

    Example:
        >>> import numpy as np
        >>> from funcgrad.nn import functional as F
        >>> F.binary_cross_entropy_with_logits(np.array([1000.0]), np.array([0.0]))
        np.float64(1000.0)
    """
    reduction = legacy(size_average, reduce, reduction)
    x = floating("log_sigmoid_cpu", input)
    if is_tensor(input) and is_integral_tensor(target):
        raise RuntimeError(
            f"result type {type_name(x.dtype)} can't be cast to the desired output type {type_name(target.dtype)}"
        )
    y = floats_for(target, x)
    if x.shape != y.shape:
        raise ValueError(
            f"Target size (torch.Size({list(y.shape)})) must be the same as input size (torch.Size({list(x.shape)}))"
        )
    soft = fnp.logaddexp(zeros_like(x), fnp.negative(x))
    if pos_weight is not None:
        soft = fnp.multiply(soft, fnp.add(fnp.multiply(fnp.subtract(floats_for(pos_weight, x), 1), y), 1))
    return reduced(_weighted(fnp.add(fnp.multiply(fnp.subtract(1, y), x), soft), weight), reduction)
