"""Every optimizer that is read off its rule beside PyTorch's own: numbers, checkpoints, refusals, arguments."""

from __future__ import annotations

import inspect
import os
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from tests._recorded import PyTorch
from tests.optim._family import FAMILY, STEPS, Made, Run, by_functions, drawn
from tests.optim._sides import Side, assert_close, class_of, dtype_of, in_double

every = pytest.mark.parametrize("name", FAMILY)
# How many random runs there are of each optimizer; 300 and more were taken by FUNCGRAD_OPTIMIZER_RUNS=300.
RUNS = int(os.environ.get("FUNCGRAD_OPTIMIZER_RUNS", "12"))


@pytest.mark.parametrize("name", FAMILY)
def test_random_runs_beside_pytorch(name: str, torch: Any) -> None:
    """Options, groups, missing gradients and dtypes; and in mid-run each library takes over from the other."""
    with in_double(torch):
        random_runs(FAMILY[name], torch)


def random_runs(made: Made, torch: Any) -> None:
    for seed in range(RUNS):
        dtype = dtype_of(made, seed)
        run = drawn(made, seed, dtype)
        why = f"seed {seed}: {run.groups}"
        ours, theirs, from_ours, from_theirs = [Side(made, run, library) for library in (None, torch, torch, None)]
        for step in range(STEPS):
            if step == run.saved_at:
                from_ours.take(ours)
                from_theirs.take(theirs)
            for side in (ours, theirs):
                side.step(step)
            if step >= run.saved_at:
                from_ours.step(step)
                from_theirs.step(step)
        expected = theirs.found()
        for side, what in ((ours, "class"), (from_ours, "PyTorch from ours"), (from_theirs, "ours from PyTorch")):
            assert_close(side.found(), expected, made, dtype, f"{what}, {why}")
        assert_close(by_functions(made, run), expected, made, dtype, f"functions, {why}")


# An infinity or NaN spreads over a whole matrix.
BY_ELEMENT = [name for name, made in FAMILY.items() if made.rule.elementwise and made.rule.dense is None]


@pytest.mark.parametrize("name", BY_ELEMENT)
def test_gradients_that_are_not_finite(name: str, pytorch: PyTorch) -> None:
    """Parameters are finite here exactly where they are finite in PyTorch, and then they are equal."""
    made = FAMILY[name]
    for seed in range(6):
        drawn_run, rng = drawn(made, seed), np.random.default_rng(seed)
        starts = [[rng.standard_normal(30)] for _ in drawn_run.groups]
        special = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e3, -1e-20])
        kinds = [*special, *rng.standard_normal(14)]
        grads: list[list[Any]] = [[rng.choice(kinds, 30) for _ in starts] for _ in range(5)]
        run = Run(drawn_run.groups, drawn_run.constructor, starts, grads, drawn_run.lrs, 2)

        def by_class(torch: Any, run: Run = run) -> list[np.ndarray]:
            side = Side(made, run, torch)
            for step in range(len(run.grads)):
                side.step(step)
            return side.found()

        def theirs(torch: Any, by_class: Any = by_class) -> list[np.ndarray]:
            with in_double(torch):
                return by_class(torch)

        expected = pytorch(theirs)
        with np.errstate(all="ignore"):
            ways = [by_class(None), by_functions(made, run), *([by_functions(made, run, fg.jit)] if seed < 2 else [])]
        for x, y in ((x, y) for found in ways for x, y in zip(found, expected, strict=True)):
            np.testing.assert_array_equal(np.isfinite(x), np.isfinite(y), err_msg=f"seed {seed}: {run.groups}")
            np.testing.assert_allclose(np.asarray(x)[np.isfinite(y)], y[np.isfinite(y)], rtol=1e-9, atol=1e-10)


# SGD requires a learning rate, as PyTorch's did before version 2.
@pytest.mark.parametrize("name", [name for name in FAMILY if name != "SGD"])
def test_signatures_are_pytorchs(name: str, pytorch: PyTorch) -> None:
    def plain(default: Any) -> Any:
        if default is inspect.Parameter.empty:
            return "required"
        return list(default) if isinstance(default, tuple) else default

    def parameters(cls: Any) -> list[list[Any]]:
        return [[x.name, x.kind.name, plain(x.default)] for x in inspect.signature(cls).parameters.values()]

    made = FAMILY[name]
    ours = [x for x in parameters(made.cls) if x[0] not in made.rule.torch.beyond]
    assert ours == pytorch(lambda torch: parameters(class_of(torch, made)))
