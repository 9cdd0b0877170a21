"""SciPy's functions for arrays of either engine and for tracers."""

from funcgrad.scipy import linalg as linalg
from funcgrad.scipy import special as special
