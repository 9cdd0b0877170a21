"""Cold starts: what importing costs, and how long a fresh process takes to its first gradient."""

import time
from collections.abc import Callable

from benchmarks._fresh import output_of
from benchmarks._timing import Case, Check, Effort, Suite, interleave_once

IMPORTS = {"funcgrad": "import funcgrad", "NumPy": "import numpy"}

FIRST_GRADIENTS = {
    "funcgrad": """
import numpy as np
import funcgrad as fg
fg.grad(lambda x: np.sum(np.sin(x) * x))(np.array([1.0, 2.0]))
""",
    "JAX": """
import jax
import jax.numpy as jnp
jax.grad(lambda x: jnp.sum(jnp.sin(x) * x))(jnp.array([1.0, 2.0])).block_until_ready()
""",
    "autograd": """
import autograd
import autograd.numpy as np
autograd.grad(lambda x: np.sum(np.sin(x) * x))(np.array([1.0, 2.0]))
""",
    "PyTorch": """
import torch
x = torch.tensor([1.0, 2.0], requires_grad=True)
torch.sum(torch.sin(x) * x).backward()
""",
}


def imports(suite: Suite, effort: Effort) -> None:
    """Compare a process that imports funcgrad with one that imports NumPy, and see that JAX stays out."""
    samples = interleave_once({name: _process(code) for name, code in IMPORTS.items()}, effort.at_most(21).rounds)
    suite.cases.append(Case("process that imports", samples))
    extra = samples["funcgrad"].best - samples["NumPy"].best
    suite.checks.append(Check("import funcgrad, above numpy's own", extra, "s", 0.12))
    names = output_of("import sys, funcgrad; print(*sorted({name.split('.')[0] for name in sys.modules}))").split()
    suite.checks.append(
        Check("JAX modules loaded by import funcgrad", float(sum("jax" in name for name in names)), "", 0.0)
    )


def first_gradient(suite: Suite, effort: Effort) -> None:
    """Time a fresh process, from its start to its end, that computes one gradient of NumPy arrays."""
    samples = interleave_once(
        {name: _process(code) for name, code in FIRST_GRADIENTS.items()}, effort.at_most(7).rounds
    )
    suite.cases.append(Case("process to first gradient", samples, limits={"JAX": 0.25}))


CASES: dict[str, Callable[[Suite, Effort], None]] = {"imports": imports, "first gradient": first_gradient}


def _process(code: str) -> Callable[[], float]:
    """Return a call that runs `code` in a fresh interpreter and returns the seconds it took."""

    def run() -> float:
        start = time.perf_counter()
        output_of(code)
        return time.perf_counter() - start

    return run
