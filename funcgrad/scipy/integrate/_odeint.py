"""``odeint``: LSODA's solution, with derivatives by sensitivities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._core.bind import untraced
from funcgrad._core.lazy import LazyModule
from funcgrad._types import ArrayLike
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy.extend import as_value, known_value
from funcgrad.scipy._closed import Closed, nothing_traced, plainly, refuse_traced, solved, traced_leaves
from funcgrad.scipy.integrate._flow import TIME, Described, Flow, Plain, closed_slope, jacobian_of

theirs = LazyModule("scipy.integrate")

_NAME = "scipy.integrate.odeint"
# Options that describe the Jacobian or its memory layout. They do not describe the wider equation with sensitivities.
_OF_THE_EQUATION = ("Dfun", "col_deriv", "ml", "mu", "h0")


def odeint(  # noqa: PLR0913, PLR0917  (SciPy's arguments)
    func: Callable[..., Any],
    y0: ArrayLike,
    t: ArrayLike,
    args: tuple = (),
    Dfun: Any = None,  # noqa: N803  (SciPy's name)
    col_deriv: Any = 0,
    full_output: Any = 0,
    ml: int | None = None,
    mu: int | None = None,
    rtol: ArrayLike = None,
    atol: ArrayLike = None,
    tcrit: ArrayLike = None,
    h0: float = 0.0,
    hmax: float = 0.0,
    hmin: float = 0.0,
    ixpr: Any = 0,
    mxstep: int = 0,
    mxhnil: int = 0,
    mxordn: int = 12,
    mxords: int = 5,
    printmessg: Any = 0,
    tfirst: bool = False,
) -> Any:
    """``scipy.integrate.odeint``: solve ``y' = func(y, t, *args)``; the solution is differentiable, as `solve_ivp`'s.

    The solution has derivatives with respect to ``y0``, ``args``, the closure of ``func``, and ``t``. If LSODA fails,
    SciPy warns, and neither the result nor its derivative is valid.

    Args:
        func: takes ``y``, ``t`` and ``args``; returns the slope, an array or a list. As for `solve_ivp`.
        y0: f64[n], the value at ``t[0]``.
        t: f64[m], the times.
        args: further arguments, pytrees.
        Dfun: the Jacobian; with traced values the exact one is used in its place.
        col_deriv: whether ``Dfun`` returns columns.
        full_output: whether SciPy's report is returned too; not supported under `jit` and `vmap`.
        ml: the number of diagonals of the Jacobian below the main one.
        mu: the number of diagonals above the main one.
        rtol: the relative tolerance.
        atol: the absolute tolerance.
        tcrit: times to take care at.
        h0: the first step.
        hmax: the longest step.
        hmin: the shortest step.
        ixpr: whether SciPy prints when it changes its method.
        mxstep: the largest number of steps between two times.
        mxhnil: the largest number of messages.
        mxordn: the highest order of Adams' methods.
        mxords: the highest order of the BDF methods.
        printmessg: whether SciPy prints a report.
        tfirst: whether ``func`` takes ``t`` first.

    Returns:
        f64[m, n], the values; with ``full_output`` SciPy's report too.

    Raises:
        NotDifferentiableError: an option is traced, or ``func`` branches on numbers and closes over traced ones.
        UnsupportedFunctionError: ``full_output`` under `jit` or `vmap`.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> def left(rate):
        ...     decay = lambda y, t: -rate * y
        ...     return fg.scipy.integrate.odeint(decay, 2.0, [0.0, 1.0], rtol=1e-9, atol=1e-9)[1, 0]
        >>> print(np.round([left(0.5), fg.grad(left)(0.5)], 6))
        [ 1.213061 -1.213061]

    Source: as for `solve_ivp`.
    """
    options: dict[str, Any] = {"Dfun": Dfun, "col_deriv": col_deriv, "ml": ml, "mu": mu, "rtol": rtol, "atol": atol}
    options |= {"tcrit": tcrit, "h0": h0, "hmax": hmax, "hmin": hmin, "ixpr": ixpr, "mxstep": mxstep}
    options |= {"mxhnil": mxhnil, "mxordn": mxordn, "mxords": mxords, "printmessg": printmessg}

    def theirs_of(func: Callable[..., Any]) -> Any:
        return theirs.odeint(func, y0, t, args, full_output=full_output, tfirst=tfirst, **options)

    if nothing_traced(y0, t, args):
        return theirs_of(func)
    args = args if isinstance(args, tuple) else (args,)
    start = fnp.atleast_1d(fnp.astype(fnp.asarray(as_value(y0)), float))
    times = fnp.astype(fnp.asarray(as_value(t)), float)
    if len(times.shape) != 1 or times.shape[0] == 0 or len(start.shape) != 1:
        raise ValueError(
            f"{_NAME}: y0 is {aval_of(start)} and t {aval_of(times)}; needed one axis for each, and a time at least. "
            "Reshape what has more with np.reshape(y0, -1), in func too."
        )
    f, rest = closed_slope(_NAME, func, aval_of(start), args, tfirst=tfirst)
    if not rest and not traced_leaves((y0, t)):
        with untraced():
            return theirs_of(plainly(_NAME, func, f.why))
    refuse_traced(_NAME, {name: value for name, value in options.items() if name != "Dfun"})
    return _solution(f, options, (times[0], times[-1], times, start, *rest), full=bool(full_output))


def _solution(f: Closed, options: dict[str, Any], operands: tuple, *, full: bool) -> Any:
    _, _, times, start, *rest = operands
    y0 = aval_of(start)
    block = None
    if callable(options["Dfun"]) and options["ml"] is None and options["mu"] is None:
        block = f.derived(jacobian_of, (TIME, y0, *map(aval_of, rest)), y0.size, y0.dtype)
    method = Lsoda({name: value for name, value in options.items() if name not in ("Dfun", "col_deriv")}, block)
    flow = Flow(f, method, y0, aval_of(times).size, len(rest))
    if not full:
        return solved(flow, operands)[0]
    known = [known_value(x) for x in operands]
    if any(x is None for x in known):
        raise UnsupportedFunctionError(
            f"{_NAME}: full_output was asked for under jit or vmap; needed known numbers for SciPy's report. Leave "
            "it out there."
        )
    numbers = [np.asarray(x) for x in known]
    with untraced():
        y, report = method.result(flow.plain(numbers), full_output=1)
    flow.remember(numbers, [y])
    return solved(flow, operands)[0], report


class Lsoda(Described):
    """``odeint`` with its options, and the Jacobian if one was given."""

    name = _NAME

    def __init__(self, options: dict[str, Any], block: Closed | None = None) -> None:
        self._options = options
        self._block = block

    def result(self, equation: Plain, full_output: int = 0) -> Any:
        """Return SciPy's result."""
        options = dict(self._options)
        if self._block is not None:
            program = self._block.program()
            options["Dfun"] = lambda t, y: program(np.float64(t), y, *equation.rest)[0]
        return theirs.odeint(
            lambda t, y: equation.f(np.float64(t), y),
            equation.y0,
            equation.times,
            full_output=full_output,
            tfirst=True,
            **options,
        )

    def solve(self, equation: Plain) -> np.ndarray:
        return self.result(equation)

    def widened(self, block: Closed, n: int, copies: int) -> Lsoda:
        options = {name: value for name, value in self._options.items() if name not in _OF_THE_EQUATION}
        for name in ("rtol", "atol"):
            if options[name] is not None and np.ndim(options[name]):
                options[name] = np.tile(options[name], 1 + copies)
        return Lsoda(options)
