# The types of the optimizers that are made of rules. `python -m tests.optim.make_stubs` writes this file.
# fmt: off
from collections.abc import Callable
from typing import Any

from funcgrad.optim._state.state import State
from funcgrad.optim._torch.rule_optimizer import RuleOptimizer

class ASGDState(State):
    lr: Any
    lambd: Any
    alpha: Any
    t0: Any
    weight_decay: Any
    maximize: Any
    eta: Any
    mu: Any
    ax: Any

def asgd_init(
    params: Any, *, lr: Any = 0.01, lambd: Any = 0.0001, alpha: Any = 0.75, t0: Any = 1000000.0,
    weight_decay: Any = 0.0, maximize: Any = False, foreach: bool | None = None, differentiable: bool = False,
    master_dtype: Any = None, learning_rate: Any = ...,
) -> ASGDState: ...
def asgd_update(
    grads: Any, state: ASGDState, params: Any, *, into: Any = ...,
) -> tuple[Any, ASGDState]: ...

class ASGD(RuleOptimizer):
    def __init__(
        self, params: Any, lr: Any = 0.01, lambd: Any = 0.0001, alpha: Any = 0.75, t0: Any = 1000000.0,
        weight_decay: Any = 0.0, foreach: bool | None = None, maximize: Any = False, differentiable: bool = False,
        capturable: bool = False, *, learning_rate: Any = ...,
    ) -> None: ...
    def step(self, closure: Callable[[], Any] | None = ..., *, grads: Any = ...) -> Any: ...

class AdadeltaState(State):
    lr: Any
    rho: Any
    eps: Any
    weight_decay: Any
    maximize: Any
    square_avg: Any
    acc_delta: Any

def adadelta_init(
    params: Any, *, lr: Any = 1.0, rho: Any = 0.9, eps: Any = 1e-06, weight_decay: Any = 0.0,
    maximize: Any = False, foreach: bool | None = None, differentiable: bool = False, master_dtype: Any = None,
    learning_rate: Any = ...,
) -> AdadeltaState: ...
def adadelta_update(
    grads: Any, state: AdadeltaState, params: Any, *, into: Any = ...,
) -> tuple[Any, AdadeltaState]: ...

class Adadelta(RuleOptimizer):
    def __init__(
        self, params: Any, lr: Any = 1.0, rho: Any = 0.9, eps: Any = 1e-06, weight_decay: Any = 0.0,
        foreach: bool | None = None, *, capturable: bool = False, maximize: Any = False, differentiable: bool = False,
        learning_rate: Any = ...,
    ) -> None: ...
    def step(self, closure: Callable[[], Any] | None = ..., *, grads: Any = ...) -> Any: ...

class AdagradState(State):
    lr: Any
    lr_decay: Any
    weight_decay: Any
    initial_accumulator_value: Any
    eps: Any
    maximize: Any
    sum: Any

def adagrad_init(
    params: Any, *, lr: Any = 0.01, lr_decay: Any = 0.0, weight_decay: Any = 0.0,
    initial_accumulator_value: Any = 0.0, eps: Any = 1e-10, maximize: Any = False, foreach: bool | None = None,
    differentiable: bool = False, master_dtype: Any = None, learning_rate: Any = ...,
) -> AdagradState: ...
def adagrad_update(
    grads: Any, state: AdagradState, params: Any, *, into: Any = ...,
) -> tuple[Any, AdagradState]: ...

class Adagrad(RuleOptimizer):
    def __init__(
        self, params: Any, lr: Any = 0.01, lr_decay: Any = 0.0, weight_decay: Any = 0.0,
        initial_accumulator_value: Any = 0.0, eps: Any = 1e-10, foreach: bool | None = None, *, maximize: Any = False,
        differentiable: bool = False, fused: bool | None = None, learning_rate: Any = ...,
    ) -> None: ...
    def step(self, closure: Callable[[], Any] | None = ..., *, grads: Any = ...) -> Any: ...

class AdamState(State):
    lr: Any
    beta1: Any
    beta2: Any
    eps: Any
    weight_decay: Any
    amsgrad: Any
    maximize: Any
    decoupled_weight_decay: Any
    exp_avg: Any
    exp_avg_sq: Any
    max_exp_avg_sq: Any
    betas: Any

def adam_init(
    params: Any, *, lr: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, eps: Any = 1e-08,
    weight_decay: Any = 0.0, amsgrad: Any = False, maximize: Any = False, decoupled_weight_decay: Any = False,
    foreach: bool | None = None, differentiable: bool = False, master_dtype: Any = None, learning_rate: Any = ...,
    betas: Any = ...,
) -> AdamState: ...
def adam_update(
    grads: Any, state: AdamState, params: Any, *, into: Any = ...,
) -> tuple[Any, AdamState]: ...

class Adam(RuleOptimizer):
    def __init__(
        self, params: Any, lr: Any = 0.001, betas: Any = ..., eps: Any = 1e-08, weight_decay: Any = 0.0,
        amsgrad: Any = False, *, foreach: bool | None = None, maximize: Any = False, capturable: bool = False,
        differentiable: bool = False, fused: bool | None = None, decoupled_weight_decay: Any = False,
        learning_rate: Any = ...,
    ) -> None: ...
    def step(self, closure: Callable[[], Any] | None = ..., *, grads: Any = ...) -> Any: ...

class AdamaxState(State):
    lr: Any
    beta1: Any
    beta2: Any
    eps: Any
    weight_decay: Any
    maximize: Any
    exp_avg: Any
    exp_inf: Any
    betas: Any

def adamax_init(
    params: Any, *, lr: Any = 0.002, beta1: Any = 0.9, beta2: Any = 0.999, eps: Any = 1e-08,
    weight_decay: Any = 0.0, maximize: Any = False, foreach: bool | None = None, differentiable: bool = False,
    master_dtype: Any = None, learning_rate: Any = ..., betas: Any = ...,
) -> AdamaxState: ...
def adamax_update(
    grads: Any, state: AdamaxState, params: Any, *, into: Any = ...,
) -> tuple[Any, AdamaxState]: ...

class Adamax(RuleOptimizer):
    def __init__(
        self, params: Any, lr: Any = 0.002, betas: Any = ..., eps: Any = 1e-08, weight_decay: Any = 0.0,
        foreach: bool | None = None, *, maximize: Any = False, differentiable: bool = False, capturable: bool = False,
        learning_rate: Any = ...,
    ) -> None: ...
    def step(self, closure: Callable[[], Any] | None = ..., *, grads: Any = ...) -> Any: ...

class AdamWState(State):
    lr: Any
    beta1: Any
    beta2: Any
    eps: Any
    weight_decay: Any
    amsgrad: Any
    maximize: Any
    decoupled_weight_decay: Any
    exp_avg: Any
    exp_avg_sq: Any
    max_exp_avg_sq: Any
    betas: Any

def adamw_init(
    params: Any, *, lr: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, eps: Any = 1e-08,
    weight_decay: Any = 0.01, amsgrad: Any = False, maximize: Any = False, foreach: bool | None = None,
    differentiable: bool = False, master_dtype: Any = None, learning_rate: Any = ..., betas: Any = ...,
) -> AdamWState: ...
def adamw_update(
    grads: Any, state: AdamWState, params: Any, *, into: Any = ...,
) -> tuple[Any, AdamWState]: ...

class AdamW(Adam):
    def __init__(
        self, params: Any, lr: Any = 0.001, betas: Any = ..., eps: Any = 1e-08, weight_decay: Any = 0.01,
        amsgrad: Any = False, *, maximize: Any = False, foreach: bool | None = None, capturable: bool = False,
        differentiable: bool = False, fused: bool | None = None, learning_rate: Any = ...,
    ) -> None: ...
    def step(self, closure: Callable[[], Any] | None = ..., *, grads: Any = ...) -> Any: ...

class LionState(State):
    lr: Any
    beta1: Any
    beta2: Any
    weight_decay: Any
    maximize: Any
    exp_avg: Any
    betas: Any

def lion_init(
    params: Any, *, lr: Any = 0.0001, beta1: Any = 0.9, beta2: Any = 0.99, weight_decay: Any = 0.0,
    maximize: Any = False, foreach: bool | None = None, differentiable: bool = False, master_dtype: Any = None,
    learning_rate: Any = ..., betas: Any = ...,
) -> LionState: ...
def lion_update(
    grads: Any, state: LionState, params: Any, *, into: Any = ...,
) -> tuple[Any, LionState]: ...

class Lion(RuleOptimizer):
    def __init__(
        self, params: Any, lr: Any = 0.0001, betas: Any = ..., weight_decay: Any = 0.0, *,
        foreach: bool | None = None, maximize: Any = False, differentiable: bool = False, learning_rate: Any = ...,
    ) -> None: ...
    def step(self, closure: Callable[[], Any] | None = ..., *, grads: Any = ...) -> Any: ...

class MuonState(State):
    lr: Any
    weight_decay: Any
    momentum: Any
    nesterov: Any
    ns_a: Any
    ns_b: Any
    ns_c: Any
    eps: Any
    ns_steps: Any
    adjust_lr_fn: Any
    momentum_buffer: Any
    ns_coefficients: Any

def muon_init(
    params: Any, *, lr: Any = 0.001, weight_decay: Any = 0.1, momentum: Any = 0.95, nesterov: Any = True,
    ns_a: Any = 3.4445, ns_b: Any = -4.775, ns_c: Any = 2.0315, eps: Any = 1e-07, ns_steps: Any = 5,
    adjust_lr_fn: Any = None, foreach: bool | None = None, differentiable: bool = False, master_dtype: Any = None,
    learning_rate: Any = ..., ns_coefficients: Any = ...,
) -> MuonState: ...
def muon_update(
    grads: Any, state: MuonState, params: Any, *, into: Any = ...,
) -> tuple[Any, MuonState]: ...

class Muon(RuleOptimizer):
    def __init__(
        self, params: Any, lr: Any = 0.001, weight_decay: Any = 0.1, momentum: Any = 0.95, nesterov: Any = True,
        ns_coefficients: Any = ..., eps: Any = 1e-07, ns_steps: Any = 5, adjust_lr_fn: Any = None, *,
        learning_rate: Any = ...,
    ) -> None: ...
    def step(self, closure: Callable[[], Any] | None = ..., *, grads: Any = ...) -> Any: ...

class NAdamState(State):
    lr: Any
    beta1: Any
    beta2: Any
    eps: Any
    weight_decay: Any
    momentum_decay: Any
    decoupled_weight_decay: Any
    maximize: Any
    exp_avg: Any
    exp_avg_sq: Any
    mu_product: Any
    betas: Any

def nadam_init(
    params: Any, *, lr: Any = 0.002, beta1: Any = 0.9, beta2: Any = 0.999, eps: Any = 1e-08,
    weight_decay: Any = 0.0, momentum_decay: Any = 0.004, decoupled_weight_decay: Any = False,
    maximize: Any = False, foreach: bool | None = None, differentiable: bool = False, master_dtype: Any = None,
    learning_rate: Any = ..., betas: Any = ...,
) -> NAdamState: ...
def nadam_update(
    grads: Any, state: NAdamState, params: Any, *, into: Any = ...,
) -> tuple[Any, NAdamState]: ...

class NAdam(RuleOptimizer):
    def __init__(
        self, params: Any, lr: Any = 0.002, betas: Any = ..., eps: Any = 1e-08, weight_decay: Any = 0.0,
        momentum_decay: Any = 0.004, decoupled_weight_decay: Any = False, *, foreach: bool | None = None,
        maximize: Any = False, capturable: bool = False, differentiable: bool = False, learning_rate: Any = ...,
    ) -> None: ...
    def step(self, closure: Callable[[], Any] | None = ..., *, grads: Any = ...) -> Any: ...

class RAdamState(State):
    lr: Any
    beta1: Any
    beta2: Any
    eps: Any
    weight_decay: Any
    decoupled_weight_decay: Any
    maximize: Any
    exp_avg: Any
    exp_avg_sq: Any
    betas: Any

def radam_init(
    params: Any, *, lr: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, eps: Any = 1e-08,
    weight_decay: Any = 0.0, decoupled_weight_decay: Any = False, maximize: Any = False,
    foreach: bool | None = None, differentiable: bool = False, master_dtype: Any = None, learning_rate: Any = ...,
    betas: Any = ...,
) -> RAdamState: ...
def radam_update(
    grads: Any, state: RAdamState, params: Any, *, into: Any = ...,
) -> tuple[Any, RAdamState]: ...

class RAdam(RuleOptimizer):
    def __init__(
        self, params: Any, lr: Any = 0.001, betas: Any = ..., eps: Any = 1e-08, weight_decay: Any = 0.0,
        decoupled_weight_decay: Any = False, *, foreach: bool | None = None, maximize: Any = False,
        capturable: bool = False, differentiable: bool = False, learning_rate: Any = ...,
    ) -> None: ...
    def step(self, closure: Callable[[], Any] | None = ..., *, grads: Any = ...) -> Any: ...

class RMSpropState(State):
    lr: Any
    alpha: Any
    eps: Any
    weight_decay: Any
    momentum: Any
    centered: Any
    maximize: Any
    square_avg: Any
    momentum_buffer: Any
    grad_avg: Any

def rmsprop_init(
    params: Any, *, lr: Any = 0.01, alpha: Any = 0.99, eps: Any = 1e-08, weight_decay: Any = 0.0,
    momentum: Any = 0.0, centered: Any = False, maximize: Any = False, foreach: bool | None = None,
    differentiable: bool = False, master_dtype: Any = None, learning_rate: Any = ...,
) -> RMSpropState: ...
def rmsprop_update(
    grads: Any, state: RMSpropState, params: Any, *, into: Any = ...,
) -> tuple[Any, RMSpropState]: ...

class RMSprop(RuleOptimizer):
    def __init__(
        self, params: Any, lr: Any = 0.01, alpha: Any = 0.99, eps: Any = 1e-08, weight_decay: Any = 0.0,
        momentum: Any = 0.0, centered: Any = False, capturable: bool = False, foreach: bool | None = None,
        maximize: Any = False, differentiable: bool = False, *, learning_rate: Any = ...,
    ) -> None: ...
    def step(self, closure: Callable[[], Any] | None = ..., *, grads: Any = ...) -> Any: ...

class RpropState(State):
    lr: Any
    etaminus: Any
    etaplus: Any
    step_size_min: Any
    step_size_max: Any
    maximize: Any
    prev: Any
    step_size: Any
    etas: Any
    step_sizes: Any

def rprop_init(
    params: Any, *, lr: Any = 0.01, etaminus: Any = 0.5, etaplus: Any = 1.2, step_size_min: Any = 1e-06,
    step_size_max: Any = 50, maximize: Any = False, foreach: bool | None = None, differentiable: bool = False,
    master_dtype: Any = None, learning_rate: Any = ..., etas: Any = ..., step_sizes: Any = ...,
) -> RpropState: ...
def rprop_update(
    grads: Any, state: RpropState, params: Any, *, into: Any = ...,
) -> tuple[Any, RpropState]: ...

class Rprop(RuleOptimizer):
    def __init__(
        self, params: Any, lr: Any = 0.01, etas: Any = ..., step_sizes: Any = ..., *, capturable: bool = False,
        foreach: bool | None = None, maximize: Any = False, differentiable: bool = False, learning_rate: Any = ...,
    ) -> None: ...
    def step(self, closure: Callable[[], Any] | None = ..., *, grads: Any = ...) -> Any: ...

class SGDState(State):
    lr: Any
    momentum: Any
    dampening: Any
    weight_decay: Any
    nesterov: Any
    maximize: Any
    buffers: Any

def sgd_init(
    params: Any, *, lr: Any = ..., momentum: Any = 0, dampening: Any = 0, weight_decay: Any = 0,
    nesterov: Any = False, maximize: Any = False, foreach: bool | None = None, differentiable: bool = False,
    master_dtype: Any = None, learning_rate: Any = ...,
) -> SGDState: ...
def sgd_update(
    grads: Any, state: SGDState, params: Any, *, into: Any = ...,
) -> tuple[Any, SGDState]: ...

class SGD(RuleOptimizer):
    def __init__(
        self, params: Any, lr: Any = ..., momentum: Any = 0, dampening: Any = 0, weight_decay: Any = 0,
        nesterov: Any = False, *, maximize: Any = False, foreach: bool | None = None, differentiable: bool = False,
        fused: bool | None = None, learning_rate: Any = ...,
    ) -> None: ...
    def step(self, closure: Callable[[], Any] | None = ..., *, grads: Any = ...) -> Any: ...

class SparseAdamState(State):
    lr: Any
    beta1: Any
    beta2: Any
    eps: Any
    maximize: Any
    exp_avg: Any
    exp_avg_sq: Any
    betas: Any

def sparse_adam_init(
    params: Any, *, lr: Any = 0.001, beta1: Any = 0.9, beta2: Any = 0.999, eps: Any = 1e-08,
    maximize: Any = False, foreach: bool | None = None, differentiable: bool = False, master_dtype: Any = None,
    learning_rate: Any = ..., betas: Any = ...,
) -> SparseAdamState: ...
def sparse_adam_update(
    grads: Any, state: SparseAdamState, params: Any, *, into: Any = ...,
) -> tuple[Any, SparseAdamState]: ...

class SparseAdam(RuleOptimizer):
    def __init__(
        self, params: Any, lr: Any = 0.001, betas: Any = ..., eps: Any = 1e-08, maximize: Any = False, *,
        learning_rate: Any = ...,
    ) -> None: ...
    def step(self, closure: Callable[[], Any] | None = ..., *, grads: Any = ...) -> Any: ...
