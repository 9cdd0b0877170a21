"""Python frames of one warm step of an optimizer: ``python -m benchmarks.frames``.

The counts do not depend on the machine's load, as times do. ``tests/optim/test_frames.py`` holds them.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

import funcgrad as fg
from funcgrad import optim


def frames_of(call: Callable[[], Any]) -> Counter[tuple[str, str]]:
    """Return how often each Python function is entered in a call, by file and name."""
    found: Counter[tuple[str, str]] = Counter()

    def note(frame: FrameType, event: str, arg: Any) -> None:
        del arg
        if event == "call":
            found[frame.f_code.co_filename, frame.f_code.co_name] += 1

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(before)
    # The first is the call itself, if it is a function of Python.
    return found


def warm_steps() -> dict[str, Callable[[], Any]]:
    """Return a step of two parameters for each of the three ways that are counted."""
    params = [np.ones((3, 2)), np.zeros(2)]
    grads = [np.full((3, 2), 0.5), np.ones(2)]
    held = [params, fg.sgd_init(params, lr=0.1, momentum=0.9)]

    def update() -> None:
        held[:] = fg.sgd_update(grads, held[1], held[0])

    tensors = {}
    for cls in (optim.Adam, optim.SGD):
        leaves = [fg.autograd.tensor(p.copy(), requires_grad=True) for p in params]
        for p, g in zip(leaves, grads, strict=True):
            p.grad = fg.autograd.tensor(g)
        options: dict[str, Any] = {} if cls is optim.Adam else {"momentum": 0.9}
        tensors[f"{cls.__name__}.step"] = cls(leaves, lr=0.1, **options).step
    steps = {"sgd_update": update, **tensors}
    for step in steps.values():
        for _ in range(3):
            step()
    return steps


def main() -> None:
    """Print the frames of each step by file and function."""
    for name, step in warm_steps().items():
        found = frames_of(step)
        files = {file for file, _ in found}
        print(f"{name}: {found.total()} frames in {len(files)} files")
        for (file, function), count in sorted(found.items()):
            print(f"    {count:3} {file.rpartition('funcgrad/')[2]}:{function}")


if __name__ == "__main__":
    main()
