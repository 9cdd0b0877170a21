"""Compile generated source, and register its lines where tracebacks and debuggers look for them."""

from __future__ import annotations

import itertools
import linecache
import weakref
from collections.abc import Callable
from typing import Any

_serials = itertools.count(1)


def function_of(source: str, scope: dict[str, Any], name: str) -> Callable[..., Any]:
    """Return the function ``run`` that the source defines. Its lines are unregistered when the function is deleted."""
    filename = f"<funcgrad {name} {next(_serials)}>"
    # Calls of NumPy in generated code count as calls of this package.
    scope["__name__"] = __name__
    exec(compile(source, filename, "exec"), scope)
    run = scope.pop("run")
    linecache.cache[filename] = len(source), None, source.splitlines(keepends=True), filename
    weakref.finalize(run, linecache.cache.pop, filename, None).atexit = False
    return run
