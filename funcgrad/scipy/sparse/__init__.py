"""``scipy.sparse`` with traced elements: sparse matrices, their products, and linear systems.

SciPy's own matrices, which are constants, need nothing of this: ``A @ x`` and ``x @ A`` take traced ``x``. A matrix of
traced elements is made here, where SciPy's class would take them for objects:

    >>> import numpy as np
    >>> import funcgrad as fg
    >>> rows, columns = np.array([0, 0, 1]), np.array([0, 1, 1])
    >>> def total(data):
    ...     a = fg.scipy.sparse.coo_array((data, (rows, columns)), shape=(2, 2))
    ...     return np.sum(fg.scipy.sparse.linalg.spsolve(a, np.array([4.0, 2.0])))
    >>> fg.grad(total)(np.array([2.0, 1.0, 1.0]))
    array([-0.5, -1. , -1. ])
"""

from funcgrad._public import publish
from funcgrad.scipy.sparse import linalg as linalg
from funcgrad.scipy.sparse._array import SparseArray, coo_array, csr_array, diags_array

__all__ = ["SparseArray", "coo_array", "csr_array", "diags_array", "linalg"]

__dir__ = publish(__name__)
