"""What depends on the version of SciPy that is installed."""

from __future__ import annotations

import functools

import numpy as np

from funcgrad._core.lazy import load


@functools.cache
def since(version: str) -> bool:
    """Return whether SciPy is of this version, such as ``"1.18.0"``, or a later one."""
    return np.lib.NumpyVersion(load("scipy").__version__) >= version
