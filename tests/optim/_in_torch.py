"""Optimizers that PyTorch lacks, as classes of its kind: their papers' formulas, to compare with."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# Not an import statement: the type checker runs where PyTorch is not installed.
torch = import_module("torch")


class Lion(torch.optim.Optimizer):
    """Chen et al. (2023), algorithm 2."""

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-4,
        betas: Any = (0.9, 0.99),
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        options = {"lr": lr, "betas": betas, "weight_decay": weight_decay, "maximize": maximize}
        super().__init__(params, {**options, "foreach": foreach, "differentiable": differentiable})

    @torch.no_grad()
    def step(self, closure: Any = None) -> Any:
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self._step(p, group)

    def _step(self, p: Any, group: Any) -> None:
        (beta1, beta2), lr = group["betas"], group["lr"]
        state = self.state[p]
        m = state.setdefault("exp_avg", torch.zeros_like(p))
        g = -p.grad if group["maximize"] else p.grad
        p.mul_(1 - lr * group["weight_decay"])
        c = beta1 * m + (1 - beta1) * g
        p.sub_(lr * (torch.complex(_sign(c.real), _sign(c.imag)) if c.is_complex() else _sign(c)))
        m.mul_(beta2).add_((1 - beta2) * g)


def _sign(x: Any) -> Any:
    """PyTorch's sign of NaN is 0; the formula's is NaN."""
    return torch.where(x.isnan(), x, x.sign())


CLASSES = {"Lion": Lion}
