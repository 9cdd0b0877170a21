"""Derivative rules of users: their names are checked, and NumPy's functions never see arrays of another engine."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import active_trace, is_engine_value, is_value
from funcgrad._core.trace import recorder
from funcgrad._core.trace.derivative import Multilinear, PerOperand
from funcgrad._core.trace.place import own, settled
from funcgrad._core.trace.recorder import Rule
from funcgrad._core.trace.staging import StagingTrace

# Names by which rules read other things than operands.
_RESULT = ("y", "y_aval")
_PARTS = ("_aval", "_shape")


def check_operands(name: str, operands: Sequence[str]) -> None:
    """Refuse names of operands by which derivative rules read something else."""
    for operand in operands:
        if operand in _RESULT or operand.endswith(_PARTS):
            raise ValueError(
                f"elementwise: an operand of {name} is called {operand!r}; needed another name, since derivative rules "
                "read the result as y, and the type and shape of an operand x as x_aval and x_shape. "
                f"Call it {'b' if operand in _RESULT else operand.replace('_', '')!r}, say."
            )
        if not operand.isidentifier() or keyword.iskeyword(operand) or operands.count(operand) > 1:
            raise ValueError(
                f"elementwise: the operands of {name} are {' '.join(operands)!r}; needed names of Python, each once, "
                "since derivative rules ask for operands by them. Rename them."
            )


def checked_rules(
    name: str, operands: Sequence[str], rules: Sequence[Rule | None], declared_by: str = "elementwise"
) -> list[Rule | None]:
    """Return the rules of a primitive, which run on arrays of every engine."""
    return [None if rule is None else _checked(name, operands, rule, declared_by) for rule in rules]


def _checked(name: str, operands: Sequence[str], rule: Rule, declared_by: str) -> Rule:
    if not isinstance(rule, FunctionType) or not rule.__code__.co_argcount:
        raise TypeError(
            f"{declared_by}: a rule of {name} is a {type(rule).__name__}; needed a Python function whose first "
            "argument is the tangent or cotangent. Write lambda t, x: t * np.cos(x)."
        )
    first, *names = rule.__code__.co_varnames[: rule.__code__.co_argcount]
    if first in (*operands, *_RESULT):
        raise ValueError(
            f"{declared_by}: the first argument of a rule of {name} is called {first!r}, as "
            f"{'an operand' if first in operands else 'the result'} is; it gets the tangent or cotangent. "
            f"Put the tangent first, lambda t_dot, {', '.join([first, *names])}: ..., or call the operand otherwise."
        )
    # The names of the arguments tell which values a node keeps.
    arguments = ", ".join([first, *names])
    source = f"lambda {arguments}: run(rule, ({arguments},))"
    return recorder.function(source, f"rule of {name}", {"rule": rule, "run": _run})


def _run(rule: Callable[..., Any], values: Sequence[Any]) -> Any:
    """Apply a rule.

    If a value belongs to another engine, run the rule's graph, because its NumPy functions would fail.
    """
    # Types, shapes and parameters are no values.
    if not any(is_value(x) and is_engine_value(x) for x in values):
        trace = active_trace()
        return settled(rule(*[own(x, trace) for x in values]))
    arrays = [is_value(x) for x in values]
    operands = [x for x, given in zip(values, arrays, strict=True) if given]
    trace = StagingTrace("derivative rule")
    inputs = iter([trace.input(aval_of(x)) for x in operands])
    with trace:
        y = rule(*[next(inputs) if given else x for x, given in zip(values, arrays, strict=True)])
        graph = trace.graph([y], "rule")
    return graph.evaluate(*operands)[0]


class UsersPerOperand(PerOperand):
    """A derivative with one rule for each operand and direction, for operations of no special kind.

    A rule gets the cotangent or tangent first. The names of its other arguments say what it reads: an operand, the
    result ``y``, a type ``y_aval`` or ``a_aval``, a shape ``a_shape``, or a parameter. Rules run on arrays of every
    engine, so they may contain NumPy's functions.

    Args:
        operands: the names of the operands.
        vjps: for each operand a function from the result's cotangent to the operand's; ``None`` without derivative.
        jvps: for each operand a function from the operand's tangent to its part of the result's.

    Raises:
        TypeError: a rule is no Python function.
        ValueError: the first argument of a rule has the name of an operand.

    Example:
        >>> import numpy as np
        >>> from funcgrad import extend
        >>> sine = extend.PerOperand(("x",), [lambda y_bar, x: y_bar * np.cos(x)], [lambda x_dot, x: np.cos(x) * x_dot])
    """

    __slots__ = ()

    def __init__(self, operands: Sequence[str], vjps: Sequence[Rule | None], jvps: Sequence[Rule | None]) -> None:
        rules = [checked_rules(_text(operands), operands, each, "PerOperand") for each in (vjps, jvps)]
        super().__init__(operands, *rules)


class UsersMultilinear(Multilinear):
    """The derivative of an operation that is linear in each operand alone: a product, a reordering.

    Args:
        operands: the names of the operands.
        transposes: for each operand a function from the result's cotangent to the operand's, as in `PerOperand`;
            ``None`` without derivative. The operation itself is the forward rule.

    Raises:
        TypeError: a rule is no Python function.
        ValueError: the first argument of a rule has the name of an operand.

    Example:
        >>> from funcgrad import extend
        >>> product = extend.Multilinear(("a", "b"), [lambda y_bar, b: y_bar * b, lambda y_bar, a: y_bar * a])
    """

    __slots__ = ()

    def __init__(self, operands: Sequence[str], transposes: Sequence[Rule | None]) -> None:
        super().__init__(operands, checked_rules(_text(operands), operands, transposes, "Multilinear"))


def _text(operands: Sequence[str]) -> str:
    return f"the operands {' '.join(operands)}"


UsersPerOperand.__name__ = UsersPerOperand.__qualname__ = "PerOperand"
UsersMultilinear.__name__ = UsersMultilinear.__qualname__ = "Multilinear"
