"""Operations over rows: which of them one kernel computes block by block, and how many rows a block has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from funcgrad._core.forms import Basic
from funcgrad._core.graph.ir import Equation, Operand, Var
from funcgrad._engines.source.kernels.expand import parts_of
from funcgrad._engines.source.kernels.nodes import BlockRows, Shape

# An array of more elements is large: kernels run on blocks of it.
SMALL = 1 << 15
# Elements per block. The blocks of a few arrays fit into L2 cache together.
BLOCK = 1 << 12
# A matrix with longer rows is multiplied by NumPy. A block has at least this many rows then, so the parts of a sum over
# rows take a sixteenth of the memory of the matrix.
_LONGEST = BLOCK // 16

# Operations that compute each element from one element, in addition to elementwise primitives.
_BY_ELEMENT = frozenset({Basic.BROADCAST, Basic.CAST, Basic.COPY, Basic.STOP_GRADIENT})


def matrix_of(equation: Equation) -> Operand:
    """Return the matrix that an equation multiplies by a vector."""
    return max(equation.operands, key=lambda x: len(x.aval.shape))


def row_length(equation: Equation) -> int:
    """Return the length of the rows of the matrix that an equation multiplies by a vector; 0 for any other equation.

    BLAS wakes its threads for such a product of a large matrix, and waits for each of them. If another program uses a
    core, a product of 0.4 ms takes 15 ms. A block of the matrix is so small that BLAS uses one thread, and the block is
    still in cache when a later product reads it.
    """
    if equation.primitive.forms.basic is not Basic.MATMUL:
        return 0
    a, b = [x.aval.shape for x in equation.operands]
    matrix = {(2, 1): a, (1, 2): b}.get((len(a), len(b)))
    return matrix[1] if matrix is not None and matrix[1] <= _LONGEST else 0


class RowsOf:
    """The shapes of operations over the rows of arrays with one number of rows; the other axes may differ."""

    def __init__(self, shape: Shape, longest: int) -> None:
        self._count: int = shape[0]
        rows = max(1, BLOCK // max(1, longest))
        self.length = (self._count, rows)
        # Shapes of variables that are cut into blocks, and the variables that are read whole.
        self.shapes: dict[Any, Shape] = {}
        self._whole: set[Operand] = set()

    def is_partial(self, equation: Equation) -> bool:
        """Return whether a block computes only a part of each number."""
        if row_length(equation):
            return len(equation.operands[0].aval.shape) == 1
        return equation.primitive.forms.basic is Basic.REDUCTION and 0 in equation.params["axes"]

    def takes(self, equation: Equation) -> bool:
        """Return whether an operation works row by row; record its variables as cut or whole."""
        before = self.shapes.copy(), self._whole.copy()
        parts = parts_of(equation)
        if all(self._takes(part) and (part is equation or not self.is_partial(part)) for part in parts):
            return True
        # The equation is refused as a whole, so forget what its first parts recorded.
        self.shapes, self._whole = before
        return False

    def _takes(self, equation: Equation) -> bool:
        (result, *more), shape = equation.results, equation.results[0].aval.shape
        if more or math.prod(shape[1:]) > BLOCK:
            return False
        arrays = [x for x in equation.operands if type(x) is Var and x.aval.shape != ()]
        cut = self._cut(equation, arrays)
        if cut is None:
            return False
        partial = self.is_partial(equation)
        if (not partial and (not shape or shape[0] != self._count)) or not self._agrees(arrays, cut):
            return False
        for x, is_cut in zip(arrays, cut, strict=True):
            if is_cut:
                self.shapes[x] = (BlockRows(self.length[1]), *x.aval.shape[1:])
            else:
                self._whole.add(x)
        if not partial:
            self.shapes[result] = (BlockRows(self.length[1]), *shape[1:])
        return True

    def _cut(self, equation: Equation, arrays: Sequence[Var]) -> list[bool] | None:
        """Return for each array whether it is cut into blocks; ``None`` if the operation does not work row by row."""
        basic, shape = equation.primitive.forms.basic, equation.results[0].aval.shape
        if basic is Basic.FILL:
            return [False] * len(arrays)
        if equation.primitive.elementwise or basic in _BY_ELEMENT:
            return [len(x.aval.shape) == len(shape) and x.aval.shape[0] == self._count for x in arrays]
        if row_length(equation) and len(arrays) == 2:
            # A vector times a matrix is a sum over rows; each row is multiplied by an element of the vector.
            sums = self.is_partial(equation)
            return [True, sums] if arrays[0].aval.shape[0] == self._count else None
        return [True] if self._is_by_rows(basic, equation.params, arrays) else None

    def _is_by_rows(self, basic: Basic | None, params: dict[str, Any], arrays: Sequence[Var]) -> bool:
        if len(arrays) != 1 or arrays[0].aval.shape[0] != self._count or math.prod(arrays[0].aval.shape[1:]) > BLOCK:
            return False
        if basic is Basic.INDEX:
            entries = params["index"].entries
            return len(entries) > 0 and entries[0] == slice(None)
        if basic is Basic.TRANSPOSE:
            return params["permutation"][0] == 0
        return basic in (Basic.REDUCTION, Basic.RESHAPE)

    def _agrees(self, arrays: Sequence[Var], cut: Sequence[bool]) -> bool:
        pairs = zip(arrays, cut, strict=True)
        return all(x not in self._whole if is_cut else x not in self.shapes for x, is_cut in pairs)


class FlatRows:
    """The shapes of elementwise operations on arrays of one shape whose rows are too long for a block."""

    def __init__(self, shape: Shape) -> None:
        self._shape = shape
        self.length: tuple[int, int] = (math.prod(shape), BLOCK)
        self.shapes: dict[Any, Shape] = {}

    def is_partial(self, equation: Equation) -> bool:
        """Return ``False``: operations over axes are not taken."""
        del equation
        return False

    def takes(self, equation: Equation) -> bool:
        """Return whether all operands have this shape, or are scalars."""
        return all(self._takes(part) for part in parts_of(equation))

    def _takes(self, equation: Equation) -> bool:
        basic = equation.primitive.forms.basic
        result, *more = equation.results
        if more or result.aval.shape != self._shape:
            return False
        if not equation.primitive.elementwise and basic not in (Basic.CAST, Basic.FILL, Basic.COPY):
            return False
        if any(x.aval.shape not in ((), self._shape) for x in equation.operands):
            return False
        for x in (*equation.operands, *equation.results):
            if type(x) is Var and x.aval.shape:
                self.shapes[x] = (BlockRows(BLOCK),)
        return True
