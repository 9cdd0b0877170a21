"""``checkpoint``: saves memory by computing values again."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import NUMPY_TYPES, active_trace, is_value
from funcgrad._core.tracebacks import folded
from funcgrad._ops.program.checkpoint import checkpointed
from funcgrad._transforms.base.arguments import (
    check_callable,
    name_of,
    taken,
)
from funcgrad._transforms.base.bodies import stage_body
from funcgrad._transforms.base.pickled import picklable
from funcgrad.tree import flatten, unflatten

F = TypeVar("F", bound=Callable[..., Any])


@picklable
def checkpoint(f: F) -> F:
    """Make a function for which reverse mode keeps only the arguments. Other values are computed again when needed.

    A chain of ``n`` steps cut into ``sqrt(n)`` checkpointed pieces needs memory for about ``2 * sqrt(n)`` steps instead
    of ``n``, and the time of one more forward pass. Under a transform the function runs on types alone, as under `jit`.

    Args:
        f: a function of pytrees. Leaves that are no arrays are passed on unchanged.

    Returns:
        A function with the same values and derivatives.

    Raises:
        ConcretizationTypeError: under a transform ``f`` needs a number, and only the type is known.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> @fg.checkpoint
        ... def block(h, xs):
        ...     return fg.scan(lambda h, x: (np.tanh(h + x), None), h, xs)[0]
        >>> def loss(xs):  # 10 blocks of 10 steps
        ...     return fg.scan(lambda h, block_xs: (block(h, block_xs), None), 0.0, xs)[0]
        >>> fg.grad(loss)(np.zeros((10, 10))).shape
        (10, 10)

    Source: Griewank and Walther, *Evaluating Derivatives*, 2nd edition (2008), chapter 12; ``jax.checkpoint``.
    """
    check_callable("checkpoint", f)

    @folded
    @functools.wraps(f)
    def rematerialised(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = flatten((args, kwargs))
        leaves = [taken(x) for x in leaves]
        if active_trace() is None and all(type(x) in NUMPY_TYPES or not is_value(x) for x in leaves):
            return f(*args, **kwargs)
        arrays = [x for x in leaves if is_value(x)]

        def flat(values: list) -> Any:
            rest = iter(values)
            new_args, new_kwargs = unflatten(in_tree, [next(rest) if is_value(x) else x for x in leaves])
            return f(*new_args, **new_kwargs)

        body = stage_body("checkpoint", flat, [aval_of(x) for x in arrays], name_of(f))
        return unflatten(body.out_tree, checkpointed(body.graph, [*body.captured, *arrays]))

    return rematerialised  # pyright: ignore[reportReturnType]  (wraps keeps the signature)
