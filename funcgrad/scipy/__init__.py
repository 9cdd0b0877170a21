"""SciPy's functions for arrays of either engine and for tracers, in modules of SciPy's names."""

from typing import TYPE_CHECKING

from funcgrad._core.lazy import lazy_submodules
from funcgrad._public import publish
from funcgrad.scipy import linalg as linalg
from funcgrad.scipy import special as special

if TYPE_CHECKING:
    from funcgrad.scipy import fft as fft
    from funcgrad.scipy import integrate as integrate
    from funcgrad.scipy import interpolate as interpolate
    from funcgrad.scipy import ndimage as ndimage
    from funcgrad.scipy import optimize as optimize
    from funcgrad.scipy import signal as signal
    from funcgrad.scipy import sparse as sparse
    from funcgrad.scipy import spatial as spatial
    from funcgrad.scipy import stats as stats

__all__ = [
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
]

# What few programs use is imported when it is first asked for.
__getattr__ = lazy_submodules(
    __name__, ("fft", "integrate", "interpolate", "ndimage", "optimize", "signal", "sparse", "spatial", "stats")
)
__dir__ = publish(__name__)
