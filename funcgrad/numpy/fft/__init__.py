"""``numpy.fft`` for arrays of either engine and for tracers; NumPy's own functions find these."""

from funcgrad._public import publish
from funcgrad.numpy.fft._frequencies import fftfreq, fftshift, ifftshift, rfftfreq
from funcgrad.numpy.fft._transforms import (
    fft,
    fft2,
    fftn,
    hfft,
    ifft,
    ifft2,
    ifftn,
    ihfft,
    irfft,
    irfft2,
    irfftn,
    rfft,
    rfft2,
    rfftn,
)

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

__dir__ = publish(__name__)
