"""NumPy under autograd's name: the functions of `funcgrad.numpy`, and NumPy's for all other names.

NumPy's creation functions return plain arrays, as in autograd. A list that contains traced values becomes a traced
array.
"""

# This file has no code of its own, because NumPy's ``any`` and ``sum`` would replace Python's here. Creation functions
# are NumPy's: programs for autograd do not write traced values into new arrays, and SciPy accepts only plain arrays.
from numpy import __version__ as __version__
from numpy import arange as arange
from numpy import empty as empty
from numpy import eye as eye
from numpy import frombuffer as frombuffer
from numpy import fromfunction as fromfunction
from numpy import identity as identity
from numpy import loadtxt as loadtxt
from numpy import ones as ones
from numpy import tri as tri
from numpy import zeros as zeros

from funcgrad._public import publish as _publish
from funcgrad.interop.autograd._namespace import namespace as _namespace
from funcgrad.interop.autograd.numpy import fft as fft
from funcgrad.interop.autograd.numpy import linalg as linalg
from funcgrad.interop.autograd.numpy import numpy_boxes as numpy_boxes
from funcgrad.interop.autograd.numpy import numpy_vjps as numpy_vjps
from funcgrad.interop.autograd.numpy import numpy_vspaces as numpy_vspaces
from funcgrad.interop.autograd.numpy import random as random
from funcgrad.interop.autograd.numpy._makers import array as array
from funcgrad.interop.autograd.numpy._makers import asarray as asarray
from funcgrad.interop.autograd.numpy._makers import full as full
from funcgrad.interop.autograd.numpy._makers import int8 as int8
from funcgrad.interop.autograd.numpy._makers import int16 as int16
from funcgrad.interop.autograd.numpy._makers import int32 as int32
from funcgrad.interop.autograd.numpy._makers import int64 as int64
from funcgrad.interop.autograd.numpy._makers import make_diagonal as make_diagonal
from funcgrad.interop.autograd.numpy._makers import metadata as metadata

__getattr__, __dir__ = _namespace(
    __name__,
    "funcgrad.numpy",
    "numpy",
    own=("make_diagonal", "metadata", "numpy_boxes", "numpy_vjps", "numpy_vspaces"),
    without=("char", "core", "ctypeslib", "f2py", "ma", "polynomial", "rec", "strings", "test", "testing", "typing"),
)
_publish(__name__)
