"""The ``special`` extension of the Array API, which SciPy asks a namespace for if ``SCIPY_ARRAY_API=1``.

The extension is a proposal: https://github.com/data-apis/array-api/issues/725
"""

from __future__ import annotations

from typing import Any

from funcgrad._core.lazy import LazyModule, load

_ufuncs = LazyModule("scipy.special._ufuncs")


def __getattr__(name: str) -> Any:
    """Return our function, else SciPy's ufunc, which refuses traced values by its name."""
    if name.startswith("_"):
        raise AttributeError(name)
    ours = load("funcgrad.scipy.special")
    return getattr(ours, name) if name in ours.__all__ else getattr(_ufuncs, name)
