"""A training run that can be saved and resumed in the other library, written once for both."""

from __future__ import annotations

from typing import Any

import numpy as np

OPTIONS: dict[str, Any] = {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}
RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((32, 6)), RNG.integers(0, 3, 32)
WEIGHTS = {
    name: RNG.uniform(-0.5, 0.5, shape)
    for name, shape in {"0.weight": (5, 6), "0.bias": (5,), "2.weight": (3, 5), "2.bias": (3,)}.items()
}
BEFORE, AFTER = 5, 10


def model_of(library: Any) -> Any:
    return library.Sequential(library.Linear(6, 5), library.Tanh(), library.Linear(5, 3)).double()


def begun(library: Any, make: Any, sgd: Any) -> tuple[Any, Any]:
    """Return a model and its optimizer after the steps before saving."""
    model = model_of(library)
    model.load_state_dict({name: make(x) for name, x in WEIGHTS.items()})
    optimizer = sgd(model.parameters(), **OPTIONS)
    train(library, make, model, optimizer, BEFORE)
    return model, optimizer


def train(library: Any, make: Any, model: Any, optimizer: Any, steps: int = AFTER) -> list[float]:
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = library.CrossEntropyLoss()(model(make(X)), make(Y))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def saved(library: Any, make: Any, sgd: Any) -> dict[str, np.ndarray]:
    """Return the saved arrays of a run by name, and the losses after that."""
    model, optimizer = begun(library, make, sgd)
    found = {f"model/{name}": np.array(x.numpy()) for name, x in model.state_dict().items()}
    state = optimizer.state_dict()
    found |= {f"buffer/{i}": np.array(entry["momentum_buffer"].numpy()) for i, entry in state["state"].items()}
    options = {name: value for name, value in state["param_groups"][0].items() if name != "fused"}
    return found | {"options": np.array(repr(options)), "losses": np.array(train(library, make, model, optimizer))}
