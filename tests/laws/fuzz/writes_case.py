"""A program that writes, with NumPy's results and their slopes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

import funcgrad as fg
from tests.laws.fuzz.noise import Noise
from tests.laws.fuzz.writes import Program

ARGNUMS = (0, 1)


class Case:
    """A program, NumPy's results, and the sum of all its values."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.run = program.function()
        self.given = program.arguments()
        self.values = self.run(*program.arguments())
        self.narrow = any(np.asarray(v).dtype.name in ("float32", "complex64") for v in self.values.values())
        self.narrow = self.narrow or "float32" in program.source()
        # The sum leaves out elements that are NaN. Derivatives may still be NaN, where 0 is multiplied by NaN.
        self.known = {name: ~np.isnan(np.asarray(v)) for name, v in self.values.items()}
        self.has_nan = not all(known.all() for known in self.known.values())

    @cached_property
    def by_strides(self) -> bool:
        """Return whether the strides decide if a result is a view."""
        try:
            values = self.program.function(lambda a: np.array(a, order="C")[()])(*self.program.arguments())
        except (ValueError, TypeError):
            # For an array without axes it is a new number.
            return True
        return any(not np.array_equal(values[name], self.values[name], equal_nan=True) for name in values)

    def is_rounding(self, name: str, gap: float) -> bool:
        """Return whether NumPy's own value of a variable moves as far if all new values change in their last places."""
        noise = Noise(np.random.default_rng(0), 16)
        run = self.program.function(noise)
        for _ in range(8):
            try:
                moved = run(*map(noise, self.program.arguments()))[name]
            except (ValueError, TypeError, IndexError):
                return True
            expected = np.asarray(self.values[name]).astype(complex)
            if np.shape(moved) != expected.shape or not np.array_equal(np.isnan(moved), np.isnan(expected)):
                return True
            if 0 < gap <= 10 * np.max(np.abs(moved - expected), initial=0, where=self.known[name]):
                return True
        return False

    @cached_property
    def by_rounding(self) -> bool:
        """Return whether the last places decide which value is chosen or comes first. Another engine may round them."""
        return any(self.is_rounding(name, 1e-2 if self.narrow else 1e-6) for name in self.values)

    def loss(self, x: Any, z: Any, run: Any = None) -> tuple[Any, dict[str, Any]]:
        """Return a weighted sum of the values of all variables, and the values."""
        values = (run or self.run)(x, z)
        total = 0.0
        for i, (name, v) in enumerate(values.items()):
            like = np.asarray(self.values[name])
            if like.dtype.kind not in "fc":
                continue
            w = np.cos(np.arange(like.size) + i).reshape(like.shape)
            known = np.where(self.known[name], v, 0.0) if self.has_nan else v
            total = total + np.sum(np.real(known) * w)
            if like.dtype.kind == "c":
                total = total + np.sum(np.imag(known) * w[::-1] if like.ndim else np.imag(known) * w)
        return total, values

    def number(self, x: Any, z: Any) -> Any:
        """Return only the sum."""
        return self.loss(x, z)[0]

    @cached_property
    def directions(self) -> tuple[np.ndarray, ...]:
        rng = np.random.default_rng(self.program.seed + 1)
        return tuple([rng.standard_normal(x.shape) for x in self.given])

    @cached_property
    def slope(self) -> float | None:
        """Return the derivative along the directions by differences of NumPy's values; nothing at a kink."""
        run = self.program.widened().function()
        if self.narrow and not self._is_near(run):
            return None

        def along(t: float) -> float:
            moved = [x + t * d for x, d in zip(self.program.arguments(), self.directions, strict=True)]
            return float(self.loss(moved[0], moved[1], run)[0])

        try:
            return differences(along)
        except ValueError:
            # A mask selects other elements there.
            return None

    def _is_near(self, run: Callable[..., dict[str, Any]]) -> bool:
        """Return whether the program does the same in double precision.

        Values that differ by rounding may be chosen differently.
        """
        try:
            wide = run(*self.program.arguments())
        except ValueError:
            return False
        values = [(np.asarray(wide[name]), np.asarray(v)) for name, v in self.values.items()]
        return all(x.shape == v.shape and np.allclose(x, v, rtol=1e-3, atol=1e-3, equal_nan=True) for x, v in values)

    @cached_property
    def gradient(self) -> tuple[Any, ...]:
        """Run the program eagerly."""
        return fg.grad(self.number, ARGNUMS)(*self.given)

    @property
    def tolerance(self) -> float:
        return 1e-4 if self.narrow else 1e-9


def differences(along: Callable[[float], float]) -> float | None:
    """Return the slope at 0 if two step sizes agree on it, and the slopes to both sides."""
    slopes, sides = [], []
    here = along(0.0)
    for h in (1e-3, 4e-4):
        right, left, right_far, left_far = along(h), along(-h), along(2 * h), along(-2 * h)
        slopes.append((8 * (right - left) - (right_far - left_far)) / (12 * h))
        # The difference of the slopes to both sides. At a kink the value above is their mean.
        sides.append((4 * (right + left) - 6 * here - (right_far + left_far)) / (2 * h))
    one, other = slopes
    smooth = abs(one - other) <= 1e-6 * (1 + abs(other)) and abs(sides[1]) <= 1e-5 * (1 + abs(other))
    return other if smooth else None
