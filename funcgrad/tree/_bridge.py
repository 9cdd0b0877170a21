"""Do something with a module of another package once that is there, without ever importing it.

If the module is loaded, an action runs at once. If not, it waits, and a finder on `sys.meta_path` watches for the
import of its package, runs what waits when that import has finished, and takes itself away. Nothing is installed before
something waits, and nothing stays behind in the module that was imported.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, TypeAlias

Action: TypeAlias = Callable[[ModuleType], None]


class Bridge:
    """What waits for a module.

    Args:
        package: the package whose import loads the module.
        module: its name.
    """

    def __init__(self, package: str, module: str) -> None:
        self.package = package
        self.module = module
        self._lock = threading.RLock()
        self._pending: list[Action] = []
        self._watcher = _Watcher(self)

    def loaded(self) -> ModuleType | None:
        """The module if somebody has imported it completely, else None."""
        module = sys.modules.get(self.module)
        if module is None or getattr(module.__spec__, "_initializing", False):
            return None
        return module

    def when_loaded(self, action: Action) -> None:
        """Run ``action(module)`` now, or as soon as anyone has imported the package."""
        with self._lock:
            self._pending.append(action)
            if not self.run_pending() and self._watcher not in sys.meta_path:
                sys.meta_path.insert(0, self._watcher)

    def run_pending(self) -> bool:
        """Run what waits for the module; False if it is not there yet."""
        module = self.loaded()
        if module is None:
            return False
        with self._lock:
            while self._pending:
                self._run(self._pending.pop(0), module)
            if self._watcher in sys.meta_path:
                # A new list, not `remove`: an import under way may be iterating over the old one and would skip a
                # finder.
                sys.meta_path = [finder for finder in sys.meta_path if finder is not self._watcher]
        return True

    def _run(self, action: Action, module: ModuleType) -> None:
        try:
            action(module)
        except Exception as error:  # noqa: BLE001  (an import that is not ours must not fail on our account)
            text = f"A pytree class could not be registered with {self.module}: {error}"
            warnings.warn(text, RuntimeWarning, stacklevel=2)


class _WatchedLoader:
    """Load a module as the given loader does, then run what waits for JAX."""

    def __init__(self, loader: Any, bridge: Bridge) -> None:
        self.loader = loader
        self.bridge = bridge

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own loader back, execute it, and run what waits."""
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        self.bridge.run_pending()


class _Watcher(threading.local):
    """The finder: lets the other finders find a package, and wraps the loader they give."""

    searching = False

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Find the package through the other finders; leave every other module to them."""
        if name != self.bridge.package:
            # If it was being imported when we began to watch, its search is past; its submodules still come by here.
            self.bridge.run_pending()
            return None
        if self.searching:
            return None
        self.searching = True
        try:
            spec = self._find_with_the_others(name, path, target)
        finally:
            self.searching = False
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _WatchedLoader(spec.loader, self.bridge)  # pyright: ignore[reportAttributeAccessIssue]  (a loader by duck type)
        return spec

    def _find_with_the_others(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            if finder is not self and (spec := finder.find_spec(name, path, target)) is not None:
                return spec
        return None


JAX = Bridge("jax", "jax.tree_util")
FLAX = Bridge("flax", "flax.serialization")
