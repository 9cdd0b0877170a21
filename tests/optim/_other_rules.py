"""Rules of other optimizers, each one record, with PyTorch's names and formulas (``torch.optim``, one tensor)."""

from __future__ import annotations

from typing import Any

from funcgrad import numpy as fnp
from funcgrad.optim._rules.pytorch import PyTorch
from funcgrad.optim._rules.rule import Flag, Number, Rule, Slot
from funcgrad.optim._state.state import STATIC, Hyperparameter, SlotTree, State
from funcgrad.optim._torch.rule_optimizer import RuleOptimizer
from funcgrad.tree import register_dataclass


def _beta(index: int, default: float) -> Number:
    return Number(
        f"beta{index + 1}",
        default,
        f"Invalid beta parameter at index {index}: {{}}",
        lambda value: 0 <= value < 1,
        option=("betas", index),
    )


def _adam(p: Any, g: Any, slots: dict[str, Any], hyper: Any, t: Any) -> tuple[Any, dict[str, Any]]:
    d = -g if hyper.maximize else g
    if hyper.weight_decay is not None:
        d = d + hyper.weight_decay * p
    first = hyper.beta1 * slots["first"] + (1 - hyper.beta1) * d
    second = hyper.beta2 * slots["second"] + (1 - hyper.beta2) * (d * d)
    new = {"first": first, "second": second}
    if hyper.amsgrad:
        new["greatest"] = fnp.maximum(slots["greatest"], second)
    root = fnp.sqrt(new.get("greatest", second)) / fnp.sqrt(1 - hyper.beta2**t) + hyper.eps
    return p - hyper.lr / (1 - hyper.beta1**t) * (first / root), new


ADAM = Rule(
    "adam",
    hyperparameters=(
        Number("lr", 1e-3, "Invalid learning rate: {}", schedule=True),
        _beta(0, 0.9),
        _beta(1, 0.999),
        Number("eps", 1e-8, "Invalid epsilon value: {}"),
        Number("weight_decay", 0.0, "Invalid weight_decay value: {}", optional=True),
        Flag("amsgrad"),
        Flag("maximize"),
    ),
    slots=(
        Slot("first", "exp_avg"),
        Slot("second", "exp_avg_sq"),
        Slot("greatest", "max_exp_avg_sq", exists=lambda hyper: hyper.amsgrad),
    ),
    step=_adam,
    counts=lambda hyper: True,
    torch=PyTorch(counted="step"),
)


@register_dataclass(meta_fields=STATIC, when_made=True)
class AdamState(State):
    rule = ADAM
    lr, beta1, beta2, eps, weight_decay = (Hyperparameter() for _ in range(5))
    amsgrad, maximize = Hyperparameter(), Hyperparameter()
    firsts, seconds, greatests = SlotTree("first"), SlotTree("second"), SlotTree("greatest")


class Adam(RuleOptimizer):
    kind = AdamState

    def __init__(self, params: Any, lr: Any = 1e-3, betas: Any = (0.9, 0.999), **others: Any) -> None:
        options = {"eps": 1e-8, "weight_decay": 0, "amsgrad": False, "maximize": False}
        later = {"foreach": None, "differentiable": False}
        super().__init__(params, {"lr": lr, "betas": betas, **options, **later, **others})

    def step(self, closure: Any = None, *, grads: Any = None) -> Any:
        return self.take_step(closure, grads)


def _nadam(p: Any, g: Any, slots: dict[str, Any], hyper: Any, t: Any) -> tuple[Any, dict[str, Any]]:
    mu = hyper.beta1 * (1 - 0.5 * 0.96 ** (t * hyper.momentum_decay))
    next_mu = hyper.beta1 * (1 - 0.5 * 0.96 ** ((t + 1) * hyper.momentum_decay))
    product = slots["product"] * mu
    first = hyper.beta1 * slots["first"] + (1 - hyper.beta1) * g
    second = hyper.beta2 * slots["second"] + (1 - hyper.beta2) * (g * g)
    root = fnp.sqrt(second / (1 - hyper.beta2**t)) + hyper.eps
    p = p - hyper.lr * (1 - mu) / (1 - product) * (g / root)
    p = p - hyper.lr * next_mu / (1 - product * next_mu) * (first / root)
    return p, {"first": first, "second": second, "product": product}


NADAM = Rule(
    "nadam",
    hyperparameters=(
        Number("lr", 2e-3, "Invalid learning rate: {}", schedule=True),
        _beta(0, 0.9),
        _beta(1, 0.999),
        Number("eps", 1e-8, "Invalid epsilon value: {}"),
        Number("momentum_decay", 4e-3, "Invalid momentum_decay value: {}"),
    ),
    slots=(
        Slot("first", "exp_avg"),
        Slot("second", "exp_avg_sq"),
        Slot("product", "mu_product", begin=1.0, scalar=True),
    ),
    step=_nadam,
    counts=lambda hyper: True,
    torch=PyTorch(counted="step"),
)


@register_dataclass(meta_fields=STATIC, when_made=True)
class NAdamState(State):
    rule = NADAM
    lr, beta1, beta2, eps, momentum_decay = (Hyperparameter() for _ in range(5))
    firsts, seconds, products = SlotTree("first"), SlotTree("second"), SlotTree("product")


class NAdam(RuleOptimizer):
    kind = NAdamState

    def __init__(self, params: Any, lr: Any = 2e-3, betas: Any = (0.9, 0.999)) -> None:
        options = {"eps": 1e-8, "momentum_decay": 4e-3, "foreach": None, "differentiable": False}
        super().__init__(params, {"lr": lr, "betas": betas, **options})

    def step(self, closure: Any = None, *, grads: Any = None) -> Any:
        return self.take_step(closure, grads)
