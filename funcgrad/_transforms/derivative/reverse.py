"""Reverse mode: ``grad``, ``value_and_grad`` and ``vjp``."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ParamSpec, TypeVar

import numpy as np

from funcgrad._core.aval import aval_of, is_inexact, is_real
from funcgrad._core.bind import Tracer, active_trace, is_value
from funcgrad._core.graph.ir import Graph
from funcgrad._core.graph.line import around, replays
from funcgrad._core.numbers import plain
from funcgrad._core.trace.place import frozen, settled
from funcgrad._core.trace.reverse import ReverseTracer
from funcgrad._core.tracebacks import folded, let_out
from funcgrad._engines import engine_scope, lasting
from funcgrad._ops.layout.fill import ones_like
from funcgrad._transforms.base.arguments import (
    check_callable,
    checked_argnums,
    name_of,
    number_like,
    refuse_repeated,
    require_inexact,
    returned,
    taken,
)
from funcgrad._transforms.base.pickled import picklable
from funcgrad._transforms.base.recording import Recording, record
from funcgrad._transforms.base.stage import stage_flat
from funcgrad._types import Array, PyTree, Value
from funcgrad.errors import NonScalarOutputError, TreeMismatchError
from funcgrad.tree import TreeDef, flatten, flatten_with_path, key_path_str, unflatten

P = ParamSpec("P")
R = TypeVar("R")

Argnums = int | Sequence[int]

_ONE = np.float64(1)


@picklable
def grad(
    f: Callable[P, Any], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[P, Any]:
    """Make the function that computes the gradient of a scalar-valued function.

    Args:
        f: returns a real scalar (shape ``[]``); its arguments may be pytrees of arrays. With ``has_aux`` it returns
            ``(scalar, aux)``.
        argnums: the positional arguments to differentiate by.
        has_aux: whether ``f`` also returns auxiliary data.
        holomorphic: whether ``f`` is a holomorphic function of complex arguments with a complex scalar result. The
            gradient is then its complex derivative.

    Returns:
        A function of the arguments of ``f`` that returns the gradient: a pytree like the argument, or a tuple of these
        if ``argnums`` is a sequence. With ``has_aux`` it returns ``(gradient, aux)``. Complex gradients follow JAX's
        convention (the conjugate of the steepest-ascent direction).

    Raises:
        NotDifferentiableError: an argument, or the output, is of integer or boolean dtype.
        NonScalarOutputError: the output is not a real scalar; with ``holomorphic``, not a complex one.
        TypeError: with ``holomorphic``, an argument is real.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
        array([2., 4.])
        >>> print(fg.grad(lambda z: z**3, holomorphic=True)(1.0 + 1.0j))
        6j

    Source: Griewank and Walther, *Evaluating Derivatives*, 2nd edition (2008), chapter 3. The signature is
    ``jax.grad``'s.
    """
    compute = _computation(f, argnums, has_aux, "grad", holomorphic)

    @functools.wraps(f)
    def gradient(*args: Any, **kwargs: Any) -> Any:
        # An entry point (see `folded`), written out to save a call.
        before = active_trace()
        try:
            value, grads = compute(args, kwargs)
        except BaseException as error:
            let_out(error, before)
            raise
        return (grads, value[1]) if has_aux else grads

    gradient.__name__ = f"grad_{name_of(f)}"
    return gradient


@picklable
def value_and_grad(
    f: Callable[P, R], argnums: Argnums = 0, has_aux: bool = False, holomorphic: bool = False
) -> Callable[P, tuple[R, Any]]:
    """Make the function that computes a scalar-valued function and its gradient together.

    Args:
        f: as for `grad`.
        argnums: as for `grad`.
        has_aux: as for `grad`.
        holomorphic: as for `grad`.

    Returns:
        A function that returns ``(value, gradient)``; ``((value, aux), gradient)`` with ``has_aux``.

    Raises:
        NotDifferentiableError: an argument, or the output, is of integer or boolean dtype.
        NonScalarOutputError: the output is not a real scalar.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> value, gradient = fg.value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
        >>> float(value), gradient
        (5.0, array([2., 4.]))
    """
    compute = _computation(f, argnums, has_aux, "value_and_grad", holomorphic)

    @functools.wraps(f)
    def value_and_gradient(*args: Any, **kwargs: Any) -> Any:
        before = active_trace()
        try:
            return compute(args, kwargs)
        except BaseException as error:
            let_out(error, before)
            raise

    value_and_gradient.__name__ = f"value_and_grad_{name_of(f)}"
    return value_and_gradient


def _computation(
    f: Callable[..., Any], argnums: Argnums, has_aux: bool, transform: str, holomorphic: bool
) -> Callable[[tuple, dict], tuple[Any, Any]]:
    """Return the function that computes value and gradient. Each entry point takes what it needs from the pair."""
    argnums = checked_argnums(transform, f, argnums)
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    mixed = len(numbers) > 1 and min(numbers) < 0

    def compute(args: tuple, kwargs: dict) -> tuple[Any, Any]:
        if mixed:
            refuse_repeated(transform, f, [number % max(len(args), 1) for number in numbers])
        recording = record(transform, f, args, kwargs, numbers)
        aux = recording.untraced(_aux(transform, f, recording)) if has_aux else None
        value, seeds = _seeded_holomorphic(transform, f, recording) if holomorphic else _seeded(transform, f, recording)
        if type(value) is np.float64:
            grads = recording.pull(seeds, sparse=True)
        else:
            grads = recording.pull(seeds, scope=engine_scope((value,)), sparse=True)
            value = lasting(value, recording.primals)
        result = grads[0] if isinstance(argnums, int) else tuple(grads)
        return ((value, aux), result) if has_aux else (value, result)

    return compute


def gradients(transform: str, f: Callable[..., Any], numbers: Sequence[int]) -> Callable[..., Any]:
    """Return the function that computes the gradients by some arguments, for another transform."""
    compute = _computation(f, tuple(numbers), False, transform, False)
    return lambda *args: compute(args, {})[1]


def split_aux(transform: str, f: Callable[..., Any], out: Array) -> tuple[Any, Any]:
    """Return the two parts of a result with auxiliary data."""
    if isinstance(out, tuple | list) and len(out) == 2:
        return out[0], out[1]
    raise TypeError(
        f"{transform}: with has_aux=True, {name_of(f)} must return a pair (value, aux). It returned "
        f"{f'{len(out)} values' if isinstance(out, tuple | list) else f'a {type(out).__name__}'}. "
        "Return the pair, or leave out has_aux."
    )


def _aux(transform: str, f: Callable[..., Any], recording: Recording) -> Any:
    """Return the auxiliary data, and keep only the output in the recording."""
    recording.out, aux = split_aux(transform, f, recording.out)
    return aux


def _seeded(transform: str, f: Callable[..., Any], recording: Recording) -> tuple[Any, Iterator[tuple[Any, Any]]]:
    """Return the value and the seeds of the pass, as an iterator, which keeps no reference to a seed after its use."""
    out = recording.out
    if type(out) is ReverseTracer and out._owner is recording.trace:
        if out.shape or out.dtype.kind == "c":
            _refuse_output(transform, f, out)
        if type(out._value) is np.float64:
            return out._value, iter([(out._node, _ONE)])
        return plain(out._value), iter([(out._node, ones_like(out._value))])
    if not _is_real_scalar(out):
        _refuse_output(transform, f, out)
    require_inexact(transform, f, [out])
    return out, iter(())


def _seeded_holomorphic(transform: str, f: Callable[..., Any], recording: Recording) -> tuple[Any, Iterator[Any]]:
    """Do the same for a complex scalar. A complex-linear rule multiplies its seed, 1, by the complex derivative."""
    for x in recording.primals:
        if aval_of(x).dtype.kind != "c":
            raise TypeError(
                f"{transform}: with holomorphic=True an argument of {name_of(f)} is {aval_of(x)}; needed a complex "
                "dtype. Convert it with .astype(complex), or leave holomorphic out."
            )
    out = recording.out
    if not is_value(out) or aval_of(out).shape or aval_of(out).dtype.kind != "c":
        what = str(aval_of(out)) if is_value(out) else f"a {type(out).__name__}"
        raise NonScalarOutputError(
            f"{transform}: with holomorphic=True {name_of(f)} must return a complex scalar. Its output is {what}; "
            "needed c128[]. Leave holomorphic out for a real result."
        )
    value, node = recording.taken_apart(out)
    return plain(value), iter(() if node is None else [(node, ones_like(value))])


# The backward pass begins in these functions.
for _begins in (_seeded, _seeded_holomorphic):
    replays(_begins, lambda frame, made_at: around(frame).back)


def _is_real_scalar(out: Array) -> bool:
    aval = aval_of(out) if is_value(out) else None
    return aval is not None and aval.shape == () and is_real(aval.dtype)


def _refuse_output(transform: str, f: Callable[..., Any], out: Array) -> Any:
    if out is None:
        raise NonScalarOutputError(
            f"{transform}: {name_of(f)} must return a scalar. It returned None; needed f32[] or f64[]. Is a return "
            "missing?"
        )
    pairs = flatten_with_path(out)[0]
    if len(pairs) == 1:
        path, leaf = pairs[0]
        where = f" {key_path_str(path)}" if key_path_str(path) else ""
        text = str(aval_of(leaf)) if hasattr(leaf, "dtype") and is_value(leaf) else type(leaf).__name__
        if text.startswith("c"):
            needed = "a real scalar: take np.real or np.abs of it, or use fg.vjp"
        else:
            needed = "f32[] or f64[]. Reduce it with np.mean or np.sum, or use fg.jacrev"
    else:
        where, text, needed = (
            "",
            f"a {type(out).__name__} of {len(pairs)} leaves",
            "one scalar, or (scalar, aux) with has_aux=True",
        )
    raise NonScalarOutputError(
        f"{transform}: {name_of(f)} must return a scalar. Its output{where} is {text}; needed {needed}."
    )


class Pullback:
    """The transposed derivative at a point: it takes cotangents of the outputs and returns those of the primals.

    It can be called any number of times. Its ``graph`` is the program it runs, with the values that the forward pass
    kept as constants.
    """

    def __init__(self, f_name: str, recording: Recording, outputs: list[Any], out_tree: TreeDef) -> None:
        self._f_name = f_name
        self._recording = recording
        self._outputs = outputs
        self._out_tree = out_tree

    def __repr__(self) -> str:
        return f"<pullback of {self._f_name}>"

    @folded
    def __call__(self, cotangent: Value) -> tuple[Any, ...]:
        """Return the cotangent of each primal, for a cotangent with the structure, shapes and dtypes of the output."""
        bars, treedef = flatten(cotangent)
        bars = [settled(bar) for bar in bars]
        if treedef != self._out_tree:
            raise TreeMismatchError(
                f"vjp: the cotangent passed to the pullback of {self._f_name} has structure {treedef}; needed that of "
                f"the output, {self._out_tree}. Pass one cotangent for each output."
            )
        return self._pull(bars)

    @property
    def graph(self) -> Graph:
        """The pullback as a graph. Its inputs are the cotangents."""
        avals = [aval_of(value) for value, _ in self._outputs]
        return stage_flat(lambda *bars: flatten(self._pull(list(bars)))[0], avals, f"vjp_{self._f_name}")

    def _pull(self, bars: list[Any]) -> tuple[Any, ...]:
        seeds = []
        for (value, node), bar in zip(self._outputs, bars, strict=True):
            seed = self._checked(value, bar)
            if node is not None:
                seeds.append((node, seed))
        scope = engine_scope([*bars, *[value for value, _ in self._outputs]])
        return tuple(self._recording.pull(seeds, [*bars, *self._recording.primals], scope))

    def _checked(self, value: Value, bar: PyTree) -> Array:
        needed, bar = aval_of(value), taken(bar)
        if not isinstance(bar, Tracer) and not hasattr(bar, "dtype"):
            bar = number_like(bar, needed, f"vjp: a cotangent passed to the pullback of {self._f_name}")
        if bar.shape != needed.shape or (bar.dtype != needed.dtype and is_inexact(needed.dtype)):
            raise TreeMismatchError(
                f"vjp: a cotangent passed to the pullback of {self._f_name} is {aval_of(bar)}; needed {needed}, the "
                "type of the output. Convert or reshape it."
            )
        return bar


@folded
def vjp(f: Callable[..., Any], *primals: PyTree, has_aux: bool = False) -> tuple[Any, ...]:
    """Compute a function and its pullback, the product of a cotangent with the Jacobian.

    Args:
        f: a function of as many arguments as there are primals.
        primals: pytrees of float or complex arrays, the point.
        has_aux: whether ``f`` returns ``(out, aux)``.

    Returns:
        ``(out, pullback)``, and ``aux`` as a third with ``has_aux``; ``pullback(out_bar)`` is a tuple with a cotangent
        per primal, and ``pullback.graph`` is its graph. The arrays that ``f`` computes are returned in memory of their
        own, so later writes to them and to the primals do not change what the pullback reads.

    Raises:
        NotDifferentiableError: a primal is of integer or boolean dtype.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> out, pullback = fg.vjp(np.sin, np.array([0.0, 1.0]))
        >>> pullback(np.array([1.0, 0.0]))[0]
        array([1., 0.])
    """
    check_callable("vjp", f)
    recording = record("vjp", f, primals, {}, range(len(primals)))
    aux = recording.untraced(_aux("vjp", f, recording), separate=True) if has_aux else None
    leaves, out_tree = flatten(recording.out)
    leaves = [returned("vjp", name_of(f), y) for y in leaves]
    given = recording.primals
    # The tape keeps the values, and the caller may write to the returned ones.
    values = unflatten(out_tree, [lasting(frozen(recording.separate(y)), given) for y in leaves])
    result = values, Pullback(name_of(f), recording, list(map(recording.taken_apart, leaves)), out_tree)
    return (*result, aux) if has_aux else result
