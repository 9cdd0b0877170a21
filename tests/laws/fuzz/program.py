"""A random program: straight source text with named inputs, which is executed, reduced and printed as it stands."""

from __future__ import annotations

import builtins
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

_NAME = re.compile(r"\b[av]\d+\b")


@dataclass(frozen=True)
class Statement:
    """``target = expression``: an input's expression names other inputs at most."""

    target: str
    expression: str
    op: str = ""

    @property
    def reads(self) -> set[str]:
        return set(_NAME.findall(self.expression))

    def __str__(self) -> str:
        return f"{self.target} = {self.expression}"


@dataclass(frozen=True)
class Program:
    """Inputs (those in ``constants`` are never traced), statements in order, and the names that are returned."""

    inputs: tuple[Statement, ...]
    statements: tuple[Statement, ...]
    outputs: tuple[str, ...]
    constants: frozenset[str] = frozenset()
    seed: int = 0

    @property
    def traced(self) -> tuple[str, ...]:
        return tuple(s.target for s in self.inputs if s.target not in self.constants)

    def source(self) -> str:
        """The inputs that are no arguments, and the function."""
        lines = [f"def program({', '.join(self.traced)}):", *[f"    {s}" for s in self.statements]]
        return "\n".join([*lines, f"    return [{', '.join(self.outputs)}]"])

    def function(self, namespace: Mapping[str, Any], constants: Mapping[str, Any]) -> Callable[..., list[Any]]:
        """The program on the modules of a namespace: ``np``, ``special``, ``lib``."""
        scope = {**namespace, **{name: constants[name] for name in self.constants}}
        code = compile(self.source(), f"<program {self.seed}>", "exec")
        builtins.exec(code, scope)
        return scope["program"]

    def arguments(self) -> dict[str, Any]:
        """New inputs, aliased as the text says."""
        scope: dict[str, Any] = {"np": np}
        for s in self.inputs:
            scope[s.target] = builtins.eval(s.expression, scope)
        return {s.target: scope[s.target] for s in self.inputs}

    def pruned(self) -> Program:
        """Without the statements and inputs that nothing reads."""
        needed, kept = set(self.outputs), []
        for s in reversed(self.statements):
            if s.target in needed:
                kept.append(s)
                needed |= s.reads
        inputs = []
        for s in reversed(self.inputs):
            if s.target in needed:
                inputs.append(s)
                needed |= s.reads
        return replace(
            self, inputs=tuple(inputs[::-1]), statements=tuple(kept[::-1]), constants=self.constants & needed
        )

    def text(self) -> str:
        """What can be pasted: the inputs and the function."""
        return "\n".join([*[str(s) for s in self.inputs], "", self.source()])


def run_with_noise(program: Program, namespace: Mapping[str, Any], rng: np.random.Generator, size: float) -> list[Any]:
    """The outputs where every inexact value on the way is off by a few units in its last place."""
    scope = {**namespace, **{name: noisy(x, rng, size) for name, x in program.arguments().items()}}
    for s in program.statements:
        y = noisy(builtins.eval(s.expression, scope), rng, size)
        scope[s.target] = _with_other_zeros(y, rng, s.op in SUMS) if s.op in SUMS | EXTREMA else y
    return [scope[name] for name in program.outputs]


# Which zero of several is the least is left to the processor.
EXTREMA = frozenset({"maximum", "minimum", "fmax", "fmin", "extremum beside NaN", "ufunc reduce", "clip", "sort"})
# What these sum up to may be zero in one order of the terms only; and the sign of it is another in NumPy's ``dot`` than
# in its ``vdot``, and XLA has its own.
SUMS = frozenset({"product", "product with a number", "einsum", "reduction", "average", "trace"})


def _with_other_zeros(x: Any, rng: np.random.Generator, summed: bool) -> Any:
    """A value whose zeros have other signs, or are what rounding leaves of a sum."""
    dtype = np.asarray(x).dtype
    if dtype.kind not in "fc":
        return x
    tiny = float(np.finfo(dtype).eps) * (1 + np.max(np.abs(x), initial=0, where=np.isfinite(x)))
    zeros = rng.choice(np.array([0.0, -0.0, *([tiny, -tiny] if summed else [])], dtype), np.shape(x))
    return np.where(np.equal(x, 0), zeros, x)[()]


def noisy(x: Any, rng: np.random.Generator, size: float) -> Any:
    if type(x) in {float, complex}:
        return x * (1 + size * 2.0**-52 * float(rng.standard_normal()))
    dtype: Any = getattr(x, "dtype", None)
    if dtype is None or dtype.kind not in "fc":
        return x
    noise = 1 + size * float(np.finfo(dtype).eps) * rng.standard_normal(np.shape(x))
    return np.asarray(x * noise).astype(dtype)[()]
