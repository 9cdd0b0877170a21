"""Clipping of tensors' gradients, beside ``torch.nn.utils``."""

from __future__ import annotations

import warnings
from typing import Any

import jax
import numpy as np
import pytest

from funcgrad.autograd import tensor
from funcgrad.nn import utils
from tests._recorded import PyTorch

SHAPES = ((3, 2), (4,), ())


def grads(seed: int, dtype: Any) -> list[Any]:
    rng = np.random.default_rng(seed)
    values = [np.asarray(rng.standard_normal(shape), dtype) for shape in SHAPES]
    return [values[0], None, *values[1:]]


def ours(make: Any = lambda g: g, seed: int = 0, dtype: Any = np.float64) -> list[Any]:
    params = [
        tensor(make(np.zeros(() if g is None else g.shape, dtype)), requires_grad=True) for g in grads(seed, dtype)
    ]
    for p, g in zip(params, grads(seed, dtype), strict=True):
        p.grad = None if g is None else tensor(make(g))
    return params


def torchs(torch: Any, dtype: Any = np.float64) -> list[Any]:
    params = []
    for g in grads(0, dtype):
        p = torch.zeros(() if g is None else g.shape, dtype=getattr(torch, np.dtype(dtype).name), requires_grad=True)
        p.grad = None if g is None else torch.tensor(g)
        params.append(p)
    return params


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", [2.0, 1, 3.0, "inf", 0.5])
@pytest.mark.parametrize("limit", [0.5, 100.0])
def test_norms_are_pytorchs(order: Any, limit: float, dtype: Any, pytorch: PyTorch) -> None:
    def clipped(torch: Any) -> list[Any]:
        its = torchs(torch, dtype)
        return [torch.nn.utils.clip_grad_norm_(its, limit, order).numpy(), *gradients_of(its)]

    norm, *expected = pytorch(clipped)
    rtol = 1e-6 if dtype is np.float32 else 1e-13
    with jax.enable_x64(True):
        for make in (lambda g: g, jax.numpy.asarray):
            mine = ours(make, dtype=dtype)
            identities = [p.grad for p in mine]
            found = utils.clip_grad_norm_(iter(mine), limit, order)
            np.testing.assert_allclose(found.numpy(), norm, rtol=rtol)
            assert found.dtype == dtype
            for p, one, g in zip(mine, expected, identities, strict=True):
                assert p.grad is g
                if g is not None:
                    np.testing.assert_allclose(g.numpy(), one, rtol=rtol)


def gradients_of(params: list[Any]) -> list[Any]:
    return [None if p.grad is None else p.grad.numpy() for p in params]


def test_values_are_pytorchs(pytorch: PyTorch) -> None:
    def clipped(torch: Any) -> list[Any]:
        its = torchs(torch)
        torch.nn.utils.clip_grad_value_(its, 0.3)
        return gradients_of(its)

    mine = ours()
    utils.clip_grad_value_(mine, 0.3)
    for g, one in zip(gradients_of(mine), pytorch(clipped), strict=True):
        np.testing.assert_array_equal(g, one)
    (one, *_) = ours()
    utils.clip_grad_value_(one, 0.1)
    assert abs(one.grad.numpy()).max() == 0.1


def test_norms_that_are_not_finite() -> None:
    (p, *_) = ours()
    p.grad = tensor(np.array([[np.inf, 1.0]] * 3)[:, :2])
    with pytest.raises(RuntimeError, match=r"The total norm of order 2.0 .* is non-finite, so it cannot be clipped"):
        utils.clip_grad_norm_([p], 1.0, error_if_nonfinite=True)
    assert p.grad.numpy()[0, 1] == 1.0


def test_nothing_to_clip() -> None:
    with pytest.warns(UserWarning, match="`parameters` is an empty generator"):
        utils.clip_grad_norm_((p for p in []), 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert utils.clip_grad_norm_([], 1.0).item() == 0.0
        assert utils.clip_grad_norm_([tensor([1.0], requires_grad=True)], 1.0).item() == 0.0


def test_a_vector_that_does_not_fit_changes_nothing() -> None:
    parameters = [tensor(np.ones((2, 2)), requires_grad=True), tensor(np.ones(3), requires_grad=True)]
    vector = utils.parameters_to_vector(parameters)
    utils.vector_to_parameters(2 * vector, parameters)
    assert [p.tolist() for p in parameters] == [[[2, 2], [2, 2]], [2, 2, 2]]
    with pytest.raises(ValueError, match=r"vec has shape \[6\] and the parameters have 7 elements"):
        utils.vector_to_parameters(vector[:6], parameters)
    assert [p.tolist() for p in parameters] == [[[2, 2], [2, 2]], [2, 2, 2]]
    with pytest.raises(TypeError, match="but got: ndarray"):
        utils.vector_to_parameters(np.ones(7), parameters)  # pyright: ignore[reportArgumentType]  (what is refused)
