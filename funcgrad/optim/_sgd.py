"""``sgd_update``: the rule of SGD over the leaves of a pytree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._ops.arithmetic import add_p
from funcgrad._ops.select import select_p
from funcgrad.errors import HyperparameterError, TreeMismatchError
from funcgrad.optim._rules.sgd import Hyper
from funcgrad.optim._run.leaf import Leaf, Stepper
from funcgrad.optim._run.packing import step_packed, step_small
from funcgrad.optim._state.sgd import Buckets, SGDState
from funcgrad.optim._state.spread import hypers_of, keeps_of
from funcgrad.tree import TreeDef, flatten, flatten_up_to, key_paths, unflatten


def sgd_update(grads: Any, state: SGDState, params: Any) -> tuple[Any, SGDState]:
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
    decay such a gradient is refused. In a compiled step weight decay is data, of which nothing is known when the step
    is compiled: there the rows of such a gradient become NaN instead, with momentum and without.

    Args:
        grads: a pytree like ``params``; where it has ``None``, parameter and buffer stay as they are, and the first
            time is still to come.
        state: what `sgd_init` or the previous step returned.
        params: a pytree of float or complex arrays.

    Returns:
        ``(params, state)``, new ones; what was given is not modified, and the new state shares no memory with the old
        one or with the gradients.

    Raises:
        TypeError: ``state`` is no state.
        TreeMismatchError: gradients, hyperparameters or state do not fit the parameters, in structure, shape or kind;
            names the leaf.
        HyperparameterError: a schedule gives a number out of range, a parameter with momentum has no buffer, or a
            gradient of rows meets weight decay (under `jit`: NaN in those rows, see above).

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
    if not isinstance(state, SGDState):
        raise TypeError(
            f"sgd_update: state is a {type(state).__name__}; needed an SGDState. The order is (grads, state, params): "
            "pass what sgd_init made, or what the previous step returned."
        )
    leaves, treedef = flatten(params)
    gradients = flatten_up_to(treedef, grads, "sgd_update: grads")
    packed = state.buffers.packed if type(state.buffers) is Buckets else None
    held = state.buffers if packed is None else packed.unpack()
    buffers = flatten_up_to(treedef, held, "sgd_update: state.buffers")
    masters: Sequence[Any] = [None] * len(leaves)
    if state.masters is not None:
        masters = flatten_up_to(treedef, state.masters, "sgd_update: state.masters")
    hypers = hypers_of(state, treedef)
    _check_state(buffers, masters, leaves, treedef)
    _check_momentum(hypers, buffers, treedef)
    rows = zip(leaves, gradients, buffers, masters, keeps_of(state, buffers, treedef), hypers, strict=True)
    given = [Leaf(*row) for row in rows]
    stepper = Stepper(treedef)
    results: list[Any] = [None] * len(given)
    new_packed = None
    if packed is not None:
        new_packed = step_packed(stepper, given, packed, results)
    elif state.foreach is not False:
        step_small(stepper, given, results)
    for i, leaf in enumerate(given):
        if results[i] is None:
            results[i] = stepper.step(i, leaf)
    new_buffers = (
        unflatten(treedef, [buffer for _, buffer, _ in results]) if new_packed is None else Buckets(new_packed)
    )
    new_masters = None if state.masters is None else unflatten(treedef, [master for _, _, master in results])
    new_params = unflatten(treedef, [p for p, _, _ in results])
    return new_params, _advanced(state, new_buffers, new_masters, given)


def _same_type(x: Any, p: Any) -> bool:
    try:
        return x.shape == p.shape and x.dtype == p.dtype
    except AttributeError:
        # A Python number.
        return aval_of(x).shape == aval_of(p).shape


def _check_state(buffers: Sequence[Any], masters: Sequence[Any], leaves: Sequence[Any], treedef: TreeDef) -> None:
    """Refuse a state that was made for other parameters."""
    for i, (buffer, master, p) in enumerate(zip(buffers, masters, leaves, strict=True)):
        if master is not None and master.shape != p.shape:
            _refuse_state("master copy", i, master, p, treedef)
        stepped = p if master is None else master
        if buffer is not None and not _same_type(buffer, stepped):
            _refuse_state("buffer", i, buffer, stepped, treedef)


def _refuse_state(what: str, i: int, arrived: Any, needed: Any, treedef: TreeDef) -> None:
    raise TreeMismatchError(
        f"sgd_update: the {what} of params{key_paths(treedef)[i]} is {aval_of(arrived)}; needed {aval_of(needed)}, "
        "the type of the parameter. Pass the state that sgd_init made for these parameters."
    )


def _check_momentum(hypers: Sequence[Hyper], buffers: Sequence[Any], treedef: TreeDef) -> None:
    """Refuse momentum where the state, made without, holds no buffer."""
    for i, (hyper, buffer) in enumerate(zip(hypers, buffers, strict=True)):
        if buffer is None and type(hyper.momentum) is float and hyper.momentum != 0:
            raise HyperparameterError(
                f"sgd_update: params{key_paths(treedef)[i]} has momentum {hyper.momentum}, but the state holds no "
                "buffer for it: it was made with momentum 0 there. Make a new state with sgd_init."
            )


def _advanced(state: SGDState, buffers: Any, masters: Any, given: Sequence[Leaf]) -> SGDState:
    """The state after the step; its hyperparameters are the same objects."""
    started = state.started
    if started is not None:
        present = np.array([leaf.g is not None for leaf in given if leaf.buffer is not None], bool)
        started = present if present.all() else _either(present, started)
    return SGDState(
        state.lr,
        state.momentum,
        state.dampening,
        state.weight_decay,
        state.nesterov,
        state.maximize,
        add_p(state.step, 1),
        buffers,
        started,
        masters,
        state.foreach,
        state.differentiable,
        state.master_dtype,
    )


def _either(present: np.ndarray, started: Any) -> Any:
    return present | started if type(started) is np.ndarray else select_p(present, present, started)
