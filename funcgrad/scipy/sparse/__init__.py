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
from funcgrad.scipy.sparse._array import (
    SparseArray,
    SparseMatrix,
    coo_array,
    coo_matrix,
    csc_array,
    csc_matrix,
    csr_array,
    csr_matrix,
    diags,
    diags_array,
    has_traced_elements,
)

__all__ = [
    "SparseArray",
    "SparseMatrix",
    "coo_array",
    "coo_matrix",
    "csc_array",
    "csc_matrix",
    "csr_array",
    "csr_matrix",
    "diags",
    "diags_array",
    "linalg",
]

# ``fg.intercept()`` reads these: which calls are ours, and what our functions make in the place of SciPy's classes.
IS_OURS = has_traced_elements
MADE = {
    **dict.fromkeys(("coo_array", "csc_array", "csr_array"), SparseArray),
    **dict.fromkeys(("coo_matrix", "csc_matrix", "csr_matrix"), SparseMatrix),
}

__dir__ = publish(__name__)
