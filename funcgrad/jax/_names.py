"""Publish the names of the modules of `funcgrad.jax`, and give the reason for each missing name."""

from __future__ import annotations

import difflib
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from funcgrad._engines.xla.record import jax_names
from funcgrad._public import publish
from funcgrad.jax._absent import ABSENT, NEVER
from funcgrad.jax._arguments import first_arguments
from funcgrad.jax._array import with_arrays

# The functions that take and return JAX's arrays already.
_made: set[Any] = set()


def publish_as_jax(
    name: str, *, arrays: bool = True, later: Mapping[str, Callable[[], Any]] | None = None, jaxs: Sequence[str] = ()
) -> tuple[Callable[[], list[str]], Callable[[str], Any]]:
    """Publish the names of a module of `funcgrad.jax`. To be called at the module's end.

    Args:
        name: the module's ``__name__``.
        arrays: whether its functions are to take and return `Array` s.
        later: names that are loaded when they are first used, and how.
        jaxs: names of types and settings that are JAX's own. They are loaded from JAX when they are first used.

    Returns:
        The module's ``__dir__`` and ``__getattr__``.
    """
    module = sys.modules[name]
    names = vars(module).get("__all__") or [each for each in vars(module) if not each.startswith("_")]
    loaders = {**(later or {}), **{each: _from_jax(name, each) for each in jaxs}}
    vars(module)["__all__"] = sorted({*names, *loaders})
    arguments = first_arguments(name.removeprefix("funcgrad."))
    for each in names if arrays else ():
        value = getattr(module, each)
        if callable(value) and not isinstance(value, type) and (value not in _made or each in arguments):
            plainly = inspect.unwrap(value, stop=lambda f: f not in _made) if value in _made else value
            made = _renamed(with_arrays(plainly, arguments.get(each, ())), each, name)
            _made.add(made)
            setattr(module, each, made)

    def load(attribute: str) -> Any:
        return loaders[attribute]() if attribute in loaders else refuse(name, attribute)

    return publish(name), load


def _from_jax(module: str, name: str) -> Callable[[], Any]:
    path = f"{module}.{name}".removeprefix("funcgrad.jax.")
    return lambda: jax_names.lookup(path)


def _renamed(f: Any, name: str, module: str) -> Any:
    f.__name__ = f.__qualname__ = name
    f.__module__ = module
    # The examples of the function that it wraps show other arrays, and are in the docstring of that function.
    f.__doc__ = (inspect.getdoc(f) or "").partition("\n\n")[0]
    return f


def refuse(module: str, name: str) -> NoReturn:
    """Raise the error for a name that a module does not have: the reason, or the nearest name.

    Raises:
        AttributeError: always.
    """
    theirs = module.removeprefix("funcgrad.")
    asked = f"module {module!r} has no attribute {name!r}"
    if name.startswith("__"):
        raise AttributeError(asked)
    reason = reason_of(theirs, name)
    if reason:
        raise AttributeError(f"{asked}: {reason}")
    near = difflib.get_close_matches(name, dir(sys.modules[module]), 1)
    hint = f"The nearest name is {near[0]}." if near else f"dir({module}) lists the names that are there."
    raise AttributeError(f"{asked}. {hint} docs/start/jax_names.md says which of JAX's names are there.")


def reason_of(module: str, name: str) -> str:
    """Return why a public name of JAX's is not here; ``""`` if no reason is known.

    Args:
        module: JAX's module, for example ``"jax.lax"``.
        name: a name in it.
    """
    found = ABSENT.get(module, {}).get(name, "")
    if not found and name.endswith("_p"):
        found = NEVER["primitive"]
    return found
