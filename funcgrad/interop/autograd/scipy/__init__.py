"""SciPy under autograd's name: functions of `funcgrad.scipy`, and SciPy's own for all else."""

from funcgrad._core.lazy import LazyModule
from funcgrad._public import publish

# SciPy's modules take their time: each is imported by who uses it.
integrate = LazyModule(f"{__name__}.integrate")
linalg = LazyModule(f"{__name__}.linalg")
misc = LazyModule(f"{__name__}.misc")
signal = LazyModule(f"{__name__}.signal")
special = LazyModule(f"{__name__}.special")
stats = LazyModule(f"{__name__}.stats")

__all__ = ["integrate", "linalg", "misc", "signal", "special", "stats"]

__dir__ = publish(__name__)
