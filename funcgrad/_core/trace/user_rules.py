"""Derivative rules of users: their names are checked, and NumPy's functions never see arrays of another engine."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import is_engine_value, is_value
from funcgrad._core.trace import recorder
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


def checked_rules(name: str, operands: Sequence[str], rules: Sequence[Rule | None]) -> list[Rule | None]:
    """Return the rules of an elementwise primitive, which run on arrays of every engine."""
    return [None if rule is None else _checked(name, operands, rule) for rule in rules]


def _checked(name: str, operands: Sequence[str], rule: Rule) -> Rule:
    if not isinstance(rule, FunctionType) or not rule.__code__.co_argcount:
        raise TypeError(
            f"elementwise: a rule of {name} is a {type(rule).__name__}; needed a Python function whose first argument "
            "is the tangent or cotangent. Write maps=[lambda t, x: t * np.cos(x)]."
        )
    first, *names = rule.__code__.co_varnames[: rule.__code__.co_argcount]
    if first in (*operands, *_RESULT):
        raise ValueError(
            f"elementwise: the first argument of a rule of {name} is called {first!r}, as "
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
        return rule(*values)
    arrays = [is_value(x) for x in values]
    operands = [x for x, given in zip(values, arrays, strict=True) if given]
    trace = StagingTrace("derivative rule")
    inputs = iter([trace.input(aval_of(x)) for x in operands])
    with trace:
        y = rule(*[next(inputs) if given else x for x, given in zip(values, arrays, strict=True)])
        graph = trace.graph([y], "rule")
    return graph.evaluate(*operands)[0]
