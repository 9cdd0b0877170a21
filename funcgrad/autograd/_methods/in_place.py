"""PyTorch's methods in place, by name: what each computes, and what PyTorch calls it in ``grad_fn``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.bind import NO_PARAMS, bind, is_foreign
from funcgrad._ops.elementwise.activation import logistic_p, relu_p
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.index.write import WHOLE
from funcgrad._ops.layout.fill import zeros_like
from funcgrad.autograd._memory.history import check_in_place
from funcgrad.autograd._memory.views import copied
from funcgrad.autograd._memory.write import check_fits, check_memory, compute, plain_value, put, set_item, value_of
from funcgrad.autograd._methods.names import METHODS
from funcgrad.autograd._tape.base import is_tensor
from funcgrad.numpy.extend import At, normalize_axis, parse

Method = Callable[..., Any]
_FULL = slice(None)
_COPIED = "torch::autograd::CopyBackwards"


def _unary(name: str, function: Callable[[Any], Any], title: str, *, keeps: bool = True) -> Method:
    def method(self: Any) -> Any:
        return compute(self, function, (), title, asked=name, keeps=keeps)

    method.__doc__ = f"PyTorch's ``{name}``."
    return method


def _binary(ufunc: np.ufunc, title: str, *, keeps: bool = True, other_title: str | None = None) -> Method:
    """``other_title`` is the name with a tensor for the other operand, where that is another one."""
    asked = f"an in-place {ufunc.__name__}"
    function = getattr(fnp, ufunc.__name__)

    def method(self: Any, other: Any, *, alpha: Any = 1) -> Any:
        other = plain_value(other)
        factor = None if type(alpha) is int and alpha == 1 else alpha

        def computed(x: Any) -> Any:
            return function(x, other if factor is None else fnp.multiply(other, factor))

        def out(value: np.ndarray) -> None:
            operand = value_of(other)
            ufunc(value, operand if factor is None else np.multiply(operand, factor), out=value, casting="same_kind")

        name = other_title if other_title is not None and is_tensor(other) else title
        return compute(self, computed, (other,), name, asked=asked, keeps=keeps, out=out)

    method.__doc__ = f"``numpy.{ufunc.__name__}`` in place."
    return method


def _div(self: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """Divide in place."""
    if rounding_mode is None:
        return _true_div(self, other)
    if rounding_mode not in ("floor", "trunc"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    rounded = fnp.floor if rounding_mode == "floor" else fnp.trunc
    other = plain_value(other)
    return compute(self, lambda x: rounded(x / other), (other,), "DivBackward2", asked="div_")


_true_div = _binary(np.true_divide, "DivBackward0")


def _clamp(self: Any, min: Any = None, max: Any = None) -> Any:  # noqa: A002  (PyTorch's names)
    """Bring the elements between bounds, in place."""
    title = "ClampBackward0" if is_tensor(min) or is_tensor(max) else "ClampBackward1"
    return compute(self, lambda x: METHODS["clamp"](x, min, max), (min, max), title, asked="clamp_")


def _masked_fill(self: Any, mask: Any, value: Any) -> Any:
    """Set the elements where a mask is true to a number, in place."""
    mask = value_of(plain_value(mask))
    title = f"MaskedFillBackward{int(is_tensor(value))}"
    return compute(
        self, lambda x: METHODS["masked_fill"](x, mask, value), (value,), title, asked="masked_fill_", keeps=False
    )


def _fill(self: Any, value: Any) -> Any:
    """Set all elements to a number, in place."""
    return _whole(self, value, "FillBackward3" if is_tensor(value) else "FillBackward2", "fill_")


def _whole(self: Any, value: Any, title: str, asked: str) -> Any:
    """Write a value to all elements."""
    if not is_foreign(self.value):
        return put(self, value, WHOLE, (), title, asked=asked)

    def filled(x: Any) -> Any:
        # In the shape of a value of JAX's, on its device.
        join = fnp.logical_or if x.dtype.kind == "b" else fnp.add
        return join(zeros_like(x.value), cast(value if is_tensor(value) else np.asarray(value), x.dtype))

    return compute(self, filled, (value,), title, asked=asked)


def _copy(self: Any, source: Any) -> Any:
    """Copy the elements of another tensor or array, in place, converted to this tensor's dtype."""
    source = plain_value(source)
    shape = np.shape(value_of(source))
    try:
        wide = np.broadcast_shapes(self.shape, shape)
    except ValueError:
        check_in_place(self, (source,), "copy_")
        if not is_foreign(self.value):
            check_memory(self.value, (source,))
        pairs = list(zip(reversed(self.shape), reversed(shape), strict=False))
        i, (a, b) = next((i, pair) for i, pair in enumerate(pairs) if pair[0] != pair[1] and 1 not in pair)
        raise RuntimeError(
            f"The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension "
            f"{max(len(self.shape), len(shape)) - 1 - i}"
        ) from None
    if wide != self.shape:
        check_in_place(self, (source,), "copy_")
        check_fits(self, wide, self.dtype)
    return _whole(self, source, _COPIED, "copy_")


def _along(x: Any, dim: int, index: Any) -> Any:
    axis = normalize_axis(dim, len(x.shape))
    return (*(_FULL,) * axis, np.asarray(value_of(plain_value(index))))


def _assign(self: Any, key: Any, value: Any, title: str, asked: str, source: Any = None) -> Any:
    """Write to what an index selects."""
    if is_foreign(self.value):
        return compute(self, lambda x: At(x)[key].set(value), (value,), title, asked=asked)
    x, index, arrays = parse(self, key)
    return put(x, value, index, arrays, title, asked=asked, source=source)


def _add_at(self: Any, key: Any, value: Any, title: str, asked: str, source: Any = None) -> Any:
    """Add to what an index selects, as often as it is selected."""
    others = (value if source is None else source,)
    return compute(self, lambda x: At(x)[key].add(value), others, title, asked=asked, keeps=False, apart=True)


def _index_put(self: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """Write, or add, to the elements that index arrays select, in place."""
    key = tuple([np.asarray(value_of(plain_value(index))) for index in indices])
    do = _add_at if accumulate else _assign
    return do(self, key, plain_value(values), "IndexPutBackward0", "index_put_")


def _of_line(method: Method) -> Method:
    """A method along an axis, for which a tensor without axes is a line of one element."""

    @functools.wraps(method)
    def of_line(self: Any, dim: int, *args: Any, **options: Any) -> Any:
        if self.shape:
            return method(self, dim, *args, **options)
        check_in_place(self, args, method.__name__)
        method(METHODS["unsqueeze"](self, 0), dim, *args, **options)
        return self

    return of_line


@_of_line
def _index_add(self: Any, dim: int, index: Any, source: Any, *, alpha: Any = 1) -> Any:
    """Add slices of a tensor to the slices of this one that an index names, in place."""
    added = source if type(alpha) is int and alpha == 1 else source * alpha
    return _add_at(self, _along(self, dim, index), added, "IndexAddBackward0", "index_add_", source)


@_of_line
def _index_copy(self: Any, dim: int, index: Any, source: Any) -> Any:
    """Copy slices of a tensor to the slices of this one that an index names, in place."""
    return _assign(self, _along(self, dim, index), source, "IndexCopyBackward0", "index_copy_")


@_of_line
def _index_fill(self: Any, dim: int, index: Any, value: Any) -> Any:
    """Set the slices that an index names to a number, in place."""
    title = f"IndexFillBackward{int(is_tensor(value))}"
    return _assign(self, _along(self, dim, index), value, title, "index_fill_")


def _scattered(self: Any, dim: int, index: Any, src: Any) -> tuple[Any, Any]:
    """The places ``self[..., index[i, j, ...], ...]`` along an axis, and the part of a source that goes there."""
    index = np.asarray(value_of(plain_value(index)))
    shape = index.shape
    axis = normalize_axis(dim, max(len(self.shape), 1))
    if not shape and not self.shape:
        return (...,), src
    grid: list[Any] = list(np.indices(shape, sparse=True))
    grid[axis] = index
    part = tuple([slice(n) for n in shape])
    return tuple(grid), src[part] if len(getattr(src, "shape", ())) else src


def _scatter(self: Any, dim: int, index: Any, src: Any = None, *, value: Any = None) -> Any:
    """Write the elements of a source, or a number, to the places along an axis that an index names, in place."""
    src = value if src is None else plain_value(src)
    title = "ScatterBackward0" if is_tensor(src) else "ScatterBackward1"
    key, part = _scattered(self, dim, index, src)
    return _assign(self, key, part, title, "scatter_", src)


def _scatter_add(self: Any, dim: int, index: Any, src: Any) -> Any:
    """Add the elements of a source to the places along an axis that an index names, in place."""
    src = plain_value(src)
    key, part = _scattered(self, dim, index, src)
    return _add_at(self, key, part, "ScatterAddBackward0", "scatter_add_", src)


def _wide(x: Any, other: Any) -> Any:
    """Another operand in the dtype that its sum with a tensor has."""
    return cast(other, np.promote_types(x.dtype, other.dtype)) if is_tensor(other) else other


def _addcmul(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """Add a number times a product, in place."""

    def computed(x: Any) -> Any:
        return x + value * (_wide(x, tensor1) * tensor2)

    return compute(self, computed, (tensor1, tensor2), "AddcmulBackward0", asked="addcmul_")


def _addcdiv(self: Any, tensor1: Any, tensor2: Any, *, value: Any = 1) -> Any:
    """Add a number times a quotient, in place."""

    def computed(x: Any) -> Any:
        return x + value * (_wide(x, tensor1) / tensor2)

    return compute(self, computed, (tensor1, tensor2), "AddcdivBackward0", asked="addcdiv_")


def _lerp(self: Any, end: Any, weight: Any) -> Any:
    """Go a part of the way to another tensor, in place."""
    title = f"LerpBackward{int(is_tensor(weight))}"
    return compute(self, lambda x: x + weight * (end - x), (end, weight), title, asked="lerp_")


def _random(name: str, title: str, draw: Callable[..., Any]) -> Method:
    """Random numbers of ``generator``, one of NumPy's; of NumPy's own stream (``np.random.seed``), unless given."""

    @functools.wraps(draw)
    def method(self: Any, *args: Any, generator: Any = None, **options: Any) -> Any:
        numbers = draw(np.random if generator is None else generator, self.shape, *args, **options)
        return _whole(self, np.asarray(numbers).astype(self.dtype), title, name)

    return method


def _normal(source: Any, shape: tuple[int, ...], mean: float = 0.0, std: float = 1.0) -> Any:
    """Fill with normally distributed numbers, in place."""
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std}")
    return source.normal(mean, std, shape)


def _uniform(source: Any, shape: tuple[int, ...], low: float = 0.0, high: float = 1.0) -> Any:
    """Fill with numbers distributed evenly between two bounds, in place."""
    if not low <= high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    return source.uniform(low, high, shape)


def _bernoulli(source: Any, shape: tuple[int, ...], p: Any = 0.5) -> Any:
    """Fill with ones, as often as a probability says, and zeros, in place."""
    p = value_of(plain_value(p))
    if not np.all((np.asarray(p) >= 0) & (np.asarray(p) <= 1)):
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p}")
    return source.binomial(1, p, shape)


def _exponential(source: Any, shape: tuple[int, ...], lambd: float = 1.0) -> Any:
    """Fill with exponentially distributed numbers, in place."""
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    return source.exponential(1 / lambd, shape)


def _sign(x: Any) -> Any:
    """The sign: PyTorch's of NaN is 0, and NumPy has none of bools."""
    return copied(x) if x.dtype.kind == "b" else fnp.where(x == x, fnp.sign(x), x.dtype.type(0))  # noqa: PLR0124  (NaN)


# PyTorch's name where it is another than ours, and the number at the end of its derivative's name where that is not 0.
_SAME_NAMES = (
    "exp exp2 expm1 log log2 log10 sqrt sin cos tan sinh cosh tanh floor ceil round trunc square reciprocal abs"
)
_UNARY = {
    **{name: getattr(fnp, name) for name in _SAME_NAMES.split()},
    **{name: getattr(fnp, f"arc{name[1:]}") for name in ("asin", "acos", "atan", "asinh", "acosh", "atanh")},
    "log1p": fnp.log1p,
    "sign": _sign,
    "absolute": fnp.abs,
    "relu": lambda x: bind(relu_p, (x,), NO_PARAMS),
    "sigmoid": lambda x: bind(logistic_p, (x,), NO_PARAMS),
    "rsqrt": lambda x: 1 / fnp.sqrt(x),
    "frac": lambda x: x - fnp.trunc(x),
}
_TITLES = {"log1p": "Log1P", "square": "Pow", "absolute": "Abs"}
_LINEAR = {"neg": fnp.negative, "negative": fnp.negative}

_add = _binary(np.add, "AddBackward0", keeps=False)
_sub = _binary(np.subtract, "SubBackward0", keeps=False)
_mul = _binary(np.multiply, "MulBackward0")
_pow = _binary(np.power, "PowBackward0", other_title="PowBackward1")
_remainder = _binary(np.remainder, "RemainderBackward0", other_title="RemainderBackward1")
_floor_divide = _binary(np.floor_divide, "torch::autograd::NotImplemented")

IN_PLACE: dict[str, Method] = {
    "__setitem__": set_item,
    **{
        f"{name}_": _unary(
            f"{name}_",
            function,
            f"{_TITLES.get(name, name.capitalize())}Backward{int(name in ('asinh', 'acosh', 'atanh'))}",
        )
        for name, function in _UNARY.items()
    },
    **{f"{name}_": _unary(f"{name}_", function, "NegBackward0", keeps=False) for name, function in _LINEAR.items()},
    **dict.fromkeys(("__iadd__", "add_"), _add),
    **dict.fromkeys(("__isub__", "sub_", "subtract_"), _sub),
    **dict.fromkeys(("__imul__", "mul_", "multiply_"), _mul),
    **dict.fromkeys(("__itruediv__", "true_divide_"), _true_div),
    **dict.fromkeys(("div_", "divide_"), _div),
    **dict.fromkeys(("__ipow__", "pow_"), _pow),
    **dict.fromkeys(("__imod__", "remainder_"), _remainder),
    **dict.fromkeys(("__ifloordiv__", "floor_divide_"), _floor_divide),
    # PyTorch has no product in place: the name gets a new tensor.
    "__imatmul__": lambda self, other: self @ other,
    "__iand__": _binary(np.bitwise_and, "AndBackward0"),
    "__ior__": _binary(np.bitwise_or, "OrBackward0"),
    "__ixor__": _binary(np.bitwise_xor, "XorBackward0"),
    **dict.fromkeys(("clamp_", "clip_"), _clamp),
    "clamp_min_": lambda self, min: compute(  # noqa: A006  (PyTorch's name)
        self, lambda x: METHODS["clamp"](x, min), (min,), "ClampMinBackward0", asked="clamp_min_"
    ),
    "clamp_max_": lambda self, max: compute(  # noqa: A006  (PyTorch's name)
        self, lambda x: METHODS["clamp"](x, None, max), (max,), "ClampMaxBackward0", asked="clamp_max_"
    ),
    "masked_fill_": _masked_fill,
    "fill_": _fill,
    "zero_": lambda self: _whole(self, 0, "ZeroBackward0", "zero_"),
    "copy_": _copy,
    "index_put_": _index_put,
    "index_add_": _index_add,
    "index_copy_": _index_copy,
    "index_fill_": _index_fill,
    "scatter_": _scatter,
    "scatter_add_": _scatter_add,
    "addcmul_": _addcmul,
    "addcdiv_": _addcdiv,
    "lerp_": _lerp,
    "cumsum_": lambda self, dim: compute(
        self, lambda x: METHODS["cumsum"](x, dim), (), "CumsumBackward0", asked="cumsum_", keeps=False
    ),
    "cumprod_": lambda self, dim: compute(
        self, lambda x: METHODS["cumprod"](x, dim), (), "CumprodBackward0", asked="cumprod_"
    ),
    "normal_": _random("normal_", "NormalBackward0", _normal),
    "uniform_": _random("uniform_", "UniformBackward0", _uniform),
    "bernoulli_": _random("bernoulli_", "BernoulliBackward2", _bernoulli),
    "exponential_": _random("exponential_", "ExponentialBackward0", _exponential),
}
