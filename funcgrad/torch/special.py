"""PyTorch's special functions: the functions of ``torch.special``, of tensors."""

from collections.abc import Callable as _Callable
from math import pi as _pi
from typing import Any as _Any

from numpy import asarray as _asarray

from funcgrad import numpy as _fnp
from funcgrad._core.lazy import LazyModule as _LazyModule
from funcgrad._public import publish as _publish
from funcgrad.autograd.extend import TRACE as _TRACE
from funcgrad.autograd.extend import default_dtype as _default_dtype
from funcgrad.autograd.extend import is_tensor as _is_tensor
from funcgrad.autograd.extend import lower as _lower
from funcgrad.scipy import special as _scipy
from funcgrad.torch import _names
from funcgrad.torch._functions import FUNCTIONS as _FUNCTIONS
from funcgrad.torch._functions import of_tensors as _of_tensors

_SCIPY = _LazyModule("scipy.special")
# The functions of ``scipy.special`` that have other names in PyTorch; first those with the same.
_SAME = """
    entr erfc erfcx erfinv exp2 expit expm1 gammainc gammaincc gammaln i0 i0e i1 i1e log1p log_ndtr logit ndtr ndtri psi
    xlog1py xlogy zeta erf
"""
_OTHER = {
    "bessel_j0": "j0",
    "bessel_j1": "j1",
    "bessel_y0": "y0",
    "bessel_y1": "y1",
    "modified_bessel_i0": "i0",
    "modified_bessel_i1": "i1",
    "modified_bessel_k0": "k0",
    "modified_bessel_k1": "k1",
    "scaled_modified_bessel_k0": "k0e",
    "scaled_modified_bessel_k1": "k1e",
    "digamma": "digamma",
}
_POLYNOMIALS = {
    "chebyshev_polynomial_t": "eval_chebyt",
    "chebyshev_polynomial_u": "eval_chebyu",
    "hermite_polynomial_h": "eval_hermite",
    "hermite_polynomial_he": "eval_hermitenorm",
    "laguerre_polynomial_l": "eval_laguerre",
    "legendre_polynomial_p": "eval_legendre",
}


def _floating(x: _Any) -> _Any:
    return x.to(_default_dtype()) if _is_tensor(x) and x.dtype.kind in "biu" else x


def _of_scipy(name: str, ours: str) -> _Callable[..., _Any]:
    function = getattr(_scipy, ours)

    def special(input: _Any, *others: _Any, **named: _Any) -> _Any:  # noqa: A002  (PyTorch's name)
        unknown = next((key for key in named if key != "other"), None)
        if unknown is not None:
            raise TypeError(f"special_{name}() got an unexpected keyword argument '{unknown}'")
        return function(_floating(input), *map(_floating, (*others, *named.values())))

    return _named(special, name, ours)


def _polynomial(name: str, ours: str) -> _Callable[..., _Any]:
    function = getattr(_scipy, ours)

    def special(input: _Any, n: _Any) -> _Any:  # noqa: A002  (PyTorch's name)
        x = _floating(input)
        y = function(int(n), x)
        return y.to(x.dtype) if _is_tensor(y) else y

    return _named(special, name, ours)


def _turned(name: str, sign: int, shift: bool, sine: bool) -> _Callable[..., _Any]:
    """Return Chebyshev's polynomials of the third and fourth kind, by those of the second kind.

    ``V_n = U_n - U_{n-1}`` and ``W_n = U_n + U_{n-1}``; the shifted ones take ``2 x - 1``.
    """

    def special(input: _Any, n: _Any) -> _Any:  # noqa: A002  (PyTorch's name)
        x, n = _floating(input), int(n)
        x = 2 * x - 1 if shift else x
        if not sine:
            y = (_scipy.eval_chebyt if sign == 0 else _scipy.eval_chebyu)(n, x)
        else:
            y = _scipy.eval_chebyu(n, x) + (sign * _scipy.eval_chebyu(n - 1, x) if n else 0 * x)
        return y.to(x.dtype) if _is_tensor(y) else y

    return _named(special, name, "eval_chebyu")


def _named(function: _Callable[..., _Any], name: str, ours: str) -> _Callable[..., _Any]:
    function.__name__ = function.__qualname__ = name
    made = _of_tensors(function)
    made.__doc__ = f"``torch.special.{name}``: the function that ``scipy.special.{ours}`` is."
    return made


globals().update({name: _of_scipy(name, name) for name in _SAME.split() if name not in {"exp2", "expm1", "log1p"}})
globals().update({name: _of_scipy(name, ours) for name, ours in _OTHER.items()})
globals().update({name: _polynomial(name, ours) for name, ours in _POLYNOMIALS.items()})
for _name, _how in {
    "chebyshev_polynomial_v": (-1, False, True),
    "chebyshev_polynomial_w": (1, False, True),
    "shifted_chebyshev_polynomial_t": (0, True, False),
    "shifted_chebyshev_polynomial_u": (1, True, False),
    "shifted_chebyshev_polynomial_v": (-1, True, True),
    "shifted_chebyshev_polynomial_w": (1, True, True),
}.items():
    globals()[_name] = _turned(_name, *_how)
globals().update({name: _FUNCTIONS[name] for name in ("exp2", "expm1", "log1p", "round", "sinc", "polygamma", "logit")})
globals().update({name: _FUNCTIONS[name] for name in ("softmax", "log_softmax", "logsumexp")})
multigammaln = _FUNCTIONS["mvlgamma"]


@_of_tensors
def spherical_bessel_j0(input: _Any) -> _Any:  # noqa: A002  (PyTorch's name)
    """Return the spherical Bessel function of order 0, ``sin(x) / x``."""
    return _fnp.sinc(_floating(input) / _pi)


@_of_tensors
def airy_ai(input: _Any) -> _Any:  # noqa: A002  (PyTorch's name)
    """Return Airy's function Ai, without a derivative, as in PyTorch."""
    x = _floating(input)
    return _TRACE.constant(_SCIPY.airy(_asarray(_known("airy_ai", x), "f8"))[0].astype(x.dtype))


def _known(name: str, x: _Any) -> _Any:
    """Return a tensor's array; refuse a traced value, whose derivative is not known here."""
    if hasattr(_lower(x), "aval") and not _is_tensor(_lower(x)):
        raise RuntimeError(
            f"special.{name}: the tensor is traced by a transform, and the function has no derivative here. Compute "
            "it from numbers outside of the transform."
        )
    return x.detach()


def __getattr__(name: str) -> _Any:
    return _names.refuse("torch.special", name, globals())


__dir__ = _publish(__name__)
