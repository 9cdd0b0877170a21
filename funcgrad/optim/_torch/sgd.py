"""``SGD``: PyTorch's optimizer over the rule of SGD."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad.optim._state.sgd import SGDState
from funcgrad.optim._torch.optimizer import required
from funcgrad.optim._torch.rule_optimizer import RuleOptimizer


class SGD(RuleOptimizer):
    """Stochastic gradient descent with momentum: PyTorch's optimizer, over `sgd_update`.

    The rule is that of `funcgrad.sgd_update`, each parameter group with its own options. NumPy values are updated in
    place; JAX values by one compiled step, whose numbers are data and which takes the memory of the old values.
    Parameters keep their identity.

    Args:
        params: tensors, ``(name, tensor)`` pairs, parameter groups, or a pytree of arrays; see `Optimizer`.
        lr: learning rate, in parameter units per gradient unit; required, as long as the groups do not all give it
            (newer PyTorch takes 0.001).
        momentum: what remains of the buffer after each step, dimensionless.
        dampening: what is kept from the gradient when it enters the buffer, dimensionless; not at the first step.
        weight_decay: the factor of the penalty ``weight_decay / 2 * p**2``.
        nesterov: look ahead along the buffer.
        maximize: go uphill.
        foreach: kept for the reader of a PyTorch program: every step handles all parameters together.
        differentiable: record the step, so that gradients flow through it.
        learning_rate: another name of ``lr``.

    Raises:
        HyperparameterError: a value is out of range, in PyTorch's words; a ``ValueError``.

    Example:
        >>> from funcgrad.autograd import tensor
        >>> from funcgrad.optim import SGD
        >>> x = tensor([1.0, 2.0], requires_grad=True)
        >>> optimizer = SGD([x], lr=0.001)
        >>> (100 * x).sum().backward()
        >>> optimizer.step()
        >>> x
        tensor([0.9000, 1.9000], requires_grad=True)

    Source: ``torch.optim.SGD``; for the rule see `funcgrad.sgd_update`.
    """

    kind = SGDState

    def __init__(
        self,
        params: Any,
        lr: Any = required,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        learning_rate: Any = required,
    ) -> None:
        if learning_rate is not required:
            if lr is not required:
                raise TypeError("SGD: lr and learning_rate are given; needed one of them. They are the same.")
            lr = learning_rate
        options = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
        options |= {"nesterov": nesterov, "maximize": maximize, "foreach": foreach, "differentiable": differentiable}
        super().__init__(params, options)

    def step(self, closure: Callable[[], Any] | None = None, *, grads: Any = None) -> Any:
        """Take one step with the gradients that `backward` has left, or with given ones.

        Args:
            closure: computes the loss anew, with gradients, and returns it.
            grads: a pytree of gradients, ``None`` where there is none, with leaves in the order of the parameters: what
                ``fg.grad`` returns for them.

        Returns:
            What ``closure`` returned; with ``grads`` the new parameters, as the pytree of arrays that was given to the
            constructor (a list where it was given tensors).

        Example:
            >>> import numpy as np
            >>> from funcgrad.optim import SGD
            >>> params = {"weight": np.array([1.0, 2.0])}
            >>> optimizer = SGD(params, lr=0.5)
            >>> optimizer.step(grads={"weight": np.array([1.0, 0.0])})
            {'weight': array([0.5, 2. ])}
        """
        return self.take_step(closure, grads)
