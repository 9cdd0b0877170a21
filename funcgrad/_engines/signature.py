"""What arguments have in common that one program is for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad.tree import TreeDef

# What a program answers to arguments of another signature.
MISS: Any = object()

_NUMBERS = (bool, int, float, complex)


class Signature(NamedTuple):
    """What arguments have in common that one program is for.

    Args:
        args: positional arguments, of which the static ones and the structure of the others are part of it.
        kwargs: keyword arguments, likewise.
        static: the positions of static arguments, and the names.
        in_tree: the structure of the dynamic arguments, ``(args, kwargs)``.
        leaves: their leaves, of which the types are part of it; what is no input of the graph is part of it itself.
        out_tree: the structure of the results.
        donated: the numbers of the leaves that the program may write over.
        names: the names of all leaves, for messages; none where nothing is donated.
    """

    args: tuple
    kwargs: dict[str, Any]
    static: tuple[Sequence[int], Sequence[str]]
    in_tree: TreeDef
    leaves: Sequence[Any]
    out_tree: TreeDef
    donated: Sequence[int]
    names: Sequence[str]


def is_plain(leaf: Any) -> bool:
    """Whether a leaf is what guards know: an array of NumPy's own class, or a number."""
    return type(leaf) is np.ndarray or type(leaf) in _NUMBERS or (isinstance(leaf, np.generic) and _is_numpys(leaf))


def _is_numpys(leaf: Any) -> bool:
    return type(leaf) is leaf.dtype.type
