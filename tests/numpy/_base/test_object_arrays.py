"""How it is told that NumPy asks for an array because of brackets, on each version of Python's bytecode."""

from __future__ import annotations

import dis
import opcode
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import TracerArrayConversionError
from funcgrad.numpy._base import object_arrays as _object_arrays

ARRAY = np.arange(3.0)


def read(array: Any, i: Any) -> Any:
    return array[i]


def write(array: Any, i: Any) -> Any:
    array[i] = 1.0
    return array


def read_part(array: Any, i: Any) -> Any:
    return array[0, i] + 0


def augment(array: Any, i: Any) -> Any:
    array[i] += 1.0
    return array


@pytest.mark.parametrize("f", [read, write, augment], ids=lambda f: f.__name__)
def test_a_plain_array_at_a_traced_index(f: Any) -> None:
    with pytest.raises(TracerArrayConversionError, match=r"an index was asked.*funcgrad\.numpy\.take"):
        fg.vmap(lambda i: f(ARRAY.copy(), i))(np.array([[0, 1]]))


def operations(f: Any) -> Iterator[tuple[str, SimpleNamespace]]:
    for instruction in dis.get_instructions(f):
        code = SimpleNamespace(co_code=f.__code__.co_code)
        yield instruction.opname + instruction.argrepr, SimpleNamespace(f_code=code, f_lasti=instruction.offset)


@pytest.mark.parametrize("f", [read, write, read_part], ids=lambda f: f.__name__)
def test_only_brackets_are_brackets(f: Any) -> None:
    for name, frame in operations(f):
        assert _object_arrays._at_subscript(frame) == ("SUBSCR" in name or "[]" in name)  # pyright: ignore[reportArgumentType]  (of a frame, what is read)


def test_every_version_has_its_operation() -> None:
    """Up to 3.13 an operation of its own, from 3.14 on an argument of ``BINARY_OP``."""
    assert "BINARY_SUBSCR" in opcode.opmap or _object_arrays._SUBSCRIPT_ARGUMENT is not None
