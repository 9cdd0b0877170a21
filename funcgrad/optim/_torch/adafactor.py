"""``Adafactor``: PyTorch's optimizer with factored second moments.

It is no rule: the slots of a rule have the parameter's shape, and those of a matrix here are a column and a row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._types import Params
from funcgrad.autograd import enable_grad, no_grad, tensor
from funcgrad.optim._torch.optimizer import Optimizer


class Adafactor(Optimizer):
    """Scale steps by second moments, of which matrices keep the sums over rows and over columns only.

    With ``b = step**beta2_decay`` and ``rho = min(lr, step**-0.5)``, for a matrix ``p`` of gradient ``g``:

    - ``row += b * (mean(g**2 over columns) - row)``, ``col += b * (mean(g**2 over rows) - col)``
    - ``u = g / sqrt(max(row @ col / max(mean(row), eps1), eps1**2))``
    - ``p -= lr * weight_decay * p``, then ``p -= max(eps2, rms(p)) * rho * u / max(1, rms(u) / d)``

    Args:
        params: the parameters, or groups of them.
        lr: the greatest relative step, dimensionless.
        beta2_decay: the exponent of the decay of the second moments, at most 0.
        eps: ``eps1``, which keeps divisors from 0 (by default the machine epsilon), and ``eps2``, the least size of a
            parameter.
        d: updates whose root mean square is greater are scaled down.
        weight_decay: the decay of the parameters, per unit of ``lr``.
        foreach: ignored; PyTorch's choice between two implementations.
        maximize: maximize instead of minimize.

    Raises:
        ValueError: a number is out of range.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.optim import Adafactor
        >>> w = tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        >>> optimizer = Adafactor([w], lr=0.1)
        >>> (w**2).sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([[0.7879, 1.7000],
                [2.7154, 3.7317]])

    Source: ``torch.optim.Adafactor``; Shazeer and Stern, *Adafactor* (2018), algorithms 4 and 5.
    """

    def __init__(
        self,
        params: Params,
        lr: Any = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        for name, value, valid in (
            ("Learning rate should be >= 0", lr, float(lr) >= 0),
            ("beta2_decay should be <= 0", beta2_decay, beta2_decay <= 0),
            ("epsilon1 should be >= 0", eps[0], eps[0] is None or eps[0] >= 0),
            ("epsilon2 should be >= 0", eps[1], eps[1] >= 0),
            ("Clipping threshold d should be >= 1", d, d >= 1),
            ("weight_decay should be >= 0", weight_decay, weight_decay >= 0),
        ):
            if not valid:
                raise ValueError(f"{name} but is: {value}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take one step.

        Args:
            closure: computes the loss again, with gradients, and returns it.

        Returns:
            The loss, or ``None`` without a closure.

        Raises:
            RuntimeError: a parameter is complex.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                held = [p for p in group["params"] if p.grad is not None]
                eps = group["eps"][0]
                for p in held:
                    # As in PyTorch, the first parameter's dtype decides for the group.
                    eps = float(np.finfo(p.dtype).eps) if eps is None else eps
                    _move(p, self.state[p], group, eps)
        return loss


def _move(p: Any, state: dict[str, Any], group: dict[str, Any], eps: float) -> None:
    if p.dtype.kind == "c":
        raise RuntimeError("Adafactor does not support complex parameters")
    g, lr = (-p.grad if group["maximize"] else p.grad), float(group["lr"])
    if not state:
        _begin(state, g)
    state["step"] += 1
    step = state["step"].item()
    share, size = step ** group["beta2_decay"], max(group["eps"][1], _rms(p))
    if group["weight_decay"] != 0:
        p.mul_(1 - lr * group["weight_decay"])
    update = _second_moment(state, g, share, eps).clamp_(min=eps * eps).rsqrt_().mul_(g)
    p.add_(update, alpha=-size * min(lr, step**-0.5) / max(1.0, _rms(update) / group["d"]))


def _begin(state: dict[str, Any], g: Any) -> None:
    state["step"] = tensor(0.0)
    if len(g.shape) > 1:
        state["row_var"] = g.new_zeros((*g.shape[:-1], 1))
        state["col_var"] = g.new_zeros((*g.shape[:-2], 1, g.shape[-1]))
    else:
        state["variance"] = g.new_zeros(g.shape)


def _second_moment(state: dict[str, Any], g: Any, share: float, eps: float) -> Any:
    """Return the estimate of ``g**2`` after this step."""
    if len(g.shape) < 2:
        return state["variance"].lerp_(g * g, share).clone()
    row, col = state["row_var"], state["col_var"]
    row.lerp_((g * g).mean(-1, keepdim=True), share)
    col.lerp_((g * g).mean(-2, keepdim=True), share)
    return (row @ col).div_(row.mean(-2, keepdim=True).clamp_(min=eps))


def _rms(x: Any) -> float:
    return x.norm(2).item() / x.numel() ** 0.5
