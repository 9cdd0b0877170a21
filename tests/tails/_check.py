"""Values and derivatives of a function at awkward points, beside a formula of many digits."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import mpmath
import numpy as np

import funcgrad as fg
from funcgrad.errors import NotDifferentiableError

# mpmath makes the attributes of its contexts when it is imported, which type checkers cannot see.
mp: Any = mpmath.mp
ORDERS = ("value", "first", "second")
ENGINES = ("numpy", "xla")
# Relative errors that count as faults: of a value, of a first and of a second derivative.
ALLOWED = {"float64": (1e-10, 1e-9, 1e-7), "float32": (1e-5, 1e-4, 1e-3)}
# A limit is taken at this distance from an end, and at this point for infinity.
_NEAR, _FAR = mp.mpf(10) ** -30, mp.mpf(10) ** 15
# A limit of more than this counts as infinite, of less than its reciprocal as zero.
_ENDLESS = 1e4
# Differences below the second number are rounding of denormal numbers.
_RANGE = {"float64": (float(np.finfo(float).max), 1e-290), "float32": (float(np.finfo(np.float32).max), 1e-35)}


class Edge(NamedTuple):
    """The end of a domain: the formula's limit is taken from one side."""

    value: float
    side: int


class Row(NamedTuple):
    """A function, its formula in mpmath, and where both are computed.

    Args:
        name: of the function.
        function: ours.
        formula: the same in mpmath.
        points: tuples of arguments; each is a number or an `Edge`.
        by: the numbers of the arguments to differentiate by.
        slopes: by an argument's number the first derivative, where the differences of ``formula`` would lose it.
        digits: with which mpmath computes.
        orders: how many derivatives there are.
        dtypes: of the arguments.
    """

    name: str
    function: Callable[..., Any]
    formula: Callable[..., Any]
    points: Sequence[tuple[Any, ...]]
    by: tuple[int, ...] = (0,)
    slopes: Mapping[int, Callable[..., Any]] = {}
    digits: int = 50
    orders: int = 2
    dtypes: Sequence[str] = ("float64",)


class Found(NamedTuple):
    """One number of ours beside the formula's."""

    row: str
    engine: str
    dtype: str
    order: int
    by: int
    point: tuple[float, ...]
    ours: float
    expected: float
    error: float

    @property
    def is_fault(self) -> bool:
        """Whether the error is more than rounding explains."""
        return not self.error <= ALLOWED[self.dtype][self.order]

    def __str__(self) -> str:
        place = ", ".join(f"{x!r}" for x in self.point)
        by = f" by argument {self.by}" if self.order and len(self.point) > 1 else ""
        return (
            f"{self.row}({place}) on {self.engine} in {self.dtype}: {ORDERS[self.order]}{by} is {self.ours!r}, "
            f"should be {self.expected!r} (error {self.error:.1e})"
        )


def plain(point: tuple[Any, ...]) -> tuple[float, ...]:
    """A point in floats."""
    return tuple([float(x.value) if isinstance(x, Edge) else float(x) for x in point])


def _in_digits(point: tuple[Any, ...]) -> tuple[list[Any], bool]:
    """A point in mpmath's numbers, and whether it stands for a limit."""
    found, is_limit = [], False
    for x in point:
        if isinstance(x, Edge):
            with mp.workdps(100):
                found.append(x.value + x.side * _NEAR * max(abs(mp.mpf(x.value)), 1))
            is_limit = True
        elif math.isinf(x):
            found.append(mp.sign(x) * _FAR)
            is_limit = True
        else:
            found.append(mp.mpf(x))
    return found, is_limit


def _derivative(row: Row, xs: list[Any], by: int, order: int) -> Any:
    formula = row.formula
    if order and by in row.slopes:
        formula, order = row.slopes[by], order - 1
    if not order:
        return formula(*xs)

    # Steps in parts of the argument, with digits enough for functions that change by a number and not by a part.
    scale = abs(xs[by]) or mp.mpf(1)

    def of_part(u: Any) -> Any:
        return formula(*xs[:by], xs[by] + scale * u, *xs[by + 1 :])

    with mp.workdps(mp.dps + int((order + 1) * abs(mp.log10(scale)))):
        return mp.diff(of_part, mp.mpf(0), order) / scale**order


def expected(row: Row, point: tuple[Any, ...], by: int) -> list[Any]:
    """Value, derivatives and one derivative more; ``None`` where the formula has none."""
    xs, is_limit = _in_digits(point)
    found: list[Any] = []
    with mp.workdps(row.digits + 60 * is_limit):
        for order in range(row.orders + 2):
            try:
                y = _derivative(row, xs, by, order)
                y = y.real if isinstance(y, mp.mpc) and abs(y.imag) <= 1e-30 * abs(y.real) else y
                # Differences of a function that is linear leave rounding.
                if (
                    order > 1
                    and found[-1]
                    and abs(y) * max(abs(xs[by]), 1) < mp.mpf(10) ** (-0.6 * row.digits) * abs(found[-1])
                ):
                    y = mp.mpf(0)
                found.append(None if isinstance(y, mp.mpc) or mp.isnan(y) else mp.mpf(y))
            except (ValueError, ZeroDivisionError, mp.NoConvergence, OverflowError, TypeError):
                found.append(None)
    return found


def _rounded(y: Any, is_limit: bool, dtype: str = "float64") -> float:
    if is_limit and abs(y) > _ENDLESS:
        return math.inf if y > 0 else -math.inf
    if is_limit and abs(y) < 1 / _ENDLESS:
        return 0.0
    if abs(y) > _RANGE[dtype][0]:
        return math.inf if y > 0 else -math.inf
    return float(y)


def error_of(ours: float, y: Any, slope: Any, x: Any, is_limit: bool, order: int, *, dtype: str) -> float:
    """The error in parts of the value, or of what a rounded argument changes in it."""
    reference = _rounded(y, is_limit, dtype)
    largest, tiniest = _RANGE[dtype]
    if math.isnan(ours) or math.isinf(reference) or math.isinf(ours):
        # Near the largest number rounding decides.
        beyond = math.isinf(ours) and not is_limit and abs(y) > 0.9 * largest and (ours > 0) == (y > 0)
        large = math.isinf(reference) and abs(ours) > 1e14 and (ours > 0) == (reference > 0)
        # A logarithm goes to infinity slowly.
        slowly = is_limit and math.isinf(ours) and abs(y) > 30 and (ours > 0) == (y > 0)
        return 0.0 if beyond or large or slowly or ours == reference else math.inf
    if is_limit:
        return 0.0 if abs(ours - reference) <= 1e-6 * max(abs(reference), 1e-2) else math.inf
    sensitivity = abs(y) + (0 if slope is None else abs(x * slope))
    difference = abs(mp.mpf(ours) - y)
    # A derivative may vanish where its terms do not: they cancel to rounding.
    rounding = 5 * float(np.finfo(dtype).eps)
    if difference < tiniest or (order and slope is not None and difference < rounding * abs(slope)):
        return 0.0
    return float(min(difference / sensitivity, mp.mpf(1e300))) if sensitivity else math.inf


def ours_of(row: Row, by: int, engine: str, dtype: str = "float64") -> list[np.ndarray | None]:
    """Value and derivatives at all points, on one engine; ``None`` for orders that are refused."""
    columns = [np.array(column, dtype) for column in zip(*[plain(point) for point in row.points], strict=True)]
    f: Callable[..., Any] = row.function
    found: list[np.ndarray | None] = []
    with np.errstate(all="ignore"):
        for order in range(row.orders + 1):
            if order:
                f = fg.grad(lambda *xs, inner=f: np.sum(inner(*xs)), by)
            try:
                run = f if engine == "numpy" else fg.jit(f, engine=engine)
                found.append(np.broadcast_to(np.asarray(run(*columns)), columns[0].shape))
            except NotDifferentiableError:
                found.append(None)
    return found


def _narrow(row: Row) -> Row:
    """The row at the points that float32 has, without those that are denormal numbers there."""
    tiny, largest = (float(x) for x in (np.finfo(np.float32).tiny, np.finfo(np.float32).max))
    points = [
        tuple([x if isinstance(x, Edge) or math.isinf(x) else float(np.float32(x)) for x in point])
        for point in row.points
        if all(not x or math.isinf(x) or tiny <= abs(x) <= largest for x in plain(point))
    ]
    return row._replace(points=points)


def check(row: Row, engines: Sequence[str] = ENGINES, dtype: str = "float64") -> Iterator[Found]:
    """Every number of a row beside the formula's."""
    row = _narrow(row) if dtype == "float32" else row
    for number, by in enumerate(row.by):
        references = [expected(row, point, by) for point in row.points]
        for engine in engines:
            for order, ys in enumerate(ours_of(row, by, engine, dtype)):
                if ys is None or (order == 0 and number):
                    continue
                for point, reference, y in zip(row.points, references, ys, strict=True):
                    target = reference[order]
                    if target is None:
                        continue
                    xs, is_limit = _in_digits(point)
                    if order and any(map(math.isinf, plain(point))):
                        # At infinity a derivative is its limit, or 0 where the point has left the support.
                        error = math.inf if math.isnan(y) else 0.0
                        yield Found(row.name, engine, dtype, order, by, plain(point), float(y), math.nan, error)
                        continue
                    error = error_of(float(y), target, reference[order + 1], xs[by], is_limit, order, dtype=dtype)
                    target = _rounded(target, is_limit, dtype)
                    yield Found(row.name, engine, dtype, order, by, plain(point), float(y), target, error)
