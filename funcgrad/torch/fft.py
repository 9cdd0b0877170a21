"""PyTorch's Fourier transforms: the functions of ``torch.fft``, of tensors."""

from collections.abc import Callable as _Callable
from typing import Any as _Any

from numpy import fft as _numpy_fft

from funcgrad import numpy as _fnp
from funcgrad._public import publish as _publish
from funcgrad.autograd.extend import TRACE as _TRACE
from funcgrad.autograd.extend import default_dtype as _default_dtype
from funcgrad.scipy import fft as _scipy
from funcgrad.torch import _names
from funcgrad.torch._functions import of_tensors as _of_tensors


def _along_one(name: str) -> _Callable[..., _Any]:
    function = getattr(_fnp.fft, name)

    def transform(input: _Any, n: int | None = None, dim: int = -1, norm: str | None = None) -> _Any:  # noqa: A002  (PyTorch's name)
        return function(input, n, dim, norm)

    return _named(transform, name)


def _along_several(name: str, axes: tuple[int, ...] | None) -> _Callable[..., _Any]:
    function = getattr(_fnp.fft, name, None) or getattr(_scipy, name)

    def transform(input: _Any, s: _Any = None, dim: _Any = axes, norm: str | None = None) -> _Any:  # noqa: A002  (PyTorch's name)
        if s is not None and dim is None:
            dim = tuple(range(-len(s), 0))
        return function(input, s, dim, norm=norm)

    return _named(transform, name)


def _named(function: _Callable[..., _Any], name: str) -> _Callable[..., _Any]:
    function.__name__ = function.__qualname__ = name
    made = _of_tensors(function)
    made.__doc__ = f"``torch.fft.{name}``: the transform that ``numpy.fft.{name}`` gives."
    return made


fft, ifft, rfft, irfft, hfft, ihfft = map(_along_one, ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"))
fft2, ifft2, rfft2, irfft2 = (_along_several(name, (-2, -1)) for name in ("fft2", "ifft2", "rfft2", "irfft2"))
fftn, ifftn, rfftn, irfftn = (_along_several(name, None) for name in ("fftn", "ifftn", "rfftn", "irfftn"))


def _shifted(name: str) -> _Callable[..., _Any]:
    function = getattr(_fnp.fft, name)

    def shift(input: _Any, dim: _Any = None) -> _Any:  # noqa: A002  (PyTorch's name)
        return function(input, dim)

    return _named(shift, name)


fftshift, ifftshift = _shifted("fftshift"), _shifted("ifftshift")


def _frequencies(name: str) -> _Callable[..., _Any]:
    def frequencies(n: int, d: float = 1.0, *, dtype: _Any = None, **options: _Any) -> _Any:
        del options
        return _TRACE.constant(getattr(_numpy_fft, name)(n, d).astype(_default_dtype() if dtype is None else dtype))

    return _named(frequencies, name)


fftfreq, rfftfreq = _frequencies("fftfreq"), _frequencies("rfftfreq")


def __getattr__(name: str) -> _Any:
    return _names.refuse("torch.fft", name, globals())


__dir__ = _publish(__name__)
