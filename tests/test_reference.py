"""The reference has an entry for every public name, and each of these says what it is, functions with an example."""

from __future__ import annotations

import importlib
import inspect
import re
from typing import Any

import pytest
from public_names import MIRRORS, mirrors, modules, own, pages

# The modules on which other rooms of the library build; `funcgrad.extend` publishes the parts for users.
DOORS = tuple(f"funcgrad.{room}.extend" for room in ("numpy", "autograd", "nn", "optim", "random", "tree"))

# PyTorch's names: its pages say what the arguments are, and the reference links to them.
PYTORCHS = ("funcgrad.nn",)

# Classes of PyTorch and autograd, whose pages have the examples.
OTHERS_CLASSES = ("funcgrad.nn", "funcgrad.interop.autograd", "funcgrad.torch.distributions")

# Called once, by the room that knows of arrays.
HOOKS = ("set_packing",)


@pytest.mark.parametrize("name", modules())
def test_every_public_name_has_its_entry(name: str) -> None:
    module = importlib.import_module(name)
    entered = [each for page in pages(name) for each, _ in page.entries()]
    submodules = {each for each in module.__all__ if inspect.ismodule(getattr(module, each))}
    lazily = {each for each in module.__all__ if f"{name}.{each}" in modules()}
    assert len(entered) == len(set(entered))
    assert set(entered) | submodules | lazily == set(module.__all__)


@pytest.mark.parametrize("name", modules())
def test_every_entry_says_what_it_is(name: str) -> None:
    published = [(each, value) for page in pages(name) for each, value in page.entries() if own(value, name)]
    assert not [each for each, value in published if not (inspect.getdoc(value) or "").strip()]
    assert not [each for each, value in published if lacks_example(value, name)]


def lacks_example(value: Any, name: str) -> bool:
    """Whether a function or class of ours, which is nobody's mirror, is without an example."""
    if name in DOORS or mirrors(value, name):
        return False
    if inspect.isclass(value):
        return not name.startswith(OTHERS_CLASSES) and ">>>" not in (vars(value).get("__doc__") or "")
    return inspect.isfunction(value) and value.__name__ not in HOOKS and ">>>" not in (inspect.getdoc(value) or "")


@pytest.mark.parametrize("name", [each for each in modules() if each not in DOORS and not each.startswith(PYTORCHS)])
def test_a_function_of_ours_tells_its_arguments_its_result_and_its_errors(name: str) -> None:
    published = [(each, value) for page in pages(name) for each, value in page.entries() if own(value, name)]
    assert {each: lacked for each, value in published if (lacked := sections_lacked(value, name))} == {}


def sections_lacked(value: Any, name: str) -> list[str]:
    """Return the sections that the docstring of a function of ours needs and lacks."""
    if not inspect.isfunction(value) or mirrors(value, name):
        return []
    said, signature = inspect.getdoc(value) or "", inspect.signature(value)
    returns = str(signature.return_annotation).strip("'") not in ("None", "NoReturn")
    raises = re.search(r"^\s+raise \w", inspect.getsource(inspect.unwrap(value)), re.MULTILINE)
    needed = {"Args": signature.parameters, "Returns": returns, "Raises": raises}
    return [each for each, need in needed.items() if need and f"{each}:" not in said]


def test_a_function_without_sections_is_seen() -> None:
    def one(x: Any) -> Any:
        """Return it."""
        if x is None:
            raise ValueError("none")
        return x

    assert sections_lacked(one, "funcgrad") == ["Args", "Returns", "Raises"]


def test_a_function_without_an_example_is_seen() -> None:
    def one(x: Any) -> Any:
        """Return it."""
        return x

    class Base:
        """A base.

        >>> Base()
        """

    class Two(Base):
        """A class."""

    assert lacks_example(one, "funcgrad")
    assert lacks_example(one, MIRRORS[0])
    assert lacks_example(Two, "funcgrad")
    assert not lacks_example(Base, "funcgrad")
    one.__name__ = "exp"
    assert lacks_example(one, "funcgrad")
    assert not lacks_example(one, MIRRORS[0])
