"""``checkpoint``: saves memory by computing values again."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import NUMPY_TYPES, active_trace, is_value
from funcgrad._core.graph.ir import Equation
from funcgrad._core.tracebacks import folded
from funcgrad._ops.contract.dense import affine_p, inner_p
from funcgrad._ops.contract.dot import dot_general_p, matmul_p
from funcgrad._ops.program.checkpoint import Policy, checkpointed
from funcgrad._transforms.base.arguments import (
    check_callable,
    name_of,
    taken,
)
from funcgrad._transforms.base.bodies import body_trace, stage_body
from funcgrad._transforms.base.own import call_with_own
from funcgrad._transforms.base.pickled import picklable
from funcgrad.numpy.extend import array_test
from funcgrad.tree import flatten, unflatten

F = TypeVar("F", bound=Callable[..., Any])


def nothing_saveable(equation: Equation) -> bool:
    """Keep no value, as `checkpoint` does without a policy.

    Args:
        equation: the equation whose results are kept or computed again.

    Returns:
        False.

    Example:
        >>> import funcgrad as fg
        >>> block = fg.checkpoint(lambda x: x * x, policy=fg.nothing_saveable)

    Source: ``jax.checkpoint_policies.nothing_saveable``.
    """
    del equation
    return False


def everything_saveable(equation: Equation) -> bool:
    """Keep all values, as reverse mode does without `checkpoint`.

    Args:
        equation: the equation whose results are kept or computed again.

    Returns:
        True.

    Example:
        >>> import funcgrad as fg
        >>> block = fg.checkpoint(lambda x: x * x, policy=fg.everything_saveable)

    Source: ``jax.checkpoint_policies.everything_saveable``.
    """
    del equation
    return True


def dots_saveable(equation: Equation) -> bool:
    """Keep the results of matrix products, which take longest to compute again.

    Args:
        equation: the equation whose results are kept or computed again.

    Returns:
        Whether the equation is a matrix product.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> block = fg.checkpoint(lambda w, x: np.tanh(w @ x), policy=fg.dots_saveable)

    Source: ``jax.checkpoint_policies.dots_saveable``.
    """
    return equation.primitive in (matmul_p, dot_general_p, affine_p, inner_p)


def save_only_these_names(*names: str) -> Callable[[Equation], bool]:
    """Return the policy that keeps the results of operations in blocks of these names (`named`).

    Args:
        names: names of blocks.

    Returns:
        A policy for `checkpoint`.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> def block(w, x):
        ...     with fg.named("hidden"):
        ...         h = w @ x
        ...     return np.sum(np.exp(np.tanh(h)))
        >>> fg.grad(fg.checkpoint(block, policy=fg.save_only_these_names("hidden")))(np.eye(2), np.zeros(2))
        array([[0., 0.],
               [0., 0.]])

    Source: ``jax.checkpoint_policies.save_only_these_names``.
    """
    return _Named(frozenset(names))


class _Named(NamedTuple):
    """The policy of `save_only_these_names`. It is equal to another one of the same names."""

    names: frozenset[str]

    def __call__(self, equation: Equation) -> bool:
        return equation.source is not None and any(block.name in self.names for block in equation.source.blocks)


@picklable
def checkpoint(f: F, *, policy: Policy | None = None) -> F:
    """Make a function for which reverse mode keeps only the arguments. Other values are computed again when needed.

    A chain of ``n`` steps cut into ``sqrt(n)`` checkpointed pieces needs memory for about ``2 * sqrt(n)`` steps instead
    of ``n``, and the time of one more forward pass. The function is staged on types, as under `jit`. Where numbers are
    known, as under `grad`, it may branch on them: a number that a branch asks for is computed once more.

    Args:
        f: a function of pytrees. Leaves that are no arrays are passed on unchanged.
        policy: a function of an equation of the program of ``f`` that says whether reverse mode keeps its results, such
            as `dots_saveable` or ``save_only_these_names("hidden")``. Other values are computed again from them.

    Returns:
        A function with the same values and derivatives.

    Raises:
        ConcretizationTypeError: under `jit` or `vmap` ``f`` needs a number, and only the type is known.

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
    if policy is not None:
        check_callable("checkpoint", policy, "policy")

    @folded
    @functools.wraps(f)
    def rematerialised(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = flatten((args, kwargs))
        leaves = [taken(x) for x in leaves]
        if active_trace() is None and all(type(x) in NUMPY_TYPES or not is_value(x) for x in leaves):
            return call_with_own(f, args, kwargs)
        arrays = [x for x in leaves if is_value(x)]

        def flat(values: list) -> Any:
            rest = iter(values)
            new_args, new_kwargs = unflatten(in_tree, [next(rest) if is_value(x) else x for x in leaves])
            return f(*new_args, **new_kwargs)

        trace, kinds = body_trace("checkpoint", arrays), list(map(array_test, arrays))
        body = stage_body("checkpoint", flat, [aval_of(x) for x in arrays], name_of(f), kinds=kinds, trace=trace)
        # An equal program that was staged earlier may have other named blocks.
        graph = body.graph if policy is None else body.staged
        return body.result(checkpointed(graph, [*body.captured, *arrays], policy))

    return rematerialised  # pyright: ignore[reportReturnType]  (wraps keeps the signature)
