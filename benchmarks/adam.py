"""One step of Adam and AdamW (float32) on large, usual and many small parameters, compiled and in place on NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import optax
import torch

import funcgrad as fg
from benchmarks._resnet import resnet50_shapes
from benchmarks._timing import Case, Effort, Suite, interleave
from benchmarks.sgd import Shapes, _arrays, _flat, _jitted, _on_device, _optax_update
from funcgrad import optim
from funcgrad.autograd import tensor

OPTIONS: dict[str, Any] = {"lr": 1e-3, "betas": (0.9, 0.999), "eps": 1e-8}
DECAYED = {**OPTIONS, "weight_decay": 0.01}
OURS, IN_PLACE = "funcgrad", "funcgrad on NumPy, in place"


def _ours(name: str, options: dict[str, Any], shapes: Shapes, *, packed: bool) -> Callable[[], Any]:
    params, grads = _on_device(shapes, 0), _on_device(shapes, 1)
    if packed:
        params, grads = fg.tree.ravel(params), fg.tree.ravel(grads)
    init, update = getattr(optim, f"{name}_init"), getattr(optim, f"{name}_update")
    return _jitted(fg.jit(lambda *args: update(*args), donate_argnums=(1, 2)), grads, init(params, **options), params)


def _in_place(cls: Any, options: dict[str, Any], shapes: Shapes) -> Callable[[], Any]:
    params = [tensor(x, requires_grad=True) for x in _arrays(shapes, 0)]
    for p, g in zip(params, _arrays(shapes, 1), strict=True):
        p.grad = tensor(g)
    optimizer = cls(params, **options)

    def step() -> Any:
        optimizer.step()
        return [p.detach().numpy() for p in params]

    return step


def _torch(cls: Any, options: dict[str, Any], shapes: Shapes, **kind: bool) -> Callable[[], Any]:
    params = [torch.tensor(x, requires_grad=True) for x in _arrays(shapes, 0)]
    for p, g in zip(params, _arrays(shapes, 1), strict=True):
        p.grad = torch.tensor(g)
    optimizer = cls(params, **options, **kind)

    def step() -> Any:
        optimizer.step()
        return params

    return step


def _optax(name: str, options: dict[str, Any], shapes: Shapes) -> Callable[[], Any]:
    others = {"weight_decay": options["weight_decay"]} if name == "adamw" else {}
    optimizer = getattr(optax, name)(options["lr"], **others)
    params = _on_device(shapes, 0)
    return _jitted(_optax_update(optimizer), _on_device(shapes, 1), optimizer.init(params), params)


def measure(name: str, shapes: Shapes, limits: dict[str, float], suite: Suite, effort: Effort) -> None:
    """See that all contenders take the same three steps, then time them: what is compiled, and what is in place."""
    many = len(shapes) >= 1000
    for rule, options in (("adam", OPTIONS), ("adamw", DECAYED)):
        title = {"adam": "Adam", "adamw": "AdamW"}[rule]
        theirs = getattr(torch.optim, title)
        steps = {
            OURS: _ours(rule, options, shapes, packed=many),
            "optax": _optax(rule, options, shapes),
            "torch fused": _torch(theirs, options, shapes, fused=True),
            "torch foreach": _torch(theirs, options, shapes, foreach=True),
            IN_PLACE: _in_place(getattr(optim, title), options, shapes),
        }
        results: dict[str, np.ndarray] = {}
        for _ in range(3):
            results = {contender: _flat(step()) for contender, step in steps.items()}
        for found in results.values():
            np.testing.assert_allclose(found, results["torch fused"], rtol=1e-4, atol=1e-5)
        samples = interleave(steps, effort.at_most(30 if many else 12))
        suite.cases.append(Case(f"{title}: {name}", samples, ours=OURS, limits=limits))
        if not many:
            held = {contender: samples[contender] for contender in (IN_PLACE, "torch fused", "torch foreach")}
            suite.cases.append(Case(f"{title}, in place: {name}", held, ours=IN_PLACE, limits={"torch fused": 1.15}))


def measure_small(suite: Suite, effort: Effort) -> None:
    """A step of the class on the parameters of ``Linear(5, 2)``."""
    shapes = [(2, 5), (2,)]
    steps = {OURS: _in_place(optim.Adam, OPTIONS, shapes), "torch": _torch(torch.optim.Adam, OPTIONS, shapes)}
    suite.cases.append(Case("Adam.step of Linear(5, 2)", interleave(steps, effort), ours=OURS, limits={"torch": 0.5}))


CASES: dict[str, Callable[[Suite, Effort], None]] = {
    "16 M in one leaf": lambda suite, effort: measure(
        "one leaf of 16 M", [(16_000_000,)], {"optax": 0.95}, suite, effort
    ),
    "ResNet-50": lambda suite, effort: measure(
        "ResNet-50, 161 tensors", resnet50_shapes(), {"optax": 0.95}, suite, effort
    ),
    "1,000 small": lambda suite, effort: measure(
        "1,000 tensors of 1,000", [(1000,)] * 1000, {"optax": 0.1, "torch fused": 0.3}, suite, effort
    ),
    "Linear(5, 2)": measure_small,
}
