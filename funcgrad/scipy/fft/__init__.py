"""``scipy.fft`` for arrays of either engine and for tracers.

Call the functions here, call SciPy's inside of ``fg.intercept()``, or make this module SciPy's backend for a while:
``with scipy.fft.set_backend(fg.scipy.fft): ...``. ``overwrite_x`` and ``workers`` change no number, and are ignored.
"""

from collections.abc import Callable
from typing import Any

from funcgrad._public import publish
from funcgrad.numpy.extend import holds_tracer
from funcgrad.scipy.fft._complex import (
    fft,
    fft2,
    fftfreq,
    fftn,
    fftshift,
    hfft,
    hfft2,
    hfftn,
    ifft,
    ifft2,
    ifftn,
    ifftshift,
    ihfft,
    ihfft2,
    ihfftn,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftfreq,
    rfftn,
)
from funcgrad.scipy.fft._real import dct, dctn, dst, dstn, idct, idctn, idst, idstn

__all__ = [
    "dct",
    "dctn",
    "dst",
    "dstn",
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "hfft2",
    "hfftn",
    "idct",
    "idctn",
    "idst",
    "idstn",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "ihfft2",
    "ihfftn",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

_HANKEL = "its coefficients are gamma functions of complex numbers. Use quadrature, fg.scipy.integrate.quad."
INSTEAD = {"fht": _HANKEL, "ifht": _HANKEL, "fhtoffset": _HANKEL}

__ua_domain__ = "numpy.scipy.fft"


def __ua_function__(method: Any, args: tuple, kwargs: dict[str, Any]) -> Any:  # noqa: N807  (a name of uarray's)
    """Answer as a backend of SciPy's: of plain arrays SciPy computes by itself."""
    if method.__name__ not in __all__ or not any(map(holds_tracer, (*args, *kwargs.values()))):
        return NotImplemented
    ours: Callable[..., Any] = globals()[method.__name__]
    return ours(*args, **kwargs)


def __getattr__(name: str) -> Any:
    if name in INSTEAD:
        raise AttributeError(f"scipy.fft.{name} has no derivative here: {INSTEAD[name]}")
    raise AttributeError(f"module 'funcgrad.scipy.fft' has no attribute {name!r}.")


__dir__ = publish(__name__)
