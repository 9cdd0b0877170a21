"""The table of operations: name, weight and sampler. The modules of samplers fill it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Op(NamedTuple):
    """An operation: ``sample`` draws operands and gives the text of a call."""

    name: str
    weight: float
    sample: Callable[[Any], str]


OPS: dict[str, Op] = {}


def op(name: str, weight: float) -> Callable[[Callable[[Any], str]], Callable[[Any], str]]:
    def declare(sample: Callable[[Any], str]) -> Callable[[Any], str]:
        OPS[name] = Op(name, weight, sample)
        return sample

    return declare


def words(text: str) -> list[str]:
    """Return the words of a table that is written as running text."""
    return text.split()
