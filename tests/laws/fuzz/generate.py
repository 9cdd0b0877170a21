"""Draw programs. Each statement runs on plain NumPy when it is drawn, and is drawn again if NumPy refuses it.

Not by hypothesis: with its random numbers in place of Python's the same sampler takes 7.3 ms a program instead of 0.8,
most of what all checks of an eager program take together (9 ms), and it reduces sequences of draws, where a failing
program wants to be cut between its statements (`shrink.py`).
"""

from __future__ import annotations

import builtins
import warnings
from random import Random
from typing import Any

import numpy as np

from tests.laws.fuzz import ops_control, ops_elementwise, ops_reduce, ops_shape
from tests.laws.fuzz.draw import Draw
from tests.laws.fuzz.modules import PLAIN
from tests.laws.fuzz.program import Program, Statement
from tests.laws.fuzz.table import OPS
from tests.laws.fuzz.values import Style, input_text

# These modules fill the table when they are imported.
SAMPLERS = (ops_control, ops_elementwise, ops_reduce, ops_shape)
_LOOPS = {"fori_loop", "scan", "while_loop", "cond", "wrapped", "vmap"}
MAX_SIZE = 72
MAX_MAGNITUDE = 1e5
MAX_TRIES = 12


def program_of(seed: int) -> Program:
    """Return the program of a seed: the same on every machine and in every process."""
    rng = Random(seed)
    while True:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            program = _drawn(rng, seed)
        if program is not None and program.traced:
            return program


def _drawn(rng: Random, seed: int) -> Program | None:
    style = Style(rng)
    scope: dict[str, Any] = dict(PLAIN)
    values: dict[str, Any] = {}
    inputs, constants = [], set()
    for i in range(rng.choice((1, 1, 2, 2, 3, 4))):
        text, traced = input_text(rng, style, values)
        name = f"a{i}"
        values[name] = scope[name] = builtins.eval(text, scope)
        inputs.append(Statement(name, text, "input"))
        if not traced and i:
            constants.add(name)
    draw = Draw(rng, style, values)
    names = [name for name in OPS if style.control or name not in _LOOPS]
    weights = [OPS[name].weight for name in names]
    statements: list[Statement] = []
    for _ in range(rng.choice((2, 3, 3, 4, 5, 6, 8, 10, 12, 16, 25))):
        statement = _next(draw, names, weights, f"v{len(statements)}", scope)
        if statement is not None:
            statements.append(statement)
    return _finished(rng, inputs, statements, constants, seed) if len(statements) > 1 else None


def _next(draw: Draw, names: list[str], weights: list[float], target: str, scope: dict[str, Any]) -> Statement | None:
    for _ in range(MAX_TRIES):
        op = OPS[draw.rng.choices(names, weights)[0]]
        try:
            text = op.sample(draw)
            value = builtins.eval(text, scope)
        except Exception:  # noqa: BLE001  (whatever NumPy refuses is drawn anew)
            continue
        if ("**" in text or "power" in text) and _has_pythons_complex(value):
            # Python's root of a negative number is complex. NumPy's root, and so that of a traced number, is NaN.
            continue
        if acceptable(value, draw.style):
            scope[target] = draw.values[target] = value
            return Statement(target, text, op.name)
    return None


def _has_pythons_complex(value: Any) -> bool:
    of_objects = isinstance(value, np.ndarray) and value.dtype == object
    return any(type(x) is complex for x in (value.flat if of_objects else (value,)))


def acceptable(value: Any, style: Style) -> bool:
    """Return whether a value is a small number or array, not huge, and of a dtype that JAX has."""
    # Python's bools count as integers and can be negated. Under a compiler they are NumPy's bools.
    if not isinstance(value, np.ndarray | np.generic | int | float | complex) or isinstance(value, bool):
        return False
    x = np.asarray(value)
    if x.size > MAX_SIZE or x.ndim > 5 or x.dtype.kind not in ("buifcO" if style.objects else "buifc"):
        return False
    if x.dtype in {np.dtype(np.longdouble), np.dtype(np.clongdouble)}:
        return False
    if x.dtype == object:
        return True
    finite = x[np.isfinite(x)]
    if not style.specials and finite.size < x.size:
        return False
    return x.dtype.kind in "bui" or not finite.size or float(np.max(np.abs(finite))) < MAX_MAGNITUDE


def _finished(
    rng: Random, inputs: list[Statement], statements: list[Statement], constants: set[str], seed: int
) -> Program:
    """Return the values that nothing reads, at most four; drop the others."""
    read = set().union(*(s.reads for s in statements))
    loose = [s.target for s in statements if s.target not in read]
    outputs = [statements[-1].target, *rng.sample(loose[:-1], min(len(loose) - 1, 3))]
    return Program(tuple(inputs), tuple(statements), tuple(outputs), frozenset(constants), seed).pruned()
