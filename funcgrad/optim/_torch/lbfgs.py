"""``LBFGS``: PyTorch's quasi-Newton optimizer, which calls the closure several times in a step.

It is no rule over single leaves: a direction belongs to all parameters together, and a line search evaluates the loss.
Vectors here are NumPy arrays of all parameters, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._types import ArrayLike, Params, ScalarLike
from funcgrad.autograd import enable_grad, no_grad
from funcgrad.autograd.extend import rebuild
from funcgrad.optim._torch.line_search import strong_wolfe
from funcgrad.optim._torch.optimizer import Optimizer

_LEAST_CURVATURE = 1e-10


class LBFGS(Optimizer):
    """L-BFGS: quasi-Newton steps from the last few changes of the gradient.

    Args:
        params: the parameters, in one group.
        lr: the length of a step, in units of the direction; the first trial with a line search.
        max_iter: the most iterations of one `step`.
        max_eval: the most evaluations of the closure in one `step`; ``max_iter * 5 // 4`` by default.
        tolerance_grad: a step ends where no element of the gradient is greater.
        tolerance_change: a step ends where neither parameters nor loss change by more.
        history_size: how many changes are remembered.
        line_search_fn: ``"strong_wolfe"``, or ``None`` for steps of fixed length.

    Raises:
        ValueError: there are several groups, or ``lr`` is negative.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.optim import LBFGS
        >>> x = tensor([-1.2, 1.0], requires_grad=True)
        >>> optimizer = LBFGS([x], max_iter=60, line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = 100 * (x[1] - x[0] ** 2) ** 2 + (1 - x[0]) ** 2
        ...     loss.backward()
        ...     return loss
        >>> loss = optimizer.step(closure)
        >>> bool((x.detach() - 1).abs().max() < 1e-3)
        True

    Source: ``torch.optim.LBFGS``; Nocedal and Wright, *Numerical Optimization*, 2nd edition (2006), algorithms 7.4 and
    7.5.
    """

    def __init__(  # noqa: PLR0917  (PyTorch's arguments, by position too)
        self,
        params: Params,
        lr: ScalarLike = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        if not float(lr) >= 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take one step of up to ``max_iter`` iterations.

        Args:
            closure: computes the loss again, with gradients, and returns it.

        Returns:
            The loss before the step.

        Raises:
            TypeError: there is no closure.
            RuntimeError: the line search is unknown.
        """
        if closure is None:
            raise TypeError("LBFGS.step: the closure is missing; a step evaluates the loss several times. Pass one.")
        group = self.param_groups[0]
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise RuntimeError("only 'strong_wolfe' is supported")
        first: list[Any] = []

        def evaluate() -> tuple[float, np.ndarray]:
            with enable_grad():
                loss = closure()
            first.append(loss)
            return float(loss.detach() if hasattr(loss, "detach") else loss), self._gradient()

        _iterate(self, group, evaluate)
        return first[0]

    def _gradient(self) -> np.ndarray:
        parts = [(p, np.zeros(p.shape, p.dtype) if p.grad is None else p.grad) for p in self.param_groups[0]["params"]]
        return np.concatenate([_real(_array(g)) for _, g in parts])

    def values(self) -> np.ndarray:
        """Return the numbers of all parameters as one vector."""
        return np.concatenate([_real(_array(p)) for p in self.param_groups[0]["params"]])

    def put(self, values: np.ndarray) -> None:
        """Write the numbers of one vector to the parameters."""
        start = 0
        with no_grad():
            for p in self.param_groups[0]["params"]:
                dtype = np.dtype(p.dtype)
                count = int(np.prod(p.shape, dtype=int)) * (2 if dtype.kind == "c" else 1)
                part = values[start : start + count]
                start += count
                numbers = part.view(dtype) if dtype.kind == "c" else part.astype(dtype)
                p.copy_(rebuild(numbers.reshape(p.shape), False))


def _array(x: ArrayLike) -> np.ndarray:
    return np.asarray(x.detach().numpy() if hasattr(x, "detach") else x)


def _real(x: np.ndarray) -> np.ndarray:
    """Return the elements as a vector of real numbers; a complex number is two of them."""
    flat = np.ascontiguousarray(x).reshape(-1)
    return flat.view(np.finfo(flat.dtype).dtype) if flat.dtype.kind == "c" else flat


def _iterate(optimizer: LBFGS, group: dict[str, Any], evaluate: Callable[[], tuple[float, np.ndarray]]) -> None:
    """Run the iterations of a step."""
    state = optimizer.state[group["params"][0]]
    state.setdefault("func_evals", 0)
    state.setdefault("n_iter", 0)
    loss, gradient = evaluate()
    evaluations, iterations = 1, 0
    state["func_evals"] += 1
    while iterations < group["max_iter"] and np.max(np.abs(gradient), initial=0) > group["tolerance_grad"]:
        iterations += 1
        state["n_iter"] += 1
        direction = _direction(state, gradient, group["history_size"])
        state["d"], state["prev_flat_grad"], before = _tensor(direction), _tensor(gradient), loss
        length = float(group["lr"])
        if state["n_iter"] == 1:
            length *= min(1.0, 1.0 / float(np.sum(np.abs(gradient))))
        slope = float(gradient @ direction)
        state["t"], state["prev_loss"] = length, before
        if slope > -group["tolerance_change"]:
            break
        count, start = 0, optimizer.values()
        if group["line_search_fn"] is not None:

            def along(t: float) -> tuple[float, np.ndarray]:
                optimizer.put(start + t * direction)  # noqa: B023  (called within this round)
                found = evaluate()
                optimizer.put(start)  # noqa: B023  (called within this round)
                return found

            most = group["max_eval"] - evaluations
            loss, gradient, length, count = strong_wolfe(along, length, direction, (loss, gradient, slope), most)
            optimizer.put(start + length * direction)
        else:
            optimizer.put(start + length * direction)
            if iterations != group["max_iter"]:
                loss, gradient = evaluate()
                count = 1
        state["t"] = length
        evaluations += count
        state["func_evals"] += count
        small = np.max(np.abs(direction * length), initial=0) <= group["tolerance_change"]
        if evaluations >= group["max_eval"] or small or abs(loss - before) < group["tolerance_change"]:
            break


def _direction(state: dict[str, Any], gradient: np.ndarray, size: int) -> np.ndarray:
    """Remember the last change of the gradient, and return the quasi-Newton direction (two loops over the history)."""
    if state["n_iter"] == 1:
        state.update(old_dirs=[], old_stps=[], ro=[], H_diag=_tensor(np.ones((), gradient.dtype)))
        return -gradient
    change = gradient - _array(state["prev_flat_grad"])
    step = _array(state["d"]) * gradient.dtype.type(state["t"])
    curvature = change @ step
    if curvature > _LEAST_CURVATURE:
        if len(state["old_dirs"]) == size:
            for name in ("old_dirs", "old_stps", "ro"):
                state[name].pop(0)
        state["old_dirs"].append(_tensor(change))
        state["old_stps"].append(_tensor(step))
        state["ro"].append(_tensor(1.0 / curvature))
        state["H_diag"] = _tensor(curvature / (change @ change))
    history = [[_array(x) for x in state[name]] for name in ("old_dirs", "old_stps", "ro")]
    pairs = list(zip(*history, strict=True))
    q, shares = -gradient, []
    for y, s, inverse in reversed(pairs):
        shares.append((s @ q) * inverse)
        q = q - shares[-1] * y
    q = q * _array(state["H_diag"])
    for (y, s, inverse), share in zip(pairs, reversed(shares), strict=True):
        q = q + s * (share - (y @ q) * inverse)
    return q


def _tensor(x: ArrayLike) -> Any:
    return rebuild(np.asarray(x), False)
