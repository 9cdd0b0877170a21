"""``numpy.fft`` under autograd's name."""

from funcgrad.interop.autograd._namespace import namespace

__getattr__, __dir__ = namespace(__name__, "funcgrad.numpy.fft", "numpy.fft")
