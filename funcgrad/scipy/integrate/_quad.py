"""``quad``: QUADPACK's integral, with derivatives that are integrals too.

The derivative with respect to the integrand's operands is the integral of its derivative (Leibniz), computed by the
same routine with the same tolerances. The derivative with respect to an end is the integrand there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import untraced
from funcgrad._core.lazy import LazyModule
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._types import Arguments, ArrayLike
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy.extend import as_value, known_value
from funcgrad.scipy._closed import (
    Closed,
    Flat,
    Solver,
    close,
    nothing_traced,
    plainly,
    refuse_traced,
    settled_array,
    solved,
    traced_leaves,
)
from funcgrad.scipy._tangents import all_directions, directions_of, moves, parts_of

theirs = LazyModule("scipy.integrate")

_NAME = "scipy.integrate.quad"
_POINT = Aval((), np.dtype(float))


def quad(  # noqa: PLR0913, PLR0917  (SciPy's arguments)
    func: Callable[..., Any],
    a: ArrayLike,
    b: ArrayLike,
    args: Arguments = (),
    full_output: Any = 0,
    epsabs: float = 1.49e-8,
    epsrel: float = 1.49e-8,
    limit: int = 50,
    points: ArrayLike = None,
    weight: str | None = None,
    wvar: ArrayLike = None,
    wopts: Any = None,
    maxp1: int = 50,
    limlst: int = 50,
    complex_func: bool = False,
) -> Any:
    """``scipy.integrate.quad``: the integral of a function over an interval, which is differentiable.

    The integral has derivatives with respect to the ends, ``args`` and the closure of ``func``. They are integrals by
    the same routine with the same tolerances, and it may warn about them too. The error estimate has no derivative. The
    derivative misses a jump of the integrand whose position moves: make that position an end.

    Args:
        func: a function of a number and ``args`` that returns a number, written with NumPy. If it branches on its
            argument, it has derivatives with respect to its arguments, but not to its closure.
        a: the lower limit; -inf is a constant.
        b: the upper limit; inf is a constant.
        args: further arguments, pytrees.
        full_output: whether SciPy's report is returned too; not supported under `jit` and `vmap`.
        epsabs: the absolute tolerance.
        epsrel: the relative tolerance.
        limit: the largest number of intervals.
        points: where the integrand is not smooth.
        weight: SciPy's name of a weight function; with one, the integral has no derivatives with respect to the ends.
        wvar: the parameters of the weight function.
        wopts: SciPy's moments.
        maxp1: the number of moments.
        limlst: the number of cycles.
        complex_func: whether ``func`` returns complex numbers.

    Returns:
        The integral, the estimate of its error, and with ``full_output`` SciPy's report.

    Raises:
        UnsupportedFunctionError: ``full_output`` under `jit` or `vmap`, or traced ends with a weight.
        NotDifferentiableError: an option is traced, or ``func`` branches on numbers and closes over traced ones.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> mass = lambda s: fg.scipy.integrate.quad(lambda x: np.exp(-((x / s) ** 2)), -np.inf, np.inf)[0]
        >>> print(np.round([mass(2.0), fg.grad(mass)(2.0), np.sqrt(np.pi)], 6))
        [3.544908 1.772454 1.772454]
    """
    options: dict[str, Any] = {"epsabs": epsabs, "epsrel": epsrel, "limit": limit, "points": points}
    options |= {"weight": weight, "wvar": wvar, "wopts": wopts, "maxp1": maxp1, "limlst": limlst}

    def theirs_of(func: Callable[..., Any]) -> Any:
        return theirs.quad(func, a, b, args, full_output, complex_func=complex_func, **options)

    if nothing_traced(a, b, args):
        return theirs_of(func)
    f, rest = close(_NAME, func, (_POINT,), args if isinstance(args, tuple) else (args,), _parts(complex_func))
    if not rest and not traced_leaves((a, b)):
        with untraced():
            return theirs_of(plainly(_NAME, func, f.why))
    refuse_traced(_NAME, options)
    if weight is not None and traced_leaves((a, b)):
        raise UnsupportedFunctionError(
            f"{_NAME}: an end of the interval is traced, and a weight was given; needed one of them alone. Put the "
            "weight into the function."
        )
    ends = [fnp.astype(fnp.asarray(as_value(x)), float) for x in (a, b)]
    integral = Integral(f, options, 2 if complex_func else 1, len(rest))
    value, error = solved(integral, (*ends, *rest))
    report = _report(integral, (*ends, *rest)) if full_output else ()
    if complex_func:
        return value[0] + 1j * value[1], error[0] + 1j * error[1], *report
    return value[0], error[0], *report


def _parts(complex_func: bool) -> Callable[[Any], list[Any]]:
    """Return the result of a function as real numbers in a vector."""

    def settle(y: ArrayLike) -> list[Any]:
        y = settled_array(y)
        if y.dtype.kind == "c" and not complex_func:
            raise TypeError(
                f"{_NAME}: the function returned {aval_of(y)}; needed a real number. Pass complex_func=True."
            )
        if aval_of(y).size != 1:
            raise TypeError(f"{_NAME}: the function returned {aval_of(y)}; needed a number. Integrate each by itself.")
        flat = fnp.reshape(y, (1,))
        parts = fnp.concatenate([fnp.real(flat), fnp.imag(flat)]) if complex_func else flat
        return [fnp.astype(parts, float)]

    return settle


def _report(integral: Integral, operands: Sequence[Any]) -> tuple:
    known = [known_value(x) for x in operands]
    if any(x is None for x in known):
        raise UnsupportedFunctionError(
            f"{_NAME}: full_output was asked for under jit or vmap; needed known numbers for SciPy's report. Leave it "
            "out there."
        )
    reports = [found[2:] for found in integral.quads([np.asarray(x) for x in known], full_output=1)]
    return reports[0] if len(reports) == 1 else ({"real": reports[0], "imag": reports[1]},)


class Integral(Solver):
    """The integrals of a function that returns several numbers; its operands are the ends and the values it reads.

    Args:
        f: the function, of a number and the operands.
        options: SciPy's.
        size: the number of results.
        rest: the number of operands.
    """

    def __init__(self, f: Closed, options: dict[str, Any], size: int, rest: int) -> None:
        super().__init__(_NAME, 2 + rest)
        self.f = f
        self.options = options
        self.size = size

    @property
    def avals(self) -> list[Aval]:
        return [Aval((self.size,), np.dtype(float))] * 2

    def solve(self, *xs: np.ndarray) -> list[np.ndarray]:
        found = self.quads(xs)
        return [np.array([each[i] for each in found], float) for i in range(2)]

    def quads(self, xs: Sequence[np.ndarray], full_output: int = 0) -> list[Any]:
        """Return SciPy's results, one for each number; the function is called once for the points they share."""
        a, b, *rest = xs
        program = self.f.program()
        known: dict[float, np.ndarray] = {}

        def at(x: float) -> np.ndarray:
            y = known.get(x)
            if y is None:
                y = known[x] = program(np.float64(x), *rest)[0]
            return y

        def component(i: int) -> Any:
            return theirs.quad(lambda x: at(x)[i], float(a), float(b), full_output=full_output, **self.options)

        return [component(i) for i in range(self.size)]

    def push(self, xs: Sequence[Any], x_dots: Sequence[Any]) -> tuple[list, list]:
        ys = solved(self, xs)
        a, b, *rest = xs
        a_dot, b_dot, *rest_dots = x_dots
        terms = []
        moving = tuple([moves(x, x_dot) for x, x_dot in zip(rest, rest_dots, strict=True)])
        if any(moving):
            rows = fnp.concatenate([parts_of(x_dot) for x_dot, moved in zip(rest_dots, moving, strict=True) if moved])
            avals = tuple(map(aval_of, rest))
            count = aval_of(rows).size
            slopes = self.f.derived(_slopes, (_POINT, *avals), avals, moving, count)
            integral = Integral(slopes, self.options, count * self.size, len(rest))
            found = solved(integral, (a, b, *rest))[0]
            terms.append(fnp.tensordot(rows, fnp.reshape(found, (count, self.size)), 1))
        for end, end_dot, sign in ((a, a_dot, -1), (b, b_dot, 1)):
            known = known_value(end)
            if moves(end, end_dot) and not (known is not None and np.isinf(known)):
                terms.append(sign * end_dot * self.f.evaluate(end, *rest)[0])
        value = ys[0]
        return ys, [sum(terms[1:], terms[0]) if terms else zeros_like(value), zeros_like(value)]


def _slopes(evaluate: Flat, avals: tuple[Aval, ...], moving: tuple[bool, ...], count: int) -> Flat:
    """Return the derivatives of all numbers in all directions, in a vector."""
    directions = directions_of(avals, moving, 0)

    def slopes(x: ArrayLike, *rest: Any) -> list[Any]:
        _, (dots,) = all_directions(evaluate, (x, *rest), (None, *directions), count)
        return [fnp.reshape(dots, (-1,))]

    return slopes
