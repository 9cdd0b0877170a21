"""``scipy.special`` for arrays of either engine and for tracers.

SciPy's own ufuncs find these functions when they meet a tracer. Its Python functions (``logsumexp``, ``softmax``,
``log_softmax``, ``polygamma``) offer no hook: call the ones here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import result_dtype
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.lazy import LazyModule
from funcgrad._core.primitive import Primitive
from funcgrad._ops.elementwise import special as ops
from funcgrad._ops.elementwise import transcendental as elementary
from funcgrad._ops.elementwise.activation import erf_p, logistic_p
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.elementwise.logic import isfinite_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.elementwise.transcendental import exp_p
from funcgrad._ops.layout.broadcast import reduce_sum, reduced_shape
from funcgrad._ops.layout.shape import reshape, squeezed_shape
from funcgrad._ops.program.barrier import stop_gradient_p
from funcgrad._ops.reduce.reduce import reduce_max
from funcgrad._public import publish
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy.extend import as_value, dtype_of, kind_of, normalize_axes, special_functions

scipy_special = LazyModule("scipy.special")

__all__ = [
    "betaln",
    "cbrt",
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfinv",
    "exp2",
    "exp10",
    "expit",
    "expm1",
    "gamma",
    "gammaln",
    "i0",
    "i0e",
    "i1",
    "i1e",
    "log1p",
    "log_expit",
    "log_softmax",
    "logit",
    "logsumexp",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "softmax",
    "xlog1py",
    "xlogy",
]


@lru_cache(maxsize=1024)
def _scipys_dtype(name: str, kinds: tuple[Any, ...]) -> np.dtype:
    """The dtype of SciPy's result, asked of SciPy: float16 and Python numbers go to other loops in each function."""
    values = [np.ones(1, kind) if isinstance(kind, np.dtype) else kind(1) for kind in kinds]
    function = getattr(scipy_special, name)
    with np.errstate(all="ignore"):
        try:
            return np.asarray(function(1, *values) if name == "polygamma" else function(*values)).dtype
        except TypeError:
            # The floats of ml_dtypes.
            return np.dtype(float)


def _real(name: str, *values: Any) -> tuple:
    """Operands in the dtype in which SciPy computes."""
    values = tuple([as_value(x) for x in values])
    if result_dtype(*values).kind == "c":
        raise UnsupportedFunctionError(
            f"scipy.special.{name}: an operand is complex; funcgrad has this function for real numbers. "
            "Pass the real part, or give the complex function a rule of its own with fg.custom_vjp."
        )
    dtype = _scipys_dtype(name, tuple([kind_of(x) for x in values]))
    return tuple([cast(x, dtype) for x in values])


def _special(name: str, primitive: Primitive) -> Callable[..., Any]:
    """Our function for a real ufunc of ``scipy.special``."""

    def function(*xs: Any) -> Any:
        return bind(primitive, _real(name, *xs), NO_PARAMS)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``scipy.special.{name}`` for real arrays of either engine and tracers."
    special_functions[name] = function
    return function


erf = _special("erf", erf_p)
erfc = _special("erfc", ops.erfc_p)
erfinv = _special("erfinv", ops.erfinv_p)
expit = _special("expit", logistic_p)
logit = _special("logit", ops.logit_p)
ndtr = _special("ndtr", ops.ndtr_p)
ndtri = _special("ndtri", ops.ndtri_p)
gamma = _special("gamma", ops.gamma_p)
gammaln = _special("gammaln", ops.gammaln_p)
psi = digamma = _special("psi", ops.digamma_p)
betaln = _special("betaln", ops.betaln_p)
xlogy = _special("xlogy", ops.xlogy_p)
xlog1py = _special("xlog1py", ops.xlog1py_p)
entr = _special("entr", ops.entr_p)
i0 = _special("i0", ops.i0_p)
i1 = _special("i1", ops.i1_p)
i0e = _special("i0e", ops.i0e_p)
i1e = _special("i1e", ops.i1e_p)


def _like_numpys(name: str, primitive: Primitive) -> Callable[..., Any]:
    """Ours for a ufunc that NumPy has too; SciPy's computes in dtypes of its own, and complex numbers as NumPy's."""
    numpys, scipys = getattr(fnp, name), _special(name, primitive)

    def function(x: Any, /) -> Any:
        x = as_value(x)
        return numpys(x) if dtype_of(x).kind == "c" else scipys(x)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``scipy.special.{name}`` for arrays of either engine and tracers."
    special_functions[name] = function
    return function


cbrt = _like_numpys("cbrt", elementary.cbrt_p)
exp2 = _like_numpys("exp2", elementary.exp2_p)
expm1 = _like_numpys("expm1", elementary.expm1_p)
log1p = _like_numpys("log1p", elementary.log1p_p)


def exp10(x: Any, /) -> Any:
    """``scipy.special.exp10``: ten to the power of ``x``."""
    return fnp.power(10.0, _real("exp10", x)[0])


def log_expit(x: Any, /) -> Any:
    """``scipy.special.log_expit``: the logarithm of the logistic function, also where that rounds to 0."""
    return fnp.negative(fnp.logaddexp(fnp.negative(_real("log_expit", x)[0]), 0.0))


special_functions.update(exp10=exp10, log_expit=log_expit)


def polygamma(n: int, x: Any) -> Any:
    """Compute the derivative of order ``n`` (a Python int) of the digamma function.

    Example:
        >>> from funcgrad.scipy import special
        >>> print(round(float(special.polygamma(1, 1.0)), 6))
        1.644934
    """
    (x,) = _real("polygamma", x)
    return bind(ops.polygamma_p, (x,), {"order": int(n)}) if n else bind(ops.digamma_p, (x,), NO_PARAMS)


def _maximum(x: Any, axes: tuple[int, ...]) -> Any:
    """The maximum, which cancels in what follows and so has no derivative; 0 of nothing."""
    if any(x.shape[i] == 0 for i in axes):
        return np.zeros(reduced_shape(x.shape, axes, True), x.dtype)
    return bind(stop_gradient_p, (reduce_max(x, axes, keepdims=True),), NO_PARAMS)


def logsumexp(
    a: Any,
    axis: int | tuple[int, ...] | None = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
) -> Any:
    """Compute ``log(sum(b * exp(a)))`` without overflow.

    Args:
        a: a real array.
        axis: the axis or axes to sum over; all of them for ``None``.
        b: factors of the terms, which broadcast against ``a``.
        keepdims: whether the summed axes remain, with length 1.
        return_sign: whether to return the sign of the sum too; the logarithm is then of its size.

    Returns:
        The logarithm, or ``(logarithm, sign)``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import special
        >>> print(round(float(special.logsumexp(np.array([1000.0, 1000.0]))), 4))
        1000.6931
    """
    (a,) = _real("logsumexp", a)
    axes = normalize_axes(axis, len(a.shape))
    highest = _maximum(a, axes)
    # Infinity is left to the exponential: inf - inf would be NaN.
    highest = select(isfinite_p(highest), highest, 0)
    terms = exp_p(a - highest)
    if b is not None:
        terms = fnp.multiply(terms, _real("logsumexp", b)[0])
    total = reduce_sum(terms, axes, keepdims=True)
    sign = fnp.sign(total)
    result = fnp.log(abs(total) if return_sign else total) + highest
    if not keepdims:
        shape = squeezed_shape(result, axes)
        result, sign = reshape(result, shape), reshape(sign, shape)
    return (result, sign) if return_sign else result


def softmax(x: Any, axis: int | tuple[int, ...] | None = None) -> Any:
    """Compute ``exp(x) / sum(exp(x))`` over an axis, or over all elements, without overflow.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import special
        >>> special.softmax(np.array([1000.0, 1000.0]))
        array([0.5, 0.5])
    """
    (x,) = _real("softmax", x)
    axes = normalize_axes(axis, len(x.shape))
    # Beside infinity everything is NaN, as in SciPy.
    terms = exp_p(x - _maximum(x, axes))
    return terms / reduce_sum(terms, axes, keepdims=True)


def log_softmax(x: Any, axis: int | tuple[int, ...] | None = None) -> Any:
    """Compute the logarithm of the softmax, also where the softmax itself would round to 0.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import special
        >>> special.log_softmax(np.array([0.0, 1000.0]))
        array([-1000.,     0.])
    """
    (x,) = _real("log_softmax", x)
    return x - logsumexp(x, axis=axis, keepdims=True)


__dir__ = publish(__name__)
