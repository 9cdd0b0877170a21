"""Low precision with copies in a wider dtype, and derivatives through steps against PyTorch's."""

from __future__ import annotations

from typing import Any

import jax
import ml_dtypes
import numpy as np
import pytest

import funcgrad as fg
from tests._recorded import PyTorch

bfloat16 = np.dtype(ml_dtypes.bfloat16)
OPTIONS: dict[str, Any] = {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01, "nesterov": True}


@pytest.mark.parametrize("update", [fg.sgd_update, fg.jit(fg.sgd_update), jax.jit(fg.sgd_update)])
@pytest.mark.parametrize("dtype", [bfloat16, np.dtype(np.float16)], ids=str)
def test_masters_take_the_steps(update: Any, dtype: np.dtype, rng: np.random.Generator) -> None:
    params = {"w": rng.standard_normal((3, 2)).astype(dtype), "b": np.ones(2, np.float32)}
    state = fg.sgd_init(params, master_dtype="float32", **OPTIONS)
    assert state.masters["w"].dtype == state.buffers["w"].dtype == np.float32
    assert state.masters["b"] is None
    wide = {name: p.astype(np.float32) for name, p in params.items()}
    other = fg.sgd_init(wide, **OPTIONS)
    structure = fg.tree.structure(state)
    for step in range(3):
        grads = {name: rng.standard_normal(p.shape).astype(p.dtype) for name, p in params.items()}
        grads = {**grads, "w": None} if step == 1 else grads
        params, state = update(grads, state, params)
        wide, other = fg.sgd_update(fg.tree.map(lambda g: g.astype(np.float32), grads), other, wide)
        assert fg.tree.structure(state) == structure
        np.testing.assert_allclose(state.masters["w"], wide["w"], rtol=1e-5)
        np.testing.assert_array_equal(np.asarray(params["w"]), np.asarray(state.masters["w"]).astype(dtype))


def test_small_steps_add_up() -> None:
    params, lost = np.ones(1, bfloat16), np.ones(1, bfloat16)
    state, without = fg.sgd_init(params, lr=1e-3, master_dtype="float32"), fg.sgd_init(lost, lr=1e-3)
    for _ in range(100):
        params, state = fg.sgd_update(np.ones(1, bfloat16), state, params)
        lost, without = fg.sgd_update(np.ones(1, bfloat16), without, lost)
    assert float(lost[0]) == 1.0
    assert abs(float(params[0]) - 0.9) < 0.004


def test_what_is_no_float_dtype() -> None:
    with pytest.raises(TypeError, match="master_dtype is 'int64'; needed a float dtype"):
        fg.sgd_init(np.ones(2, bfloat16), lr=0.1, master_dtype="int64")


@pytest.mark.parametrize("transform", [lambda f: f, fg.jit], ids=["eager", "jit"])
def test_meta_learning_the_learning_rate(transform: Any, rng: np.random.Generator, pytorch: PyTorch) -> None:
    """Three steps on one task, and the derivative of the loss on another by learning rate and start."""
    x, y, x_new, y_new = (rng.standard_normal(shape) for shape in ((8, 3), (8,), (8, 3), (8,)))
    start = rng.standard_normal(3)

    def outer(lr: Any, momentum: Any, weight_decay: Any, start: Any) -> Any:
        params = {"w": start}
        options: dict[str, Any] = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay}
        state = fg.sgd_init(params, nesterov=True, **options)
        for _ in range(3):
            grads = fg.grad(lambda p: np.mean((np.tanh(x @ p["w"]) - y) ** 2))(params)
            params, state = fg.sgd_update(grads, state, params)
        return np.mean((np.tanh(x_new @ params["w"]) - y_new) ** 2)

    point = (0.1, 0.9, 0.05, start)
    found = transform(fg.grad(outer, argnums=(0, 3)))(*point)

    def theirs(torch: Any) -> float:
        lr = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
        w = torch.tensor(start, requires_grad=True).clone()
        optimizer = torch.optim.SGD([w], lr=lr, momentum=0.9, weight_decay=0.05, nesterov=True, differentiable=True)
        for _ in range(3):
            value = ((torch.tanh(torch.tensor(x) @ w) - torch.tensor(y)) ** 2).mean()
            (w.grad,) = torch.autograd.grad(value, [w], create_graph=True)
            optimizer.step()
        value = ((torch.tanh(torch.tensor(x_new) @ w) - torch.tensor(y_new)) ** 2).mean()
        return torch.autograd.grad(value, lr)[0].item()

    np.testing.assert_allclose(found[0], pytorch(theirs), rtol=1e-10)
    # PyTorch detaches the first momentum buffer, which leaves out a part of the derivative by the start.
    v = rng.standard_normal(3)
    slope = (outer(*point[:3], start + 1e-6 * v) - outer(*point[:3], start - 1e-6 * v)) / 2e-6
    np.testing.assert_allclose(np.sum(np.asarray(found[1]) * v), slope, rtol=1e-7)
