"""Dtypes: the names of ``jax.dtypes``, which are NumPy's."""

from __future__ import annotations

import numpy as np
from ml_dtypes import bfloat16, finfo, iinfo

from funcgrad._types import DTypeLike
from funcgrad.jax._names import publish_as_jax
from funcgrad.numpy import issubdtype, result_type

__all__ = ["bfloat16", "canonicalize_dtype", "finfo", "iinfo", "issubdtype", "result_type"]


def canonicalize_dtype(dtype: DTypeLike, allow_extended_dtype: bool = False) -> np.dtype:
    """``jax.dtypes.canonicalize_dtype``: the dtype itself, because 64 bits stay 64 bits."""
    del allow_extended_dtype
    return np.dtype(dtype)


__dir__, __getattr__ = publish_as_jax(__name__, arrays=False)
