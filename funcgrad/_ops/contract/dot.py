"""Contractions: products summed over shared axes.

``matmul`` has rules of its own next to ``dot_general``: for small matrices the overhead exceeds the product.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of, type_text
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._core.forms import Basic, Forms
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import Multilinear
from funcgrad._ops.contract.layouts import dot_general_layout, matmul_layout
from funcgrad._ops.layout.batching import moved_axes
from funcgrad._ops.layout.depends import Application, contracted
from funcgrad._ops.layout.shape import expand_dims, transpose
from funcgrad._types import Array, Lax, Value

Axes = tuple[int, ...]
Pair = tuple[Axes, Axes]
NO_BATCH: Pair = ((), ())


def _kept(ndim: int, *dropped: Axes) -> Axes:
    return tuple(i for i in range(ndim) if not any(i in axes for axes in dropped))


def _argsort(values: Axes) -> Axes:
    return tuple(sorted(range(len(values)), key=values.__getitem__))


class _MatrixLayout:
    """How one operand becomes a stack of matrices: move axes (seldom), flatten, and perhaps transpose the matrix.

    ``flipped`` says that the contracted axes are on the wrong side of the kept ones. A transposed view then costs
    nothing, while moving the axes would copy.
    """

    __slots__ = ("flipped", "kept", "permutation")

    def __init__(self, ndim: int, batch: Axes, contract: Axes, *, contract_last: bool) -> None:
        self.kept = _kept(ndim, batch, contract)
        wanted = (*batch, *self.kept, *contract) if contract_last else (*batch, *contract, *self.kept)
        turned = (*batch, *contract, *self.kept) if contract_last else (*batch, *self.kept, *contract)
        identity = tuple(range(ndim))
        self.flipped = turned == identity != wanted
        self.permutation = None if identity in (wanted, turned) else wanted

    def matrices(self, x: np.ndarray, batch_shape: tuple, rows: int, columns: int) -> np.ndarray:
        if self.permutation is not None:
            x = x.transpose(self.permutation)
        if self.flipped:
            return x.reshape((*batch_shape, columns, rows)).swapaxes(-1, -2)
        return x.reshape((*batch_shape, rows, columns))


@lru_cache(maxsize=4096)
def _layouts(a_ndim: int, b_ndim: int, contract: Pair, batch: Pair) -> tuple[_MatrixLayout, _MatrixLayout]:
    """Return the layouts of both operands.

    There are two orders of the contracted axes; take the one that copies less.
    """
    options = []
    for key in contract:
        order = _argsort(key)
        a_contract, b_contract = (tuple(axes[i] for i in order) for axes in contract)
        a = _MatrixLayout(a_ndim, batch[0], a_contract, contract_last=True)
        b = _MatrixLayout(b_ndim, batch[1], b_contract, contract_last=False)
        options.append((a, b))
    return min(options, key=lambda pair: sum(layout.permutation is not None for layout in pair))


def _dot_general_numpy(a: Array, b: Array, *, contract: Pair, batch: Pair) -> Array:
    if a.ndim == 2 == b.ndim and len(contract[0]) == 1 and not batch[0]:
        # ``dot`` with transposed views takes 1.5 us; the general path below takes 4.
        return (a if contract[0][0] else a.T).dot(b.T if contract[1][0] else b)
    a_layout, b_layout = _layouts(a.ndim, b.ndim, contract, batch)
    batch_shape = tuple([a.shape[i] for i in batch[0]])
    a_shape = tuple([a.shape[i] for i in a_layout.kept])
    b_shape = tuple([b.shape[i] for i in b_layout.kept])
    inner = math.prod([a.shape[i] for i in contract[0]])
    try:
        rows = a_layout.matrices(a, batch_shape, math.prod(a_shape), inner)
        columns = b_layout.matrices(b, batch_shape, inner, math.prod(b_shape))
    except ValueError:
        # NumPy's error is about a reshape. This one names the lengths that differ.
        _dot_general_aval(aval_of(a), aval_of(b), contract=contract, batch=batch)
        raise
    y = np.multiply(rows, columns) if inner == 1 else _matmul_numpy(rows, columns)
    y = y.reshape(batch_shape + a_shape + b_shape)
    # A computed result without axes becomes a number, as NumPy returns it.
    return y if y.ndim else y[()]


def _matmul_numpy(a: Array, b: Array) -> Array:
    if len(a.shape) < 3:
        # The method costs 0.5 us less than the ufunc, and passes transposed matrices to BLAS without a copy.
        return a.dot(b)
    y = np.matmul(a, b)
    # NumPy multiplies ml_dtypes' floats as float32.
    return y if y.dtype == a.dtype else y.astype(a.dtype)


def _dot_general_aval(a: Aval, b: Aval, *, contract: Pair, batch: Pair) -> Aval:
    for axes in (contract, batch):
        for i, j in zip(*axes, strict=True):
            if a.shape[i] != b.shape[j]:
                _refuse(a, b, i, j)
    kept_a = _kept(a.ndim, contract[0], batch[0])
    kept_b = _kept(b.ndim, contract[1], batch[1])
    shape = (*(a.shape[i] for i in (*batch[0], *kept_a)), *(b.shape[i] for i in kept_b))
    return Aval(shape, a.dtype)


def _refuse(a: Aval, b: Aval, i: int, j: int) -> None:
    raise ValueError(
        f"a contraction of {type_text(a.shape, a.dtype)} with {type_text(b.shape, b.dtype)}: axis {i} of the first has "
        f"length {a.shape[i]}, axis {j} of the second {b.shape[j]}; needed equal lengths. Transpose or reshape one."
    )


@lru_cache(maxsize=4096)
def _a_transposed(y_ndim: int, b_ndim: int, contract: Pair, batch: Pair) -> tuple[Pair, Pair, Axes]:
    """Return contract and batch axes of ``y_bar . b``, and the permutation that gives its result the axes of ``a``."""
    b_kept = _kept(b_ndim, contract[1], batch[1])
    ans_batch = tuple(range(len(batch[0])))
    ans_b = tuple(range(y_ndim - len(b_kept), y_ndim))
    a_ndim = y_ndim - len(b_kept) + len(contract[0])
    a_kept = _kept(a_ndim, contract[0], batch[0])
    a_contract = tuple(contract[0][i] for i in _argsort(contract[1]))
    return (ans_b, b_kept), (ans_batch, batch[1]), _argsort((*batch[0], *a_kept, *a_contract))


@lru_cache(maxsize=4096)
def _b_transposed(y_ndim: int, a_ndim: int, contract: Pair, batch: Pair) -> tuple[Pair, Pair, Axes]:
    """Return contract and batch axes of ``a . y_bar``, and the permutation that gives its result the axes of ``b``."""
    a_kept = _kept(a_ndim, contract[0], batch[0])
    ans_batch = tuple(range(len(batch[0])))
    ans_a = tuple(range(len(batch[0]), len(batch[0]) + len(a_kept)))
    b_ndim = y_ndim - len(a_kept) + len(contract[1])
    b_kept = _kept(b_ndim, contract[1], batch[1])
    b_contract = tuple(contract[1][i] for i in _argsort(contract[0]))
    return (a_kept, ans_a), (batch[0], ans_batch), _argsort((*batch[1], *b_contract, *b_kept))


def _dot_general_a_bar(y_bar: Value, b: Value, contract: Pair, batch: Pair) -> Value:
    contract, batch, permutation = _a_transposed(len(y_bar.shape), len(b.shape), contract, batch)
    return _arranged_product(y_bar, b, contract, batch, permutation)


def _dot_general_b_bar(y_bar: Value, a: Value, contract: Pair, batch: Pair) -> Value:
    contract, batch, permutation = _b_transposed(len(y_bar.shape), len(a.shape), contract, batch)
    return _arranged_product(a, y_bar, contract, batch, permutation)


def _arranged_product(a: Value, b: Value, contract: Pair, batch: Pair, permutation: Axes) -> Value:
    if permutation == (1, 0) and not batch[0] and len(a.shape) == len(contract[0]) + 1:
        # The exchanged product needs no permutation. The gradient then owns its memory instead of being a transposed
        # view.
        return dot_general(b, a, (contract[1], contract[0]), (batch[1], batch[0]))
    return _arranged(dot_general(a, b, contract, batch), permutation)


def _arranged(x: Value, permutation: Axes) -> Value:
    return x if permutation == tuple(range(len(permutation))) else transpose(x, permutation)


def _dot_general_cost(y: Aval, a: Aval, b: Aval, *, contract: Pair, batch: Pair) -> int:
    return 2 * y.size * math.prod(a.shape[i] for i in contract[0])


def _dot_general_batch(
    primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict
) -> Array:
    """If both are batched, add a batch axis. If one is, the batch is one of its kept axes, moved to the front."""
    a, b = operands
    contract, batch = [
        tuple([moved_axes(axes) if flag else axes for axes, flag in zip(params[name], batched, strict=True)])
        for name in ("contract", "batch")
    ]
    if all(batched):
        return dot_general(a, b, contract, ((0, *batch[0]), (0, *batch[1])))
    y = dot_general(a, b, contract, batch)
    place = len(batch[0])
    if batched[1]:
        place += len(a.shape) - len(contract[0]) - len(batch[0])
    return _arranged(y, (place, *[i for i in range(len(y.shape)) if i != place]))


def _matmul_batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> Array:
    a_ndim, b_ndim = [len(x.shape) - flag for x, flag in zip(operands, batched, strict=True)]
    contract, batch = _matmul_axes(a_ndim, b_ndim)
    return _dot_general_batch(primitive, size, operands, batched, {"contract": contract, "batch": batch})


def _dot_general_depends(applied: Application) -> list[Any]:
    return [_products(applied, **applied.params)]


def _matmul_depends(applied: Application) -> list[Any]:
    contract, batch = _matmul_axes(*[read.aval.ndim for read in applied.reads])
    return [_products(applied, contract, batch)]


def _products(applied: Application, contract: Pair, batch: Pair) -> Any:
    """Return the pattern of a contraction: each operand as a stack of matrices, whose rows are contracted."""
    found = []
    sizes = [_sizes(read.aval, *axes) for read, *axes in zip(applied.reads, contract, batch, strict=True)]
    for i, x in enumerate(applied.reads):
        if x.pattern.empty:
            continue
        other = applied.reads[1 - i].value
        if other is not None:
            other = _stacked(other, contract[1 - i], batch[1 - i]).swapaxes(1, 2)
        pattern = contracted(x.pattern, _stacked(x.places, contract[i], batch[i]), other, sizes[1 - i][1])
        if i:
            # The rows of ``b`` are the columns of the result.
            places = np.arange(applied.avals[0].size).reshape(sizes[1][0], sizes[1][1], sizes[0][1])
            pattern = pattern.take(places.swapaxes(1, 2).ravel())
        found.append(pattern)
    return found[0] if len(found) == 1 else found[0].union(found[1])


def _sizes(x: Aval, contract: Axes, batch: Axes) -> tuple[int, int, int]:
    """Return the numbers of matrices, of their rows, and of contracted elements."""
    sizes = [math.prod(x.shape[i] for i in axes) for axes in (batch, _kept(x.ndim, contract, batch), contract)]
    return sizes[0], sizes[1], sizes[2]


def _stacked(x: np.ndarray, contract: Axes, batch: Axes) -> np.ndarray:
    kept = _kept(x.ndim, contract, batch)
    return x.transpose(*batch, *kept, *contract).reshape(_sizes(aval_of(x), contract, batch))


dot_general_p = Primitive(
    "dot_general",
    operands=("a", "b"),
    numpy=_dot_general_numpy,
    xla=lambda lax, a, b, *, contract, batch: lax.dot_general(a, b, (contract, batch)),
    aval=_dot_general_aval,
    derivative=Multilinear(("a", "b"), [_dot_general_a_bar, _dot_general_b_bar]),
    batch=_dot_general_batch,
    cost=_dot_general_cost,
    forms=Forms(basic=Basic.DOT_GENERAL, layout=dot_general_layout, depends=_dot_general_depends),
)


def dot_general(a: Value, b: Value, contract: Pair, batch: Pair = NO_BATCH) -> Value:
    """Return the product of arrays of one dtype, summed over the axes ``contract`` and matched over the axes ``batch``.

    The result's axes are the batch axes, then the rest of ``a``, then the rest of ``b``.
    """
    return bind(dot_general_p, (a, b), {"contract": contract, "batch": batch})


@lru_cache(maxsize=256)
def _matmul_axes(a_ndim: int, b_ndim: int) -> tuple[Pair, Pair]:
    matched = tuple(range(a_ndim - 2))
    return ((a_ndim - 1,), (max(b_ndim - 2, 0),)), (matched, matched)


def _matmul_aval(a: Aval, b: Aval) -> Aval:
    contract, batch = _matmul_axes(a.ndim, b.ndim)
    return _dot_general_aval(a, b, contract=contract, batch=batch)


def _matmul_cost(y: Aval, a: Aval, b: Aval) -> int:
    return 2 * y.size * a.shape[-1]


def _matmul_a_bar(y_bar: Value, b: Value) -> Value:
    b_ndim = len(b.shape)
    if b_ndim == 2:
        if len(y_bar.shape) == 1:
            return bind(matmul_p, (b, y_bar), NO_PARAMS)
        if type(y_bar) is np.ndarray and type(b) is np.ndarray:
            return np.matmul(y_bar, b.T)
        return dot_general(y_bar, b, ((1,), (1,)))
    if b_ndim == 1:
        return _outer(y_bar, b)
    return _dot_general_a_bar(y_bar, b, *_matmul_axes(b_ndim, b_ndim))


def _matmul_b_bar(y_bar: Value, a: Value) -> Value:
    a_ndim = len(a.shape)
    if a_ndim == 2:
        if len(y_bar.shape) == 1:
            return bind(matmul_p, (y_bar, a), NO_PARAMS)
        if type(y_bar) is np.ndarray and type(a) is np.ndarray:
            return np.matmul(a.T, y_bar)
        return dot_general(a, y_bar, ((0,), (0,)))
    if a_ndim == 1:
        return _outer(a, y_bar)
    return _dot_general_b_bar(y_bar, a, *_matmul_axes(a_ndim, a_ndim))


def _outer(a: Value, b: Value) -> Value:
    """Return the outer product; one of the operands may be a scalar."""
    return expand_dims(a, (1,)) * b if len(a.shape) and len(b.shape) else a * b


def _matmul_xla(lax: Lax, a: Array, b: Array) -> Array:
    return lax.dot_general(a, b, _matmul_axes(a.ndim, b.ndim))


# Operands have one dtype: vectors and matrices, or stacks of one leading shape (dot_general broadcasts).
matmul_p = Primitive(
    "matmul",
    operands=("a", "b"),
    numpy=_matmul_numpy,
    xla=_matmul_xla,
    aval=_matmul_aval,
    derivative=Multilinear(("a", "b"), [_matmul_a_bar, _matmul_b_bar]),
    batch=_matmul_batch,
    cost=_matmul_cost,
    forms=Forms(basic=Basic.MATMUL, layout=matmul_layout, depends=_matmul_depends),
)
