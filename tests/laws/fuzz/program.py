"""A random program: straight source text with named inputs, which is executed, reduced and printed unchanged."""

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
    """``target = expression``. The expression of an input names only other inputs."""

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

    def source(self, through: str = "") -> str:
        """Return the function as text. Another function is applied to the values of its statements."""
        statements = [replace(s, expression=f"{through}({s.expression})") if through else s for s in self.statements]
        lines = [f"def program({', '.join(self.traced)}):", *[f"    {s}" for s in statements]]
        return "\n".join([*lines, f"    return [{', '.join(self.outputs)}]"])

    def function(
        self, namespace: Mapping[str, Any], constants: Mapping[str, Any], through: Callable[[Any], Any] | None = None
    ) -> Callable[..., list[Any]]:
        """Return the program as a function for the modules of a namespace: ``np``, ``special``, ``lib``."""
        scope = {**namespace, **{name: constants[name] for name in self.constants}, "through": through}
        code = compile(self.source("through" if through else ""), f"<program {self.seed}>", "exec")
        builtins.exec(code, scope)
        return scope["program"]

    def arguments(self) -> dict[str, Any]:
        """Return new inputs, which share memory as the text says."""
        scope: dict[str, Any] = {"np": np}
        for s in self.inputs:
            scope[s.target] = builtins.eval(s.expression, scope)
        return {s.target: scope[s.target] for s in self.inputs}

    def pruned(self) -> Program:
        """Return the program without the statements and inputs that nothing reads."""
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
        """Return a text to paste: the inputs and the function."""
        return "\n".join([*[str(s) for s in self.inputs], "", self.source()])
