"""Methods that Python's and NumPy's numbers have and arrays do not: ``n.bit_length()``, ``x.is_integer()``."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from funcgrad._core.bind import Tracer
from funcgrad._ops.elementwise.cast import cast, weak_cast_p
from funcgrad.numpy._math import elementwise as e
from funcgrad.numpy._math import integer, logic, rounding

_INT, _UNSIGNED = np.dtype(np.int64), np.dtype(np.uint64)


def _is_integer(x: Tracer) -> Any:
    y = logic.isfinite(x)
    return y if x.dtype.kind in "biu" else logic.logical_and(y, e.equal(rounding.floor(x), x))


def _counted(x: Tracer) -> Any:
    """Return the number of bits that are 1, as a Python number, which the methods return in Python and NumPy."""
    return weak_cast_p(integer.bitwise_count(x), dtype=_INT)


def _bit_count(x: Tracer) -> Any:
    return _counted(_magnitude(x))


def _bit_length(x: Tracer) -> Any:
    y = _magnitude(x)
    for shift in (1, 2, 4, 8, 16, 32):
        # All bits below the highest one become 1.
        y = logic.bitwise_or(y, logic.right_shift(y, np.uint64(shift)))
    return _counted(y)


def _magnitude(x: Tracer) -> Any:
    # The cast gives the least integer, whose absolute value is one too large for its type, the right bits.
    return cast(e.absolute(cast(x, _INT)) if x.dtype.kind != "u" else x, _UNSIGNED)


def _of_numbers(name: str, kinds: str, method: Callable[[Tracer], Any]) -> Callable[[Tracer], Any]:
    def attribute(self: Tracer) -> Any:
        if self.shape or self.dtype.kind not in kinds:
            raise AttributeError(f"x.{name}: a traced value {self.aval} has no such attribute, as in NumPy.")
        return partial(method, self)

    return attribute


ATTRIBUTES: dict[str, Callable[[Any], Any]] = {
    "is_integer": _of_numbers("is_integer", "iuf", _is_integer),
    "bit_count": _of_numbers("bit_count", "biu", _bit_count),
    "bit_length": _of_numbers("bit_length", "biu", _bit_length),
}
