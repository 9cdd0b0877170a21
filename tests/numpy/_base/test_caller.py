"""Which function asks for an array, and what it is doing."""

from __future__ import annotations

import dis
import opcode
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.numpy._base import caller as _caller
from funcgrad.numpy._base.caller import Caller, caller


def read(array: Any, i: Any) -> Any:
    return array[i] + 0


def write(array: Any, i: Any) -> Any:
    array[i] = 1.0
    return array


def read_part(array: Any, i: Any) -> Any:
    return array[0, i] + 0


def operations(f: Any) -> Iterator[tuple[str, Any]]:
    """The name of each operation of a function, and a frame that is at this operation."""
    for instruction in dis.get_instructions(f):
        code = SimpleNamespace(co_code=f.__code__.co_code)
        yield instruction.opname + instruction.argrepr, SimpleNamespace(f_code=code, f_lasti=instruction.offset)


@pytest.mark.parametrize("f", [read, write, read_part], ids=lambda f: f.__name__)
def test_an_index_is_recognized(f: Any) -> None:
    for name, frame in operations(f):
        assert Caller(frame).at_index == ("SUBSCR" in name or "[]" in name)
        assert Caller(frame).at_write == ("STORE_SUBSCR" in name)


def test_every_version_has_its_operation() -> None:
    """Up to 3.13 an operation of its own, from 3.14 on an argument of ``BINARY_OP``."""
    assert "BINARY_SUBSCR" in opcode.opmap or _caller._SUBSCRIPT_ARGUMENT is not None


def test_callers() -> None:
    def asked() -> Caller:
        return caller()

    found = asked()
    assert (found.module, found.function, found.is_example) == (
        __name__,
        "test_callers",
        False,
    )
    assert [each.function for each in found.outwards("numpy.")] == []
    assert next(found.outwards(__name__)).code is found.code
    assert found.scipys is None


def test_a_function_with_numpys_name_is_not_numpys() -> None:
    def as_strided(x: Any) -> Any:
        with pytest.warns(fg.errors.ObjectArrayWarning):
            return np.sum(np.asarray(x) ** 2)

    assert fg.grad(as_strided)(np.ones(2)).tolist() == [2, 2]
