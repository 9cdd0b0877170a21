"""One word stands for one thing: no two classes of the package have the same name."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import funcgrad

PACKAGE = Path(funcgrad.__file__).parent
# Names that other libraries gave to several classes, which the rooms of these libraries repeat.
OF_OTHERS = {
    "Distribution": "SciPy's, PyTorch's and funcgrad.jax's distributions",
    "Function": "PyTorch's torch.autograd.Function, and funcgrad.autograd.Function, which tensor.grad_fn returns",
    "Identity": "PyTorch's nn.Identity and nn.utils.prune.Identity",
    "Pattern": "the patterns of funcgrad.sparse, and the protocol by which primitives see them",
    "Primitive": "primitives of this library, and the results of autograd.extend.primitive",
    "_SpectralNorm": "PyTorch's old and new spectral norm",
    "_WeightNorm": "PyTorch's old and new weight norm",
}


def classes(source: str) -> list[str]:
    """Return the names of a module's classes."""
    return [node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)]


def repeated(sources: list[str]) -> set[str]:
    """Return the names that several classes have."""
    counts = Counter(name for source in sources for name in classes(source))
    return {name for name, count in counts.items() if count > 1}


def test_a_name_of_a_class_has_one_meaning() -> None:
    assert repeated([path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")]) == set(OF_OTHERS)


def test_a_second_class_is_found() -> None:
    assert repeated(["class A: ...\nclass B: ...", "def f():\n    class A: ..."]) == {"A"}
