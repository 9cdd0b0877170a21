"""Refuse programs that are too long to stage or to compile: how long they are, and the lines that make most of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NoReturn

from funcgrad._core.graph.ir import Equation, Graph
from funcgrad._core.graph.show import programs_of
from funcgrad.errors import ProgramSizeError

# The most lines that a message names.
_LINES = 3


def every_equation(graph: Graph) -> list[Equation]:
    """Return the equations of a program and of the bodies of its loops."""
    return [equation for each in programs_of(graph) for equation in each.equations]


def refuse_long(asked: str, equations: Sequence[Equation], most: str) -> NoReturn:
    """Raise the error for a program of these equations.

    Args:
        asked: the transform and the function, such as "jit: the program of f".
        equations: the equations, with those of the bodies of loops.
        most: what is compiled or staged at most.
    """
    raise ProgramSizeError(
        f"{asked} has {len(equations):,} equations{made_by(equations, _LINES)}; {most}. A Python loop becomes a "
        "loop of the program only if its rounds do the same on arrays of the same shapes. Write the inner loop with "
        "operations on whole arrays: sums and products with a mask (np.tril, np.where) in place of slices that grow; "
        "or with fg.scan or fg.fori_loop, which have one body for all rounds. Without fg.jit, the function and its "
        "gradient run as they are."
    )


def made_by(equations: Sequence[Equation], most: int) -> str:
    """Return the lines that make most of a program, for messages: ", of which 90 come from model.py:12"."""
    lines = Counter(equation.source.place for equation in equations if equation.source is not None)
    found = [f"{count:,} come from {line}" for line, count in lines.most_common(most)]
    if not found:
        return ""
    return ", of which " + (found[0] if len(found) == 1 else f"{', '.join(found[:-1])} and {found[-1]}")
