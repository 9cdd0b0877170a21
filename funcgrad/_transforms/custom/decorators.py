"""Functions with a derivative declared by the user: ``custom_vjp`` for reverse mode, ``custom_jvp`` for both modes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Generic, ParamSpec, TypeVar, cast

from funcgrad._core.bind import NUMPY_TYPES, active_trace, top_trace
from funcgrad._core.graph.simplify import lift_tracers
from funcgrad._core.tracebacks import folded
from funcgrad._engines import is_abstract
from funcgrad._ops.program.custom import custom_jvp_p, custom_vjp_p, runs_at_once
from funcgrad._transforms.base.arguments import (
    check_callable,
    checked_argnames,
    checked_argnums,
    name_of,
    positions_of,
)
from funcgrad._transforms.base.own import call_with_own
from funcgrad._transforms.custom.calls import CustomCall, JvpOfCall, VjpOfCall
from funcgrad.tree import map as tree_map

P = ParamSpec("P")
R = TypeVar("R")

Rule = Callable[..., Any]


def called(call: CustomCall, bind: functools.partial[list[Any]]) -> Any:
    """Return the result of a call with tracers among its leaves, bound with its rules."""
    trace = runs_at_once(call.leaves)
    if trace is not None:
        call.level = trace.level
        outs = bind(*call.leaves, graph=None)
        return call.result(outs)
    graph, captured = lift_tracers(call.stage())
    if _is_differentiated_later():
        bind.keywords["rule"].stage()
    return call.result(bind(*call.leaves, *captured, graph=graph))


def _is_differentiated_later() -> bool:
    """Return whether a derivative is taken of the program that is staged. What the rule reads may change until then."""
    trace = active_trace()
    while trace is not None and trace.is_differentiated is None:
        trace = trace.outer
    return trace is not None and trace.is_differentiated is True


class _Custom(Generic[P, R]):
    """A function with derivative rules of its own, for reverse mode, for forward mode, or for both."""

    transform = "custom"
    # The call that declares a missing rule, for messages.
    declaration = ""
    _forward: Rule | None = None
    _backward: Rule | None = None
    # Whether absent cotangents are zeros for ``_backward``.
    _instantiate = True
    _push: Rule | None = None

    def __init__(
        self, f: Callable[P, R], nondiff_argnums: Sequence[int], nondiff_argnames: str | Sequence[str]
    ) -> None:
        self._function: Callable[..., Any] = f
        numbers = checked_argnums(type(self).transform, f, nondiff_argnums, "nondiff_argnums")
        names = checked_argnames(type(self).transform, f, nondiff_argnames, "nondiff_argnames")
        self._nondiff = (numbers,) if isinstance(numbers, int) else numbers
        functools.update_wrapper(self, f)
        try:
            self._signature = inspect.signature(f)
        except (TypeError, ValueError):
            self._signature = None
        positions = positions_of(type(self).transform, f, names, "nondiff_argnames")
        self._nondiff = tuple(dict.fromkeys((*self._nondiff, *positions)))

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind as a method does."""
        return self if instance is None else functools.partial(self, instance)

    @folded
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function. Under a transform its derivative is the declared one."""
        positional, named = tuple(args), dict(kwargs)
        if self._signature is not None:
            bound = self._signature.bind(*args, **kwargs)
            bound.apply_defaults()
            positional, named = bound.args, bound.kwargs
        call = CustomCall(self._function, positional, named, self._nondiff)
        trace = top_trace(call.leaves)
        if trace is None and not any(map(_is_jax_tracer, call.leaves)):
            return call_with_own(self._function, positional, named)
        call.check_leaves()
        return called(call, self._ruled(call))

    def _ruled(self, call: CustomCall) -> functools.partial[list[Any]]:
        """Return the primitive that calls the function with the declared rules."""
        push = None if self._push is None else JvpOfCall(call, self._push)
        if self._forward is not None and self._backward is not None:
            return functools.partial(
                custom_vjp_p, rule=VjpOfCall(call, self._forward, self._backward, push, self._instantiate)
            )
        if push is not None:
            return functools.partial(custom_jvp_p, rule=push)
        name = name_of(self._function)
        raise AttributeError(
            f"{self.transform}: {name} has no rule yet, but it is called under a transform. "
            f"Declare one first: {name}.{self.declaration}."
        )

    def defvjp(self, fwd: Rule, bwd: Rule, *, instantiate: bool = True) -> None:
        """Declare the derivative for reverse mode.

        Args:
            fwd: takes the arguments of the function and returns ``(out, residuals)``; ``bwd`` gets the residuals, any
                pytree.
            bwd: takes the nondifferentiable arguments, then ``residuals`` and the cotangent of the output. It returns a
                tuple with a cotangent for each differentiable argument, ``None`` for zero.
            instantiate: whether ``bwd`` gets zeros for an output that nothing uses. Otherwise it gets ``None`` where
                the output is known to be unused.
        """
        check_callable("defvjp", fwd, "fwd")
        check_callable("defvjp", bwd, "bwd")
        self._forward = fwd
        self._backward = bwd
        self._instantiate = instantiate

    def defjvp(self, jvp: Rule) -> Rule:
        """Declare the derivative for forward mode; may be used as a decorator.

        Reverse mode uses the transpose, unless it has a rule of its own.

        Args:
            jvp: takes the nondifferentiable arguments, then a tuple of primals and a tuple of tangents. It returns
                ``(out, out_dot)``; ``out_dot`` is linear in the tangents, and ``None`` stands for zero. The tangent of
                an integer is zero.
        """
        check_callable("defjvp", jvp, "jvp")
        self._push = jvp
        return jvp

    def defjvps(self, *jvps: Rule | None) -> None:
        """Declare the derivative argument by argument.

        Args:
            jvps: for each argument ``jvp(x_dot, out, *primals)``, which returns the tangent of the output that the
                tangent of this argument causes; ``None`` for zero.
        """
        if self._nondiff:
            raise TypeError(
                f"custom_jvp: defjvps was called for {name_of(self._function)}, which has nondiff_argnums; needed a "
                "function without. Declare its derivative with defjvp."
            )

        function = cast("Callable[..., Any]", self)

        def push(primals: tuple, tangents: tuple) -> tuple[Any, Any]:
            out = function(*primals)
            pairs = zip(jvps, tangents, strict=True)
            parts = [jvp(x_dot, out, *primals) for jvp, x_dot in pairs if jvp is not None]
            if not parts:
                return out, tree_map(lambda y: 0 * y, out)
            return out, functools.reduce(lambda a, b: tree_map(lambda x, y: x + y, a, b), parts)

        self._push = push


def _is_jax_tracer(x: object) -> bool:
    return type(x) not in NUMPY_TYPES and is_abstract(x)


class CustomVjp(_Custom[P, R]):
    """The result of `custom_vjp`."""

    transform = "custom_vjp"
    declaration = "defvjp(fwd, bwd)"


class CustomJvp(_Custom[P, R]):
    """The result of `custom_jvp`."""

    transform = "custom_jvp"
    declaration = "defjvp(jvp)"


@folded
def custom_vjp(
    f: Callable[P, R], nondiff_argnums: Sequence[int] = (), nondiff_argnames: str | Sequence[str] = ()
) -> CustomVjp[P, R]:
    """Give a function its own rule for reverse mode.

    Args:
        f: a function of pytrees of arrays that returns one.
        nondiff_argnums: positions of arguments that are no differentiable arrays (functions, options). ``bwd`` gets
            them before the residuals.
        nondiff_argnames: names of such arguments.

    Returns:
        The function, with a method ``defvjp(fwd, bwd)`` that declares the rule. Forward mode is refused, unless
        ``defjvp(jvp)`` or ``defjvps(*jvps)`` declares a rule for it too, as in `custom_jvp`.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> @fg.custom_vjp
        ... def clipped(x):  # the identity, whose gradient is kept within bounds
        ...     return x
        >>> clipped.defvjp(lambda x: (x, None), lambda _, x_bar: (np.clip(x_bar, -1, 1),))
        >>> fg.grad(lambda x: np.sum(clipped(x) ** 2))(np.array([0.25, 3.0]))
        array([0.5, 1. ])
        >>> clipped.defjvps(lambda x_dot, y, x: x_dot)  # forward mode has a rule of its own: the identity's
        >>> fg.jvp(clipped, (np.array([0.25, 3.0]),), (np.array([1.0, 4.0]),))[1]
        array([1., 4.])

    Source: the signatures are those of ``jax.custom_vjp``.
    """
    return CustomVjp(f, nondiff_argnums, nondiff_argnames)


@folded
def custom_jvp(
    f: Callable[P, R], nondiff_argnums: Sequence[int] = (), nondiff_argnames: str | Sequence[str] = ()
) -> CustomJvp[P, R]:
    """Give a function its own rule for forward mode. Reverse mode uses the transpose of the rule.

    Args:
        f: a function of pytrees of arrays that returns one.
        nondiff_argnums: positions of arguments that are no differentiable arrays (functions, options). The rule gets
            them before the primals.
        nondiff_argnames: names of such arguments.

    Returns:
        The function, with methods ``defjvp(jvp)`` and ``defjvps(*jvps)`` that declare the rule. ``defvjp(fwd, bwd)``
        declares one for reverse mode instead of the transpose, as in `custom_vjp`.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> @fg.custom_jvp
        ... def log1pexp(x):
        ...     return np.log(1 + np.exp(x))
        >>> log1pexp.defjvps(lambda x_dot, y, x: x_dot * (1 - 1 / (1 + np.exp(x))))
        >>> print(fg.grad(log1pexp)(100.0))
        1.0

    Source: the signatures are those of ``jax.custom_jvp``.
    """
    return CustomJvp(f, nondiff_argnums, nondiff_argnames)
