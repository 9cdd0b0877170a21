"""Runs of every optimizer that is read off its rule: options, groups, gradients that come and go, drawn at random.

An optimizer joins by being in ``funcgrad.optim``: what its hyperparameters are drawn from stands in `DRAWN`, by name.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from funcgrad import optim
from funcgrad.extend import REQUIRED, RuleOptimizer
from funcgrad.optim._rules.rule import Choice, Rule
from funcgrad.sparse import Rows


class Made(NamedTuple):
    """The parts of an optimizer."""

    rule: Rule
    cls: Any
    state: Any
    init: Any
    update: Any

    @property
    def required(self) -> dict[str, float]:
        """Values of the hyperparameters without default."""
        return {x.name: 0.1 for x in self.rule.hyperparameters if x.default is REQUIRED}


def made_of(cls: Any) -> Made:
    rule = cls.kind.rule
    return Made(rule, cls, cls.kind, getattr(optim, f"{rule.name}_init"), getattr(optim, f"{rule.name}_update"))


CLASSES = [getattr(optim, name) for name in optim.__all__ if isinstance(getattr(optim, name), type)]
FAMILY = {
    cls.__name__: made_of(cls)
    for cls in CLASSES
    if issubclass(cls, RuleOptimizer) and "kind" in vars(cls) and cls.kind.rule.torch.arguments
}

SGD = made_of(optim.SGD)

# Values that a hyperparameter may have, by the name of PyTorch's option.
DRAWN: dict[str, list[Any]] = {
    "lr": [0.1, 0.01, 0.003, 1e-4],
    "betas": [(0.9, 0.999), (0.5, 0.9), (0.0, 0.99), (0.95, 0.0), (0.9, 0.6)],
    "eps": [1e-8, 1e-3, 1e-10],
    "weight_decay": [0, 0.1, 0.01],
    "amsgrad": [False, True],
    "maximize": [False, True],
    "decoupled_weight_decay": [False, True],
    "momentum_decay": [4e-3, 0.0, 0.1],
    "lr_decay": [0, 0.1],
    "initial_accumulator_value": [0, 0.1],
    "rho": [0.9, 0.5, 0.0],
    "alpha": [0.99, 0.75, 0.5],
    "momentum": [0, 0.9, 0.5],
    "dampening": [0, 0.3],
    "centered": [False, True],
    "etas": [(0.5, 1.2), (0.9, 1.01)],
    "step_sizes": [(1e-6, 50), (1e-3, 0.02)],
    "lambd": [1e-4, 0.1],
    "t0": [1e6, 0, 2],
    "nesterov": [False, True],
    "ns_coefficients": [(3.4445, -4.775, 2.0315), (3.0, -3.0, 1.0)],
    "ns_steps": [5, 1],
    "adjust_lr_fn": [None, "original", "match_rms_adamw"],
}
# PyTorch's SparseAdam makes the average of squares as ``old + (1 - beta2) * (new - old)``: with ``beta2`` 0 nothing but
# rounding is left of what is small beside the old.
DRAWN_OF: dict[tuple[str, str], list[Any]] = {
    ("sparse_adam", "betas"): [(0.9, 0.999), (0.5, 0.9), (0.0, 0.99), (0.9, 0.6)],
}
# PyTorch reads these arguments in the constructor and does not read them in groups.
OF_CONSTRUCTOR = ("initial_accumulator_value",)
SHAPES = ((3, 2), (4,), (), (2, 2, 2))
MATRICES = ((3, 2), (2, 5), (4, 4))
STEPS = 7


@dataclass(frozen=True)
class Run:
    """The options of two groups, the parameters of each, gradients step by step, and where a learning rate changes."""

    groups: list[dict[str, Any]]
    constructor: dict[str, Any]
    starts: list[list[np.ndarray]]
    grads: list[list[Any]]
    lrs: list[float]
    saved_at: int


def options_of(made: Made, rng: np.random.Generator) -> dict[str, Any]:
    """Options for PyTorch's class, some of them not given; what is refused together is drawn again."""
    names = [x.option[0] if not isinstance(x, Choice) and x.option else x.name for x in made.rule.hyperparameters]
    while True:
        found = {}
        for name in dict.fromkeys(names):
            if name in made.rule.torch.beyond:
                continue  # PyTorch cannot be asked about it.
            values = DRAWN_OF.get((made.rule.name, name), DRAWN[name])
            value = values[rng.integers(len(values))]
            if name not in made.rule.fixed and rng.random() < 0.7:
                found[name] = value
        if made.rule.name != "sgd":
            return found
        found.setdefault("lr", 0.02)
        nesterov = found.get("nesterov", False)
        if not nesterov or (found.get("momentum", 0) > 0 and found.get("dampening", 0) == 0):
            return found


def is_matrices(made: Made) -> bool:
    return made.rule.refusal is not None and made.rule.refusal([[np.zeros(3)]]) is not None


def drawn(made: Made, seed: int, dtype: Any = np.float64) -> Run:
    rng = np.random.default_rng(seed)
    shapes = MATRICES if is_matrices(made) else SHAPES[:3] if made.rule.dense is None else ((5, 2), (4,))
    size = 1 + int(rng.integers(2))
    groups = [options_of(made, rng) for _ in range(size)]
    starts = [[_normal(rng, shape, dtype) for shape in shapes] for _ in groups]
    missing = rng.random(STEPS * size * len(shapes)) < 0.25
    gone = iter(missing.tolist())
    flat = [p for group in starts for p in group]
    grads = [[None if next(gone) else gradient_of(made, rng, p) for p in flat] for _ in range(STEPS)]
    lrs = [0.05 * float(x) for x in 1 + rng.integers(3, size=size)]
    constructor = {name: groups[0][name] for name in OF_CONSTRUCTOR if name in groups[0]}
    groups = [{name: x for name, x in group.items() if name not in OF_CONSTRUCTOR} for group in groups]
    return Run(groups, constructor, starts, grads, lrs, int(rng.integers(1, STEPS)))


def _normal(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    x = rng.standard_normal(shape)
    return np.asarray(x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == "c" else x, dtype)


def gradient_of(made: Made, rng: np.random.Generator, p: np.ndarray) -> Any:
    if made.rule.dense is None:
        return _normal(rng, p.shape, p.dtype)
    indices = rng.integers(p.shape[0], size=3)
    # The rows have one sign each, because sums that cancel depend on their order.
    signs = np.where(indices % 2, -1.0, 1.0).reshape(3, *[1] * (p.ndim - 1))
    return Rows(indices, (np.abs(_normal(rng, (3, *p.shape[1:]), p.dtype)) * signs).astype(p.dtype), p.shape)


def split(values: list[Any], run: Run) -> list[list[Any]]:
    """A flat list by groups."""
    rest = iter(values)
    return [[next(rest) for _ in group] for group in run.starts]


def by_name(made: Made, options: dict[str, Any]) -> dict[str, Any]:
    """The options of PyTorch's class by the rule's names, with defaults."""
    found = {}
    for x in made.rule.hyperparameters:
        option = None if isinstance(x, Choice) else x.option
        if option is None:
            found[x.name] = options.get(x.name, x.default)
        else:
            found[x.name] = options[option[0]][option[1]] if option[0] in options else x.default
    return found


def by_functions(made: Made, run: Run, transform: Any = None, convert: Any = None, **static: Any) -> list[Any]:
    """The parameters after the last step, flat: hyperparameters are a list with a value for each group."""
    params: Any = [[p if convert is None else convert(p) for p in group] for group in run.starts]
    rows = [by_name(made, {**run.constructor, **options}) for options in run.groups]
    # In a tree None is an empty tree.
    rows = [{name: "original" if x is None else x for name, x in row.items()} for row in rows]
    given = {name: [row[name] for row in rows] for name in rows[0] if name not in made.rule.fixed}
    state = made.init(params, **given, **static)
    update = made.update if transform is None else transform(made.update)
    for step, grads in enumerate(run.grads):
        if step == run.saved_at:
            state = state.replace(lr=run.lrs)
        params, state = update(split(grads, run), state, params)
    return [p for group in params for p in group]


def groups_of(run: Run, params: list[list[Any]]) -> list[dict[str, Any]]:
    return [{"params": held, **options} for held, options in zip(params, run.groups, strict=True)]
