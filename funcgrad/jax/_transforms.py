"""JAX's transforms: the library's own, with JAX's arrays, for functions in which no array changes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._transforms import vmap as batches
from funcgrad._transforms.base import stage
from funcgrad._transforms.base.pickled import picklable
from funcgrad._transforms.control import checkpoint as checkpoints
from funcgrad._transforms.custom import decorators
from funcgrad._transforms.derivative import forward, higher_order, reverse
from funcgrad._types import ArrayLike, PyTree
from funcgrad.jax._array import Array, tree_of_arrays
from funcgrad.jax._immutable import immutably
from funcgrad.tree import map as tree_map


def returning_arrays(f: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose results are JAX's arrays."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        # An `Array` within a container is converted by the transform.
        return tree_of_arrays(f(*[x.view(np.ndarray) if type(x) is Array else x for x in args], **kwargs))

    return call


def _of(transform: Callable[..., Any]) -> Any:
    """Return a transform of JAX's that takes a function and returns one."""

    @functools.wraps(transform)
    def made(fun: Callable[..., Any], *args: Any, **options: Any) -> Any:
        return returning_arrays(transform(immutably(fun), *args, **options))

    function = picklable(made)
    function.__module__ = __name__
    return function


grad = _of(reverse.grad)
value_and_grad = _of(reverse.value_and_grad)
jacrev = _of(higher_order.jacrev)
jacfwd = _of(higher_order.jacfwd)
jacobian = jacrev
hessian = _of(higher_order.hessian)
vmap = _of(batches.vmap)


def vjp(fun: Callable[..., Any], *primals: Any, has_aux: bool = False, **options: Any) -> Any:
    """``jax.vjp``: the value of a function, and the function that pulls cotangents back."""
    value, pull, *aux = reverse.vjp(immutably(fun), *primals, has_aux=has_aux, **options)
    return tree_of_arrays(value), returning_arrays(pull), *map(tree_of_arrays, aux)


def jvp(fun: Callable[..., Any], primals: PyTree, tangents: PyTree, **options: Any) -> Any:
    """``jax.jvp``: the value of a function and its directional derivative."""
    return tree_of_arrays(forward.jvp(immutably(fun), primals, tangents, **options))


def linearize(fun: Callable[..., Any], *primals: Any, **options: Any) -> Any:
    """``jax.linearize``: the value of a function, and its derivative as a function of tangents."""
    value, push, *aux = forward.linearize(immutably(fun), *primals, **options)
    return tree_of_arrays(value), returning_arrays(push), *map(tree_of_arrays, aux)


def linear_transpose(fun: Callable[..., Any], *primals: Any) -> Callable[..., Any]:
    """``jax.linear_transpose``: the transpose of a linear function of arguments of these types."""
    zeros = tree_map(lambda x: fnp.zeros(fnp.shape(x) if not hasattr(x, "shape") else x.shape, x.dtype), primals)
    return vjp(fun, *zeros)[1]


def checkpoint(fun: Callable[..., Any] | None = None, *, prevent_cse: bool = True, **options: Any) -> Any:
    """``jax.checkpoint``: compute a function's intermediate values again in the backward pass, and keep none."""
    del prevent_cse  # the library decides it by itself
    if fun is None:
        return functools.partial(checkpoint, **options)
    return returning_arrays(checkpoints.checkpoint(immutably(fun), **options))


def make_jaxpr(fun: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """``jax.make_jaxpr``: the program of a function as a `funcgrad.Graph`, which prints, draws and runs."""
    return stage.make_graph(immutably(fun), **options)


class _JaxCustom:
    """A function with derivative rules, whose results are JAX's arrays and whose rules change no array."""

    def __init__(self, ruled: Any, f: Callable[..., Any]) -> None:
        functools.update_wrapper(self, f)
        self._ruled = ruled

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return tree_of_arrays(self._ruled(*args, **kwargs))

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        """Bind as a method does."""
        return self if instance is None else functools.partial(self, instance)


class custom_vjp(_JaxCustom):  # noqa: N801  (JAX's name)
    """``jax.custom_vjp``: a function whose derivative in reverse mode is declared with ``defvjp(fwd, bwd)``."""

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Any = (), **options: Any) -> None:
        super().__init__(decorators.custom_vjp(immutably(fun), nondiff_argnums, **options), fun)

    def defvjp(self, fwd: Callable[..., Any], bwd: Callable[..., Any]) -> None:
        """Declare the forward pass, which returns the value and residuals, and the backward pass."""
        self._ruled.defvjp(immutably(fwd), immutably(bwd))


class custom_jvp(_JaxCustom):  # noqa: N801  (JAX's name)
    """``jax.custom_jvp``: a function whose derivative in forward mode is declared with ``defjvp(jvp)``."""

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Any = (), **options: Any) -> None:
        super().__init__(decorators.custom_jvp(immutably(fun), nondiff_argnums, **options), fun)

    def defjvp(self, jvp: Callable[..., Any], symbolic_zeros: bool = False) -> Callable[..., Any]:
        """Declare the derivative, a function of primals and tangents; may be used as a decorator."""
        if symbolic_zeros:
            raise NotImplementedError(
                "defjvp: symbolic_zeros is True; rules of funcgrad get arrays of zeros. Leave the option out."
            )
        self._ruled.defjvp(immutably(jvp))
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Declare the derivative with respect to each argument; ``None`` for zero."""
        self._ruled.defjvps(*[None if each is None else immutably(each) for each in jvps])


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """``jax.custom_gradient``: a function that returns its value and the function that pulls a cotangent back."""

    @functools.wraps(fun)
    def value(*args: Any) -> Any:
        return fun(*args)[0]

    def forward_pass(*args: Any) -> Any:
        return fun(*args)[0], args

    def backward_pass(args: tuple, cotangent: ArrayLike) -> tuple:
        bars = fun(*args)[1](cotangent)
        return bars if isinstance(bars, tuple) else (bars,)

    ruled = custom_vjp(value)
    ruled.defvjp(forward_pass, backward_pass)
    return ruled


def eval_shape(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """``jax.eval_shape``: the types of a function's results, without computing them."""
    return stage.eval_shape(immutably(fun), *args, **kwargs)


def typeof(x: ArrayLike) -> Any:
    """``jax.typeof``: the shape and dtype of a value."""
    return aval_of(x)
