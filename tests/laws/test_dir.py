"""``dir``, ``help`` and ``inspect.signature`` of what users hold show what users may use, and nothing internal."""

from __future__ import annotations

import inspect
import pydoc
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.torch
from funcgrad import optim
from funcgrad.autograd import Tensor, tensor
from tests._recorded import PyTorch

# Names that NumPy's arrays do not have: the type of a value, updates that return a new array, and the methods of
# numbers, which arrays refuse.
OURS = {"aval", "at", "bit_count", "bit_length", "is_integer"}


def public(x: Any) -> set[str]:
    return {name for name in dir(x) if not name.startswith("_")}


# NumPy's arrays of objects call elementary functions as methods of the elements: ``x.sin()``.
ELEMENTWISE = {name for name in public(np) if isinstance(getattr(np, name), np.ufunc)}


def traced(transform: str) -> Any:
    """Return the traced array that a function sees under a transform."""
    seen: list[Any] = []

    def f(x: Any) -> Any:
        seen.append(x)
        return np.sum(x * 2.0)

    x = np.ones((2, 2))
    match transform:
        case "grad":
            fg.grad(f)(x)
        case "jvp":
            fg.jvp(f, (x,), (x,))
        case "vmap":
            fg.vmap(f)(x)
        case _:
            fg.jit(f, engine="numpy")(x)
    return seen[0]


TRANSFORMS = ["grad", "jvp", "vmap", "jit"]


@pytest.mark.parametrize("transform", TRANSFORMS)
def test_traced_arrays_show_numpys_names(transform: str) -> None:
    shown = public(traced(transform))
    assert shown >= public(np.ndarray)
    assert shown - public(np.ndarray) - ELEMENTWISE == OURS


def test_written_arrays_show_numpys_names() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        part = y[0]
        part[0] = 3.0
        for array in (y, part):
            assert public(array) - public(np.ndarray) - ELEMENTWISE == OURS
        return np.sum(y)

    fg.grad(f)(np.ones((2, 2)))


def test_tensors_show_names_of_pytorch_and_numpy(pytorch: PyTorch) -> None:
    shown = public(tensor(np.ones((2, 2)), requires_grad=True))
    theirs = set(pytorch(lambda torch: sorted(public(torch.Tensor) & shown)))
    assert shown - theirs - public(np.ndarray) - ELEMENTWISE == OURS


CLASSES = [
    fg.Tracer,
    Tensor,
    fg.Graph,
    *[each for name in optim.__all__ if inspect.isclass(each := getattr(optim, name))],
]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_methods_have_signatures_and_help(cls: type) -> None:
    undocumented = []
    for name in sorted(public(cls)):
        member = getattr(cls, name)
        if callable(member):
            inspect.signature(member)
            doc = inspect.getdoc(member) or ""
            if not doc or doc.splitlines()[0] not in pydoc.plain(pydoc.render_doc(member)):
                undocumented.append(name)
    assert not undocumented
