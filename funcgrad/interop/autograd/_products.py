"""Products with Jacobians and Hessians at a point: autograd's ``make_`` functions."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

import funcgrad.numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._transforms.derivative import forward, reverse
from funcgrad._types import PyTree, Value
from funcgrad.interop.autograd._gradients import Argnum, Function, grad, jacobian, named
from funcgrad.interop.autograd.wrap_util import unary, unary_to_nary
from funcgrad.tree import map as tree_map


def make_vjp(fun: Function, argnum: Argnum = 0) -> Function:
    """Make the function that returns the pullback at a point, and the output: ``(vjp, out)``.

    Args:
        fun: any function.
        argnum: as for `grad`.

    Returns:
        A function of the arguments of ``fun``; ``vjp(out_bar)`` is the cotangent of the argument.

    Example:
        >>> import funcgrad.interop.autograd.numpy as np
        >>> from funcgrad.interop.autograd import make_vjp
        >>> vjp, out = make_vjp(np.square)(np.array([1.0, 2.0]))
        >>> vjp(np.array([1.0, 0.0]))
        array([2., 0.])
    """

    def pulled(*args: Any, **kwargs: Any) -> tuple[Function, Any]:
        out, pullback = reverse.vjp(*unary(fun, argnum, args, kwargs))

        def vjp(cotangent: PyTree) -> Any:
            return pullback(_fitted(cotangent, out))[0]

        return vjp, out

    return named("make_vjp", fun, argnum, pulled)


def _fitted(given: Value, like: Value) -> Any:
    """Convert cotangents and tangents to the dtypes of their primals; autograd accepts any dtype."""

    def fitted(x: PyTree, y: PyTree) -> Any:
        dtype = aval_of(y).dtype
        return fnp.real(x).astype(dtype) if dtype.kind != "c" and np.iscomplexobj(x) else fnp.asarray(x, dtype)

    return tree_map(fitted, given, like)


def make_jvp(fun: Function, argnum: Argnum = 0) -> Function:
    """Make the function that returns the Jacobian-vector product at a point, by forward mode.

    Args:
        fun: any function whose primitives have forward rules.
        argnum: as for `grad`.

    Returns:
        A function of the arguments of ``fun`` that returns ``jvp``; ``jvp(x_dot)`` is ``(out, out_dot)``.

    Example:
        >>> import funcgrad.interop.autograd.numpy as np
        >>> from funcgrad.interop.autograd import make_jvp
        >>> out, out_dot = make_jvp(np.square)(np.array([1.0, 2.0]))(np.array([1.0, 1.0]))
        >>> out_dot
        array([2., 4.])
    """

    def at(*args: Any, **kwargs: Any) -> Function:
        f, x = unary(fun, argnum, args, kwargs)
        return lambda tangent: forward.jvp(f, (x,), (_fitted(tangent, x),))

    return named("make_jvp", fun, argnum, at)


def make_jvp_reversemode(fun: Function, argnum: Argnum = 0) -> Function:
    """Make the function that returns the Jacobian-vector product at a point, as the transpose of the pullback.

    Args:
        fun: any function; its primitives need only rules for reverse mode.
        argnum: as for `grad`.

    Returns:
        A function of the arguments of ``fun`` that returns ``jvp``; ``jvp(x_dot)`` is ``out_dot``.

    Example:
        >>> import funcgrad.interop.autograd.numpy as np
        >>> from funcgrad.interop.autograd import make_jvp_reversemode
        >>> make_jvp_reversemode(np.square)(np.array([1.0, 2.0]))(np.array([1.0, 1.0]))
        array([2., 4.])
    """

    def at(*args: Any, **kwargs: Any) -> Function:
        out, pullback = reverse.vjp(*unary(fun, argnum, args, kwargs))
        bars, transposed = reverse.vjp(lambda bar: pullback(bar)[0], tree_map(fnp.zeros_like, out))
        return lambda tangent: transposed(_fitted(tangent, bars))[0]

    return named("make_jvp_reversemode", fun, argnum, at)


def make_hvp(fun: Function, argnum: Argnum = 0) -> Function:
    """Make the function that returns the Hessian-vector product and the gradient at a point: ``(hvp, gradient)``.

    Args:
        fun: as for `grad`.
        argnum: as for `grad`.

    Returns:
        A function of the arguments of ``fun``.

    Example:
        >>> import funcgrad.interop.autograd.numpy as np
        >>> from funcgrad.interop.autograd import make_hvp
        >>> hvp, gradient = make_hvp(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
        >>> hvp(np.array([1.0, 0.0]))
        array([6., 0.])
    """
    return named("make_hvp", fun, argnum, make_vjp(grad(fun, argnum), argnum))


def hessian_tensor_product(fun: Function, argnum: int = 0) -> Function:
    """Make the function that returns the product of the Hessian and a direction, its last argument.

    Args:
        fun: as for `grad`.
        argnum: the position of the argument to differentiate.

    Returns:
        A function of the arguments of ``fun``, and of an array with the shape of the argument.

    Example:
        >>> import funcgrad.interop.autograd.numpy as np
        >>> from funcgrad.interop.autograd import hessian_vector_product
        >>> hessian_vector_product(lambda x: np.sum(x**3))(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
        array([6., 0.])
    """
    return _contracted("hessian_tensor_product", fun, argnum, grad(fun, argnum))


def tensor_jacobian_product(fun: Function, argnum: int = 0) -> Function:
    """Make the function that contracts a tensor, its last argument, with the Jacobian.

    Args:
        fun: any function of arrays.
        argnum: the position of the argument to differentiate.

    Returns:
        A function of the arguments of ``fun``, and of an array whose axes are the first axes of the output.

    Example:
        >>> import funcgrad.interop.autograd.numpy as np
        >>> from funcgrad.interop.autograd import vector_jacobian_product
        >>> vector_jacobian_product(np.square)(np.array([1.0, 2.0]), np.array([1.0, 0.0]))
        array([2., 0.])
    """
    return _contracted("tensor_jacobian_product", fun, argnum, fun)


def _contracted(what: str, fun: Function, argnum: int, first: Function) -> Function:
    """Return the contraction of the last argument with the Jacobian of a function."""

    def contracted(*args: Any, **kwargs: Any) -> Any:
        *point, tensor = args
        return fnp.tensordot(tensor, first(*point, **kwargs), axes=np.ndim(tensor))

    return named(what, fun, argnum, jacobian(functools.wraps(fun)(contracted), argnum))


hessian_vector_product = hessian_tensor_product
vector_jacobian_product = tensor_jacobian_product


def _half_square(x: PyTree) -> Any:
    return fnp.sum(x**2) / 2


def make_ggnvp(f: Function, g: Function = _half_square, f_argnum: Argnum = 0) -> Function:
    """Make the function that returns the generalized Gauss-Newton matrix-vector product at a point.

    The matrix is ``J.T @ H @ J``, with the Jacobian ``J`` of ``f`` and the Hessian ``H`` of ``g`` at ``f``'s output.

    Args:
        f: any function.
        g: a function of the output of ``f`` with one number as output. Half the sum of squares by default.
        f_argnum: the position of the argument of ``f`` to differentiate.

    Returns:
        A function of the arguments of ``f`` that returns ``ggnvp``.

    Example:
        >>> import funcgrad.interop.autograd.numpy as np
        >>> from funcgrad.interop.autograd import make_ggnvp
        >>> make_ggnvp(np.square)(np.array([1.0, 2.0]))(np.array([1.0, 1.0]))
        array([ 4., 16.])

    Source: Schraudolph, *Fast Curvature Matrix-Vector Products*, Neural Computation 14 (2002).
    """

    @unary_to_nary
    def at(f: Function, x: PyTree) -> Function:
        vjp, out = make_vjp(f)(x)
        push = make_jvp_reversemode(f)(x)
        hvp, _ = make_hvp(g)(out)
        return lambda tangent: vjp(hvp(push(tangent)))

    return at(f, f_argnum)
