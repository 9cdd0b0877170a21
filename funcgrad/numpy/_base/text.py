"""The text of tracers."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import Tracer
from funcgrad._core.trace.place import settled
from funcgrad.numpy._base.concrete import concrete_value, innermost
from funcgrad.numpy._base.dispatch import implements


def to_text(self: Tracer) -> str:
    """Return ``Traced<f64[3]> by grad, value=array([...])``, without the value if it is not known yet."""
    self = settled(self)
    if not isinstance(self, Tracer):
        return f"Traced<{aval_of(self)}> by no transform yet, value={self!r}"
    value = f", value={self._value!r}" if self._owner.concrete else ""
    return f"Traced<{self.aval}> by {self._owner.transform}{value}"


def to_str(self: Tracer) -> str:
    """Return ``str(x)``: the text of a number that is known, as in the plain call, else that of `to_text`."""
    value = None if self.shape else innermost(self)
    return str(value) if issubclass(type(value), np.generic | int | float | complex) else to_text(self)


@implements(np.array_repr, np.array_str, np.array2string)
def array_repr(x: Tracer, *args: Any, **kwargs: Any) -> str:
    """Return ``numpy.array_repr`` and its variants: a tracer has one text."""
    del args, kwargs
    return to_text(x)


def to_format(self: Tracer, spec: str) -> str:
    """Return the text for an f-string. A format such as ``.3f`` is applied to the number."""
    if not spec:
        return str(self)
    value = concrete_value(self, f"the format {spec!r} (fg.debug_print formats the numbers of each call)")
    return format(value.item() if getattr(value, "shape", None) == () else value, spec)
