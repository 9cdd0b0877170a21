"""The source of the samplers: the values so far, numbers, axes, indices."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np

from tests.laws.fuzz.values import Style, array_text, number_text

Test = Callable[[np.ndarray], bool]


class UnfitError(Exception):
    """Raised if no value fits the operation. Another operation is then drawn."""


def is_float(x: np.ndarray) -> bool:
    return x.dtype.kind == "f"


def is_real(x: np.ndarray) -> bool:
    return x.dtype.kind in "buif"


def is_inexact(x: np.ndarray) -> bool:
    return x.dtype.kind in "fc"


def is_bool(x: np.ndarray) -> bool:
    return x.dtype == bool


def is_partly_nan(x: np.ndarray) -> bool:
    return x.dtype.kind in "fc" and bool(np.any(np.isnan(x))) and not bool(np.all(np.isnan(x)))


class Draw:
    """The random numbers, the style and the values (plain NumPy's) of one program, for the samplers."""

    def __init__(self, rng: Random, style: Style, values: dict[str, Any]) -> None:
        self.rng = rng
        self.style = style
        self.values = values

    def chance(self, p: float) -> bool:
        return self.rng.random() < p

    def one(self, *options: Any) -> Any:
        return self.rng.choice(options)

    def integer(self, low: int, high: int) -> int:
        return self.rng.randint(low, high)

    def value(self, name: str) -> np.ndarray:
        return np.asarray(self.values[name])

    def text_value(self, text: str) -> np.ndarray:
        """Return the value of an operand's text."""
        return np.asarray(builtins.eval(text, {"np": np, **self.values}))

    def name(self, test: Test = lambda x: True) -> str:
        """Draw a value that passes the test. Recent values are more likely, so that statements depend on each other."""
        # NumPy finds no fault with an operation on no objects. Our numbers have a dtype, so we may refuse it.
        whole = [name for name in self.values if self.value(name).size or self.value(name).dtype != object]
        fit = [name for name in whole if test(self.value(name))]
        if not fit:
            raise UnfitError
        return self.rng.choices(fit, [1 + 3 * i for i in range(len(fit))])[0]

    def array(self, least: int = 1, test: Test = lambda x: True, most: int = 9) -> str:
        return self.name(lambda x: least <= x.ndim <= most and test(x))

    def number(self) -> str:
        return number_text(self.rng, self.style)

    def operand(self, test: Test = lambda x: True) -> str:
        """Draw a value, a number, or a new array."""
        if self.chance(0.3):
            return self.number()
        return self.name(test)

    def beside(self, name: str) -> str:
        """Draw an operand that broadcasts with a value, if the shapes are known."""
        shape = self.value(name).shape
        kind = self.rng.random()
        if kind < 0.3:
            return self.number()
        if kind < 0.45:
            other = self.rng.choice([shape, shape[1:], shape[-1:], (1, *shape[1:]) if shape else ()])
            return self.constant(other)
        for _ in range(4):
            other = self.name()
            try:
                np.broadcast_shapes(shape, self.value(other).shape)
            except ValueError:
                continue
            return other
        return self.number()

    def constant(self, shape: tuple[int, ...], dtype: str | None = None) -> str:
        """Draw a new array, written out."""
        plain = Style.__new__(Style)
        plain.__dict__.update({**vars(self.style), "layouts": False})
        return array_text(self.rng, plain, shape, dtype or self.rng.choice(self.style.dtypes))

    def axis(self, x: np.ndarray) -> int:
        if not x.ndim:
            raise UnfitError
        return self.integer(-x.ndim, x.ndim - 1)

    def axes(self, x: np.ndarray) -> Any:
        """Draw ``None``, an axis, or several."""
        if not x.ndim or self.chance(0.25):
            return None
        if self.chance(0.65):
            return self.axis(x)
        chosen = self.rng.sample(range(x.ndim), self.integer(0 if self.chance(0.1) else 1, x.ndim))
        return tuple(i - x.ndim if self.chance(0.3) else i for i in chosen)

    def shape_for(self, size: int) -> tuple[int, ...]:
        """Draw lengths with this product."""
        if not size:
            return self.one((0,), (0, 2), (3, 0))
        shape: list[int] = []
        while size > 1 and len(shape) < 3:
            n = self.rng.choice([d for d in range(1, size + 1) if size % d == 0])
            shape.append(n)
            size //= n
        return (*shape, size) if size > 1 or self.chance(0.2) else tuple(shape)

    def slice_text(self, n: int) -> str:
        start = self.one("", "", "0", "1", "-1", "-2", str(n))
        stop = self.one("", "", str(n), "-1", "1", str(n + 2))
        step = self.one("", "", "", ":2", ":-1", ":-2")
        return f"{start}:{stop}{step}"

    def integers_text(self, n: int, shape: tuple[int, ...] | None = None) -> str:
        """Draw an array of positions along an axis of length ``n``, as text."""
        if not n:
            raise UnfitError
        wanted: tuple[int, ...] = self.one((2,), (3,), (1,), (2, 2), (0,), (3, 1), ()) if shape is None else shape
        flat = [self.integer(-n, n - 1) for _ in range(math.prod(wanted))]
        return f"np.array({np.array(flat, int).reshape(wanted).tolist()}, {self.one('np.int64', 'int', 'np.int32')})"

    def index(self, x: np.ndarray) -> str:
        """Return a text for between the brackets of ``x[...]``."""
        if x.ndim and self.chance(0.08):
            mask = np.array([self.chance(0.5) for _ in range(x.size)], bool).reshape(x.shape)
            return f"np.array({mask.tolist()}, bool)" if x.size else "..."
        parts, ellipsis, rest = [], False, x.ndim
        for axis in range(x.ndim):
            if self.chance(0.12):
                parts.append("None")
            if not ellipsis and self.chance(0.12):
                parts.append("...")
                ellipsis = True
            if ellipsis and self.chance(0.4):
                continue
            if not ellipsis and self.chance(0.15):
                break
            rest -= 1
            parts.append(self._position(x.shape[axis if not ellipsis else -1]))
        if not parts or self.chance(0.05):
            parts.append("..." if not ellipsis else "None")
        return ", ".join(parts)

    def _position(self, n: int) -> str:
        kind = self.rng.random()
        if kind < 0.25 and n:
            return self.one(str(self.integer(-n, n - 1)), f"np.int64({self.integer(-n, n - 1)})")
        if kind < 0.7 or not n:
            return self.slice_text(n)
        if kind < 0.82:
            return str([self.integer(-n, n - 1) for _ in range(self.integer(1, 3))])
        if kind < 0.94:
            return self.integers_text(n)
        return f"np.array({[self.chance(0.5) for _ in range(n)]})"
