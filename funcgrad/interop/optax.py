"""Convert optimizers to optax's transformations and back: ``to_optax`` and ``from_optax``.

optax is imported at the first call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from funcgrad._core.bind import is_value
from funcgrad._core.lazy import LazyModule
from funcgrad._ops.elementwise.arithmetic import add_p, sub_p
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._public import publish
from funcgrad._types import Grads, Params, PyTree, Value
from funcgrad.errors import TreeMismatchError
from funcgrad.interop.jax import from_jax
from funcgrad.tree import flatten, flatten_up_to, key_paths, unflatten

__all__ = ["from_optax", "to_optax"]

_optax = LazyModule("optax")

Init = Callable[..., Any]
Update = Callable[[Any, Any, Any], tuple[Any, Any]]


def to_optax(init: Init, update: Update, **options: Any) -> Any:
    """Convert a pair of ``init`` and ``update`` to an ``optax.GradientTransformation``.

    The result is accepted by ``optax.chain``, ``optax.MultiSteps``, ``optax.masked`` and a ``TrainState``. Its state is
    the result of ``init``, so its ``replace`` changes hyperparameters without a new compilation. A hyperparameter given
    as a ``jax.Array`` is read in each step, as ``optax.inject_hyperparams`` needs it.

    An update is the new parameter minus the old one, rounded so that ``optax.apply_updates`` gives the new parameter to
    the last bit. If a parameter changes its sign or shrinks to less than half in one step, the dtype may have no such
    difference; the error is then below the spacing of numbers at the update. The update of a missing gradient
    (``None``) is zero.

    Args:
        init: ``init(params, **options) -> state``, such as `adamw_init`.
        update: ``update(grads, state, params) -> (params, state)``, such as `adamw_update`.
        options: the other arguments of ``init``.

    Returns:
        The transformation. Its ``update`` needs the parameters.

    Raises:
        ValueError: its ``update`` was called without parameters.

    Example:
        >>> import jax.numpy as jnp
        >>> import optax
        >>> import funcgrad as fg
        >>> from funcgrad.interop.optax import to_optax
        >>> rule = to_optax(fg.optim.adamw_init, fg.optim.adamw_update, lr=0.5, weight_decay=0)
        >>> optimizer = optax.chain(optax.clip_by_global_norm(1.0), rule)
        >>> params = {"w": jnp.array([1.0, 2.0])}
        >>> state = optimizer.init(params)
        >>> updates, state = optimizer.update({"w": jnp.array([3.0, -4.0])}, state, params)
        >>> print(optax.apply_updates(params, updates)["w"].round(4))
        [0.5 2.5]
    """
    read_anew = {name: value for name, value in options.items() if _is_data(value)}

    def begin(params: Params) -> Any:
        return init(params, **options)

    def step(updates: PyTree, state: PyTree, params: Params = None) -> tuple[Any, Any]:
        if params is None:
            name = getattr(update, "__name__", "update")
            raise ValueError(
                f"to_optax: {name} was called without parameters; needed the parameters to update. Call "
                "optimizer.update(grads, state, params)."
            )
        if read_anew:
            state = state.replace(**read_anew)
        new, state = update(updates, state, params)
        before, treedef = flatten(params)
        grads = flatten_up_to(treedef, updates, "to_optax: grads")
        after = flatten_up_to(treedef, new, "to_optax: the new parameters")
        changes = [
            zeros_like(p) if g is None else _difference(q, p) for p, g, q in zip(before, grads, after, strict=True)
        ]
        return unflatten(treedef, changes), state

    return _optax.GradientTransformation(begin, step)


def _is_data(value: Value) -> bool:
    """Return whether a hyperparameter may be another array in the next call."""
    return is_value(value) and not issubclass(type(value), int | float | complex | np.generic | np.ndarray)


def _difference(new: Value, old: Value) -> Any:
    """Return the difference that, added to the old parameter, gives the new one."""
    change = sub_p(new, old)
    # Add the error that the rounding of the difference leaves in the sum.
    return add_p(change, sub_p(new, add_p(old, change)))


def from_optax(transformation: Any) -> tuple[Init, Update]:
    """Convert a transformation of optax's to a pair of ``init`` and ``update`` like ours.

    It runs as one JAX function under `from_jax`: compiled, on NumPy and JAX arrays, with NumPy's dtypes (float64 stays
    float64), inside `jit`, `grad` and `vmap`.

    Args:
        transformation: an ``optax.GradientTransformation``, such as ``optax.adam(1e-3)``, or a chain of them.

    Returns:
        ``(init, update)``: ``init(params) -> state`` and ``update(grads, state, params, **extra) -> (params, state)``.
        ``extra`` is passed to transformations that have more arguments, such as the loss.

    Raises:
        TreeMismatchError: a gradient passed to ``update`` is missing; optax has no steps without gradients.

    Example:
        >>> import numpy as np
        >>> import optax
        >>> from funcgrad.interop.optax import from_optax
        >>> init, update = from_optax(optax.sgd(0.5))
        >>> params = {"w": np.array([1.0, 2.0])}
        >>> params, state = update({"w": np.array([1.0, -1.0])}, init(params), params)
        >>> params["w"]
        array([0.5, 2.5])
    """
    transformation = _optax.with_extra_args_support(transformation)

    def optax_init(params: Params) -> Any:
        return transformation.init(params)

    def optax_update(grads: Grads, state: PyTree, params: Params, extra: Mapping[str, Any]) -> tuple[Any, Any]:
        updates, state = transformation.update(grads, state, params, **extra)
        return _optax.apply_updates(params, updates), state

    begin, step = from_jax(optax_init), from_jax(optax_update)

    def init(params: Params) -> Any:
        """Return the first state of the transformation."""
        return begin(params)

    def update(grads: Grads, state: PyTree, params: Params, **extra: Any) -> tuple[Any, Any]:
        """Take one step: ``(grads, state, params) -> (params, state)``."""
        treedef = flatten(params)[1]
        for i, g in enumerate(flatten_up_to(treedef, grads, "update: grads")):
            if g is None:
                raise TreeMismatchError(
                    f"update: grads{key_paths(treedef)[i]} is None; needed an array, since optax has no steps "
                    "without a gradient. Pass zeros, or use optax.masked."
                )
        return step(grads, state, params, extra)

    return init, update


__dir__ = publish(__name__)
