"""Peak memory of a gradient: a network of 20 layers at batch 256, beside PyTorch's; and loops of many rounds."""

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
# The largest resident memory of this process since the last `reset`, in kibibytes. `resource.getrusage` begins with the
# peak of the process that started this one. Linux alone has these files.
_PEAK = """
def peak():
    with open("/proc/self/status") as status:
        return int(next(line for line in status if line.startswith("VmHWM")).split()[1])

def reset():
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")
"""
_MEASURED = """
import json, sys
layers, batch, width = map(int, sys.argv[1:])
small = prepared(2, 4, 8)
small()
call = prepared(layers, batch, width)
reset()
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
    command = [sys.executable, "-c", program + _PEAK + _MEASURED, *map(str, (LAYERS, BATCH, width))]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


# A recurrence of 16 numbers: as a loop of Python that is rolled, the same in checkpointed blocks, and as `fg.scan`.
# It prints the peak of the first call, staging and compiling included, as the system counts it, and the peak of a later
# call, of the memory that Python and NumPy ask for. Both in bytes, above what was there before the call.
_LOOPS = """
import json, sys, tracemalloc
import numpy as np
import funcgrad as fg

def rolled(x, a):
    h = np.zeros(16)
    for t in range(len(x)):
        h = np.tanh(a * h + x[t])
    return np.sum(h**2)

def in_blocks(x, a):
    length = int(len(x) ** 0.5)
    block = fg.checkpoint(lambda h, rows, a: last(h, rows, a))
    h = np.zeros(16)
    for i in range(0, len(x), length):
        h = block(h, x[i : i + length], a)
    return np.sum(h**2)

def last(h, rows, a):
    for t in range(len(rows)):
        h = np.tanh(a * h + rows[t])
    return h

def scanned(checkpointed):
    def f(x, a):
        every = int(len(x) ** 0.5) if checkpointed else None
        h, _ = fg.scan(lambda h, row: (np.tanh(a * h + row), None), np.zeros(16), x, checkpoint=every)
        return np.sum(h**2)
    return f

name, rounds = sys.argv[1], int(sys.argv[2])
f = {"loop": rolled, "blocks": in_blocks, "scan": scanned(False), "scan, checkpoint": scanned(True)}[name]
gradient = fg.jit(fg.grad(f, argnums=1), engine="numpy")
arguments = lambda rounds: (np.random.default_rng(0).standard_normal((rounds, 16)), np.float64(0.5))
gradient(*arguments(64))
given = arguments(rounds)
reset()
before = peak()
kept = gradient(*given)
first = 1024 * (peak() - before)
tracemalloc.start()
kept = gradient(*given)
print(json.dumps([first, tracemalloc.get_traced_memory()[1]]))
"""
PROGRAMS = ("loop", "blocks", "scan", "scan, checkpoint")
CALLS = ("first call", "later call")


def loops(suite: Suite, effort: Effort) -> None:
    """The peaks of a first call, which stages and compiles, and of a later call."""
    for name in PROGRAMS:
        for rounds in (100, 1000) if effort.quick else (100, 1000, 10_000, 100_000):
            command = [sys.executable, "-c", _PEAK + _LOOPS, name, str(rounds)]
            peaks = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            for call, peak in zip(CALLS, peaks, strict=True):
                suite.checks.append(Check(f"{rounds} rounds, {name}, {call}", peak / 1e6, "MB"))


CASES = {"memory": memory, "loops": loops}
