"""``numpy.random`` under autograd's name: NumPy's own functions, whose results are constants for derivatives."""

from funcgrad.interop.autograd._namespace import namespace

__getattr__, __dir__ = namespace(__name__, "numpy.random")
