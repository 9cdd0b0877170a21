"""Fill tensors with initial values, in place, as ``torch.nn.init`` does."""

from __future__ import annotations

import math
import warnings
from typing import Any, Literal

import numpy as np
from scipy.special import ndtr

from funcgrad._public import publish
from funcgrad.autograd import Tensor, no_grad
from funcgrad.autograd.extend import default_generator
from funcgrad.nn._deprecated import deprecated
from funcgrad.nn._gain import calculate_gain

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

Mode = Literal["fan_in", "fan_out"]


def _filled(tensor: Tensor, values: Any) -> Tensor:
    with no_grad():
        return tensor.copy_(np.asarray(values).astype(tensor.dtype, copy=False))


def _drawn(generator: Any) -> Any:
    return default_generator if generator is None else generator


def _in_dtype(generator: Any, tensor: Tensor) -> dict[str, Any]:
    """Return the dtype to draw in: PyTorch's stream differs by dtype."""
    plain = isinstance(generator, np.random.Generator) or tensor.dtype.kind != "f"
    return {} if plain else {"dtype": tensor.dtype}


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with numbers drawn uniformly from ``a`` to ``b``.

    Args:
        tensor: the tensor, in whose units the numbers are.
        a: the lower bound.
        b: the upper bound.
        generator: a generator of PyTorch's numbers, or of NumPy's; by default that of `funcgrad.nn.manual_seed`.

    Returns:
        The tensor.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn import init
        >>> init.uniform_(tensor([0.0, 0.0]), 2.0, 2.0)
        tensor([2., 2.])
    """
    if not a <= b:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={a:g} > to={b:g}")
    source = _drawn(generator)
    return _filled(tensor, source.uniform(a, b, tensor.shape, **_in_dtype(source, tensor)))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with normally distributed numbers.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn import init
        >>> init.normal_(tensor([0.0, 0.0]), 3.0, 0.0)
        tensor([3., 3.])
    """
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    source = _drawn(generator)
    return _filled(tensor, source.normal(mean, std, tensor.shape, **_in_dtype(source, tensor)))


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Fill with normally distributed numbers from ``a`` to ``b``; numbers outside are not drawn.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn import init
        >>> bool((init.trunc_normal_(tensor([0.0] * 100), a=-1, b=1).abs() <= 1).all())
        True
    """
    if a > b:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={a:g} > to={b:g}")
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be "
            "incorrect.",
            stacklevel=2,
        )
    source = _drawn(generator)
    dtype = _in_dtype(source, tensor)
    accepted = ndtr((b - mean) / std) - ndtr((a - mean) / std)
    draw = _normal_within if accepted > 0.3 else _uniform_within
    return _filled(tensor, draw(source, tensor, mean, std, (a, b), dtype))


def _normal_within(
    source: Any, tensor: Tensor, mean: float, std: float, bounds: tuple[float, float], dtype: dict[str, Any]
) -> np.ndarray:
    """Draw normal numbers until all lie within the bounds, in PyTorch's order of draws."""
    low, high = [float(np.asarray(bound, tensor.dtype)) for bound in bounds]
    numbers = source.normal(mean, std, tensor.shape, **dtype)
    while (outside := (numbers < low) | (numbers > high)).any():
        numbers = np.where(outside, source.normal(mean, std, tensor.shape, **dtype), numbers)
    return numbers


def _uniform_within(
    source: Any, tensor: Tensor, mean: float, std: float, bounds: tuple[float, float], dtype: dict[str, Any]
) -> np.ndarray:
    """Draw uniform numbers within the bounds and accept each with the density's part of its maximum there."""
    numbers: Any = None
    pending: Any = True
    # The density is largest at the mean, or at the bound that is nearest to it.
    log_peak = ((min(max(mean, bounds[0]), bounds[1]) - mean) / std) ** 2 / 2
    while np.any(pending):
        drawn = source.uniform(*bounds, tensor.shape, **dtype)
        numbers = np.where(pending, drawn, drawn if numbers is None else numbers)
        log_density = log_peak - ((drawn - mean) / std) ** 2 / 2
        with np.errstate(divide="ignore"):
            rejected = np.log(source.uniform(0.0, 1.0, tensor.shape, **dtype)) > log_density
        pending = pending & rejected
    return numbers


def constant_(tensor: Tensor, val: float) -> Tensor:
    """Fill with one number.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn import init
        >>> init.constant_(tensor([0.0, 0.0]), 0.5)
        tensor([0.5000, 0.5000])
    """
    return _filled(tensor, np.full(tensor.shape, val))


def ones_(tensor: Tensor) -> Tensor:
    """Fill with ones.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn import init
        >>> init.ones_(tensor([0.0, 0.0]))
        tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Fill with zeros.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn import init
        >>> init.zeros_(tensor([1.0, 2.0]))
        tensor([0., 0.])
    """
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """Fill a matrix with the identity.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn import init
        >>> init.eye_(tensor([[3.0, 3.0], [3.0, 3.0]]))
        tensor([[1., 0.],
                [0., 1.]])
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    return _filled(tensor, np.eye(*tensor.shape))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Fill the kernel of a convolution so that it passes on as many input channels as there are outputs.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn import init
        >>> init.dirac_(tensor([[[3.0, 3.0, 3.0]]]))
        tensor([[[0., 1., 0.]]])
    """
    if tensor.ndim not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    out, inner, *kernel = tensor.shape
    if out % groups:
        raise ValueError("dim 0 must be divisible by groups")
    values = np.zeros(tensor.shape)
    each = out // groups
    for group in range(groups):
        for i in range(min(each, inner)):
            values[(group * each + i, i, *[n // 2 for n in kernel])] = 1
    return _filled(tensor, values)


def _fans(tensor: Tensor) -> tuple[int, int]:
    if tensor.ndim < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    receptive = math.prod(tensor.shape[2:])
    return tensor.shape[1] * receptive, tensor.shape[0] * receptive


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill uniformly within ``gain * sqrt(6 / (fan_in + fan_out))``.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn import init
        >>> bool((init.xavier_uniform_(tensor([[0.0], [0.0]])).abs() <= 2**0.5).all())
        True

    Source: Glorot and Bengio, *Understanding the difficulty of training deep feedforward neural networks* (2010),
    eq. 16.
    """
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Fill with normal numbers of the standard deviation ``gain * sqrt(2 / (fan_in + fan_out))``.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn import init
        >>> init.xavier_normal_(tensor([[1.0, 1.0]]), gain=0.0)
        tensor([[0., 0.]])

    Source: Glorot and Bengio (2010), as `xavier_uniform_`.
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))), generator)


def _kaiming_std(tensor: Tensor, a: float, mode: Any, nonlinearity: str) -> float:
    if not isinstance(mode, str) or mode.lower() not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan = _fans(tensor)[mode.lower() == "fan_out"]
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def _is_empty(tensor: Tensor) -> bool:
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return True
    return False


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: Mode = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Fill uniformly within ``gain * sqrt(3 / fan)``.

    Args:
        tensor: ``f32[out, in, ...]``.
        a: the negative slope of the leaky rectifier that follows.
        mode: ``"fan_in"`` keeps the variance forwards, ``"fan_out"`` backwards.
        nonlinearity: its name, for `calculate_gain`.
        generator: a generator of PyTorch's numbers, or of NumPy's; by default that of `funcgrad.nn.manual_seed`.

    Returns:
        The tensor.

    Raises:
        ValueError: the tensor has fewer than two axes, or a name is unknown.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn import init
        >>> bool((init.kaiming_uniform_(tensor([[0.0], [0.0]])).abs() <= 6**0.5).all())
        True

    Source: He et al., *Delving deep into rectifiers* (2015), eq. 10.
    """
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * _kaiming_std(tensor, a, mode, nonlinearity)
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: Mode = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Fill with normal numbers of the standard deviation ``gain / sqrt(fan)``; see `kaiming_uniform_`.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn import init
        >>> init.kaiming_normal_(tensor([[0.0], [0.0]])).shape
        (2, 1)

    Source: He et al. (2015), eq. 10.
    """
    if _is_empty(tensor):
        return tensor
    return normal_(tensor, 0.0, _kaiming_std(tensor, a, mode, nonlinearity), generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """Fill with a random matrix whose rows or columns are orthonormal; axes after the first count as columns.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn import init
        >>> w = init.orthogonal_(tensor([[0.0, 0.0], [0.0, 0.0]]))
        >>> bool(((w @ w.T).diagonal() - 1).abs().max() < 1e-5)
        True

    Source: Saxe et al., *Exact solutions to the nonlinear dynamics of learning* (2014), section 3.
    """
    if tensor.ndim < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if 0 in tensor.shape:
        return tensor
    rows, columns = tensor.shape[0], math.prod(tensor.shape[1:])
    source = _drawn(generator)
    drawn = source.normal(0.0, 1.0, (rows, columns), **_in_dtype(source, tensor))
    q, r = np.linalg.qr(drawn if rows >= columns else drawn.T)
    # The signs make the distribution uniform.
    q = q * np.sign(np.diag(r))
    return _filled(tensor, gain * (q if rows >= columns else q.T).reshape(tensor.shape))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Fill a matrix with normal numbers, and set a share of each column to 0.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.nn import init
        >>> int((init.sparse_(tensor([[1.0], [1.0], [1.0], [1.0]]), 0.5) == 0).sum())
        2

    Source: Martens, *Deep learning via Hessian-free optimization* (2010), section 5.
    """
    if tensor.ndim != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    drawn = _drawn(generator)
    values = drawn.normal(0.0, std, tensor.shape)
    zeros = math.ceil(sparsity * tensor.shape[0])
    for column in range(tensor.shape[1]):
        values[drawn.permutation(tensor.shape[0])[:zeros], column] = 0
    return _filled(tensor, values)


for _old in (
    *(constant_, dirac_, eye_, kaiming_normal_, kaiming_uniform_, normal_, orthogonal_, sparse_, uniform_),
    *(xavier_normal_, xavier_uniform_),
):
    _new = f"nn.init.{_old.__name__}"
    globals()[_old.__name__[:-1]] = deprecated(_old, _new[:-1], _new)

__dir__ = publish(__name__)
