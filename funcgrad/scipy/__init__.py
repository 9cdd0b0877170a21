"""SciPy's functions for arrays of either engine and for tracers."""

from funcgrad._public import publish
from funcgrad.scipy import linalg as linalg
from funcgrad.scipy import special as special

__all__ = ["linalg", "special"]

__dir__ = publish(__name__)
