"""optax's transformations, both ways: ``to_optax`` and ``from_optax``. optax is imported when one of them is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from funcgrad._core.bind import is_value
from funcgrad._core.lazy import LazyModule
from funcgrad._ops.elementwise.arithmetic import add_p, sub_p
from funcgrad._ops.layout.fill import zeros_like
from funcgrad._public import publish
from funcgrad.errors import TreeMismatchError
from funcgrad.interop.jax import from_jax
from funcgrad.tree import flatten, flatten_up_to, key_paths, unflatten

__all__ = ["from_optax", "to_optax"]

_optax = LazyModule("optax")

Init = Callable[..., Any]
Update = Callable[[Any, Any, Any], tuple[Any, Any]]


def to_optax(init: Init, update: Update, **options: Any) -> Any:
    """Make a pair of ``init`` and ``update`` an ``optax.GradientTransformation``.

    It goes wherever optax's go: into ``optax.chain``, ``optax.MultiSteps``, ``optax.masked``, a ``TrainState``. Its
    state is the one that ``init`` makes, so that hyperparameters are changed by its ``replace``, and compile nothing
    anew. What is given as a ``jax.Array`` is read in each step instead, as ``optax.inject_hyperparams`` needs it.

    An update is the new parameter minus the old one, rounded so that ``optax.apply_updates`` gives the new parameter to
    the last bit. It does not always where a parameter changes its sign, or shrinks to less than half, in one step: no
    number of its dtype may lead there. What is then left is below the spacing of numbers at the update. Where there is
    no gradient (``None``), the update is zero.

    Args:
        init: ``init(params, **options) -> state``, such as `adamw_init`.
        update: ``update(grads, state, params) -> (params, state)``, such as `adamw_update`.
        options: what ``init`` is given beside the parameters.

    Returns:
        The transformation. Its ``update`` needs the parameters.

    Raises:
        ValueError: from its ``update``, where the parameters are not given.

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

    def begin(params: Any) -> Any:
        return init(params, **options)

    def step(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        if params is None:
            name = getattr(update, "__name__", "update")
            raise ValueError(
                f"to_optax: {name} was asked for without parameters; needed those that it is to change. Call "
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


def _is_data(value: Any) -> bool:
    """Whether a hyperparameter may be another array in the next call."""
    return is_value(value) and not isinstance(value, int | float | complex | np.generic | np.ndarray)


def _difference(new: Any, old: Any) -> Any:
    """What added to the old parameter gives the new one."""
    change = sub_p(new, old)
    # Where the difference is rounded, so that the sum misses, this is by how much.
    return add_p(change, sub_p(new, add_p(old, change)))


def from_optax(transformation: Any) -> tuple[Init, Update]:
    """Make a transformation of optax's a pair of ``init`` and ``update`` as ours are.

    It runs as one function of JAX's under `from_jax`: compiled, on NumPy and JAX arrays, with NumPy's dtypes (float64
    stays float64), inside `jit`, `grad` and `vmap`.

    Args:
        transformation: an ``optax.GradientTransformation``, such as ``optax.adam(1e-3)``, or a chain of them.

    Returns:
        ``(init, update)``: ``init(params) -> state`` and ``update(grads, state, params, **extra) -> (params, state)``,
        where ``extra`` goes to transformations that take more arguments, such as the loss.

    Raises:
        TreeMismatchError: from ``update``, where a gradient is missing; optax has no steps without.

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

    def optax_init(params: Any) -> Any:
        return transformation.init(params)

    def optax_update(grads: Any, state: Any, params: Any, extra: Mapping[str, Any]) -> tuple[Any, Any]:
        updates, state = transformation.update(grads, state, params, **extra)
        return _optax.apply_updates(params, updates), state

    begin, step = from_jax(optax_init), from_jax(optax_update)

    def init(params: Any) -> Any:
        """Make the state with which the transformation begins."""
        return begin(params)

    def update(grads: Any, state: Any, params: Any, **extra: Any) -> tuple[Any, Any]:
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
