"""A run taken by our optimizer or by PyTorch's, and how near to each other they are to be."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from funcgrad.autograd import tensor
from funcgrad.interop.torch import to_torch
from funcgrad.sparse import Rows
from tests.optim._family import Made, Run, drawn, groups_of

GOLDEN = Path(__file__).with_name("golden_family.npz")
DTYPES = (np.float64, np.float32, np.complex128, np.complex64)


@contextmanager
def in_double(torch: Any) -> Iterator[None]:
    """Have PyTorch keep the scalars of its states in double precision, as ours are."""
    before = torch.get_default_dtype(), torch.get_num_threads()
    torch.set_default_dtype(torch.float64)
    # Products in bfloat16 take half a second each where threads wait for each other.
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_default_dtype(before[0])
        torch.set_num_threads(before[1])


def tolerance(made: Made, dtype: Any) -> dict[str, Any]:
    """Return the tolerance. PyTorch's kernels round at other steps; Muon's products are of bfloat16 in both."""
    if made.rule.name == "muon":
        return {"rtol": 0.002, "atol": 0.002}
    wide = np.dtype(dtype).itemsize // (2 if np.dtype(dtype).kind == "c" else 1) == 8
    if made.rule.name == "sparse_adam" and not wide:
        # PyTorch makes the average of squares as ``old + (1 - beta2) * (new - old)``, which loses what is small beside
        # the old.
        return {"rtol": 5e-3, "atol": 5e-3}
    return {"rtol": 1e-10, "atol": 1e-11} if wide else {"rtol": 2e-4, "atol": 2e-5}


def dtype_of(made: Made, seed: int) -> Any:
    real_only = made.rule.refusal is not None
    return DTYPES[seed % (2 if real_only else 4)]


def class_of(torch: Any, made: Made) -> Any:
    """PyTorch's class; of what it lacks, the formula as a class of its kind."""
    if hasattr(torch.optim, made.cls.__name__):
        return getattr(torch.optim, made.cls.__name__)
    return import_module("tests.optim._in_torch").CLASSES[made.cls.__name__]


class Side:
    """An optimizer of one library that takes the steps of a run."""

    def __init__(self, made: Made, run: Run, torch: Any) -> None:
        self.torch = torch
        self.run = run
        cls = made.cls if torch is None else class_of(torch, made)
        make = _leaf if torch is None else lambda p: torch.tensor(p).requires_grad_()
        self.params = [[make(p) for p in group] for group in run.starts]
        self.optimizer = cls(groups_of(run, self.params), **run.constructor)

    def step(self, step: int) -> None:
        if step == self.run.saved_at:
            for group, lr in zip(self.optimizer.param_groups, self.run.lrs, strict=True):
                group["lr"] = lr
        grads = self.run.grads[step]
        if self.torch is None:
            self.optimizer.step(grads=[own(g) for g in grads])
            return
        for p, g in zip([p for group in self.params for p in group], grads, strict=True):
            p.grad = None if g is None else self._gradient(g)
        self.optimizer.step()

    def _gradient(self, g: Any) -> Any:
        if type(g) is Rows:
            values = self.torch.tensor(g.values)
            return self.torch.sparse_coo_tensor(g.indices[None], values, g.shape, check_invariants=True)
        return self.torch.tensor(g)

    def take(self, other: Side) -> None:
        """Go on with what another has saved."""
        saved = copy.deepcopy(other.optimizer.state_dict())
        self.optimizer.load_state_dict(saved if self.torch is None else to_torch(saved))
        values = zip(self.params, other.params, strict=True)
        for mine, theirs in ((x, y) for pair in values for x, y in zip(*pair, strict=True)):
            array = np.array(theirs.detach().numpy())
            mine.data = self.torch.tensor(array) if self.torch is not None else tensor(array)

    def found(self) -> list[np.ndarray]:
        return [p.detach().numpy() for group in self.params for p in group]


def _leaf(p: np.ndarray) -> Any:
    return tensor(p.copy(), requires_grad=True)


def own(g: Any) -> Any:
    return g.copy() if isinstance(g, np.ndarray) else g


def assert_close(found: list[Any], expected: list[Any], made: Made, dtype: Any, why: str = "") -> None:
    for x, y in zip(found, expected, strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype == dtype, why
        np.testing.assert_allclose(x, y, **tolerance(made, dtype), err_msg=why)


def golden_runs(made: Made) -> list[Run]:
    return [drawn(made, 1000 + i) for i in range(6)]
