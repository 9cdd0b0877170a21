"""Tensors around traced values, so that PyTorch's methods work inside of transforms and in pure calls of modules.

A function of tensors that runs under ``fg.grad``, ``fg.vmap`` or ``fg.jit`` gets traced values, which have NumPy's
methods. `lift` puts a tensor around each. The trace of these tensors takes the traced value out, applies the primitive
there, and puts a tensor around the result. Writes go to the traced value, whose memory the transform keeps. Tensors
outside keep their own tape, so a derivative by them goes through the transform.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.aval import is_inexact
from funcgrad._core.bind import NO_PARAMS, Trace, Tracer, bind, is_value, onlookers
from funcgrad._core.primitive import Primitive, View, remember_view
from funcgrad._core.trace.place import Place, as_place, shown, writable
from funcgrad._ops.elementwise.logic import isfinite_p
from funcgrad._ops.elementwise.select import select
from funcgrad._ops.program.barrier import stop_gradient_p
from funcgrad._types import Array, PyTree
from funcgrad.autograd._tape.base import is_tensor, owned_array
from funcgrad.autograd._tape.mode import inferring, recording
from funcgrad.autograd._tensor import Tensor
from funcgrad.errors import TracerAssignmentError
from funcgrad.tree import map as tree_map
from funcgrad.tree import register_leaf


class _Detached:
    """The step from a traced value to its view by `Tensor.detach`: the same memory, without a derivative."""

    @staticmethod
    def _put(x: Array, part: Any) -> Any:
        """Return the new numbers with the derivative from before the write, as in PyTorch."""
        return part + select(isfinite_p(x), x - stop_gradient_p(x), 0) if is_inexact(x.dtype) else part

    view = View(_put, same_in_cotangents=False, numpy=lambda x: x)

    def __call__(self, x: Array) -> Any:
        return bind(stop_gradient_p, (x,), NO_PARAMS)


_DETACHED = _Detached()


class TracedTrace(Trace):
    """The trace of tensors around traced values, for one call of a function of tensors. It records nothing.

    Its level is above those of the transforms that run when it is made, so an operation on such a tensor and a bare
    traced value reaches it, and both operands reach the transform. Transforms that start later see its tensors as
    constants.
    """

    transform = "a function of tensors"
    makes_places = False
    # Operations are bound to the traced values, so those decide whether a custom rule runs at once.
    binds_primals = True
    histories = None

    def __init__(self) -> None:
        super().__init__()
        self._is_recording = recording.get()
        for look in onlookers:
            look(self)

    def apply(self, primitive: Primitive, operands: tuple, params: dict, hooked: bool = True) -> Any:
        if hooked and not self.direct:
            return self.apply_hooked(primitive, operands, params)
        values = tuple([lower(x) for x in operands])
        y: Any = bind(primitive, values, params)
        ys: list[Any] = y if primitive.multiple_results else [y]
        if primitive.view is not None and isinstance(y, Tracer) and isinstance(values[0], Tracer) and not is_tensor(y):
            # A plain array that is read at traced positions has no traced base.
            remember_view(y, values[0], primitive, params)
        if self._ends_derivatives:
            # As in PyTorch, `no_grad` in a function ends the derivative.
            ys = [self.detached(each) if primitive.view is not None else _DETACHED(each) for each in ys]
        made = [self.constant(each) for each in ys]
        return made if primitive.multiple_results else made[0]

    @property
    def _ends_derivatives(self) -> bool:
        """Whether `no_grad` began in this call, so that results count as constants."""
        return self._is_recording and not recording.get()

    def constant(self, y: Array) -> Any:
        """Return a tensor around a new value, which takes traced values even if its numbers are plain."""
        return y if is_tensor(y) else self.around(writable(y))

    def around(self, y: Array) -> Any:
        """Return a tensor around a value."""
        made: Any = object.__new__(TracedTensor)
        value = owned_array(y)
        made._owner, made._value, made._node = self, value, None
        made._shape, made._dtype = value.shape, value.dtype
        made._gradient = None
        made._inference = inferring.get()
        return made

    def numbers(self, value: Array) -> Any:
        """Return the value whose numbers Python reads: the traced value, which may refuse."""
        return value

    def text_of(self, value: Array) -> str:
        """Return a tensor's text."""
        return f"tensor({value!r})"

    def detached(self, value: Array) -> Any:
        """Return a value without derivative; for a traced value a view, through which writes reach it."""
        if not isinstance(value, Tracer):
            return value
        y = _DETACHED(value)
        if is_tensor(y):
            # The transform computes with tensors that require gradients. They share memory by themselves.
            return y
        # A number has no views, until it becomes a place.
        if type(value) is Place or (value.shape and isinstance(y, Tracer) and y._owner is value._owner):
            return shown(value, _DETACHED)
        try:
            # The transform's tape keeps the result. A view of a place takes the writes instead.
            return shown(as_place(value, "detach()"), _DETACHED)
        except TracerAssignmentError:
            # Nobody may write to a value of an outer transform.
            return read_only(y)

    def target(self, value: Array, asked: str) -> Any:
        """Return the traced value to write to. A write in `no_grad` keeps the derivative from before."""
        if not self._ends_derivatives:
            return value
        y = self.detached(value)
        if is_tensor(y):
            raise TracerAssignmentError(
                f"{asked} writes in no_grad into a traced value {value.aval} of {value._owner.transform} around a "
                "tensor that requires gradients, whose derivative would not see it. Compute a new tensor."
            )
        return y

    def node_of(self, x: Array) -> None:
        """Return ``None``: the transform outside records the derivative."""
        del x

    def requires_grad(self, x: Array) -> bool:
        """Return ``False``: nothing is recorded on the tape."""
        del x
        return False


@register_leaf
class TracedTensor(Tensor, around_traced=True):
    """A tensor around a traced value."""

    __slots__ = ()
    _owner: Any

    def item(self) -> Any:
        """Return the only element as a Python number, if it is known."""
        return self._owner.numbers(self._value).item()

    def numpy(self, *, force: bool = False) -> Any:
        """Return the numbers as an array, if they are known."""
        numbers = self._owner.numbers(self._value)
        return (numbers if is_tensor(numbers) else super()).numpy(force=force)

    def tolist(self) -> Any:
        """Return the elements as nested lists, if they are known."""
        return self._owner.numbers(self._value).tolist()

    def __bool__(self) -> bool:
        return bool(self._owner.numbers(self._value))

    def __index__(self) -> int:
        return self._owner.numbers(self._value).__index__()

    def __float__(self) -> float:
        return float(self._owner.numbers(self._value))

    def __int__(self) -> int:
        return int(self._owner.numbers(self._value))

    def __repr__(self) -> str:
        return self._owner.text_of(self._value)


def read_only(y: Array) -> Any:
    """Return an array that refuses writes; a traced value as it is."""
    if isinstance(y, np.ndarray):
        y = y.view()
        y.flags.writeable = False
    return y


def lift(tree: PyTree, trace: TracedTrace | None = None) -> Any:
    """Return a pytree with a tensor around each array and traced value; other leaves stay as they are."""
    trace = TracedTrace() if trace is None else trace

    def lifted(x: Array) -> Any:
        if is_tensor(x) or issubclass(type(x), bool | int | float | complex) or not is_value(x):
            return x
        return trace.around(x)

    return tree_map(lifted, tree)


def is_lifted(x: Array) -> bool:
    """Return whether a value is a tensor around an array or a traced value."""
    return type(x) is TracedTensor


def lower(x: Array) -> Any:
    """Return the array or traced value inside of a lifted tensor; other objects as they are."""
    return x._value if type(x) is TracedTensor else x


def on_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of tensors as one of arrays and traced values, in pytrees."""

    def called(*args: Any, **options: Any) -> Any:
        given, named = lift((args, options))
        return tree_map(lower, function(*given, **named))

    return called
