"""The fields of a primitive's record that engines compile it by, other than by a call of its NumPy function."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple

import numpy as np


class Basic(Enum):
    """The basic operations, which engines have code of their own for. A primitive's record names its operation.

    The parameters of such a primitive have the names and the meaning of the library's own.
    """

    BARRIER = "the operands as they are, kept apart from other operations or tied to a place"
    BROADCAST = "broadcast_to"
    CAST = "cast"
    CHOLESKY = "the lower triangular factor of a positive definite matrix"
    CONCATENATE = "arrays joined along an axis"
    COND = "one of two programs, by a flag"
    COPY = "copy"
    DET = "the determinant"
    DIAGONAL = "a diagonal of a matrix"
    DOT_GENERAL = "dot_general"
    EMBED_DIAGONAL = "a matrix of zeros around a diagonal"
    EMBEDDING = "rows of a table"
    FILL = "an array of one number, in the shape of the operand"
    FLIP = "the elements in reverse order along some axes"
    GUARD = "an end of the program, unless the operand answers a question as it did"
    INDEX = "x[index]"
    LU = "an elimination with exchange of rows: factors, pivots, order of rows"
    MATMUL = "matmul"
    PERMUTED_ROWS = "the rows of a matrix in an order, or where they were before it"
    POWER = "a power with a known exponent"
    REDUCTION = "a ufunc's reduction over axes"
    RESHAPE = "reshape"
    SCAN = "a program that is run for each row of arrays, and carries values along"
    SCATTER = "zeros, to which arrays are added at indices"
    SLOGDET = "the sign of the determinant, and the logarithm of its size"
    SOLVE = "solve"
    SPLIT = "the numbers of a vector, one by one"
    STACK = "arrays of one shape joined along a new axis"
    STOP_GRADIENT = "the operand as it is"
    TRANSPOSE = "transpose"
    TRIANGLE = "the elements on one side of a diagonal, and zeros"
    TRIANGULAR_SOLVE = "a linear system with a triangle of a matrix"
    WHILE = "a program that is run while a condition holds"
    WRITE = "x with other values at an index"


class Requirement(Enum):
    """A condition on the numbers of the last operand. NumPy raises if it is broken; a compiled program cannot."""

    HAS_ROOM = "the number fits into the dtype that a parameter names"
    NOT_NEGATIVE = "an exponent of integers is not negative"


class Forms(NamedTuple):
    """Optional fields of a primitive's record, which engines and the simplifier read.

    Args:
        basic: the primitive's basic operation.
        ufunc: the ufunc that a reduction repeats.
        special: the name of the ufunc of ``scipy.special`` with the same values. Kernels call its inner loop.
        expand: computes the same values by basic operations, ``expand(*operands, **params)``. The numbers must equal
            those of the primitive's NumPy implementation to the last bit.
        new_memory: whether results of the NumPy implementation never share memory with operands.
        layout: computes the layout of the result on a mesh with explicit axes, from the layouts of the operands:
            ``layout(*operands, **params)``. See ``_core/spread.py``.
        requires: a condition on the last operand, which XLA checks after the call.
        fold: gives the result if the types of the operands determine it. ``fold(operands, aval, **params)`` returns an
            operand, a number, or ``None``.
        depends: says which elements of the operands each element of a result depends on. See its
            module, ``_ops/layout/depends.py``.
    """

    basic: Basic | None = None
    ufunc: np.ufunc | None = None
    special: str | None = None
    expand: Callable[..., Any] | None = None
    new_memory: bool = False
    layout: Callable[..., Any] | None = None
    requires: Requirement | None = None
    fold: Callable[..., Any] | None = None
    depends: Callable[..., Any] | None = None


NO_FORMS = Forms()
NEW_MEMORY = Forms(new_memory=True)
