"""Every optimizer that is read off its rule: the same numbers on every way of stepping, and golden ones."""

from __future__ import annotations

import doctest
import pickle
from pathlib import Path
from typing import Any

import jax
import numpy as np
import optax
import pytest

import funcgrad as fg
from funcgrad.autograd import tensor
from funcgrad.errors import HyperparameterError
from funcgrad.sparse import Rows
from tests._recorded import read_golden
from tests.optim._family import FAMILY, Run, by_functions, drawn, groups_of, is_matrices
from tests.optim._sides import GOLDEN, golden_runs, own, tolerance

every = pytest.mark.parametrize("name", FAMILY)


@every
def test_golden_numbers(name: str) -> None:
    """PyTorch's numbers, where PyTorch is not there; `tests/optim/make_golden_family.py` writes them."""
    made, held = FAMILY[name], read_golden(GOLDEN)
    for i, run in enumerate(golden_runs(made)):
        found = np.concatenate([np.ravel(p) for p in by_functions(made, run)])
        np.testing.assert_allclose(found, held[f"{name} {i}"], **tolerance(made, np.float64), err_msg=str(run.groups))


def steady(run: Run) -> Run:
    """With the same gradients missing in each step: what is missing is structure, and compiled anew."""
    grads = [[None if last is None else g for g, last in zip(gs, run.grads[-1], strict=True)] for gs in run.grads[-3:]]
    filled = [[last if g is None else g for g, last in zip(gs, run.grads[-1], strict=True)] for gs in grads]
    return Run(run.groups, run.constructor, run.starts, filled, run.lrs, 1)


@every
def test_all_ways_of_stepping_are_one(name: str) -> None:
    """Functions on NumPy and JAX arrays, compiled, packed and each alone, and the class on JAX's values."""
    made = FAMILY[name]
    run = steady(drawn(made, 3))
    expected = by_functions(made, run)
    with jax.enable_x64(True):
        ways = {
            "each alone": by_functions(made, run, foreach=False),
            "packed": by_functions(made, run, foreach=True),
            "jit, packed": by_functions(made, run, fg.jit, foreach=True),
            "jit numpy": by_functions(made, run, lambda f: fg.jit(f, engine="numpy")),
            "donated": by_functions(made, run, lambda f: fg.jit(f, donate_argnums=(1, 2)), convert=jax.numpy.array),
        }
        foreign = [[tensor(jax.numpy.asarray(p), requires_grad=True) for p in group] for group in run.starts]
        optimizer = made.cls(groups_of(run, foreign), **run.constructor)
        for step, grads in enumerate(run.grads):
            if step == run.saved_at:
                for group, lr in zip(optimizer.param_groups, run.lrs, strict=True):
                    group["lr"] = lr
            optimizer.step(grads=grads)
        ways["class, JAX"] = [np.asarray(p.detach()._value) for group in foreign for p in group]
    scale: dict[str, Any] = {"rtol": 0.02, "atol": 0.02} if made.rule.name == "muon" else {"rtol": 1e-12, "atol": 1e-13}
    for way, found in ways.items():
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_allclose(x, y, **scale, err_msg=way)


BESIDE_OPTAX: dict[str, Any] = {
    "Adam": (optax.adam(0.01, b1=0.8, b2=0.99, eps=1e-6), {"lr": 0.01, "betas": (0.8, 0.99), "eps": 1e-6}),
    "AdamW": (optax.adamw(0.01, weight_decay=0.1), {"lr": 0.01, "weight_decay": 0.1}),
    "RMSprop": (
        optax.rmsprop(0.01, 0.9, centered=True, momentum=0.5, eps_in_sqrt=False),
        {"lr": 0.01, "alpha": 0.9, "centered": True, "momentum": 0.5},
    ),
    "Adamax": (optax.adamax(0.01, 0.8, 0.99), {"lr": 0.01, "betas": (0.8, 0.99)}),
    "Adadelta": (optax.adadelta(0.5, 0.8), {"lr": 0.5, "rho": 0.8}),
    "Lion": (optax.lion(0.01, 0.9, 0.95, weight_decay=0.1), {"lr": 0.01, "betas": (0.9, 0.95), "weight_decay": 0.1}),
}


@pytest.mark.parametrize("name", BESIDE_OPTAX)
def test_optax_has_these_numbers(name: str) -> None:
    made, (theirs, options) = FAMILY[name], BESIDE_OPTAX[name]
    rng = np.random.default_rng(0)
    params: Any = {"w": rng.standard_normal((3, 4)).astype(np.float32), "b": np.ones(3, np.float32)}
    expected, held, state = params, theirs.init(params), made.init(params, **options)
    for _ in range(20):
        grads = jax.tree.map(lambda p: rng.standard_normal(p.shape).astype(np.float32), params)
        params, state = made.update(grads, state, params)
        changes, held = theirs.update(grads, held, expected)
        expected = optax.apply_updates(expected, changes)
    for x, y in zip(jax.tree.leaves(params), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-6, atol=1e-6)


@every
def test_complex_parameters_are_pairs_of_real_ones(name: str) -> None:
    made = FAMILY[name]
    run = drawn(made, 5, np.complex128)
    if made.rule.refusal is not None:
        with pytest.raises((HyperparameterError, RuntimeError), match=r"not support complex parameters"):
            by_functions(made, run)
        return
    expected = by_functions(made, run)
    halves = [_part(run, part) for part in (np.real, np.imag)]
    for x, a, b in zip(expected, *[by_functions(made, half) for half in halves], strict=True):
        np.testing.assert_array_equal(x, a + 1j * b)
    run = steady(run)
    expected = by_functions(made, run)
    for transform in (fg.jit, lambda f: fg.jit(f, engine="numpy")):
        for x, y in zip(by_functions(made, run, transform), expected, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-13)


def _part(run: Run, part: Any) -> Run:
    starts = [[np.asarray(part(p)) for p in group] for group in run.starts]
    grads = [[None if g is None else part(g) for g in gs] for gs in run.grads]
    return Run(run.groups, run.constructor, starts, grads, run.lrs, run.saved_at)


def _cast(g: Any, dtype: Any) -> Any:
    return g if g is None else jax.tree.map(lambda x: x.astype(dtype) if x.dtype.kind != "i" else x, g)


@every
@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_narrow_parameters_and_their_master_copies(name: str, dtype: str) -> None:
    made = FAMILY[name]
    run = drawn(made, 8, np.float32)
    narrow = np.dtype(dtype) if dtype == "float16" else jax.numpy.dtype("bfloat16")
    starts = [[p.astype(narrow) for p in group] for group in run.starts]
    grads: Any = [[_cast(g, narrow) for g in gs] for gs in run.grads]
    half = Run(run.groups, run.constructor, starts, grads, run.lrs, run.saved_at)
    wide: Any = [[_cast(g, np.float32) for g in gs] for gs in grads]
    wide_starts = [[p.astype(np.float32) for p in group] for group in starts]
    exact = Run(run.groups, run.constructor, wide_starts, wide, run.lrs, run.saved_at)
    found, expected = by_functions(made, half, master_dtype="float32"), by_functions(made, exact)
    for x, y in zip(found, expected, strict=True):
        assert x.dtype == narrow
        np.testing.assert_array_equal(x, y.astype(narrow))
    assert all(x.dtype == narrow for x in by_functions(made, half))


@every
def test_nothing_that_is_given_changes(name: str) -> None:
    made = FAMILY[name]
    run = drawn(made, 3)
    grads = [own(g) for g in run.grads[1]]
    params = [p for group in run.starts for p in group]
    state = made.init(params, **made.required)
    before = pickle.dumps((params, grads, state.slots, state.taken, state.numbers))
    made.update(grads, state, params)
    assert pickle.dumps((params, grads, state.slots, state.taken, state.numbers)) == before


@every
def test_learning_rates_change_without_compilation(name: str) -> None:
    made = FAMILY[name]
    run = drawn(made, 3)
    traced = []

    def update(*args: Any) -> Any:
        traced.append(1)
        return made.update(*args)

    step = fg.jit(update)
    params: Any = [p for group in run.starts for p in group]
    grads = [g if g is not None else np.zeros_like(p) for g, p in zip(run.grads[0], params, strict=True)]
    if made.rule.dense is not None:
        grads = [g if type(g) is Rows else Rows(np.array([0]), g[:1], g.shape) for g in grads]
    state = made.init(params, learning_rate=0.1)
    for i in range(100):
        params, state = step(grads, state.replace(lr=0.1 / (i + 1)), params)
    assert len(traced) == 1
    assert int(state.step) == 100


@every
def test_the_state_survives_pickling_and_has_its_names(name: str) -> None:
    made = FAMILY[name]
    run = drawn(made, 3)
    params = [p for group in run.starts for p in group]
    _, state = made.update(run.grads[1], made.init(params, **made.required), params)
    again = pickle.loads(pickle.dumps(state))
    assert fg.tree.structure(again) == fg.tree.structure(state)
    assert type(again) is made.state
    for slot in made.rule.slots:
        np.testing.assert_equal(*[getattr(x, slot.attribute or slot.name) for x in (again, state)])
    for option, parts in made.rule.options.items():
        values = tuple(0.5 * float(getattr(state, part)) for part in parts)
        assert option != "etas" or values[1] < 1
        if option != "etas":
            assert getattr(state.replace(**{option: values}), option) == values
    optimizer = made.cls(params, **made.required)
    assert type(pickle.loads(pickle.dumps(optimizer))) is made.cls


@every
def test_the_examples_run(name: str) -> None:
    made = FAMILY[name]
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for x in (made.init, made.update, made.cls):
        for test in doctest.DocTestFinder(recurse=False).find(x, x.__name__, globs={}):
            assert test.examples
            assert runner.run(test).failed == 0
    assert not any(x.about == "" for x in made.rule.hyperparameters if x.name not in made.rule.fixed)


@every
def test_the_page_has_its_formula_and_source(name: str) -> None:
    rule = FAMILY[name].rule
    page = (Path(__file__).parents[2] / "docs" / "optimizers.md").read_text()
    section = page.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    assert f"```\n{rule.formula.strip()}\n```" in section
    assert rule.source.replace("``", "`") in " ".join(section.split())


@every
def test_it_goes_downhill(name: str) -> None:
    """On a bowl, and on Rosenbrock's function."""
    made = FAMILY[name]
    size = (2, 2) if is_matrices(made) else (2,)

    def bowl(x: Any) -> Any:
        return np.sum(np.array([1.0, 5.0]) * x**2)

    def rosenbrock(x: Any) -> Any:
        flat = x.reshape(-1)
        return (1 - flat[0]) ** 2 + 100 * (flat[1] - flat[0] ** 2) ** 2

    for f in (bowl, rosenbrock):
        params = np.broadcast_to(np.array([-1.2, 1.0]), size).copy()
        start, gradient = f(params), fg.grad(f)
        state = made.init(params, lr=0.002)
        for _ in range(300):
            g = gradient(params)
            g = Rows(np.arange(2), g, g.shape) if made.rule.dense is not None else g
            params, state = made.update(g, state, params)
        assert f(params) < start, f.__name__
