"""Normalizations of NumPy's arrays share the sums of all cotangents; graphs compute by operations."""

import itertools
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import nn
from funcgrad._ops.reduce import standardize as module
from funcgrad.autograd import grad, tensor
from funcgrad.testing import check_grads

CASES = {
    "layer": ((6, 2, 5), (2, 5), lambda x, w, b: nn.functional.layer_norm(x, (2, 5), w, b)),
    "batch": ((4, 3, 2, 5), (3,), lambda x, w, b: nn.functional.batch_norm(x, None, None, w, b, training=True)),
    "batch of vectors": ((5, 3), (3,), lambda x, w, b: nn.functional.batch_norm(x, None, None, w, b, training=True)),
    "instance": ((2, 3, 7), (3,), lambda x, w, b: nn.functional.instance_norm(x, None, None, w, b)),
    "group": ((2, 6, 3, 2), (6,), lambda x, w, b: nn.functional.group_norm(x, 3, w, b)),
}
ACTIVE = [each for n in (1, 2, 3) for each in itertools.combinations(range(3), n)]


def _drawn(rng: np.random.Generator, name: str, dtype: str = "float64") -> tuple[Any, list[np.ndarray]]:
    shape, of_weights, function = CASES[name]
    return function, [rng.normal(size=each).astype(dtype) for each in (shape, of_weights, of_weights)]


@pytest.mark.parametrize("argnums", ACTIVE, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_shared_sums_give_the_derivative(
    name: str, argnums: tuple[int, ...], rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever operands need a cotangent; the compiled function, which shares none, has the same gradient."""
    calls: list[int] = []
    usual = module._bars_numpy
    monkeypatch.setattr(module, "_bars_numpy", lambda *args: [calls.append(1), usual(*args)][1])
    function, operands = _drawn(rng, name)

    def loss(*xs: Any) -> Any:
        return np.sum(np.sin(function(*xs)))

    found = fg.grad(loss, argnums=argnums)(*operands)
    assert calls == [1]
    expected = fg.jit(fg.grad(loss, argnums=argnums), engine="numpy")(*operands)
    for one, other in zip(fg.tree.leaves(found), fg.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("name", CASES)
def test_higher_derivatives(name: str, rng: np.random.Generator) -> None:
    """A pass that is recorded computes by operations that have derivatives."""
    function, operands = _drawn(rng, name)
    check_grads(lambda *xs: np.sin(function(*xs)), operands, order=2)
    xs = [tensor(each, requires_grad=True) for each in operands]
    first = grad(function(*xs).sin().sum(), xs, create_graph=True)
    second = grad(sum((each * each).sum() for each in first), xs)

    def size(*xs: Any) -> Any:
        return sum(np.sum(each**2) for each in fg.grad(lambda *xs: np.sum(np.sin(function(*xs))), (0, 1, 2))(*xs))

    for one, other in zip(second, fg.jit(fg.grad(size, (0, 1, 2)))(*operands), strict=True):
        np.testing.assert_allclose(one.numpy(), other, rtol=1e-9, atol=1e-10)


def test_an_operand_that_is_overwritten_is_refused(rng: np.random.Generator) -> None:
    """A second derivative would read the new numbers."""
    x = tensor(rng.normal(size=(4, 3)), requires_grad=True)
    z = x * 2
    y = nn.functional.layer_norm(z, (3,))
    z += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_long_rows_are_summed_in_pairs() -> None:
    """BLAS adds 0.1 in float32 one after the other: the mean of 2**20 numbers would be wrong in the fourth digit."""
    x = np.full((2, 1 << 20), 0.1, np.float32)
    _, mean, variance = module.standardize(x, norm=module.Norm(x.shape, (1,), (), 1e-5))
    np.testing.assert_allclose(mean, 0.1, rtol=1e-6)
    np.testing.assert_allclose(variance, 0, atol=1e-12)


def test_cotangents_of_the_statistics(rng: np.random.Generator) -> None:
    """Mean and variance are results with a derivative of their own."""
    x = rng.normal(size=(3, 5))
    norm = module.Norm((3, 5), (1,), (), 0.1)
    found = fg.grad(lambda x: sum(np.sum(np.sin(each)) for each in module.standardize(x, norm=norm)[1:]))(x)
    expected = fg.grad(lambda x: np.sum(np.sin(np.mean(x, 1))) + np.sum(np.sin(np.var(x, 1))))(x)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_running_statistics_under_half_precision_parameters() -> None:
    """Buffers of another dtype than the batch's keep it."""
    norm = nn.BatchNorm1d(2, dtype=np.float32)
    norm(tensor(np.array([[1.0, 2.0], [3.0, 6.0]], np.float32)))
    assert norm.running_mean.dtype == np.float32
    assert norm.num_batches_tracked.item() == 1
    np.testing.assert_allclose(norm.running_mean.numpy(), [0.2, 0.4], rtol=1e-6)
    np.testing.assert_allclose(norm.running_var.numpy(), [1.1, 1.7], rtol=1e-6)
