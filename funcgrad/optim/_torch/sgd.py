"""``SGD``: PyTorch's optimizer over the functional rule. It gathers what a step reads and puts back what it gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.bind import is_foreign
from funcgrad._engines import engine_scope
from funcgrad._ops.fill import zeros_like
from funcgrad._transforms.jit import jit
from funcgrad.autograd import enable_grad
from funcgrad.autograd._base import TRACE, is_tensor, set_value
from funcgrad.autograd._mode import recorded
from funcgrad.autograd._writes import note_writes
from funcgrad.errors import HyperparameterError
from funcgrad.optim._run.blocks import Known, Move, write_steps
from funcgrad.optim._sgd import sgd_update
from funcgrad.optim._state.sgd import SGDState
from funcgrad.optim._torch.optimizer import Optimizer, required
from funcgrad.tree import flatten

# A parameter and its gradient; a group and those of its parameters that have one.
_Pair = tuple[Any, Any]
_Members = tuple[dict[str, Any], list[_Pair]]

# What older checkpoints may lack.
_LATER_OPTIONS = {"nesterov": False, "maximize": False, "foreach": None, "differentiable": False}


class SGD(Optimizer):
    """Stochastic gradient descent with momentum: PyTorch's optimizer, over `sgd_update`.

    The rule is that of `funcgrad.sgd_update`, each parameter group with its own options. NumPy values are updated in
    place; JAX values by one compiled step, whose learning rate is data and which takes the memory of the old values.
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
    ) -> None:
        if is_tensor(lr) and lr.size != 1:
            raise ValueError("Tensor lr must be 1-element")
        _check("Invalid learning rate: {}", 0 if lr is required else _number(lr))
        _check("Invalid momentum value: {}", momentum)
        _check("Invalid weight_decay value: {}", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise HyperparameterError("Nesterov momentum requires a momentum and zero dampening")
        later = {"nesterov": nesterov, "maximize": maximize, "foreach": foreach, "differentiable": differentiable}
        rule = {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay}
        super().__init__(params, {**rule, **later})

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, default in _LATER_OPTIONS.items():
                group.setdefault(name, default)

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
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        given = None if grads is None else iter(self._given(grads))
        rest = []
        for group in self.param_groups:
            if given is None:
                pairs = [(p, gradient) for p in group["params"] if (gradient := p.grad) is not None]
            else:
                pairs = [(p, g) for p in group["params"] if (g := next(given)) is not None]
            if pairs and group["differentiable"]:
                self._step_recorded(group, pairs)
            elif pairs and (left := self._step_in_place(group, pairs)):
                rest.append((group, left))
        if rest:
            self._step_purely(rest)
        return loss if grads is None else self._tree()

    def _given(self, grads: Any) -> list[Any]:
        count = sum(len(group["params"]) for group in self.param_groups)
        leaves = flatten(grads, lambda x: x is None)[0]
        if len(leaves) != count:
            raise ValueError(
                f"SGD.step: grads has {len(leaves)} leaves; needed {count}, one for each parameter. Pass what fg.grad "
                "returned for the parameters, with None for those without gradient."
            )
        return leaves

    def _step_in_place(self, group: dict[str, Any], pairs: list[_Pair]) -> list[_Pair]:
        """Step where values are NumPy arrays that can be written to; returns what is left."""
        momentum, keep = float(group["momentum"]), 1 - float(group["dampening"])
        # Also for what is left, whose memory a compiled step takes.
        note_writes([p for p, _ in pairs])
        moves = []
        rest = []
        for p, gradient in pairs:
            value = p.value
            g = gradient.value if is_tensor(gradient) else gradient
            if type(value) is not np.ndarray or type(g) is not np.ndarray or not _fits(value, g):
                rest.append((p, gradient))
            elif momentum == 0:
                moves.append(Move(value, g, None, None, value, None))
            else:
                buffer = self.state[p].get("momentum_buffer")
                if buffer is None:
                    array = np.empty_like(value)
                    self.state[p]["momentum_buffer"] = TRACE.constant(array)
                    moves.append(Move(value, g, None, None, value, array))
                else:
                    note_writes((buffer,))
                    moves.append(Move(value, g, buffer.value, keep, value, buffer.value))
        if moves:
            write_steps(moves, _known(group))
        return rest

    def _step_purely(self, groups: list[_Members]) -> None:
        """Step all groups by one ``sgd_update``: compiled where values are JAX's, whose old ones it may overwrite."""
        updates: list[tuple[bool, Callable[..., Any]]] = [(True, _compiled_update), (False, sgd_update)]
        for kind, update in updates:
            chosen = [(group, [pair for pair in pairs if is_foreign(pair[0].value) is kind]) for group, pairs in groups]
            chosen = [(group, pairs) for group, pairs in chosen if pairs]
            if chosen:
                values = [[p.value for p, _ in pairs] for _, pairs in chosen]
                grads = [[g.value if is_tensor(g) else g for _, g in pairs] for _, pairs in chosen]
                # In the 64-bit mode what JAX holds stays there: outside, wide results would come back in NumPy.
                with engine_scope(values[0]):
                    new, state = update(grads, self._state_of(chosen, values), values)
                for (_, pairs), new_values, buffers in zip(chosen, new, state.buffers, strict=True):
                    self._put_back(pairs, new_values, buffers)

    def _step_recorded(self, group: dict[str, Any], pairs: list[_Pair]) -> None:
        """Step on the tensors themselves; each parameter takes over the history of its new value."""
        with recorded(True):
            params = [p for p, _ in pairs]
            state = self._state_of([(group, pairs)], [params])
            (new,), state = sgd_update([[g for _, g in pairs]], state, [[p.clone() for p in params]])
        for p, value, buffer in zip(params, new, state.buffers[0], strict=True):
            p.value, p.node = value.value, value.node
            if buffer is not None:
                self.state[p]["momentum_buffer"] = buffer if is_tensor(buffer) else TRACE.constant(buffer)

    def _state_of(self, groups: list[_Members], values: list[list[Any]]) -> SGDState:
        """Groups and buffers as the state of ``sgd_update``: hyperparameters are lists with one for each group."""
        options: dict[str, Any] = {
            name: [np.float64(_number(group[name])) for group, _ in groups]
            for name in ("lr", "momentum", "dampening", "weight_decay")
        }
        options |= {name: [np.bool_(group[name]) for group, _ in groups] for name in ("nesterov", "maximize")}
        buffers = []
        begun = []
        for (group, pairs), group_values in zip(groups, values, strict=True):
            if group["momentum"] == 0:
                buffers.append([None] * len(pairs))
                continue
            held = [self.state[p].get("momentum_buffer") for p, _ in pairs]
            begun += [buffer is not None for buffer in held]
            buffers.append(
                [
                    zeros_like(value) if buffer is None else buffer if group["differentiable"] else buffer.value
                    for buffer, value in zip(held, group_values, strict=True)
                ]
            )
        damped = any(group["momentum"] != 0 and group["dampening"] != 0 for group, _ in groups)
        return SGDState(**options, step=np.int32(0), buffers=buffers, started=np.array(begun) if damped else None)

    def _put_back(self, pairs: list[_Pair], values: list[Any], buffers: list[Any]) -> None:
        for (p, _), value, buffer in zip(pairs, values, buffers, strict=True):
            if type(p.value) is np.ndarray:
                np.copyto(p.value, value)
            else:
                set_value(p, value)
            if buffer is not None:
                held = self.state[p].get("momentum_buffer")
                if held is None:
                    self.state[p]["momentum_buffer"] = TRACE.constant(buffer)
                else:
                    set_value(held, buffer)


_compiled_update: Callable[..., Any] = jit(sgd_update, donate_argnums=(1, 2))


def _number(value: Any) -> Any:
    return value.item() if is_tensor(value) or isinstance(value, np.ndarray) else value


def _check(message: str, number: Any) -> None:
    """Refuse a number out of range; NaN is out of every range."""
    if not number >= 0:
        raise HyperparameterError(message.format(number))


def _known(group: dict[str, Any]) -> Known:
    return Known(
        float(group["lr"]),
        float(group["momentum"]),
        float(group["weight_decay"]),
        bool(group["nesterov"]),
        bool(group["maximize"]),
    )


def _fits(value: np.ndarray, g: np.ndarray) -> bool:
    """Whether the step can be computed in the parameter's own dtype, and memory."""
    dtype = value.dtype
    return g.dtype is dtype and g.shape == value.shape and dtype.itemsize > 2 and value.flags.writeable
