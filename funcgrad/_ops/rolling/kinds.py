"""The kinds of equations. Equations of one kind may be one equation in several rounds; their operands do not count."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from funcgrad._core.graph.ir import Equation, Literal, Operand, Var
from funcgrad._core.graph.key import params_key


def _quick(primitive: Any, operands: tuple[Operand, ...], result: Operand, params: tuple[int, ...]) -> Any:
    """Return a key that only equations of one kind share, made without hashing types; ``None`` for many operands."""
    if len(operands) == 2:
        a, b = operands
        # A literal is its own key.
        x = id(a.aval) if type(a) is Var else a
        return primitive, x, id(b.aval) if type(b) is Var else b, id(result.aval), params
    if len(operands) == 1 and type(operands[0]) is Var:
        return primitive, id(operands[0].aval), id(result.aval), params
    return None


def kinds_of(equations: Iterable[Equation]) -> np.ndarray:
    """Return a number for each equation, equal for equations of the same kind: primitive, parameters, and types."""
    numbers: dict[Any, int] = {}
    # Types are compared by number. Equal types are often one object, whose number is found without comparing.
    types: dict[Any, int] = {}
    by_object: dict[int, int] = {}

    def type_of(x: Operand) -> int:
        number = by_object.get(id(x.aval))
        if number is None:
            number = types.setdefault(x.aval, len(types))
            by_object[id(x.aval)] = number
        return types.setdefault((type(x.value), number), len(types)) if type(x) is Literal else number

    found: list[int] = []
    # The kinds of equations of few operands and parameters, by primitive and the objects of the types.
    known: dict[Any, int] = {}
    for equation in equations:
        primitive, operands, results = equation.primitive, equation.operands, equation.results
        quick: Any = None
        values = tuple(equation.params.values())
        # Integers are equal only if they are the same; 1 and True are not of one type.
        if len(results) == 1 and not primitive.effect and (not values or (len(values) == 1 and type(values[0]) is int)):
            quick = _quick(primitive, operands, results[0], values)
            number = known.get(quick)
            if number is not None and quick is not None:
                found.append(number)
                continue
        params = params_key(equation.params) if equation.params else ()
        key = primitive, params, *map(type_of, operands), None, *map(type_of, results)
        try:
            found.append(numbers.setdefault(key, len(numbers)))
        except TypeError:
            # A parameter that cannot be hashed: the equation is like no other.
            found.append(numbers.setdefault(len(numbers) + 0.5, len(numbers)))
        if (equation.params or equation.primitive.effect) and equation.has_effect:
            found[-1] = numbers.setdefault(("effect", len(found)), len(numbers))
        elif quick is not None:
            known[quick] = found[-1]
    return np.array(found, np.int64)
