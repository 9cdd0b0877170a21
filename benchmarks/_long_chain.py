"""One gradient of a very long chain, in a process that has loaded nothing but NumPy and funcgrad."""

import math
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import funcgrad as fg

START = 0.5


def report(length: int) -> None:
    """Print the seconds, the peak bytes above the start, and the relative error of the gradient."""
    gradient = fg.grad(_loss)
    gradient(np.array(START), 10)
    before = _peak_bytes()
    start = time.perf_counter()
    found = float(gradient(np.array(START), length))
    seconds = time.perf_counter() - start
    expected = _derivative(START, length)
    print(seconds, _peak_bytes() - before, abs(found - expected) / abs(expected))


def _loss(x: Any, length: int) -> Any:
    """Return `x` after `length` operations, sines and products in turn."""
    for _ in range(length // 2):
        x = np.sin(x) * 1.0001
    return x


def _derivative(x: float, length: int) -> float:
    derivative = 1.0
    for _ in range(length // 2):
        x, derivative = math.sin(x) * 1.0001, derivative * math.cos(x) * 1.0001
    return derivative


def _peak_bytes() -> float:
    """Return the largest resident size so far."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss would count what the parent process held when it started this one
        lines = status.read_text().splitlines()
        return float(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
