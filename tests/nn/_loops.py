"""Training loops as people write them for PyTorch: each takes a library, and runs alike on either."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Losses = list[float]


class Library(NamedTuple):
    """Return the imports of a loop."""

    nn: Any
    tensor: Any
    sgd: Any
    no_grad: Any
    grad: Any


RNG = np.random.default_rng(0)
X, Y = RNG.standard_normal((32, 6)), RNG.integers(0, 3, 32)
WEIGHTS = {
    name: RNG.uniform(-0.5, 0.5, shape)
    for name, shape in {"0.weight": (5, 6), "0.bias": (5,), "2.weight": (3, 5), "2.bias": (3,)}.items()
}
BATCHES = range(0, 32, 8)
LOOPS: dict[str, Callable[[Library], Losses]] = {}


def loop(function: Callable[[Library], Losses]) -> Callable[[Library], Losses]:
    LOOPS[function.__name__] = function
    return function


def model_of(lib: Library) -> Any:
    model = lib.nn.Sequential(lib.nn.Linear(6, 5), lib.nn.Tanh(), lib.nn.Linear(5, 3)).double()
    model.load_state_dict({name: lib.tensor(x) for name, x in WEIGHTS.items()})
    return model


def loss_of(lib: Library, model: Any, first: int = 0, last: int = 32) -> Any:
    return lib.nn.CrossEntropyLoss()(model(lib.tensor(X[first:last])), lib.tensor(Y[first:last]))


def epochs(lib: Library, model: Any, optimizer: Any, count: int) -> Losses:
    losses = []
    for _ in range(count):
        optimizer.zero_grad()
        loss = loss_of(lib, model)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@loop
def batches_with_a_running_loss(lib: Library) -> Losses:
    model = model_of(lib)
    optimizer = lib.sgd(model.parameters(), lr=0.1, momentum=0.9)
    running = 0.0
    for first in BATCHES:
        loss = loss_of(lib, model, first, first + 8)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        running += loss.item() * lib.tensor(X[first : first + 8]).size(0)
    return [running]


@loop
def accumulated_gradients(lib: Library) -> Losses:
    model = model_of(lib)
    optimizer = lib.sgd(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        for first in BATCHES:
            loss = loss_of(lib, model, first, first + 8) / len(BATCHES)
            loss.backward()
            losses.append(loss.item())
        optimizer.step()
    return losses


@loop
def clipped_gradients(lib: Library) -> Losses:
    model = model_of(lib)
    optimizer = lib.sgd(model.parameters(), lr=0.5)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = loss_of(lib, model)
        loss.backward()
        total = sum(p.grad.data.norm().item() ** 2 for p in model.parameters()) ** 0.5
        for p in model.parameters():
            p.grad.data.mul_(min(1.0, 0.3 / total))
        optimizer.step()
        losses.append(loss.item())
    return losses


@loop
def steps_by_hand(lib: Library) -> Losses:
    model = model_of(lib)
    losses = []
    for epoch in range(9):
        model.zero_grad()
        loss = loss_of(lib, model)
        loss.backward()
        losses.append(loss.item())
        for p in model.parameters():
            if epoch % 3 == 0:
                with lib.no_grad():
                    p -= 0.3 * p.grad  # noqa: PLW2901  (in place)
            elif epoch % 3 == 1:
                p.data.add_(p.grad.data, alpha=-0.3)
            else:
                p.data = p.data - 0.3 * p.grad
    return losses


@loop
def a_schedule_and_the_best_state(lib: Library) -> Losses:
    model = model_of(lib)
    optimizer = lib.sgd(model.parameters(), lr=2.0, momentum=0.5, nesterov=True)
    best, least, losses = None, float("inf"), []
    for epoch in range(8):
        for group in optimizer.param_groups:
            group["lr"] = 2.0 * 0.7**epoch
        optimizer.zero_grad(set_to_none=True)
        loss = loss_of(lib, model)
        if loss.item() < least:
            best, least = copy.deepcopy(model.state_dict()), loss.item()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.load_state_dict(best)
    return [*losses, least, loss_of(lib, model).item()]


@loop
def frozen_layers_that_thaw(lib: Library) -> Losses:
    model = model_of(lib)
    model[0].requires_grad_(False)
    optimizer = lib.sgd(filter(lambda p: p.requires_grad, model.parameters()), lr=1.0, weight_decay=0.1)
    losses = epochs(lib, model, optimizer, 4)
    model[0].requires_grad_(True)
    optimizer.add_param_group({"params": model[0].parameters(), "lr": 0.1})
    return losses + epochs(lib, model, optimizer, 4)


@loop
def two_players(lib: Library) -> Losses:
    judge, forger = model_of(lib), lib.nn.Linear(6, 6).double()
    forger.load_state_dict({"weight": lib.tensor(np.eye(6) / 2), "bias": lib.tensor(np.zeros(6))})
    steps = [lib.sgd(player.parameters(), lr=0.1) for player in (judge, forger)]
    losses = []
    for _ in range(5):
        fake = forger(lib.tensor(X))
        steps[0].zero_grad()
        judged = (judge(lib.tensor(X)) ** 2).mean() - judge(fake.detach()).mean()
        judged.backward()
        steps[0].step()
        steps[1].zero_grad()
        forged = (judge(fake) ** 2).mean()
        forged.backward()
        steps[1].step()
        losses += [judged.item(), forged.item()]
    return losses


@loop
def a_penalty_on_gradients(lib: Library) -> Losses:
    model = model_of(lib)
    optimizer = lib.sgd(model.parameters(), lr=0.1)
    losses = []
    for _ in range(4):
        x = lib.tensor(X, requires_grad=True)
        (gradient,) = lib.grad(model(x).sum(), x, create_graph=True)
        loss = (((gradient**2).sum(1) ** 0.5 - 1) ** 2).mean() + (model(lib.tensor(X)) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@loop
def products_with_the_hessian(lib: Library) -> Losses:
    params = list((model := model_of(lib)).parameters())
    gradients = lib.grad(loss_of(lib, model), params, create_graph=True)
    product = lib.grad(sum((g * g.detach()).sum() for g in gradients), params)
    return [(h * h).sum().item() for h in product]


@loop
def shared_weights(lib: Library) -> Losses:
    model = lib.nn.Sequential(lib.nn.Linear(6, 6, bias=False), lib.nn.Linear(6, 6, bias=False)).double()
    model[1].weight = model[0].weight
    model.load_state_dict({name: lib.tensor(np.eye(6) / 2) for name in model.state_dict()})
    optimizer = lib.sgd(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(4):
        optimizer.zero_grad()
        loss = lib.nn.MSELoss()(model(lib.tensor(X)), lib.tensor(X))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return [*losses, len(list(model.parameters()))]


@loop
def an_average_of_the_weights(lib: Library) -> Losses:
    model = model_of(lib)
    average = {name: x.clone() for name, x in model.state_dict().items()}
    optimizer = lib.sgd(model.parameters(), lr=0.5)
    for _ in range(4):
        epochs(lib, model, optimizer, 1)
        with lib.no_grad():
            for name, x in model.state_dict().items():
                average[name].mul_(0.9).add_(x, alpha=0.1)
    return [x.sum().item() for x in average.values()]


@loop
def a_recurrence_cut_in_time(lib: Library) -> Losses:
    w, u = (lib.tensor(x, requires_grad=True) for x in (np.eye(4) * 0.9, np.full((4, 6), 0.1)))
    optimizer = lib.sgd([w, u], lr=0.1)
    losses = []
    for _ in range(3):
        h: Any = lib.tensor(np.zeros(4))
        loss: Any = 0
        for t in range(10):
            h = (w @ h + u @ lib.tensor(X[t])).tanh()
            loss = loss + (h**2).sum()
            h = h.detach() if t == 5 else h
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


@loop
def logistic_regression_from_scratch(lib: Library) -> Losses:
    w, b = (lib.tensor(np.zeros(shape), requires_grad=True) for shape in ((6, 3), (3,)))
    losses = []
    for _ in range(5):
        log_p = (lib.tensor(X) @ w + b).log_softmax(1)
        loss = -log_p[range(32), lib.tensor(Y)].mean()
        loss.backward()
        losses.append(loss.item())
        with lib.no_grad():
            for p in (w, b):
                p -= 0.5 * p.grad  # noqa: PLW2901  (in place)
                p.grad.zero_()
    return losses


@loop
def rows_of_a_table(lib: Library) -> Losses:
    table = lib.tensor(np.arange(12.0).reshape(4, 3) / 10, requires_grad=True)
    optimizer = lib.sgd([table], lr=0.1, maximize=True)
    for _ in range(3):
        optimizer.zero_grad()
        (-((table[lib.tensor([0, 2, 0])] - 1) ** 2)).sum().backward()
        optimizer.step()
    return table.detach().reshape(-1).tolist()


@loop
def a_closure(lib: Library) -> Losses:
    x = lib.tensor(np.array([1.0, -2.0]), requires_grad=True)
    optimizer = lib.sgd([x], lr=0.1)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = ((x - 3) ** 2).sum()
        loss.backward()
        return loss

    return [optimizer.step(closure).item() for _ in range(4)]


@loop
def evaluation(lib: Library) -> Losses:
    model = model_of(lib)
    model.eval()
    right = total = 0
    with lib.no_grad():
        for first in BATCHES:
            labels = lib.tensor(Y[first : first + 8])
            found = model(lib.tensor(X[first : first + 8])).argmax(dim=1)
            total += labels.size(0)
            right += (found == labels).sum().item()
    return [right / total]


@loop
def a_step_down_a_plane(lib: Library) -> Losses:
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    optimizer = lib.sgd([x], lr=0.001)
    (100 * x).sum().backward()
    optimizer.step()
    return x.tolist()


@loop
def a_prediction_cut_off(lib: Library) -> Losses:
    x = lib.tensor([1.0, 2.0], requires_grad=True)
    optimizer = lib.sgd([x], lr=0.001, momentum=0.9, weight_decay=0.1)
    cut = (100 * x).clone().detach().requires_grad_()
    cut.sum().backward()
    optimizer.step()
    return x.tolist() + cut.grad.tolist() + [float(x.grad is None)]


@loop
def the_first_gradients(lib: Library) -> Losses:
    a, b = lib.tensor([2.0, 3.0], requires_grad=True), lib.tensor([6.0, 4.0], requires_grad=True)
    (3 * a**3 - b**2).backward(gradient=lib.tensor([1.0, 1.0]))
    return a.grad.tolist() + b.grad.tolist()
