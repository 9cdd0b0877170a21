"""Jacobians, Hessians and their products, built on forward and reverse mode."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, overload

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import active_trace, is_engine_value
from funcgrad._core.tracebacks import folded
from funcgrad._core.words import shown
from funcgrad._ops.index.gather import slice_axis
from funcgrad._ops.layout.shape import reshape
from funcgrad._transforms.base.arguments import (
    argument_name,
    check_callable,
    checked_argnums,
    differentiable_leaves,
    name_of,
    refuse_repeated,
    require_inexact,
)
from funcgrad._transforms.base.own import with_read_only
from funcgrad._transforms.base.pickled import picklable
from funcgrad._transforms.debug import evaluated
from funcgrad._transforms.derivative.forward import jvp, linearize
from funcgrad._transforms.derivative.reverse import Argnums, gradients, vjp
from funcgrad._transforms.vmap import mapped
from funcgrad._types import ArrayLike, PyTree
from funcgrad.errors import NotDifferentiableError
from funcgrad.tree import flatten, leaves, unflatten

P = ParamSpec("P")

# The greatest number of elements in one of several batches of unit vectors and of their results: 2 MiB of doubles.
_BATCH = 1 << 18
# Up to this number, unit vectors are pushed one by one: a batch of two or three takes longer.
_FEW = 3


@picklable
def jacfwd(
    f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[P, Any]:
    """Make the function that computes the Jacobian column by column, by forward mode: for few inputs and many outputs.

    Args:
        f: a function of pytrees of arrays that returns one; with ``has_aux`` it returns ``(out, aux)``.
        argnums: the positional arguments, of float dtype, to differentiate by.
        has_aux: whether ``f`` also returns auxiliary data.
        holomorphic: whether ``f`` is a holomorphic function of complex arguments with complex outputs. The elements of
            the result are then its complex derivatives; this is not checked.

    Returns:
        A function of the arguments of ``f``. Its result has the structure of the output. Each leaf of shape ``s`` is
        replaced by a pytree like the argument (a tuple of these if ``argnums`` is a sequence), whose leaves have shape
        ``s + shape of the argument's leaf``. With ``has_aux`` the result is ``(jacobian, aux)``.

    Raises:
        NotDifferentiableError: an argument is not of float dtype, or an output is of integer or boolean dtype.
        TypeError: with ``holomorphic``, an argument or an output is real.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.jacfwd(lambda x: x * np.sum(x))(np.array([1.0, 2.0]))
        array([[4., 1.], [2., 5.]])
    """
    argnums = checked_argnums("jacfwd", f, argnums)

    @folded
    @functools.wraps(f)
    def jacobian(*args: Any, **kwargs: Any) -> PyTree:
        g, chosen = _of_chosen("jacfwd", f, argnums, args, kwargs)
        remedy = "use jvp along the directions you need"
        _check_kind("jacfwd", f"{name_of(f)} is asked by an input", remedy, chosen, holomorphic)
        out, f_jvp, *aux = linearize(g, *chosen, has_aux=has_aux)
        inputs, in_tree = flatten(_alone(chosen, argnums))
        outs, out_tree = flatten(out)
        require_inexact("jacfwd", f, outs)
        if holomorphic:
            _check_kind("jacfwd", f"{name_of(f)} has an output", "", outs, holomorphic)
        columns = _each(lambda dots: leaves(evaluated(f_jvp.graph, dots)), inputs, outs, -1)
        blocks = [_split(column, x, inputs, -1) for column, x in zip(columns, outs, strict=True)]
        result = unflatten(out_tree, [unflatten(in_tree, row) for row in blocks])
        return (result, *aux) if has_aux else result

    return jacobian


@picklable
def jacrev(
    f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[P, Any]:
    """Make the function that computes the Jacobian row by row, by reverse mode: for many inputs and few outputs.

    Args:
        f: as for `jacfwd`; its outputs must be real, unless it is ``holomorphic``.
        argnums: as for `jacfwd`.
        has_aux: as for `jacfwd`.
        holomorphic: as for `jacfwd`.

    Returns:
        As for `jacfwd`.

    Raises:
        NotDifferentiableError: an argument or an output is of integer or boolean dtype, or an output is complex.
        TypeError: with ``holomorphic``, an argument or an output is real.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.jacrev(lambda p: {"sum": np.sum(p["a"]) * p["b"]})({"a": np.ones(2), "b": np.array(3.0)})
        {'sum': {'a': array([3., 3.]), 'b': array(2.)}}
    """
    return _in_reverse("jacrev", f, argnums, has_aux, holomorphic)


@picklable
def _in_reverse(
    transform: str, f: Callable[P, Any], argnums: Argnums, has_aux: bool, holomorphic: bool
) -> Callable[P, Any]:
    argnums = checked_argnums(transform, f, argnums)

    @folded
    @functools.wraps(f)
    def jacobian(*args: Any, **kwargs: Any) -> PyTree:
        pulled = _pulled(transform, f, argnums, has_aux, args, kwargs)
        return _by_rows(transform, f, argnums, pulled, holomorphic)

    return jacobian


def _pulled(
    transform: str, f: Callable[..., Any], argnums: Argnums, has_aux: bool, args: tuple, kwargs: dict
) -> tuple[list[Any], Any, Any, list[Any]]:
    """Return the differentiated arguments, the output, its pullback, and the auxiliary data in a list."""
    g, chosen = _of_chosen(transform, f, argnums, args, kwargs)
    out, pullback, *aux = vjp(g, *chosen, has_aux=has_aux)
    return chosen, out, pullback, aux


def _by_rows(transform: str, f: Callable[..., Any], argnums: Argnums, pulled: PyTree, holomorphic: bool = False) -> Any:
    chosen, out, pullback, aux = pulled
    inputs, in_tree = flatten(_alone(chosen, argnums))
    outs, out_tree = flatten(out)
    require_inexact(transform, f, outs)
    if holomorphic:
        _check_kind(transform, f"{name_of(f)} is asked by an input", "", inputs, holomorphic)
    _check_kind(transform, f"{name_of(f)} has an output", "take np.real and np.imag apart", outs, holomorphic)
    rows = _each(lambda bars: leaves(pullback(unflatten(out_tree, bars))), outs, inputs, 0)
    blocks = [_split(row, x, outs, 0) for row, x in zip(rows, inputs, strict=True)]
    turned = [unflatten(in_tree, [column[i] for column in blocks]) for i in range(len(outs))]
    result = unflatten(out_tree, turned)
    return (result, *aux) if aux else result


@picklable
def jacobian(
    f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, *, mode: str | None = None
) -> Callable[P, Any]:
    """Make the function that computes the Jacobian, by the mode that needs fewer passes.

    Args:
        f: as for `jacfwd`.
        argnums: as for `jacfwd`.
        has_aux: as for `jacfwd`.
        mode: ``"forward"`` (a column for each element of the arguments, `jacfwd`) or ``"reverse"`` (a row for each
            element of the outputs, `jacrev`). By default it is forward mode if the arguments have fewer elements than
            the outputs and ``f`` supports it, else reverse mode. Complex outputs need forward mode, complex arguments
            reverse mode.

    Returns:
        As for `jacfwd`.

    Raises:
        NotDifferentiableError: an argument or an output is of integer or boolean dtype, or the mode does not support
            its complex numbers.
        ValueError: the mode is unknown.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.jacobian(lambda x: np.outer(x, x)[0])(np.array([1.0, 2.0]))
        array([[2., 0.], [2., 1.]])

    ``f`` runs once more if it has many outputs.
    """
    if mode not in (None, "forward", "reverse"):
        raise ValueError(
            f"jacobian: mode is {shown(mode)}; needed 'forward', 'reverse' or None, which goes by the shapes. Name one."
        )
    argnums = checked_argnums("jacobian", f, argnums)
    forward, reverse = jacfwd(f, argnums, has_aux), jacrev(f, argnums, has_aux)
    if mode is not None:
        return forward if mode == "forward" else reverse

    @folded
    @functools.wraps(f)
    def jacobian(*args: Any, **kwargs: Any) -> PyTree:
        pulled = _pulled("jacobian", f, argnums, has_aux, args, kwargs)
        inputs, outs = (list(map(aval_of, leaves(tree))) for tree in pulled[:2])
        columns = sum(aval.size for aval in inputs) < sum(aval.size for aval in outs)
        if any(aval.dtype.kind == "c" for aval in outs):
            return forward(*args, **kwargs)
        if columns and not any(aval.dtype.kind == "c" for aval in inputs):
            # A function with a rule for reverse mode only falls through to reverse mode.
            with contextlib.suppress(NotDifferentiableError):
                return forward(*args, **kwargs)
        return _by_rows("jacobian", f, argnums, pulled)

    return jacobian


@picklable
def hessian(
    f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[P, Any]:
    """Make the function that computes the Hessian, by forward mode over reverse mode.

    Args:
        f: as for `jacfwd`; its output is usually a scalar.
        argnums: as for `jacfwd`.
        has_aux: as for `jacfwd`.
        holomorphic: as for `jacfwd`.

    Returns:
        A function of the arguments of ``f``. Its result has the structure of the output, with the argument's structure
        twice in place of each leaf.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.hessian(lambda x: np.sum(x) * np.sum(x**2))(np.array([1.0, 2.0]))
        array([[10.,  6.], [ 6., 14.]])
    """
    argnums = checked_argnums("hessian", f, argnums)
    return jacfwd(_in_reverse("hessian", f, argnums, has_aux, holomorphic), argnums, has_aux, holomorphic)


@overload
def hvp(f: Callable[..., Any]) -> Callable[[Sequence[Any], Sequence[Any]], Any]: ...


@overload
def hvp(f: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any: ...


@folded
def hvp(f: Callable[..., Any], primals: Sequence[Any] | None = None, tangents: Sequence[Any] | None = None) -> Any:
    """Compute the product of the Hessian of a scalar-valued function with a direction, without the Hessian.

    Args:
        f: returns a real scalar; a function of as many arguments as there are primals.
        primals: pytrees of float arrays, the point.
        tangents: one per primal, with its structure and shapes: the direction. Numbers of another dtype are cast where
            NumPy does so (``same_kind``), integers where nothing is lost.

    Returns:
        The product, a pytree like the primal; a tuple of these for several primals. Without a point, the function of
        ``(primals, tangents)`` that computes it.

    Raises:
        NonScalarOutputError: the output is not a real scalar.
        TypeError: only one of primals and tangents is given, or one is no tuple.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.hvp(lambda x: np.sum(x**3), (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))
        array([6., 0.])
        >>> product = fg.hvp(lambda x: np.sum(x**3))
        >>> product((np.array([1.0, 2.0]),), (np.array([0.0, 1.0]),))
        array([ 0., 12.])

    It applies reverse mode to forward mode. The opposite order would compute the gradient as well (for an MLP it takes
    6.5 times the function's own time instead of 3.7). A function with a rule for reverse mode only takes the opposite
    order.

    Source: Pearlmutter, *Fast Exact Multiplication by the Hessian*, Neural Computation 6 (1994).
    """
    check_callable("hvp", f)
    if primals is None and tangents is None:
        product = functools.partial(hvp, f)
        return functools.update_wrapper(product, f)
    point, direction = _each_given(f, "primals", primals), _each_given(f, "tangents", tangents)

    @functools.wraps(f)
    def derivative(*args: Any) -> Any:
        return jvp(f, args, direction)[1]

    numbers = tuple(range(len(point)))
    try:
        products = gradients("hvp", derivative, numbers)(*point)
    except NotDifferentiableError:
        products = jvp(gradients("hvp", f, numbers), point, direction)[1]
    return products[0] if len(point) == 1 else products


def _each_given(f: Callable[..., Any], name: str, values: ArrayLike) -> Sequence[Any]:
    if not isinstance(values, tuple | list):
        raise TypeError(
            f"hvp: {name} is a {type(values).__name__}; needed a tuple with one for each positional argument of "
            f"{name_of(f)}. Write ({name[:-1]},) for one."
        )
    return values


def _of_chosen(
    transform: str, f: Callable[..., Any], argnums: Argnums, args: tuple, kwargs: dict
) -> tuple[Callable[..., Any], list[Any]]:
    """Return ``f`` as a function of the arguments in ``argnums`` alone, and these arguments."""
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    for number in numbers:
        if not -len(args) <= number < len(args):
            raise TypeError(
                f"{transform}: {argument_name(f, number)} is to be differentiated, but the call has {len(args)} "
                "positional arguments. Pass it by position, or change argnums."
            )
        differentiable_leaves(transform, f, number, args[number])
    refuse_repeated(transform, f, [number % len(args) for number in numbers])

    @functools.wraps(f)
    def of_chosen(*chosen: Any) -> Any:
        whole, named = with_read_only(active_trace(), args, kwargs, numbers)
        for number, x in zip(numbers, chosen, strict=True):
            whole[number] = x
        return f(*whole, **named)

    return of_chosen, [args[number] for number in numbers]


def _alone(chosen: list[Any], argnums: Argnums) -> Any:
    return chosen[0] if isinstance(argnums, int) else tuple(chosen)


def refuse_complex(transform: str, what: str, remedy: str, tree: PyTree) -> None:
    for x in leaves(tree):
        if aval_of(x).dtype.kind == "c":
            raise NotDifferentiableError(
                f"{transform}: {what} of type {aval_of(x)}; needed a real dtype, since a complex derivative is no "
                f"single number. To go on, {remedy}."
            )


def _check_kind(transform: str, what: str, remedy: str, tree: PyTree, holomorphic: bool) -> None:
    """Refuse complex numbers; if the function is holomorphic, real ones."""
    if not holomorphic:
        refuse_complex(transform, what, remedy, tree)
    for x in leaves(tree) if holomorphic else ():
        if aval_of(x).dtype.kind != "c":
            raise TypeError(
                f"{transform}: with holomorphic=True {what} of type {aval_of(x)}; needed a complex dtype. Convert it "
                "with .astype(complex), or leave holomorphic out."
            )


def _basis(avals: Sequence[Aval], start: int, stop: int) -> list[np.ndarray]:
    """Return the unit vectors with these numbers in a space of several arrays, stacked for each array."""
    stacked, before = [], 0
    for aval in avals:
        block = np.zeros((stop - start, aval.size), aval.dtype)
        rows = range(max(start, before), min(stop, before + aval.size))
        block[[row - start for row in rows], [row - before for row in rows]] = 1
        stacked.append(block.reshape(stop - start, *aval.shape))
        before += aval.size
    return stacked


def _each(push: Callable[[list], list], values: Sequence[Any], like: Sequence[Any], axis: int) -> list[Any]:
    """Return the results of ``push`` for every unit vector of the space of ``values``, stacked along an axis.

    The unit vectors are pushed in one batch. Outside of other transforms a large space is split into several small
    batches: the first Jacobian of 5,000 by 5,000 numbers takes 0.5 s instead of 1.3 s, which went into allocating
    memory.
    """
    avals, results = list(map(aval_of, values)), list(map(aval_of, like))
    count = sum(aval.size for aval in avals)
    if not count:
        return [np.zeros((*aval.shape, 0) if axis else (0, *aval.shape), aval.dtype) for aval in results]
    plain = active_trace() is None and not any(map(is_engine_value, (*values, *like)))
    if plain and count <= _FEW:
        rows = [push(list(row)) for row in zip(*_basis(avals, 0, count), strict=True)]
        return [np.stack(parts, -1 if axis else 0) for parts in zip(*rows, strict=True)]
    each = mapped(lambda *rows: push(list(rows)), 0, -1 if axis else 0, like)
    wide = max(1, _BATCH // max(1, sum(aval.size for aval in (*avals, *results))))
    if wide >= count or not plain:
        return each(*_basis(avals, 0, count))
    parts = [each(*_basis(avals, start, min(start + wide, count))) for start in range(0, count, wide)]
    return [np.concatenate(blocks, -1 if axis else 0) for blocks in zip(*parts, strict=True)]


def _split(stacked: PyTree, x: ArrayLike, spans: Sequence[Any], axis: int) -> list[Any]:
    """Split a result that was stacked over several arrays into one part for each.

    First the output's shape, then the input's.
    """
    parts, start = [], 0
    shape = aval_of(x).shape
    for aval in map(aval_of, spans):
        part = slice_axis(stacked, len(shape) if axis else 0, start, start + aval.size)
        parts.append(reshape(part, (*shape, *aval.shape) if axis else (*aval.shape, *shape)))
        start += aval.size
    return parts
