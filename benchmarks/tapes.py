"""Long tapes: the time per operation must not grow with their number, nor the time per row with the rows."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import autograd
import autograd.numpy as anp
import numpy as np
import torch

import funcgrad as fg
from benchmarks._fresh import output_of
from benchmarks._timing import Case, Check, Effort, Suite, interleave

TORCH_THREADS = 1  # its best for arrays this small: see eager.py
SHORT, LONG, LONGEST = 1_000, 100_000, 1_000_000
ROW = 50
STEPS = (500, 2_000, 8_000, 16_000)
QUICK_STEPS = (200, 500, 1_000)
# These add a cotangent as large as xs for every row: their time grows with the square of the rows, so they stop early.
MOST_STEPS = {"autograd": 2_000, "PyTorch": 8_000}


def chain(suite: Suite, effort: Effort) -> None:
    """Differentiate a chain of 1,000 and one of 100,000 elementwise operations on a 2-vector."""
    x = np.array([0.5, -1.5])
    leaf = torch.tensor(x, requires_grad=True)
    per_operation: dict[str, list[float]] = {}
    for length, rounds in ((SHORT, effort.rounds), (LONG, 7)):
        ours, peer, torch_loss = fg.grad(_chain(np, length)), autograd.grad(_chain(anp, length)), _chain(torch, length)
        contenders: dict[str, Callable[[], Any]] = {
            "funcgrad": lambda call=ours: call(x),
            "autograd": lambda call=peer: call(x),
            "PyTorch": lambda call=torch_loss: _torch_gradient(call, leaf),
        }
        samples = interleave(contenders, effort.at_most(rounds))
        suite.cases.append(Case(f"chain of {length:,}", samples))
        for name, taken in samples.items():
            per_operation.setdefault(name, []).append(taken.best / length)
    for name, (short, long) in per_operation.items():
        limit = 1.6 if name == "funcgrad" else None
        suite.checks.append(Check(f"time per operation, {LONG:,} over {SHORT:,}: {name}", long / short, "x", limit))


def longest_chain(suite: Suite, effort: Effort) -> None:
    """Differentiate a chain of 1,000,000 operations, in a process of its own for the sake of its peak memory."""
    length = LONG if effort.quick else LONGEST
    printed = output_of(f"from benchmarks import _long_chain; _long_chain.report({length})")
    seconds, memory, error = map(float, printed.split())
    suite.checks.append(Check(f"chain of {length:,}: relative error of the gradient", error, "", 1e-9))
    suite.checks.append(Check(f"chain of {length:,}: time per operation", seconds / length * 1e6, "us"))
    suite.checks.append(Check(f"chain of {length:,}: peak memory per operation", memory / length, "bytes"))


def rows(suite: Suite, effort: Effort) -> None:
    """Differentiate `h = tanh(h + xs[t])` over T rows of 50 by all of `xs`."""
    steps = QUICK_STEPS if effort.quick else STEPS
    per_step: list[float] = []
    for count in steps:
        xs = np.random.default_rng(count).normal(size=(count, ROW))
        leaf = torch.tensor(xs, requires_grad=True)
        ours, peer, torch_loss = fg.grad(_rows(np)), autograd.grad(_rows(anp)), _rows(torch)
        contenders: dict[str, Callable[[], Any]] = {
            "funcgrad": lambda call=ours, xs=xs: call(xs),
            "autograd": lambda call=peer, xs=xs: call(xs),
            "PyTorch": lambda call=torch_loss, leaf=leaf: _torch_gradient(call, leaf),
            "PyTorch, xs.unbind()": lambda leaf=leaf: _torch_gradient(_rows_of_unbound, leaf),
        }
        kept = {name: call for name, call in contenders.items() if count <= MOST_STEPS.get(name, count)}
        _check_rows(kept)
        samples = interleave(kept, effort.at_most(15 if count <= min(MOST_STEPS.values()) else 7))
        limits = {"autograd": 1.0} if "autograd" in kept else {}
        suite.cases.append(Case(f"loop over xs[t], T = {count:,}", samples, limits=limits))
        per_step.append(samples["funcgrad"].best / count)
    for count, seconds in zip(steps[1:], per_step[1:], strict=True):
        suite.checks.append(Check(f"time per row, T = {count:,} over {steps[0]:,}", seconds / per_step[0], "x", 1.6))
    suite.notes.append("JAX's eager mode takes half a minute at T = 500 and minutes at 2,000: not run.")


CASES: dict[str, Callable[[Suite, Effort], None]] = {"chain": chain, "longest chain": longest_chain, "rows": rows}


def _chain(xp: ModuleType, length: int) -> Callable[[Any], Any]:
    """Return the sum over a chain of `length` operations, sines and products in turn."""

    def loss(x: Any) -> Any:
        for _ in range(length // 2):
            x = xp.sin(x) * 1.0001
        return xp.sum(x)

    return loss


def _rows(xp: ModuleType) -> Callable[[Any], Any]:
    """Return the loss over the rows as written for `xp`."""

    def loss(xs: Any) -> Any:
        h = xs[0]
        for t in range(1, xs.shape[0]):
            h = xp.tanh(h + xs[t])
        return xp.sum(h)

    return loss


def _rows_of_unbound(xs: Any) -> Any:
    """Take PyTorch's rows apart at once, which is linear: what its users learn to write."""
    unbound = xs.unbind(0)
    h = unbound[0]
    for row in unbound[1:]:
        h = torch.tanh(h + row)
    return torch.sum(h)


def _torch_gradient(loss: Callable[[Any], Any], leaf: Any) -> Any:
    leaf.grad = None
    loss(leaf).backward()
    return leaf.grad


def _check_rows(contenders: dict[str, Callable[[], Any]]) -> None:
    expected = np.asarray(contenders["PyTorch, xs.unbind()"]())
    for name, call in contenders.items():
        np.testing.assert_allclose(np.asarray(call()), expected, rtol=1e-9, atol=1e-12, err_msg=name)
