"""SciPy under autograd's name: the functions of `funcgrad.scipy`, and SciPy's for all other names."""

from funcgrad._core.lazy import LazyModule
from funcgrad._public import publish

# SciPy's modules are slow to import, so each is imported at its first use.
integrate = LazyModule(f"{__name__}.integrate")
linalg = LazyModule(f"{__name__}.linalg")
misc = LazyModule(f"{__name__}.misc")
signal = LazyModule(f"{__name__}.signal")
special = LazyModule(f"{__name__}.special")
stats = LazyModule(f"{__name__}.stats")

__all__ = ["integrate", "linalg", "misc", "signal", "special", "stats"]

__dir__ = publish(__name__)
