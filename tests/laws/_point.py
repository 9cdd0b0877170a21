"""A case at operands that are drawn once, the values that laws compare there, and several laws in one test."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

import funcgrad as fg
from tests.laws._cases import Arrays, Case, Function, like


def reverse(f: Function, xs: Arrays, y_bars: Arrays) -> Arrays:
    """Return the cotangents of ``xs``."""
    return list(fg.vjp(f, *xs)[1](y_bars))


class Point:
    """A case at one point with directions. Derivatives are computed when they are first needed."""

    def __init__(self, case: Case) -> None:
        rng = np.random.default_rng(0)
        self.case = case
        self.operands = case.operands(rng)
        self.xs = [self.operands[i] for i in case.drawn]
        self.f = case.function(self.operands)
        self.x_dots = like(rng, self.xs)
        self.y_bars = like(rng, self.ys)
        self.x_bar_bars = like(rng, self.xs)

    @cached_property
    def ys(self) -> Arrays:
        """The inexact results."""
        return self.f(*self.xs)

    def cotangents(self, *xs: Any) -> Arrays:
        """Compute by reverse mode, as a function of the operands."""
        return reverse(self.f, list(xs), self.y_bars)

    def tangents(self, *xs: Any) -> Arrays:
        """Compute by forward mode, as a function of the operands."""
        return list(fg.jvp(self.f, xs, self.x_dots)[1])

    @cached_property
    def x_bars(self) -> Arrays:
        """The cotangents."""
        return self.cotangents(*self.xs)

    @cached_property
    def y_dots(self) -> Arrays:
        """The tangents."""
        return self.tangents(*self.xs)

    @cached_property
    def x_bar_dots(self) -> Arrays:
        """The tangents of the cotangents."""
        return list(fg.jvp(self.cotangents, self.xs, self.x_dots)[1])


class Together:
    """Several checks in one test. All run even if one fails. At the end the failures are raised with their names."""

    def __init__(self) -> None:
        self._failures: list[Exception] = []

    @contextmanager
    def named(self, name: str) -> Iterator[None]:
        """Keep an error raised inside, with this name."""
        try:
            yield
        except Exception as error:  # noqa: BLE001  (whatever it is, it is raised at the end)
            error.add_note(name)
            self._failures.append(error)

    def settle(self) -> None:
        """Raise the kept failures."""
        if self._failures:
            names = [error.__notes__[-1] for error in self._failures]
            raise ExceptionGroup(f"{len(names)} failed: {', '.join(names)}", self._failures)


Law = Callable[[Point], None]


def hold_together(cases: Sequence[Case], laws: Sequence[Law]) -> None:
    """Try each law on each case."""
    together = Together()
    for case in cases:
        with together.named(f"{case.id}: its point"):
            point = Point(case)
            for law in laws:
                with together.named(f"{case.id}: {law.__name__}"):
                    law(point)
    together.settle()
