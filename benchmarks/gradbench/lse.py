"""`lse`: the logarithm of a sum of exponentials, and its gradient."""

from typing import Any

import numpy as np

import funcgrad as fg
from benchmarks.gradbench._protocol import Compiler, Task, arrays


def logsumexp(x: Any) -> Any:
    """Return log(sum(exp(x))) without overflow."""
    largest = np.max(x)
    return largest + np.log(np.sum(np.exp(x - largest)))


def tasks(compiler: Compiler) -> dict[str, Task]:
    """Return the functions of the evaluation."""
    return {
        "primal": Task(compiler(logsumexp), arrays("x")),
        "gradient": Task(compiler(fg.grad(logsumexp)), arrays("x")),
    }
