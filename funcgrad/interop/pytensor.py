"""Functions of arrays in PyTensor's graphs, and so in PyMC's models: ``as_op``.

PyTensor is imported when `as_op` is called.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from funcgrad._core.lazy import LazyModule
from funcgrad._public import publish
from funcgrad._transforms.base.arguments import check_callable, name_of
from funcgrad._transforms.base.shape_dtype import ShapeDtype
from funcgrad._transforms.base.stage import eval_shape
from funcgrad._transforms.derivative.forward import jvp
from funcgrad._transforms.derivative.reverse import vjp
from funcgrad._types import Value

__all__ = ["as_op"]

_ops = LazyModule("pytensor.graph.op")
_basic = LazyModule("pytensor.graph.basic")
_gradient = LazyModule("pytensor.gradient")
_tensor = LazyModule("pytensor.tensor")

# Lengths that stand for an unknown one, to find the number of axes of a result.
_LENGTHS = (3, 5)


def as_op(f: Callable[..., Any], otypes: Sequence[Any] | None = None) -> Callable[..., Any]:
    """Convert a function of arrays into a function of PyTensor's variables; PyTensor differentiates through it.

    The function runs on NumPy when the graph runs, in each of PyTensor's modes that can call Python.

    Args:
        f: a function of arrays that returns an array, or a tuple or list of arrays.
        otypes: PyTensor's types of the results (``pytensor.tensor.dvector``, ...). If left out, the function is staged
            on arrays of the inputs' types, where 3 and then 5 stand for a length that PyTensor does not know.

    Returns:
        A function of variables, numbers and arrays that returns a variable, or a list of them. It has derivatives of
        any order by inputs of floats: ``pytensor.grad`` and ``pytensor.gradient.Lop`` call `vjp`, ``Rop`` calls `jvp`.

    Raises:
        ImportError: PyTensor is not installed.
        TypeError: the types of the results do not follow from those of the inputs.

    Example:
        >>> import numpy as np
        >>> from funcgrad.interop.pytensor import as_op
        >>> energy = as_op(lambda x: np.sum(np.sin(x) ** 2))  # doctest: +SKIP
        >>> import pytensor  # doctest: +SKIP
        >>> x = pytensor.tensor.dvector("x")  # doctest: +SKIP
        >>> pytensor.grad(energy(x), x).eval({x: np.zeros(2)})  # doctest: +SKIP
        array([0., 0.])

    Source: ``pytensor.compile.ops.as_op``, whose operations have no derivative.
    """
    check_callable("as_op", f)
    op = _made(f, None if otypes is None else tuple(otypes))

    @functools.wraps(f)
    def called(*inputs: Any) -> Any:
        return op(*inputs)

    return called


@dataclass(frozen=True)
class _Pullback:
    """Maps the inputs of a function and the cotangents of its results to the cotangents of its inputs of floats."""

    function: Callable[..., Any]
    moving: tuple[bool, ...]

    def __call__(self, *values: Any) -> list[Any]:
        count = len(self.moving)
        f, given = _of_moving(self.function, self.moving, values[:count])
        _, pull = vjp(f, *given)
        return list(pull(list(values[count:])))


@dataclass(frozen=True)
class _Pushforward:
    """Maps the inputs of a function and tangents of its inputs of floats to the tangents of its results."""

    function: Callable[..., Any]
    moving: tuple[bool, ...]

    def __call__(self, *values: Any) -> list[Any]:
        count = len(self.moving)
        f, given = _of_moving(self.function, self.moving, values[:count])
        return jvp(f, tuple(given), tuple(values[count:]))[1]


def _of_moving(function: Callable[..., Any], moving: Sequence[bool], values: Sequence[Any]) -> tuple[Any, list[Any]]:
    """Return the function of the inputs of floats alone, whose results are a list, and these inputs."""

    def f(*xs: Any) -> list[Any]:
        given = iter(xs)
        return _listed(function(*[next(given) if moves else x for x, moves in zip(values, moving, strict=True)]))

    return f, list(itertools.compress(values, moving))


def _listed(y: Value) -> list[Any]:
    return list(y) if isinstance(y, tuple | list) else [y]


def _made(f: Callable[..., Any], otypes: tuple[Any, ...] | None) -> Any:
    return _kind()(f, otypes)


@functools.cache
def _kind() -> type:
    """Make the class of our operations, a subclass of PyTensor's."""
    methods: dict[str, Any] = {
        "__init__": _init,
        "__props__": ("function", "results"),
        "__str__": lambda self: f"funcgrad[{name_of(self.function)}]",
        "__reduce__": lambda self: (_made, (self.function, self.results)),
        "__module__": __name__,
        "make_node": _make_node,
        "perform": _perform,
        "pullback": _pullback,
        "pushforward": _pushforward,
    }
    return type("FuncgradOp", (_ops.Op,), methods)


def _init(self: Any, function: Callable[..., Any], results: tuple[Any, ...] | None) -> None:
    self.function = function
    self.results = results


def _make_node(self: Any, *inputs: Any) -> Any:
    variables = [_tensor.as_tensor_variable(x) for x in inputs]
    types = self.results or _types_of(self.function, [x.type for x in variables])
    return _basic.Apply(self, variables, [each() for each in types])


def _types_of(function: Callable[..., Any], types: Sequence[Any]) -> list[Any]:
    """Return the types of the results; a length is known if all lengths of the inputs are."""
    trials = []
    for length in _LENGTHS:
        shapes = [tuple([length if n is None else n for n in each.shape]) for each in types]
        avals = [ShapeDtype(shape, np.dtype(each.dtype)) for shape, each in zip(shapes, types, strict=True)]
        try:
            trials.append([(y.shape, y.dtype.name) for y in _listed(eval_shape(function, *avals))])
        except Exception as error:
            raise TypeError(
                f"as_op: the types of the results of {name_of(function)} do not follow from those of its inputs, "
                f"{', '.join(map(str, types))}, where {length} stands for a length that is not known. Pass otypes, "
                "PyTensor's types of the results, or give the inputs static shapes."
            ) from error
    known = all(n is not None for each in types for n in each.shape)
    return [_tensor.TensorType(dtype, shape if known else (None,) * len(shape)) for shape, dtype in trials[0]]


def _perform(self: Any, node: Any, inputs: Sequence[Any], storage: Sequence[list[Any]]) -> None:
    ys = _listed(self.function(*inputs))
    if len(ys) != len(storage):
        raise TypeError(
            f"as_op: {name_of(self.function)} returned {len(ys)} arrays; needed {len(storage)}, one for each of its "
            "types. Return as many at each call."
        )
    for place, y, out in zip(storage, ys, node.outputs, strict=True):
        place[0] = np.array(y, out.type.dtype)


def _moving(inputs: Sequence[Any]) -> tuple[bool, ...]:
    return tuple([np.dtype(x.type.dtype).kind in "fc" for x in inputs])


def _pullback(self: Any, inputs: Sequence[Any], outputs: Sequence[Any], cotangents: Sequence[Any]) -> list[Any]:
    moving = _moving(inputs)
    bars = [
        y.zeros_like() if isinstance(bar.type, _gradient.DisconnectedType) else bar.astype(y.type.dtype)
        for y, bar in zip(outputs, cotangents, strict=True)
    ]
    found = iter(
        _made(_Pullback(self.function, moving), tuple([x.type for x in itertools.compress(inputs, moving)]))
        .make_node(*inputs, *bars)
        .outputs
        if any(moving)
        else ()
    )
    # PyTensor wants floats of zeros as the cotangent of integers.
    return [next(found) if moves else x.zeros_like(dtype="float64") for x, moves in zip(inputs, moving, strict=True)]


def _pushforward(self: Any, inputs: Sequence[Any], outputs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    moving = _moving(inputs)
    dots = [
        x.zeros_like() if isinstance(dot.type, _gradient.DisconnectedType) else dot
        for x, dot in itertools.compress(zip(inputs, tangents, strict=True), moving)
    ]
    op = _made(_Pushforward(self.function, moving), tuple([y.type for y in outputs]))
    return op.make_node(*inputs, *dots).outputs


__dir__ = publish(__name__)
