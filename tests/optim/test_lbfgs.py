"""``LBFGS`` beside PyTorch: losses, parameters, and counts of evaluations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from funcgrad import optim
from funcgrad.autograd import tensor
from tests._recorded import PyTorch

A = np.array([[3.0, 0.5, 0.2], [0.5, 2.0, -0.3], [0.2, -0.3, 1.5]])
OPTIONS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "short steps, a short memory": {"lr": 0.3, "max_iter": 4, "history_size": 2},
    "few evaluations": {"max_iter": 10, "max_eval": 5},
    "line search": {"line_search_fn": "strong_wolfe"},
    "line search from afar": {"line_search_fn": "strong_wolfe", "lr": 40.0, "max_iter": 6},
    "line search from near": {"line_search_fn": "strong_wolfe", "lr": 1e-3, "max_iter": 6},
    "ends by the change": {"tolerance_change": 1e-2},
    "ends by the gradient": {"tolerance_grad": 1.0},
}


def run(make: Any, optimizer: Any, options: dict[str, Any], unused: bool = False) -> dict[str, Any]:
    x, y = make(np.array([2.0, -1.0, 0.5])), make(np.array([[0.7], [-0.4]]))
    found = optimizer([x, y, make(np.ones(2))] if unused else [x, y], **options)
    a = make(A).detach()

    def closure() -> Any:
        found.zero_grad()
        loss = x @ (a @ x) + x.cos().sum() + (y**4).sum() + (y * x[0]).sum()
        loss.backward()
        return loss

    losses = [float(found.step(closure).detach()) for _ in range(3)]
    state = found.state[x]
    counts = [int(state["func_evals"]), int(state["n_iter"])]
    return {"losses": losses, "x": x.detach().numpy(), "y": y.detach().numpy(), "counts": counts}


@pytest.mark.parametrize("unused", [False, True])
@pytest.mark.parametrize("name", OPTIONS)
def test_steps_are_pytorchs(name: str, unused: bool, pytorch: PyTorch) -> None:
    theirs = pytorch(
        lambda torch: run(lambda v: torch.tensor(v, requires_grad=True), torch.optim.LBFGS, OPTIONS[name], unused)
    )
    ours = run(lambda v: tensor(v, requires_grad=True), optim.LBFGS, OPTIONS[name], unused)
    assert ours["counts"] == list(theirs["counts"])
    for part in ("losses", "x", "y"):
        np.testing.assert_allclose(ours[part], theirs[part], 1e-7, 1e-8)


def test_a_state_goes_on_where_it_was_saved() -> None:
    def start() -> tuple[Any, Any, Any]:
        x = tensor([2.0, -1.0], requires_grad=True)
        optimizer = optim.LBFGS([x], max_iter=2)

        def closure() -> Any:
            optimizer.zero_grad()
            loss = (x**4).sum() + (x[0] - x[1]) ** 2
            loss.backward()
            return loss

        return x, optimizer, closure

    x, optimizer, closure = start()
    optimizer.step(closure)
    other, loaded, again = start()
    other.data.copy_(x.detach())
    loaded.load_state_dict(optimizer.state_dict())
    optimizer.step(closure)
    loaded.step(again)
    np.testing.assert_array_equal(other.detach().numpy(), x.detach().numpy())


def test_complex_parameters() -> None:
    z = tensor(np.array([1.0 + 2.0j, -0.5j]), requires_grad=True)
    optimizer = optim.LBFGS([z], line_search_fn="strong_wolfe")

    def closure() -> Any:
        optimizer.zero_grad()
        loss = ((z - (0.3 - 0.1j)).abs() ** 2).sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    np.testing.assert_allclose(z.detach().numpy(), 0.3 - 0.1j, atol=1e-6)


def test_refusals() -> None:
    x = tensor([1.0], requires_grad=True)
    with pytest.raises(ValueError, match="Invalid learning rate: -1"):
        optim.LBFGS([x], lr=-1)
    with pytest.raises(ValueError, match=r"LBFGS doesn't support per-parameter options \(parameter groups\)"):
        optim.LBFGS([{"params": [x]}, {"params": [tensor([2.0], requires_grad=True)]}])
    with pytest.raises(TypeError, match=r"LBFGS.step: the closure is missing"):
        optim.LBFGS([x]).step()
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        optim.LBFGS([x], line_search_fn="other").step(lambda: (x**2).sum())
