"""Reduce a program that fails a check: fewer results, statements and inputs, plainer inputs, plainer dtypes."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from tests.laws.fuzz.case import Case
from tests.laws.fuzz.check import Finding, Report, run
from tests.laws.fuzz.program import Program, Statement


def shrunk(finding: Finding, seconds: float = 20.0) -> Finding:
    """Return the smallest program found that fails the same check in the same way."""
    end = time.monotonic() + seconds
    progress = True
    while progress and time.monotonic() < end:
        progress = False
        for smaller in _smaller(finding.program):
            if time.monotonic() > end:
                break
            again = _fails(smaller, finding)
            if again is not None:
                finding, progress = again, True
                break
    return finding


def _fails(program: Program, like: Finding) -> Finding | None:
    try:
        found = run(program, Report(), like.check)
    except Exception:  # noqa: BLE001  (no program any more)
        return None
    return next((f for f in found if f.kind == like.kind), None)


def _smaller(program: Program) -> Iterator[Program]:
    if len(program.outputs) > 1:
        for name in program.outputs:
            yield replace(program, outputs=(name,)).pruned()
    values = _values(program)
    for k in range(len(program.statements) - 1, -1, -1):
        s = program.statements[k]
        text = literal(values[s.target])
        if text is not None and k + 1 < len(program.statements):
            # The statements before a value are cut off: the value becomes an input.
            given = Statement(s.target, text, "input")
            rest = tuple(t for t in program.statements if t is not s)
            yield replace(program, inputs=(*program.inputs, given), statements=rest).pruned()
        for name in sorted(s.reads):
            if np.shape(values[name]) == np.shape(values[s.target]):
                yield _renamed(program, s, name)
    for i, s in enumerate(program.inputs):
        for text in _plainer(values[s.target], s.expression):
            inputs = (*program.inputs[:i], replace(s, expression=text), *program.inputs[i + 1 :])
            yield replace(program, inputs=inputs).pruned()


def _values(program: Program) -> dict[str, Any]:
    everything = replace(program, outputs=tuple(s.target for s in (*program.inputs, *program.statements)))
    with np.errstate(all="ignore"):
        return dict(zip(everything.outputs, Case(everything).results, strict=True))


def _renamed(program: Program, dropped: Statement, name: str) -> Program:
    """Return the program without a statement. Readers of its value read one of its operands instead."""
    statements = tuple(
        replace(s, expression=_substituted(s.expression, dropped.target, name))
        for s in program.statements
        if s is not dropped
    )
    return replace(
        program, statements=statements, outputs=tuple(name if x == dropped.target else x for x in program.outputs)
    ).pruned()


def _substituted(text: str, old: str, new: str) -> str:
    return re.sub(rf"\b{old}\b", new, text)


def literal(x: Any) -> str | None:
    """Return the text of an expression that makes a value."""
    if isinstance(x, bool | int | float | complex) and not isinstance(x, np.generic):
        return repr(x) if np.isfinite(x) else None
    if not isinstance(x, np.ndarray | np.generic):
        return None
    dtype = np.asarray(x).dtype
    name = {"bool": "np.bool_", "object": "object"}.get(dtype.name, f"np.{dtype.name}")
    if not np.size(x):
        return f"np.zeros({np.shape(x)}, {name})"
    text = repr(np.asarray(x).tolist()).replace("nan", "np.nan").replace("inf", "np.inf").replace("j", "j")
    if dtype.kind == "c" and "np." in text:
        return None
    return f"{name}({text})" if isinstance(x, np.generic) else f"np.array({text}, {name})"


def _plainer(x: Any, text: str) -> Iterator[str]:
    plain = literal(x)
    if plain is not None and plain != text and len(plain) < len(text):
        yield plain
    if not isinstance(x, np.ndarray) or x.dtype == object:
        return
    candidates = []
    if x.dtype not in {np.dtype(float), np.dtype(bool)}:
        candidates.append(x.astype(float) if x.dtype.kind in "buif" else x.real.astype(float))
    candidates.append(np.ones_like(x))
    if x.dtype.kind in "fc":
        candidates += [np.round(x), np.round(x, 1)]
    candidates += [np.array(x[:1])] if x.ndim and x.shape[0] > 1 else []
    candidates += [np.array(x[0])] if x.ndim and x.shape[0] else []
    for y in candidates:
        made = literal(y)
        if made is not None and made != text and len(made) < len(text):
            yield made
