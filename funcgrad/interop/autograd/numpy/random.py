"""``numpy.random`` under autograd's name: NumPy's own, whose numbers are constants to every derivative."""

from funcgrad.interop.autograd._namespace import namespace

__getattr__, __dir__ = namespace(__name__, "numpy.random")
