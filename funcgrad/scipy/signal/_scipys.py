"""SciPy's own functions on plain numbers: filter designs, and choices that depend on lengths only."""

from __future__ import annotations

from typing import Any

from funcgrad._core.bind import untraced
from funcgrad._core.lazy import LazyModule

_signal = LazyModule("scipy.signal")


def scipys(name: str, *args: Any, **options: Any) -> Any:
    """Call a function of ``scipy.signal`` outside all transforms, also inside ``fg.intercept()``."""
    with untraced():
        return getattr(_signal, name)(*args, **options)
