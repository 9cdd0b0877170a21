"""The modules of ``jax.scipy``."""

from funcgrad.jax._names import publish_as_jax as _publish
from funcgrad.jax.scipy import (
    cluster as cluster,
    fft as fft,
    integrate as integrate,
    interpolate as interpolate,
    linalg as linalg,
    ndimage as ndimage,
    optimize as optimize,
    signal as signal,
    sparse as sparse,
    special as special,
    stats as stats,
)

__dir__, __getattr__ = _publish(__name__, arrays=False)
