"""Plant faults of kinds that occurred before, one at a time, and count the programs until one is noticed.

``python -m tests.laws.fuzz.faults`` prints the table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

import funcgrad as fg
from funcgrad._core.bind import Tracer
from funcgrad._core.primitive import primitives
from funcgrad._core.trace.place import settled
from funcgrad._ops.elementwise.families import Elementwise
from funcgrad.autograd import Tensor
from funcgrad.numpy._base.dispatch import functions
from funcgrad.optim import SGD
from tests.laws.fuzz import check, generate, schedules, tensors, writing
from tests.laws.fuzz.runner import CLEAR_EVERY
from tests.laws.fuzz.tensor_scripts import script_of

Find = Callable[[int], list[Any]]
LIMIT = 6000


@contextmanager
def changed(owner: Any, **attributes: Any) -> Iterator[None]:
    """Change attributes. A primitive forgets the programs that it compiled before."""
    old = {name: getattr(owner, name) for name in attributes}
    _set(owner, attributes)
    try:
        yield
    finally:
        _set(owner, old)


def _set(owner: Any, attributes: dict[str, Any]) -> None:
    for name, value in attributes.items():
        setattr(owner, name, value)
    if hasattr(owner, "recorders"):
        owner.recorders[:] = [None] * len(owner.recorders)
        owner.node_makers.clear()


@contextmanager
def replaced(function: Any, make: Callable[[Any], Any]) -> Iterator[None]:
    """Replace the implementation of one of NumPy's functions."""
    old = functions[function]
    functions[function] = make(old)
    try:
        yield
    finally:
        functions[function] = old


def wrong_factor() -> Any:
    """Make the derivative of tanh one per cent too large."""
    wrong = Elementwise(["x"], [lambda t, y: t * 1.01 * (1 - y * y)])
    return changed(primitives["tanh"], derivative=wrong)


def dropped_by_objects() -> Any:
    """Make an array of a traced value plain."""
    return changed(Tracer, __array__=lambda self, dtype=None, copy=None: np.asarray(fg.stop_gradient(self), dtype))


def _is_number(x: Any) -> bool:
    return type(x) in {int, float}


def bool_where() -> Any:
    """Make ``where`` of two Python numbers bool in graphs."""

    def make(old: Any) -> Any:
        def where(condition: Any, *ab: Any) -> Any:
            known = settled(condition)
            staged = isinstance(known, Tracer) and not known._owner.concrete
            return (
                old(condition, *(bool(x) for x in ab)) if staged and all(map(_is_number, ab)) else old(condition, *ab)
            )

        return where

    return replaced(np.where, make)


def weak_dot() -> Any:
    """Make a Python number in ``dot`` weak."""
    return replaced(np.dot, lambda old: lambda a, b: a * b if _is_number(a) or _is_number(b) else old(a, b))


def returned_operand() -> Any:
    """Make ``copy`` and ``flatten`` return their argument."""
    return changed(Tracer, copy=lambda self, order="C": self, flatten=lambda self, order="C": self.reshape(-1))


def swallowed_nan() -> Any:
    """Make the maximum skip NaN."""

    def numpy(x: Any, *, axes: Any, keepdims: bool) -> Any:
        return np.fmax.reduce(x, axis=axes, keepdims=keepdims)

    return changed(primitives["reduce_max"], numpy=numpy)


def wrong_triangle() -> Any:
    """Make the Cholesky factor that of the other triangle."""
    old = primitives["cholesky"].numpy
    return changed(primitives["cholesky"], numpy=lambda a, **params: old(np.swapaxes(a, -1, -2), **params))


def shared_buffer() -> Any:
    """Make a momentum buffer that equals the gradient the gradient itself."""
    old = SGD.step

    def step(self: Any, closure: Any = None, **options: Any) -> Any:
        result = old(self, closure, **options)
        for p in (p for group in self.param_groups for p in group["params"]):
            buffer = self.state[p].get("momentum_buffer") if p in self.state else None
            if buffer is not None and p.grad is not None and np.array_equal(buffer.numpy(), p.grad.numpy()):
                self.state[p]["momentum_buffer"] = p.grad
        return result

    return changed(SGD, step=step)


def copied_view() -> Any:
    """Make ``Tensor.view`` copy."""
    kind: Any = Tensor
    old = kind.view
    return changed(Tensor, view=lambda self, *shape: old(self, *shape).clone())


def given_number() -> Any:
    """Make ``float`` of a recorded tensor return the number."""
    return changed(Tensor, __float__=lambda self: float(self.item()))


def batched_axis() -> Any:
    """Make a running sum under ``vmap`` use the axis before."""

    def batch(primitive: Any, size: int, operands: Any, batched: Any, params: Any) -> Any:
        return primitive(operands[0], **params)

    return changed(primitives["cumsum"], batch=batch)


def transposed_copy() -> Any:
    """Make a transposed array a copy, so that a write to it is lost."""
    return changed(primitives["transpose"], view=None)


def of_writes(seed: int) -> list[Any]:
    return writing.findings(writing.program_of(seed), check.Report())


def of_programs(seed: int) -> list[Any]:
    return check.run(generate.program_of(seed), check.Report())


def of_scripts(seed: int) -> list[Any]:
    return tensors.findings(script_of(seed), check.Report())


def of_schedules(seed: int) -> list[Any]:
    return schedules.findings(schedules.schedule_of(seed), check.Report())


FAULTS: dict[str, tuple[Callable[[], Any], Find]] = {
    "derivative of tanh 1 % too large": (wrong_factor, of_programs),
    "derivative dropped by object arrays": (dropped_by_objects, of_programs),
    "where of Python numbers is bool in graphs": (bool_where, of_programs),
    "Python number weak in dot": (weak_dot, of_programs),
    "copy returns its operand": (returned_operand, of_programs),
    "max passes over NaN": (swallowed_nan, of_programs),
    "Cholesky of the other triangle": (wrong_triangle, of_programs),
    "momentum buffer is the gradient": (shared_buffer, of_schedules),
    "Tensor.view copies": (copied_view, of_scripts),
    "float of a recorded tensor gives the number": (given_number, of_scripts),
    "transposed arrays are copies": (transposed_copy, of_writes),
    "cumsum under vmap along the axis before": (batched_axis, of_programs),
}


def programs_until(name: str, first: int = 0, limit: int = LIMIT) -> int | None:
    """Count the programs from a seed on until one fails. Programs that also fail without the fault do not count."""
    plant, find = FAULTS[name]
    for seed in range(first, first + limit):
        if seed % CLEAR_EVERY == 0:
            jax.clear_caches()
        with plant():
            noticed = find(seed)
        if noticed and not find(seed):
            return seed - first + 1
    return None


def main() -> None:
    for name in sys.argv[1:] or FAULTS:
        counts = [programs_until(name, first) for first in (0, 10_000, 20_000)]
        sys.stdout.write(f"{name:45s} {counts}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
