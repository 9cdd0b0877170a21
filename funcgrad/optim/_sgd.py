"""``sgd_update``: the rule of SGD over the leaves of a pytree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import is_value
from funcgrad._ops.arithmetic import add_p, sub_p
from funcgrad._ops.cast import cast, cast_p
from funcgrad._ops.fill import full_like_p
from funcgrad._ops.index import slice_axis
from funcgrad._ops.select import select_p
from funcgrad._ops.shape import reshape
from funcgrad.errors import TreeMismatchError
from funcgrad.optim._hyperparameters import Schedule, as_leaf, check_ranges, is_host
from funcgrad.optim._rule import Hyper, step, step_numpy
from funcgrad.optim._state import SGDState
from funcgrad.tree import TreeDef, flatten, flatten_up_to, key_paths, unflatten

_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)
_BUFFERS = frozenset({np.ndarray, type(None)})
_KEEPS = frozenset({float, type(None)})


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

    Args:
        grads: a pytree like ``params``; where it has ``None``, parameter and buffer stay as they are, and the first
            time is still to come.
        state: what `sgd_init` or the previous step returned.
        params: a pytree of float or complex arrays.

    Returns:
        ``(params, state)``, new ones; what was given is not modified, and the new state shares no memory with the old
        one or with the gradients.

    Raises:
        TreeMismatchError: gradients or state do not fit the parameters, in structure, shape or kind; names the leaf.

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
    leaves, treedef = flatten(params)
    gradients = flatten_up_to(treedef, grads, "sgd_update: grads")
    buffers = flatten_up_to(treedef, state.buffers, "sgd_update: state.buffers")
    _check_state(state, buffers, leaves, treedef)
    hyper = _hyper_of(state)
    keeps = _keeps(state, len(leaves))
    stepper = _Stepper(hyper, treedef)
    results = [
        stepper.step(i, p, g, buffer, keep)
        for i, (p, g, buffer, keep) in enumerate(zip(leaves, gradients, buffers, keeps, strict=True))
    ]
    new_params = unflatten(treedef, [p for p, _ in results])
    new_buffers = unflatten(treedef, [buffer for _, buffer in results])
    return new_params, _advanced(state, new_buffers, gradients)


class _Stepper:
    """Steps of one update: which form of the rule a leaf takes, with the hyperparameters in its dtype."""

    def __init__(self, hyper: Hyper, treedef: TreeDef) -> None:
        self._hyper = hyper
        self._treedef = treedef
        self._known = hyper.known
        self._in_dtype: dict[np.dtype, Hyper] = {}

    def step(self, i: int, p: Any, g: Any, buffer: Any, keep: Any) -> tuple[Any, Any]:
        if g is None:
            return p, buffer.copy() if type(buffer) is np.ndarray else buffer
        try:
            fits = g.shape == p.shape and g.dtype == p.dtype
        except AttributeError:
            # A Python number.
            fits = False
        if not fits:
            g = self._conform(i, g, p)
        dtype = getattr(p, "dtype", None)
        if dtype is not None and (dtype.kind == "V" or dtype.itemsize == 2):
            buffer = None if buffer is None else cast(buffer, _FLOAT32)
            p, buffer = self._step(cast(p, _FLOAT32), cast(g, _FLOAT32), buffer, keep)
            return cast(p, dtype), None if buffer is None else cast(buffer, dtype)
        return self._step(p, g, buffer, keep)

    def _step(self, p: Any, g: Any, buffer: Any, keep: Any) -> tuple[Any, Any]:
        if self._known:
            hyper = self._hyper
            # 0-d arrays become NumPy scalars, which cannot be written to.
            if type(p) is type(g) is np.ndarray and p.shape and type(buffer) in _BUFFERS and type(keep) in _KEEPS:
                return step_numpy(p, g, buffer, keep, hyper)
        else:
            dtype = aval_of(p).dtype
            hyper = self._in_dtype.get(dtype) or self._in_dtype.setdefault(dtype, self._hyper.in_dtype(dtype))
        if keep is not None and type(keep) is not float:
            keep = cast(keep, aval_of(p).dtype)
        return step(p, g, buffer, keep, hyper)

    def _conform(self, i: int, g: Any, p: Any) -> Any:
        """A gradient of another dtype, cast to that of its parameter; what does not fit is refused."""
        if not is_value(g):
            self._refuse(i, f"a {type(g).__name__}", p)
        g_aval, p_aval = aval_of(g), aval_of(p)
        kind_fits = g_aval.dtype.kind not in "biu" and (g_aval.dtype.kind != "c" or p_aval.dtype.kind == "c")
        if g_aval.shape != p_aval.shape or not (kind_fits or g_aval.weak):
            self._refuse(i, str(g_aval), p)
        return g if g_aval.weak else cast(g, p_aval.dtype)

    def _refuse(self, i: int, arrived: str, p: Any) -> NoReturn:
        raise TreeMismatchError(
            f"sgd_update: the gradient of params{key_paths(self._treedef)[i]} is {arrived}; needed {aval_of(p)}, the "
            "type of the parameter, or None. Pass what fg.grad returned for these parameters."
        )


def _same_type(buffer: Any, p: Any) -> bool:
    try:
        return buffer.shape == p.shape and buffer.dtype == p.dtype
    except AttributeError:
        # A Python number.
        return aval_of(buffer).shape == aval_of(p).shape


def _check_state(state: SGDState, buffers: Sequence[Any], leaves: Sequence[Any], treedef: TreeDef) -> None:
    """Refuse a state that was made for other parameters."""
    for i, (buffer, p) in enumerate(zip(buffers, leaves, strict=True)):
        if buffer is not None and not _same_type(buffer, p):
            raise TreeMismatchError(
                f"sgd_update: the buffer of params{key_paths(treedef)[i]} is {aval_of(buffer)}; needed {aval_of(p)}, "
                "the type of the parameter. Pass the state that sgd_init made for these parameters."
            )


def _hyper_of(state: SGDState) -> Hyper:
    lr = state.lr
    if isinstance(lr, Schedule):
        lr = as_leaf("lr", lr.function(int(state.step) if is_host(state.step) else state.step))
        check_ranges({"lr": lr})
    numbers = [float(x) if is_host(x) else x for x in (lr, state.momentum, state.weight_decay)]
    flags = [bool(x) if is_host(x) else x for x in (state.nesterov, state.maximize)]
    return Hyper(*numbers, *flags)


def _keeps(state: SGDState, count: int) -> Sequence[Any]:
    """Per leaf what the gradient is multiplied by when it enters the buffer; ``None``: the buffer begins with it."""
    started, dampening = state.started, state.dampening
    if started is None:
        # Without dampening a buffer that has not begun is zero, and the gradient is added to it.
        return [1.0] * count
    # In a JAX trace without 64 bits the cast makes float32 of the float64 that a step under fg.jit left.
    keep = 1 - float(dampening) if is_host(dampening) else sub_p(1, cast_p(dampening, dtype=_FLOAT64))
    if type(started) is np.ndarray:
        return [keep if has_started else None for has_started in started.tolist()]
    if type(keep) is float:
        if keep == 1:
            # What has not started has a zero buffer, to which the gradient is added.
            return [keep] * count
        keep = np.float64(keep)
    keeps = select_p(started, keep, full_like_p(keep, value=1))
    return [reshape(slice_axis(keeps, 0, i, i + 1), ()) for i in range(count)]


def _advanced(state: SGDState, buffers: Any, gradients: Sequence[Any]) -> SGDState:
    """The state after the step; its hyperparameters are the same objects."""
    started = state.started
    if started is not None:
        present = np.array([g is not None for g in gradients], bool)
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
        state.foreach,
        state.differentiable,
    )


def _either(present: np.ndarray, started: Any) -> Any:
    return present | started if type(started) is np.ndarray else select_p(present, present, started)
