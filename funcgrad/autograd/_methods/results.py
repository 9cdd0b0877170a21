"""PyTorch's named tuples of results, such as those of ``t.max(dim=0)``."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

from funcgrad._types import Tensor


def _shown(self: Tensor) -> str:
    parts = ",\n".join(f"{name}={value!r}" for name, value in zip(self._fields, self, strict=True))
    return f"torch.return_types.{type(self).__name__}(\n{parts})"


_ORDERED = "max min median nanmedian mode sort topk kthvalue cummax cummin"
_FIELDS = {
    **dict.fromkeys(_ORDERED.split(), "values indices"),
    "aminmax": "min max",
    "frexp": "mantissa exponent",
    **dict.fromkeys(("histogram", "histogramdd"), "hist bin_edges"),
    "lu_unpack": "P L U",
    "qr": "Q R",
    "slogdet": "sign logabsdet",
    "svd": "U S V",
    "triangular_solve": "solution cloned_coefficient",
    "linalg_slogdet": "sign logabsdet",
    "linalg_qr": "Q R",
    "linalg_eig": "eigenvalues eigenvectors",
    "linalg_eigh": "eigenvalues eigenvectors",
    "linalg_svd": "U S Vh",
    "linalg_lstsq": "solution residuals rank singular_values",
    "linalg_lu": "P L U",
    "linalg_lu_factor_ex": "LU pivots info",
    "linalg_lu_factor": "LU pivots",
    "linalg_cholesky_ex": "L info",
    "linalg_inv_ex": "inverse info",
    "linalg_solve_ex": "result info",
    "geqrf": "a tau",
    "linalg_ldl_factor": "LD pivots",
    "linalg_ldl_factor_ex": "LD pivots info",
}
RETURN_TYPES: dict[str, Any] = {
    name: namedtuple(name, fields)  # noqa: PYI024  (the fields are rows of a table)
    for name, fields in _FIELDS.items()
}
for _kind in RETURN_TYPES.values():
    _kind.__repr__ = _shown
