"""``sgd_init`` and ``sgd_update``: the rule of SGD as a pair of pure functions."""

from __future__ import annotations

from typing import Any

from funcgrad.optim._rules.rule import REQUIRED
from funcgrad.optim._state.begin import begin
from funcgrad.optim._state.sgd import SGDState
from funcgrad.optim._update import update


def sgd_init(
    params: Any,
    *,
    lr: Any = REQUIRED,
    momentum: Any = 0.0,
    dampening: Any = 0.0,
    weight_decay: Any = 0.0,
    nesterov: Any = False,
    maximize: Any = False,
    foreach: bool | None = None,
    differentiable: bool = False,
    master_dtype: Any = None,
    learning_rate: Any = REQUIRED,
) -> SGDState:
    """Make the state with which `sgd_update` begins.

    Any of ``lr, momentum, dampening, weight_decay, nesterov, maximize`` may be a pytree that is a prefix of ``params``,
    with a value for each part of it: what parameter groups are to an optimizer with state.

    Args:
        params: a pytree of float or complex arrays; only its structure, shapes, dtypes and devices are used.
        lr: learning rate, zero or positive, in parameter units per gradient unit: a number, an array of shape ``[]``,
            or a function of the number of steps already taken (0 at the first step). A function is static: it is
            compared by identity, so pass the same one each time.
        momentum: what remains of the buffer after each step, dimensionless. Without it there are no buffers.
        dampening: what is kept from the gradient when it enters the buffer, dimensionless; not at the first step.
        weight_decay: the factor of the penalty ``weight_decay / 2 * params**2``, in gradient units per parameter unit.
        nesterov: look ahead along the buffer; needs momentum, and no dampening.
        maximize: go uphill.
        foreach: how many small parameters are handled. ``True`` keeps the momentum buffers packed (`fg.tree.ravel`):
            one flat buffer for each dtype and device, and parameters and gradients are packed and unpacked within each
            step; give packed parameters to spare that too. ``False`` takes one parameter at a time. ``None`` decides in
            each step: NumPy arrays of at most 65,536 elements are stepped together where there are eight or more of one
            kind; larger ones gain nothing. What XLA compiles is then taken one at a time, because its CPU backend takes
            six times as long to compile the cutting of a flat result into parameters. The numbers are the same.
        differentiable: kept for the reader of a PyTorch program; derivatives go through `sgd_update` in any case.
        master_dtype: a float dtype such as ``"float32"``: the state holds a copy in it of each parameter of a narrower
            dtype, steps that copy, and rounds it to the parameter. Small steps then add up that would be lost in
            bfloat16 or float16. The copies are made here; parameters that are changed elsewhere need a new state.
        learning_rate: another name of ``lr``; one of them must be given.

    Returns:
        The state. A number in it is data, to be changed by `SGDState.replace` without recompilation; a flag, or a
        momentum, dampening or weight decay given as the Python number 0, is structure. Pass an array
        (``np.float64(0)``) for a 0 that is to be data.

    Raises:
        HyperparameterError: a value is out of range (NaN is out of every range).
        TypeError: a parameter is not a float or complex array, a hyperparameter is not a single number, or there is no
            learning rate.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> params = {"weight": np.array([1.0, 2.0])}
        >>> state = fg.sgd_init(params, lr=0.1, momentum=0.9)
        >>> params, state = fg.sgd_update({"weight": np.array([1.0, 0.0])}, state, params)
        >>> params["weight"]
        array([0.9, 2. ])
    """
    if (lr is REQUIRED) == (learning_rate is REQUIRED):
        arrived = "lr is not given" if lr is REQUIRED else "lr and learning_rate are given"
        raise TypeError(
            f"sgd_init: {arrived}; needed one of lr and learning_rate. They are the same: pass lr=0.1, say."
        )
    given = {
        "lr": learning_rate if lr is REQUIRED else lr,
        "momentum": momentum,
        "dampening": dampening,
        "weight_decay": weight_decay,
        "nesterov": nesterov,
        "maximize": maximize,
    }
    return begin(SGDState, params, given, foreach=foreach, differentiable=differentiable, master_dtype=master_dtype)


def sgd_update(grads: Any, state: SGDState, params: Any, *, into: Any = None) -> tuple[Any, SGDState]:
    """Take one step of stochastic gradient descent: PyTorch's rule, as a pure function.

    For each parameter ``p`` with gradient ``g``::

        d = -g if maximize else g
        d = d + weight_decay * p
        buffer = d                                              the first time
        buffer = momentum * buffer + (1 - dampening) * d        afterwards
        d = d + momentum * buffer if nesterov else buffer       where momentum is not 0
        p = p - lr * d

    It works on NumPy and JAX arrays, inside ``fg.jit`` and ``jax.jit`` (donate ``state`` and ``params``), and under
    ``fg.grad``. float16 and bfloat16 parameters are computed with in float32 and rounded once.

    A gradient may be `fg.sparse.Rows`. Without momentum only these rows are touched: in place where XLA may reuse the
    parameter, on NumPy in a copy of it. With momentum every row moves, as by the same gradient in full. With weight
    decay such a gradient is refused, compiled or not.

    Args:
        grads: a pytree like ``params``; where it has ``None``, parameter and buffer stay as they are, and the first
            time is still to come.
        state: what `sgd_init` or the previous step returned.
        params: a pytree of float or complex arrays.
        into: memory to write the results to, as ``(params, state)``: NumPy arrays in it take the new parameters and
            buffers, and come back. They may be those that are given, which are then updated in place.

    Returns:
        ``(params, state)``, new ones; what was given is not modified, and the new state shares no memory with the old
        one or with the gradients, as long as ``into`` does not say otherwise.

    Raises:
        TypeError: ``state`` is no state.
        TreeMismatchError: gradients, hyperparameters or state do not fit the parameters, in structure, shape or kind;
            names the leaf.
        HyperparameterError: a schedule gives a number out of range, a parameter with momentum has no buffer, or a
            gradient of rows meets weight decay.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> params = [np.array([1.0]), np.array([5.0])]
        >>> state = fg.sgd_init(params, lr=0.5)
        >>> params, state = fg.sgd_update([np.array([1.0]), None], state, params)
        >>> params, int(state.step)
        ([array([0.5]), array([5.])], 1)

    Source: Sutskever, Martens, Dahl and Hinton, *On the importance of initialization and momentum in deep learning*
    (2013), equations 1 to 4, in the form of ``torch.optim.SGD``: the learning rate multiplies the buffer and is no part
    of it, and the first buffer is the gradient itself, undampened.
    """
    return update(SGDState, grads, state, params, into)
