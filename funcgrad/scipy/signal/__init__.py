"""``scipy.signal`` for arrays of either engine and for tracers.

SciPy's functions offer no hook for other arrays: call the ones here.
"""

from funcgrad._public import publish
from funcgrad.scipy.signal._convolution import convolve, convolve2d, correlate, correlate2d, fftconvolve, oaconvolve
from funcgrad.scipy.signal._filters import (
    deconvolve,
    filtfilt,
    lfilter,
    lfilter_zi,
    lfiltic,
    sosfilt,
    sosfilt_zi,
    sosfiltfilt,
)

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "deconvolve",
    "fftconvolve",
    "filtfilt",
    "lfilter",
    "lfilter_zi",
    "lfiltic",
    "oaconvolve",
    "sosfilt",
    "sosfilt_zi",
    "sosfiltfilt",
]
__dir__ = publish(__name__)
