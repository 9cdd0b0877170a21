"""Every optimizer that is read off its rule, on kinds of input and under transforms that a training loop rarely has."""

from __future__ import annotations

import copy
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import optim
from funcgrad._engines.source import flat
from funcgrad._engines.source.kernels import parallel
from funcgrad.autograd import tensor
from funcgrad.errors import HyperparameterError, SparseGradientError
from funcgrad.sparse import Rows
from tests.optim._family import FAMILY, Made, by_functions, drawn
from tests.optim._sides import tolerance

SHAPE = (3, 2)
every = pytest.mark.parametrize("name", FAMILY)


def gradient(made: Made, x: Any) -> Any:
    """An array, or what is there of it for a rule that takes rows alone."""
    return x if made.rule.dense is None else Rows(np.array([0, 2]), x[:2], x.shape)


def normal(seed: int, shape: tuple[int, ...] = SHAPE) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape)


@every
def test_vmap_is_a_loop(name: str) -> None:
    made = FAMILY[name]
    params, grads = normal(0, (4, *SHAPE)), normal(1, (4, *SHAPE))

    def run(g: Any, p: Any) -> Any:
        state = made.init(p, lr=0.1)
        for _ in range(2):
            p, state = made.update(gradient(made, g), state, p)
        return p

    expected = np.stack([run(g, p) for g, p in zip(grads, params, strict=True)])
    np.testing.assert_allclose(fg.vmap(run)(grads, params), expected, **tolerance(made, np.float64))


@every
def test_derivatives_go_through_steps(name: str) -> None:
    """Derivatives by learning rate, start and gradient, also through the class, recorded."""
    made = FAMILY[name]
    p, g = normal(0), normal(1)

    def loss(lr: Any, p: Any, g: Any) -> Any:
        state = made.init(p, lr=lr)
        for _ in range(2):
            p, state = made.update(gradient(made, g), state, p)
        return np.sum(p**2)

    if name != "Muon":
        # Its iterations are rounded to bfloat16: differences of them are noise.
        fg.check_grads(loss, (0.1, p, g), order=1)
    assert all(np.isfinite(x).all() for x in fg.grad(loss, (0, 1, 2))(0.1, p, g))
    if "differentiable" in made.cls.kept:
        start = tensor(p, requires_grad=True)
        w = start.clone()
        optimizer = made.cls([w], lr=0.1, differentiable=True)
        for _ in range(2):
            w.grad = tensor(g)
            optimizer.step()
        (w**2).sum().backward()
        np.testing.assert_allclose(start.grad.numpy(), fg.grad(loss, 1)(0.1, p, g))


@every
def test_memory_that_is_given(name: str) -> None:
    made = FAMILY[name]
    p, g = normal(0), gradient(made, normal(1))
    expected, state = made.update(g, made.init(p, lr=0.1), p)
    for place in (p.copy(), np.empty_like(p)):
        own = place.copy()
        old = made.init(p, lr=0.1)
        into = made.init(p, lr=0.1)
        start = place if np.array_equal(place, p) else p
        found, new = made.update(g, into if start is place else old, start, into=(place, into))
        assert found is place
        np.testing.assert_array_equal(found, expected)
        for x, y in zip(fg.tree.leaves(new.slots), fg.tree.leaves(state.slots), strict=True):
            np.testing.assert_array_equal(x, y)
        assert own.shape == p.shape


@every
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "complex64", ">f8", "strided"])
def test_the_class_steps_in_place_as_the_functions_do(name: str, dtype: str) -> None:
    made = FAMILY[name]
    if dtype == "complex64" and made.rule.refusal is not None:
        return
    kind = np.dtype(np.float64 if dtype == "strided" else jax.numpy.dtype(dtype))
    p = normal(0, (6, 4)).astype(kind)[::2, ::2] if dtype == "strided" else normal(0).astype(kind)
    g = gradient(made, normal(1).astype(kind))
    expected, state = p.copy(), made.init(p, lr=0.1)
    optimizer = made.cls([p], lr=0.1)
    for step in range(3):
        expected, state = made.update(g, state, expected)
        if step == 2:
            saved = copy.deepcopy(optimizer.state_dict())
            optimizer = made.cls([p], lr=99.0)
            optimizer.load_state_dict(saved)
        optimizer.step(grads=[g])
    assert p.dtype == kind
    np.testing.assert_array_equal(p, expected)


@every
def test_narrow_and_empty_parameters_compiled(name: str) -> None:
    made = FAMILY[name]
    p = normal(0).astype(np.float16)
    params: Any = [p] if made.rule.refusal is not None else [p, np.zeros((0, 2), np.float32), np.array(1.0)]
    grads = [gradient(made, p * 2) if x is p else x for x in params]
    for more in ({}, {"master_dtype": "float32"}):
        options = {**made.required, **more}
        expected, held = made.update(grads, made.init(params, **options), params)
        for engine in ("numpy", "xla"):
            found, state = fg.jit(made.update, engine=engine)(grads, made.init(params, **options), params)
            for x, y in zip(found, expected, strict=True):
                assert x.dtype == y.dtype
                np.testing.assert_allclose(np.asarray(x, float), np.asarray(y, float), rtol=2e-3, atol=2e-3)
            assert fg.tree.structure(state) == fg.tree.structure(held)


@pytest.mark.parametrize("name", [name for name, made in FAMILY.items() if made.rule.elementwise])
def test_kernels_compute_what_the_ufuncs_do(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("llvmlite")
    made = FAMILY[name]
    for seed in range(2):
        run = drawn(made, 20 + seed, np.float32)
        monkeypatch.setattr(flat, "kernels_usable", lambda: False)
        expected = by_functions(made, run, foreach=False)
        monkeypatch.setattr(flat, "kernels_usable", lambda: True)
        monkeypatch.setattr(flat, "THREADED", 1)
        monkeypatch.setattr(flat, "BLOCK", 1)
        written = []
        begun = parallel.FlatKernel.begun

        def watched(*args: Any, begun: Any = begun, written: Any = written) -> Any:
            written.append(args)
            return begun(*args)

        monkeypatch.setattr(parallel.FlatKernel, "begun", watched)
        found = by_functions(made, run, foreach=False)
        monkeypatch.undo()
        assert written
        for x, y in zip(found, expected, strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize(
    "way", [lambda f: f, fg.jit, lambda f: fg.jit(f, engine="numpy")], ids=["eager", "xla", "numpy"]
)
def test_adagrad_takes_rows(way: Any) -> None:
    """A step touches the rows that the gradient has, as a full gradient with zeros elsewhere does."""
    table, rows = normal(0, (4, 3)), Rows(np.array([3, 0, 3]), normal(1, (3, 3)), (4, 3))
    update = way(optim.adagrad_update)
    for options in ({}, {"lr_decay": 0.1, "initial_accumulator_value": 0.1, "maximize": True}):
        found = expected = table
        state = other = optim.adagrad_init(table, lr=0.1, **options)
        for _ in range(3):
            found, state = update(rows, state, found)
            expected, other = optim.adagrad_update(rows.todense(), other, expected)
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        np.testing.assert_allclose(state.sum, other.sum, rtol=1e-12)
    with pytest.raises(SparseGradientError, match="weight_decay option is not compatible with sparse gradients"):
        update(rows, optim.adagrad_init(table, weight_decay=0.1), table)


def test_what_is_refused_of_rows_and_of_whole_gradients() -> None:
    p = np.ones((3, 2))
    with pytest.raises(SparseGradientError, match="SparseAdam does not support dense gradients, please consider Adam"):
        optim.sparse_adam_update(p, optim.sparse_adam_init(p), p)
    optimizer = optim.SparseAdam([p, p.copy()])
    rows = Rows(np.array([0]), np.ones((1, 2)), (3, 2))
    optimizer.step(grads=[rows, rows])
    with pytest.raises(SparseGradientError, match="SparseAdam does not support dense gradients"):
        optimizer.step(grads=[rows, p])
    with pytest.raises(RuntimeError, match="RMSprop does not support sparse gradients"):
        optim.RMSprop([p]).step(grads=[rows])


def test_what_muon_refuses() -> None:
    optimizer = optim.Muon([tensor(np.ones((2, 2)), requires_grad=True)])
    with pytest.raises(HyperparameterError, match=r"found a parameter with size: Size\(\[3\]\)"):
        optimizer.add_param_group({"params": [tensor(np.ones(3), requires_grad=True)]})
    assert len(optimizer.param_groups) == 1
    with pytest.raises(HyperparameterError, match="muon_init: Muon only supports 2D parameters"):
        optim.muon_init([np.ones((2, 2)), np.ones(2)])
    with pytest.raises(ValueError, match="Number of steps must be less than 100"):
        optim.muon_init(np.ones((2, 2)), ns_steps=100)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda p: optim.adam_init(p, lr=1, learning_rate=1), TypeError, "lr and learning_rate are given"),
        (lambda p: optim.sgd_init(p, lr=1, learning_rate=1), TypeError, "lr and learning_rate are given"),
        (lambda p: optim.SGD([p], lr=1.0, learning_rate=1.0), TypeError, "lr and learning_rate are given"),
        (lambda p: optim.sgd_init(p), TypeError, "lr is not given; needed one of lr and learning_rate"),
        (lambda p: optim.SGD([p], 1.0, learning_rate=1.0), TypeError, "lr and learning_rate are given"),
        (lambda p: optim.Adam([p], lr=1.0, learning_rate=1.0), TypeError, "lr and learning_rate are given"),
        (lambda p: optim.adam_init(p, betas=0.9), TypeError, "betas is 0.9; needed a tuple of 2"),
        (lambda p: optim.adam_init(p, betas=(0.9, 0.99), beta1=0.5), TypeError, "betas and beta1 are given"),
        (lambda p: optim.adam_init(p, betas=(0.9, 1.0)), HyperparameterError, "beta parameter at index 1: 1.0"),
        (
            lambda p: optim.adamw_init(p, decoupled_weight_decay=False),  # pyright: ignore[reportCallIssue]  (refused)
            TypeError,
            "unexpected keyword argument",
        ),
        (lambda p: optim.rprop_init(p, etas=(1.5, 1.2)), HyperparameterError, r"Invalid eta values: 1.5, 1.2"),
        (lambda p: optim.Adam([p], fused=True, foreach=True), RuntimeError, "`fused` and `foreach` cannot be `True`"),
        (lambda p: optim.SGD([p], lr=0.1, fused=True, foreach=True), RuntimeError, "`fused` and `foreach` cannot"),
        (lambda p: optim.Adam([p], fused=True, differentiable=True), RuntimeError, "`fused` does not support"),
    ],
)
def test_refusals(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call(np.ones(2))


def test_older_checkpoints_have_numbers_for_counts() -> None:
    p = np.ones(2)
    optimizer = optim.Adam([p], learning_rate=0.2)
    optimizer.step(grads=[np.ones(2)])
    saved = optimizer.state_dict()
    assert list(saved["state"][0]) == ["step", "exp_avg", "exp_avg_sq"]
    saved["state"][0]["step"] = 1
    del saved["param_groups"][0]["maximize"]
    again = optim.Adam([p.copy()])
    again.load_state_dict(saved)
    again.step(grads=[np.ones(2)])
    assert again.state_dict()["state"][0]["step"].item() == 2.0
    assert again.param_groups[0]["maximize"] is False
    decoupled = optim.AdamW([p.copy()])
    decoupled.load_state_dict(saved)
    assert decoupled.param_groups[0]["decoupled_weight_decay"] is True
    assert isinstance(decoupled, optim.Adam)
