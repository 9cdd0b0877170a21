"""Do something with `jax.tree_util` once JAX is there, without ever importing JAX.

If JAX is loaded, an action runs at once. If not, it waits, and a finder on `sys.meta_path` watches for the import of
`jax`, runs what waits when that import has finished, and takes itself away. Nothing is installed before something
waits, and nothing stays behind in the module that was imported.
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

_lock = threading.RLock()
_pending: list[Action] = []


def loaded_tree_util() -> ModuleType | None:
    """`jax.tree_util` if somebody has imported it completely, else None."""
    module = sys.modules.get("jax.tree_util")
    if module is None or getattr(module.__spec__, "_initializing", False):
        return None
    return module


def when_jax_is_loaded(action: Action) -> None:
    """Run `action(jax.tree_util)` now, or as soon as anyone has imported JAX."""
    with _lock:
        _pending.append(action)
        if not run_pending() and _watcher not in sys.meta_path:
            sys.meta_path.insert(0, _watcher)


def run_pending() -> bool:
    """Run what waits for JAX; False if JAX is not there yet."""
    tree_util = loaded_tree_util()
    if tree_util is None:
        return False
    with _lock:
        while _pending:
            _run(_pending.pop(0), tree_util)
        if _watcher in sys.meta_path:
            # A new list, not `remove`: an import under way may be iterating over the old one and would skip a finder.
            sys.meta_path = [finder for finder in sys.meta_path if finder is not _watcher]
    return True


def _run(action: Action, tree_util: ModuleType) -> None:
    try:
        action(tree_util)
    except Exception as error:  # noqa: BLE001  (an import of JAX, which is not ours, must not fail on our account)
        warnings.warn(f"A pytree class could not be registered with JAX: {error}", RuntimeWarning, stacklevel=2)


class _WatchedLoader:
    """Load a module as the given loader does, then run what waits for JAX."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)

    def exec_module(self, module: ModuleType) -> None:
        """Give the module its own loader back, execute it, and run what waits."""
        module.__loader__ = self.loader
        if module.__spec__ is not None:
            module.__spec__.loader = self.loader
        self.loader.exec_module(module)
        run_pending()


class _Watcher(threading.local):
    """The finder: lets the other finders find `jax`, and wraps the loader they give."""

    searching = False

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        """Find `jax` through the other finders; leave every other module to them."""
        if name != "jax":
            # If JAX was being imported when we began to watch, its search is past; its submodules still come by here.
            run_pending()
            return None
        if self.searching:
            return None
        self.searching = True
        try:
            spec = self._find_with_the_others(name, path, target)
        finally:
            self.searching = False
        if spec is not None and hasattr(spec.loader, "exec_module"):
            spec.loader = _WatchedLoader(spec.loader)  # pyright: ignore[reportAttributeAccessIssue]  (a loader by duck type)
        return spec

    def _find_with_the_others(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        for finder in list(sys.meta_path):
            if finder is not self and (spec := finder.find_spec(name, path, target)) is not None:
                return spec
        return None


_watcher = _Watcher()
