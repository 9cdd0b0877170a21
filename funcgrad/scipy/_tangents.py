"""Tangents of functions of flat values, in one direction and in many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import Aval, aval_of, is_inexact
from funcgrad._core.trace.backward import backward_pass
from funcgrad._core.trace.forward import ForwardTrace, ForwardTracer
from funcgrad._core.trace.reverse import ReverseTrace, ReverseTracer
from funcgrad._ops.layout.broadcast import with_batch
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._ops.program.batch import mapped
from funcgrad._types import Array, ArrayLike
from funcgrad.scipy._closed import Flat, is_traced

Mask = tuple[bool, ...]


def moves(x: ArrayLike, x_dot: ArrayLike) -> bool:
    """Return whether a tangent may differ from 0."""
    return is_inexact(aval_of(x).dtype) and (is_traced(x_dot) or bool(np.any(np.asarray(x_dot))))


def pushed(evaluate: Flat, xs: Sequence[Any], x_dots: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Return results and their tangents, for tangents of some of the arguments (``None`` for constant ones)."""
    forward = ForwardTrace()
    with forward:
        pairs = zip(xs, x_dots, strict=True)
        ys = evaluate(*[x if x_dot is None else forward.input(x, x_dot) for x, x_dot in pairs])
    mine = [type(y) is ForwardTracer and y._owner is forward for y in ys]
    primals = [y._value if moves else y for y, moves in zip(ys, mine, strict=True)]
    return primals, [y._tangent if moves else zeros_like(y) for y, moves in zip(ys, mine, strict=True)]


def count_of(aval: Aval) -> int:
    """Return the number of real numbers in a value."""
    return aval.size * (2 if aval.dtype.kind == "c" else 1)


def parts_of(x: ArrayLike) -> Array:
    """Return the real numbers of a value, flat."""
    flat = fnp.reshape(x, (-1,))
    return fnp.concatenate([fnp.real(flat), fnp.imag(flat)]) if flat.dtype.kind == "c" else flat


def directions_of(avals: Sequence[Aval], moving: Sequence[bool], before: int) -> list[np.ndarray | None]:
    """Return each operand's tangents in all directions: unit vectors, offset by the parts of earlier operands."""
    count = before + sum(count_of(aval) for aval, moved in zip(avals, moving, strict=True) if moved)
    found: list[np.ndarray | None] = []
    for aval, moved in zip(avals, moving, strict=True):
        if not moved:
            found.append(None)
            continue
        rows = np.zeros((count, aval.size), aval.dtype)
        units = [1, 1j] if aval.dtype.kind == "c" else [1]
        for unit in units:
            rows[range(before, before + aval.size), range(aval.size)] = unit
            before += aval.size
        found.append(rows.reshape(count, *aval.shape))
    return found


def all_directions(
    evaluate: Flat, xs: Sequence[Any], tangents: Sequence[Any], count: int
) -> tuple[list[Any], list[Any]]:
    """Return results, and their tangents for each of ``count`` directions, stacked.

    Args:
        evaluate: a function of flat values.
        xs: the point.
        tangents: the stacked tangents of each argument; ``None`` for constant arguments.
        count: the number of directions.
    """
    moving = [x_dots for x_dots in tangents if x_dots is not None]
    primals: list[Any] = []

    def along(*rows: Any) -> list[Any]:
        given = iter(rows)
        primals[:], dots = pushed(evaluate, xs, [None if x_dots is None else next(given) for x_dots in tangents])
        return dots

    dots, flags = mapped(along, count, moving, (True,) * len(moving))
    return primals, [with_batch(dot, count, flag) for dot, flag in zip(dots, flags, strict=True)]


def all_rows(evaluate: Flat, xs: Sequence[Any], active: Sequence[bool]) -> tuple[Any, list[Any]]:
    """Return a vector and, for each active argument, the gradients of all its elements, stacked, by reverse mode."""
    reverse = ReverseTrace()
    with reverse:
        inputs = [reverse.input(x) if flag else x for x, flag in zip(xs, active, strict=True)]
        (y,) = evaluate(*inputs)
    moving = [(x, start) for x, start, flag in zip(xs, inputs, active, strict=True) if flag]
    if not (type(y) is ReverseTracer and y._owner is reverse):
        return y, [np.zeros((aval_of(y).size, *aval_of(x).shape)) for x, _ in moving]
    value, node = y._value, y._node
    n = aval_of(value).size

    def pull(bar: ArrayLike) -> list[Any]:
        bars = backward_pass([(node, bar)])
        found = [bars.get(start._node) for _, start in moving]
        return [zeros_like(x) if bar is None else bar for (x, _), bar in zip(moving, found, strict=True)]

    rows, flags = mapped(pull, n, [np.eye(n)], (True,))
    return value, [with_batch(row, n, flag) for row, flag in zip(rows, flags, strict=True)]
