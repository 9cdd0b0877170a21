"""A program as a function with derivatives, with their rounding errors and their jumps."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

import funcgrad as fg
from tests.laws.fuzz.case import Case, Function
from tests.laws.fuzz.compare import numbers
from tests.laws.fuzz.derivatives import differences, directions, forward, pairing, reverse
from tests.laws.fuzz.modules import PLAIN, TRACED
from tests.laws.fuzz.noise import Noise
from tests.laws.fuzz.routes import direction


class Derivable:
    """The floating results of a case as a function of its floating inputs, with directions on both sides."""

    def __init__(self, case: Case, rng: Random, namespace: Any = TRACED) -> None:
        names = case.names("fc")
        run, self.tree = case.function(names, rng, namespace)
        self.f = self._of_floats(case, run)
        self.empty = not names or not case.floats
        self.t_dot = directions(self.tree, rng)
        self.y_bars = directions([numbers(np.asarray(case.results[i])) for i in case.floats], rng)
        self.arguments = (self.tree, self.t_dot, self.y_bars)
        # The same function, with another function applied to the value of every statement.
        self.through = lambda noise: self._of_floats(case, case.function(names, Random(0), namespace, noise)[0])

    @staticmethod
    def _of_floats(case: Case, run: Function) -> Function:
        return lambda tree: (ys := run(tree)) and [ys[i] for i in case.floats]


def is_cancelled(d: Derivable, gap: float) -> bool:
    """Return whether a gap is rounding, for example in a derivative whose parts cancel (of ``x / x``).

    Such a one moves as far when the inputs do in their last places, or the values on the way; a wrong rule is off by a
    part of the derivative.
    """
    return abs(gap) <= 10 * max(spread(mode, d) for mode in (forward, reverse))


def spread(derivative: Callable[..., Any], d: Derivable) -> float:
    """Return how far a derivative (a function of those of `MODES`) moves if all values change in their last places."""
    noise = Noise(np.random.default_rng(3), 4)
    near = lambda tree: fg.tree.map(noise, tree)
    found = []
    for _ in range(6):
        # A value that is off by one unit may have no derivative.
        with contextlib.suppress(Exception):
            found.append(derivative(d.through(noise), *map(near, d.arguments)))
    return float(np.max(np.abs(np.subtract(found, found[0])), initial=0)) if found else 0.0


def slope_of(case: Case, d: Derivable) -> float | None:
    """Return the derivative along the direction by differences of plain NumPy's results."""
    plain, _ = case.function(case.names("fc"), Random(0), PLAIN)
    leaves = fg.tree.leaves(d.tree)
    return differences(
        lambda t: pairing(d.y_bars, [plain(tuple(t))[i] for i in case.floats]), leaves, fg.tree.leaves(d.t_dot)
    )


def nearby(d: Derivable) -> Any:
    """Return inputs near those of the program at which there is no kink."""
    rng = Random(1)
    return fg.tree.map(lambda x: x + 1e-7 * direction(x, rng), d.tree)


def jumps(d: Derivable) -> bool:
    """Return whether the derivative jumps between the points of the differences, as it does where a mask changes.

    The derivative of a smooth function moves with the step, so that a tenth of the step changes it by a tenth.
    """

    def at(s: float) -> float:
        return float(forward(d.f, fg.tree.map(lambda x, x_dot: x + s * x_dot, d.tree, d.t_dot), d.t_dot, d.y_bars))

    try:
        here = at(0.0)
        far, near = [max(abs(at(s) - here), abs(at(-s) - here)) for s in (2e-3, 2e-4)]
    except (ValueError, TypeError):
        # A mask with other numbers gives a result of another length.
        return True
    return near > 0.3 * far and near > 1e-3 * (abs(here) + 1e-3)


def at_a_kink(here: Any, derivative: Callable[[Any], Any], d: Derivable) -> bool:
    """Return whether the derivative nearby differs, as at a kink (``abs(x * x)`` at 0)."""
    there = derivative(nearby(d))
    return not abs(float(here) - float(there)) <= 1e-3 * (abs(float(here)) + 1)
