"""Programs that fill arrays: `out[t] = f(out[t - 1], x[t])`, beside PyTorch's in-place writes and a list of rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import funcgrad as fg
from benchmarks._timing import Case, Check, Effort, Suite, interleave
from funcgrad.autograd import tensor

ROW = 50
STEPS = (500, 2_000, 8_000, 16_000)
QUICK_STEPS = (200, 500, 1_000)
# The number of rows of the target, and the most rows for PyTorch, whose time grows with their square.
STATED, MOST_OF_PYTORCH = 2_000, 2_000


def rows(suite: Suite, effort: Effort) -> None:
    """Differentiate a loop that fills the rows of an array, each from the one before."""
    steps = QUICK_STEPS if effort.quick else STEPS
    per_row: list[float] = []
    for count in steps:
        xs = np.random.default_rng(count).normal(size=(count, ROW))
        leaf = torch.tensor(xs, requires_grad=True)
        filled, stacked = fg.grad(_filled), fg.grad(_stacked)
        contenders: dict[str, Callable[[], Any]] = {
            "funcgrad": lambda call=filled, xs=xs: call(xs),
            "funcgrad, list and stack": lambda call=stacked, xs=xs: call(xs),
        }
        if count <= MOST_OF_PYTORCH:
            contenders["PyTorch"] = lambda leaf=leaf: _torch_gradient(leaf)
        _check(contenders)
        samples = interleave(contenders, effort.at_most(15 if count <= STATED else 5))
        limits = {"funcgrad, list and stack": 1.25, "PyTorch": 0.5} if count == STATED else {}
        suite.cases.append(Case(f"rows filled, T = {count:,}", samples, limits=limits))
        per_row.append(samples["funcgrad"].best / count)
    for count, seconds in zip(steps[1:], per_row[1:], strict=True):
        suite.checks.append(Check(f"time per row, T = {count:,} over {steps[0]:,}", seconds / per_row[0], "x", 1.6))


def tensor_rows(suite: Suite, effort: Effort) -> None:
    """Run the same loop, written with PyTorch's in-place operations, on tensors of both libraries."""
    per_row: list[float] = []
    steps = QUICK_STEPS if effort.quick else (500, STATED, 8_000)
    for count in steps:
        xs = np.random.default_rng(count).normal(size=(count, ROW))
        contenders: dict[str, Callable[[], Any]] = {"funcgrad": _tensor_gradient(tensor, xs)}
        if count <= MOST_OF_PYTORCH:
            contenders["PyTorch"] = _tensor_gradient(torch.tensor, xs)
            np.testing.assert_allclose(*[np.asarray(call()) for call in contenders.values()], rtol=1e-9, atol=1e-12)
        samples = interleave(contenders, effort.at_most(15 if count < STATED else 5))
        limits = {"PyTorch": 0.5} if count == STATED else {}
        suite.cases.append(Case(f"rows of a tensor filled, T = {count:,}", samples, limits=limits))
        per_row.append(samples["funcgrad"].best / count)
    for count, seconds in zip(steps[1:], per_row[1:], strict=True):
        name = f"time per row of a tensor, T = {count:,} over {steps[0]:,}"
        suite.checks.append(Check(name, seconds / per_row[0], "x", 1.6))


CASES: dict[str, Callable[[Suite, Effort], None]] = {"rows": rows, "tensor rows": tensor_rows}


def _filled(xs: Any) -> Any:
    out = np.zeros_like(xs)
    out[0] = xs[0]
    for t in range(1, len(xs)):
        out[t] = np.tanh(out[t - 1]) * 0.9 + xs[t]
    return np.sum(out**2)


def _stacked(xs: Any) -> Any:
    out = [xs[0]]
    for t in range(1, len(xs)):
        out.append(np.tanh(out[t - 1]) * 0.9 + xs[t])
    return np.sum(np.stack(out) ** 2)


def _filled_in_torch(xs: Any) -> Any:
    out = torch.zeros_like(xs)
    out[0] = xs[0]
    for t in range(1, len(xs)):
        # Without the copy PyTorch refuses: the row that the tanh keeps lies in what is written to.
        out[t] = torch.tanh(out[t - 1].clone()) * 0.9 + xs[t]
    return torch.sum(out**2)


def _torch_gradient(leaf: Any) -> Any:
    leaf.grad = None
    _filled_in_torch(leaf).backward()
    return leaf.grad


def _tensor_gradient(make: Callable[..., Any], xs: np.ndarray) -> Callable[[], Any]:
    leaf = make(xs, requires_grad=True)

    def gradient() -> Any:
        leaf.grad = None
        out = make(np.zeros(xs.shape))
        out[0] = leaf[0]
        for t in range(1, len(xs)):
            # Without the copy both refuse: the row that the tanh keeps lies in what is written to.
            out[t] = out[t - 1].clone().tanh() * 0.9 + leaf[t]
        (out**2).sum().backward()
        return leaf.grad

    return gradient


def _check(contenders: dict[str, Callable[[], Any]]) -> None:
    expected = np.asarray(contenders["funcgrad, list and stack"]())
    for name, call in contenders.items():
        np.testing.assert_allclose(np.asarray(call()), expected, rtol=1e-9, atol=1e-12, err_msg=name)
