"""Every optimizer that is read off its rule: PyTorch's numbers, refusals and checkpoints, on every way of stepping."""

from __future__ import annotations

import copy
import doctest
import inspect
import os
import pickle
from importlib import import_module
from pathlib import Path
from typing import Any

import jax
import numpy as np
import optax
import pytest

import funcgrad as fg
from funcgrad.autograd import tensor
from funcgrad.errors import HyperparameterError
from funcgrad.interop.torch import from_torch, to_torch
from funcgrad.sparse import Rows
from tests.optim._family import FAMILY, STEPS, Made, Run, by_functions, drawn, groups_of, is_matrices

# How many random runs there are of each optimizer.
RUNS = int(os.environ.get("FUNCGRAD_OPTIMIZER_RUNS", "12"))
GOLDEN = Path(__file__).with_name("golden_family.npz")
DTYPES = (np.float64, np.float32, np.complex128, np.complex64)
every = pytest.mark.parametrize("name", FAMILY)


def tolerance(made: Made, dtype: Any) -> dict[str, Any]:
    """Beside PyTorch's kernels, which round in other places; Muon's products are of bfloat16 there and here."""
    if made.rule.name == "muon":
        return {"rtol": 0.01, "atol": 0.01}
    wide = np.dtype(dtype).itemsize // (2 if np.dtype(dtype).kind == "c" else 1) == 8
    if made.rule.name == "sparse_adam" and not wide:
        # PyTorch makes the average of squares as ``old + (1 - beta2) * (new - old)``, which loses what is small beside
        # the old.
        return {"rtol": 5e-3, "atol": 5e-3}
    return {"rtol": 1e-10, "atol": 1e-11} if wide else {"rtol": 2e-4, "atol": 2e-5}


def dtype_of(made: Made, seed: int) -> Any:
    real_only = made.rule.fits is not None
    return DTYPES[seed % (2 if real_only else 4)]


@pytest.fixture
def torch() -> Any:
    """PyTorch, with scalars of its states in double precision, as ours are."""
    module = pytest.importorskip("torch")
    before = module.get_default_dtype()
    module.set_default_dtype(module.float64)
    yield module
    module.set_default_dtype(before)


def class_of(torch: Any, made: Made) -> Any:
    """PyTorch's class; of what it lacks, the formula as a class of its kind."""
    if hasattr(torch.optim, made.cls.__name__):
        return getattr(torch.optim, made.cls.__name__)
    return import_module("tests.optim._in_torch").CLASSES[made.cls.__name__]


class Side:
    """An optimizer of one library that takes the steps of a run."""

    def __init__(self, made: Made, run: Run, torch: Any) -> None:
        self.torch = torch
        self.run = run
        cls = made.cls if torch is None else class_of(torch, made)
        make = _leaf if torch is None else lambda p: torch.tensor(p).requires_grad_()
        self.params = [[make(p) for p in group] for group in run.starts]
        self.optimizer = cls(groups_of(run, self.params), **run.constructor)

    def step(self, step: int) -> None:
        if step == self.run.saved_at:
            for group, lr in zip(self.optimizer.param_groups, self.run.lrs, strict=True):
                group["lr"] = lr
        grads = self.run.grads[step]
        if self.torch is None:
            self.optimizer.step(grads=[_own(g) for g in grads])
            return
        for p, g in zip([p for group in self.params for p in group], grads, strict=True):
            p.grad = None if g is None else self._gradient(g)
        self.optimizer.step()

    def _gradient(self, g: Any) -> Any:
        if type(g) is Rows:
            values = self.torch.tensor(g.values)
            return self.torch.sparse_coo_tensor(g.indices[None], values, g.shape, check_invariants=True)
        return self.torch.tensor(g)

    def take(self, other: Side) -> None:
        """Go on with what another has saved."""
        saved = copy.deepcopy(other.optimizer.state_dict())
        self.optimizer.load_state_dict(saved if self.torch is None else to_torch(saved))
        values = zip(self.params, other.params, strict=True)
        for mine, theirs in ((x, y) for pair in values for x, y in zip(*pair, strict=True)):
            array = np.array(theirs.detach().numpy())
            mine.data = self.torch.tensor(array) if self.torch is not None else tensor(array)

    def found(self) -> list[np.ndarray]:
        return [p.detach().numpy() for group in self.params for p in group]


def _leaf(p: np.ndarray) -> Any:
    return tensor(p.copy(), requires_grad=True)


def _own(g: Any) -> Any:
    return g.copy() if isinstance(g, np.ndarray) else g


def assert_close(found: list[Any], expected: list[Any], made: Made, dtype: Any, why: str = "") -> None:
    for x, y in zip(found, expected, strict=True):
        assert np.asarray(x).dtype == np.asarray(y).dtype == dtype, why
        np.testing.assert_allclose(x, y, **tolerance(made, dtype), err_msg=why)


@every
def test_random_runs_beside_pytorch(name: str, torch: Any) -> None:
    """Options, groups, missing gradients and dtypes; and in mid-run each library takes over from the other."""
    made = FAMILY[name]
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


@every
def test_signatures_are_pytorchs(name: str, torch: Any) -> None:
    made = FAMILY[name]
    mine = inspect.signature(made.cls).parameters
    theirs = inspect.signature(class_of(torch, made)).parameters
    assert [(x.name, x.kind, x.default) for x in mine.values()] == [
        (x.name, x.kind, x.default) for x in theirs.values()
    ]


def table(name: str, kind: str) -> list[Any]:
    common = import_module("torch.testing._internal.common_optimizers")
    torch = import_module("torch")
    return getattr(common, f"optim_{kind}_func_{name.lower()}", lambda *_: [])("cpu", torch.float64)


@every
def test_pytorchs_own_inputs(name: str, torch: Any) -> None:
    made = FAMILY[name]
    whole = drawn(made, 0)
    starts, grads = whole.starts[:1], [gs[: len(whole.starts[0])] for gs in whole.grads]
    inputs = table(name, "inputs")
    assert inputs or not hasattr(torch.optim, name)
    for given in inputs:
        mine = Side(made, Run([{}], from_torch(given.kwargs), starts, grads, [0.1], 3), None)
        theirs = Side(made, Run([{}], given.kwargs, starts, grads, [0.1], 3), torch)
        for step in range(STEPS):
            mine.step(step)
            theirs.step(step)
        assert_close(mine.found(), theirs.found(), made, np.float64, given.desc)


@every
def test_pytorchs_own_errors(name: str, torch: Any) -> None:
    made = FAMILY[name]
    for error in table(name, "error_inputs"):
        given = error.optimizer_error_input
        start = np.ones((2, 2)) if is_matrices(made) else np.ones(2)
        if "dense parameter tensors" in error.error_regex:
            # Our tensors are dense.
            continue
        params = [tensor(start, requires_grad=True)] if given.params is None else from_torch(given.params)
        if error.error_type is UserWarning:
            with pytest.warns(UserWarning, match=error.error_regex):
                made.cls(params, **from_torch(given.kwargs))
            continue
        with pytest.raises(error.error_type, match=error.error_regex):
            _made_and_stepped(made, params, from_torch(given.kwargs))


def _made_and_stepped(made: Made, params: Any, options: dict[str, Any]) -> None:
    """Some refusals are those of a step."""
    optimizer = made.cls(params, **options)
    for p in params:
        p.grad = p.detach()
    optimizer.step()


def golden_runs(made: Made) -> list[Run]:
    return [drawn(made, 1000 + i) for i in range(6)]


@every
def test_golden_numbers(name: str) -> None:
    """PyTorch's numbers, where PyTorch is not there; `tests/optim/make_golden_family.py` writes them."""
    made, held = FAMILY[name], np.load(GOLDEN)
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
        ways["class, JAX"] = [np.asarray(p.detach().value) for group in foreign for p in group]
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
    if made.rule.fits is not None:
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
    grads = [_own(g) for g in run.grads[1]]
    params = [p for group in run.starts for p in group]
    state = made.init(params)
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
    _, state = made.update(run.grads[1], made.init(params), params)
    again = pickle.loads(pickle.dumps(state))
    assert fg.tree.structure(again) == fg.tree.structure(state)
    assert type(again) is made.state
    for slot in made.rule.slots:
        np.testing.assert_equal(getattr(again, slot.name), getattr(state, slot.name))
    for option, parts in made.rule.options.items():
        values = tuple(0.5 * float(getattr(state, part)) for part in parts)
        assert option != "etas" or values[1] < 1
        if option != "etas":
            assert getattr(state.replace(**{option: values}), option) == values
    optimizer = made.cls(params)
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
