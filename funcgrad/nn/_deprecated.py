"""PyTorch's deprecated names: functions that warn, and then call the newer one."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any


def deprecated(newer: Callable[..., Any], old: str, new: str) -> Callable[..., Any]:
    """Return a function that warns with PyTorch's text, and calls the newer function."""

    @functools.wraps(newer)
    def function(*args: Any, **options: Any) -> Any:
        warnings.warn(f"`{old}` is now deprecated in favor of `{new}`.", FutureWarning, stacklevel=2)
        return newer(*args, **options)

    function.__name__ = function.__qualname__ = old.rpartition(".")[2]
    function.__doc__ = f"``torch.{old.removeprefix('torch.')}``: the deprecated name of `{new.rpartition('.')[2]}`."
    return function
