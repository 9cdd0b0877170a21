"""Schedulers beside PyTorch's own: numbers to the last bit, checkpoints both ways, messages word for word."""

from __future__ import annotations

import copy
import gc
import pickle
import re
import warnings
import weakref
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import optim
from funcgrad.autograd import tensor
from funcgrad.optim import lr_scheduler
from tests._recorded import PyTorch, read_golden
from tests.optim._schedulers import CALLS, KINDS, MAKERS, SAVED_AT, STEPS, Side, answer, trajectory

GOLDEN = Path(__file__).with_name("golden_schedulers.npz")


def leaf(numbers: Any) -> Any:
    return tensor(numbers, requires_grad=True)


@pytest.fixture(scope="module")
def golden() -> Any:
    return read_golden(GOLDEN)


@pytest.mark.parametrize("name", MAKERS)
def test_learning_rates_equal_pytorchs_file(name: str, golden: Any) -> None:
    found = trajectory(Side(optim, leaf, KINDS[0], name))
    # Cosines and powers are those of another machine's C library there.
    np.testing.assert_allclose(found, golden[name], rtol=1e-13, atol=1e-16)


@pytest.mark.parametrize("name", MAKERS)
def test_learning_rates_equal_pytorchs_to_the_last_bit(name: str, torch: Any) -> None:
    for kind in KINDS:
        mine = Side(optim, leaf, kind, name)
        theirs = Side(torch.optim, lambda numbers: torch.tensor(numbers, requires_grad=True), kind, name)
        for i in range(STEPS):
            if i == SAVED_AT:
                ours, torchs = mine.saved(), theirs.saved()
                assert comparable(ours[1]) == comparable(torchs[1])
                # Each goes on from the other's checkpoint.
                mine.load(torchs)
                theirs.load(ours)
            assert mine.step(i) == theirs.step(i), (kind, i)
        assert comparable(mine.saved()[1]) == comparable(theirs.saved()[1])


def comparable(state: Any) -> Any:
    """A checkpoint as plain values."""
    if isinstance(state, dict):
        return {name: comparable(value) for name, value in state.items()}
    return [comparable(value) for value in state] if isinstance(state, list) else state


@pytest.mark.parametrize("name", CALLS)
def test_what_is_said_is_pytorchs(name: str, pytorch: PyTorch) -> None:
    def said(optim: Any, leaf: Any) -> str:
        # The message shows two optimizers, with options that newer releases add.
        return re.sub(r" has \w+ \(.*\), which", " has ..., which", answer(CALLS[name], optim, leaf), flags=re.DOTALL)

    theirs = pytorch(lambda torch: said(torch.optim, lambda numbers: torch.tensor(numbers, requires_grad=True)))
    assert said(optim, leaf) == theirs


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_learning_rates_that_are_tensors(dtype: str, torch: Any) -> None:
    """They stay the same object, and nobody's copy is changed with them."""
    p, q = leaf([1.0]), torch.tensor([1.0], requires_grad=True)
    mine = optim.SGD([p], lr=tensor(0.1, dtype=dtype))
    theirs = torch.optim.SGD([q], lr=torch.tensor(0.1, dtype=getattr(torch, dtype)))
    held = mine.param_groups[0]["lr"]
    for make in (lambda s, o: s.ExponentialLR(o, 0.9), lambda s, o: s.CosineAnnealingLR(o, 20)):
        ours, torchs = make(lr_scheduler, mine), make(torch.optim.lr_scheduler, theirs)
        for _ in range(15):
            last = ours.get_last_lr()[0]
            value = last.item()
            mine.step()
            theirs.step()
            ours.step()
            torchs.step()
            assert last.item() == value
            assert mine.param_groups[0]["lr"] is held
            np.testing.assert_allclose(held.item(), theirs.param_groups[0]["lr"].item(), rtol=1e-6)
    made = lr_scheduler.ExponentialLR(mine, 0.9)
    made.load_state_dict(torchs.state_dict())
    assert made.base_lrs[0].item() == torchs.base_lrs[0].item()
    assert type(made.base_lrs[0]) is type(held)


def test_a_changed_learning_rate_compiles_nothing_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind, options in (("SGD", {"momentum": 0.9}), ("AdamW", {})):
        cls = getattr(optim, kind)
        traced: list[int] = []
        plain = cls.compiled_update.__wrapped__

        def counted(*args: Any, plain: Any = plain, traced: list[int] = traced) -> Any:
            traced.append(1)
            return plain(*args)

        monkeypatch.setattr(cls, "compiled_update", staticmethod(fg.jit(counted, donate_argnums=(1, 2))))
        programs = []
        for value in (np.ones(3, np.float32), jax.numpy.ones(3)):
            p = tensor(value, requires_grad=True)
            optimizer = cls([p], lr=0.1, **options)
            scheduler = lr_scheduler.OneCycleLR(optimizer, 0.1, 40)
            lrs = set()
            for i in range(40):
                p.grad = tensor(value)
                optimizer.step()
                scheduler.step()
                lrs.add(optimizer.param_groups[0]["lr"])
                if i == 3:
                    programs.append(sum(len(x.programs) for x in cls.kind.rule.structures.values()))
            assert len(lrs) == 40
            programs.append(sum(len(x.programs) for x in cls.kind.rule.structures.values()))
        assert programs[0] == programs[1]
        assert programs[2] == programs[3]
        assert traced == [1]


def test_schedulers_are_copied_and_pickled() -> None:
    for name in ("step", "cyclic", "one cycle", "plateau", "sequential", "chained"):
        side = Side(optim, leaf, "SGD", name)
        metrics = [0.5] if name == "plateau" else []
        for _ in range(5):
            side.optimizer.step()
            side.schedulers[0].step(*metrics)
        for twin in (copy.deepcopy(side.schedulers[0]), pickle.loads(pickle.dumps(side.schedulers[0]))):
            assert twin.optimizer is not side.optimizer
            twin.step(*metrics)
        side.schedulers[0].step(*metrics)
        assert twin.get_last_lr() == side.schedulers[0].get_last_lr()


def test_a_scheduler_holds_no_dead_optimizer_alive() -> None:
    optimizer = optim.SGD([leaf([1.0])], lr=0.1)
    lr_scheduler.StepLR(optimizer, 3)
    gc.disable()
    try:
        seen = weakref.ref(optimizer)
        del optimizer
        assert seen() is None
    finally:
        gc.enable()


def test_own_schedulers_have_pytorchs_hooks() -> None:
    class Own(lr_scheduler._LRScheduler):
        def get_lr(self) -> list[Any]:
            return [base / (1 + self.last_epoch) for base in self.base_lrs]

        def _get_closed_form_lr(self) -> list[Any]:
            return [0.25 for _ in self.base_lrs]

    optimizer = optim.SGD([leaf([1.0])], lr=1.0)
    scheduler = Own(optimizer)
    assert isinstance(scheduler, lr_scheduler.LRScheduler)
    optimizer.step()
    scheduler.step()
    assert scheduler.get_last_lr() == [0.5]
    with pytest.warns(UserWarning, match="The epoch parameter"):
        scheduler.step(7)
    assert scheduler.get_last_lr() == [0.25]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scheduler.step()
    assert scheduler.get_last_lr() == [1 / 9]
