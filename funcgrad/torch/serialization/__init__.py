"""``torch.serialization``: files in PyTorch's format, and the classes that they may name."""

from typing import Any

from funcgrad._public import publish as _publish
from funcgrad.torch import _names
from funcgrad.torch.serialization._classes import add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from funcgrad.torch.serialization._load import load
from funcgrad.torch.serialization._save import save

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "load", "safe_globals", "save"]


def __getattr__(name: str) -> Any:
    return _names.refuse("torch.serialization", name, globals())


__dir__ = _publish(__name__)
