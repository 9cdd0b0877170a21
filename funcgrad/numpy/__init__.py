"""NumPy's functions for arrays of either engine and for tracers; NumPy's protocols dispatch here."""

from funcgrad.numpy import _protocols as _protocols
from funcgrad.numpy._elementwise import (
    absolute as absolute,
)
