"""The steps of a kernel: the form between the equations of a graph and the text of loops.

    Apply(target, text, operands)      one number for each element of the target, by an expression
    Call(function, operands, target)   a ufunc's inner loop over whole arrays
    Reduce(function, x, axes, target)  a ufunc's inner loop that combines the elements along some axes
    Product(a, b, target)              the product of two matrices, by NumPy's loop of ``matmul``, which calls BLAS
    Add(place, v, target)              add elements of an array to zeros at the elements that index arrays name
    Check(ids, length, target)         check that index arrays name elements that exist
    Guard(x, answer, ..., target)      check that a number is the one that a path was recorded for
    Matrices(name, ..., targets)       a function of `matrices.py`, for each of a stack of matrices
    Nested(parts, targets, ...)        a loop or a branch around other steps

A transposed matrix, a slice or a repeated row is a `StridedView` of memory, not a step.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad._engines.source.kernels.ufuncs import InnerLoop

Shape = tuple[int, ...]


class BlockRows(int):
    """The number of rows in a block, in the shape of an array that is cut into blocks. The last block has fewer."""

    __slots__ = ()


_serials = itertools.count()


def in_order(memories: Iterable[KernelMemory]) -> list[KernelMemory]:
    """Return memories in the order in which they were made."""
    return sorted(memories, key=lambda memory: memory.serial)


class KernelMemory:
    """The memory of an operand, a result or a temporary; its elements are contiguous, the last axis first.

    Args:
        dtype: the dtype of its elements.
        shape: a shape in which each element occurs once.
        name: the name of the argument; ``None`` for workspace.
        sliced: whether each block takes its own rows of the argument.
    """

    __slots__ = ("dtype", "name", "serial", "shape", "sliced")

    def __init__(self, dtype: np.dtype, shape: Shape, name: str | None = None, sliced: bool = False) -> None:
        self.dtype = dtype
        self.shape = shape
        self.name = name
        self.sliced = sliced
        # Sets of memory have an order by it. The order by address differs from run to run, and so would the kernel's
        # text, which would not be found on disk.
        self.serial = next(_serials)

    def whole(self) -> StridedView:
        """Return a view of all elements."""
        return StridedView(self, 0, self.shape, strides_of(self.shape))


class StridedView(NamedTuple):
    """Elements of a memory: element ``k`` is at ``offset + sum(k * strides)``, counted in elements."""

    memory: KernelMemory
    offset: int
    shape: Shape
    strides: Shape

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the elements."""
        return self.memory.dtype

    @property
    def is_contiguous(self) -> bool:
        """Whether the elements are contiguous, the last axis first."""
        wanted = strides_of(self.shape)
        return all(s == t or n == 1 for s, t, n in zip(self.strides, wanted, self.shape, strict=True))

    def spread(self, shape: Shape) -> StridedView:
        """Return the view repeated along new axes and axes of length 1."""
        if shape == self.shape and 1 not in shape:
            return self
        missing = len(shape) - len(self.shape)
        pairs = zip(self.shape, self.strides, shape[missing:], strict=True)
        strides = [s if n == wanted and not (n == 1 and not isinstance(n, BlockRows)) else 0 for n, s, wanted in pairs]
        return StridedView(self.memory, self.offset, shape, (*[0] * missing, *strides))

    def shown(self, show: Callable[[np.ndarray], np.ndarray]) -> StridedView:
        """Return a view of the view, as NumPy makes it of an array with these strides."""
        array = np.lib.stride_tricks.as_strided(np.empty(1, np.uint8), self.shape, self.strides, writeable=False)
        shown = show(array)
        offset = shown.__array_interface__["data"][0] - array.__array_interface__["data"][0]
        return StridedView(self.memory, self.offset + offset, shown.shape, shown.strides)


class Scalar(NamedTuple):
    """A literal, or a scalar argument of the kernel, as text."""

    text: str
    dtype: np.dtype


class Picked(NamedTuple):
    """Elements of a memory that index arrays name: ``x[ids[0][k], ids[1][k], ..., rest of k]``.

    Args:
        x: the element at index 0, repeated along the axes of the index arrays.
        ids: the index arrays, repeated along the rest.
        steps: for each index array, the stride of its axis and the length of its axis.
        checks: the targets of the checks of the indices, so that a check runs before the read.
    """

    x: StridedView
    ids: tuple[StridedView, ...]
    steps: tuple[tuple[int, int], ...]
    checks: tuple[StridedView, ...]

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the elements."""
        return self.x.dtype


Access = StridedView | Scalar


class Apply(NamedTuple):
    """``target[k] = text(operands[k])``."""

    target: StridedView
    text: str
    operands: tuple[Access | Picked, ...]


class Call(NamedTuple):
    """A ufunc's inner loop over all elements; each operand has one step between elements."""

    loop: InnerLoop
    name: str
    operands: tuple[StridedView, ...]
    target: StridedView


class Reduce(NamedTuple):
    """A ufunc's inner loop that combines the elements of ``x`` along some axes, starting from a first number."""

    loop: InnerLoop
    name: str
    x: StridedView
    axes: tuple[int, ...]
    first: Scalar
    target: StridedView


class Product(NamedTuple):
    """The product of two matrices; each may be transposed."""

    loop: InnerLoop
    a: StridedView
    b: StridedView
    target: StridedView


class Check(NamedTuple):
    """Leaves the kernel if an index array names an element that an axis of this length does not have."""

    ids: StridedView
    length: int
    target: StridedView


# A guard returns its own number times this, and adds the number that it found.
GUARD_SHIFT = 33
# It returns this in place of a found number that is larger, or negative.
UNKNOWN_NUMBER = (1 << 32) - 1


class Guard(NamedTuple):
    """Leaves the kernel if a number is not ``answer``. The kernel returns a negative number (`guard_that_ended`).

    Args:
        x: the number, an integer or a bool.
        answer: the number that it needs to be.
        number: the number of the guard in its kernel.
        target: memory that nothing reads.
    """

    x: Access
    answer: int
    number: int
    target: StridedView


class Add(NamedTuple):
    """``target[ids[0][k], ids[1][k], ..., rest of k] += v[k]``, one element after the other, starting from zeros."""

    place: Picked
    v: StridedView
    target: StridedView


class Matrices(NamedTuple):
    """A function of `matrices.py` for each of a stack of matrices.

    Args:
        name: the function.
        numbers: its first arguments.
        operands: the arrays that it reads, contiguous unless the numbers are their strides.
        targets: the arrays that it writes.
        stack: the number of matrices.
        refuses: whether it returns true if there is no result. The kernel then ends.
    """

    name: str
    numbers: tuple[int, ...]
    operands: tuple[StridedView, ...]
    targets: tuple[StridedView, ...]
    stack: int = 1
    refuses: bool = False


class Times(NamedTuple):
    """The number of rounds of a loop, and whether it reads rows from the last to the first."""

    length: int
    reverse: bool


class Nested(NamedTuple):
    """A loop or a branch, with the steps of its bodies.

    Args:
        parts: the steps of a round of a scan; or of the condition and of a round of a while; or of both branches.
        targets: the memory that is written inside and read outside.
        flag: says whether another round follows, or which branch runs; ``None`` if the number of rounds is known.
        times: the number of rounds, if it is known.
        rows: pairs of memory: the first is a row of the second, another one in each round.
        branches: whether the parts are two branches.
        groups: the parts, fused.
    """

    parts: tuple[tuple[Any, ...], ...]
    targets: tuple[StridedView, ...]
    flag: Access | None
    times: Times | None = None
    rows: tuple[tuple[KernelMemory, StridedView], ...] = ()
    branches: bool = False
    groups: tuple[list[list[Any]], ...] = ()

    @property
    def own(self) -> set[KernelMemory]:
        """The memory that no step outside uses."""
        written = {m for part in self.parts for step in part for m in writes(step)}
        return written - {x.memory for x in self.targets}


def guard_that_ended(returned: int) -> tuple[int, int | None]:
    """Return the number of the guard that ended a kernel, and the number that it found; ``None`` if that is not known.

    Args:
        returned: the negative number that the kernel returned.
    """
    number, found = divmod(-1 - returned, 1 << GUARD_SHIFT)
    return number, None if found == UNKNOWN_NUMBER else found


Step = Apply | Call | Reduce | Product | Check | Guard | Add | Matrices | Nested


def writes(step: Step) -> set[KernelMemory]:
    """Return the memory that a step writes."""
    return {x.memory for x in step.targets} if isinstance(step, (Matrices, Nested)) else {step.target.memory}


def reads(step: Step) -> set[KernelMemory]:
    """Return the memory that a step reads."""
    if type(step) is Apply:
        # Most steps of long programs are of this kind.
        simple = {x.memory for x in step.operands if type(x) is StridedView}
        if Picked not in map(type, step.operands):
            return simple
    if isinstance(step, Nested):
        inner = {m for part in step.parts for each in part for m in reads(each)}
        inner |= {step.flag.memory} if isinstance(step.flag, StridedView) else set()
        inner |= {base.memory for _, base in step.rows}
        return inner - step.own - {row for row, _ in step.rows}
    if isinstance(step, (Apply, Call, Matrices)):
        found: Sequence[Any] = step.operands
    elif isinstance(step, Add):
        found = (*step.place.ids, *step.place.checks, step.v)
    else:
        found = [getattr(step, name) for name in ("x", "a", "b", "ids") if hasattr(step, name)]
    views = [y for x in found for y in ((x.x, *x.ids, *x.checks) if isinstance(x, Picked) else (x,))]
    return {x.memory for x in views if isinstance(x, StridedView)}


@functools.lru_cache(maxsize=4096)
def strides_of(shape: Shape) -> Shape:
    """Return the strides of contiguous elements, counted in elements."""
    return tuple([math.prod(shape[k + 1 :]) for k in range(len(shape))])


def merged(dims: Sequence[tuple[int, ...]], strides: Sequence[Sequence[int]]) -> tuple[list[Shape], list[list[int]]]:
    """Merge axes that every access passes through as if they were one axis.

    Args:
        dims: for each axis the lengths of which its length is the product.
        strides: for each access its stride along each axis.

    Returns:
        The axes that are left, none of length 1, and the strides along them.
    """
    lengths: list[Shape] = []
    kept: list[list[int]] = [[] for _ in strides]
    for k, dim in enumerate(dims):
        cut = any(isinstance(n, BlockRows) for n in dim)
        if math.prod(dim) == 1 and not cut:
            continue
        steps = [each[k] for each in strides]
        length = math.prod(dim)
        if lengths and not cut and all(a[-1] == s * length for a, s in zip(kept, steps, strict=True)):
            lengths[-1] = (*lengths[-1], *dim)
            for a, s in zip(kept, steps, strict=True):
                a[-1] = s
        else:
            lengths.append(tuple(dim))
            for a, s in zip(kept, steps, strict=True):
                a.append(s)
    return lengths, kept
