"""``solve_ivp``: SciPy's solution, with derivatives by sensitivities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._core.bind import untraced
from funcgrad._core.lazy import LazyModule
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy.extend import as_value, known_value
from funcgrad.scipy._closed import Closed, is_traced, nothing_traced, plainly, refuse_traced, solved, traced_leaves
from funcgrad.scipy.integrate._flow import TIME, Flow, Plain, closed_slope, jacobian_of

theirs = LazyModule("scipy.integrate")
sparse = LazyModule("scipy.sparse")
optimize = LazyModule("scipy.optimize")

_NAME = "scipy.integrate.solve_ivp"
# What says of the equation how it lies in memory, or what its Jacobian is: of the wider one it says nothing.
_OF_THE_EQUATION = ("jac", "jac_sparsity", "lband", "uband", "first_step")
_IMPLICIT = ("Radau", "BDF")


def solve_ivp(  # noqa: PLR0917  (SciPy's arguments)
    fun: Callable[..., Any],
    t_span: Any,
    y0: Any,
    method: Any = "RK45",
    t_eval: Any = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: tuple | None = None,
    **options: Any,
) -> Any:
    """``scipy.integrate.solve_ivp``: solve ``y' = fun(t, y, *args)``; the solution is differentiable.

    SciPy solves the equation on plain numbers, so times and values are SciPy's own. The derivatives come from the
    equation of the sensitivities, which SciPy solves with the same method and tolerances: they are as accurate as the
    solution. They flow by ``y0``, by ``args``, by what ``fun`` closes over, by ``t_eval`` and by both ends of
    ``t_span``. Where SciPy chooses the times (no ``t_eval``), those between the ends count as constants. Of a solution
    that breaks off (``success`` is False) what was reached has its derivative.

    Args:
        fun: takes ``t``, ``y`` and ``args``; returns the slope, an array or a list. Written with NumPy. It should not
            branch on the numbers it is given (`numpy.where` chooses); one that does has derivatives by its arguments,
            not by what it closes over.
        t_span: the first and the last time.
        y0: f64[n] or c128[n], the value at the first time.
        method: one of SciPy's methods, all of which have derivatives.
        t_eval: f64[m], the times of the results. Under `jit` and `vmap` it has to be given: how many times SciPy
            chooses is known only when it has solved.
        dense_output: not supported with traced values.
        events: not supported with traced values.
        vectorized: whether ``fun`` takes many values at once, in columns.
        args: further arguments of ``fun``, pytrees.
        options: SciPy's further options: rtol, atol, max_step, ...; they have no derivative.

    Returns:
        SciPy's result, with ``t``: f64[m] and ``y``: f64[n, m]; under `jit` and `vmap` it says nothing of the numbers
        of evaluations.

    Raises:
        UnsupportedFunctionError: events or dense output with traced values, or no ``t_eval`` where it has to be given.
        NotDifferentiableError: an option is traced, or ``fun`` branches on numbers and closes over traced ones.
        RuntimeError: under `jit` and `vmap`, SciPy does not reach the end.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> def left(rate):
        ...     decay = lambda t, y: -rate * y
        ...     return fg.scipy.integrate.solve_ivp(decay, (0, 1), [2.0], t_eval=[1.0], rtol=1e-9, atol=1e-9).y[0, 0]
        >>> print(np.round([left(0.5), fg.grad(left)(0.5), fg.grad(fg.grad(left))(0.5)], 6))
        [ 1.213061 -1.213061  1.213061]

    Source: Hairer, Nørsett and Wanner, *Solving Ordinary Differential Equations I*, 2nd edition (1993), section I.14.
    """
    given = {"method": method, "vectorized": vectorized, "dense_output": dense_output, "events": events, **options}
    if nothing_traced(t_span, y0, t_eval, args):
        return theirs.solve_ivp(fun, t_span, y0, t_eval=t_eval, args=args, **given)
    start = fnp.asarray(as_value(y0))
    start = fnp.astype(start, np.dtype(complex if start.dtype.kind == "c" else float))
    f, rest = closed_slope(_NAME, fun, aval_of(start), args or (), vectorized=vectorized)
    if not rest and not traced_leaves((t_span, y0, t_eval)):
        with untraced():
            return theirs.solve_ivp(plainly(_NAME, fun, f.why), t_span, y0, t_eval=t_eval, args=args, **given)
    _refuse(options, events, dense_output)
    t0, end = [fnp.astype(fnp.asarray(as_value(t)), float) for t in t_span]
    times = None if t_eval is None else fnp.astype(fnp.asarray(as_value(t_eval)), float)
    return _solution(f, method, options, (t0, end, times, start, *rest), free=times is None)


def _refuse(options: dict[str, Any], events: Any, dense_output: bool) -> None:
    for option, what in (("events", events), ("dense_output", dense_output)):
        if what:
            raise UnsupportedFunctionError(
                f"{_NAME}: {option} was given with traced values; needed times that are known before. Pass the times "
                "as t_eval, or solve on plain values, of fg.stop_gradient(x)."
            )
    refuse_traced(_NAME, options)


class Integration:
    """A method of ``solve_ivp`` with its options.

    Args:
        method: SciPy's name or class of it.
        options: SciPy's.
        block: the Jacobian of the first unknowns, where it is to be used.
        n: how many these are; the rest are copies of them.
    """

    name = _NAME

    def __init__(self, method: Any, options: dict[str, Any], block: Closed | None = None, n: int = 0) -> None:
        self._method = method
        self._options = options
        self._block = block
        self._n = n

    def result(self, equation: Plain) -> Any:
        """SciPy's own."""
        options = dict(self._options)
        if self._block is not None:
            program, n = self._block.program(), self._n
            copies = len(equation.y0) // n

            def jacobian(t: Any, y: np.ndarray) -> Any:
                (block,) = program(np.float64(t), y[:n], *equation.rest)
                return block if copies == 1 else sparse.kron(sparse.eye_array(copies), block, format="csc")

            options["jac"] = jacobian
        return theirs.solve_ivp(equation.f, equation.span, equation.y0, self._method, equation.times, **options)

    def solve(self, equation: Plain) -> np.ndarray:
        if equation.span[0] == equation.span[1] and equation.times is not None:
            # There SciPy returns no values.
            return np.tile(equation.y0, (len(equation.times), 1))
        found = self.result(equation)
        if not found.success:
            raise RuntimeError(
                f"{_NAME}: SciPy did not reach the end ({found.message.rstrip('.')}). Ask for earlier times, or for "
                "another method or tolerance."
            )
        return found.y.T

    def widened(self, block: Closed, n: int, copies: int) -> Integration:
        options = {name: value for name, value in self._options.items() if name not in _OF_THE_EQUATION}
        if np.ndim(options.get("atol", 0)):
            options["atol"] = np.tile(options["atol"], 1 + copies)
        if self._method not in _IMPLICIT:
            return Integration(self._method, options)
        # SciPy would find the whole Jacobian by differences; its diagonal blocks are all that the iteration needs.
        mine = (self._block, self._n) if self._block is not None else (block, n)
        return Integration(self._method, options, *mine)


def _solution(f: Closed, method: Any, options: dict[str, Any], operands: Sequence[Any], *, free: bool) -> Any:
    """SciPy's result, its times and values as functions of the operands.

    Where the numbers are known, SciPy is asked first: it may choose the times, and may not reach the end.
    """
    t0, end, times, start, *rest = operands
    y0 = aval_of(start)
    options = dict(options)
    integration = Integration(method, options)
    if callable(options.get("jac")):
        block = f.derived(jacobian_of, (TIME, y0, *map(aval_of, rest)), y0.size, y0.dtype)
        del options["jac"]
        integration = Integration(method, options, block, y0.size)
    known = [known_value(x) for x in (t0, end, start, *rest) if x is not None]
    if any(x is None for x in known) or (not free and known_value(times) is None):
        if free:
            raise UnsupportedFunctionError(
                f"{_NAME}: no t_eval was given under jit or vmap, and how many times SciPy chooses is known only when "
                "it has solved. Pass t_eval, the times of the results."
            )
        flow = Flow(f, integration, y0, aval_of(times).size, len(rest))
        (found,) = solved(flow, (t0, end, times, start, *rest))
        return optimize.OptimizeResult(
            t=times,
            y=fnp.swapaxes(found, 0, 1),
            sol=None,
            t_events=None,
            y_events=None,
            status=0,
            success=True,
            message="The solver successfully reached the end of the integration interval.",
        )
    flow = Flow(f, integration, y0, 0, len(rest))
    numbers = [np.asarray(known_value(x)) for x in (t0, end, np.zeros(0) if free else times, start, *rest)]
    equation = flow.plain(numbers)
    with untraced():
        result = integration.result(equation._replace(times=None) if free else equation)
    count = len(result.t)
    if not count:
        return result
    if free:
        times = result.t
        ends = [fnp.reshape(t0, (1,)), times[1:-1], fnp.reshape(end, (1,))]
        if (is_traced(t0) or is_traced(end)) and count > 1:
            times = fnp.concatenate(ends if result.success else [ends[0], times[1:]])
    else:
        times = times[:count]
    numbers[2] = np.asarray(result.t)
    flow = Flow(f, integration, y0, count, len(rest))
    flow.remember(numbers, [np.ascontiguousarray(result.y.T)])
    (found,) = solved(flow, (t0, end, times, start, *rest))
    result.t, result.y = times, fnp.swapaxes(found, 0, 1)
    return result
