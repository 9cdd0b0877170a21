"""Graphs whose values are overwritten after they were recorded, on PyTorch's tensors and on ours.

Each takes the library's ``autograd``, its ``tensor`` and its optimizers. Those of `REFUSED` end in an error, those of
`ALLOWED` return gradients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Call = Callable[[Any, Any, Any], Any]


def leaf(t: Any, *numbers: float) -> Any:
    return t(np.array(numbers), requires_grad=True)


def _unrecorded(m: Any, function: Callable[[], Any]) -> None:
    with m.no_grad():
        function()


def _assign(x: Any) -> None:
    x[0] = 7.0


def _square(m: Any, t: Any, write: Callable[[Any], Any], times: int = 1) -> None:
    """Write to the operand of a square between two passes."""
    x = leaf(t, 1.0, 2.0)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    for _ in range(times):
        _unrecorded(m, lambda: write(x))
    y.backward()


def _result(m: Any, t: Any, write: Callable[[Any], Any]) -> None:
    """Write to the result of an exponential before the pass."""
    y = leaf(t, 1.0, 2.0).exp()
    _unrecorded(m, lambda: write(y))
    y.sum().backward()


def _step(m: Any, t: Any, o: Any, **options: Any) -> None:
    x = leaf(t, 1.0, 2.0)
    optimizer = o.SGD([x], lr=0.1, **options)
    y = (x**3).sum()
    for _ in range(2):
        y.backward(retain_graph=True)
        optimizer.step()


def _second_layer(m: Any, t: Any, o: Any) -> None:
    """Step one of two players, while the other's loss still depends on its weights."""
    x, w, v = t(np.ones((3, 2))), t(np.ones((2, 2)), requires_grad=True), t(np.ones((2, 1)), requires_grad=True)
    fake = x @ w
    judged = (fake @ v).sum()
    (fake.detach() @ v).sum().backward()
    o.SGD([v], lr=0.1).step()
    judged.backward()


def _gradient_cleared(m: Any, t: Any, o: Any) -> None:
    """Compute a loss of a gradient that is set to zero before the pass."""
    x, w = leaf(t, 1.0, 2.0), leaf(t, 3.0, 4.0)
    (x**2).sum().backward()
    y = (x.grad * w).sum()
    o.SGD([x], lr=0.1).zero_grad(set_to_none=False)
    y.backward()


def _gradient_accumulated(m: Any, t: Any, o: Any) -> None:
    x, w = leaf(t, 1.0, 2.0), leaf(t, 3.0, 4.0)
    (x**2).sum().backward()
    y = (x.grad * w).sum()
    (x**2).sum().backward()
    y.backward()


def _recorded_pass(m: Any, t: Any, o: Any) -> None:
    """Do the same in a pass that is itself recorded."""
    x = leaf(t, 1.0, 2.0)
    y = (x**3).sum()
    _unrecorded(m, lambda: x.mul_(2.0))
    m.grad(y, x, create_graph=True)


REFUSED: dict[str, Call] = {
    "subtracted": lambda m, t, o: _square(m, t, lambda x: x.sub_(1.0)),
    "subtracted twice": lambda m, t, o: _square(m, t, lambda x: x.sub_(1.0), times=2),
    "set to zero": lambda m, t, o: _square(m, t, lambda x: x.zero_()),
    "filled": lambda m, t, o: _square(m, t, lambda x: x.fill_(3.0)),
    "copied": lambda m, t, o: _square(m, t, lambda x: x.copy_(t(np.ones(2)))),
    "assigned into": lambda m, t, o: _square(m, t, _assign),
    "written through a cut": lambda m, t, o: _square(m, t, lambda x: x.detach().add_(1.0)),
    "written through a view": lambda m, t, o: _square(m, t, lambda x: x.detach()[1:].add_(1.0)),
    "a result": lambda m, t, o: _result(m, t, lambda y: y.mul_(2.0)),
    "a part of a result": lambda m, t, o: _result(m, t, _assign),
    "a step": _step,
    "a step with momentum": lambda m, t, o: _step(m, t, o, momentum=0.9, nesterov=True),
    "a step of the other": _second_layer,
    "a gradient cleared": _gradient_cleared,
    "a gradient accumulated": _gradient_accumulated,
    "a recorded pass": _recorded_pass,
}


def _written_before(m: Any, t: Any, o: Any) -> list[Any]:
    x = leaf(t, 1.0, 2.0)
    _unrecorded(m, lambda: x.mul_(3.0))
    (x * x).sum().backward()
    return [x.grad]


def _not_needed(m: Any, t: Any, o: Any) -> list[Any]:
    """A sum does not keep its operand, and a product with a constant does not keep the other factor."""
    x = leaf(t, 1.0, 2.0)
    y = x.sum() + (x * t(np.array([3.0, 4.0]))).sum()
    _unrecorded(m, lambda: x.zero_())
    y.backward()
    return [x.grad]


def _result_not_needed(m: Any, t: Any, o: Any) -> list[Any]:
    x = leaf(t, 1.0, 2.0)
    y = x * x
    _unrecorded(m, lambda: y.mul_(10.0))
    (y * 2).sum().backward()
    return [x.grad, y.detach()]


def _read_again(m: Any, t: Any, o: Any) -> list[Any]:
    """A value that is written to in each round is recorded again in each round."""
    x = leaf(t, 1.0, 2.0)
    optimizer = o.SGD([x], lr=0.1, momentum=0.9)
    for _ in range(5):
        y = (x**3).sum()
        optimizer.zero_grad(set_to_none=False)
        y.backward()
        optimizer.step()
    return [x.grad, x.detach()]


def _copy_written(m: Any, t: Any, o: Any) -> list[Any]:
    x = leaf(t, 1.0, 2.0)
    y = x.clone()
    z = (x * x).sum() + (y * y).sum()
    _unrecorded(m, lambda: x.detach().clone().zero_())
    z.backward()
    return [x.grad]


ALLOWED: dict[str, Call] = {
    "written before": _written_before,
    "not needed": _not_needed,
    "a result not needed": _result_not_needed,
    "read again": _read_again,
    "a copy": _copy_written,
}
