"""``scipy.special`` under autograd's name."""

from funcgrad.interop.autograd._namespace import namespace

__getattr__, __dir__ = namespace(__name__, "funcgrad.scipy.special", "scipy.special")
