"""``scipy.signal`` for arrays of either engine and for tracers.

SciPy's functions accept no other arrays: call the functions here.
"""

from funcgrad._public import publish
from funcgrad.scipy.signal import windows as windows
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
from funcgrad.scipy.signal._resampling import decimate, detrend, hilbert, resample, resample_poly, upfirdn
from funcgrad.scipy.signal._smoothing import savgol_filter
from funcgrad.scipy.signal.windows import get_window

__all__ = [
    "convolve",
    "convolve2d",
    "correlate",
    "correlate2d",
    "decimate",
    "deconvolve",
    "detrend",
    "fftconvolve",
    "filtfilt",
    "get_window",
    "hilbert",
    "lfilter",
    "lfilter_zi",
    "lfiltic",
    "oaconvolve",
    "resample",
    "resample_poly",
    "savgol_filter",
    "sosfilt",
    "sosfilt_zi",
    "sosfiltfilt",
    "upfirdn",
    "windows",
]
__dir__ = publish(__name__)
