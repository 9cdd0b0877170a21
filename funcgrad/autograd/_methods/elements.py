"""Elementwise functions with PyTorch's names: each returns a new tensor, and works in place with an underscore."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.transcendental import logistic_p
from funcgrad._types import Array, ArrayLike, Tensor
from funcgrad.autograd._memory.views import copied
from funcgrad.autograd._memory.write import compute, plain_value
from funcgrad.autograd._methods.names import METHODS as NAMES
from funcgrad.autograd._tape.base import TensorBase, is_tensor
from funcgrad.scipy import special

Method = Callable[..., Any]


class ElementFunction(NamedTuple):
    """One elementwise function, and PyTorch's name of its derivative.

    Args:
        function: takes a tensor and arguments.
        title: PyTorch's name in ``grad_fn``; by default the function's name with a capital.
        with_tensor: the name if an argument is a tensor.
        keeps: whether derivatives may read the tensor itself.
        in_place: whether PyTorch has the in-place method.
    """

    function: Method
    title: str = ""
    with_tensor: str = ""
    keeps: bool = True
    in_place: bool = True


def _sign(x: Tensor) -> Tensor:
    # PyTorch's sign of NaN is 0, and NumPy has no sign of bools.
    return copied(x) if x.dtype.kind == "b" else fnp.where(x == x, fnp.sign(x), x.dtype.type(0))  # noqa: PLR0124  (NaN)


def _wide(x: Tensor, other: ArrayLike) -> Tensor:
    """Return another operand in the dtype of its sum with a tensor."""
    return cast(other, np.promote_types(x.dtype, other.dtype)) if is_tensor(other) else other


def _lgamma(x: Tensor) -> Tensor:
    # At minus infinity SciPy's function has another limit.
    return fnp.where(x == -np.inf, -x, special.gammaln(x))


def _angle(x: Tensor) -> Tensor:
    # PyTorch's angle of -0.0 is that of 0.0.
    return fnp.angle(x + 0)


def _logit(x: Tensor, eps: float | None = None) -> Tensor:
    return special.logit(x if eps is None else NAMES["clamp"](x, eps, 1 - eps))


def _nan_to_num(x: Tensor, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Tensor:
    return fnp.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


def _clamp_min(x: Tensor, min: ArrayLike) -> Tensor:  # noqa: A002  (PyTorch's name)
    return NAMES["clamp"](x, min)


def _clamp_max(x: Tensor, max: ArrayLike) -> Tensor:  # noqa: A002  (PyTorch's name)
    return NAMES["clamp"](x, None, max)


def _addcmul(x: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: ArrayLike = 1) -> Tensor:
    return x + value * (_wide(x, tensor1) * tensor2)


def _addcdiv(x: Tensor, tensor1: Tensor, tensor2: Tensor, *, value: ArrayLike = 1) -> Tensor:
    return x + value * (_wide(x, tensor1) / tensor2)


def _lerp(x: Tensor, end: Array, weight: ArrayLike) -> Tensor:
    return x + weight * (end - x)


def _added(product: Callable[[Any, Any], Any]) -> Method:
    """Return a product added to a tensor, each multiplied by a number."""

    def function(x: Tensor, first: ArrayLike, second: ArrayLike, *, beta: ArrayLike = 1, alpha: ArrayLike = 1) -> Any:
        return beta * x + alpha * product(first, second)

    return function


def _addr(x: Tensor, vec1: Tensor, vec2: Tensor, *, beta: ArrayLike = 1, alpha: ArrayLike = 1) -> Tensor:
    for name, vector in (("vec1", vec1), ("vec2", vec2)):
        if (rank := len(np.shape(vector))) != 1:
            raise RuntimeError(f"addr: Expected 1-D argument {name}, but got {rank}-D")
    y = beta * x + alpha * fnp.outer(vec1, vec2)
    if y.shape != (*np.shape(vec1), *np.shape(vec2)):
        raise RuntimeError(
            f"size mismatch, input: {list(x.shape)}, v1: {list(np.shape(vec1))}, v2: {list(np.shape(vec2))}"
        )
    return y


def _sum_of_products(first: ArrayLike, second: ArrayLike) -> Tensor:
    return fnp.sum(first @ second, axis=0)


# NumPy's functions with the same name.
_SAME = (
    "abs exp exp2 expm1 log log2 log10 sqrt sin cos tan sinh cosh tanh floor ceil trunc sinc i0 "
    "isnan isinf isfinite isneginf isposinf isreal signbit maximum minimum fmax fmin logaddexp "
    "logaddexp2 float_power nextafter copysign hypot fmod heaviside deg2rad rad2deg"
)
_NO_DERIVATIVE = "torch::autograd::NotImplemented"
# Titles that differ from the rule for rows made of names alone.
_TITLES: dict[str, tuple[str, str]] = {
    "deg2rad": ("Deg2RadBackward0", ""),
    "rad2deg": ("Rad2DegBackward0", ""),
    "copysign": ("CopysignBackward1", "CopysignBackward0"),
    "fmod": ("FmodBackward0", "FmodBackward1"),
    "heaviside": (_NO_DERIVATIVE, ""),
}
# As in PyTorch, these have no in-place form.
_NEW = (
    "isnan isinf isfinite isneginf isposinf isreal signbit maximum minimum fmax fmin logaddexp "
    "logaddexp2 float_power positive"
)
_COMPARED = {"eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal"}
_ARC = ("asin", "acos", "atan", "asinh", "acosh", "atanh")

FUNCTIONS: dict[str, ElementFunction] = {
    **{
        name: ElementFunction(getattr(fnp, name), *_TITLES.get(name, ("", "")), in_place=name not in _NEW.split())
        for name in _SAME.split()
    },
    **{
        name: ElementFunction(getattr(fnp, f"arc{name[1:]}"), f"{name.capitalize()}Backward{int(name.endswith('h'))}")
        for name in _ARC
    },
    **{
        name: ElementFunction(
            getattr(fnp, ours), f"{name.capitalize()}Backward0", f"{name.capitalize()}Backward1", keeps=False
        )
        for name, ours in _COMPARED.items()
    },
    **{
        name: ElementFunction(getattr(fnp, name), "MulBackward0")
        for name in ("logical_and", "logical_or", "logical_xor")
    },
    **{
        name: ElementFunction(getattr(fnp, name))
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not")
    },
    "logical_not": ElementFunction(fnp.logical_not, "MulBackward0"),
    "angle": ElementFunction(_angle, in_place=False),
    "positive": ElementFunction(lambda x: x, in_place=False),
    "neg": ElementFunction(fnp.negative, keeps=False),
    "round": ElementFunction(lambda x, decimals=0: fnp.round(x, decimals)),
    "log1p": ElementFunction(fnp.log1p, "Log1PBackward0"),
    "square": ElementFunction(fnp.square, "PowBackward0"),
    "sign": ElementFunction(_sign),
    "sgn": ElementFunction(lambda x: fnp.sign(x) if x.dtype.kind == "c" else _sign(x)),
    "relu": ElementFunction(NAMES["relu"]),
    "sigmoid": ElementFunction(lambda x: bind(logistic_p, (x,), NO_PARAMS)),
    "rsqrt": ElementFunction(lambda x: 1 / fnp.sqrt(x)),
    "reciprocal": ElementFunction(NAMES["reciprocal"]),
    "frac": ElementFunction(lambda x: x - fnp.trunc(x)),
    "conj_physical": ElementFunction(lambda x: fnp.conjugate(x), "ConjPhysicalBackward1"),
    "nan_to_num": ElementFunction(_nan_to_num, "NanToNumBackward0"),
    "erf": ElementFunction(special.erf),
    "erfc": ElementFunction(special.erfc),
    "erfinv": ElementFunction(special.erfinv),
    "lgamma": ElementFunction(_lgamma),
    "digamma": ElementFunction(special.digamma),
    "logit": ElementFunction(_logit),
    "xlogy": ElementFunction(special.xlogy, "XlogyBackward2", "XlogyBackward0"),
    "atan2": ElementFunction(fnp.arctan2),
    "clamp": ElementFunction(NAMES["clamp"], "ClampBackward1", "ClampBackward0"),
    "clamp_min": ElementFunction(_clamp_min, "ClampMinBackward0", "ClampMinBackward1"),
    "clamp_max": ElementFunction(_clamp_max, "ClampMaxBackward0", "ClampMaxBackward1"),
    "tril": ElementFunction(lambda x, diagonal=0: fnp.tril(x, diagonal), keeps=False),
    "triu": ElementFunction(lambda x, diagonal=0: fnp.triu(x, diagonal), keeps=False),
    "cumsum": ElementFunction(NAMES["cumsum"], keeps=False),
    "cumprod": ElementFunction(NAMES["cumprod"]),
    "addcmul": ElementFunction(_addcmul),
    "addcdiv": ElementFunction(_addcdiv),
    "lerp": ElementFunction(_lerp, "LerpBackward0", "LerpBackward1"),
    "addmm": ElementFunction(_added(fnp.matmul), keeps=False),
    "addmv": ElementFunction(_added(fnp.matmul), keeps=False),
    "baddbmm": ElementFunction(_added(fnp.matmul), keeps=False),
    "addr": ElementFunction(_addr, keeps=False),
    "addbmm": ElementFunction(_added(_sum_of_products), keeps=False),
}
_ALIASES = {
    "absolute": "abs",
    "negative": "neg",
    "fix": "trunc",
    "clip": "clamp",
    "arctan2": "atan2",
    "greater": "gt",
    "greater_equal": "ge",
    "less": "lt",
    "less_equal": "le",
    "not_equal": "ne",
    **{f"arc{name[1:]}": name for name in _ARC},
}
_ALL = FUNCTIONS | {alias: FUNCTIONS[name] for alias, name in _ALIASES.items()}


def _new(name: str, row: ElementFunction) -> Method:
    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        y = row.function(self, *map(plain_value, args), **options)
        return copied(self) if y is self else y

    method.__name__, method.__qualname__ = name, f"Tensor.{name}"
    method.__doc__ = f"PyTorch's ``{name}``: a new tensor."
    # ``inspect.signature`` follows this attribute.
    method.__wrapped__ = row.function  # pyright: ignore[reportFunctionMemberAccess]  (as of functools.wraps)
    return method


def _in_place(name: str, row: ElementFunction) -> Method:
    own = f"{_ALIASES.get(name, name).capitalize()}Backward0"

    def method(self: Tensor, *args: Any, **options: Any) -> Any:
        given = tuple([plain_value(x) for x in args])
        others = (*given, *options.values())
        # The weight of PyTorch's `lerp` is the last argument. The other functions have one argument.
        title = row.with_tensor if row.with_tensor and others and is_tensor(others[-1]) else row.title or own
        return compute(
            self, lambda x: row.function(x, *given, **options), others, title, asked=f"{name}_", keeps=row.keeps
        )

    method.__doc__ = f"PyTorch's ``{name}_``."
    return method


# Methods that tensors have already, by NumPy's or PyTorch's name, stay.
METHODS: dict[str, Method] = {
    name: _new(name, row) for name, row in _ALL.items() if name not in NAMES and not hasattr(TensorBase, name)
}
IN_PLACE: dict[str, Method] = {f"{name}_": _in_place(name, row) for name, row in _ALL.items() if row.in_place}
