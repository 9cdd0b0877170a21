"""Events of ``solve_ivp``: roots of a function of time and solution, with derivatives.

The time of an event is a root of ``g(t, y(t))``. Its derivative is ``t_dot = -g_dot / (dg/dt)``, where ``g_dot`` is the
derivative at a fixed time and ``dg/dt`` the one along the solution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import Aval, aval_of
from funcgrad._ops.layout.broadcast import with_batch
from funcgrad._ops.program.batch import mapped
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy.extend import known_value
from funcgrad.scipy._closed import Closed, close, settled_array, solved
from funcgrad.scipy._implicit import RootOfEach
from funcgrad.scipy.integrate._flow import TIME, Flow, Method


class Event(NamedTuple):
    """An event's function with its operands, and the attributes that SciPy reads."""

    g: Closed
    rest: list[Any]
    terminal: Any
    direction: Any


def close_events(name: str, events: Any, y: Aval, args: tuple) -> list[Event]:
    """Return the given events as functions with operands."""
    if events is None:
        return []

    def settle(found: Any) -> list[Any]:
        return [fnp.reshape(fnp.astype(settled_array(found), float), ())]

    given = [events] if callable(events) else list(events)
    return [
        Event(
            *close(name, each, (TIME, y), args, settle), getattr(each, "terminal", False), getattr(each, "direction", 0)
        )
        for each in given
    ]


def plain_events(events: Sequence[Event]) -> list[Callable[..., Any]]:
    """Return the events on plain numbers, for SciPy."""
    return [_plain_event(event) for event in events]


def _plain_event(event: Event) -> Any:
    program, rest = event.g.program(), [np.asarray(known_value(x)) for x in event.rest]

    def g(t: ArrayLike, y: np.ndarray) -> Array:
        return program(np.float64(t), y, *rest)[0]

    setattr(g, "terminal", event.terminal)  # noqa: B010  (functions have no such attributes to type checkers)
    setattr(g, "direction", event.direction)  # noqa: B010  (see above)
    return g


def at_times(
    f: Closed, method: Method, fixed: Sequence[Any], times: ArrayLike, known: tuple[np.ndarray, np.ndarray]
) -> Any:
    """Return the values at some times; the values at the constant times are known already.

    Args:
        f: the right side.
        method: the solver.
        fixed: the start, the end, the initial value, and the values that the right side reads.
        times: the times.
        known: the constant times, and the values there.
    """
    t0, end, start, *rest = fixed
    flow = Flow(f, method, aval_of(start), aval_of(times).size, len(rest))
    numbers = [np.asarray(known_value(x)) for x in (t0, end, start, *rest)]
    flow.remember([*numbers[:2], known[0], *numbers[2:]], [np.ascontiguousarray(known[1])])
    return solved(flow, (t0, end, times, start, *rest))[0]


def moved_event(
    f: Closed, method: Method, event: Event, fixed: Sequence[Any], known: tuple[np.ndarray, np.ndarray]
) -> tuple[Any, Any]:
    """Return the times of an event and the values there, as functions of all operands."""
    found, _ = known
    count, own = len(found), len(fixed)

    def g(times: ArrayLike, *operands: ArrayLike) -> list[Any]:
        t0, _, start, *rest = operands[:own]
        flow = Flow(f, method, aval_of(start), count, len(rest))
        (y,) = solved(flow, (t0, times[-1], times, start, *rest))
        reads = operands[own:]
        (values,), (flag,) = mapped(lambda t, y: event.g.evaluate(t, y, *reads), count, [times, y], (True, True))
        return [with_batch(values, count, flag)]

    operands = [*fixed, *event.rest]
    solver = RootOfEach(
        f.name,
        Closed(f.name, g, None),
        lambda *_: (found, True, None),
        Aval((count,), np.dtype(float)),
        0,
        len(operands),
    )
    times = solved(solver, operands)[0]
    return times, at_times(f, method, fixed, times, known)
