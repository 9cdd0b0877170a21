"""``make_interp_spline``: the spline through points, from a linear system of B-splines."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy.extend import At, concrete_value, known_value, normalize_axis
from funcgrad.scipy.interpolate._bsplines import BSpline, basis, interval
from funcgrad.scipy.interpolate._data import abscissae, doubles
from funcgrad.scipy.linalg import solve_banded

# The orders and values of derivatives at an end.
_Ends = list[tuple[int, Any]]


def make_interp_spline(  # noqa: PLR0917  (SciPy's arguments)
    x: ArrayLike,
    y: ArrayLike,
    k: int = 3,
    t: ArrayLike = None,
    bc_type: Any = None,
    axis: int = 0,
    check_finite: bool = True,
) -> BSpline:
    """``scipy.interpolate.make_interp_spline``: the B-spline through points.

    Args:
        x: f[n], increasing.
        y: the values, along ``axis``.
        k: the degree.
        t: the knots; for ``None`` those that leave no condition open.
        bc_type: the conditions at the ends: ``None`` or ``'not-a-knot'``, ``'clamped'``, ``'natural'``, ``'periodic'``,
            or for each end one of these, or a list of derivatives as ``(order, value)``.
        axis: the axis of ``y`` that belongs to ``x``.
        check_finite: ignored; numbers are not checked.

    Returns:
        A `BSpline`.

    Raises:
        ValueError: ``x`` does not increase, or there are more or fewer conditions than coefficients.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> x = np.array([0.0, 1.0, 2.0, 3.0])
        >>> middle = lambda y: fg.scipy.interpolate.make_interp_spline(x, y, k=1)(1.25)
        >>> fg.grad(middle)(np.sin(x))
        array([0.  , 0.75, 0.25, 0.  ])

    In time that grows with ``n``: at each point ``k + 1`` of the B-splines are not zero.
    """
    del check_finite
    x, y, k = abscissae("make_interp_spline", x), doubles(y), operator.index(k)
    axis = normalize_axis(axis, len(y.shape))
    y = fnp.moveaxis(y, axis, 0)
    if x.shape[0] != y.shape[0] or k < 0:
        raise ValueError(
            f"scipy.interpolate.make_interp_spline: shapes of x {x.shape} and y {y.shape} are incompatible, or k={k} "
            "is negative. Give a value for each x along the axis."
        )
    if bc_type == "periodic":
        return _periodic(x, y, k, t, axis)
    first, last = _ends(bc_type, y)
    if k == 0 or (k == 1 and t is None):
        if first is not None or last is not None or t is not None:
            raise ValueError(
                f"scipy.interpolate.make_interp_spline: too much info for k={k}: t and bc_type can only be None. Leave "
                "them out."
            )
        return BSpline.construct_fast(fnp.concatenate([*[x[:1]] * k, x, x[-1:]]), y, k, axis=axis)
    knots = doubles(t) if t is not None else _knots(x, k, first is None and last is None)
    first, last = first or [], last or []
    n, count = x.shape[0], knots.shape[0] - k - 1
    if count - n != len(first) + len(last):
        raise ValueError(
            f"scipy.interpolate.make_interp_spline: the number of derivatives at boundaries does not match: expected "
            f"{count - n}, got {len(first)}+{len(last)}. Give as many in bc_type."
        )
    if count < k + 1:
        raise ValueError(
            f"scipy.interpolate.make_interp_spline: {n} points, and k={k}; needed at least {k + 1}. Pass a smaller k."
        )
    places = _places(x, knots, k, t is None)
    _require_inside(x, knots, k)
    ab = _collocation(x, knots, k, places, first, last)
    right = [*[value[None] for _, value in first], y, *[value[None] for _, value in last]]
    right = fnp.concatenate([fnp.reshape(part, (part.shape[0], *y.shape[1:])) for part in right])
    c = solve_banded((k, k), ab, fnp.reshape(right, (count, -1)))
    return BSpline.construct_fast(knots, fnp.reshape(c, right.shape), k, axis=axis)


def _ends(bc_type: Any, y: ArrayLike) -> tuple[_Ends | None, _Ends | None]:
    if bc_type is None or (isinstance(bc_type, str) and bc_type == "not-a-knot"):
        return None, None
    both = (bc_type, bc_type) if isinstance(bc_type, str) else tuple(bc_type)
    if len(both) != 2:
        raise ValueError(
            f"scipy.interpolate.make_interp_spline: unknown boundary condition: {len(both)} of them. Give one for each "
            "of the two ends."
        )
    first, last = (_end(each, y) for each in both)
    return first, last


def _end(given: Any, y: ArrayLike) -> _Ends | None:
    if given is None:
        return None
    if isinstance(given, str):
        if given not in {"clamped", "natural"}:
            raise ValueError(
                f"scipy.interpolate.make_interp_spline: unknown boundary condition : {given}. Use 'clamped', "
                "'natural', or a list of derivatives as (order, value)."
            )
        return [(1 if given == "clamped" else 2, np.zeros(y.shape[1:]))]
    return [(operator.index(order), doubles(value)) for order, value in given]


def _knots(x: ArrayLike, k: int, free: bool) -> Array:
    """Return SciPy's knots: without knots at the points next to the ends, unless conditions are given there."""
    if not free:
        return fnp.concatenate([*[x[:1]] * k, x, *[x[-1:]] * k])
    inner, cut = (x, (k + 1) // 2) if k % 2 else (fnp.divide(fnp.add(x[1:], x[:-1]), 2), k // 2)
    return fnp.concatenate([*[x[:1]] * (k + 1), inner[cut : inner.shape[0] - cut], *[x[-1:]] * (k + 1)])


def _places(x: ArrayLike, knots: ArrayLike, k: int, ours: bool) -> np.ndarray:
    """Return the interval of each point; it is known without numbers if the knots come from the points."""
    known = known_value(x), known_value(knots)
    if known[0] is not None and known[1] is not None:
        return np.asarray(interval(known[1], known[0], k))
    if not ours:
        given = [concrete_value(each, "scipy.interpolate.make_interp_spline with knots t") for each in (x, knots)]
        return np.asarray(interval(given[1], given[0], k))
    like = np.arange(float(x.shape[0]))
    free = knots.shape[0] == x.shape[0] + k + 1
    return np.asarray(interval(np.asarray(_knots(like, k, free)), like, k))


def _require_inside(x: ArrayLike, knots: ArrayLike, k: int) -> None:
    known = known_value(x), known_value(knots)
    if known[0] is None or known[1] is None:
        return
    if known[0][0] < known[1][k] or known[0][-1] > known[1][-k - 1]:
        raise ValueError(
            "scipy.interpolate.make_interp_spline: out of bounds: x goes from "
            f"{known[0][0]} to {known[0][-1]}, and the knots leave {known[1][k]} to {known[1][-k - 1]}. Repeat the "
            f"knots at the ends {k + 1} times."
        )


def _collocation(x: ArrayLike, knots: ArrayLike, k: int, places: np.ndarray, first: _Ends, last: _Ends) -> Array:
    """Return the diagonals of the matrix of B-splines at the points, and their derivatives at the ends."""
    count = knots.shape[0] - k - 1
    parts, rows = [basis(knots, x, places, k)], [np.arange(len(first), len(first) + x.shape[0])]
    at = [places]
    for ends, end, start in ((first, 0, 0), (last, -1, count - len(last))):
        for i, (order, _) in enumerate(ends):
            parts.append(basis(knots, x[end][None], places[end][None], k, order))
            rows.append(np.array([start + i]))
            at.append(places[end][None])
    row, columns = np.concatenate(rows)[:, None], np.concatenate(at)[:, None] + np.arange(-k, 1)
    values = fnp.concatenate(parts)
    # Entries beyond the diagonals are zero: a condition at an end involves only the first or last B-splines.
    offset = k + row - columns
    inside = (offset >= 0) & (offset <= 2 * k)
    return At(np.zeros((2 * k + 1, count)))[offset[inside], columns[inside]].set(values[inside])


def _periodic(x: ArrayLike, y: ArrayLike, k: int, t: ArrayLike, axis: int) -> BSpline:
    """Return a spline whose derivatives up to the order ``k - 1`` agree at both ends."""
    if t is not None:
        raise NotImplementedError(
            "scipy.interpolate.make_interp_spline: for the periodic case t is constructed automatically and can not be "
            "passed manually. Leave it out."
        )
    ends = known_value(fnp.stack([y[0], y[-1]]))
    if ends is not None and not np.allclose(ends[0], ends[1], atol=1e-15):
        raise ValueError(
            "scipy.interpolate.make_interp_spline: first and last points does not match while periodic case expected. "
            "Repeat the first value at the end."
        )
    if k <= 1:
        return make_interp_spline(x, fnp.moveaxis(y, 0, axis), k, axis=axis)
    knots = _periodic_knots(x, k)
    count = knots.shape[0] - k - 1
    like = np.arange(float(x.shape[0]))
    places = np.asarray(interval(np.asarray(_periodic_knots(like, k)), like, k))
    found = basis(knots, x, places, k)
    columns = places[:, None] + np.arange(-k, 1)
    rows = np.broadcast_to(np.arange(x.shape[0])[:, None], columns.shape)
    matrix = At(np.zeros((x.shape[0], count)))[rows, columns].set(found)
    differences = []
    for order in range(1, k):
        first, last = (basis(knots, x[end][None], places[end][None], k, order) for end in (0, -1))
        row = At(np.zeros(count))[places[0] + np.arange(-k, 1)].add(first[0])
        differences.append(At(row)[places[-1] + np.arange(-k, 1)].add(fnp.negative(last[0])))
    whole = fnp.concatenate([matrix, fnp.stack(differences)])
    right = fnp.concatenate([y, np.zeros((k - 1, *y.shape[1:]))])
    c = fnp.linalg.solve(whole, fnp.reshape(right, (count, -1)))
    return BSpline.construct_fast(knots, fnp.reshape(c, right.shape), k, extrapolate="periodic", axis=axis)


def _periodic_knots(x: ArrayLike, k: int) -> Array:
    """Return the periodic knots: the points, or their midpoints for even degrees, continued beyond both ends."""
    n = x.shape[0]
    if k % 2 == 0:
        inner = fnp.subtract(x[1:-1], fnp.divide(fnp.subtract(x[1:-1], x[:-2]), 2))
        x = fnp.concatenate([x[:1], inner, x[-1:]])
    steps = fnp.subtract(x[1:], x[:-1])
    before, after = [x[0]], [x[-1]]
    for i in range(k):
        before.append(fnp.subtract(before[-1], steps[n - 2 - i % (n - 1)]))
        after.append(fnp.add(after[-1], steps[i % (n - 1)]))
    return fnp.concatenate([fnp.stack(before[:0:-1]), x, fnp.stack(after[1:])])
