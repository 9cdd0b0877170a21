"""Convolutions and spectra: the functions of ``funcgrad.scipy.signal`` with JAX's arrays."""

from funcgrad.jax._bridge import of_jax as _of_jax
from funcgrad.jax._names import publish_as_jax as _publish

# fmt: off
from funcgrad.scipy.signal import (
    convolve as convolve, convolve2d as convolve2d, correlate as correlate, correlate2d as correlate2d,
    detrend as detrend, fftconvolve as fftconvolve,
)
# fmt: on

# JAX's own functions.
csd = _of_jax("scipy.signal.csd", "x", "y")
istft = _of_jax("scipy.signal.istft", "Zxx")
stft = _of_jax("scipy.signal.stft", "x")
welch = _of_jax("scipy.signal.welch", "x")

__dir__, __getattr__ = _publish(__name__)
