"""Programs of modules that run alike on ``torch.nn`` and ``funcgrad.nn``: each takes the library and its ``tensor``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_digits


def small(library: Any) -> Any:
    return library.Sequential(library.Linear(4, 3), library.Tanh(), library.Linear(3, 2, bias=False))


def _weights(library: Any, make: Any) -> dict[str, Any]:
    return {name: make(np.ones(x.shape)) for name, x in small(library).state_dict().items()}


def _loading(library: Any, make: Any, **changes: Any) -> str:
    """Return a model's text about a state that does not fit, without differences in spaces."""
    given = _weights(library, make) | {name.replace("__", "."): make(np.ones(n)) for name, n in changes.items()}
    try:
        return str(small(library).load_state_dict({name: x for name, x in given.items() if x.shape}))
    except RuntimeError as error:
        return " ".join(str(error).split())


# The name and shape of each entry that is added to the state. An entry of shape () is removed.
LOADED: dict[str, dict[str, Any]] = {
    "what fits": {},
    "too few": {"0__weight": ()},
    "too much": {"extra": 1},
    "another shape": {"0__weight": (2, 2)},
    "all of it": {"0__weight": (), "2__weight": 3, "extra": 1, "more": 2},
}


def _net(library: Any, make: Any) -> Any:
    """A module with a parameter, a buffer, a child and an attribute."""
    net = library.Module()
    net.p = library.Parameter(make([1.0]))
    net.register_buffer("b", make([2.0]))
    net.child = library.Linear(1, 1)
    net.attribute = 3
    return net


def _early(library: Any, value: Any) -> None:
    """Assign to a module whose constructor did not run."""
    module = library.Module.__new__(library.Module)
    module.attribute = value


MISUSES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "a number for a parameter": lambda nn, t, net: setattr(net, "p", 1.0),
    "a number for a buffer": lambda nn, t, net: setattr(net, "b", 1.0),
    "a number for a module": lambda nn, t, net: setattr(net, "child", 1.0),
    "a parameter too early": lambda nn, t, net: _early(nn, nn.Parameter(t([1.0]))),
    "a module too early": lambda nn, t, net: _early(nn, nn.ReLU()),
    "a number early": lambda nn, t, net: _early(nn, 3),
    "a name with a dot": lambda nn, t, net: net.register_parameter("a.b", None),
    "no name": lambda nn, t, net: net.register_buffer("", None),
    "a number for a name": lambda nn, t, net: net.register_parameter(1, None),
    "a parameter in the place of an attribute": lambda nn, t, net: net.register_parameter("attribute", None),
    "a buffer in the place of a parameter": lambda nn, t, net: net.register_buffer("p", t([1.0])),
    "a module in the place of a buffer": lambda nn, t, net: net.add_module("b", nn.ReLU()),
    "no parameter": lambda nn, t, net: net.register_parameter("z", 3),
    "no buffer": lambda nn, t, net: net.register_buffer("z", 3),
    "no module": lambda nn, t, net: net.add_module("z", 3),
    "no module in a sequence": lambda nn, t, net: nn.Sequential(3),
    "no mode": lambda nn, t, net: net.train("x"),
    "no state": lambda nn, t, net: net.load_state_dict([1]),
    "no such name": lambda nn, t, net: net.nothing,
    "no such name to delete": lambda nn, t, net: delattr(net, "nothing"),
    "a function missing": lambda nn, t, net: net(1),
    "a parameter anew": lambda nn, t, net: setattr(net, "attribute", nn.Parameter(t([1.0]))),
    "nothing for a parameter": lambda nn, t, net: setattr(net, "p", None),
}


def _misused(library: Any, make: Any, name: str) -> str:
    """With what a misuse is refused, or the names that there are after what is none."""
    net = _net(library, make)
    try:
        MISUSES[name](library, make, net)
    except (AttributeError, KeyError, NotImplementedError, TypeError, ValueError) as error:
        return f"{type(error).__name__}: {error}".replace("torch.", "")
    return repr([*net.state_dict()])


def texts(library: Any, make: Any) -> dict[str, str]:
    """How models print, what their states hold, and what is said of states that do not fit."""
    nested = library.Sequential(small(library), library.ReLU(), library.Sequential(), library.Linear(2, 2, False))
    shown: dict[str, Any] = {
        "small": small(library),
        "nested": nested,
        "losses": [library.CrossEntropyLoss(), library.NLLLoss(), library.MSELoss()],
        "names": [name for name, _ in nested.named_parameters()],
        "state": [(name, tuple(x.shape)) for name, x in nested.state_dict().items()],
        "modules": [name for name, _ in nested.named_modules()],
    }
    found = {name: repr(x) for name, x in shown.items()} | {name: _misused(library, make, name) for name in MISUSES}
    return found | {f"loading {name}": _loading(library, make, **changes) for name, changes in LOADED.items()}


LOSSES: dict[str, tuple[str, np.ndarray, np.ndarray]] = {
    "probabilities": ("CrossEntropyLoss", np.arange(5.0), np.array([1.0, 2.0])),
    "rows of probabilities": ("CrossEntropyLoss", np.arange(10.0).reshape(2, 5), np.array([[1.0, 2.0], [0.5, 0.5]])),
    "classes": ("CrossEntropyLoss", np.arange(10.0).reshape(2, 5), np.array([1, 0])),
    "nll": ("NLLLoss", np.arange(10.0).reshape(2, 5), np.array([1, 0])),
    "squares": ("MSELoss", np.arange(10.0).reshape(2, 5), np.ones((2, 2))),
}


def loss_and_gradients(library: Any, make: Any, name: str) -> list[np.ndarray]:
    """The loss of a linear layer, and its gradients by weight and bias."""
    loss, x, target = LOSSES[name]
    layer = library.Linear(5, 2).double()
    layer.load_state_dict({"weight": make(np.linspace(-1, 1, 10).reshape(2, 5)), "bias": make(np.array([0.5, -0.5]))})
    value = getattr(library, loss)()(layer(make(x)), make(target))
    value.backward()
    return [value.detach().numpy(), layer.weight.grad.numpy(), layer.bias.grad.numpy()]


def digits_losses(library: Any, make: Any, sgd: Any, dtype: Any) -> list[float]:
    """Losses of 200 steps of a small network on scikit-learn's digits."""
    images, labels = load_digits(return_X_y=True)
    images, labels = (np.asarray(images) / 16).astype(dtype), np.asarray(labels)
    model = library.Sequential(library.Linear(64, 32), library.ReLU(), library.Linear(32, 10))
    model = model.double() if dtype is np.float64 else model
    model.load_state_dict({name: make(value.astype(dtype)) for name, value in _initial_state().items()})
    optimizer = sgd(model.parameters(), lr=0.1, momentum=0.9, weight_decay=1e-4, nesterov=True)
    loss_of = library.CrossEntropyLoss()
    order = np.random.default_rng(1).integers(0, len(images), (200, 64))
    losses = []
    for rows in order:
        optimizer.zero_grad()
        loss = loss_of(model(make(images[rows])), make(labels[rows]))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def _initial_state() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    shapes = {"0.weight": (32, 64), "0.bias": (32,), "2.weight": (10, 32), "2.bias": (10,)}
    return {name: rng.uniform(-0.1, 0.1, shape) for name, shape in shapes.items()}


def results(library: Any, make: Any, sgd: Any) -> dict[str, np.ndarray]:
    """All of it, by name."""
    found: dict[str, Any] = {f"text/{name}": text for name, text in texts(library, make).items()}
    for name in LOSSES:
        found |= {f"loss/{name}/{i}": x for i, x in enumerate(loss_and_gradients(library, make, name))}
    for dtype in (np.float64, np.float32):
        found[f"digits/{np.dtype(dtype).name}"] = digits_losses(library, make, sgd, dtype)
    return {name: np.array(x) for name, x in found.items()}
