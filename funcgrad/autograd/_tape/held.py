"""Tensors around traced values: PyTorch's methods in a function that a transform traces."""

from __future__ import annotations

from typing import Any

from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.tape import next_serial
from funcgrad._ops.program.barrier import stop_gradient_p
from funcgrad.autograd._tape.base import TensorBase, TensorTrace
from funcgrad.autograd._tape.mode import recording


class HeldTrace(TensorTrace):
    """A trace whose tensors record nothing: operations go on to the values that the tensors hold.

    Its level is above those of the transforms that run when it is made, so an operation on such a tensor and a bare
    traced value reaches it, and both operands reach the transform.
    """

    makes_places = False

    def __init__(self, tracer_type: type[TensorBase]) -> None:
        super().__init__(tracer_type)
        self.level = next_serial()
        self._is_recording = recording.get()

    def apply(self, primitive: Primitive, operands: tuple, params: dict, hooked: bool = True) -> Any:
        if hooked and not self.direct:
            return self.apply_hooked(primitive, operands, params)
        values = tuple([x._value if type(x) is self.tracer_type and x._owner is self else x for x in operands])
        y = bind(primitive, values, params)
        if self._is_recording and not recording.get():
            # As in PyTorch, `no_grad` in a function ends the derivative.
            y = [self.detached(each) for each in y] if primitive.multiple_results else self.detached(y)
        return [self.constant(each) for each in y] if primitive.multiple_results else self.constant(y)

    def detached(self, value: Any) -> Any:
        """Return a value without derivative."""
        return bind(stop_gradient_p, (value,), NO_PARAMS)
