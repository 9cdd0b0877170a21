"""The signature of a call: everything about the arguments that a compiled program is specific to."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.tree import TreeDef

# The value that a program returns for arguments of another signature.
MISS: Any = object()


class Unknown:
    """A program with paths returns it where the arguments take a path that it does not have.

    Args:
        answers: the answers to the guards, up to the one that no path of the program gave, or those before it.
    """

    __slots__ = ("answers",)

    def __init__(self, answers: tuple[Hashable, ...]) -> None:
        self.answers = answers


_NUMBERS = (bool, int, float, complex)


class Signature(NamedTuple):
    """Everything about the arguments that a compiled program is specific to.

    Args:
        args: positional arguments. The values of static ones and the structure of the others belong to the signature.
        kwargs: keyword arguments, likewise.
        static: the positions and the names of static arguments.
        in_order: whether the order of keyword arguments belongs to the signature.
        in_tree: the structure of the dynamic arguments, ``(args, kwargs)``.
        leaves: the dynamic leaves. The type of each array belongs to the signature; of any other leaf, its value.
        out_tree: the structure of the results.
        donated: the numbers of the leaves whose memory the program may write to.
        names: the names of all leaves, for messages; empty if nothing is donated.
    """

    args: tuple
    kwargs: dict[str, Any]
    static: tuple[Sequence[int], Sequence[str]]
    in_order: bool
    in_tree: TreeDef
    leaves: Sequence[Any]
    out_tree: TreeDef
    donated: Sequence[int]
    names: Sequence[str]


def is_plain(leaf: Any) -> bool:
    """Return whether argument checks can check a leaf: an array of NumPy's own class, or a number."""
    return (
        type(leaf) is np.ndarray or type(leaf) in _NUMBERS or (issubclass(type(leaf), np.generic) and _is_numpys(leaf))
    )


def _is_numpys(leaf: Any) -> bool:
    return type(leaf) is leaf.dtype.type
