"""The step by a gradient that is known in some rows only."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import is_value
from funcgrad._ops._index_plan import SLOT, Index
from funcgrad._ops.arithmetic import mul_p, ne_p, neg_p
from funcgrad._ops.cast import cast
from funcgrad._ops.rows import Rows
from funcgrad._ops.scatter import scatter_add_p
from funcgrad._ops.select import select_p
from funcgrad.errors import HyperparameterError, TreeMismatchError
from funcgrad.optim._rules.sgd import Hyper


def check_rows(g: Rows, p: Any, hyper: Hyper) -> tuple[type[Exception], str] | None:
    """What is wrong with rows as the gradient of a parameter, if anything."""
    if type(hyper.weight_decay) is float and hyper.weight_decay != 0:
        return HyperparameterError, (
            "is sparse: weight_decay option is not compatible with sparse gradients. It would decay the rows that are "
            "there and not the others. Set weight_decay to 0 there, or pass g.todense()."
        )
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


def nan_if_decayed(g: Rows, hyper: Hyper) -> Rows:
    """The rows as they are, or NaN where there is weight decay.

    A step that is compiled for any weight decay cannot refuse it; it must not pass unnoticed either.
    """
    if type(hyper.weight_decay) is float:
        return g
    factor = select_p(ne_p(hyper.weight_decay, 0), np.float64(np.nan), np.float64(1))
    return Rows(g.indices, mul_p(g.values, cast(factor, aval_of(g.values).dtype)), g.shape)


def step_rows(p: Any, g: Rows, hyper: Hyper) -> Any:
    """``p`` with a step of plain gradient descent in the given rows."""
    factor = hyper.lr if hyper.maximize is True else neg_p(hyper.lr)
    if type(hyper.maximize) is not bool:
        factor = mul_p(factor, hyper.maximize)
    return scatter_add_p(p, mul_p(g.values, factor), g.indices, index=Index((SLOT,)))
