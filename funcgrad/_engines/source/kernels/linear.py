"""Lower linear algebra of small matrices, in loops. The functions are those of `matrices.py`.

Only kernels of loops have these forms: a round of small matrices takes less time than the calls of LAPACK that it
replaces. The numbers equal LAPACK's up to rounding, so programs without loops call LAPACK.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from funcgrad._core.forms import Basic
from funcgrad._core.graph.ir import Equation
from funcgrad._engines.source.kernels.compiler.matrices import LARGEST
from funcgrad._engines.source.kernels.lowering import Lowering, number
from funcgrad._engines.source.kernels.nodes import KernelMemory, Matrices, StridedView

_PIVOTS = np.dtype(np.int32)

Form = Callable[[Lowering, Equation], bool]


def _taken(w: Lowering, equation: Equation) -> list[StridedView] | None:
    """Return the operands in contiguous memory; ``None`` if a matrix is large or not of floats."""
    found = [w.array(x) for x in equation.operands]
    if not w.loop or any(x is None or max(x.shape[-2:]) > LARGEST for x in found):
        return None
    if any(var.aval.dtype.char not in "fd" for var in equation.results if var.aval.dtype != _PIVOTS):
        return None
    return [w.contiguous(x) for x in found if x is not None]


def _results(equation: Equation) -> list[StridedView]:
    return [KernelMemory(var.aval.dtype, var.aval.shape).whole() for var in equation.results]


def _made(w: Lowering, equation: Equation, made: Sequence[StridedView]) -> bool:
    w.known.update(zip(equation.results, made, strict=True))
    return True


def _eliminated(w: Lowering, x: StridedView) -> tuple[StridedView, StridedView]:
    """Add an elimination; return its factors and its pivots."""
    factors, pivots = KernelMemory(x.dtype, x.shape).whole(), KernelMemory(_PIVOTS, x.shape[:-1]).whole()
    w.steps.append(Matrices("eliminate", (x.shape[-1],), (x,), (factors, pivots), math.prod(x.shape[:-2])))
    return factors, pivots


def _order(w: Lowering, pivots: StridedView) -> StridedView:
    """Add the order of rows after the exchanges."""
    made = KernelMemory(_PIVOTS, pivots.shape).whole()
    w.steps.append(Matrices("arrange", (pivots.shape[-1],), (pivots,), (made,), math.prod(pivots.shape[:-1])))
    return made


def _lu(w: Lowering, equation: Equation) -> bool:
    found = _taken(w, equation)
    if found is None:
        return False
    factors, pivots = _eliminated(w, found[0])
    return _made(w, equation, [factors, pivots, _order(w, pivots)])


def _permute(w: Lowering, x: StridedView, order: StridedView, back: bool) -> StridedView:
    made = KernelMemory(x.dtype, x.shape).whole()
    numbers = (*x.shape[-2:], int(back))
    w.steps.append(Matrices("permute", numbers, (x, order), (made,), math.prod(x.shape[:-2])))
    return made


def _permuted_rows(w: Lowering, equation: Equation) -> bool:
    found = _taken(w, equation)
    return found is not None and _made(w, equation, [_permute(w, found[0], found[1], equation.params["back"])])


def _substitute(
    w: Lowering,
    a: StridedView,
    b: StridedView,
    *,
    lower: bool,
    unit_diagonal: bool,
    left_side: bool = True,
    transpose_a: bool = False,
) -> StridedView:
    """Add the solution of a triangular system. A system with its matrix on the right is the transposed one."""
    n, made = a.shape[-1], KernelMemory(b.dtype, b.shape).whole()
    turned = transpose_a == left_side
    strides = (1, n) if turned else (n, 1)
    columns = b.shape[-1]
    right = (columns, columns, 1) if left_side else (b.shape[-2], 1, columns)
    numbers = (n, right[0], *strides, *right[1:], int(lower != turned), int(unit_diagonal))
    count = math.prod(a.shape[:-2])
    w.steps.append(Matrices("substitute", numbers, (a, b), (made,), count, refuses=not unit_diagonal))
    return made


def _triangular_solve(w: Lowering, equation: Equation) -> bool:
    found = _taken(w, equation)
    if found is None:
        return False
    form = {name: flag for name, flag in equation.params.items() if name != "conjugate_a"}
    return _made(w, equation, [_substitute(w, found[0], found[1], **form)])


def _solve(w: Lowering, equation: Equation) -> bool:
    found = _taken(w, equation)
    if found is None:
        return False
    factors, pivots = _eliminated(w, found[0])
    y = _substitute(w, factors, _permute(w, found[1], _order(w, pivots), False), lower=True, unit_diagonal=True)
    return _made(w, equation, [_substitute(w, factors, y, lower=False, unit_diagonal=False)])


def _cholesky(w: Lowering, equation: Equation) -> bool:
    found = _taken(w, equation)
    if found is None:
        return False
    ((x,), made) = found, _results(equation)
    count = math.prod(x.shape[:-2])
    w.steps.append(Matrices("halve", (x.shape[-1],), (x,), tuple(made), count, refuses=True))
    return _made(w, equation, made)


def _slogdet(w: Lowering, equation: Equation) -> bool:
    return _of_elimination(w, equation, "volume")


def _det(w: Lowering, equation: Equation) -> bool:
    return _of_elimination(w, equation, "determine")


def _of_elimination(w: Lowering, equation: Equation, name: str) -> bool:
    """Add a function of an elimination's factors and pivots."""
    found = _taken(w, equation)
    if found is None:
        return False
    ((x,), made) = found, _results(equation)
    given = _eliminated(w, x)
    w.steps.append(Matrices(name, (x.shape[-1],), given, tuple(made), math.prod(x.shape[:-2])))
    return _made(w, equation, made)


def _triangle(w: Lowering, equation: Equation) -> bool:
    found, params = _taken(w, equation), equation.params
    if found is None:
        return False
    ((x,), made) = found, _results(equation)
    numbers = (*x.shape[-2:], params["k"], int(params["lower"]))
    w.steps.append(Matrices("triangle", numbers, (x,), tuple(made), math.prod(x.shape[:-2])))
    return _made(w, equation, made)


def _diagonal(w: Lowering, equation: Equation) -> bool:
    x, offset = w.access(equation.operands[0]), equation.params["offset"]
    if not w.loop or not isinstance(x, StridedView):
        return False
    return w.set(equation, x.shown(lambda array: array.diagonal(offset, -2, -1)))


def _embed_diagonal(w: Lowering, equation: Equation) -> bool:
    x, (result,), offset = w.access(equation.operands[0]), equation.results, equation.params["offset"]
    zero = number(0, result.aval.dtype)
    if not w.loop or x is None or zero is None or x.dtype != result.aval.dtype:
        return False
    made = w.applied("{}", [zero], result.aval.shape, x.dtype)
    w.written(made.shown(lambda array: array.diagonal(offset, -2, -1)), "{}", x)
    return w.set(equation, made)


LINEAR: dict[Basic | None, Form] = {
    Basic.CHOLESKY: _cholesky,
    Basic.DET: _det,
    Basic.DIAGONAL: _diagonal,
    Basic.EMBED_DIAGONAL: _embed_diagonal,
    Basic.LU: _lu,
    Basic.PERMUTED_ROWS: _permuted_rows,
    Basic.SLOGDET: _slogdet,
    Basic.SOLVE: _solve,
    Basic.TRIANGLE: _triangle,
    Basic.TRIANGULAR_SOLVE: _triangular_solve,
}
