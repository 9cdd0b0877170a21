"""Turn ufuncs, casts, reductions and products into steps of a kernel.

An operation becomes an expression if compilers of loops give NumPy's numbers to the bit. Any other operation calls the
inner loop of NumPy or SciPy (``ufuncs.py``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from funcgrad._core.graph.ir import Equation, Graph, Literal, Operand, Var
from funcgrad._engines.source.kernels.nodes import (
    Access,
    Add,
    Apply,
    BlockRows,
    Call,
    Check,
    KernelMemory,
    Matrices,
    Picked,
    Product,
    Reduce,
    Scalar,
    Shape,
    Step,
    StridedView,
)
from funcgrad._engines.source.kernels.ufuncs import inner_loop, loop_dtypes
from funcgrad._engines.source.operators import OPERATORS

_BOOL = np.dtype(bool)
_FLOATS: dict[Any, str] = {
    **OPERATORS,
    np.square: "{0} * {0}",
    np.positive: "{}",
    np.sqrt: "sqrt({})",
    np.absolute: "fabs({})",
    np.isnan: "{0} != {0}",
}
_INTEGERS: dict[Any, str] = {
    # The compiler's division of integers is not NumPy's.
    **{function: text for function, text in OPERATORS.items() if function is not np.true_divide},
    np.square: "{0} * {0}",
    np.bitwise_and: "{} & {}",
    np.bitwise_or: "{} | {}",
    np.bitwise_xor: "{} ^ {}",
}
_BOOLS: dict[Any, str] = {
    **dict.fromkeys((np.logical_and, np.bitwise_and, np.multiply), "{} & {}"),
    **dict.fromkeys((np.logical_or, np.bitwise_or, np.add), "{} | {}"),
    **dict.fromkeys((np.logical_not, np.invert), "not {}"),
}
_EXPRESSIONS = {"f": _FLOATS, "i": _INTEGERS, "u": _INTEGERS, "b": _BOOLS}

# A product of no more multiplications is computed by loops of the kernel's own, in a loop. A call of BLAS takes as long
# as a few hundred multiplications.
_PRODUCT = 512
# OpenBLAS multiplies a vector and fewer columns in a way that depends on where the rows begin.
_COLUMNS = 8
# NumPy adds 8 numbers and more in pairs.
_FEW_ADDED = 7
# The kinds of dtypes that kernels compute in.
KINDS = "fiubc"


class Lowering:
    """Collects the steps of a kernel.

    Args:
        shapes: the shapes of variables within a block, where they differ from those of the graph.
        lower: adds the steps of an equation; the forms of loops call it for their bodies.
        loop: whether the steps are a round of a loop. Small matrices are then computed by loops of the kernel's own,
            because calls of BLAS and LAPACK would take most of the time. The numbers differ by rounding.
    """

    # Whether the steps are a long program's. It reads slices as NumPy does.
    is_long = False

    def __init__(self, shapes: Mapping[Any, Shape], lower: Callable[..., bool], loop: bool = False) -> None:
        self.lower = lower
        self.loop = loop
        # Whether a write into memory that nobody reads later makes no copy of it.
        self.writes_in_place = loop or self.is_long
        # The number of loops and branches around the steps that are added.
        self.depth = 0
        # The constants of bodies, which the kernel reads as operands.
        self.constants: list[tuple[Var, Any]] = []
        self.steps: list[Step] = []
        self.known: dict[Any, Access] = {}
        self._shapes = shapes

    def add_constants(self, body: Graph) -> None:
        """Make the constants of a body operands of the kernel."""
        for var, value in body.constants:
            if var not in self.known:
                dtype, shape, name = var.aval.dtype, var.aval.shape, f"k{len(self.constants)}"
                self.known[var] = KernelMemory(dtype, shape, name).whole() if shape else Scalar(name, dtype)
                self.constants.append((var, value))

    def shape(self, x: Operand) -> Shape:
        """Return the shape of an operand within a block."""
        return self._shapes.get(x, x.aval.shape)

    def set(self, equation: Equation, value: Access | None) -> bool:
        """Record the value of the result; return whether there is one."""
        if value is not None:
            self.known[equation.results[0]] = value
        return value is not None

    def access(self, x: Operand, dtype: np.dtype | None = None) -> Access | None:
        """Return an operand; a literal is converted to ``dtype``."""
        return number(x.value, dtype or x.aval.dtype) if type(x) is Literal else self.known[x]

    def array(self, x: Operand) -> StridedView | None:
        """Return an operand as memory; a number is written to an array."""
        found = self.access(x)
        return None if found is None else self.held(found, self.shape(x))

    def applied(self, text: str, operands: Sequence[Access], shape: Shape, dtype: np.dtype) -> StridedView:
        """Add an expression that makes a new array of its operands, which are broadcast."""
        target = KernelMemory(dtype, shape).whole()
        spread = tuple([x.spread(shape) if isinstance(x, StridedView) else x for x in operands])
        self.steps.append(Apply(target, text, spread))
        return target

    def written(self, target: StridedView, text: str, x: Access) -> bool:
        """Add an expression that writes to part of an array, of ``x`` or of the part and ``x``.

        Return whether ``x`` has the shape of the part, or a shape that is repeated to it.
        """
        if isinstance(x, StridedView):
            if len(x.shape) > len(target.shape):
                extra = len(x.shape) - len(target.shape)
                if x.shape[:extra] != (1,) * extra:
                    return False
                x = x._replace(shape=x.shape[extra:], strides=x.strides[extra:])
            x = x.spread(target.shape)
        given = (x,) if text == "{}" else (target, x)
        if len(given) > 1:
            given = (self.applied(text, given, target.shape, target.dtype),)
        self.steps.append(Apply(target, "{}", given))
        return True

    def cast(self, x: Access, dtype: np.dtype) -> Access | None:
        """Return an operand in another dtype; ``None`` if compilers convert it in another way than NumPy."""
        if x.dtype == dtype:
            return x
        text = _cast_text(x.dtype, dtype)
        if text is None:
            return None
        if isinstance(x, Scalar):
            return Scalar(text.format(x.text), dtype)
        return self.applied(text, [x], x.shape, dtype)

    def held(self, x: Access, shape: Shape = ()) -> StridedView:
        """Return an operand as an array, also if it is a number."""
        return x if isinstance(x, StridedView) else self.applied("{}", [x], shape, x.dtype)

    def contiguous(self, x: Access) -> StridedView:
        """Return an operand as contiguous memory."""
        x = self.held(x)
        return x if x.is_contiguous else self.applied("{}", [x], x.shape, x.dtype)

    def ufunc(self, function: np.ufunc, equation: Equation) -> Access | None:
        """Add a ufunc of the equation's operands."""
        kinds = [_kind(x) for x in equation.operands]
        dtypes = loop_dtypes(function, kinds)
        (result,) = equation.results
        if dtypes is None or dtypes[-1] != result.aval.dtype:
            return None
        found = [self.access(x, dtype) for x, dtype in zip(equation.operands, dtypes, strict=False)]
        return self.of(function, found, dtypes, self.shape(result))

    def of(
        self, function: Any, operands: Sequence[Access | None], dtypes: Sequence[np.dtype], shape: Shape
    ) -> Access | None:
        """Add a ufunc of operands, in the dtypes of one of its loops."""
        given: list[Access] = []
        for x, dtype in zip(operands, dtypes, strict=False):
            y = None if x is None else self.cast(x, dtype)
            if y is None:
                return None
            given.append(y)
        text = _EXPRESSIONS.get(dtypes[0].kind, {}).get(function) if len(set(dtypes[:-1])) == 1 else None
        if text is not None:
            return self.applied(in_dtype(text, dtypes[-1]), given, shape, dtypes[-1])
        if function is np.power and dtypes[0].kind in "iub":
            # NumPy refuses negative powers of integers by an exception, and raising one needs Python's lock.
            return None
        loop = inner_loop(function, tuple(dtypes)) if len(dtypes) <= 4 else None
        if loop is None:
            return None
        target = KernelMemory(dtypes[-1], shape).whole()
        even = tuple([self._even(x, shape) for x in given])
        self.steps.append(Call(loop, function.__name__, even, target))
        return target

    def _even(self, x: Access, shape: Shape) -> StridedView:
        """Return an operand for an inner loop: broadcast, with one constant step between elements."""
        x = self.held(x)
        spread = x.spread(shape)
        if spread.is_contiguous or not any(spread.strides):
            return spread
        return self.applied("{}", [x], shape, x.dtype)

    def where(self, equation: Equation) -> Access | None:
        (result,) = equation.results
        dtype = result.aval.dtype
        if dtype.kind == "c":
            return None
        condition, x, y = [self.access(x, d) for x, d in zip(equation.operands, (None, dtype, dtype), strict=True)]
        if condition is None or x is None or y is None:
            return None
        given = [self.cast(condition, _BOOL), self.cast(x, dtype), self.cast(y, dtype)]
        if any(each is None for each in given):
            return None
        found = [each for each in given if each is not None]
        return self.applied("choose({}, {}, {})", found, self.shape(result), dtype)

    def reduced(self, function: Any, x: StridedView, axes: tuple[int, ...], keepdims: bool) -> StridedView | None:
        """Add a reduction over some axes."""
        first = _first(function, x.dtype)
        loop = inner_loop(function, (x.dtype, x.dtype, x.dtype))
        if first is None or loop is None:
            return None
        x = self.contiguous(x)
        kept = tuple([1 if k in axes else n for k, n in enumerate(x.shape)])
        target = KernelMemory(x.dtype, kept).whole()
        if function is not np.add or not self._summed(x, axes, first, target):
            self.steps.append(Reduce(loop, function.__name__, x, axes, first, target))
        return target if keepdims else target._replace(
            shape=tuple([n for k, n in enumerate(kept) if k not in axes]),
            strides=tuple([s for k, s in enumerate(target.strides) if k not in axes]),
        )  # fmt: skip

    def _summed(self, x: StridedView, axes: tuple[int, ...], first: Scalar, target: StridedView) -> bool:
        """Add an expression for sums of a few numbers; return whether it gives the numbers of NumPy's loop.

        NumPy adds fewer than 8 numbers that lie one after another to each other first, and other ones to the result.
        """
        if x.dtype.kind != "f" or any(isinstance(n, BlockRows) for n in x.shape):
            return False
        axes = tuple([k % len(x.shape) for k in axes if x.shape[k] != 1])
        if len(axes) != 1 or x.shape[axes[0]] > _FEW_ADDED:
            return False
        (axis,) = axes
        parts = [
            x.shown(lambda array, k=k: array[(*[slice(None)] * axis, slice(k, k + 1))]) for k in range(x.shape[axis])
        ]
        names = ["{}"] * len(parts)
        is_last = all(n == 1 for n in x.shape[axis + 1 :])
        text = f"{first.text} + ({' + '.join(names)})" if is_last else " + ".join([first.text, *names])
        self.steps.append(Apply(target, text, tuple(parts)))
        return True

    def product(self, a: StridedView, b: StridedView, shape: Shape) -> StridedView | None:
        """Add the product of two matrices; of two stacks of small ones, in loops."""
        loop, dims = inner_loop(np.matmul, (a.dtype, a.dtype, a.dtype)), {len(a.shape), len(b.shape)}
        if a.dtype != b.dtype or a.dtype.kind not in "fc" or loop is None:
            return None
        target = KernelMemory(a.dtype, shape).whole()
        small = math.prod((*a.shape[-2:], b.shape[-1])) <= _PRODUCT
        if self.loop and a.dtype.kind == "f" and small and a.shape[:-2] == b.shape[:-2]:
            if dims != {2}:
                a, b = self.contiguous(a), self.contiguous(b)
            numbers = (*a.shape[-2:], b.shape[-1], *a.strides[-2:], *b.strides[-2:])
            self.steps.append(Matrices("multiply", numbers, (a, b), (target,), math.prod(a.shape[:-2])))
            return target
        if dims != {2}:
            return None
        a, b = self._sliced(a, b) if self.is_long else (self._matrix(a), self._matrix(b))
        self.steps.append(Product(loop, a, b, target))
        return target

    def place(self, x: StridedView, held: Sequence[StridedView], axes: int) -> tuple[Picked, Shape]:
        """Return the elements that index arrays name along the first axes of an array, and their shape."""
        batch = np.broadcast_shapes(*[each.shape for each in held])
        shape = (*batch, *x.shape[axes:])
        rest = StridedView(x.memory, x.offset, shape, (*[0] * len(batch), *x.strides[axes:]))
        wide = (*batch, *[1] * (len(shape) - len(batch)))
        spread, checks = [], []
        for each, length in zip(held, x.shape, strict=False):
            checks.append(KernelMemory(_BOOL, (1,)).whole())
            self.steps.append(Check(each, length, checks[-1]))
            whole = each.spread(batch)
            spread.append(
                StridedView(whole.memory, whole.offset, wide, (*whole.strides, *[0] * (len(wide) - len(batch))))
            )
        numbers = tuple([each.spread(shape) for each in spread])
        steps = tuple(zip(x.strides[:axes], x.shape[:axes], strict=True))
        return Picked(rest, numbers, steps, tuple(checks)), shape

    def picked(self, x: StridedView, ids: Sequence[StridedView]) -> StridedView:
        """Return the elements that index arrays name along the first axes."""
        place, shape = self.place(x, ids, len(ids))
        target = KernelMemory(x.dtype, shape).whole()
        self.steps.append(Apply(target, "{}", (place,)))
        return target

    def added(self, v: StridedView, ids: Sequence[StridedView], shape: Shape) -> StridedView:
        """Return zeros to which an array is added at the elements that index arrays name."""
        target = KernelMemory(v.dtype, shape).whole()
        place, wanted = self.place(target, ids, len(ids))
        self.steps.append(Add(place, v.spread(wanted), target))
        return target

    def _matrix(self, x: StridedView) -> StridedView:
        """Return a matrix in memory that BLAS takes: contiguous, perhaps transposed."""
        whole = x.is_contiguous or StridedView(x.memory, x.offset, x.shape[::-1], x.strides[::-1]).is_contiguous
        return x if whole else self.contiguous(x)

    def _sliced(self, a: StridedView, b: StridedView) -> tuple[StridedView, StridedView]:
        """Return two matrices in memory with which BLAS gives the numbers of ``ndarray.dot``, which copies slices."""
        left, right = a.shape[0] == 1, b.shape[1] == 1
        if not left and not right:
            return a, b
        # The numbers are the same without a copy, except where a contiguous vector meets a few columns.
        a = self._vector(a, 1) if left else a if _has_rows(a) else self._matrix(a)
        many = a.strides[1] > 1 or b.shape[1] > _COLUMNS
        b = self._vector(b, 0) if right else b if many and _has_rows(b) else self._matrix(b)
        return a, b

    def _vector(self, x: StridedView, axis: int) -> StridedView:
        return x if x.strides[axis] > 0 or x.shape[axis] == 1 else self.contiguous(x)


def _has_rows(x: StridedView) -> bool:
    """Return whether the rows of a matrix are contiguous."""
    return x.strides[1] == 1 and x.strides[0] >= x.shape[1]


def _kind(x: Operand) -> Any:
    """Return the type that decides the dtype: Python numbers are weak."""
    if type(x) is Literal and type(x.value) in (int, float, complex):
        return type(x.value)
    return {"f": float, "i": int, "c": complex}.get(x.aval.dtype.kind) if x.aval.weak else x.aval.dtype


def number(value: Any, dtype: np.dtype) -> Scalar | None:
    """Return a literal as text, in a dtype."""
    if dtype.kind not in "fiub":
        return None
    try:
        number = dtype.type(value)
    except OverflowError:
        return None
    if dtype.kind == "b":
        return Scalar(repr(bool(number)), dtype)
    if dtype.kind in "iu":
        return Scalar(f"{dtype.name}({int(number)})", dtype)
    plain = repr(float(number)) if math.isfinite(number) else f"float('{float(number)!r}')"
    if not math.isfinite(number):
        # Only the sign of a NaN is kept, not its payload.
        name = "nan" if math.isnan(number) else "inf"
        plain = f"-{name}" if math.copysign(1, number) < 0 else name
    return Scalar(f"({plain})" if dtype == np.float64 else f"{dtype.name}({plain})", dtype)


def _cast_text(given: np.dtype, dtype: np.dtype) -> str | None:
    if "c" in (given.kind, dtype.kind):
        return None
    if dtype.kind == "b":
        return "({} != 0)"
    if given.kind == "f" and dtype.kind in "iu":
        # A float outside the range of the integer dtype gives a result that depends on the processor.
        return None
    return f"{dtype.name}({{}})"


def in_dtype(text: str, dtype: np.dtype) -> str:
    """Return an expression of integers, which compilers widen, converted back to its dtype."""
    return f"{dtype.name}({text})" if dtype.kind in "iu" else text


def _first(function: Any, dtype: np.dtype) -> Scalar | None:
    """Return the number that a reduction starts from."""
    if function is np.add:
        return number(0, dtype)
    if function is np.multiply:
        return number(1, dtype)
    if dtype.kind == "f":
        return number(-np.inf if function is np.maximum else np.inf, dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return number(limits.min if function is np.maximum else limits.max, dtype)
    return None
