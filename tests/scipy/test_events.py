"""Events of `solve_ivp`: a ball that is thrown, whose times and heights are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.integrate

import funcgrad as fg
from funcgrad.scipy import integrate

theirs: Any = scipy.integrate
TIGHT: dict[str, Any] = {"method": "DOP853", "rtol": 1e-11, "atol": 1e-12}
POINT = (9.8, 2.0, 3.0)


def ground(t: Any, y: Any, *args: Any) -> Any:
    return y[0]


def summit(t: Any, y: Any, *args: Any) -> Any:
    return y[1]


vars(ground).update(terminal=True, direction=-1)


def throw(g: Any, h: Any, v: Any, m: Any = integrate) -> Any:
    """Throw a ball, by gravity, height and speed."""
    return m.solve_ivp(lambda t, y, g: [y[1], -g], (0, 9), [h, v], events=[ground, summit], args=(g,), **TIGHT)


CASES: dict[str, tuple[Callable[[Any], Any], Callable[..., Any]]] = {
    "the last time": (lambda found: found.t[-1], lambda g, h, v: (v + np.sqrt(v * v + 2 * g * h)) / g),
    "a terminal event": (lambda found: found.t_events[0][0], lambda g, h, v: (v + np.sqrt(v * v + 2 * g * h)) / g),
    "the last value": (lambda found: found.y[1, -1], lambda g, h, v: -np.sqrt(v * v + 2 * g * h)),
    "an event": (lambda found: found.t_events[1][0], lambda g, h, v: v / g + 0 * h),
    "the value there": (lambda found: found.y_events[1][0, 0], lambda g, h, v: h + v * v / (2 * g)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_throw(name: str) -> None:
    what, known = CASES[name]
    assert what(throw(*POINT)) == what(throw(*POINT, m=theirs))
    every, ours = (0, 1, 2), lambda *xs: what(throw(*xs))
    value, gradient = fg.value_and_grad(ours, every)(*POINT)
    assert value == what(throw(*POINT, m=theirs))
    np.testing.assert_allclose(gradient, fg.grad(known, every)(*POINT), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(fg.hessian(ours, every)(*POINT), fg.hessian(known, every)(*POINT), rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(fg.jvp(ours, POINT, (1.0, 2.0, 3.0))[1], np.dot(gradient, [1, 2, 3]), rtol=1e-9)


def test_a_ball_that_bounces() -> None:
    """Each bounce begins where the one before ended; the times are known."""

    def third(keeps: Any) -> Any:
        t, speed = 0.0, 3.0
        for _ in range(3):
            found = integrate.solve_ivp(
                lambda t, y: [y[1], -9.8 + 0 * t], (t, t + 9), np.stack([1e-12, speed]), events=ground, **TIGHT
            )
            t, speed = found.t[-1], -keeps * found.y[1, -1]
        return t

    expected = 2 * 3.0 / 9.8 * np.array([1 + 0.8 + 0.64, 1 + 2 * 0.8])
    np.testing.assert_allclose(fg.value_and_grad(third)(0.8), expected, rtol=1e-9)


def test_a_level_that_is_closed_over() -> None:
    """Only the event is traced. It crosses several times, and times of results are given."""

    def crossings(level: Any, way: int = 1) -> Any:
        span = (0, 9) if way > 0 else (9, 0)
        start = [0.0, 1.0] if way > 0 else [np.sin(9.0), np.cos(9.0)]
        return integrate.solve_ivp(
            lambda t, y: [y[1], -y[0]], span, start, t_eval=[4.0], events=lambda t, y: y[0] - level, **TIGHT
        ).t_events[0]

    for way in (1, -1):
        slopes = fg.jacrev(lambda level, way=way: crossings(level, way))(0.4)
        np.testing.assert_allclose(slopes, 1 / np.cos(crossings(0.4, way)), rtol=1e-8)
