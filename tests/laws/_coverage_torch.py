"""The part of ``docs/coverage.md`` about PyTorch's names: how many exist here, and the reasons for missing ones.

``python -m tests.laws._coverage_torch`` writes this part of the page again; with ``--names`` and PyTorch installed, the
list of PyTorch's names too.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from funcgrad import torch as ours
from funcgrad.torch import _names

PAGE = Path(__file__).parents[2] / "docs" / "coverage.md"
NAMES = Path(__file__).with_name("pytorch_names.txt")
MODULES = (
    "torch",
    "torch.Tensor",
    "torch.linalg",
    "torch.fft",
    "torch.special",
    "torch.autograd",
    "torch.func",
    "torch.distributions",
    "torch.nn",
    "torch.nn.functional",
    "torch.nn.init",
    "torch.nn.utils",
    "torch.optim",
    "torch.optim.lr_scheduler",
    "torch.utils.data",
)
# Names in PyTorch's modules that PyTorch does not document.
_INNER = ("Optional", "torch_function", "boolean_dispatch", "assert_int_or_pair", "datapipe", "DataPipe", "DataChunk")
HEAD = """## What PyTorch has that is not here

The table counts the names of PyTorch {version} that `funcgrad.torch` has. Below it stand the names that are missing,
with the reasons in `funcgrad/torch/_names.py`. A name without a reason is **not written yet**. Asking for a missing
name raises an `AttributeError` with the reason and the nearest name. [From PyTorch](start/from_pytorch.md) lists what
differs in the names that are here.

| module | here | of PyTorch's |
|---|---|---|
"""


def public_names(module: Any) -> list[str]:
    """Return the public functions and classes of a module of PyTorch, by its own list if it has one."""
    if inspect.isclass(module):
        return sorted(name for name in dir(module) if not name.startswith("_"))
    names = getattr(module, "__all__", None) or dir(module)
    found = []
    for name in names:
        value = getattr(module, name, None)
        inner = (
            name.startswith("_")
            or any(part in name for part in _INNER)
            or not callable(value)
            or inspect.ismodule(value)
        )
        if inner or (inspect.isclass(value) and not value.__module__.startswith("torch")):
            continue
        # The namespace `torch` has hundreds of internal types.
        if module.__name__ == "torch" and inspect.isclass(value):
            continue
        if module.__name__ in {"torch.nn.functional", "torch.nn.init"} and inspect.isclass(value):
            continue
        if inspect.isfunction(value) and not value.__module__.startswith("torch"):
            continue
        found.append(name)
    return sorted(set(found))


def known() -> tuple[str, dict[str, list[str]]]:
    """Return the version of PyTorch, and its names by module."""
    version, *rows = NAMES.read_text().splitlines()
    return version, {module: names.split() for module, _, names in (row.partition(": ") for row in rows)}


def missing(module: str, names: list[str]) -> dict[str, list[str]]:
    """Return the names that a module lacks, by reason."""
    mine: Any = ours
    for part in module.split(".")[1:]:
        mine = getattr(mine, part)
    found: dict[str, list[str]] = defaultdict(list)
    for name in names:
        if not hasattr(mine, name):
            found[_names.reason(name)].append(name)
    return dict(found)


def section() -> str:
    """Return the whole part of the page."""
    version, modules = known()
    lacks = {module: missing(module, names) for module, names in modules.items()}
    rows = [
        f"| `{module}` | {len(names) - sum(map(len, lacks[module].values()))} | {len(names)} |"
        for module, names in modules.items()
    ]
    reasons: dict[str, list[str]] = defaultdict(list)
    for module, found in lacks.items():
        prefix = module.removeprefix("torch").removeprefix(".")
        for reason, names in found.items():
            reasons[reason] += [f"`{prefix}.{name}`" if prefix else f"`{name}`" for name in names]
    order = sorted(reasons, key=lambda reason: reason != _names.UNWRITTEN)
    texts = [f"**{reason[0].upper()}{reason[1:]}**: {', '.join(reasons[reason])}.\n" for reason in order]
    return HEAD.format(version=version) + "\n".join(rows) + "\n\n" + "\n".join(texts)


def write() -> None:
    """Write PyTorch's names."""
    theirs: Any = importlib.import_module("torch")
    found = [theirs.Tensor if module == "torch.Tensor" else importlib.import_module(module) for module in MODULES]
    rows = [f"{module}: {' '.join(public_names(each))}" for module, each in zip(MODULES, found, strict=True)]
    NAMES.write_text("\n".join([theirs.__version__.partition("+")[0], *rows]) + "\n")


if __name__ == "__main__":
    if "--names" in sys.argv:
        write()
    start = PAGE.read_text().partition(HEAD.partition("\n")[0])[0]
    PAGE.write_text(start + section())
