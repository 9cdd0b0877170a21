"""Runs of PyTorch's schedulers, which go alike on its optimizers and on ours, and what they refuse or warn of."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

STEPS = 240
SAVED_AT = 120
# At these steps somebody changes a learning rate by hand.
BY_HAND = {57: 0.7, 58: 1.3, 171: 0.5}
LOSSES = np.round(np.abs(np.sin(np.arange(STEPS) * 0.7)) * np.exp(-np.arange(STEPS) / 90) + 0.05, 3).tolist()

Make = Callable[[Any, Any], Any]


class Wave:
    """A callable object, whose attributes a checkpoint keeps."""

    def __init__(self, length: float) -> None:
        self.length = length

    def __call__(self, step: float) -> float:
        return 1 / (1 + step / self.length)


def _sequence(s: Any, o: Any) -> Any:
    parts = [s.LinearLR(o, 0.1, total_iters=20), s.CosineAnnealingLR(o, 60), s.ExponentialLR(o, 0.97)]
    return s.SequentialLR(o, parts, [20, 140])


def _nested(s: Any, o: Any) -> Any:
    row = s.SequentialLR(o, [s.ConstantLR(o, 0.5, 9), s.StepLR(o, 30, 0.5)], [100])
    return s.ChainedScheduler([row, s.ExponentialLR(o, 0.99)], o)


MAKERS: dict[str, Make] = {
    "lambda": lambda s, o: s.LambdaLR(o, lambda step: 0.97**step),
    "lambdas": lambda s, o: s.LambdaLR(o, [Wave(7.0), lambda step: step // 30]),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda step: 0.95 + 0.001 * (step % 70)),
    "multiplicative, objects": lambda s, o: s.MultiplicativeLR(o, [Wave(900.0), Wave(500.0)]),
    "step": lambda s, o: s.StepLR(o, 7, 0.9),
    "multi step": lambda s, o: s.MultiStepLR(o, [3, 50, 50, 130, 200], 0.3),
    "constant": lambda s, o: s.ConstantLR(o, 0.3, 130),
    "constant, default": lambda s, o: s.ConstantLR(o),
    "linear": lambda s, o: s.LinearLR(o, 0.05, 0.9, 200),
    "linear, down": lambda s, o: s.LinearLR(o, 1.0, 0.0, 150),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.983),
    "polynomial": lambda s, o: s.PolynomialLR(o, 211, 0.9),
    "polynomial, default": lambda s, o: s.PolynomialLR(o),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 37, 1e-3),
    "cosine, one way": lambda s, o: s.CosineAnnealingLR(o, STEPS),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 13),
    "restarts, longer": lambda s, o: s.CosineAnnealingWarmRestarts(o, 11, 2, 1e-3),
    "cyclic": lambda s, o: s.CyclicLR(o, 0.01, [0.1, 0.2], 23, base_momentum=[0.7, 0.75]),
    "cyclic, halves": lambda s, o: s.CyclicLR(o, [0.01, 0.03], 0.2, 11, 29, "triangular2", max_momentum=0.99),
    "cyclic, powers": lambda s, o: s.CyclicLR(o, 0.01, 0.2, 17, mode="exp_range", gamma=0.99),
    "cyclic, function": lambda s, o: s.CyclicLR(o, 0.01, 0.2, 17, scale_fn=lambda x: 1 / x, cycle_momentum=False),
    "cyclic, object": lambda s, o: s.CyclicLR(o, 0.01, 0.2, 17, scale_fn=Wave(5.0), scale_mode="iterations"),
    "one cycle": lambda s, o: s.OneCycleLR(o, [0.3, 0.1], STEPS + 1),
    "one cycle, lines": lambda s, o: s.OneCycleLR(
        o, 0.3, epochs=25, steps_per_epoch=10, anneal_strategy="linear", pct_start=0.41, three_phase=True
    ),
    "one cycle, no momentum": lambda s, o: s.OneCycleLR(o, 0.3, STEPS + 7, cycle_momentum=False, div_factor=3.0),
    "plateau": lambda s, o: s.ReduceLROnPlateau(o, patience=3, factor=0.5, cooldown=2),
    "plateau, max": lambda s, o: s.ReduceLROnPlateau(o, "max", 0.7, 1, 0.1, "abs", min_lr=[1e-3, 1e-2], eps=1e-5),
    "plateau, rel max": lambda s, o: s.ReduceLROnPlateau(o, mode="max", factor=0.9, patience=5),
    "plateau, abs min": lambda s, o: s.ReduceLROnPlateau(o, threshold_mode="abs", threshold=0.01, patience=2),
    "sequential": _sequence,
    "chained": lambda s, o: s.ChainedScheduler([s.LinearLR(o, 0.1), s.StepLR(o, 40), s.CosineAnnealingLR(o, 90)]),
    "nested": _nested,
    "two at once": lambda s, o: SimpleNamespace(both=[s.ExponentialLR(o, 0.99), s.MultiStepLR(o, [30, 90], 0.5)]),
}
KINDS = ("SGD", "AdamW")


def schedulers_of(made: Any) -> list[Any]:
    return made.both if isinstance(made, SimpleNamespace) else [made]


class Side:
    """An optimizer of two groups, PyTorch's or ours, with what schedules it."""

    def __init__(self, optim: Any, leaf: Any, kind: str, name: str) -> None:
        self.module = optim.lr_scheduler
        self.make = lambda: self._optimizer(optim, leaf, kind)
        self.name = name
        self.optimizer = self.make()
        self.schedulers = schedulers_of(MAKERS[name](self.module, self.optimizer))

    @staticmethod
    def _optimizer(optim: Any, leaf: Any, kind: str) -> Any:
        momentum = {"momentum": 0.9} if kind == "SGD" else {}
        groups = [{"params": [leaf([1.0])]}, {"params": [leaf([2.0])], "lr": 0.05}]
        return getattr(optim, kind)(groups, lr=0.1, **momentum)

    def saved(self) -> Any:
        return self.optimizer.state_dict(), [x.state_dict() for x in self.schedulers]

    def load(self, saved: Any) -> None:
        """Begin anew, and go on from a checkpoint."""
        self.optimizer = self.make()
        self.schedulers = schedulers_of(MAKERS[self.name](self.module, self.optimizer))
        self.optimizer.load_state_dict(saved[0])
        for scheduler, state in zip(self.schedulers, saved[1], strict=True):
            scheduler.load_state_dict(state)

    def step(self, i: int) -> list[float]:
        """One step; learning rates and momenta of the groups after it."""
        self.optimizer.step()
        if i in BY_HAND:
            self.optimizer.param_groups[i % 2]["lr"] *= BY_HAND[i]
        for scheduler in self.schedulers:
            scheduler.step(*([LOSSES[i]] if self.name.startswith("plateau") else []))
        found = [float(group["lr"]) for group in self.optimizer.param_groups]
        assert self.schedulers[-1].get_last_lr() == found
        return found + [float(_momentum(group)) for group in self.optimizer.param_groups]


def _momentum(group: dict[str, Any]) -> Any:
    return group["momentum"] if "momentum" in group else group["betas"][0]


def trajectory(side: Side) -> np.ndarray:
    """The steps of one side, with a checkpoint of its own on the way."""
    found = []
    for i in range(STEPS):
        if i == SAVED_AT:
            side.load(side.saved())
        found.append(side.step(i))
    return np.array(found)


# Calls that are refused or give a warning or a text. They take the module, an optimizer, and another one.
CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "no optimizer": lambda s, o, other: s.StepLR(3, 2),
    "no optimizer, plateau": lambda s, o, other: s.ReduceLROnPlateau("x"),
    "no optimizer, cyclic": lambda s, o, other: s.CyclicLR([1], 0.1, 0.2),
    "no optimizer, one cycle": lambda s, o, other: s.OneCycleLR(None, 0.1, 10),
    "no initial lr": lambda s, o, other: s.StepLR(o, 2, last_epoch=5),
    "other number of functions": lambda s, o, other: s.LambdaLR(o, [len, len, len]),
    "other number of factors": lambda s, o, other: s.MultiplicativeLR(o, [len]),
    "no function": lambda s, o, other: s.MultiplicativeLR(o, 0.5),
    "factor above 1": lambda s, o, other: s.ConstantLR(o, 1.5),
    "start of 0": lambda s, o, other: s.LinearLR(o, 0.0),
    "end below 0": lambda s, o, other: s.LinearLR(o, 0.5, -0.1),
    "no steps to a restart": lambda s, o, other: s.CosineAnnealingWarmRestarts(o, 0),
    "half a step": lambda s, o, other: s.CosineAnnealingWarmRestarts(o, 2.5),
    "no length": lambda s, o, other: s.CosineAnnealingWarmRestarts(o, 2, 0),
    "no number": lambda s, o, other: s.CosineAnnealingWarmRestarts(o, 2, eta_min="0"),
    "step back": lambda s, o, other: s.CosineAnnealingWarmRestarts(o, 2).step(-1),
    "bounds of three": lambda s, o, other: s.CyclicLR(o, [0.1] * 3, 0.2),
    "bounds of one": lambda s, o, other: s.CyclicLR(o, 0.1, (0.2,)),
    "no such mode": lambda s, o, other: s.CyclicLR(o, 0.1, 0.2, mode="square"),
    "nothing to cycle": lambda s, o, other: s.CyclicLR(other, 0.1, 0.2),
    "nothing to cycle once": lambda s, o, other: s.OneCycleLR(other, 0.1, 10),
    "no steps": lambda s, o, other: s.OneCycleLR(o, 0.1),
    "steps below 0": lambda s, o, other: s.OneCycleLR(o, 0.1, -3),
    "half of the steps": lambda s, o, other: s.OneCycleLR(o, 0.1, epochs=2.5, steps_per_epoch=2),
    "no steps per epoch": lambda s, o, other: s.OneCycleLR(o, 0.1, epochs=2, steps_per_epoch=0),
    "all of it": lambda s, o, other: s.OneCycleLR(o, 0.1, 10, pct_start=1),
    "more than all": lambda s, o, other: s.OneCycleLR(o, 0.1, 10, pct_start=1.5),
    "no such way": lambda s, o, other: s.OneCycleLR(o, 0.1, 10, anneal_strategy="square"),
    "too far": lambda s, o, other: _steps(s.OneCycleLR(o, 0.1, 3), 4),
    "factor of 1": lambda s, o, other: s.ReduceLROnPlateau(o, factor=1.0),
    "bounds of plateau": lambda s, o, other: s.ReduceLROnPlateau(o, min_lr=[0.1]),
    "no such mode of plateau": lambda s, o, other: s.ReduceLROnPlateau(o, "least"),
    "no such threshold": lambda s, o, other: s.ReduceLROnPlateau(o, threshold_mode="part"),
    "a group more": lambda s, o, other: _grown(s, o, other),
    "plateau's epoch": lambda s, o, other: s.ReduceLROnPlateau(o).step(1.0, 3),
    "no schedulers": lambda s, o, other: s.SequentialLR(o, [], []),
    "no schedulers chained": lambda s, o, other: s.ChainedScheduler([]),
    "no scheduler": lambda s, o, other: s.SequentialLR(o, [3], []),
    "no scheduler chained": lambda s, o, other: s.ChainedScheduler([s.StepLR(o, 1), 3]),
    "plateau in a row": lambda s, o, other: s.SequentialLR(o, [s.ReduceLROnPlateau(o)], []),
    "plateau chained": lambda s, o, other: s.ChainedScheduler([s.ReduceLROnPlateau(o)]),
    "milestones": lambda s, o, other: s.SequentialLR(o, [s.StepLR(o, 1)], [3]),
    "two optimizers": lambda s, o, other: s.SequentialLR(o, [s.StepLR(o, 1), s.StepLR(other, 1)], [3]),
    "two optimizers chained": lambda s, o, other: s.ChainedScheduler([s.StepLR(o, 1), s.StepLR(other, 1)]),
    "no rule": lambda s, o, other: s.LRScheduler(o),
    "asked outside": lambda s, o, other: s.StepLR(o, 1).get_lr(),
    "asked outside, cosine": lambda s, o, other: s.CosineAnnealingLR(o, 5).get_lr(),
    "too early": lambda s, o, other: s.StepLR(o, 1).step(),
    "overridden": lambda s, o, other: _overridden(s, o),
    "an epoch": lambda s, o, other: [s.StepLR(o, 2).step(5), o.param_groups[0]["lr"]],
    "an epoch, cosine": lambda s, o, other: [s.CosineAnnealingLR(o, 9).step(5), o.param_groups[1]["lr"]],
    "an epoch, function": lambda s, o, other: [s.LambdaLR(o, lambda t: 0.5**t).step(5), o.param_groups[1]["lr"]],
    "epochs": lambda s, o, other: [_closed(make(s, o), o) for make in CLOSED],
    "fractions": lambda s, o, other: _fractions(s, o),
    "resumed": lambda s, o, other: _resumed(s, o),
    "kept": lambda s, o, other: [sorted(_kept(make(s, o))) for name, make in MAKERS.items() if name != "two at once"],
    "the old name": lambda s, o, other: s._LRScheduler.__name__,
}
CLOSED: list[Make] = [
    lambda s, o: s.StepLR(o, 2),
    lambda s, o: s.MultiStepLR(o, [2, 4], 0.5),
    lambda s, o: s.ConstantLR(o, 0.3, 5),
    lambda s, o: s.LinearLR(o, 0.3, total_iters=7),
    lambda s, o: s.ExponentialLR(o, 0.9),
    lambda s, o: s.PolynomialLR(o, 9, 0.7),
    lambda s, o: s.CosineAnnealingLR(o, 8),
]


def _steps(scheduler: Any, count: int) -> None:
    for _ in range(count):
        scheduler.optimizer.step()
        scheduler.step()


def _grown(s: Any, o: Any, other: Any) -> None:
    scheduler = s.ReduceLROnPlateau(o, patience=0, min_lr=[0.0, 0.0])
    o.add_param_group({"params": other.param_groups[0]["params"]})
    scheduler.step(1.0)
    scheduler.step(2.0)


def _overridden(s: Any, o: Any) -> None:
    scheduler = s.StepLR(o, 1)
    o.step = lambda: None
    scheduler.step()


def _closed(scheduler: Any, o: Any) -> list[list[float]]:
    found = []
    for epoch in (3, 6, 5, 20):
        scheduler.step(epoch)
        found.append([float(group["lr"]) for group in o.param_groups])
    return found


def _fractions(s: Any, o: Any) -> list[list[float]]:
    found = []
    for length in (1, 2):
        scheduler = s.CosineAnnealingWarmRestarts(o, 3, length)
        for epoch in (0.5, 2.9, 3.0, 8.25, 20, None, 2):
            scheduler.step(epoch)
            found.append([*scheduler.get_last_lr(), scheduler.T_cur, scheduler.T_i, scheduler.last_epoch])
    return found


def _resumed(s: Any, o: Any) -> list[Any]:
    """Schedulers that begin where others were."""
    s.StepLR(o, 1)
    made = [make(s, o) for make in (*CLOSED, lambda s, o: s.CyclicLR(o, 0.1, 0.2, 3))]
    found: list[Any] = [x.get_last_lr() for x in made]
    later = [s.StepLR(o, 3, last_epoch=4), s.CosineAnnealingLR(o, 7, last_epoch=4), s.LinearLR(o, last_epoch=2)]
    found += [x.get_last_lr() for x in later]
    o.step()
    for scheduler in later:
        scheduler.step()
        found.append(scheduler.get_last_lr())
    return found


def _kept(scheduler: Any) -> list[tuple[str, Any]]:
    return sorted((name, repr(value)) for name, value in scheduler.state_dict().items() if name != "_schedulers")


def answer(call: Callable[[Any, Any, Any], Any], optim: Any, leaf: Any) -> str:
    """Return the result, the warnings and the error of a call as text."""
    o = optim.SGD([{"params": [leaf([1.0])]}, {"params": [leaf([2.0])], "lr": 0.05}], lr=0.1, momentum=0.9)
    other = optim.Adagrad([leaf([3.0])], lr=0.1)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            result = repr(call(optim.lr_scheduler, o, other))
        except Exception as error:  # noqa: BLE001  (whatever it refuses with is what is compared)
            result = f"{type(error).__name__}: {error}"
    texts = dict.fromkeys(f"{w.category.__name__}: {w.message}" for w in warned)
    return "\n".join([result if " at 0x" not in result else "an object", *texts])
