"""Functions of plain values with declared derivatives, which autograd calls primitives."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any

import funcgrad.numpy as fnp
from funcgrad._core.aval import aval_of, is_inexact
from funcgrad._core.bind import Tracer, top_trace
from funcgrad._core.lazy import LazyModule
from funcgrad._core.trace.batch import BatchTrace, BatchTracer
from funcgrad._ops.program.custom import custom_jvp_p, custom_vjp_p
from funcgrad._transforms.base.arguments import name_of, taken
from funcgrad._transforms.custom.calls import CustomCall, JvpOfCall, VjpOfCall
from funcgrad._transforms.custom.decorators import called
from funcgrad._types import ArrayLike, PyTree
from funcgrad.errors import ConcretizationTypeError
from funcgrad.numpy.extend import is_covered
from funcgrad.tree import leaves
from funcgrad.tree import map as tree_map

Function = Callable[..., Any]

_log = logging.getLogger("funcgrad.interop.autograd")
_STATS = LazyModule("funcgrad.scipy.stats")


class Primitive:
    """The result of `primitive`: a function of plain values, which transforms do not trace through."""

    def __init__(self, fun: Function) -> None:
        self.fun = fun
        # A rule maps ``(argnums, ans, args, kwargs)`` to the pullback.
        self.vjp: Function | None = None
        # A rule maps ``(argnums, tangents, ans, args, kwargs)`` to the tangent.
        self.jvp: Function | None = None
        functools.update_wrapper(self, fun)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind the instance, as a method does."""
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function; traced arguments, also in containers, have the declared derivatives."""
        argnums = tuple([i for i, x in enumerate(args) if _is_traced(x)])
        if not argnums:
            return self.fun(*args, **kwargs)

        def of_traced(*chosen: Any) -> Any:
            return self(*replaced(args, argnums, chosen), **kwargs)

        of_traced.__name__ = name_of(self.fun)
        chosen = tuple([tree_map(taken, args[i]) for i in argnums])
        trace = top_trace(leaves(chosen))
        if trace is None:
            # Replace arrays that were written to and hold plain numbers now.
            return of_traced(*chosen)
        if isinstance(trace, BatchTrace):
            return _one_by_one(trace, of_traced, chosen)
        if trace.concrete:
            call = CustomCall(of_traced, chosen, {}, ())
            return called(call, self._bound(call, argnums, args, kwargs))
        return self.fun(*replaced(args, argnums, chosen), **kwargs)

    def _bound(
        self, call: CustomCall, argnums: tuple[int, ...], args: tuple, kwargs: dict
    ) -> functools.partial[list[Any]]:
        def push(primals: tuple, tangents: tuple) -> tuple[Any, Any]:
            whole = replaced(args, argnums, primals)
            ans = self(*whole, **kwargs)
            assert self.jvp is not None
            return ans, tree_map(_tangent, ans, self.jvp(argnums, tangents, ans, whole, kwargs))

        def forward(*primals: PyTree) -> tuple[Any, Any]:
            whole = replaced(args, argnums, primals)
            ans = self(*whole, **kwargs)
            assert self.vjp is not None
            return ans, self.vjp(argnums, ans, whole, kwargs)

        pushes = None if self.jvp is None else JvpOfCall(call, push)
        if self.vjp is not None:
            rule = VjpOfCall(call, forward, _pulled, pushes)
            return functools.partial(custom_vjp_p, rule=rule)
        if pushes is not None:
            return functools.partial(custom_jvp_p, rule=pushes)
        raise NotImplementedError(
            f"{name_of(self)}: a derivative of this primitive is needed, and none is declared. Declare it with defvjp "
            "or defjvp, or declare with notrace_primitive that it has none."
        )


def declared(what: str, fun: Any) -> Primitive:
    """Return the primitive that receives a rule.

    A function that is not a primitive keeps its derivatives: those of this library, or those of its operations. Its
    rule goes to a primitive that is never called, and one message is logged.
    """
    if isinstance(fun, Primitive):
        return fun
    if not callable(fun):
        raise TypeError(
            f"{what}: a rule was given for a {type(fun).__name__}; needed a function made by primitive. "
            "Decorate the function with primitive."
        )
    _tell_kept(fun)
    return Primitive(fun)


def _has_derivatives(fun: Any) -> bool:
    """Return whether a function, or a method of a distribution, has derivatives without a declaration."""
    if isinstance(fun, MethodType):
        return any(fun.__self__ is getattr(_STATS, name) for name in _STATS.__all__)
    return is_covered(fun)


@functools.cache
def _tell_kept(fun: Function) -> None:
    """Log once for each function that its rule is not used; as a warning if the decorator may have been forgotten."""
    covered = _has_derivatives(fun)
    _log.log(
        logging.DEBUG if covered else logging.WARNING,
        "%s %s: a rule declared for it is not used. To use the rule, declare it for primitive(%s), and call that.",
        name_of(fun),
        "has derivatives here, and they stay in force"
        if covered
        else "is no primitive, and its operations are followed",
        name_of(fun),
    )


def _tangent(y: PyTree, y_dot: ArrayLike) -> Any:
    """Return a rule's tangent of a result.

    Integer results have no tangent, and autograd's rules return any value for them.
    """
    return y_dot if is_inexact(aval_of(y).dtype) else fnp.zeros_like(y)


def _pulled(pull: Function, out_bar: PyTree) -> tuple[Any, ...]:
    """Return the cotangents that a rule's pullback computes.

    A Jacobian passes a batch of cotangents. A pullback that needs plain numbers (``getval(g)``), which autograd always
    passes, gets the cotangents one after the other.
    """
    try:
        return tuple(pull(out_bar))
    except ConcretizationTypeError:
        trace = top_trace(leaves(out_bar))
        if not isinstance(trace, BatchTrace):
            raise
        return _one_by_one(trace, lambda each: tuple(pull(each)), (out_bar,))


def _is_traced(x: object) -> bool:
    if isinstance(x, list | tuple | dict):
        return any(isinstance(leaf, Tracer) for leaf in leaves(x))
    return isinstance(x, Tracer)


def replaced(args: Sequence[Any], argnums: Sequence[int], chosen: Sequence[Any]) -> tuple[Any, ...]:
    """Return the arguments with other values at these positions."""
    whole = list(args)
    for number, x in zip(argnums, chosen, strict=True):
        whole[number] = x
    return tuple(whole)


def _one_by_one(trace: BatchTrace, f: Function, chosen: tuple) -> Any:
    """Return a function of plain values that is called on each element of a batch."""

    def element(i: int) -> Any:
        return f(*tree_map(lambda x: x._value[i] if _is_of(trace, x) else x, chosen))

    results = [element(i) for i in range(trace.size)]
    return tree_map(lambda *ys: BatchTracer(trace, fnp.stack(ys)), *results)


def _is_of(trace: BatchTrace, x: PyTree) -> bool:
    return isinstance(x, BatchTracer) and x._owner is trace
