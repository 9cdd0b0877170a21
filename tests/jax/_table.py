"""Write ``docs/start/jax_names.md``, the table of JAX's names: ``python -m tests.jax._table``."""

from __future__ import annotations

import importlib
import pkgutil
from pathlib import Path

import funcgrad.jax
from funcgrad.jax._absent import ABSENT
from funcgrad.jax._arguments import ABSENT_ARGUMENTS
from tests.jax.rows.numpy import names

PAGE = Path(__file__).parents[2] / "docs/start/jax_names.md"
# The release of JAX whose names the table has.
RELEASE = "0.10"
MODULES = (
    *("jax", "jax.numpy", "jax.numpy.linalg", "jax.numpy.fft", "jax.lax", "jax.lax.linalg", "jax.nn"),
    *("jax.nn.initializers", "jax.random", "jax.tree", "jax.tree_util", "jax.flatten_util", "jax.ops", "jax.debug"),
    "jax.image",
    *("jax.dtypes", "jax.typing", "jax.scipy", "jax.scipy.fft", "jax.scipy.integrate", "jax.scipy.interpolate"),
    *("jax.scipy.linalg", "jax.scipy.ndimage", "jax.scipy.optimize", "jax.scipy.signal", "jax.scipy.special"),
    *("jax.scipy.stats", "jax.scipy.sparse.linalg", "jax.scipy.cluster.vq"),
)
HEAD = """# Which of JAX's names are here

`import funcgrad.jax as jax` has these of JAX 0.10's public names. The tables below name what is missing, with the
reason. The error of a missing name says the same. JAX's primitives (`add_p`) are missing: funcgrad has its own.

| module | names here | of JAX's |
|---|---|---|
"""
ARGUMENTS = """All other arguments have JAX's names. Options that say how JAX computes, such as `precision`, change
nothing."""


def public_of_jax(module: str) -> set[str]:
    """Return the public names of a module of JAX, without primitives."""
    theirs = importlib.import_module(module)
    if module == "jax.scipy":
        return {info.name for info in pkgutil.iter_modules(theirs.__path__) if not info.name.startswith("_")}
    found = {name for name in dir(theirs) if not name.startswith("_") and not name.endswith("_p")}
    # A module that another test has imported is among the names of its package.
    loaded = {info.name for info in pkgutil.iter_modules(getattr(theirs, "__path__", []))}
    return (found - loaded) | (_SUBMODULES & loaded) if module == "jax" else found


# The public modules of JAX.
_SUBMODULES = frozenset(
    names(
        """custom_batching custom_derivatives debug distributed dlpack dtypes experimental export ffi flatten_util
        image interpreters lax lib monitoring nn numpy ops profiler random ref scipy sharding stages tree
        tree_util typing version api_util core ad errors memory"""
    )
)


def here(module: str) -> set[str]:
    """Return our public names."""
    return set(importlib.import_module(f"funcgrad.{module}").__all__)


def text() -> str:
    """Return the page."""
    lines = [HEAD.rstrip("\n")]
    for module in MODULES:
        found, ours = public_of_jax(module), here(module)
        lines.append(f"| `{module}` | {len(found & ours)} | {len(found)} |")
    for module in MODULES:
        reasons: dict[str, list[str]] = {}
        for name, reason in ABSENT.get(module, {}).items():
            reasons.setdefault(reason, []).append(name)
        if reasons:
            lines += ["", f"## Missing in {module}", "", "| name | why |", "|---|---|"]
            rows = [(", ".join(f"`{name}`" for name in sorted(found)), reason) for reason, found in reasons.items()]
            lines += [f"| {listed} | {reason} |" for listed, reason in sorted(rows)]
    lines += ["", "## Arguments that are missing", "", ARGUMENTS, "", "| argument | why |", "|---|---|"]
    by_reason: dict[str, list[str]] = {}
    for function, arguments in ABSENT_ARGUMENTS.items():
        for argument, reason in arguments.items():
            by_reason.setdefault(reason, []).append(f"`{function}({argument}=)`")
    lines += [f"| {', '.join(listed)} | {reason} |" for reason, listed in by_reason.items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    assert funcgrad.jax
    PAGE.write_text(text())
