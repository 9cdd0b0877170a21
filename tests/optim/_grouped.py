"""Runs of SGD with a group for each parameter, learning rates that change and gradients that come and go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.optim._cases import SHAPES, flat, initial_params

STEPS = 7
Options = dict[str, Any]

# Per step the leaves without a gradient.
PATTERNS: dict[str, tuple[tuple[int, ...], ...]] = {
    "all": ((),) * STEPS,
    "late": ((0, 1), (0,), (0,), (), (), (), ()),
    "one never": ((1,),) * STEPS,
    "in turn": tuple((i % 3,) for i in range(STEPS)),
    "steps of none": ((), (0, 1, 2), (), (0, 1, 2), (0, 1, 2), (), ()),
    "once only": ((1, 2), (0, 2), (0, 1), (0, 1, 2), (0, 1, 2), (0, 1, 2), (0, 1, 2)),
}
GROUPS: dict[str, tuple[Options, Options, Options]] = {
    "lr": ({"lr": 0.1}, {"lr": 0.01}, {"lr": 0.0}),
    "momentum": ({"momentum": 0.9}, {"momentum": 0.0}, {"momentum": 0.5}),
    "dampening": ({"momentum": 0.9, "dampening": 0.3}, {"momentum": 0.9}, {"momentum": 0.9, "dampening": 1.0}),
    "weight_decay": ({"weight_decay": 0.1}, {}, {"weight_decay": 0.01, "maximize": True}),
    "nesterov": ({"momentum": 0.9, "nesterov": True}, {"momentum": 0.9}, {"momentum": 0.0}),
    "all": (
        {"lr": 0.3, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1},
        {"lr": 0.05, "momentum": 0.5, "dampening": 0.5, "maximize": True},
        {"lr": 1.0, "weight_decay": 0.01},
    ),
}
DEFAULTS: Options = {
    "lr": 0.1, "momentum": 0.0, "dampening": 0.0, "weight_decay": 0.0, "nesterov": False, "maximize": False,
}  # fmt: skip
# From this step on the learning rates are these fractions of what they were.
CHANGED, FRACTIONS = 4, (0.1, 1.0, 0.5)


@dataclass(frozen=True)
class Run:
    """The options of each leaf, and the steps in which it has no gradient."""

    groups: tuple[Options, Options, Options]
    missing: tuple[tuple[int, ...], ...]

    def options(self, step: int) -> list[Options]:
        """The complete options of each leaf at a step."""
        complete = [{**DEFAULTS, **group} for group in self.groups]
        if step < CHANGED:
            return complete
        return [{**o, "lr": o["lr"] * fraction} for o, fraction in zip(complete, FRACTIONS, strict=True)]

    def gradients(self) -> list[list[np.ndarray | None]]:
        """The gradients of each step."""
        rng = np.random.default_rng(3)
        drawn = [[rng.standard_normal(shape) for shape in SHAPES] for _ in range(STEPS)]
        return [
            [None if i in gone else g for i, g in enumerate(gs)] for gs, gone in zip(drawn, self.missing, strict=True)
        ]


RUNS = {f"{group}-{pattern}": Run(GROUPS[group], PATTERNS[pattern]) for group in GROUPS for pattern in PATTERNS}


def by_class(run: Run, sgd: Any, make: Callable[[np.ndarray], Any], saved_at: int | None = None) -> dict[str, Any]:
    """The parameters after each step of an optimizer, and the buffers that it saves after the last.

    At step ``saved_at`` another optimizer takes over, from what the first one saves.
    """
    params = [make(p).requires_grad_() for p in initial_params()]

    def optimizer_of(step: int) -> Any:
        return sgd([{"params": [p], **o} for p, o in zip(params, run.options(step), strict=True)], lr=99.0)

    optimizer = optimizer_of(0)
    rows = []
    for step, grads in enumerate(run.gradients()):
        if step == saved_at:
            saved = optimizer.state_dict()
            optimizer = optimizer_of(STEPS)
            optimizer.load_state_dict(saved)
        for group, options in zip(optimizer.param_groups, run.options(step), strict=True):
            group["lr"] = options["lr"]
        for p, g in zip(params, grads, strict=True):
            p.grad = None if g is None else make(g)
        optimizer.step()
        rows.append(flat([p.detach().numpy() for p in params]))
    state = optimizer.state_dict()["state"]
    buffers = {i: entry.get("momentum_buffer") for i, entry in state.items()}
    kept = {i: np.asarray(x.numpy()) for i, x in sorted(buffers.items()) if x is not None}
    numbers = np.array(list(kept), int)
    return {"rows": np.array(rows), "numbers": numbers, "buffers": flat([np.zeros(0), *kept.values()])}


def learned(make: Any, sgd: Any, grad: Any, momentum: float, point: np.ndarray) -> tuple[Any, Any]:
    """A loss after three steps that are recorded, and its gradient by where they began."""
    start = make(point).requires_grad_()
    w = start.clone()
    optimizer = sgd([w], lr=0.1, momentum=momentum, weight_decay=0.01, differentiable=True)
    for _ in range(3):
        (w.grad,) = grad((w.clone() ** 3).sum(), w, create_graph=True)
        optimizer.step()
    loss = (w**2).sum()
    return loss.item(), grad(loss, start)[0].numpy()


def by_rule(run: Run, init: Any, update: Any) -> np.ndarray:
    """The parameters after each step of the functional rule, whose hyperparameters are trees."""
    params = initial_params()

    def prefixes(step: int) -> Options:
        complete = run.options(step)
        return {name: [o[name] for o in complete] for name in DEFAULTS}

    state = init(params, **prefixes(0))
    rows = []
    for step, grads in enumerate(run.gradients()):
        if step == CHANGED:
            state = state.replace(lr=prefixes(step)["lr"])
        params, state = update(grads, state, params)
        rows.append(flat(params))
    return np.array(rows)
