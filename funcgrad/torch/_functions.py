"""PyTorch's functions of tensors that are methods of ``Tensor``: one function for each method."""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import numpy as np

from funcgrad import nn
from funcgrad._core.bind import is_value
from funcgrad._core.words import shown
from funcgrad._types import Array, AxesLike
from funcgrad.autograd import Tensor, is_grad_enabled, no_grad
from funcgrad.autograd.extend import is_tensor, is_torchs, lift, lower, set_value, type_name

Function = Callable[..., Any]
# The methods of tensors that PyTorch has as functions too.
METHODS = """
    abs abs_ absolute acos acos_ acosh acosh_ add addbmm addcdiv addcmul addmm addmv addmv_ addr adjoint all
    allclose amax amin aminmax angle any arccos arccos_ arccosh arccosh_ arcsin arcsin_ arcsinh arcsinh_ arctan
    arctan2 arctan_ arctanh arctanh_ argmax argmin argsort argwhere asin asin_ asinh asinh_ atan atan2 atan_ atanh
    atanh_ baddbmm bernoulli bincount bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift
    bitwise_xor bmm broadcast_to ceil ceil_ cholesky cholesky_inverse cholesky_solve chunk clamp clamp_ clamp_max
    clamp_max_ clamp_min clamp_min_ clip clip_ clone conj conj_physical conj_physical_ copysign corrcoef cos cos_
    cosh cosh_ count_nonzero cov cross cummax cummin cumprod cumsum deg2rad deg2rad_ det detach detach_ diag
    diag_embed diagflat diagonal diagonal_scatter diff digamma dist div divide dot dsplit eq equal erf erf_ erfc
    erfc_ erfinv exp exp2 exp2_ exp_ expm1 expm1_ fill fill_ fix fix_ flatten flip fliplr flipud float_power floor
    floor_ floor_divide fmax fmin fmod frac frac_ frexp gather gcd ge ger get_device greater greater_equal gt
    hardshrink heaviside histc hsplit hypot i0 i0_ igamma igammac index_add index_copy index_fill index_put
    index_put_ index_reduce index_select inner inverse is_complex is_conj is_floating_point is_inference is_neg
    is_nonzero is_same_size is_signed isclose isfinite isinf isnan isneginf isposinf isreal kron kthvalue lcm ldexp
    le lerp less less_equal lgamma log log10 log10_ log1p log1p_ log2 log2_ log_ log_softmax logaddexp logaddexp2
    logcumsumexp logdet logical_and logical_not logical_or logical_xor logit logit_ logsumexp lt masked_fill
    masked_scatter masked_select matmul matrix_exp matrix_power max maximum mean median min minimum mm mode moveaxis
    movedim msort mul multinomial multiply mv mvlgamma nan_to_num nan_to_num_ nanmean nanmedian nanquantile nansum
    narrow narrow_copy ne neg neg_ negative negative_ nextafter nonzero norm not_equal numel outer permute pinverse
    polygamma positive pow prelu prod put qr quantile rad2deg rad2deg_ ravel reciprocal reciprocal_ relu relu_
    remainder renorm repeat_interleave reshape resize_as_ resolve_conj resolve_neg roll rot90 round round_ rsqrt rsqrt_
    scatter
    scatter_add scatter_reduce searchsorted select select_scatter sgn sigmoid sigmoid_ sign signbit sin sin_ sinc
    sinc_ sinh sinh_ slice_scatter slogdet softmax sort split split_with_sizes sqrt sqrt_ square square_ squeeze std
    sub subtract sum svd swapaxes swapdims t take take_along_dim tan tan_ tanh tanh_ tensor_split tile topk trace
    transpose tril triu true_divide trunc trunc_ unbind unflatten unique unique_consecutive unsqueeze var vdot
    vsplit xlogy xlogy_ zero_
"""
# PyTorch's names of the arguments that the methods name differently.
_RENAMED = {
    "split": {"split_size_or_sections": "split_size"},
    "swapaxes": {"axis0": "dim0", "axis1": "dim1"},
    "mm": {"mat2": "other"},
    "bmm": {"mat2": "other"},
    "mv": {"vec": "other"},
    "outer": {"vec2": "other"},
    "ger": {"vec2": "other"},
    "dot": {"tensor": "b"},
    "inner": {"other": "other"},
    "addmm": {"mat1": "first", "mat2": "second"},
    "addmv": {"mat": "first", "vec": "second"},
    "baddbmm": {"batch1": "first", "batch2": "second"},
    "addbmm": {"batch1": "first", "batch2": "second"},
    "matrix_power": {"n": "n"},
}
# Functions whose first argument may be a number.
_OF_NUMBERS = frozenset({"pow", "float_power", "xlogy", "remainder", "copysign", "bitwise_and", "mul", "add", "sub"})
# PyTorch's names of arguments that the methods take by position only.
_BY_POSITION = {
    "mvlgamma": ("p",),
    "igamma": ("other",),
    "igammac": ("other",),
    "xlogy": ("other",),
    "take": ("index",),
}
# NumPy's names of arguments, which PyTorch takes too.
_SYNONYMS = {"axis": "dim", "keepdims": "keepdim", "axes": "dims"}


def refuse_input(name: str, x: Array, argument: str = "input", position: int = 1) -> NoReturn:
    """Refuse an argument that is no tensor, in PyTorch's words."""
    raise TypeError(f"{name}(): argument '{argument}' (position {position}) must be Tensor, not {type(x).__name__}")


def as_tensor_argument(name: str, x: Array, argument: str = "input", position: int = 1) -> Any:
    """Return an argument as a tensor: tensors as they are, arrays and traced values with a tensor around them."""
    if is_tensor(x):
        return x
    if issubclass(type(x), bool | int | float | complex) or not is_value(x) or is_torchs(x):
        refuse_input(name, x, argument, position)
    return lift(x)


def of_method(name: str) -> Function:
    """Return the function of PyTorch's that calls a method of its first argument."""
    renamed = _RENAMED.get(name, {})

    def function(*args: Any, out: Array = None, **options: Any) -> Any:
        x, rest = (args[0], args[1:]) if args else (_named_input(name, options), ())
        for theirs, ours in {**_SYNONYMS, **renamed}.items():
            if theirs in options:
                options[ours] = options.pop(theirs)
        rest = (*rest, *[options.pop(each) for each in _BY_POSITION.get(name, ()) if each in options])
        if type(x) in (int, float, bool, complex) and name in _OF_NUMBERS and rest:
            x = rest[0].new_full((), x, dtype=np.asarray(x).dtype)
        lifted = as_tensor_argument(name, x)
        if out is None:
            return _like(x, lifted, _called(name, lifted, rest, options))
        return written(name, (lifted, *rest, *options.values()), out, lambda: _called(name, lifted, rest, options))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``torch.{name}``: the method ``Tensor.{name}`` of the first argument."
    with_input = _signature(name)
    if with_input is not None:
        function.__signature__ = with_input
    return function


def _named_input(name: str, options: dict[str, Any]) -> Any:
    for key in ("input", "self", "tensor"):
        if key in options:
            return options.pop(key)
    raise TypeError(f'{name}() missing 1 required positional arguments: "input"')


def _signature(name: str) -> inspect.Signature | None:
    try:
        found = inspect.signature(getattr(Tensor, name))
    except ValueError:
        return None
    rest = list(found.parameters.values())[1:]
    if any(each.kind is each.POSITIONAL_ONLY for each in rest):
        return None
    first = inspect.Parameter("input", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return found.replace(parameters=[first, *[each for each in rest if each.name != "input"]])


def _called(name: str, x: Array, rest: tuple, options: dict[str, Any]) -> Any:
    try:
        return getattr(x, name)(*map(lift, rest), **{key: lift(value) for key, value in options.items()})
    except np.exceptions.AxisError as error:
        n = max(len(x.shape), 1)
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-n}, {n - 1}], but got {error.axis})"
        ) from None


def _like(x: Array, lifted: Any, y: Array) -> Any:
    """Return a result as an array where the argument was one."""
    if x is lifted:
        return y
    if isinstance(y, tuple):
        parts = [lower(one) for one in y]
        return type(y)(*parts) if hasattr(y, "_fields") else tuple(parts)
    return lower(y)


def written(name: str, given: Iterable[Any], out: Array, compute: Callable[[], Any]) -> Any:
    """Write a result to ``out=``, a tensor or several, with PyTorch's refusals."""
    outs = out if isinstance(out, tuple) else (out,)
    for one in outs:
        if not is_tensor(one):
            refuse_input(name, one, "out", len(list(given)) + 1)
    if is_grad_enabled() and any(is_tensor(x) and x.requires_grad for x in (*given, *outs)):
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the "
            "arguments requires grad."
        )
    with no_grad():
        y = compute()
        results = y if isinstance(y, tuple) else (y,)
        for one, result in zip(outs, results, strict=True):
            _write_one(one, result)
    return type(y)(*outs) if hasattr(y, "_fields") else out


def _write_one(out: Array, result: Any) -> None:
    if not np.can_cast(result.dtype, out.dtype, "same_kind"):
        raise RuntimeError(
            f"result type {type_name(result.dtype)} can't be cast to the desired output type {type_name(out.dtype)}"
        )
    if out.shape == result.shape:
        out.copy_(result)
        return
    if out.numel():
        warnings.warn(
            f"An output with one or more elements was resized since it had shape {list(out.shape)}, which does not "
            f"match the required output shape {list(result.shape)}. This behavior is deprecated, and in a future "
            "PyTorch release outputs will not be resized unless they have zero elements.",
            UserWarning,
            stacklevel=4,
        )
    set_value(out, np.array(lower(result.to(out.dtype))._value))


def of_tensors(function: Function) -> Function:
    """Wrap a function of tensors so that it takes arrays and traced values too, and returns such."""

    @functools.wraps(function)
    def called(*args: Any, out: Array = None, **options: Any) -> Any:
        given, named = _lifted(args), {key: _lifted(value) for key, value in options.items()}
        if out is not None:
            return written(function.__name__, _flat((given, named)), out, lambda: function(*given, **named))
        y = function(*given, **named)
        is_bare = not any(is_tensor(x) for x in _flat((args, options)))
        return _lowered(y) if is_bare else y

    called.__doc__ = f"``torch.{function.__name__}``: {function.__doc__}"
    return called


def _lifted(x: Array) -> Any:
    if type(x) in (list, tuple):
        return type(x)([_lifted(one) for one in x])
    return x if issubclass(type(x), np.generic) else lift(x)


def _lowered(x: Array) -> Any:
    if type(x) in (list, tuple):
        return type(x)([_lowered(one) for one in x])
    return lower(x)


def _flat(x: Array) -> list[Any]:
    if isinstance(x, list | tuple):
        return [leaf for one in x for leaf in _flat(one)]
    if isinstance(x, dict):
        return _flat(list(x.values()))
    return [x]


def check_tensors(name: str, tensors: Any) -> tuple[Any, ...]:
    """Return a sequence of tensors as a tuple; refuse others in PyTorch's words."""
    if is_tensor(tensors) or not isinstance(tensors, list | tuple):
        raise TypeError(
            f"{name}(): argument 'tensors' (position 1) must be tuple of Tensors, not {type(tensors).__name__}"
        )
    for i, x in enumerate(tensors):
        if not is_tensor(x):
            raise TypeError(
                f"expected Tensor as element {i} in argument 0, but got {type(x).__name__}. The function is {name}; "
                f"{shown(x)} was given."
            )
    return tuple(tensors)


def pivoted_rows(pivots: Array, n: int) -> np.ndarray:
    """Return the rows of the matrix in the order in which its LU factors have them."""
    given = np.asarray(pivots.detach())
    order = np.broadcast_to(np.arange(n), (*given.shape[:-1], n)).copy()
    for place in np.ndindex(given.shape[:-1]):
        for i, j in enumerate(given[place].tolist()):
            order[(*place, i)], order[(*place, j - 1)] = order[(*place, j - 1)], order[(*place, i)]
    return order


FUNCTIONS: dict[str, Function] = {name: of_method(name) for name in METHODS.split()}


def polygamma(n: int, input: Array) -> Any:  # noqa: A002  (PyTorch's name)
    """``torch.polygamma``: return the derivative of order ``n`` of the digamma function."""
    return of_method("polygamma")(input, n)


def is_storage(obj: Any) -> bool:
    """``torch.is_storage``: return ``False``, because there are no storages."""
    del obj
    return False


def _copied(y: Array) -> Any:
    return tuple([one.clone() for one in y]) if isinstance(y, tuple | list) else y.clone()


def of_copy(name: str) -> Function:
    """Return the function of PyTorch's that copies what the function of a view returns."""
    view = of_method(name)

    def function(*args: Any, **options: Any) -> Any:
        return _copied(view(*args, **options))

    function.__name__ = function.__qualname__ = f"{name}_copy"
    function.__doc__ = f"``torch.{name}_copy``: a copy of what ``Tensor.{name}`` returns."
    return function


def constant_pad_nd(input: Array, pad: Any, value: float = 0) -> Any:  # noqa: A002  (PyTorch's name)
    """``torch.constant_pad_nd``: return the tensor with constant elements around it, the last axis first."""
    return nn.functional.pad(input, pad, value=value)


def frobenius_norm(input: Array, dim: AxesLike = None, keepdim: bool = False) -> Any:  # noqa: A002  (PyTorch's name)
    """``torch.frobenius_norm``: return the root of the sum of squares."""
    return of_method("norm")(input, "fro", dim, keepdim)


def nuclear_norm(input: Array, dim: AxesLike = None, keepdim: bool = False) -> Any:  # noqa: A002  (PyTorch's name)
    """``torch.nuclear_norm``: return the sum of a matrix's singular values."""
    return of_method("norm")(input, "nuc", dim, keepdim)


_VIEWS = """
    detach diagonal expand permute select split split_with_sizes squeeze t transpose unbind unfold unsqueeze
    view
"""
FUNCTIONS["polygamma"] = polygamma
FUNCTIONS |= {f"{name}_": of_method(f"{name}_") for name in ("gcd", "lcm", "ldexp")}
FUNCTIONS["nonzero_static"] = of_method("nonzero_static")
FUNCTIONS |= {f"{name}_copy": of_copy(name) for name in _VIEWS.split()}
FUNCTIONS |= {f"unsafe_{name}": FUNCTIONS[name] for name in ("chunk", "split", "split_with_sizes")}
ALIASES = (is_storage, constant_pad_nd, frobenius_norm, nuclear_norm)
