"""Run an action on a module of another package as soon as that module is imported, without importing it.

If the module is loaded, the action runs at once. If not, a finder on `sys.meta_path` waits for the import of the
package, runs the pending actions when that import has finished, and removes itself. The finder is installed only while
an action is pending, and it leaves no change in the imported module.
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
    """The actions that wait for a module to be imported.

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
        """Return the module if it has been imported completely, else None."""
        module = sys.modules.get(self.module)
        if module is None or getattr(module.__spec__, "_initializing", False):
            return None
        return module

    def when_loaded(self, action: Action) -> None:
        """Run ``action(module)`` now, or as soon as the package is imported."""
        with self._lock:
            self._pending.append(action)
            if not self.run_pending() and self._watcher not in sys.meta_path:
                sys.meta_path.insert(0, self._watcher)

    def run_pending(self) -> bool:
        """Run the pending actions; return False if the module is not loaded yet."""
        module = self.loaded()
        if module is None:
            return False
        with self._lock:
            while self._pending:
                self._run(self._pending.pop(0), module)
            if self._watcher in sys.meta_path:
                # Assign a new list. `remove` would change the list that a running import iterates over, and that import
                # would skip a finder.
                sys.meta_path = [finder for finder in sys.meta_path if finder is not self._watcher]
        return True

    def _run(self, action: Action, module: ModuleType) -> None:
        try:
            action(module)
        except Exception as error:  # noqa: BLE001  (a failing action must not make the import fail)
            text = f"A pytree class could not be registered with {self.module}: {error}"
            warnings.warn(text, RuntimeWarning, stacklevel=2)


class _WatchedLoader:
    """Load a module with the given loader, then run the pending actions."""

    def __init__(self, loader: Any, bridge: Bridge) -> None:
        self.loader = loader
        self.bridge = bridge

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def exec_module(self, module: ModuleType) -> None:
        """Restore the module's own loader, execute the module, and run the pending actions."""
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        self.bridge.run_pending()


class _Watcher(threading.local):
    """Find a package through the other finders, and wrap the loader that they return."""

    searching = False

    def __init__(self, bridge: Bridge) -> None:
        self.bridge = bridge

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the package's spec with a wrapped loader, and None for every other module."""
        if name != self.bridge.package:
            # If the package was being imported when the finder was added, its own search is over. Its submodules still
            # pass here.
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
