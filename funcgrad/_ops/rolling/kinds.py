"""The kinds of equations. Equations of one kind may be one equation in several rounds; their operands do not count."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from funcgrad._core.graph.ir import Equation, Literal, Operand
from funcgrad._core.graph.key import params_key


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

    found = []
    for equation in equations:
        params = params_key(equation.params) if equation.params else ()
        key = equation.primitive, params, *map(type_of, equation.operands), None, *map(type_of, equation.results)
        try:
            found.append(numbers.setdefault(key, len(numbers)))
        except TypeError:
            # A parameter that cannot be hashed: the equation is like no other.
            found.append(numbers.setdefault(len(numbers) + 0.5, len(numbers)))
        if (equation.params or equation.primitive.effect) and equation.has_effect:
            found[-1] = numbers.setdefault(("effect", len(found)), len(numbers))
    return np.array(found, np.int64)
