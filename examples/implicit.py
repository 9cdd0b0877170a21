"""Differentiate what an iteration finds, without differentiating the iteration.

A root of ``residual(x, theta) = 0`` and a fixed point ``x = step(x, theta)`` are functions of ``theta``, whatever way
they were found. The implicit function theorem gives their derivatives from one linear solve at the solution, so that
neither the number of iterations nor the solver matters: it may be SciPy's. `fg.implicit_root` does it for roots; for
the fixed point the rule is written out here, with `fg.custom_vjp`.

Run it: ``python examples/implicit.py``.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import funcgrad as fg

Step = Callable[[Any, Any], Any]


@functools.partial(fg.custom_vjp, nondiff_argnums=(0,))
def fixed_point(step: Step, guess: Any, theta: Any) -> Any:
    """The ``x`` with ``x = step(x, theta)``, by repeating the step."""

    def moving(state: Any) -> Any:
        return np.max(np.abs(state[0] - state[1])) > 1e-13

    return fg.while_loop(moving, lambda state: (state[1], step(state[1], theta)), (guess, step(guess, theta)))[1]


def _point_forward(step: Step, guess: Any, theta: Any) -> Any:
    x = fixed_point(step, guess, theta)
    return x, (x, theta)


def _point_backward(step: Step, kept: Any, x_bar: Any) -> Any:
    """The cotangent is a fixed point too: ``u = x_bar + (d step / d x)^T u``."""
    x, theta = kept
    _, pull_x = fg.vjp(lambda x: step(x, theta), x)
    _, pull_theta = fg.vjp(lambda theta: step(x, theta), theta)
    u = fixed_point(lambda u, _: x_bar + pull_x(u)[0], x_bar, ())
    return None, pull_theta(u)[0]


fixed_point.defvjp(_point_forward, _point_backward)


def circuit(voltages: Any, source: Any) -> Any:
    """Kirchhoff's law at two nodes joined by resistors and diodes."""
    a, b = voltages[0], voltages[1]
    return np.stack([source - a - (np.exp(a - b) - 1), (np.exp(a - b) - 1) - (np.exp(b) - 1)])


def relaxation(x: Any, coupling: Any) -> Any:
    """One sweep of a small network that settles."""
    return np.tanh(0.5 * coupling @ x + 0.3)


def main() -> None:
    """Compare both derivatives with differences, eagerly and compiled."""

    def power(source: Any) -> Any:
        return np.sum(fg.implicit_root(circuit, np.zeros(2), source) ** 2)

    coupling = np.random.default_rng(0).normal(size=(4, 4)) / 2
    direction = np.random.default_rng(1).normal(size=(4, 4))

    def settled(t: Any) -> Any:
        return np.sum(fixed_point(relaxation, np.zeros(4), coupling + t * direction) ** 3)

    cases: list[tuple[str, Callable[[Any], Any], float]] = [("root", power, 2.0), ("fixed point", settled, 0.1)]
    for name, f, t in cases:
        difference = (f(t + 1e-5) - f(t - 1e-5)) / 2e-5
        gradient, compiled = float(fg.grad(f)(t)), float(fg.jit(fg.grad(f))(t))
        print(f"{name:12} gradient {gradient:.9f}  compiled {compiled:.9f}  difference {difference:.9f}")
        assert abs(gradient - difference) < 1e-6 * max(1, abs(difference))
        assert abs(gradient - compiled) < 1e-9


if __name__ == "__main__":
    main()
