"""Write a linear program as a sum of scaled copies of its vector's elements, and read the matrix from it.

Programs on grids and chains only move elements, scale them and add them up. The product with a vector is then
``sum(factor * vector[source])`` over few terms, with sources that the program fixes. The factors are the elements of
the matrix, so no product has to be computed: the Hessian of a function on a grid takes a third of the time, and an
infinite element stays by itself. Programs with other operations are left to products.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.bind import bind
from funcgrad._core.graph.ir import Equation, Graph, Literal
from funcgrad._ops.elementwise.arithmetic import add_p, div_p, mul_p, neg_p, sub_p
from funcgrad._ops.elementwise.cast import cast_p, weak_cast_p
from funcgrad._ops.elementwise.select import select, select_p
from funcgrad._ops.index.gather import index_p, scatter, scatter_p
from funcgrad._ops.index.join import concatenate_p, pad_p, stack_p
from funcgrad._ops.index.plan import FULL, Index
from funcgrad._ops.index.scatter import scatter_add_p, scatter_set_p
from funcgrad._ops.index.xla import pieces_of
from funcgrad._ops.layout.broadcast import broadcast_to, broadcast_to_p, reduce_sum_p
from funcgrad._ops.layout.copy import copy_p
from funcgrad._ops.layout.diagonal import diagonal_p, embed_diagonal_p
from funcgrad._ops.layout.fill import full_like_p
from funcgrad._ops.layout.shape import flip_p, reshape, reshape_p, transpose, transpose_p
from funcgrad._ops.layout.triangle import triangle_p
from funcgrad._types import ArrayLike

# The most terms, and the longest axis whose sum is written as terms.
_MOST_TERMS, _LONGEST_SUM = 48, 8


class NotOfTerms(Exception):  # noqa: N818  (not an error: the program has another form)
    """The program has operations other than moving, scaling and adding elements."""


class Term(NamedTuple):
    """The product of a factor with elements of the vector.

    Args:
        source: for each element of the result, in C order, the number of the vector's element; -1 for none.
        factor: an array of the result's shape, which is zero where there is no source, or a number for all elements
            that have one. ``None`` stands for 1.
    """

    source: np.ndarray
    factor: Any


class _Sum(NamedTuple):
    """A value that depends on the vector, as a sum of terms."""

    shape: tuple[int, ...]
    terms: list[Term]

    def each(self, shape: tuple[int, ...], places: np.ndarray, move: Callable[[Any], Any]) -> _Sum:
        """Return the sum with its elements taken from these places, zero at -1. ``move`` does the same to an array."""
        padded = [np.append(term.source, -1) for term in self.terms]
        factors = [term.factor if is_number(term.factor) else move(term.factor) for term in self.terms]
        return _Sum(shape, [Term(source[places], y) for source, y in zip(padded, factors, strict=True)])

    def scaled(self, by: Callable[[Any], Any]) -> _Sum:
        """Return the sum with other factors."""
        return _Sum(self.shape, [Term(term.source, self._cut(term, by(term.factor))) for term in self.terms])

    def _cut(self, term: Term, factor: ArrayLike) -> Any:
        """Return a new factor of a term, with zeros where there is no source."""
        mask = (term.source >= 0).reshape(self.shape)
        made = is_number(term.factor) and not is_number(factor)
        return select(mask, factor, 0) if made and not mask.all() else factor

    def broadcast(self, shape: tuple[int, ...]) -> _Sum:
        if shape == self.shape:
            return self
        places = np.broadcast_to(np.arange(math.prod(self.shape)).reshape(self.shape), shape).ravel()
        return self.each(shape, places, lambda factor: broadcast_to(factor, shape))

    def plus(self, other: _Sum) -> _Sum:
        """Return the sum of both. Two terms become one if they have the same source wherever both have one."""
        found = list(self.terms)
        for term in other.terms:
            for i, before in enumerate(found):
                if _agree(before.source, term.source):
                    found[i] = self._merged(before, term)
                    break
            else:
                found.append(term)
        if len(found) > _MOST_TERMS:
            raise NotOfTerms
        return _Sum(self.shape, found)

    def _merged(self, a: Term, b: Term) -> Term:
        if np.array_equal(a.source, b.source) and is_number(a.factor) and is_number(b.factor):
            return Term(a.source, _one(a.factor) + _one(b.factor))
        return Term(np.maximum(a.source, b.source), self._whole(a) + self._whole(b))

    def _whole(self, term: Term) -> Any:
        """Return the factor as an array that is zero where there is no source."""
        if not is_number(term.factor):
            return term.factor
        mask = (term.source >= 0).reshape(self.shape)
        return _one(term.factor) if mask.all() else mask * _one(term.factor)


def _agree(a: np.ndarray, b: np.ndarray) -> bool:
    """Return whether two arrays of sources are equal where both have one."""
    return bool(((a == b) | (a < 0) | (b < 0)).all())


def is_number(factor: ArrayLike) -> bool:
    return factor is None or getattr(factor, "shape", ()) == ()


def _one(factor: ArrayLike) -> Any:
    return 1.0 if factor is None else factor


def terms_of(graph: Graph, leaves: Sequence[Any]) -> list[Term]:
    """Evaluate a graph on the leaves, and return its output as terms of its last input, the vector.

    Raises:
        NotOfTerms: the program has other operations.
    """
    vector = graph.inputs[-1]
    found: dict[Any, Any] = dict(graph.constants)
    found.update(zip(graph.inputs, leaves, strict=False))
    size = vector.aval.size
    found[vector] = _Sum(vector.aval.shape, [Term(np.arange(size), None)])
    zeros = {var for var, value in graph.constants if _is_zero(value)}
    for equation in graph.equations:
        values = [x.value if type(x) is Literal else found[x] for x in equation.operands]
        operands = [_Zero(x.aval) if x in zeros else y for x, y in zip(equation.operands, values, strict=True)]
        if any(type(x) is _Sum for x in operands):
            rule = _RULES.get(equation.primitive)
            if rule is None:
                raise NotOfTerms
            found[equation.results[0]] = rule(equation, *operands)
            continue
        results = bind(equation.primitive, tuple(values), equation.params)
        results = results if equation.primitive.multiple_results else [results]
        found.update(zip(equation.results, results, strict=True))
        if equation.primitive is full_like_p and equation.params["value"] == 0:
            zeros.add(equation.results[0])
    (y,) = graph.outputs
    if type(found.get(y)) is not _Sum:
        raise NotOfTerms
    return found[y].terms


class _Zero(NamedTuple):
    """An operand that the program fixes to zero."""

    aval: Aval


def _is_zero(value: ArrayLike) -> bool:
    return type(value) is np.ndarray and not value.any()


def _summand(x: ArrayLike) -> _Sum:
    """Return an operand of a sum, which is zero or depends on the vector."""
    if type(x) is _Zero or (type(x) in (int, float, np.float64, np.float32) and x == 0):
        return _Sum(aval_of(x).shape if type(x) is not _Zero else x.aval.shape, [])
    if type(x) is not _Sum:
        raise NotOfTerms
    return x


def _shape(equation: Equation) -> tuple[int, ...]:
    return equation.results[0].aval.shape


def _added(equation: Equation, a: ArrayLike, b: ArrayLike) -> _Sum:
    return _summand(a).broadcast(_shape(equation)).plus(_summand(b).broadcast(_shape(equation)))


def _negative(equation: Equation, x: _Sum) -> _Sum:
    return x.scaled(lambda factor: -_one(factor))


def _subtracted(equation: Equation, a: ArrayLike, b: ArrayLike) -> _Sum:
    return _added(equation, a, _negative(equation, _summand(b)))


def _multiplied(equation: Equation, a: ArrayLike, b: ArrayLike) -> _Sum:
    x, other = (a, b) if type(a) is _Sum else (b, a)
    return _scaled(equation, x, other, lambda factor: other if factor is None else factor * other)


def _divided(equation: Equation, a: ArrayLike, b: ArrayLike) -> _Sum:
    return _scaled(equation, a, b, lambda factor: _one(factor) / b)


def _scaled(equation: Equation, x: ArrayLike, other: ArrayLike, by: Callable[[Any], Any]) -> _Sum:
    if type(x) is not _Sum or type(other) in (_Sum, _Zero):
        raise NotOfTerms
    shape = _shape(equation)

    def scaled(factor: ArrayLike) -> Any:
        y = by(factor)
        return y if is_number(y) else broadcast_to(y, shape)

    return x.broadcast(shape).scaled(scaled)


def _chosen(equation: Equation, c: ArrayLike, a: ArrayLike, b: ArrayLike) -> _Sum:
    if type(c) in (_Sum, _Zero):
        raise NotOfTerms
    shape, dtype = _shape(equation), equation.results[0].aval.dtype

    def held(factor: ArrayLike) -> Any:
        # A choice between two Python numbers would have the dtype of the condition.
        return dtype.type(_one(factor)) if factor is None or issubclass(type(factor), int | float) else factor

    first = _summand(a).broadcast(shape).scaled(lambda factor: broadcast_to(select(c, held(factor), 0), shape))
    second = _summand(b).broadcast(shape).scaled(lambda factor: broadcast_to(select(c, 0, held(factor)), shape))
    return first.plus(second)


def _moved(equation: Equation, x: ArrayLike, *arrays: Any) -> _Sum:
    """Move the sources by the primitive itself, run on the numbers of the elements."""
    if type(x) is not _Sum or any(type(a) is not np.ndarray for a in arrays):
        raise NotOfTerms
    primitive, params = equation.primitive, equation.params
    numbers = np.arange(1, math.prod(x.shape) + 1).reshape(x.shape)
    places = np.ravel(primitive.numpy(numbers, *arrays, **params)) - 1
    return x.each(_shape(equation), places, lambda factor: bind(primitive, (factor, *arrays), params))


def _converted(equation: Equation, x: _Sum) -> _Sum:
    primitive, params = equation.primitive, equation.params
    return x.scaled(lambda factor: None if factor is None else bind(primitive, (factor,), params))


def _scattered(equation: Equation, *operands: Any) -> _Sum:
    shape = _shape(equation)
    total = _Sum(shape, [])
    for v, index, arrays in pieces_of(operands, equation.params["indices"]):
        total = total.plus(_placed(_summand(v), shape, index, arrays))
    return total


def _placed(v: _Sum, shape: tuple[int, ...], index: Index, arrays: Sequence[Any]) -> _Sum:
    """Return zeros with the elements of a sum at an index that selects no element twice."""
    if any(type(a) is not np.ndarray for a in arrays):
        raise NotOfTerms
    targets = np.arange(math.prod(shape)).reshape(shape)[index.filled(tuple(arrays))]
    v, flat = v.broadcast(np.shape(targets)), np.ravel(targets)
    places = np.full(math.prod(shape), -1)
    places[flat] = np.arange(flat.size)
    if np.count_nonzero(places >= 0) < flat.size:
        raise NotOfTerms
    return v.each(shape, places, lambda factor: scatter([(factor, index, tuple(arrays))], shape))


def _written(equation: Equation, x: ArrayLike, v: ArrayLike, *arrays: Any) -> _Sum:
    x, index = _summand(x), equation.params["index"]
    part = _placed(_summand(v), _shape(equation), index, arrays)
    if equation.primitive is scatter_set_p:
        kept = np.arange(math.prod(x.shape)).reshape(x.shape)
        kept[index.filled(arrays)] = -1
        x = x.each(x.shape, kept.ravel(), lambda factor: scatter_set_p(factor, 0, *arrays, index=index))
    return x.plus(part)


def _summed(equation: Equation, x: _Sum) -> _Sum:
    """Write the sum over short axes as further terms."""
    axes = equation.params["axes"]
    kept = [i for i in range(len(x.shape)) if i not in axes]
    count = math.prod(x.shape[i] for i in axes)
    if count > _LONGEST_SUM:
        raise NotOfTerms
    order, shape = (*kept, *axes), _shape(equation)
    places = np.arange(math.prod(x.shape)).reshape(x.shape).transpose(order).reshape(-1, count)
    total = _Sum(shape, [])
    for i in range(count):

        def part(factor: ArrayLike, i: int = i) -> Any:
            flat = reshape(transpose(factor, order), places.shape)
            return reshape(index_p(flat, index=Index((FULL, i))), shape)

        total = total.plus(x.each(shape, places[:, i], part))
    return total


def _joined(equation: Equation, *xs: Any) -> _Sum:
    """Put each operand in its place in zeros."""
    axis, shape = equation.params["axis"], _shape(equation)
    total, start = _Sum(shape, []), 0
    for x in xs:
        whole = _summand(x)
        stop = start + whole.shape[axis]
        total = total.plus(_placed(whole, shape, Index((*(FULL,) * axis, slice(start, stop))), ()))
        start = stop
    return total


def _stacked(equation: Equation, *xs: Any) -> _Sum:
    axis, shape = equation.params["axis"], _shape(equation)
    total = _Sum(shape, [])
    for i, x in enumerate(xs):
        total = total.plus(_placed(_summand(x), shape, Index((*(FULL,) * axis, i)), ()))
    return total


_RULES: dict[Any, Callable[..., _Sum]] = {
    add_p: _added,
    sub_p: _subtracted,
    neg_p: _negative,
    mul_p: _multiplied,
    div_p: _divided,
    select_p: _chosen,
    cast_p: _converted,
    weak_cast_p: _converted,
    copy_p: _converted,
    scatter_p: _scattered,
    scatter_add_p: _written,
    scatter_set_p: _written,
    reduce_sum_p: _summed,
    concatenate_p: _joined,
    stack_p: _stacked,
    **dict.fromkeys((reshape_p, transpose_p, flip_p, broadcast_to_p, index_p, pad_p), _moved),
    **dict.fromkeys((diagonal_p, embed_diagonal_p, triangle_p), _moved),
}
