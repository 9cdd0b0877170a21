"""Short programs after PyTorch's tutorials print the same with one import changed.

They draw PyTorch's random numbers, so the numbers agree too, to the digits that float32 keeps through training.
"""

from __future__ import annotations

import contextlib
import io
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcgrad.torch
from tests._recorded import PyTorch

PROGRAMS = sorted(Path(__file__).with_name("programs").glob("*.txt"))
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[+-]?\d+)?")
# Names of nodes differ where an operation is one primitive here and several there, or the other way round.
NODE = re.compile(r",\s+grad_fn=<\w+>")


def with_our_import(program: str) -> str:
    """Return the program with ``funcgrad.torch`` in place of ``torch``."""
    program = re.sub(r"^import torch$", "import funcgrad.torch as torch", program, flags=re.MULTILINE)
    program = re.sub(r"^import torch\.([\w.]+)$", r"import funcgrad.torch.\1", program, flags=re.MULTILINE)
    program = re.sub(r"^import torch\.([\w.]+) as", r"import funcgrad.torch.\1 as", program, flags=re.MULTILINE)
    return re.sub(r"^from torch((?:\.\w+)*) import", r"from funcgrad.torch\1 import", program, flags=re.MULTILINE)


def unlocked(torch: Any) -> Any:
    """Return PyTorch, whose settings may be changed: its own test utilities forbid that for the whole process."""
    torch.backends.flags_frozen.__globals__["__allow_nonbracketed_mutation_flag"] = True
    return torch


def printed(torch: Any, program: str) -> str:
    """Run a program after the seed 0 and return what it prints. Dtypes and shapes get NumPy's text in both."""
    torch.manual_seed(0)
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(program, "program", "exec"), {"__name__": "__main__"})
    text = re.sub(r"torch\.(?=b?float|u?int|complex|bool)", "", NODE.sub("", out.getvalue()))
    return re.sub(
        r"torch\.Size\(\[(\d+)\]\)|\((\d+),\)", r"(\1\2,)", re.sub(r"torch\.Size\(\[(\d.*?)\]\)", _shape, text)
    )


def _shape(found: re.Match[str]) -> str:
    return f"({found[1]},)" if "," not in found[1] else f"({found[1]})"


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_prints_the_same(path: Path, pytorch: PyTorch) -> None:
    program = path.read_text()
    assert with_our_import(program) != program
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = pytorch(lambda torch: lines(printed(unlocked(torch), program)))
        ours = lines(printed(funcgrad.torch, with_our_import(program)))
    assert [words for words, _ in ours] == [words for words, _ in theirs]
    found, expected = [np.array([n for _, numbers in each for n in numbers]) for each in (ours, theirs)]
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-4)


def lines(text: str) -> list[list[Any]]:
    """Return for each line the words between the numbers, without spaces, and the numbers with float32's digits."""
    return [
        ["".join(NUMBER.sub("#", line).split()), np.array([float(n) for n in NUMBER.findall(line)], np.float32)]
        for line in text.splitlines()
    ]
