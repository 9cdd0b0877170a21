"""autograd's optimizers, with its signatures and results: loops over a gradient ``grad(x, i)``.

`funcgrad.optim` has PyTorch's rules for training. The functions here have other defaults, another definition of
momentum and other initial averages.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._public import publish
from funcgrad._types import ArrayLike, PyTree
from funcgrad.interop.autograd.misc.flatten import flatten

__all__ = ["adam", "rmsprop", "sgd"]

Gradient = Callable[[Any, int], Any]
Callback = Callable[[Any, int, Any], Any] | None


def _unflattened(optimize: Callable[..., Any]) -> Callable[..., Any]:
    """Convert an optimizer of vectors into an optimizer of trees."""

    @functools.wraps(optimize)
    def of_nested(grad: Gradient, x0: ArrayLike, callback: Callback = None, *args: Any, **kwargs: Any) -> Any:
        x, unflatten = flatten(x0)

        def flat_grad(x: PyTree, i: int) -> Any:
            return flatten(grad(unflatten(x), i))[0]

        notify = None if callback is None else lambda x, i, g: callback(unflatten(x), i, unflatten(g))
        return unflatten(optimize(flat_grad, x, notify, *args, **kwargs))

    return of_nested


@_unflattened
def sgd(
    grad: Gradient,
    x: PyTree,
    callback: Callback = None,
    num_iters: int = 200,
    step_size: float = 0.1,
    mass: float = 0.9,
) -> Any:
    """Descend with momentum: ``v = mass v - (1 - mass) g``, ``x = x + step_size v``.

    Args:
        grad: the gradient ``grad(x, i)`` at step ``i``.
        x: the start, a tree with the structure of the gradient.
        callback: called with ``(x, i, g)`` before each step.
        num_iters: the number of steps.
        step_size: in units of ``x`` per unit of the gradient.
        mass: the share of the velocity that each step keeps, dimensionless.

    Returns:
        The last ``x``.

    Example:
        >>> from funcgrad.interop.autograd.misc.optimizers import sgd
        >>> round(float(sgd(lambda x, i: 2 * (x - 3), 0.0)), 4)
        3.0

    Source: Polyak, *Some Methods of Speeding Up the Convergence of Iteration Methods* (1964), scaled as in
    autograd 1.9.
    """
    velocity = np.zeros(len(x))
    for i in range(num_iters):
        g = grad(x, i)
        if callback is not None:
            callback(x, i, g)
        velocity = mass * velocity - (1.0 - mass) * g
        x = x + step_size * velocity
    return x


@_unflattened
def rmsprop(  # noqa: PLR0917  (autograd's signature)
    grad: Gradient,
    x: PyTree,
    callback: Callback = None,
    num_iters: int = 100,
    step_size: float = 0.1,
    gamma: float = 0.9,
    eps: float = 10**-8,
) -> Any:
    """Descend with RMSprop: ``s = gamma s + (1 - gamma) g**2``, 1 at first, ``x = x - step_size g / (sqrt(s) + eps)``.

    Args:
        grad: as for `sgd`.
        x: as for `sgd`.
        callback: as for `sgd`.
        num_iters: as for `sgd`.
        step_size: in units of ``x``.
        gamma: the share of the average that each step keeps, dimensionless.
        eps: in units of the gradient.

    Returns:
        The last ``x``.

    Example:
        >>> from funcgrad.interop.autograd.misc.optimizers import rmsprop
        >>> round(float(rmsprop(lambda x, i: 2 * (x - 3), 0.0)), 1)
        3.0

    Source: Tieleman and Hinton, lecture 6.5 of *Neural Networks for Machine Learning* (2012).
    """
    average = np.ones(len(x))
    for i in range(num_iters):
        g = grad(x, i)
        if callback is not None:
            callback(x, i, g)
        average = average * gamma + g**2 * (1 - gamma)
        x = x - step_size * g / (np.sqrt(average) + eps)
    return x


@_unflattened
def adam(  # noqa: PLR0917  (autograd's signature)
    grad: Gradient,
    x: PyTree,
    callback: Callback = None,
    num_iters: int = 100,
    step_size: float = 0.001,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 10**-8,
) -> Any:
    """Descend with Adam.

    Args:
        grad: as for `sgd`.
        x: as for `sgd`.
        callback: as for `sgd`.
        num_iters: as for `sgd`.
        step_size: in units of ``x``.
        b1: the share of the average of gradients that each step keeps, dimensionless.
        b2: the share of the average of squares that each step keeps, dimensionless.
        eps: in units of the gradient.

    Returns:
        The last ``x``.

    Example:
        >>> from funcgrad.interop.autograd.misc.optimizers import adam
        >>> round(float(adam(lambda x, i: 2 * (x - 3), 0.0, num_iters=300, step_size=0.1)), 2)
        3.0

    Source: Kingma and Ba, *Adam* (2015), algorithm 1.
    """
    m, v = np.zeros(len(x)), np.zeros(len(x))
    for i in range(num_iters):
        g = grad(x, i)
        if callback is not None:
            callback(x, i, g)
        m = (1 - b1) * g + b1 * m
        v = (1 - b2) * g**2 + b2 * v
        x = x - step_size * (m / (1 - b1 ** (i + 1))) / (np.sqrt(v / (1 - b2 ** (i + 1))) + eps)
    return x


__dir__ = publish(__name__)
