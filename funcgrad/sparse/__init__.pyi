# The public names of funcgrad.sparse. `__init__.py` loads each one from the module named here when it is first used.

from ._functions import (
    hessian as hessian,
    hessian_pattern as hessian_pattern,
    hessian_values as hessian_values,
    jacobian as jacobian,
    jacobian_pattern as jacobian_pattern,
    jacobian_values as jacobian_values,
)
from ._matrix import SparseDerivative as SparseDerivative
from ._rows import Rows as Rows

__all__ = [
    "Rows",
    "SparseDerivative",
    "hessian",
    "hessian_pattern",
    "hessian_values",
    "jacobian",
    "jacobian_pattern",
    "jacobian_values",
]
