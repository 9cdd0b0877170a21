"""The name of a function and the line of its definition, for messages."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from typing import Any


def definition_of(f: Callable[..., Any]) -> str:
    """Return the name of a function, with the line of its definition if it has one."""
    name = getattr(f, "__name__", None) or type(f).__name__
    code = getattr(inspect.unwrap(f), "__code__", None)
    return name if code is None else f"{name} ({os.path.basename(code.co_filename)}:{code.co_firstlineno})"
