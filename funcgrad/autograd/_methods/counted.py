"""Methods whose results are counts, positions or sets, which have no derivatives, and the elements found by them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import is_inexact
from funcgrad._core.words import shown
from funcgrad._ops.elementwise.cast import cast
from funcgrad._types import Array, ArrayLike, AxesLike, DTypeLike, Tensor
from funcgrad.autograd._memory.views import getitem
from funcgrad.autograd._memory.write import plain_value, value_of
from funcgrad.autograd._methods.generators import default_generator, drawn_by_rows, rows
from funcgrad.autograd._tape.base import is_tensor
from funcgrad.autograd._tape.dtypes import default_dtype, type_name
from funcgrad.numpy.extend import normalize_axis

Method = Callable[..., Any]


def _array(x: Tensor) -> np.ndarray:
    return np.asarray(value_of(plain_value(x)))


def _counted(function: Callable[..., Any]) -> Method:
    """Return the method of a function from arrays to arrays, whose results are tensors."""

    @functools.wraps(function)
    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        found = function(_array(self), *args, **options)
        if isinstance(found, tuple):
            return type(found)([self._owner.constant(np.asarray(y)) for y in found])
        return self._owner.constant(np.asarray(found))

    return method


def nonzero(self: Tensor, *, as_tuple: bool = False) -> Any:
    """Return a row of indices for each element that is not 0; with ``as_tuple`` a tensor of indices for each axis."""
    value = _array(self)
    found = np.nonzero(np.atleast_1d(value) if as_tuple else value) if value.shape or as_tuple else None
    if as_tuple:
        return tuple([self._owner.constant(one) for one in found or ()])
    rows = np.stack(found, 1) if found is not None else np.zeros((int(bool(value)), 0), np.int64)
    return self._owner.constant(rows)


@_counted
def _bincount(value: np.ndarray, weights: ArrayLike = None, minlength: int = 0) -> Any:
    """Return how often each integer occurs, or the sum of the weights of its occurrences."""
    if value.ndim != 1 or value.dtype.kind not in "iu" or (value.size and value.min() < 0):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if minlength < 0:
        raise RuntimeError("minlength should be >= 0")
    if weights is None:
        return np.bincount(value, None, minlength)
    weights = _array(weights)
    counts = np.bincount(value, weights, minlength)
    return counts.astype(weights.dtype) if weights.dtype == np.float32 else counts


@_counted
def _histc(value: np.ndarray, bins: int = 100, min: float = 0, max: float = 0) -> Any:  # noqa: A002  (PyTorch's names)
    """Return the number of elements in bins of one width between two bounds; by default the extreme elements."""
    if value.dtype.kind in "biu":
        raise RuntimeError(f"\"histogram_cpu\" not implemented for '{type_name(value.dtype)}'")
    if bins <= 0:
        raise RuntimeError("torch.histogramdd(): bins must be > 0")
    if min > max:
        raise RuntimeError("torch.histc: max must be larger than min")
    low, high = (min, max) if min != max else (value.min(initial=np.inf), value.max(initial=-np.inf))
    if low == high:
        low, high = low - 1, high + 1
    return np.histogram(value, bins, (float(low), float(high)))[0].astype(value.dtype)


def _unique(
    self: Tensor,
    sorted: bool = True,  # noqa: A002  (PyTorch's name)
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    """Return the different elements in order, or slices along an axis; with positions and counts if asked for."""
    del sorted
    value = _array(self)
    found, inverse, counts = np.unique(value, return_inverse=True, return_counts=True, axis=dim)
    inverse = inverse.reshape(value.shape if dim is None else (value.shape[dim],))
    return _chosen(self, (found, inverse, counts), (True, return_inverse, return_counts))


def _unique_consecutive(
    self: Tensor, return_inverse: bool = False, return_counts: bool = False, dim: int | None = None
) -> Any:
    """Return the elements, or slices, that differ from the one before; with positions and counts if asked for."""
    value = _array(self)
    lines = value.reshape(-1) if dim is None else np.moveaxis(value, normalize_axis(dim, value.ndim), 0)
    flat = lines.reshape(len(lines), -1)
    starts = np.concatenate([np.ones(min(len(flat), 1), bool), (flat[1:] != flat[:-1]).any(1)])
    inverse = np.cumsum(starts) - 1
    counts = np.diff(np.append(np.flatnonzero(starts), len(flat)))
    found = lines[starts] if dim is None else np.moveaxis(lines[starts], 0, dim)
    inverse = inverse.reshape(value.shape) if dim is None else inverse
    return _chosen(self, (found, inverse, counts), (True, return_inverse, return_counts))


def _chosen(self: Tensor, found: tuple[Any, ...], asked: tuple[bool, ...]) -> Any:
    made = [self._owner.constant(np.asarray(y)) for y, is_asked in zip(found, asked, strict=True) if is_asked]
    return made[0] if len(made) == 1 else tuple(made)


def _multinomial(self: Tensor, num_samples: int, replacement: bool = False, *, generator: Any = None) -> Any:
    """Return positions that are drawn with the probabilities, not normalized, of the elements of each row."""
    weights = _array(self)
    rows = np.atleast_2d(weights).astype(np.float64)
    if weights.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if weights.dtype.kind in "biu":
        raise RuntimeError(
            "multinomial only supports floating-point dtypes for input, got: " + type_name(weights.dtype)
        )
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > rows.shape[1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if not np.isfinite(rows).all() or (rows < 0).any():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (rows.sum(1) <= 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    source = default_generator if generator is None else generator
    if replacement and num_samples > 1:
        ends = np.cumsum(rows, 1) / rows.sum(1, keepdims=True)
        drawn = source.random((len(rows), num_samples))
        found = (drawn[:, :, None] >= ends[:, None, :-1]).sum(2)
    else:
        # The greatest quotients of weights and exponential numbers are a draw without replacement.
        quotients = rows / source.exponential(1.0, rows.shape)
        found = np.argsort(-quotients, 1, kind="stable")[:, :num_samples]
    return self._owner.constant(found.reshape(*weights.shape[:-1], num_samples))


def _repeat_interleave(self: Tensor, repeats: Array, dim: int | None = None, *, output_size: int | None = None) -> Any:
    """Repeat each element, or each slice along an axis, next to itself."""
    del output_size
    return fnp.repeat(self, _array(repeats) if hasattr(repeats, "dtype") else repeats, dim)


def _repeat(self: Tensor, *repeats: Any, axis: Any = None) -> Tensor:
    """Return the whole tensor repeated along each axis; with NumPy's ``axis=`` each element."""
    if axis is not None:
        return fnp.repeat(self, repeats[0], axis)
    given = tuple(repeats[0]) if len(repeats) == 1 and isinstance(repeats[0], list | tuple) else repeats
    wrong = next((x for x in given if not hasattr(x, "__index__")), None)
    if wrong is not None:
        raise TypeError(f"repeat(): argument 'repeats' must be ints, not {type(wrong).__name__}")
    if len(given) < len(self.shape):
        raise RuntimeError("Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor")
    if min(given, default=0) < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {min(given)}: {list(given)}")
    y = fnp.tile(self, given)
    return self.clone() if y is self else y


def _tensor_split(self: Tensor, indices_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Return parts along an axis: a number of almost equal ones, or those between indices."""
    if not self.shape:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    axis = normalize_axis(dim, len(self.shape))
    given = indices_or_sections
    given = _array(given).tolist() if is_tensor(given) else given
    length = self.shape[axis]
    if isinstance(given, int):
        if given <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {given}")
        short, longer = divmod(length, given)
        given = np.cumsum([short + (i < longer) for i in range(given)][:-1]).tolist()
    ends = [0, *given, length]
    before = (slice(None),) * axis
    return tuple([getitem(self, (*before, slice(a, b))) for a, b in itertools.pairwise(ends)])


def _split_at(name: str, axis_of: Callable[[int], int]) -> Method:
    def method(self: Tensor, indices_or_sections: Any) -> Any:
        if len(self.shape) < max(1, {"vsplit": 2, "dsplit": 3}.get(name, 1)):
            raise RuntimeError(
                f"torch.{name} requires a tensor with more dimensions, but got a tensor with {len(self.shape)}"
            )
        axis = axis_of(len(self.shape))
        if isinstance(indices_or_sections, int) and self.shape[axis] % indices_or_sections:
            raise RuntimeError(
                f"torch.{name} attempted to split along dimension {axis}, but the size of the dimension "
                f"{self.shape[axis]} is not divisible by the split_size {indices_or_sections}!"
            )
        return _tensor_split(self, indices_or_sections, axis)

    method.__doc__ = f"Return the parts that ``numpy.{name}`` gives, as views."
    return method


def _unfold(self: Tensor, dimension: int, size: int, step: int) -> Any:
    """Return the windows of a length along an axis, as a new last axis."""
    axis = normalize_axis(dimension, max(len(self.shape), 1))
    x = self if self.shape else self.reshape(1)
    length = x.shape[axis]
    if size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {axis} is {length} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    places = np.arange(0, length - size + 1, step)[:, None] + np.arange(size)
    return fnp.moveaxis(fnp.take(x, places, axis), axis + 1, -1)


def _new_tensor(self: Tensor, data: ArrayLike, dtype: DTypeLike = None, requires_grad: bool = False) -> Any:
    """Return a tensor of data, in this tensor's dtype unless another one is given."""
    made = self._owner.constant(np.array(value_of(data), dtype or self.dtype))
    return made.requires_grad_() if requires_grad else made


def _quantile(name: str) -> Method:
    function = getattr(fnp, name)

    def method(
        self: Tensor, q: Array, dim: AxesLike = None, keepdim: bool = False, *, interpolation: str = "linear"
    ) -> Any:
        if self.dtype not in (np.float32, np.float64):
            raise RuntimeError(f"{name}() input tensor must be either float or double dtype")
        q = (_array(q) if hasattr(q, "dtype") else np.asarray(q)).astype(self.dtype)
        if not np.all((q >= 0) & (q <= 1)):
            raise RuntimeError(f"{name}() q must be in the range [0, 1], and is {shown(np.asarray(q).tolist())}")
        return function(self, q, axis=dim, keepdims=keepdim, method=interpolation)

    method.__doc__ = f"Return the elements that ``numpy.{name}`` gives for parts ``q`` of the whole."
    return method


def _cov(self: Tensor, *, correction: int = 1, fweights: Array = None, aweights: Array = None) -> Any:
    """Return the covariance matrix of the rows."""
    weights = [None if w is None else value_of(w) for w in (fweights, aweights)]
    return fnp.cov(self, ddof=correction, fweights=weights[0], aweights=weights[1], dtype=_float_dtype(self))


def _float_dtype(x: Array) -> np.dtype:
    """Return the dtype of a result in floats: that of the tensor, or the default one for integers."""
    return x.dtype if is_inexact(x.dtype) else default_dtype()


def _check_chances(chances: ArrayLike) -> None:
    if not np.all((chances >= 0) & (chances <= 1)):
        raise RuntimeError("Expected p_in >= 0 && p_in <= 1 to be true, but got false.")


def _bernoulli_by_rows(self: Tensor, p: ArrayLike) -> Any:
    """Draw for all rows of a map at once, as PyTorch does. The probabilities of mapped values are not checked."""
    if issubclass(type(value_of(p)), np.ndarray | int | float):
        _check_chances(value_of(p))
    digits = np.float32 if getattr(p, "dtype", None) == np.float32 else np.float64
    drawn = drawn_by_rows(lambda whole: self._owner.constant(default_generator.random(whole, digits)), self.shape)
    return cast(fnp.less(drawn, self.detach() if p is self else p), self.dtype)


def _bernoulli(self: Tensor, p: ArrayLike = None, *, generator: Any = None) -> Any:
    """Return ones, with the probabilities that the elements are, and zeros."""
    if rows.get() and generator is None:
        return _bernoulli_by_rows(self, self if p is None else plain_value(p))
    source = default_generator if generator is None else generator
    chances = _array(self) if p is None else np.broadcast_to(_array(p), self.shape)
    _check_chances(chances)
    return self._owner.constant(np.asarray(source.binomial(1, chances, self.shape)).astype(self.dtype))


_FIRST: Callable[[int], int] = lambda ndim: 0  # noqa: E731  (a row of a table)
METHODS: dict[str, Method] = {
    "nonzero": nonzero,
    "argwhere": nonzero,
    "bincount": _bincount,
    "histc": _histc,
    "unique": _unique,
    "unique_consecutive": _unique_consecutive,
    "multinomial": _multinomial,
    "bernoulli": _bernoulli,
    "repeat": _repeat,
    "repeat_interleave": _repeat_interleave,
    "tensor_split": _tensor_split,
    "vsplit": _split_at("vsplit", _FIRST),
    "hsplit": _split_at("hsplit", lambda ndim: int(ndim > 1)),
    "dsplit": _split_at("dsplit", lambda ndim: 2),
    "unfold": _unfold,
    "new_tensor": _new_tensor,
    "quantile": _quantile("quantile"),
    "nanquantile": _quantile("nanquantile"),
    "cov": _cov,
    "corrcoef": lambda self: fnp.corrcoef(self, dtype=_float_dtype(self)),
}
