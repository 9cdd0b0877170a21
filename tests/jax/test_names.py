"""Each public name of JAX exists here, or the error of the missing name gives the reason."""

from __future__ import annotations

import importlib
import importlib.util

import jax
import pytest

import funcgrad.jax as ours
from funcgrad.jax._absent import ABSENT
from tests.jax._table import MODULES, PAGE, RELEASE, here, public_of_jax, text

of_this_release = pytest.mark.skipif(
    not jax.__version__.startswith(f"{RELEASE}."), reason=f"the table has the names of JAX {RELEASE}"
)


def is_module(path: str) -> bool:
    """Return whether JAX has a module of this name, which ``import jax`` need not import."""
    return importlib.util.find_spec(path) is not None


@of_this_release
@pytest.mark.parametrize("module", MODULES)
def test_each_name_is_here_or_has_a_reason(module: str) -> None:
    theirs, found, absent = public_of_jax(module), here(module), ABSENT.get(module, {}).keys()
    assert theirs - found == set(absent)
    assert not found & set(absent)


@pytest.mark.parametrize("module", MODULES)
def test_no_name_is_invented(module: str) -> None:
    theirs = importlib.import_module(module)
    # Later releases of JAX have lost jax.scipy.optimize.
    removed = {"jax.scipy": {"optimize"}}.get(module, set()) if not jax.__version__.startswith(f"{RELEASE}.") else set()
    unknown = [name for name in here(module) if not (hasattr(theirs, name) or is_module(f"{module}.{name}"))]
    assert set(unknown) <= removed


@of_this_release
def test_the_page_is_current() -> None:
    assert PAGE.read_text() == text(), "run python -m tests.jax._table"


@pytest.mark.parametrize("module", ABSENT)
def test_a_missing_name_says_why(module: str) -> None:
    found = importlib.import_module(f"funcgrad.{module}")
    for name, reason in ABSENT[module].items():
        with pytest.raises(AttributeError) as caught:
            getattr(found, name)
        assert str(caught.value) == f"module 'funcgrad.{module}' has no attribute {name!r}: {reason}"


def test_a_misspelt_name_is_told_the_nearest() -> None:
    with pytest.raises(AttributeError, match="The nearest name is softmax"):
        ours.nn.sotfmax  # noqa: B018  (the attribute is what raises)
    with pytest.raises(AttributeError, match="one of JAX's primitives"):
        ours.lax.add_p  # noqa: B018  (the attribute is what raises)
    with pytest.raises(AttributeError, match=r"dir\(funcgrad.jax.ops\) lists"):
        ours.ops.zzzzzz  # noqa: B018  (the attribute is what raises)
