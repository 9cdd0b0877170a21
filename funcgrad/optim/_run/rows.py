"""The step by a gradient that is known in some rows only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import is_value
from funcgrad._ops.index.plan import SLOT, Index
from funcgrad._ops.index.rows import Rows
from funcgrad._ops.index.scatter import scatter_add_p
from funcgrad.errors import HyperparameterError, TreeMismatchError
from funcgrad.optim._rules.rule import Structure
from funcgrad.optim._run.program import Program


def check_rows(structure: Structure, g: Rows, p: Any) -> tuple[type[Exception], str] | None:
    """What is wrong with rows as the gradient of a parameter, if anything."""
    if structure.sparse is not None:
        return HyperparameterError, f"is sparse: {structure.sparse}"
    if tuple(g.shape) != tuple(p.shape):
        return TreeMismatchError, f"is {g}; needed rows of {aval_of(p)}, the type of the parameter."
    if not (is_value(g.indices) and is_value(g.values)):
        arrived = f"{type(g.indices).__name__} and {type(g.values).__name__}"
        return (
            TreeMismatchError,
            f"has indices and values that are {arrived}; needed arrays. Convert them with np.array.",
        )
    indices, values = aval_of(g.indices), aval_of(g.values)
    if len(indices.shape) != 1 or indices.dtype.kind not in "iu" or values.shape != (*indices.shape, *p.shape[1:]):
        return TreeMismatchError, (
            f"is {g} with indices {indices} and values {values}; needed integers of shape [k] and values of shape "
            f"[k{''.join(f',{n}' for n in p.shape[1:])}]."
        )
    if type(g.indices) is np.ndarray and g.indices.size:
        low, high = int(g.indices.min()), int(g.indices.max())
        if low < 0 or high >= p.shape[0]:
            return IndexError, (
                f"has row {low if low < 0 else high}, out of bounds for {aval_of(p)}. Rows are counted from 0 to "
                f"{p.shape[0] - 1}."
            )
    return None


def step_rows(program: Program, p: Any, g: Rows, scalars: Sequence[Any]) -> Any:
    """``p`` with a step in the given rows: what the rule makes of 0 there is what it adds to anything."""
    (added,) = program.run((0.0, g.values), scalars, separated=False)
    return scatter_add_p(p, added, g.indices, index=Index((SLOT,)))
