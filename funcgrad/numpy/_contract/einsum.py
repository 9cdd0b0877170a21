"""Contractions by labelled axes: einsum, and other products expressed by it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.lazy import LazyModule
from funcgrad._ops.contract.dot import NO_BATCH, Pair, dot_general
from funcgrad._ops.layout.broadcast import reduce_sum
from funcgrad._ops.layout.copy import fresh
from funcgrad._ops.layout.diagonal import diagonal, writable_diagonal
from funcgrad._ops.layout.shape import reshape, transpose
from funcgrad._types import Array, ArrayLike, DTypeLike
from funcgrad.numpy._base.concrete import as_number
from funcgrad.numpy._base.convert import as_value, promote
from funcgrad.numpy._base.dispatch import implements
from funcgrad.numpy._base.out import takes_out
from funcgrad.numpy._base.plain import beside_numpys

opt_einsum = LazyModule("opt_einsum")
einsum_parser = LazyModule("opt_einsum.parser")

Labels = tuple[Any, ...]
Term = tuple[Any, Labels]


@lru_cache(maxsize=4096)
def _pair_plan(x: Labels, y: Labels, out: Labels) -> tuple[Pair, Pair, Labels]:
    """Return the contracted and the batch axes, and the labels of the result in the order of ``dot_general``."""
    shared = [label for label in x if label in y]
    batch = [label for label in shared if label in out]
    contract = [label for label in shared if label not in out]
    kept = [label for label in (*x, *y) if label not in shared]
    pairs = [(tuple(map(x.index, labels)), tuple(map(y.index, labels))) for labels in (contract, batch)]
    return pairs[0], pairs[1] if batch else NO_BATCH, (*batch, *kept)


def contract_labelled(x: ArrayLike, x_labels: Labels, y: ArrayLike, y_labels: Labels, out: Labels) -> Array:
    """Return the product of two arrays, summed over the labels that both have and ``out`` lacks."""
    contract, batch, labels = _pair_plan(x_labels, y_labels, out)
    if labels != out:
        # The other order of the operands may give the desired order of axes.
        turned_contract, turned_batch, turned = _pair_plan(y_labels, x_labels, out)
        if turned == out:
            return dot_general(y, x, turned_contract, turned_batch)
    return arranged(dot_general(x, y, contract, batch), labels, out)


def arranged(x: ArrayLike, labels: Labels, out: Labels) -> Array:
    """Return the array with its axes in the order of ``out``."""
    return x if labels == out else transpose(x, tuple([labels.index(label) for label in out]))


def contract_stacks(x: ArrayLike, y: ArrayLike, core: tuple[str, str, str]) -> Array:
    """Return the product described by ``core`` (labels of the last axes of x, y and result) of stacks that broadcast.

    Only axes that both stacks have are matched. None is repeated.
    """
    x_stack = x.shape[: len(x.shape) - len(core[0])]
    y_stack = y.shape[: len(y.shape) - len(core[1])]
    stack = x_stack if x_stack == y_stack else np.broadcast_shapes(x_stack, y_stack)
    x, x_labels = _own_axes(x, x_stack, stack)
    y, y_labels = _own_axes(y, y_stack, stack)
    labels = (*range(len(stack)), *core[2])
    return contract_labelled(x, (*x_labels, *core[0]), y, (*y_labels, *core[1]), labels)


def _own_axes(x: ArrayLike, own: tuple[int, ...], stack: tuple[int, ...]) -> tuple[Any, Labels]:
    """Return ``x`` without the axes along which it would be repeated, and the labels of its other axes."""
    offset = len(stack) - len(own)
    labels = tuple(i for i, n in enumerate(own, offset) if n == stack[i])
    return reshape(x, (*(stack[i] for i in labels), *x.shape[len(own) :])), labels


@implements(np.einsum)
@takes_out
def einsum(*operands: ArrayLike, out: Array = None, dtype: DTypeLike = None, optimize: Any = "auto", **_: Any) -> Array:
    """Return ``numpy.einsum``. opt_einsum chooses the order of contraction."""
    subscripts, values = _subscripts_and_values(operands)
    values = list(promote(*values))
    if dtype is not None:
        values = list(promote(*values, np.empty(0, dtype))[:-1])
    path = _path_option(optimize)
    inputs, result, sizes, steps = _plan(subscripts, tuple([x.shape for x in values]), path)
    take = diagonal if len(values) > 1 else writable_diagonal
    terms = [_prepared(x, labels, sizes, take) for x, labels in zip(values, inputs, strict=True)]
    for step in steps:
        taken = [terms.pop(i) for i in step]
        terms.append(_contract_terms(taken, terms, result))
    ((x, labels),) = terms
    y = arranged(*_summed(x, labels, set(result)), result)
    return y if result else as_number(fresh(y, values[0]))


def _contract_terms(terms: list[Term], rest: list[Term], result: Labels) -> Term:
    """Multiply terms pair by pair, and sum over the labels that neither the other terms nor the result have."""
    product = terms.pop()
    while terms:
        term = terms.pop()
        needed = {*result, *_all_labels(rest), *_all_labels(terms)}
        x, x_labels = _summed(*product, needed.union(term[1]))
        y, y_labels = _summed(*term, needed.union(x_labels))
        kept = tuple([label for label in dict.fromkeys((*x_labels, *y_labels)) if label in needed])
        last = not terms and not rest and set(kept) == set(result)
        out = result if last else _pair_plan(x_labels, y_labels, kept)[2]
        product = contract_labelled(x, x_labels, y, y_labels, out), out
    return product


def _all_labels(terms: list[Term]) -> Labels:
    return tuple([label for _, labels in terms for label in labels])


def _summed(x: ArrayLike, labels: Labels, needed: set) -> Term:
    """Return the sum over the labels that are not needed."""
    axes = tuple([i for i, label in enumerate(labels) if label not in needed])
    if not axes:
        return x, labels
    return reduce_sum(x, axes), tuple([label for label in labels if label in needed])


def _prepared(x: ArrayLike, labels: Labels, sizes: dict, take: Callable[[Any], Any]) -> Term:
    """Return a term without axes that only broadcast, and with each label once: repeated labels become diagonals."""
    own = tuple([i for i, label in enumerate(labels) if x.shape[i] == sizes[label]])
    if len(own) != len(labels):
        x, labels = reshape(x, tuple([x.shape[i] for i in own])), tuple([labels[i] for i in own])
    while len(set(labels)) != len(labels):
        label = next(label for label in labels if labels.count(label) > 1)
        i = labels.index(label)
        j = labels.index(label, i + 1)
        rest = [k for k in range(len(labels)) if k not in (i, j)]
        x = take(transpose(x, (*rest, i, j)))
        labels = (*(labels[k] for k in rest), label)
    return x, labels


def _subscripts_and_values(operands: tuple) -> tuple[str, list[Any]]:
    """Return the subscripts as a string without blanks, and the operands. Axes given as lists become letters."""
    if isinstance(operands[0], str):
        return operands[0].replace(" ", ""), [as_value(x) for x in operands[1:]]
    pairs, rest = operands[: len(operands) // 2 * 2], operands[len(operands) // 2 * 2 :]
    values = [as_value(x) for x in pairs[::2]]
    terms = [_letters(labels) for labels in pairs[1::2]]
    return ",".join(terms) + (f"->{_letters(rest[0])}" if rest else ""), values


def _letters(labels: Sequence[Any]) -> str:
    return "".join("..." if label is Ellipsis else opt_einsum.get_symbol(label) for label in labels)


def _path_option(optimize: Any) -> Any:
    """Convert NumPy's ``optimize`` to opt_einsum's. Every order gives the same numbers, up to rounding."""
    if isinstance(optimize, str):
        return optimize
    if isinstance(optimize, bool):
        return "auto"
    steps = optimize[1:] if optimize and isinstance(optimize[0], str) else optimize
    return optimize[0] if steps and isinstance(steps[0], int) else tuple(tuple(step) for step in steps)


@lru_cache(maxsize=1024)
def _plan(subscripts: str, shapes: tuple, path: Any) -> tuple[list[Labels], Labels, dict, list]:
    """Return the labels of operands and result, the length of each label, and the terms of each step."""
    # opt_einsum reads only shapes, so it gets views of a single number.
    stand_ins = [np.broadcast_to(np.float64(0), shape) for shape in shapes]
    inputs, result, _ = einsum_parser.parse_einsum_input((subscripts, *stand_ins))
    labels = [tuple(term) for term in inputs.split(",")]
    sizes: dict[str, int] = {}
    for term, shape in zip(labels, shapes, strict=True):
        _check_lengths(subscripts, term, shape, sizes)
    optimize = [*path] if isinstance(path, tuple) else path
    steps = opt_einsum.contract_path(f"{inputs}->{result}", *shapes, shapes=True, optimize=optimize)[0]
    return labels, tuple(result), sizes, [tuple(sorted(step, reverse=True)) for step in steps if len(step) > 1]


def _check_lengths(subscripts: str, term: Labels, shape: tuple[int, ...], sizes: dict[str, int]) -> None:
    if len(term) != len(shape):
        raise ValueError(
            f"einsum {subscripts!r}: an operand has {len(shape)} axes, its subscripts name {len(term)}. Name each."
        )
    for label, n in zip(term, shape, strict=True):
        known = sizes.setdefault(label, n)
        if n != known and 1 not in (n, known):
            raise ValueError(
                f"einsum {subscripts!r}: label {label!r} has length {known} in one place and {n} in another. "
                "Give axes that are not of one length labels of their own."
            )
        if known == 1:
            sizes[label] = n


@beside_numpys(np.einsum_path)
def einsum_path(*operands: ArrayLike, optimize: Any = "greedy", einsum_call: bool = False) -> Any:
    """Return ``numpy.einsum_path``, which reads only shapes."""
    shown: list[Any] = [x if isinstance(x, str | list | tuple) else _of_this_type(x) for x in operands]
    options: dict[str, Any] = {"optimize": optimize, "einsum_call": einsum_call}
    return np.einsum_path(*shown, **options)


def _of_this_type(x: ArrayLike) -> np.ndarray:
    aval = aval_of(x)
    return np.broadcast_to(np.zeros((), aval.dtype), aval.shape)
