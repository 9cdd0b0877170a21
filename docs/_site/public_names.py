"""Every public name of the package, by the page of the reference that it stands on.

Pages are made, not written: a module joins by existing, and a name by standing in its module's ``__all__``.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import pkgutil
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import funcgrad
from funcgrad._public import origins

# Chapters of the reference, each with the modules whose names begin so; the longest beginning decides.
CHAPTERS = {
    "Transforms": ("funcgrad", "funcgrad.sparse"),
    "NumPy": ("funcgrad.numpy",),
    "SciPy": ("funcgrad.scipy",),
    "Random numbers": ("funcgrad.random",),
    "Optimizers": ("funcgrad.optim", "funcgrad.sharding"),
    "Tensors and networks": ("funcgrad.autograd", "funcgrad.nn"),
    "PyTorch's namespace": ("funcgrad.torch",),
    "Trees and files": ("funcgrad.tree", "funcgrad.io"),
    "Other libraries": ("funcgrad.interop",),
    "JAX's names": ("funcgrad.jax",),
    "Errors, checks, extension": (
        "funcgrad.errors",
        "funcgrad.testing",
        "funcgrad.extend",
        "funcgrad.numpy.extend",
        "funcgrad.autograd.extend",
        "funcgrad.nn.extend",
        "funcgrad.optim.extend",
        "funcgrad.random.extend",
        "funcgrad.tree.extend",
    ),
}
# Parts of a module that get a page of their own, by the folder they are written in, and the page's title. All other
# names of a module stand on the module's own page.
GROUPS = {
    "funcgrad": {
        "_transforms.derivative": "Derivatives",
        "_transforms.compiled": "Compilation",
        "_transforms.vmap": "Batches",
        "_transforms.control": "Control flow",
        "_transforms.custom": "Derivatives of one's own",
    },
    "funcgrad.numpy": {
        "_math": "Elementwise mathematics",
        "_reduce": "Reductions, statistics, sorting",
        "_contract": "Products and convolutions",
        "_layout": "Making and shaping arrays",
        "_choose": "Choosing and indexing",
    },
}
# Functions that NumPy, SciPy, JAX or PyTorch name. The pages of these libraries say what they compute; what is said
# here is made by calling them.
MIRRORS = ("funcgrad.numpy", "funcgrad.scipy", "funcgrad.torch", "funcgrad.jax")


@dataclass
class Page:
    """A page of the reference: a module, or a part of one, and its names by the headings that they stand under."""

    module: str
    title: str
    path: str
    names: dict[str, list[str]] = field(default_factory=dict)

    def entries(self) -> Iterator[tuple[str, Any]]:
        """Its names with what they name."""
        module = importlib.import_module(self.module)
        for names in self.names.values():
            for name in names:
                yield name, getattr(module, name)


@functools.cache
def modules() -> list[str]:
    """All public modules, by name."""
    found = pkgutil.walk_packages(funcgrad.__path__, "funcgrad.")
    public = (info.name for info in found if not any(part.startswith("_") for part in info.name.split(".")))
    return ["funcgrad", *sorted(public)]


def pages(name: str) -> list[Page]:
    """The pages of a module: its own first."""
    module = importlib.import_module(name)
    groups, known = GROUPS.get(name, {}), modules()
    found = {"": Page(name, name, name)}
    for key, title in groups.items():
        found[key] = Page(name, title, f"{name}.{slug(title)}")
    for each in sorted(module.__all__, key=lambda text: (text.lower(), text)):
        value = getattr(module, each)
        if callable(value) or (not inspect.ismodule(value) and f"{name}.{each}" not in known):
            origin = origin_of(value).removeprefix(f"{name}.")
            key = max((key for key in groups if f"{origin}.".startswith(f"{key}.")), key=len, default="")
            heading = heading_of(value, name, found[key].title) if own(value, name) else ""
            found[key].names.setdefault(heading, []).append(each)
    return [page for key, page in found.items() if page.names or not key]


def slug(title: str) -> str:
    """A title as part of an address."""
    return "-".join(re.findall(r"[a-z]+", title.lower().replace("'", "")))


def chapter(name: str) -> str:
    """The chapter in which a module stands."""
    fits = [
        (len(begin), title)
        for title, begins in CHAPTERS.items()
        for begin in begins
        if f"{name}.".startswith(f"{begin}.")
    ]
    return max(fits)[1]


def origin_of(value: Any) -> str:
    """The module in which a published name was written; ``""`` for what others wrote."""
    try:
        return origins.get(value, "")
    except TypeError:
        return ""


def own(value: Any, module: str) -> bool:
    """Whether this module is the one after which a function, class or instance of ours is named."""
    kind = value if isinstance(value, type) or inspect.isfunction(value) else type(value)
    if not kind.__module__.startswith("funcgrad"):
        return False
    if isinstance(value, type) or inspect.isfunction(value):
        return value.__module__ == module
    home = kind.__module__.partition("._")[0]
    return f"{module}.".startswith(f"{home}.") and (home == module or not module.startswith("funcgrad.interop"))


def mirrors(value: Any, module: str) -> bool:
    """Whether a function is one of NumPy's or SciPy's, under its own name and with its meaning."""
    return bool(mirrored(value, module))


def mirrored(value: Any, module: str) -> str:
    """The name in NumPy or SciPy of what a function mirrors: by its docstring, or by its own name; ``""`` for none.

    A namespace mirrors no function, though it has a name of theirs.
    """
    if not (module.startswith(MIRRORS) and callable(value)):
        return ""
    said = inspect.getdoc(value) or ""
    if said.startswith(("``numpy.", "``scipy.", "``torch.")):
        return said.split("``")[1]
    theirs, name = module.removeprefix("funcgrad."), getattr(value, "__name__", "")
    # PyTorch is no dependency. The answer must not depend on whether it is installed.
    known = not theirs.startswith("torch") and importlib.util.find_spec(theirs)
    there = known and hasattr(importlib.import_module(theirs), name)
    return f"{theirs}.{name}" if there else ""


def heading_of(value: Any, module: str, title: str) -> str:
    """Under which heading of its page a name of ours stands: optimizers by their rule, all others by their file."""
    if module == "funcgrad.optim":
        stem = (
            getattr(value, "__name__", "").removesuffix("State").removesuffix("_init").removesuffix("_update").lower()
        )
        rules = {
            each.__name__.lower(): each.__name__ for each in vars(funcgrad.optim).values() if inspect.isclass(each)
        }
        return rules.get(stem, "For all rules") if f"{stem}_init" in funcgrad.optim.__all__ else "For all rules"
    if title in GROUPS.get(module, {}).values() and module != "funcgrad":
        return origin_of(value).rpartition(".")[2].replace("_", " ").capitalize()
    return ""


def link(value: Any, name: str, module: ModuleType) -> str:
    """Return the text for a name with its entry elsewhere: a link, or another library's name."""
    if inspect.ismodule(value):
        return f"module ``{value.__name__}``"
    where = getattr(value, "__module__", None) or type(value).__module__
    known = getattr(value, "__qualname__", getattr(value, "__name__", name))
    if where.startswith("funcgrad"):
        return f":py:obj:`{where}.{known}`"
    if isinstance(value, type) or callable(value):
        return f"``{where}.{known}``"
    text = repr(value)
    return f"``{text}``" if len(text) < 60 else f"a ``{type(value).__name__}`` of ``{where}``"
