"""Functions take JAX's names of arguments, or the table gives the reason."""

from __future__ import annotations

import importlib
import inspect
from inspect import Parameter
from typing import Any

import pytest

from funcgrad.jax._absent import ABSENT
from funcgrad.jax._arguments import ABSENT_ARGUMENTS, first_arguments
from funcgrad.jax._array import HOW, NONE_IS_DEFAULT
from tests.jax._table import MODULES
from tests.jax.test_names import of_this_release

_NAMED = Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY


def parameters(f: Any) -> list[Parameter] | None:
    """Return the parameters of a function; ``None`` if it has no signature."""
    try:
        return list(inspect.signature(f).parameters.values())
    except (TypeError, ValueError):
        return None


def missing(module: str, name: str) -> set[str]:
    """Return JAX's names of arguments that a function of ours does not take."""
    f, theirs = (getattr(importlib.import_module(each), name, None) for each in (f"funcgrad.{module}", module))
    accepted, asked = parameters(f), parameters(theirs)
    if inspect.isclass(theirs) or not callable(theirs) or accepted is None or asked is None:
        return set()
    if any(each.kind is Parameter.VAR_KEYWORD for each in accepted):
        return set()
    known = {each.name for each in accepted if each.kind in _NAMED} | {*first_arguments(module).get(name, ())}
    # The functions that transforms take are given by position or as fun.
    known |= HOW | {"preferred_element_type"} | ({"fun"} if module == "jax" else set())
    known |= {each.name for each in asked if each.default is None and each.name in NONE_IS_DEFAULT}
    return {each.name for each in asked if each.kind in _NAMED} - known


@of_this_release
@pytest.mark.parametrize("module", MODULES)
def test_arguments_have_jaxs_names_or_a_reason(module: str) -> None:
    ours = importlib.import_module(f"funcgrad.{module}")
    found = {f"{module}.{name}": missing(module, name) for name in ours.__all__ if name not in ABSENT.get(module, {})}
    listed = {name: set(arguments) for name, arguments in ABSENT_ARGUMENTS.items() if name.rpartition(".")[0] == module}
    assert {name: arguments for name, arguments in found.items() if arguments} == listed
