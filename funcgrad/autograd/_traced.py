"""Tensors around traced values, so that PyTorch's methods work inside of transforms.

A function of tensors that runs under ``fg.grad``, ``fg.vmap`` or ``fg.jit`` gets traced values, which have NumPy's
methods. `lift` puts a tensor around each. Its trace is the innermost of all: it takes the traced value out, applies the
primitive there, and puts a tensor around the result. Tensors outside keep their own tape, so a derivative by them goes
through the transform.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad._core.bind import Trace, bind, is_value, lasting_traces
from funcgrad._core.primitive import Primitive
from funcgrad._transforms.custom.stop_gradient import stop_gradient
from funcgrad.autograd._tape.base import is_tensor, owned_array
from funcgrad.autograd._tensor import Tensor
from funcgrad.tree import map as tree_map
from funcgrad.tree import register_leaf

# More than the level of any transform, which is the number of its start.
_INNERMOST = 2**62


class TracedTrace(Trace):
    """The trace of tensors around traced values. It records nothing, and never ends."""

    transform = "a function of tensors"
    # A copy may be written to; other results may be views, so writing into them is refused, as for JAX's values.
    takes_writes = True
    histories = None

    def __init__(self) -> None:
        super().__init__()
        self.level = _INNERMOST

    def apply(self, primitive: Primitive, operands: tuple, params: dict, hooked: bool = True) -> Any:
        del hooked
        y = bind(primitive, tuple([x._value if type(x) is TracedTensor else x for x in operands]), params)
        return [self.constant(value) for value in y] if primitive.multiple_results else self.constant(y)

    def constant(self, y: Any) -> Any:
        """Return a tensor around a value; a tensor as it is."""
        if is_tensor(y):
            return y
        made: Any = object.__new__(TracedTensor)
        value = owned_array(y)
        made._owner, made._value, made._node = self, value, None
        made._shape, made._dtype = value.shape, value.dtype
        made._gradient = None
        return made

    def node_of(self, x: Any) -> None:
        """Return ``None``: the transform outside records the derivative."""
        del x

    def requires_grad(self, x: Any) -> bool:
        """Return ``False``: nothing is recorded on the tape."""
        del x
        return False


@register_leaf
class TracedTensor(Tensor, around_traced=True):
    """A tensor around a traced value."""

    __slots__ = ()

    def item(self) -> Any:
        """Return the only element as a Python number, if it is known."""
        return self._value.item()

    def tolist(self) -> Any:
        """Return the elements as nested lists, if they are known."""
        return self._value.tolist()

    def __bool__(self) -> bool:
        return bool(self._value)

    def __index__(self) -> int:
        return self._value.__index__()

    def __float__(self) -> float:
        return float(self._value)

    def __int__(self) -> int:
        return int(self._value)

    def __repr__(self) -> str:
        return f"tensor({self._value!r})"

    def detach(self) -> Any:
        """Return a tensor that counts as a constant."""
        return self._owner.constant(stop_gradient(self._value))


TRACED = TracedTrace()
lasting_traces.append(TRACED)


def lift(x: Any) -> Any:
    """Return a tensor around an array or a traced value; tensors and other objects as they are."""
    if is_tensor(x) or isinstance(x, bool | int | float | complex) or not is_value(x):
        return x
    return TRACED.constant(x)


def is_lifted(x: Any) -> bool:
    """Return whether a value is a tensor around an array or a traced value."""
    return type(x) is TracedTensor


def lower(x: Any) -> Any:
    """Return the array or traced value inside of a lifted tensor; other objects as they are."""
    return x._value if type(x) is TracedTensor else x


def on_values(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of tensors as one of arrays and traced values, in pytrees."""

    def called(*args: Any, **options: Any) -> Any:
        given, named = tree_map(lift, (args, options))
        return tree_map(lower, function(*given, **named))

    return called
