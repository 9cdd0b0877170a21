"""Factories for families of primitives with common rules of shape, dtype and broadcasting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval, result_dtype
from funcgrad._core.bind import bind
from funcgrad._core.forms import NEW_MEMORY, NO_FORMS, Forms
from funcgrad._core.primitive import Derivative, Primitive
from funcgrad._core.trace.derivative import CONSTANT, PerOperand
from funcgrad._core.trace.recorder import Rule
from funcgrad._core.trace.user_rules import check_operands, checked_rules
from funcgrad._ops.layout.broadcast import broadcast_to, sum_to_shape
from funcgrad._ops.layout.shape import reshape
from funcgrad._types import Array, Value


class Elementwise(PerOperand):
    """The derivative of an elementwise primitive: one diagonal map per operand.

    A diagonal map is its own transpose. One function therefore carries a tangent forward and a cotangent back:
    ``lambda t, y: t * (1 - squared(y))``. This class broadcasts tangents and sums cotangents, for all primitives.

    Args:
        operands: the names of the operands.
        maps: for each operand its map, a function of a tangent and of what its other arguments name: operands, or ``y``
            for the result. ``None`` stands for an operand without derivative.
        jvps: other maps for tangents, if they differ from those for cotangents.

    Example:
        The derivative of ``tanh(a) * b``:

        >>> import numpy as np
        >>> from funcgrad.extend import Elementwise
        >>> derivative = Elementwise(("a", "b"), [lambda t, a, b: t * b / np.cosh(a) ** 2, lambda t, a: t * np.tanh(a)])
        >>> float(derivative.vjps[1](2.0, 0.0))
        0.0
    """

    __slots__ = ()

    unbroadcast = staticmethod(sum_to_shape)

    def __init__(
        self, operands: Sequence[str], maps: Sequence[Rule | None], jvps: Sequence[Rule | None] | None = None
    ) -> None:
        super().__init__(operands, maps, maps if jvps is None else jvps)

    def push(self, primitive: Primitive, primals: tuple, tangents: list, y: Value, params: dict) -> Value:
        y_dot = super().push(primitive, primals, tangents, y, params)
        return y_dot if y_dot is None else broadcast_to(y_dot, getattr(y, "shape", ()))


# The dtypes that Python numbers have as arrays.
_WEAK_DTYPES = frozenset(map(np.dtype, (np.int64, np.float64, np.complex128)))


def broadcast_aval(*avals: Aval, dtype: np.dtype | None = None, operator: bool = False) -> Aval:
    """Return the aval of an elementwise result; weak if a Python operator met only Python numbers.

    Args:
        *avals: avals of the operands.
        dtype: the dtype of the result; by default the operands' common one.
        operator: whether a Python number among the operands stays weak, as with Python's operators.

    Returns:
        The aval of the result: the broadcast shape and the dtype.

    Example:
        >>> import numpy as np
        >>> from funcgrad import extend
        >>> print(extend.broadcast_aval(extend.aval_of(np.ones((2, 1))), extend.aval_of(np.ones(3))))
        f64[2,3]
    """
    shapes = [aval.shape for aval in avals if aval.shape]
    shape = shapes[0] if shapes else ()
    if any(other != shape for other in shapes):
        shape = np.broadcast_shapes(*shapes)
    if dtype is None:
        dtype = result_dtype(*avals)
    # A Python bool is not weak, and neither is an integer dtype that no Python number has.
    weak = operator and dtype in _WEAK_DTYPES and all(aval.weak for aval in avals)
    return Aval(shape, dtype, weak)


def _aval_rule(dtype: Callable[..., np.dtype] | None, operator: bool) -> Callable[..., Aval]:
    """Return the rule of shape and dtype. Operands that are alike have the type of the result, without a search."""

    def aval(first: Aval, second: Aval | None = None, *others: Aval, **params: Any) -> Aval:
        del params
        if dtype is None and not others and not first.weak and first.dtype.isnative:
            if second is None or second is first:
                return first
            if second.dtype is first.dtype and not second.weak:
                if second.shape == first.shape or not second.shape:
                    return first
                if not first.shape:
                    return second
        avals = (first, *others) if second is None else (first, second, *others)
        return broadcast_aval(*avals, dtype=None if dtype is None else dtype(*avals), operator=operator)

    return aval


def _batch_elementwise(
    primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict
) -> Array:
    """Insert axes of length 1 after the batch axis into operands of lower rank, so that they broadcast."""
    if len(operands) == 1:
        return bind(primitive, operands, params)
    ranks = [len(getattr(x, "shape", ())) - flag for x, flag in zip(operands, batched, strict=True)]
    rank = max(ranks)
    if ranks.count(rank) == len(ranks):
        return bind(primitive, operands, params)
    aligned = [
        reshape(x, (size, *[1] * (rank - own), *x.shape[1:])) if flag and own < rank else x
        for x, flag, own in zip(operands, batched, ranks, strict=True)
    ]
    return bind(primitive, tuple(aligned), params)


def elementwise(
    name: str,
    operands: str,
    *,
    numpy: Callable[..., Any],
    xla: str | Callable[..., Any],
    maps: Sequence[Rule | None] | Derivative,
    jvps: Sequence[Rule | None] | None = None,
    dtype: Callable[..., np.dtype] | None = None,
    flops: int = 1,
    operator: bool = False,
    module: str | None = None,
    forms: Forms = NEW_MEMORY,
) -> Primitive:
    """Declare an elementwise primitive of the library, as `declare_elementwise`; its results lie in new memory.

    Returns:
        The primitive. It can be called on arrays and tracers.
    """
    if not isinstance(name, str) or not isinstance(operands, str):
        raise TypeError(
            f"elementwise: name is a {type(name).__name__} and operands a {type(operands).__name__}; needed strings, "
            "with the names by which rules ask for operands. Write elementwise('hypot', 'a b', ...)."
        )
    for field, rules in (("maps", maps), ("jvps", jvps)):
        _check_rules(name, operands, field, rules)
    names = tuple(operands.split())
    primitive = Primitive(
        name,
        operands=names,
        numpy=numpy,
        xla=xla,
        aval=_aval_rule(dtype, operator),
        derivative=Elementwise(names, maps, jvps) if isinstance(maps, Sequence) else maps,
        batch=_batch_elementwise,
        cost=lambda y, *xs, **_: flops * y.size,
        elementwise=True,
        module=module,
        forms=forms,
    )
    primitive.operator, primitive.keeps_type = operator, dtype is None
    return primitive


def declare_elementwise(
    name: str,
    operands: str,
    *,
    numpy: Callable[..., Any],
    xla: str | Callable[..., Any],
    maps: Sequence[Rule | None] | Derivative,
    jvps: Sequence[Rule | None] | None = None,
    dtype: Callable[..., np.dtype] | None = None,
    flops: int = 1,
    operator: bool = False,
    module: str | None = None,
) -> Primitive:
    """Declare an elementwise primitive.

    Args:
        name: the name in printed graphs.
        numpy: the implementation on NumPy values; a ufunc, mostly. It may return an operand, or a view of one.
        xla: the name of a ``jax.lax`` function, or a function of ``lax`` and the operands.
        operands: their names, space separated; derivative maps ask for them by name.
        maps: per operand the diagonal map of its derivative (see ``Elementwise``), or a derivative of another kind.
        jvps: the forward maps, if they differ: for maps that are linear over the real numbers only (real part, abs).
        dtype: returns the result's dtype from the operands' avals, if it is not their common one.
        flops: operations per element.
        operator: whether Python numbers have it as an operator.
        module: the ``__name__`` of the module that declares it. Pickled graphs find the primitive by it.

    Returns:
        The primitive. It can be called on arrays and tracers.

    Raises:
        TypeError: the name or the operands are no strings, or ``maps`` or ``jvps`` is no sequence.
        ValueError: the library has a primitive of this name, the rules are not one per operand, an operand has a name
            by which rules read something else (``y``, ``x_shape``), or a rule's first argument has that of an operand.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> cosine_p = fg.extend.elementwise("cosine", "x", numpy=np.cos, xla="cos", maps=[lambda t, x: -t * np.sin(x)])
        >>> fg.grad(cosine_p)(np.pi / 2).round(6)
        np.float64(-1.0)
    """
    if isinstance(name, str) and isinstance(operands, str) and isinstance(maps, list | tuple):
        names = operands.split()
        check_operands(name, names)
        _check_rules(name, operands, "maps", maps)
        _check_rules(name, operands, "jvps", jvps)
        maps, jvps = checked_rules(name, names, maps), None if jvps is None else checked_rules(name, names, jvps)
    return elementwise(
        name,
        operands,
        numpy=numpy,
        xla=xla,
        maps=maps,
        jvps=jvps,
        dtype=dtype,
        flops=flops,
        operator=operator,
        forms=NO_FORMS,
        module=module,
    )


def _check_rules(name: str, operands: str, field: str, rules: Any) -> None:
    """Refuse derivative rules that are not one per operand."""
    count = len(operands.split())
    is_other_kind = hasattr(rules, "node_maker") if field == "maps" else rules is None
    if is_other_kind:
        return
    if isinstance(rules, str) or not isinstance(rules, Sequence):
        raise TypeError(
            f"elementwise: {field} of {name!r} is a {type(rules).__name__}; needed a list or tuple with one rule per "
            f"operand of {operands!r}. Write {field}=[lambda t, x: ...], or None for an operand without derivative."
        )
    if len(rules) != count:
        raise ValueError(
            f"elementwise: {field} of {name!r} has {len(rules)} rules; needed {count}, one per operand of "
            f"{operands!r}. Write None for an operand without derivative."
        )


def predicate(
    name: str, operands: str, *, numpy: Callable[..., Any], xla: str | Callable[..., Any], module: str | None = None
) -> Primitive:
    """Declare an elementwise primitive with a boolean result: it carries no derivative.

    Args:
        name: the name in printed graphs.
        operands: their names, space separated.
        numpy: the implementation on NumPy values.
        xla: the name of a ``jax.lax`` function, or a function of ``lax`` and the operands.
        module: the ``__name__`` of the module that declares it. Pickled graphs find the primitive by it.

    Returns:
        The primitive. It can be called on arrays and tracers.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> above_p = fg.extend.predicate("above", "x y", numpy=np.greater, xla="gt")
        >>> above_p(np.array([1.0, 3.0]), 2.0)
        array([False,  True])
    """
    return elementwise(
        name,
        operands,
        numpy=numpy,
        xla=xla,
        maps=CONSTANT,
        dtype=lambda *_: np.dtype(bool),
        module=module,
        forms=NO_FORMS,
    )
