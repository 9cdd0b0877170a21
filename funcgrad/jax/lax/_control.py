"""Control flow of ``jax.lax``: the library's loops and branches, in whose bodies no array changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from funcgrad._engines.xla.record import jax_names
from funcgrad._transforms import named_axis as axes
from funcgrad._transforms.control import associative, loops
from funcgrad._transforms.control import switch as switches
from funcgrad._transforms.custom import stop_gradient as constants
from funcgrad._transforms.vmap import vmap
from funcgrad._types import Array, ArrayLike, PyTree
from funcgrad.jax._array import tree_of_arrays
from funcgrad.jax._immutable import immutably
from funcgrad.numpy import concatenate
from funcgrad.tree import leaves
from funcgrad.tree import map as tree_map


def scan(
    f: Callable[..., Any],
    init: ArrayLike,
    xs: PyTree = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: Any = 1,
) -> tuple[Any, Any]:
    """``jax.lax.scan``: a loop over leading axes with a carried state."""
    return tree_of_arrays(loops.scan(immutably(f), init, xs, length, reverse, unroll))


def fori_loop(
    lower: ArrayLike, upper: ArrayLike, body_fun: Callable[..., Any], init_val: PyTree, **options: Any
) -> Array:
    """``jax.lax.fori_loop``: a loop over whole numbers with a carried state."""
    return tree_of_arrays(loops.fori_loop(lower, upper, immutably(body_fun), init_val, **options))


def while_loop(cond_fun: Callable[..., Any], body_fun: Callable[..., Any], init_val: PyTree) -> Any:
    """``jax.lax.while_loop``: a loop that runs while a condition of its state holds."""
    return tree_of_arrays(loops.while_loop(immutably(cond_fun), immutably(body_fun), init_val))


def cond(
    pred: ArrayLike, true_fun: Callable[..., Any], false_fun: Callable[..., Any], *operands: PyTree, **old: Any
) -> PyTree:
    """``jax.lax.cond``: apply one of two functions, chosen by a boolean."""
    if old:
        operands = (*operands, old["operand"])
    return tree_of_arrays(loops.cond(pred, immutably(true_fun), immutably(false_fun), *operands))


def switch(index: ArrayLike, branches: Sequence[Callable[..., Any]], *operands: PyTree, **old: Any) -> PyTree:
    """``jax.lax.switch``: apply one of several functions, chosen by an integer."""
    if old:
        operands = (*operands, old["operand"])
    return tree_of_arrays(switches.switch(index, [immutably(each) for each in branches], *operands))


def associative_scan(fn: Callable[..., Any], elems: ArrayLike, reverse: bool = False, axis: int = 0) -> Any:
    """``jax.lax.associative_scan``: all partial results of an associative function, in logarithmic time."""
    return tree_of_arrays(associative.associative_scan(immutably(fn), elems, reverse=reverse, axis=axis))


def map(f: Callable[..., Any], xs: PyTree, *, batch_size: int | None = None) -> PyTree:  # noqa: A001  (JAX's name)
    """``jax.lax.map``: apply a function to the elements of leading axes, one after the other, or in batches."""
    if batch_size is None:
        return scan(lambda carry, x: (carry, f(x)), None, xs)[1]
    count = leaves(xs)[0].shape[0]
    whole = count // batch_size * batch_size
    batches = tree_map(lambda x: x[:whole].reshape(-1, batch_size, *x.shape[1:]), xs)
    done = map(vmap(immutably(f)), batches)
    done = tree_map(lambda y: y.reshape(-1, *y.shape[2:]), done)
    if whole == count:
        return done
    rest = vmap(immutably(f))(tree_map(lambda x: x[whole:], xs))
    return tree_of_arrays(tree_map(lambda a, b: concatenate([a, b]), done, rest))


def stop_gradient(x: PyTree) -> Any:
    """``jax.lax.stop_gradient``: the value, which counts as a constant."""
    return tree_of_arrays(constants.stop_gradient(x))


def platform_dependent(
    *args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
) -> Any:
    """``jax.lax.platform_dependent``: call the function for the platform of JAX's default devices."""
    chosen = per_platform.get(jax_names.lookup("default_backend")(), default)
    if chosen is None:
        raise NotImplementedError(
            f"platform_dependent: there are functions for {', '.join(per_platform)}, and this is another platform. "
            "Give a function for it, or default."
        )
    return chosen(*args)


def psum(x: PyTree, axis_name: Any) -> PyTree:
    """``jax.lax.psum``: the sum over a named axis of `vmap`."""
    return tree_of_arrays(axes.psum(x, axis_name))


def pmean(x: PyTree, axis_name: Any) -> PyTree:
    """``jax.lax.pmean``: the mean over a named axis of `vmap`."""
    return tree_of_arrays(axes.pmean(x, axis_name))


def pmax(x: PyTree, axis_name: Any) -> Any:
    """``jax.lax.pmax``: the greatest value over a named axis of `vmap`."""
    return tree_of_arrays(axes.pmax(x, axis_name))


def pmin(x: PyTree, axis_name: Any) -> Any:
    """``jax.lax.pmin``: the smallest value over a named axis of `vmap`."""
    return tree_of_arrays(axes.pmin(x, axis_name))


def all_gather(x: PyTree, axis_name: Any, **options: Any) -> PyTree:
    """``jax.lax.all_gather``: the values of all elements of a named axis of `vmap`."""
    return tree_of_arrays(axes.all_gather(x, axis_name, **options))


def axis_index(axis_name: Any) -> Any:
    """``jax.lax.axis_index``: the place of this element along a named axis of `vmap`."""
    return axes.axis_index(axis_name)


def axis_size(axis_name: Any) -> Any:
    """``jax.lax.axis_size``: the length of a named axis of `vmap`."""
    return axes.psum(1, axis_name)


def optimization_barrier(operand: ArrayLike) -> Any:
    """``jax.lax.optimization_barrier``: the value itself: it changes only how JAX compiles."""
    return operand
