"""The releases of NumPy and SciPy that are installed, for functions whose results differ between releases."""

from __future__ import annotations

import functools

import numpy as np

from funcgrad._core.lazy import load

NUMPY_2_5 = np.lib.NumpyVersion(np.__version__) >= "2.5.0"


@functools.cache
def is_scipy_since(version: str) -> bool:
    """Return whether SciPy is of this version, such as ``"1.18.0"``, or a later one."""
    return np.lib.NumpyVersion(load("scipy").__version__) >= version
