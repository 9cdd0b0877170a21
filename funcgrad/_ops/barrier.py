"""The identity that carries no derivative."""

from __future__ import annotations

from funcgrad._core.derivative import CONSTANT
from funcgrad._core.primitive import Primitive
from funcgrad._ops._batching import batch_same

stop_gradient_p = Primitive(
    "stop_gradient",
    operands=("x",),
    numpy=lambda x: x,
    xla="stop_gradient",
    aval=lambda x: x,
    derivative=CONSTANT,
    batch=batch_same,
    cost=lambda y, x: 0,
)
