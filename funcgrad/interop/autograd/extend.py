"""Functions with user-declared derivatives, in autograd's way: ``primitive``, ``defvjp``, ``defjvp``."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import funcgrad.numpy as fnp
from funcgrad._core.bind import Tracer
from funcgrad._public import publish
from funcgrad._transforms.base.arguments import name_of
from funcgrad._types import Value
from funcgrad.interop.autograd._primitive import Function, Primitive, declared, replaced
from funcgrad.interop.autograd._vspace import VSpace, vspace
from funcgrad.numpy.extend import concrete_value
from funcgrad.tree import map as tree_map

__all__ = [
    "Box",
    "Primitive",
    "VSpace",
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
    "vspace",
]

Box = Tracer


def primitive(f_raw: Function) -> Primitive:
    """Make a primitive of a function: transforms use its declared derivatives and do not trace through it.

    Args:
        f_raw: a function that receives plain values; its traced positional arguments have derivatives. Inside a
            compiled program, which has no numbers, it is traced as any function.

    Returns:
        The primitive, whose derivatives `defvjp` and `defjvp` declare.

    Raises:
        NotImplementedError: a derivative is needed that is not declared.

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
    """Make a function that receives plain values and has no derivative.

    Args:
        f_raw: a function whose result is piecewise constant, or is used as a constant.

    Returns:
        The function; it receives the plain values of its traced arguments.

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
    """Declare that a primitive has no derivative; the derivative is then zero.

    Args:
        trace_type: autograd's kind of trace; the declaration applies to both modes.
        primitive_fun: the result of `primitive`.

    Raises:
        TypeError: the function was not made by `primitive`.

    Example:
        >>> import numpy as np
        >>> from funcgrad.interop.autograd import grad
        >>> from funcgrad.interop.autograd.core import primitive
        >>> from funcgrad.interop.autograd.extend import register_notrace
        >>> scale = primitive(lambda x: np.max(np.abs(x)))
        >>> register_notrace(None, scale)
        >>> grad(lambda x: np.sum(x / scale(x)))(np.array([1.0, 4.0]))
        array([0.25, 0.25])
    """
    del trace_type
    if not isinstance(primitive_fun, Primitive):
        raise TypeError(
            f"register_notrace: {name_of(primitive_fun)} was given, a {type(primitive_fun).__name__}; needed a "
            "function made by primitive. Decorate your function with primitive, or use notrace_primitive."
        )
    primitive_fun.vjp = lambda argnums, ans, args, kwargs: lambda out_bar: [None] * len(argnums)
    primitive_fun.jvp = lambda argnums, tangents, ans, args, kwargs: tree_map(fnp.zeros_like, ans)


def _maker(what: str, fun: Function, makers: dict[int, Any], number: int) -> Any:
    if number not in makers:
        raise NotImplementedError(
            f"{what} of {name_of(fun)} wrt argnum {number} not defined. Declare one with def{what.lower()}(..., "
            f"argnums=[{number}]), or None where it is zero."
        )
    return makers[number]


def _by_number(rules: Sequence[Any], options: dict[str, Any]) -> dict[int, Any]:
    argnums = options.get("argnums")
    return dict(zip(range(len(rules)) if argnums is None else argnums, rules, strict=False))


def defvjp(fun: Function, *vjpmakers: Function | None, **kwargs: Any) -> None:
    """Declare the derivatives of a primitive for reverse mode, one for each argument.

    Args:
        fun: the result of `primitive`. A function of NumPy, SciPy or this library that has derivatives keeps them, and
            a debug message of the logger ``funcgrad.interop.autograd`` reports this once. Any other function is
            differentiated through its operations, as in autograd, and that logger warns.
        vjpmakers: for each argument ``vjpmaker(ans, *args, **kwargs)``, which returns the pullback ``vjp(out_bar)``;
            ``None`` for a zero derivative.
        kwargs: ``argnums``, the positions of the arguments; by default the first ones.

    Raises:
        TypeError: ``fun`` is not a function.

    Example:
        >>> from funcgrad.interop.autograd import grad
        >>> from funcgrad.interop.autograd.core import defvjp, primitive
        >>> product = primitive(lambda x, y: x * y)
        >>> defvjp(product, lambda ans, x, y: lambda g: g * y, lambda ans, x, y: lambda g: g * x)
        >>> float(grad(product, 1)(3.0, 4.0))
        3.0
    """
    makers = _by_number(vjpmakers, kwargs)

    def rule(argnums: tuple[int, ...], ans: Value, args: tuple, named: dict) -> Function:
        chosen = [_maker("VJP", fun, makers, number) for number in argnums]
        pulls = [None if maker is None else maker(ans, *args, **named) for maker in chosen]
        return lambda out_bar: [None if pull is None else pull(out_bar) for pull in pulls]

    declared("defvjp", fun).vjp = rule


def defvjp_argnum(fun: Function, vjpmaker: Function) -> None:
    """Declare the derivatives for reverse mode with one ``vjpmaker(argnum, ans, args, kwargs)``.

    Args:
        fun: as for `defvjp`.
        vjpmaker: a function that returns the pullback for the argument at this position.

    Raises:
        TypeError: ``fun`` is not a function.

    Example:
        >>> from funcgrad.interop.autograd import grad
        >>> from funcgrad.interop.autograd.core import defvjp_argnum, primitive
        >>> product = primitive(lambda x, y: x * y)
        >>> defvjp_argnum(product, lambda argnum, ans, args, kwargs: lambda g: g * args[1 - argnum])
        >>> float(grad(product, 1)(3.0, 4.0))
        3.0
    """

    def rule(argnums: tuple[int, ...], ans: Value, args: tuple, named: dict) -> Function:
        pulls = [vjpmaker(number, ans, args, named) for number in argnums]
        return lambda out_bar: [pull(out_bar) for pull in pulls]

    declared("defvjp_argnum", fun).vjp = rule


def defvjp_argnums(fun: Function, vjpmaker: Function) -> None:
    """Declare the derivatives for reverse mode with one ``vjpmaker(argnums, ans, args, kwargs)``.

    Args:
        fun: as for `defvjp`.
        vjpmaker: a function that returns the pullback for all these arguments, whose result is a tuple of their
            cotangents.

    Raises:
        TypeError: ``fun`` is not a function.

    Example:
        >>> from funcgrad.interop.autograd import grad
        >>> from funcgrad.interop.autograd.core import defvjp_argnums, primitive
        >>> product = primitive(lambda x, y: x * y)
        >>> defvjp_argnums(product, lambda argnums, ans, args, kwargs: lambda g: [g * args[1 - i] for i in argnums])
        >>> float(grad(product, 1)(3.0, 4.0))
        3.0
    """
    declared("defvjp_argnums", fun).vjp = vjpmaker


def _sum(parts: list[Any], ans: Value) -> Any:
    """Return the sum of the tangents that several arguments contribute."""
    if not parts:
        return tree_map(fnp.zeros_like, ans)
    return functools.reduce(lambda a, b: tree_map(fnp.add, a, b), parts)


def defjvp(fun: Function, *jvpfuns: Function | str | None, **kwargs: Any) -> None:
    """Declare the derivatives of a primitive for forward mode, one for each argument.

    Args:
        fun: the result of `primitive`. A function that has derivatives keeps them, as for `defvjp`.
        jvpfuns: for each argument ``jvp(x_dot, ans, *args, **kwargs)``, its contribution to the tangent; ``"same"`` if
            the function is linear in the argument, ``None`` for zero.
        kwargs: ``argnums``, the positions of the arguments; by default the first ones.

    Raises:
        TypeError: ``fun`` is not a function.

    Example:
        >>> from funcgrad.interop.autograd import make_jvp
        >>> from funcgrad.interop.autograd.core import defjvp, primitive
        >>> product = primitive(lambda x, y: x * y)
        >>> defjvp(product, lambda x_dot, ans, x, y: x_dot * y, "same")
        >>> [float(y) for y in make_jvp(product, 1)(3.0, 4.0)(1.0)]
        [12.0, 3.0]
    """
    rules = _by_number(jvpfuns, kwargs)

    def rule(argnums: tuple[int, ...], tangents: Sequence[Any], ans: Value, args: tuple, named: dict) -> Any:
        parts = []
        for number, x_dot in zip(argnums, tangents, strict=True):
            jvp = _maker("JVP", fun, rules, number)
            if jvp == "same":
                parts.append(fun(*replaced(args, (number,), (x_dot,)), **named))
            elif jvp is not None:
                parts.append(jvp(x_dot, ans, *args, **named))
        return _sum(parts, ans)

    declared("defjvp", fun).jvp = rule


def defjvp_argnum(fun: Function, jvpmaker: Function) -> None:
    """Declare the derivatives for forward mode with one ``jvpmaker(argnum, x_dot, ans, args, kwargs)``.

    Args:
        fun: as for `defvjp`.
        jvpmaker: a function that returns the contribution of the argument at this position to the tangent.

    Raises:
        TypeError: ``fun`` is not a function.

    Example:
        >>> from funcgrad.interop.autograd import make_jvp
        >>> from funcgrad.interop.autograd.core import defjvp_argnum, primitive
        >>> product = primitive(lambda x, y: x * y)
        >>> defjvp_argnum(product, lambda argnum, x_dot, ans, args, kwargs: x_dot * args[1 - argnum])
        >>> [float(y) for y in make_jvp(product, 1)(3.0, 4.0)(1.0)]
        [12.0, 3.0]
    """

    def rule(argnums: tuple[int, ...], tangents: Sequence[Any], ans: Value, args: tuple, named: dict) -> Any:
        pairs = zip(argnums, tangents, strict=True)
        return _sum([jvpmaker(number, x_dot, ans, args, named) for number, x_dot in pairs], ans)

    declared("defjvp_argnum", fun).jvp = rule


def defjvp_argnums(fun: Function, jvpmaker: Function) -> None:
    """Declare the derivatives for forward mode with one ``jvpmaker(argnums, tangents, ans, args, kwargs)``.

    Args:
        fun: as for `defvjp`.
        jvpmaker: a function that returns the contribution of all these arguments to the tangent.

    Raises:
        TypeError: ``fun`` is not a function.

    Example:
        >>> from funcgrad.interop.autograd import make_jvp
        >>> from funcgrad.interop.autograd.core import defjvp_argnums, primitive
        >>> product = primitive(lambda x, y: x * y)
        >>> def along(argnums, tangents, ans, args, kwargs):
        ...     return sum(x_dot * args[1 - i] for i, x_dot in zip(argnums, tangents))
        >>> defjvp_argnums(product, along)
        >>> [float(y) for y in make_jvp(product, 1)(3.0, 4.0)(1.0)]
        [12.0, 3.0]
    """
    declared("defjvp_argnums", fun).jvp = jvpmaker


def def_linear(fun: Function) -> None:
    """Declare for forward mode that a primitive is linear in each argument separately.

    Args:
        fun: as for `defvjp`.

    Raises:
        TypeError: ``fun`` is not a function.

    Example:
        >>> from funcgrad.interop.autograd import make_jvp
        >>> from funcgrad.interop.autograd.core import def_linear, primitive
        >>> product = primitive(lambda x, y: x * y)
        >>> def_linear(product)
        >>> [float(y) for y in make_jvp(product, 1)(3.0, 4.0)(1.0)]
        [12.0, 3.0]
    """
    defjvp_argnum(fun, lambda number, x_dot, ans, args, kwargs: fun(*replaced(args, (number,), (x_dot,)), **kwargs))


__dir__ = publish(__name__)
