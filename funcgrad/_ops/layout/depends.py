"""How the elements of a primitive's result depend on those of its operands: the rules behind `fg.sparse`.

A rule is the field ``depends`` of a primitive's forms. It takes an `Application` and returns one pattern per result. A
primitive without a rule is elementwise if its record says so, constant if it carries no derivative, and dense
otherwise: each element of the result then depends on all elements of the operands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, Self

import numpy as np

from funcgrad._core.aval import Aval


class Pattern(Protocol):
    """For each element of an array, in C order, the numbers of the inputs that it depends on."""

    @property
    def starts(self) -> np.ndarray:
        """The inputs of element ``i`` are ``columns[starts[i] : starts[i + 1]]``."""
        ...

    @property
    def columns(self) -> np.ndarray:
        """The numbers of the inputs, in ascending order for each element."""
        ...

    @property
    def empty(self) -> bool:
        """Whether no element depends on any input."""
        ...

    def take(self, places: np.ndarray) -> Self:
        """Return the pattern of an array whose elements are elements of this one. Place -1 stands for a constant."""
        ...

    def grouped(self, starts: np.ndarray, members: np.ndarray) -> Self:
        """Return the pattern of an array whose element ``i`` depends on ``members[starts[i] : starts[i + 1]]``."""
        ...

    def union(self, other: Self) -> Self:
        """Return the pattern of an array whose elements depend on what two elements depend on."""
        ...

    def same(self, other: Self) -> bool:
        """Return whether two patterns are equal."""
        ...

    def joined(self, others: Sequence[Self]) -> Self:
        """Return the pattern of the elements of this array, followed by those of others."""
        ...


class Read(NamedTuple):
    """An operand: its type, its number if the program fixes it, and its pattern."""

    aval: Aval
    value: Any
    pattern: Any

    @property
    def places(self) -> np.ndarray:
        """The numbers of the elements in C order, in the shape of the operand."""
        return np.arange(self.aval.size).reshape(self.aval.shape)


class Application(NamedTuple):
    """An equation as rules see it.

    Args:
        primitive: the primitive.
        reads: the operands.
        avals: the types of the results.
        params: the parameters.
        run: ``run(graph, reads)`` returns what the outputs of a program inside are.
        alone: ``alone(graph, reads, counted)`` returns the patterns of the outputs of a program inside, whose inputs
            are the elements of those operands that are counted, one operand after the other.
    """

    primitive: Any
    reads: Sequence[Read]
    avals: Sequence[Aval]
    params: dict[str, Any]
    run: Callable[[Any, Sequence[Read]], list[Read]]
    alone: Callable[[Any, Sequence[Read], Sequence[bool]], list[Any]]


Rule = Callable[[Application], list[Any]]


def dense(applied: Application) -> list[Any]:
    """Let each element of each result depend on all elements of all operands."""
    reads = [read for read in applied.reads if not read.pattern.empty]
    whole = _union([read.pattern.grouped(np.array([0, read.aval.size]), np.arange(read.aval.size)) for read in reads])
    return [whole.take(np.zeros(aval.size, np.intp)) for aval in applied.avals]


def elementwise(applied: Application) -> list[Any]:
    """Let each element depend on the elements in its place, after broadcasting."""
    (aval,) = applied.avals
    return [_union([_broadcast(read, aval.shape) for read in applied.reads if not read.pattern.empty])]


def product(applied: Application) -> list[Any]:
    """Do the same for a product. A factor that is known to be 0 cuts the dependence on the other."""
    (aval,), (a, b) = applied.avals, applied.reads
    sides = [(x, y) for x, y in ((a, b), (b, a)) if not x.pattern.empty]
    return [_union([_broadcast(x, aval.shape, None if y.value is None else y.value != 0) for x, y in sides])]


def choice(applied: Application) -> list[Any]:
    """Do the same for a choice between two arrays. A condition that is known selects one of them for each element."""
    (aval,), (c, a, b) = applied.avals, applied.reads
    known = c.value is not None
    sides = [(a, c.value if known else None), (b, np.logical_not(c.value) if known else None)]
    return [_union([_broadcast(x, aval.shape, kept) for x, kept in sides if not x.pattern.empty])]


def same(applied: Application) -> list[Any]:
    """Give each result the pattern of the operand in its place."""
    return [read.pattern for read in applied.reads[: len(applied.avals)]]


def moved(applied: Application) -> list[Any]:
    """Follow elements that only move: run the primitive on their numbers. Zeros that it adds depend on nothing.

    The other operands, such as indices, must be known; if they are not, the result is dense.
    """
    x, *others = applied.reads
    if any(read.value is None for read in others):
        return dense(applied)
    places = applied.primitive.numpy(x.places + 1, *[read.value for read in others], **applied.params)
    found = places if applied.primitive.multiple_results else [places]
    return [x.pattern.take(np.ravel(each) - 1) for each in found]


def joined(applied: Application) -> list[Any]:
    """Follow elements that only move from several operands into one result."""
    starts = np.cumsum([0, *[read.aval.size for read in applied.reads]])
    numbered = [read.places + start for read, start in zip(applied.reads, starts, strict=False)]
    first, *rest = [read.pattern for read in applied.reads]
    return [first.joined(rest).take(np.ravel(applied.primitive.numpy(*numbered, **applied.params)))]


def reduced(applied: Application) -> list[Any]:
    """Let each element depend on the elements that a reduction over ``axes`` combines."""
    return [grouped_over(applied.reads[0], tuple(applied.params["axes"]))]


def mixed(*names: str) -> Rule:
    """Return the rule that all elements along the axes in these parameters mix. Only these axes may change length."""

    def rule(applied: Application) -> list[Any]:
        axes = [applied.params[name] for name in names]
        flat = [axis for each in axes for axis in ((each,) if isinstance(each, int) else each)]
        return [_mixed(applied.reads[0], flat, applied.avals[0])]

    return rule


def _mixed(read: Read, axes: Sequence[int], aval: Aval) -> Any:
    ndim = len(read.aval.shape)
    axes = [axis % ndim for axis in axes]
    kept = [1 if i in axes else n for i, n in enumerate(read.aval.shape)]
    groups = np.arange(math.prod(kept)).reshape(kept)
    return grouped_over(read, axes).take(np.broadcast_to(groups, aval.shape).ravel())


def permuting(applied: Application) -> list[Any]:
    """Follow the rows of matrices that a permutation moves; one that is not known mixes all rows."""
    x, permutation = applied.reads
    return moved(applied) if permutation.value is not None else [_mixed(x, (-2,), applied.avals[0])]


def solved(applied: Application) -> list[Any]:
    """Let the solution of linear systems depend on the whole matrix, and on the right side in the same column.

    If the matrix is on the right, it is in the same row.
    """
    (a, b), (aval,) = applied.reads, applied.avals
    axis = -2 if applied.params.get("left_side", True) else -1
    found = [] if b.pattern.empty else [_mixed(b, (axis,), aval)]
    if not a.pattern.empty:
        count = math.prod(aval.shape[:-2])
        found.append(grouped_over(a, (-2, -1)).take(np.repeat(np.arange(count), aval.size // max(count, 1))))
    return [_union(found)]


def running(applied: Application) -> list[Any]:
    """Let each element depend on those before it along ``axis``, or behind it if ``reverse``."""
    axis, reverse = applied.params["axis"], applied.params["reverse"]
    return [_union([_running(read, axis, reverse) for read in applied.reads if not read.pattern.empty])]


def _running(read: Read, axis: int, reverse: bool) -> Any:
    """Join each element with the one before it, then with the two before these, and so on by powers of two."""
    places = np.moveaxis(read.places, axis, -1)
    places = places[..., ::-1] if reverse else places
    found, order, distance = read.pattern, np.empty(places.size, np.intp), 1
    while distance < places.shape[-1]:
        before = np.full(places.shape, -1)
        before[..., distance:] = places[..., :-distance]
        order[places.ravel()] = before.ravel()
        found = found.union(found.take(order))
        distance *= 2
    return found


def grouped_over(read: Read, axes: Sequence[int]) -> Any:
    """Return the pattern of a reduction over these axes."""
    shape = read.aval.shape
    axes = [axis % len(shape) for axis in axes]
    kept = [i for i in range(len(shape)) if i not in axes]
    members = read.places.transpose(*kept, *axes).ravel()
    count = math.prod(shape[i] for i in axes)
    return read.pattern.grouped(np.arange(math.prod(shape[i] for i in kept) + 1) * count, members)


# With more products of known factors, all elements of a row depend on the whole row: the list would take 400 MB.
_MOST_FACTORS = 50_000_000


def contracted(pattern: Any, places: np.ndarray, other: np.ndarray | None, width: int) -> Any:
    """Return the pattern of ``places @ other`` for stacks of matrices, without products with known zeros.

    Args:
        pattern: the pattern of the operand.
        places: its places, as a stack of matrices, ``(batch, i, k)``.
        other: the other operand, ``(batch, k, j)``, if its numbers are known.
        width: the length of axis ``j``.
    """
    batch, rows, inner = places.shape
    if other is None or other.all() or rows * np.count_nonzero(other) > _MOST_FACTORS:
        found = pattern.grouped(np.arange(batch * rows + 1) * inner, places.ravel())
        return found.take(np.repeat(np.arange(batch * rows), width))
    at, columns, members = np.nonzero(other.transpose(0, 2, 1))
    counts = np.zeros((batch, width), np.intp)
    np.add.at(counts, (at, columns), 1)
    starts = np.concatenate([[0], np.cumsum(np.repeat(counts[:, None], rows, 1))])
    firsts = np.concatenate([[0], np.cumsum(counts.sum(1))])
    parts = [places[b][:, members[firsts[b] : firsts[b + 1]]].ravel() for b in range(batch)]
    return pattern.grouped(starts, np.concatenate([np.empty(0, np.intp), *parts]))


# From this many elements of the other factor on, a product with a kernel is dense.
_MOST_OFFSETS = 400


def with_kernel(applied: Application) -> list[Any]:
    """Follow a bilinear operation in which each element of one operand moves the other, such as a convolution.

    For each element of the kernel alone the operation is run on the numbers of the other operand's elements.
    """
    found = []
    for i, (x, kernel) in enumerate((applied.reads, applied.reads[::-1])):
        if x.pattern.empty:
            continue
        known = np.ones(kernel.aval.shape) if kernel.value is None else kernel.value
        if np.count_nonzero(known) > _MOST_OFFSETS:
            return dense(applied)
        for place in zip(*np.nonzero(known), strict=True):
            unit = np.zeros(kernel.aval.shape)
            unit[place] = 1
            numbers = x.places + 1.0
            y = applied.primitive.numpy(*((numbers, unit) if i == 0 else (unit, numbers)), **applied.params)
            found.append(x.pattern.take(np.rint(np.ravel(y)).astype(np.intp) - 1))
    return [_union(found)] if found else dense(applied)


def _union(patterns: Sequence[Any]) -> Any:
    total = patterns[0]
    for pattern in patterns[1:]:
        total = total.union(pattern)
    return total


def _broadcast(read: Read, shape: tuple[int, ...], kept: Any = None) -> Any:
    """Return the pattern of an operand that is broadcast; where ``kept`` is false, it depends on nothing."""
    if kept is None or np.all(kept):
        return read.pattern if read.aval.shape == shape else _stretched(read, shape)
    places = np.broadcast_to(read.places, shape)
    return read.pattern.take(np.where(np.broadcast_to(kept, shape), places, -1).ravel())


def _stretched(read: Read, shape: tuple[int, ...]) -> Any:
    if read.aval.size == math.prod(shape):
        return read.pattern
    return read.pattern.take(np.broadcast_to(read.places, shape).ravel())


def deposited(pattern: Any, targets: np.ndarray, size: int) -> Any:
    """Return the pattern of ``size`` sums: element ``i`` of the operand is added to element ``targets[i]``."""
    starts = np.concatenate([[0], np.cumsum(np.bincount(targets, minlength=size))])
    return pattern.grouped(starts, np.argsort(targets, kind="stable"))
