"""The warning about a program of float32 arrays whose result is float64."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import is_inexact
from funcgrad._core.bind import is_engine_value
from funcgrad._core.graph.ir import Graph
from funcgrad._core.graph.line import Line, user_line
from funcgrad._core.tracebacks import caller_level
from funcgrad.errors import WideningWarning
from funcgrad.numpy.extend import float_bits, widening


@contextlib.contextmanager
def noted_widening(leaves: Sequence[Any]) -> Iterator[list[Line | None]]:
    """Note the lines in which an operation widens a float, if all float arguments are narrow arrays of JAX's."""
    lines: list[Line | None] = []
    arrays = [x for x in leaves if isinstance(getattr(x, "dtype", None), np.dtype) and is_inexact(x.dtype)]
    if not arrays or not all(is_engine_value(x) and float_bits(x.dtype) <= 32 for x in arrays) or widening.get():
        yield lines
        return
    token = widening.set(lambda *_: lines.append(user_line()))
    try:
        yield lines
    finally:
        widening.reset(token)


def warn_if_widened(graph: Graph, name: str, lines: Sequence[Line | None]) -> bool:
    """Warn if a float was widened and a result is wide; return whether it warned."""
    if not lines or not any(is_inexact(x.aval.dtype) and float_bits(x.aval.dtype) > 32 for x in graph.outputs):
        return False
    where = f" at {lines[0]}" if lines[0] else ""
    warnings.warn(
        f"jit: the float arguments of {name} are float32 arrays of JAX or narrower, and a result has 64 bits. By "
        f"NumPy's rules a float32 array is widened if it is combined with a float64 array, as{where or ' here'}. Make "
        "the "
        'other array with dtype=x.dtype, or convert it with astype. Inside with fg.numpy_promotion("strict"): such an '
        "operation raises an error.",
        WideningWarning,
        stacklevel=caller_level(),
    )
    return True
