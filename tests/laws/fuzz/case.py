"""A program with plain NumPy's results, and the same program as a function of a pytree."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import numpy as np

import funcgrad as fg
from tests.laws.fuzz.compare import difference, numbers, sharing
from tests.laws.fuzz.modules import PLAIN, TRACED
from tests.laws.fuzz.noise import Noise, run_with_noise
from tests.laws.fuzz.program import Program

Function = Callable[[Any], list[Any]]


_NARROW = (("float32", 2.0**-23), ("complex64", 2.0**-23), ("float16", 2.0**-10))


class Case:
    """The reference: arguments, results, shared memory, and the coarsest precision of the values between."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.arguments = program.arguments()
        scope: dict[str, Any] = {**PLAIN, **self.arguments}
        # No other check sees an infinity or NaN in the middle of a statement.
        exceptions: list[str] = []
        told: Any = lambda kind, flag: exceptions.append(kind)
        with np.errstate(divide="call", over="call", invalid="call", call=told):
            for s in program.statements:
                scope[s.target] = builtins.eval(s.expression, scope)
        self.exceptional = bool(exceptions)
        self.results = [scope[name] for name in program.outputs]
        self.inputs = [x for x in self.arguments.values() if isinstance(x, np.ndarray)]
        self.shares = sharing(self.results, self.inputs)
        dtypes = [np.asarray(scope[s.target]).dtype for s in (*program.inputs, *program.statements)]
        self.eps = max([float(np.finfo(t).eps) for t in dtypes if t.kind in "fc"], default=2.0**-52)
        # No other check sees a narrow number in the middle of a statement.
        narrow = [eps for word, eps in _NARROW if any(word in s.expression for s in program.statements)]
        self.eps = max([self.eps, *narrow])
        self.objects = any(t.kind == "O" for t in dtypes)
        inexact = [s.target for s in program.statements if np.asarray(scope[s.target]).dtype.kind in "fcO"]
        scope.update({name: numbers(np.asarray(scope[name])) for name in inexact})
        self.finite = all(np.all(np.isfinite(scope[name])) for name in inexact)
        # XLA replaces subnormal numbers by 0.
        values = [np.asarray(scope[name]) for name in inexact]
        self.subnormal = any(np.any((np.abs(x) < np.finfo(x.dtype).tiny) & (x != 0)) for x in values)
        kinds = {t.kind for t in dtypes}
        self.mixed = "b" in kinds or "c" in kinds
        self.integral = not kinds.isdisjoint("biu")
        # Whether the derivatives are the slopes of the values.
        self.sloped = self.finite and all(s.op != "one triangle" for s in program.statements)
        # A traced value among objects gives floats.
        self.floats = [i for i, y in enumerate(self.results) if _is_inexact(np.asarray(y))]

    @property
    def double(self) -> bool:
        return self.eps < 1e-15

    def names(self, kinds: str, arrays: bool = False) -> tuple[str, ...]:
        """Return the traced inputs of these kinds of dtype; with ``arrays``, without Python numbers.

        Python's bools are never traced: as arrays they are NumPy's, and ``~True`` is then another value.
        """
        given = [(name, self.arguments[name]) for name in self.program.traced if type(self.arguments[name]) is not bool]
        return tuple(
            name for name, x in given if np.asarray(x).dtype.kind in kinds and (hasattr(x, "dtype") or not arrays)
        )

    def function(
        self,
        names: tuple[str, ...],
        rng: Random,
        namespace: Mapping[str, Any] = TRACED,
        through: Callable[[Any], Any] | None = None,
    ) -> tuple[Function, Any]:
        """Return the program as a function of a pytree of the named inputs, and that pytree.

        The values of its statements go through another function, if there is one.
        """
        run = self.program.function(namespace, self.arguments, through)
        treedef = fg.tree.structure(_packed(list(names), rng))
        tree = fg.tree.unflatten(treedef, [self.arguments[name] for name in names])
        rest = {name: self.arguments[name] for name in self.program.traced if name not in names}

        def program(tree: Any) -> list[Any]:
            return run(**rest, **dict(zip(names, fg.tree.leaves(tree), strict=True)))

        return program, tree

    def is_rounding(self, scale: float, coarsest: float = 0.0, turned: bool = False) -> bool:
        """Return whether the reference itself is as far off when each step is rounded differently (see `Noise`)."""
        noise = Noise(np.random.default_rng(0), scale, coarsest, turned)
        for _ in range(12):
            try:
                noisy = run_with_noise(self.program, PLAIN, noise)
            except Exception:  # noqa: BLE001  (off by one unit, NumPy may refuse what it took)
                return True
            if any(difference(y, z, coarsest=coarsest) for y, z in zip(self.results, noisy, strict=True)):
                return True
        return False


def _is_inexact(x: np.ndarray) -> bool:
    return x.dtype.kind in "fc" or (x.dtype == object and any(np.asarray(y).dtype.kind in "fc" for y in x.flat))


def _packed(names: list[str], rng: Random) -> Any:
    """Return the names in a random pytree, in order."""
    kind = rng.choice(("tuple", "list", "dict", "nested")) if len(names) > 0 else "tuple"
    if kind == "list":
        return list(names)
    if kind == "dict":
        return {f"k{i}": name for i, name in enumerate(names)}
    if kind == "nested":
        return {"a": (names[0], None), "b": [{"c": name} for name in names[1:]]}
    return tuple(names)
