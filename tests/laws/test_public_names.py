"""Public modules offer their public names and no others, and these know where they are reached."""

from __future__ import annotations

import importlib
import inspect
import pickle
import pkgutil
from typing import Any

import pytest

import funcgrad
from funcgrad._public import origins

MODULES = sorted(
    {"funcgrad"}
    | {
        info.name
        for info in pkgutil.walk_packages(funcgrad.__path__, "funcgrad.")
        if not any(part.startswith("_") for part in info.name.split("."))
    }
)

# They offer what other rooms have by another library's names, and do not rename it.
NAMESPACES = ("funcgrad.jax", "funcgrad.torch")


def public(value: Any) -> bool:
    return (inspect.isfunction(value) or inspect.isclass(value)) and value.__module__.startswith("funcgrad")


@pytest.mark.parametrize("name", MODULES)
def test_a_public_module_offers_its_public_names(name: str) -> None:
    module = importlib.import_module(name)
    assert dir(module) == sorted(module.__all__)
    assert not [each for each in module.__all__ if each.startswith("_") or not hasattr(module, each)]


@pytest.mark.parametrize("name", MODULES)
def test_what_is_public_names_the_module_by_which_it_is_reached(name: str) -> None:
    module = importlib.import_module(name)
    # A room names its functions when it gives them out for the first time, and another room may have them before.
    assert all(hasattr(funcgrad, each) for each in funcgrad.__all__)
    for each in module.__all__:
        value = getattr(module, each)
        if public(value):
            assert value.__module__ in MODULES, each
            assert len(value.__module__) <= len(name) or name.startswith(NAMESPACES)
            assert getattr(importlib.import_module(value.__module__), value.__qualname__) is value
            assert pickle.loads(pickle.dumps(value)) is value
            assert value in origins


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("grad", "funcgrad"),
        ("sgd_init", "funcgrad"),
        ("numpy.exp", "funcgrad.numpy"),
        ("numpy.matmul", "funcgrad.numpy"),
        ("numpy.linalg.det", "funcgrad.numpy.linalg"),
        ("scipy.special.logsumexp", "funcgrad.scipy.special"),
        ("optim.SGD", "funcgrad.optim"),
        ("errors.TreeMismatchError", "funcgrad.errors"),
    ],
)
def test_the_shortest_path_is_the_name(path: str, module: str) -> None:
    value: Any = funcgrad
    for part in path.split("."):
        value = getattr(value, part)
    assert value.__module__ == module


def test_methods_of_tensors_have_texts_and_signatures() -> None:
    methods = {name: each for name, each in vars(funcgrad.autograd.Tensor).items() if inspect.isfunction(each)}
    bare = [name for name, each in methods.items() if not name.startswith("_") and not each.__doc__]
    assert [name for name in bare if not name.endswith("_")] == []
    kinds = inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD
    for name in ("abs", "lerp", "addmm", "tril", "maximum"):
        assert not [p for p in inspect.signature(methods[name]).parameters.values() if p.kind in kinds], name
