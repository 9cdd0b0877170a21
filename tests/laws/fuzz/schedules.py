"""Random schedules of SGD: PyTorch's class, ours, and the pure rule, packed and compiled or not, step by step."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

import funcgrad as fg
from funcgrad.autograd import tensor
from funcgrad.optim import SGD
from tests.laws.fuzz.check import Report
from tests.laws.fuzz.faulty import judged

SHAPES = ((), (1,), (3,), (2, 2), (0, 2), (4, 1))
Options = dict[str, Any]


@dataclass(frozen=True)
class Schedule:
    """Groups of shapes with options. For each step the changed options, and the leaves without gradient."""

    seed: int
    dtype: str
    shapes: tuple[tuple[tuple[int, ...], ...], ...]
    options: tuple[Options, ...]
    changes: tuple[tuple[Options, ...], ...]
    missing: tuple[frozenset[int], ...]
    form: str
    restart: int

    def text(self) -> str:
        return f"# tests.laws.fuzz.schedules.schedule_of({self.seed})\n{self}"


def _options(rng: Random) -> Options:
    momentum = rng.choice((0, 0.0, 0.5, 0.9))
    nesterov = momentum > 0 and rng.random() < 0.3
    return {
        "lr": rng.choice((0.1, 0.01, 1, 0.0)),
        "momentum": momentum,
        "dampening": 0 if nesterov else rng.choice((0, 0.3, 1.0)),
        "weight_decay": rng.choice((0, 0, 0.1)),
        "nesterov": nesterov,
        "maximize": rng.random() < 0.3,
    }


def _change(rng: Random) -> Options:
    """Changes that a training loop makes between two steps: numbers, and no structure."""
    return {"lr": rng.choice((0.1, 0.05, 0.5))} if rng.random() < 0.5 else {}


def schedule_of(seed: int) -> Schedule:
    rng = Random(seed)
    shapes = tuple(tuple(rng.choice(SHAPES) for _ in range(rng.randint(1, 3))) for _ in range(rng.randint(1, 3)))
    count, steps = sum(map(len, shapes)), rng.randint(1, 7)
    return Schedule(
        seed,
        rng.choice(("float64", "float64", "float32", "complex128")),
        shapes,
        tuple(_options(rng) for _ in shapes),
        tuple(tuple(_change(rng) for _ in shapes) for _ in range(steps)),
        tuple(
            frozenset(i for i in range(count) if rng.random() < rng.choice((0.0, 0.0, 0.3, 1.0))) for _ in range(steps)
        ),
        rng.choice(("class", "class", "pure", "pure", "foreach", "jit numpy", "packed"))
        if rng.random() > 0.02
        else "jit",
        rng.choice((99, 99, 1, 3)),
    )


def _numbers(s: Schedule) -> tuple[list[np.ndarray], list[list[np.ndarray | None]]]:
    rng = np.random.default_rng(s.seed)
    flat = [shape for group in s.shapes for shape in group]

    def draw(shape: tuple[int, ...]) -> np.ndarray:
        x = rng.standard_normal(shape) + (1j * rng.standard_normal(shape) if "complex" in s.dtype else 0)
        return np.asarray(x).astype(s.dtype)

    return [draw(shape) for shape in flat], [
        [None if i in gone else draw(x) for i, x in enumerate(flat)] for gone in s.missing
    ]


def _by_class(s: Schedule, make: Any, sgd: Any, ours: bool) -> tuple[list[list[np.ndarray]], list[str]]:
    start, grads = _numbers(s)
    params = [make(x.copy()).requires_grad_() for x in start]
    rest = iter(params)
    groups = [{"params": [next(rest) for _ in shapes], **o} for shapes, o in zip(s.shapes, s.options, strict=True)]
    optimizer = sgd([dict(g) for g in groups], lr=0.1)
    rows, wrong = [], []
    for k, (changes, row) in enumerate(zip(s.changes, grads, strict=True)):
        if k == s.restart:
            saved = optimizer.state_dict()
            optimizer = sgd([dict(g) for g in groups], lr=0.1)
            optimizer.load_state_dict(saved)
        for group, change in zip(optimizer.param_groups, changes, strict=True):
            group.update(change)
        given = [None if g is None else g.copy() for g in row]
        for p, g in zip(params, given, strict=True):
            p.grad = None if g is None else make(g)
        before = [None if p.grad is None else np.array(p.grad.numpy()) for p in params]
        optimizer.step()
        if ours:
            wrong += _unharmed(k, params, before, optimizer)
        rows.append([np.array(p.detach().numpy()) for p in params])
    return rows, wrong


def _unharmed(step: int, params: list[Any], before: list[Any], optimizer: Any) -> list[str]:
    """A step leaves gradients unchanged, and keeps none of their memory."""
    wrong = []
    buffers = [optimizer.state[p].get("momentum_buffer") for p in params]
    for i, (p, g) in enumerate(zip(params, before, strict=True)):
        if g is not None and not np.array_equal(np.asarray(p.grad.numpy()), g):
            wrong.append(f"gradient changed: of parameter {i} in step {step}")
        for name, x in (("buffer", buffers[i]), ("parameter", p)):
            if (
                g is not None
                and x is not None
                and np.shares_memory(np.asarray(x.detach().numpy()), np.asarray(p.grad.numpy()))
            ):
                wrong.append(f"alias: {name} {i} shares memory with its gradient after step {step}")
    return wrong


def _purely(s: Schedule) -> tuple[list[list[np.ndarray]], list[str]]:
    """Run ``sgd_update`` over a tree of the groups. Each option is a prefix tree."""
    start, grads = _numbers(s)
    treedef = fg.tree.structure(tuple(tuple(0 for _ in shapes) for shapes in s.shapes))
    params = fg.tree.unflatten(treedef, [x.copy() for x in start])
    names = s.options[0]
    prefixes = {name: _prefix([o[name] for o in s.options]) for name in names}
    foreach = {"foreach": True, "packed": True}.get(s.form)
    state = fg.sgd_init(params, foreach=foreach, **prefixes)
    update = {"jit": fg.jit(fg.sgd_update), "jit numpy": fg.jit(fg.sgd_update, engine="numpy")}.get(
        s.form, fg.sgd_update
    )
    rates = [o["lr"] for o in s.options]
    rows, wrong = [], []
    for k, (changes, row) in enumerate(zip(s.changes, grads, strict=True)):
        if any(changes):
            rates = [change.get("lr", rate) for change, rate in zip(changes, rates, strict=True)]
            state = state.replace(lr=_prefix(rates))
        given = fg.tree.unflatten(treedef, row)
        kept = [np.array(x) for x in fg.tree.leaves((params, given, state))]
        new, newer = update(given, state, params)
        if any(
            not np.array_equal(x, np.asarray(y))
            for x, y in zip(kept, fg.tree.leaves((params, given, state)), strict=True)
        ):
            wrong.append(f"input changed: step {k}")
        params, state = new, newer
        rows.append([np.array(x) for x in fg.tree.leaves(params)])
    return rows, wrong


def _prefix(values: list[Any]) -> Any:
    return values[0] if len({(type(v), v) for v in values}) == 1 else tuple(values)


def findings(s: Schedule, report: Report) -> list[str]:
    """Return the difference between our run and PyTorch's, or between the pure rule and the class."""
    report.programs += 1
    report.checks["schedules"] += 1
    try:
        got, wrong = _by_class(s, tensor, SGD, True) if s.form == "class" else _purely(s)
        expected, _ = _expected(s)
    except Exception as error:  # noqa: BLE001  (what is raised is what is looked at)
        refusal, bad = judged(error)
        report.refusals["schedules", refusal.error, f"{refusal.place} {refusal.text[:60]}"] += not bad
        return [f"raised {refusal.error} in {refusal.place}: {refusal.text}"] if bad else []
    for k, (row, other) in enumerate(zip(got, expected, strict=True)):
        for i, (x, y) in enumerate(zip(row, other, strict=True)):
            tolerance = 1e-5 if s.dtype == "float32" else 1e-12
            if x.dtype != y.dtype or x.shape != y.shape or not np.allclose(x, y, tolerance, tolerance):
                return [*wrong, f"value: parameter {i} after step {k}: {x}, expected {y} ({s.form})"]
    return wrong


def _expected(s: Schedule) -> Any:
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return _by_class(s, tensor, SGD, False)
    return _by_class(s, torch.tensor, torch.optim.SGD, False)
