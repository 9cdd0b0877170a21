"""Functions with derivatives of their own, as autograd declares them: ``primitive``, ``defvjp``, ``defjvp``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import funcgrad.numpy as fnp
from funcgrad._core.bind import Tracer, top_trace
from funcgrad._core.trace.batch import BatchTrace, BatchTracer
from funcgrad._ops.program.custom import custom_jvp_p, custom_vjp_p
from funcgrad._public import publish
from funcgrad._transforms.base.arguments import name_of, taken
from funcgrad._transforms.custom.calls import CustomCall, JvpOfCall, VjpOfCall
from funcgrad._transforms.custom.decorators import called
from funcgrad.numpy.extend import concrete_value
from funcgrad.tree import leaves
from funcgrad.tree import map as tree_map

__all__ = [
    "Box",
    "Primitive",
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "notrace_primitive",
    "primitive",
    "register_notrace",
]

Function = Callable[..., Any]
Box = Tracer


class Primitive:
    """What `primitive` returns: a function of plain values that no transform looks into."""

    def __init__(self, fun: Function) -> None:
        self.fun = fun
        # From ``(argnums, ans, args, kwargs)`` to the pullback.
        self.vjp: Function | None = None
        # From ``(argnums, tangents, ans, args, kwargs)`` to the tangent.
        self.jvp: Function | None = None
        functools.update_wrapper(self, fun)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind as a method does."""
        return self if instance is None else functools.partial(self, instance)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function; traced values among the arguments, also in containers, have the declared derivatives."""
        argnums = tuple([i for i, x in enumerate(args) if _is_traced(x)])
        if not argnums:
            return self.fun(*args, **kwargs)

        def of_traced(*chosen: Any) -> Any:
            return self(*_with(args, argnums, chosen), **kwargs)

        of_traced.__name__ = name_of(self.fun)
        chosen = tuple([tree_map(taken, args[i]) for i in argnums])
        trace = top_trace(leaves(chosen))
        if trace is None:
            # What was written to, and holds plain numbers now.
            return of_traced(*chosen)
        if isinstance(trace, BatchTrace):
            return _one_by_one(trace, of_traced, chosen)
        if trace.concrete:
            call = CustomCall(of_traced, chosen, {}, ())
            return called(call, self._bound(call, argnums, args, kwargs))
        return self.fun(*_with(args, argnums, chosen), **kwargs)

    def _bound(self, call: CustomCall, argnums: tuple[int, ...], args: tuple, kwargs: dict) -> Function:
        def push(primals: tuple, tangents: tuple) -> tuple[Any, Any]:
            whole = _with(args, argnums, primals)
            ans = self(*whole, **kwargs)
            assert self.jvp is not None
            return ans, self.jvp(argnums, tangents, ans, whole, kwargs)

        def forward(*primals: Any) -> tuple[Any, Any]:
            whole = _with(args, argnums, primals)
            ans = self(*whole, **kwargs)
            assert self.vjp is not None
            return ans, self.vjp(argnums, ans, whole, kwargs)

        pushes = None if self.jvp is None else JvpOfCall(call, push)
        if self.vjp is not None:
            rule = VjpOfCall(call, forward, lambda pull, out_bar: tuple(pull(out_bar)), pushes)
            return functools.partial(custom_vjp_p, rule=rule)
        if pushes is not None:
            return functools.partial(custom_jvp_p, rule=pushes)
        raise NotImplementedError(
            f"{name_of(self)}: a derivative was asked of this primitive, and none is declared. Declare it with "
            "defvjp or defjvp, or say by notrace_primitive that it has none."
        )


def _is_traced(x: Any) -> bool:
    if isinstance(x, list | tuple | dict):
        return any(isinstance(leaf, Tracer) for leaf in leaves(x))
    return isinstance(x, Tracer)


def _with(args: Sequence[Any], argnums: Sequence[int], chosen: Sequence[Any]) -> tuple[Any, ...]:
    """The arguments with others in these places."""
    whole = list(args)
    for number, x in zip(argnums, chosen, strict=True):
        whole[number] = x
    return tuple(whole)


def _one_by_one(trace: BatchTrace, f: Function, chosen: tuple) -> Any:
    """A function of plain values on each element of a batch: it does not take them together."""

    def element(i: int) -> Any:
        return f(*tree_map(lambda x: x._value[i] if _is_of(trace, x) else x, chosen))

    results = [element(i) for i in range(trace.size)]
    return tree_map(lambda *ys: BatchTracer(trace, fnp.stack(ys)), *results)


def _is_of(trace: BatchTrace, x: Any) -> bool:
    return isinstance(x, BatchTracer) and x.owner is trace


def primitive(f_raw: Function) -> Primitive:
    """Make a primitive of a function: its insides are not differentiated, its derivatives are declared.

    Args:
        f_raw: a function that is given plain values; of its positional arguments those that are traced have
            derivatives. In a compiled program, where there are no numbers, it is looked into as any function.

    Returns:
        The function, to be declared with `defvjp` and `defjvp`.

    Raises:
        NotImplementedError: a derivative is asked of what has none declared.

    Example:
        >>> import funcgrad.interop.autograd.numpy as np
        >>> from funcgrad.interop.autograd import grad
        >>> from funcgrad.interop.autograd.extend import defvjp, primitive
        >>> @primitive
        ... def logsumexp(x):
        ...     return np.max(x) + np.log(np.sum(np.exp(x - np.max(x))))
        >>> defvjp(logsumexp, lambda ans, x: lambda g: g * np.exp(x - ans))
        >>> grad(logsumexp)(np.array([1000.0, 1000.0]))
        array([0.5, 0.5])
    """
    return Primitive(f_raw)


def notrace_primitive(f_raw: Function) -> Function:
    """Make of a function one that takes plain values and has no derivative.

    Args:
        f_raw: a function whose result changes in steps, or is to count as a constant.

    Returns:
        The function, which is handed the values beneath its traced arguments.

    Example:
        >>> import numpy as np
        >>> from funcgrad.interop.autograd import grad
        >>> from funcgrad.interop.autograd.extend import notrace_primitive
        >>> largest = notrace_primitive(lambda x: int(np.argmax(x)))
        >>> grad(lambda x: x[largest(x)])(np.array([1.0, 3.0]))
        array([0., 1.])
    """

    @functools.wraps(f_raw)
    def of_values(*args: Any, **kwargs: Any) -> Any:
        values = [concrete_value(x, name_of(f_raw)) if isinstance(x, Tracer) else x for x in args]
        return f_raw(*values, **kwargs)

    return of_values


def register_notrace(trace_type: Any, primitive_fun: Primitive) -> None:
    """Say that a primitive has no derivative; it is then zero.

    Args:
        trace_type: autograd's kind of trace; here it holds for both modes.
        primitive_fun: what `primitive` returned.
    """
    del trace_type
    _checked("register_notrace", primitive_fun)
    primitive_fun.vjp = lambda argnums, ans, args, kwargs: lambda out_bar: [None] * len(argnums)
    primitive_fun.jvp = lambda argnums, tangents, ans, args, kwargs: tree_map(fnp.zeros_like, ans)


def _checked(what: str, fun: Any) -> Primitive:
    if not isinstance(fun, Primitive):
        raise TypeError(
            f"{what}: a rule was given for {name_of(fun)}, a {type(fun).__name__}; needed one made by primitive. "
            "Decorate a function of your own; those of NumPy have their derivatives."
        )
    return fun


def _maker(what: str, fun: Primitive, makers: dict[int, Any], number: int) -> Any:
    if number not in makers:
        raise NotImplementedError(
            f"{what} of {name_of(fun)} wrt argnum {number} not defined. Declare one with def{what.lower()}(..., "
            f"argnums=[{number}]), or None where it is zero."
        )
    return makers[number]


def _by_number(rules: Sequence[Any], options: dict[str, Any]) -> dict[int, Any]:
    argnums = options.get("argnums")
    return dict(zip(range(len(rules)) if argnums is None else argnums, rules, strict=False))


def defvjp(fun: Primitive, *vjpmakers: Function | None, **kwargs: Any) -> None:
    """Declare the derivatives of a primitive for reverse mode, argument by argument.

    Args:
        fun: what `primitive` returned.
        vjpmakers: for each argument ``vjpmaker(ans, *args, **kwargs)``, which returns the pullback ``vjp(out_bar)``;
            ``None`` where it is zero.
        kwargs: ``argnums``, the positions that the makers are for; the first ones unless given.

    Raises:
        TypeError: ``fun`` is no primitive.
    """
    makers = _by_number(vjpmakers, kwargs)

    def rule(argnums: tuple[int, ...], ans: Any, args: tuple, named: dict) -> Function:
        chosen = [_maker("VJP", fun, makers, number) for number in argnums]
        pulls = [None if maker is None else maker(ans, *args, **named) for maker in chosen]
        return lambda out_bar: [None if pull is None else pull(out_bar) for pull in pulls]

    _checked("defvjp", fun).vjp = rule


def defvjp_argnum(fun: Primitive, vjpmaker: Function) -> None:
    """Declare the derivatives for reverse mode by one ``vjpmaker(argnum, ans, args, kwargs)``.

    Args:
        fun: what `primitive` returned.
        vjpmaker: returns the pullback by the argument of this number.

    Raises:
        TypeError: ``fun`` is no primitive.
    """

    def rule(argnums: tuple[int, ...], ans: Any, args: tuple, named: dict) -> Function:
        pulls = [vjpmaker(number, ans, args, named) for number in argnums]
        return lambda out_bar: [pull(out_bar) for pull in pulls]

    _checked("defvjp_argnum", fun).vjp = rule


def defvjp_argnums(fun: Primitive, vjpmaker: Function) -> None:
    """Declare the derivatives for reverse mode by one ``vjpmaker(argnums, ans, args, kwargs)``.

    Args:
        fun: what `primitive` returned.
        vjpmaker: returns the pullback by all these arguments, whose result is a tuple of their cotangents.

    Raises:
        TypeError: ``fun`` is no primitive.
    """
    _checked("defvjp_argnums", fun).vjp = vjpmaker


def _sum(parts: list[Any], ans: Any) -> Any:
    """The tangents that several arguments cause, together."""
    if not parts:
        return tree_map(fnp.zeros_like, ans)
    return functools.reduce(lambda a, b: tree_map(fnp.add, a, b), parts)


def defjvp(fun: Primitive, *jvpfuns: Function | str | None, **kwargs: Any) -> None:
    """Declare the derivatives of a primitive for forward mode, argument by argument.

    Args:
        fun: what `primitive` returned.
        jvpfuns: for each argument ``jvp(x_dot, ans, *args, **kwargs)``, the tangent that it causes; ``"same"`` where
            the function is linear in the argument, ``None`` where it is zero.
        kwargs: ``argnums``, the positions that these are for; the first ones unless given.

    Raises:
        TypeError: ``fun`` is no primitive.
    """
    rules = _by_number(jvpfuns, kwargs)

    def rule(argnums: tuple[int, ...], tangents: Sequence[Any], ans: Any, args: tuple, named: dict) -> Any:
        parts = []
        for number, x_dot in zip(argnums, tangents, strict=True):
            jvp = _maker("JVP", fun, rules, number)
            if jvp == "same":
                parts.append(fun(*_with(args, (number,), (x_dot,)), **named))
            elif jvp is not None:
                parts.append(jvp(x_dot, ans, *args, **named))
        return _sum(parts, ans)

    _checked("defjvp", fun).jvp = rule


def defjvp_argnum(fun: Primitive, jvpmaker: Function) -> None:
    """Declare the derivatives for forward mode by one ``jvpmaker(argnum, x_dot, ans, args, kwargs)``.

    Args:
        fun: what `primitive` returned.
        jvpmaker: returns the tangent that the argument of this number causes.

    Raises:
        TypeError: ``fun`` is no primitive.
    """

    def rule(argnums: tuple[int, ...], tangents: Sequence[Any], ans: Any, args: tuple, named: dict) -> Any:
        pairs = zip(argnums, tangents, strict=True)
        return _sum([jvpmaker(number, x_dot, ans, args, named) for number, x_dot in pairs], ans)

    _checked("defjvp_argnum", fun).jvp = rule


def defjvp_argnums(fun: Primitive, jvpmaker: Function) -> None:
    """Declare the derivatives for forward mode by one ``jvpmaker(argnums, tangents, ans, args, kwargs)``.

    Args:
        fun: what `primitive` returned.
        jvpmaker: returns the tangent that all these arguments cause together.

    Raises:
        TypeError: ``fun`` is no primitive.
    """
    _checked("defjvp_argnums", fun).jvp = jvpmaker


def def_linear(fun: Primitive) -> None:
    """Declare for forward mode that a primitive is linear in each argument alone.

    Args:
        fun: what `primitive` returned.

    Raises:
        TypeError: ``fun`` is no primitive.
    """
    defjvp_argnum(fun, lambda number, x_dot, ans, args, kwargs: fun(*_with(args, (number,), (x_dot,)), **kwargs))


__dir__ = publish(__name__)
