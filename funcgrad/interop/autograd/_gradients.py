"""Gradients, Jacobians and Hessians with autograd's signatures."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._core.bind import is_value
from funcgrad._transforms.base.arguments import name_of
from funcgrad._transforms.derivative import forward, higher_order, reverse
from funcgrad._types import PyTree, Value
from funcgrad.errors import NonScalarOutputError, NotDifferentiableError
from funcgrad.interop.autograd.wrap_util import positions, unary
from funcgrad.tree import map as tree_map

Function = Callable[..., Any]
Argnum = int | Sequence[int]


def named(what: str, fun: Function, argnum: Argnum, made: Function) -> Function:
    """Give a derived function the name autograd gives it; it converts integer arrays to float64."""
    numbers = positions(argnum)
    chosen = (numbers,) if isinstance(numbers, int) else numbers

    @functools.wraps(fun)
    def of_floats(*args: Any, **kwargs: Any) -> Any:
        whole = list(args)
        for number in chosen:
            if -len(whole) <= number < len(whole):
                whole[number] = _floats(whole[number])
        return made(*whole, **kwargs)

    of_floats.__name__ = of_floats.__qualname__ = f"{what}_of_{name_of(fun)}_wrt_argnum_{argnum}"
    of_floats.__doc__ = f"    {what} of function {name_of(fun)} with respect to argument number {argnum}."
    return of_floats


def _floats(x: PyTree) -> Any:
    """Convert an argument to differentiate: integer arrays become float64, because autograd accepts integers too."""
    if isinstance(x, np.ndarray):
        return x.astype(float) if x.dtype.kind in "iu" else x
    return tree_map(_floats, x) if isinstance(x, list | tuple | dict) else x


def _scalar(fun: Function, out: Value) -> Any:
    """Return an output of one element without its axes: autograd treats it as a scalar."""
    shape = getattr(out, "shape", ())
    if not shape or not is_value(out):
        return out
    if aval_of(out).size != 1:
        raise NonScalarOutputError(
            f"grad: {name_of(fun)} must return one real number. Its output is {aval_of(out)}; needed one element. "
            "Reduce it with np.sum or np.mean, or use jacobian, elementwise_grad or holomorphic_grad."
        )
    return fnp.reshape(out, ())


def grad(fun: Function, argnum: Argnum = 0) -> Function:
    """Make the gradient function of a function with a single real output.

    Args:
        fun: a function whose output has one element, of any shape; its arguments are arrays, numbers, and tuples, lists
            and dicts of them.
        argnum: the position of the argument to differentiate; for several, the gradients are a tuple.

    Returns:
        A function of the arguments of ``fun``.

    Raises:
        NonScalarOutputError: the output has more than one element, or is complex.
        NotDifferentiableError: the output, or the argument to differentiate, is of integer or boolean dtype.

    Example:
        >>> import funcgrad.interop.autograd.numpy as np
        >>> from funcgrad.interop.autograd import grad
        >>> grad(lambda x: np.sum(np.tanh(x)))(np.array([0.0, 1.0])).round(3)
        array([1.  , 0.42])

    Source: the signatures in this module are those of autograd 1.9 (Maclaurin, Duvenaud, Johnson and Townsend).
    """

    def scalar(*args: Any, **kwargs: Any) -> Any:
        return _scalar(fun, fun(*args, **kwargs))

    return named("grad", fun, argnum, reverse.grad(functools.wraps(fun)(scalar), positions(argnum)))


def value_and_grad(fun: Function, argnum: Argnum = 0) -> Function:
    """Make the function that returns value and gradient together: ``(value, gradient)``.

    Args:
        fun: as for `grad`.
        argnum: as for `grad`.

    Returns:
        A function of the arguments of ``fun``.

    Raises:
        NonScalarOutputError: as for `grad`.

    Example:
        >>> import funcgrad.interop.autograd.numpy as np
        >>> from funcgrad.interop.autograd import value_and_grad
        >>> value, gradient = value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
        >>> float(value), gradient
        (5.0, array([2., 4.]))
    """

    def with_shape(*args: Any, **kwargs: Any) -> Any:
        out = fun(*args, **kwargs)
        return _scalar(fun, out), np.shape(out)

    compute = reverse.value_and_grad(functools.wraps(fun)(with_shape), positions(argnum), has_aux=True)

    def both(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        (value, shape), gradient = compute(*args, **kwargs)
        return (fnp.reshape(value, shape) if shape else value), gradient

    return named("value_and_grad", fun, argnum, both)


def grad_and_aux(fun: Function, argnum: Argnum = 0) -> Function:
    """Make the function that returns ``(gradient, aux)``, for a function that returns ``(value, aux)``.

    Args:
        fun: a function that returns a pair of a scalar and any value.
        argnum: as for `grad`.

    Returns:
        A function of the arguments of ``fun``.

    Example:
        >>> from funcgrad.interop.autograd import grad_and_aux
        >>> gradient, aux = grad_and_aux(lambda x: (x**2, {"doubled": 2 * x}))(3.0)
        >>> float(gradient), float(aux["doubled"])
        (6.0, 6.0)
    """

    def scalar(*args: Any, **kwargs: Any) -> Any:
        out, aux = reverse.split_aux("grad_and_aux", fun, fun(*args, **kwargs))
        return _scalar(fun, out), aux

    compute = reverse.grad(functools.wraps(fun)(scalar), positions(argnum), has_aux=True)
    return named("grad_and_aux", fun, argnum, compute)


def grad_named(fun: Function, argname: str) -> Function:
    """Make the gradient function with respect to the argument of a given name.

    Args:
        fun: as for `grad`.
        argname: the name of a positional argument.

    Returns:
        A function of the arguments of ``fun``.

    Raises:
        ValueError: there is no such argument.

    Example:
        >>> from funcgrad.interop.autograd import grad_named
        >>> float(grad_named(lambda x, scale: x * scale**2, "scale")(3.0, 2.0))
        12.0
    """
    names = list(inspect.signature(fun).parameters)
    if argname not in names:
        raise ValueError(
            f"grad_named: {name_of(fun)} has no argument {argname!r}; there are {', '.join(names)}. Pass one of these "
            "names."
        )
    return grad(fun, names.index(argname))


def multigrad_dict(fun: Function) -> Function:
    """Make the function that returns the gradients with respect to all arguments, as a dict by argument name.

    Args:
        fun: as for `grad`; arguments with a default are included.

    Returns:
        A function of the arguments of ``fun``.

    Example:
        >>> from funcgrad.interop.autograd import multigrad_dict
        >>> {name: float(bar) for name, bar in multigrad_dict(lambda x, y: x * y)(2.0, y=3.0).items()}
        {'x': 3.0, 'y': 2.0}
    """
    signature = inspect.signature(fun)

    def of_named(named: dict[str, Any]) -> Any:
        bound = inspect.BoundArguments(signature, {name: named[name] for name in signature.parameters if name in named})
        return fun(*bound.args, **bound.kwargs)

    gradient = grad(functools.wraps(fun)(of_named))

    @functools.wraps(fun)
    def gradients(*args: Any, **kwargs: Any) -> dict[str, Any]:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        found = gradient(dict(bound.arguments))
        return {name: found[name] for name in bound.arguments}

    return gradients


def elementwise_grad(fun: Function, argnum: Argnum = 0) -> Function:
    """Make the function that returns the sum of each column of the Jacobian.

    If each element of the output depends on one element of the input only, the results are the elementwise derivatives.
    Otherwise they are sums, as in autograd.

    Args:
        fun: a function with a real output.
        argnum: as for `grad`.

    Returns:
        A function of the arguments of ``fun``, with the shape of the argument.

    Raises:
        NotDifferentiableError: the output is complex.

    Example:
        >>> import funcgrad.interop.autograd.numpy as np
        >>> from funcgrad.interop.autograd import elementwise_grad
        >>> elementwise_grad(np.sin)(np.array([0.0, np.pi]))
        array([ 1., -1.])
    """

    def of_all(*args: Any, **kwargs: Any) -> Any:
        out, pullback = reverse.vjp(*unary(fun, argnum, args, kwargs))
        return pullback(tree_map(lambda y: _ones("elementwise_grad", fun, y), out))[0]

    return named("elementwise_grad", fun, argnum, of_all)


def _ones(transform: str, fun: Function, y: PyTree) -> Any:
    aval = aval_of(y)
    if aval.dtype.kind == "c":
        raise NotDifferentiableError(
            f"{transform}: {name_of(fun)} has a value of type {aval}; needed a real one, since a complex derivative "
            "is not one number. Use holomorphic_grad if the function is holomorphic."
        )
    return np.ones(aval.shape, aval.dtype)[()]


def deriv(fun: Function, argnum: Argnum = 0) -> Function:
    """Make the function that returns the derivative along a direction of ones, by forward mode.

    Args:
        fun: a function of an array, usually of a number.
        argnum: as for `grad`.

    Returns:
        A function of the arguments of ``fun``, with the shape of the output.

    Example:
        >>> import funcgrad.interop.autograd.numpy as np
        >>> from funcgrad.interop.autograd import deriv
        >>> deriv(lambda t: np.array([t, t**2]))(3.0)
        array([1., 6.])
    """

    def along_ones(*args: Any, **kwargs: Any) -> Any:
        f, x = unary(fun, argnum, args, kwargs)
        return forward.jvp(f, (x,), (tree_map(lambda leaf: _ones("deriv", fun, leaf), x),))[1]

    return named("deriv", fun, argnum, along_ones)


def jacobian(fun: Function, argnum: Argnum = 0) -> Function:
    """Make the function that returns the Jacobian, with the shape of the output first, then that of the argument.

    Args:
        fun: as for ``funcgrad.jacrev``, which computes it. Reverse mode uses the rules of `defvjp`, as autograd does.
        argnum: as for `grad`.

    Returns:
        A function of the arguments of ``fun``.

    Raises:
        NotDifferentiableError: as for ``funcgrad.jacrev``.

    Example:
        >>> import funcgrad.interop.autograd.numpy as np
        >>> from funcgrad.interop.autograd import jacobian
        >>> jacobian(lambda x: np.sum(x) * x)(np.array([1.0, 2.0]))
        array([[4., 1.], [2., 5.]])
    """
    return named("jacobian", fun, argnum, higher_order.jacrev(fun, positions(argnum)))


def hessian(fun: Function, argnum: Argnum = 0) -> Function:
    """Make the function that returns the Hessian, ``jacobian(jacobian(fun))``.

    Args:
        fun: a function, usually with one number as output.
        argnum: as for `grad`.

    Returns:
        A function of the arguments of ``fun``.

    Example:
        >>> import funcgrad.interop.autograd.numpy as np
        >>> from funcgrad.interop.autograd import hessian
        >>> hessian(lambda x: np.sum(x) * np.sum(x**2))(np.array([1.0, 2.0]))
        array([[10.,  6.], [ 6., 14.]])
    """
    first = higher_order.jacrev(fun, positions(argnum))
    return named("hessian", fun, argnum, higher_order.jacrev(first, positions(argnum)))


def holomorphic_grad(fun: Function, argnum: Argnum = 0) -> Function:
    """Make the function that returns the derivative of a holomorphic function of a complex number.

    Args:
        fun: a holomorphic function; this is not checked.
        argnum: as for `grad`.

    Returns:
        A function of the arguments of ``fun``.

    Example:
        >>> import funcgrad.interop.autograd.numpy as np
        >>> from funcgrad.interop.autograd import holomorphic_grad
        >>> complex(holomorphic_grad(lambda z: z**2)(1.0 + 2.0j))
        (2+4j)
    """

    def real(*args: Any, **kwargs: Any) -> Any:
        return fnp.real(fun(*args, **kwargs))

    return named("holomorphic_grad", fun, argnum, grad(functools.wraps(fun)(real), argnum))
