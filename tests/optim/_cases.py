"""Runs of SGD that are compared with PyTorch: every combination of options, with gradients that come and go."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

SHAPES = ((3, 2), (4,), ())
STEPS = 5
# Per step the leaf without a gradient: the first step of a leaf is its own, whenever it comes.
WITHOUT = (1, None, 0, None, 2)

Options = dict[str, Any]
Update = Callable[[Any, Any, Any], tuple[Any, Any]]


def _options() -> Iterator[Options]:
    names = ("momentum", "dampening", "weight_decay", "nesterov", "maximize")
    for values in itertools.product((0.0, 0.9), (0.0, 0.3), (0.0, 0.1), (False, True), (False, True)):
        options = dict(zip(names, values, strict=True))
        if not options["nesterov"] or (options["momentum"] and not options["dampening"]):
            yield {"lr": 0.1, **options}


def name_of(options: Options) -> str:
    """The options that are set, as they stand in test ids and in the golden file."""
    return "-".join(name for name, value in options.items() if value)


OPTIONS = {name_of(options): options for options in _options()}


def initial_params() -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    return [rng.standard_normal(shape) for shape in SHAPES]


def gradients() -> list[list[np.ndarray | None]]:
    """The gradients of each step."""
    rng = np.random.default_rng(2)
    drawn = [[rng.standard_normal(shape) for shape in SHAPES] for _ in range(STEPS)]
    return [[None if i == without else g for i, g in enumerate(gs)] for gs, without in zip(drawn, WITHOUT, strict=True)]


def flat(params: Any) -> np.ndarray:
    """All parameters as one vector."""
    return np.concatenate([np.ravel(p) for p in params])


def trajectory(update: Update, state: Any, params: Any) -> np.ndarray:
    """The parameters after each step, a row per step."""
    rows = []
    for grads in gradients():
        params, state = update(grads, state, params)
        rows.append(flat(params))
    return np.array(rows)


def torch_trajectory(torch: Any, options: Options) -> np.ndarray:
    """The same by ``torch.optim.SGD``."""
    params = [torch.tensor(p, requires_grad=True) for p in initial_params()]
    optimizer = torch.optim.SGD(params, **options)
    rows = []
    for grads in gradients():
        for p, g in zip(params, grads, strict=True):
            p.grad = None if g is None else torch.tensor(g)
        optimizer.step()
        rows.append(flat([p.detach().numpy() for p in params]))
    return np.array(rows)
