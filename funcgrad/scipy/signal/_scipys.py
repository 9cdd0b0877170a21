"""SciPy's own functions of plain numbers: designs of filters, and choices that depend on lengths alone."""

from __future__ import annotations

from typing import Any

from funcgrad._core.bind import untraced
from funcgrad._core.lazy import LazyModule

_signal = LazyModule("scipy.signal")


def scipys(name: str, *args: Any, **options: Any) -> Any:
    """What ``scipy.signal`` gives; inside of ``fg.intercept()`` its own code meets plain arrays all the same."""
    with untraced():
        return getattr(_signal, name)(*args, **options)
