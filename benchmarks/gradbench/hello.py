"""`hello`: the square of a number, and its derivative."""

from typing import Any

import funcgrad as fg
from benchmarks.gradbench._protocol import Compiler, Task


def square(x: Any) -> Any:
    """Return x**2."""
    return x * x


def tasks(compiler: Compiler) -> dict[str, Task]:
    """Return the functions of the evaluation. One multiplication is not worth a compiler."""
    del compiler
    return {"square": Task(square, _read), "double": Task(fg.grad(square), _read)}


def _read(given: float) -> tuple[float]:
    return (float(given),)
