"""``solve_ivp``: SciPy's solution, with derivatives by sensitivities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._core.bind import untraced
from funcgrad._core.lazy import LazyModule
from funcgrad._types import Arguments, ArrayLike
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy.extend import as_value, known_value
from funcgrad.scipy._closed import Closed, is_traced, nothing_traced, plainly, refuse_traced, solved, traced_leaves
from funcgrad.scipy.integrate._events import Event, at_times, close_events, moved_event, plain_events
from funcgrad.scipy.integrate._flow import TIME, Described, Flow, Plain, closed_slope, jacobian_of

theirs = LazyModule("scipy.integrate")
sparse = LazyModule("scipy.sparse")
optimize = LazyModule("scipy.optimize")

_NAME = "scipy.integrate.solve_ivp"
# Options that describe the Jacobian or its memory layout. They do not describe the wider equation with sensitivities.
_OF_THE_EQUATION = ("jac", "jac_sparsity", "lband", "uband", "first_step")
_IMPLICIT = ("Radau", "BDF")


def solve_ivp(  # noqa: PLR0917  (SciPy's arguments)
    fun: Callable[..., Any],
    t_span: ArrayLike,
    y0: ArrayLike,
    method: Any = "RK45",
    t_eval: ArrayLike = None,
    dense_output: bool = False,
    events: Any = None,
    vectorized: bool = False,
    args: tuple | None = None,
    **options: Any,
) -> Any:
    """``scipy.integrate.solve_ivp``: solve ``y' = fun(t, y, *args)``; the solution is differentiable.

    SciPy solves the equation on plain numbers, so times and values are SciPy's own. The derivatives come from the
    equation of the sensitivities, which SciPy solves with the same method and tolerances: they are as accurate as the
    solution. The solution has derivatives with respect to ``y0``, ``args``, the closure of ``fun``, ``t_eval`` and both
    ends of ``t_span``. Without ``t_eval``, the times that SciPy chooses between the ends are constants. If SciPy stops
    early (``success`` is False), the part before has its derivative. The derivative misses a jump of the slope whose
    position moves: make the jump a terminal event, and continue from there.

    Args:
        fun: a function of ``t``, ``y`` and ``args`` that returns the slope, an array or a list; written with NumPy. It
            should not branch on its arguments (use `numpy.where`). If it does, it has derivatives with respect to its
            arguments, but not to its closure.
        t_span: the first and the last time.
        y0: f64[n] or c128[n], the value at the first time.
        method: one of SciPy's methods, all of which have derivatives.
        t_eval: f64[m], the times of the results. Required under `jit` and `vmap`, because the number of times that
            SciPy chooses is known only afterwards.
        dense_output: not supported with traced values.
        events: SciPy's; the times at which they are found, and the values there, are differentiable as well, and so is
            the end where one is terminal. Not supported under `jit` and `vmap`.
        vectorized: whether ``fun`` takes many values at once, in columns.
        args: further arguments of ``fun``, pytrees.
        options: SciPy's further options: rtol, atol, max_step, ...; they have no derivative.

    Returns:
        SciPy's result, with ``t``: f64[m] and ``y``: f64[n, m]; under `jit` and `vmap` it says nothing of the numbers
        of evaluations.

    Raises:
        UnsupportedFunctionError: dense output with traced values; under `jit` and `vmap` events, or no ``t_eval``.
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
    if args is not None and not isinstance(args, tuple):
        # SciPy takes any object that can be unpacked.
        args = _unpacked(args)
    start = fnp.asarray(as_value(y0))
    start = fnp.astype(start, np.dtype(complex if start.dtype.kind == "c" else float))
    f, rest = closed_slope(_NAME, fun, aval_of(start), args or (), vectorized=vectorized)
    closed = close_events(_NAME, events, aval_of(start), args or ())
    if not (rest or traced_leaves((t_span, y0, t_eval)) or any(event.rest for event in closed)):
        with untraced():
            return theirs.solve_ivp(plainly(_NAME, fun, f.why), t_span, y0, t_eval=t_eval, args=args, **given)
    if dense_output:
        raise UnsupportedFunctionError(
            f"{_NAME}: dense_output was given with traced values; needed times that are known before. Pass the times "
            "as t_eval, or solve on plain values, of fg.stop_gradient(x)."
        )
    refuse_traced(_NAME, options)
    t0, end = [fnp.astype(fnp.asarray(as_value(t)), float) for t in t_span]
    times = None if t_eval is None else fnp.astype(fnp.asarray(as_value(t_eval)), float)
    integration = _integration(f, method, options, start, rest)
    operands = (t0, end, times, start, *rest)
    known = [known_value(x) for x in (*operands, *[x for event in closed for x in event.rest]) if x is not None]
    if any(x is None for x in known):
        return _staged(f, integration, operands, events=bool(closed))
    return _known(f, integration, operands, closed)


def _unpacked(args: Arguments) -> tuple:
    if not np.ndim(args):
        raise TypeError(
            f"{_NAME}: args is a {type(args).__name__}; needed a tuple. Supplied 'args' cannot be unpacked: write "
            "args=(args,)."
        )
    return tuple(args)


class Integration(Described):
    """A method of ``solve_ivp`` with its options.

    Args:
        method: SciPy's name or class of it.
        options: SciPy's.
        block: the Jacobian of the first unknowns, if it is given.
        n: the number of these unknowns; the others are copies of them.
    """

    name = _NAME

    def __init__(self, method: Any, options: dict[str, Any], block: Closed | None = None, n: int = 0) -> None:
        self._method = method
        self._options = options
        self._block = block
        self._n = n

    def result(self, equation: Plain, events: Any = None) -> Any:
        """Return SciPy's result."""
        options = dict(self._options)
        if events:
            options["events"] = events
        if self._block is not None:
            program, n = self._block.program(), self._n
            copies = len(equation.y0) // n

            def jacobian(t: ArrayLike, y: np.ndarray) -> Any:
                (block,) = program(np.float64(t), y[:n], *equation.rest)
                return block if copies == 1 else sparse.kron(sparse.eye_array(copies), block, format="csc")

            options["jac"] = jacobian
        return theirs.solve_ivp(equation.f, equation.span, equation.y0, self._method, equation.times, **options)

    def solve(self, equation: Plain) -> np.ndarray:
        if equation.span[0] == equation.span[1] and equation.times is not None:
            # SciPy returns no values in this case.
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
        # SciPy would approximate the whole Jacobian by differences; the iteration needs only its diagonal blocks.
        mine = (self._block, self._n) if self._block is not None else (block, n)
        return Integration(self._method, options, *mine)


def _integration(f: Closed, method: Any, options: dict[str, Any], start: ArrayLike, rest: Sequence[Any]) -> Integration:
    """Return the method, with the exact Jacobian in place of the user's, which may close over traced values."""
    if not callable(options.get("jac")):
        return Integration(method, options)
    y0 = aval_of(start)
    block = f.derived(jacobian_of, (TIME, y0, *map(aval_of, rest)), y0.size, y0.dtype)
    others = {name: value for name, value in options.items() if name != "jac"}
    return Integration(method, others, block, y0.size)


def _staged(f: Closed, integration: Integration, operands: Sequence[Any], *, events: bool) -> Any:
    """Return the result while numbers are unknown; the number of times must be known."""
    _, _, times, start, *rest = operands
    if times is None or events:
        what = "no t_eval was given" if times is None else "events were given"
        raise UnsupportedFunctionError(
            f"{_NAME}: {what} under jit or vmap, and how many times there are is known only when SciPy has solved. "
            "Pass t_eval, the times of the results, and no events."
        )
    flow = Flow(f, integration, aval_of(start), aval_of(times).size, len(rest))
    (found,) = solved(flow, operands)
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


def _known(f: Closed, integration: Integration, operands: Sequence[Any], events: Sequence[Event]) -> Any:
    """Return the result after running SciPy first: it may choose the times, and may stop before the end."""
    t0, end, times, start, *rest = operands
    numbers = [np.asarray(known_value(x)) for x in (t0, end, np.zeros(0) if times is None else times, start, *rest)]
    plain = Flow(f, integration, aval_of(start), 0, len(rest)).plain(numbers)
    with untraced():
        result = integration.result(plain._replace(times=None if times is None else plain.times), plain_events(events))
    fixed = (t0, end, start, *rest)
    for k, event in enumerate(events):
        if len(result.t_events[k]):
            found = moved_event(f, integration, event, fixed, (result.t_events[k], result.y_events[k]))
            result.t_events[k], result.y_events[k] = found
    if len(result.t):
        times = _chosen(result, t0, end) if times is None else times[: len(result.t)]
        y = at_times(f, integration, fixed, times, (np.asarray(known_value(result.t)), result.y.T))
        result.t, result.y = times, fnp.swapaxes(y, 0, 1)
    return result


def _chosen(result: Any, t0: ArrayLike, end: ArrayLike) -> Any:
    """Return the times that SciPy chose: the first is the start, the last is the end or the event that ended it."""
    if len(result.t) < 2:
        return result.t
    last = result.t[-1:]
    if result.status == 0:
        last = fnp.reshape(end, (1,))
    elif result.status == 1:
        last = next(t[-1:] for t in result.t_events if len(t) and np.asarray(known_value(t))[-1] == result.t[-1])
    first = fnp.reshape(t0, (1,))
    if not (is_traced(first) or is_traced(last)):
        return result.t
    return fnp.concatenate([first, result.t[1:-1], last])
