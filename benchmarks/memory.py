"""Peak memory of a gradient: a network of 20 layers at batch 256, beside PyTorch's."""

import json
import subprocess
import sys

from benchmarks._timing import Check, Effort, Suite

LAYERS, BATCH = 20, 256
WIDTHS = (256, 1024)

# Each in a process of its own, whose peak is then that of the gradient, above what it had before.
_PROGRAMS = {
    "funcgrad": """
import numpy as np
import funcgrad as fg

def network(layers, x):
    for w, b in layers:
        x = np.tanh(x @ w + b)
    return np.mean(x**2)

def prepared(layers, batch, width):
    rng = np.random.default_rng(0)
    made = [(rng.normal(size=(width, width)).astype("f") / width**0.5, np.zeros(width, "f")) for _ in range(layers)]
    x = rng.normal(size=(batch, width)).astype("f")
    gradient = fg.grad(network)
    return lambda: gradient(made, x)
""",
    "PyTorch": """
import torch

def prepared(layers, batch, width):
    made = [(torch.randn(width, width) / width**0.5, torch.zeros(width)) for _ in range(layers)]
    leaves = [x.requires_grad_() for pair in made for x in pair]
    x = torch.randn(batch, width)

    def gradient():
        y = x
        for w, b in made:
            y = torch.tanh(y @ w + b)
        return torch.autograd.grad((y**2).mean(), leaves)

    return gradient
""",
}
_MEASURED = """
import json, resource, sys
layers, batch, width = map(int, sys.argv[1:])
small = prepared(2, 4, 8)
small()
call = prepared(layers, batch, width)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before = peak()
kept = call()
print(json.dumps(peak() - before))
"""


def memory(suite: Suite, effort: Effort) -> None:
    """The peak above what is there already, in kibibytes as the system counts them."""
    for width in WIDTHS[:1] if effort.quick else WIDTHS:
        peaks = {name: min(_peak(program, width) for _ in range(3)) for name, program in _PROGRAMS.items()}
        title = f"peak memory of a gradient, {LAYERS} layers of {width}, batch {BATCH}: funcgrad's in % of PyTorch's"
        suite.checks.append(Check(title, 100 * peaks["funcgrad"] / peaks["PyTorch"], "%", limit=100.0))


def _peak(program: str, width: int) -> int:
    command = [sys.executable, "-c", program + _MEASURED, *map(str, (LAYERS, BATCH, width))]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


CASES = {"memory": memory}
