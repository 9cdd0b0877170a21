"""A plugin for pytest in which ``import autograd`` gives ``funcgrad.interop.autograd``."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType

_OURS = "funcgrad.interop.autograd"


class _Loader(importlib.abc.Loader):
    def exec_module(self, module: ModuleType) -> None:
        """Put our module in place of the empty one."""
        sys.modules[module.__name__] = importlib.import_module(_OURS + module.__name__.removeprefix("autograd"))


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        del path, target
        if fullname.partition(".")[0] != "autograd":
            return None
        return importlib.machinery.ModuleSpec(fullname, _Loader(), is_package=True)


def install() -> None:
    """Replace ``autograd`` in this process."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


if __name__ == "as_autograd":
    install()
