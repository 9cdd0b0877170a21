"""Rules whose step does not do what the record declares are refused by name; what is accepted is the step by hand."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import RuleError
from funcgrad.extend import Number, Rule, Slot, optimizer
from funcgrad.optim._rules.sgd import SGD_RULE
from funcgrad.optim._run.program import Program
from funcgrad.optim._torch import family

LR = Number("lr", 0.1)
MOMENTUM = Slot("m", "m")
COUNT = Slot("n", "n", scalar=True)
PARAMS = (np.array([1.0, 2.0, 3.0]), np.linspace(-1, 1, 6).reshape(2, 3))
GRADS = (np.array([0.5, -3.0, 1.0]), np.arange(6.0).reshape(2, 3))
CONSTANT = np.array([1.0, 2.0])

Step = Callable[[Any, Any, Any, Any, Any], Any]


def clipped(p: Any, g: Any, slots: Any, hyper: Any, t: Any) -> Any:
    d = g * 1.0
    d[np.abs(d) > 1] = 0.0
    return p - hyper.lr * d, {}


def in_place(p: Any, g: Any, slots: Any, hyper: Any, t: Any) -> Any:
    p -= hyper.lr * g
    slots["m"][...] = p
    return p, slots


def branch_on_shape(p: Any, g: Any, slots: Any, hyper: Any, t: Any) -> Any:
    return (p - hyper.lr * g if p.ndim < 2 else p), {}


ACCEPTED: dict[str, tuple[Step, tuple[Slot, ...], dict[str, Any]]] = {
    "a write by a mask": (clipped, (), {}),
    "writes to parameter and slot": (in_place, (MOMENTUM,), {}),
    "arrays of one number": (
        lambda p, g, s, h, t: (p - h.lr * (g + np.full(p.shape, 2.0) + np.zeros(p.shape) + np.ones_like(g)), {}),
        (),
        {},
    ),
    "results of one number": (
        lambda p, g, s, h, t: (np.full(p.shape, -0.0) * h.lr, {"m": np.zeros(p.shape)}),
        (MOMENTUM,),
        {},
    ),
    "a number repeated": (lambda p, g, s, h, t: (p - np.broadcast_to(h.lr, p.shape) * g, {}), (), {}),
    "flat and back": (
        lambda p, g, s, h, t: ((p.ravel() - h.lr * g.ravel() * p.flatten()).reshape(p.shape), {}),
        (),
        {},
    ),
    "a loop of Python": (lambda p, g, s, h, t: (sum((np.sin(g) * k for k in range(4)), p), {}), (), {}),
    "the number of the step alone": (
        lambda p, g, s, h, t: (p - g / t, {}),
        (),
        {"counts": lambda hyper: True},
    ),
    "a slot that is a number": (lambda p, g, s, h, t: (p - s["n"] * g, {"n": 2}), (COUNT,), {}),
    "the mean, declared": (lambda p, g, s, h, t: (p - h.lr * (g - np.mean(g)), {}), (), {"elementwise": False}),
    "the shape, declared": (branch_on_shape, (), {"elementwise": False}),
}

REFUSED: dict[str, tuple[Step, tuple[Slot, ...], str]] = {
    "the mean": (lambda p, g, s, h, t: (p - h.lr * (g - np.mean(g)), {}), (), r"reduce_sum in test_elementwise.py:\d"),
    "the norm": (lambda p, g, s, h, t: (p / np.linalg.norm(g), {}), (), "reduce_sum"),
    "a compiled mean": (lambda p, g, s, h, t: (p - fg.jit(np.mean)(g), {}), (), "reduce_sum"),
    "reversed": (lambda p, g, s, h, t: (p - h.lr * g[::-1], {}), (), "index in"),
    "sorted": (lambda p, g, s, h, t: (p - np.sort(g, axis=-1), {}), (), "sort in"),
    "summed up": (lambda p, g, s, h, t: (p - np.cumsum(g, axis=0), {}), (), "cumsum in"),
    "transposed": (lambda p, g, s, h, t: (p - g.T[...].T * p.T.T, {}), (), "transpose in"),
    "an outer product": (lambda p, g, s, h, t: (p - np.multiply.outer(g, g).max(), {}), (), "mul in"),
    "a function of NumPy's": (
        lambda p, g, s, h, t: (fg.call_numpy(np.flip, fg.ShapeDtype(p.shape, p.dtype), p), {}),
        (),
        "callback",
    ),
    "a compiled loop": (lambda p, g, s, h, t: (fg.fori_loop(0, 5, lambda i, x: x - g, p), {}), (), "scan in"),
    "an array from elsewhere": (lambda p, g, s, h, t: (p - g * CONSTANT, {}), (), "does not run on a parameter of"),
    "drawn arrays": (
        lambda p, g, s, h, t: (p - np.linspace(0, 1, p.size).reshape(p.shape) * g, {}),
        (),
        r"reads an array f64\[2\]",
    ),
    "the size": (lambda p, g, s, h, t: (p - g / p.size, {}), (), r"test_elementwise.py:\d+ computes something else"),
    "the rank": (branch_on_shape, (), "computes something else for a parameter"),
    "a drawn number": (
        lambda p, g, s, h, t: (p - next(NUMBERS) * g, {}),
        (),
        "or what changes from call to call",
    ),
    "another shape": (lambda p, g, s, h, t: (np.sum(p), {}), (), r"for p f64\[\]; needed f64\[2\]"),
    "another dtype": (lambda p, g, s, h, t: (p.astype(np.float32), {}), (), r"for p f32\[2\]; needed f64\[2\]"),
    "a condition": (lambda p, g, s, h, t: (p > g, {}), (), r"for p bool\[2\]"),
    "nothing": (lambda p, g, s, h, t: (None, {}), (), "for p a NoneType"),
    "a number for an array": (lambda p, g, s, h, t: (p, {"m": 0.0}), (MOMENTUM,), "slot 'm' f64"),
    "no pair": (lambda p, g, s, h, t: p - g, (), r"Return \(p, \{...\}\)"),
    "three": (lambda p, g, s, h, t: (p, {}, 1), (), "a tuple of .*dict, int"),
    "a forgotten slot": (lambda p, g, s, h, t: (p, {}), (MOMENTUM,), "slots without 'm'"),
    "an unknown slot": (lambda p, g, s, h, t: (p, {"q": p}), (), "slots with 'q'.*has no slots"),
    "to read an unknown slot": (lambda p, g, s, h, t: (p - s["q"], s), (MOMENTUM,), "reads slot 'q'.*has 'm'"),
    "an undeclared number of the step": (lambda p, g, s, h, t: (p - g / t, {}), (), "counts=lambda hyper: True"),
}
NUMBERS = itertools.count(1)


def declared(step: Step, slots: tuple[Slot, ...], **fields: Any) -> Any:
    return optimizer(Rule("own", (LR,), slots, step, **fields))


def by_hand(step: Step, slots: tuple[Slot, ...]) -> list[np.ndarray]:
    found = []
    for p, g in zip(PARAMS, GRADS, strict=True):
        held = {slot.name: 0.0 if slot.scalar else np.zeros_like(p) for slot in slots}
        new = p.copy()
        for t in (1.0, 2.0):
            new, held = step(new, g, held, SimpleNamespace(lr=0.1), t)
        found.append(new)
    return found


@pytest.mark.parametrize("engine", ["eager", "numpy", "xla", "numba"])
@pytest.mark.parametrize("name", ACCEPTED)
def test_an_accepted_step_gives_the_numbers_of_the_step_by_hand(name: str, engine: str) -> None:
    step, slots, fields = ACCEPTED[name]
    _, init, update, _ = declared(step, slots, **fields)
    if engine != "eager":
        update = fg.jit(update, engine=engine)
    params: Any = PARAMS
    state = init(params)
    for _ in range(2):
        params, state = update(GRADS, state, params)
    for p, expected in zip(params, by_hand(step, slots), strict=True):
        assert p.shape == expected.shape
        assert p.dtype == expected.dtype
        np.testing.assert_allclose(p, expected, rtol=1e-12)


@pytest.mark.parametrize("engine", ["eager", "numpy", "xla"])
@pytest.mark.parametrize("name", REFUSED)
def test_a_step_that_is_none_of_the_declared_is_refused_by_name(name: str, engine: str) -> None:
    step, slots, message = REFUSED[name]
    _, init, update, _ = declared(step, slots)
    if engine != "eager":
        update = fg.jit(update, engine=engine)
    with pytest.raises(RuleError, match=f"^own_update: .*{message}"):
        update(GRADS, init(PARAMS), PARAMS)


@pytest.mark.parametrize("name", ["another shape", "another dtype", "a forgotten slot", "no pair"])
def test_a_step_that_is_run_whole_returns_what_it_was_given(name: str) -> None:
    step, slots, _ = REFUSED[name]
    _, init, update, _ = declared(step, slots, elementwise=False)
    with pytest.raises(RuleError, match=r"^own_update: the step returned"):
        update(GRADS, init(PARAMS), PARAMS)


def test_the_class_refuses_too() -> None:
    step, slots, message = REFUSED["the mean"]
    made = declared(step, slots).optimizer(list(PARAMS), lr=0.1)
    with pytest.raises(RuleError, match=message):
        made.step(grads=list(GRADS))


RULES = {SGD_RULE.name: SGD_RULE, **{x.rule.name: x.rule for x in vars(family).values() if hasattr(x, "rule")}}


@pytest.mark.parametrize("name", RULES)
def test_our_rules_pass_with_each_term_on_and_off(name: str) -> None:
    rule = RULES[name]
    for on in itertools.product(*map(choices, rule.hyperparameters)):
        for first in {False, rule.begins}:
            made = Program(rule.structure(on), np.dtype(np.float32), first, (2, 2))
            assert [x.aval.shape for x in made.arrays.outputs] == [(2, 2)] * len(made.aliases)


def choices(x: Any) -> tuple[Any, ...]:
    """Return the values that a hyperparameter may have in a structure."""
    if type(x) is Number:
        return (True, None) if x.optional else (True,)
    return (False, True) if isinstance(x.default, bool) else (x.default,)
