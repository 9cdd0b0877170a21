"""Recursive filters along the last axis: rational transfer functions, in linear time.

The coefficients ``b`` multiply the signal, and ``f = a[1:] / a[0]`` the earlier results:

    y[n] = sum(b[k] * x[n - k], k = 0 .. K) - sum(f[k] * y[n - 1 - k], k = 0 .. K - 1)

starting from the state ``zi`` of the transposed direct form II, as in ``scipy.signal.lfilter``. One result holds the
``y`` of the signal and behind them the ``K`` numbers of the last state, which the same sums give beyond the signal's
end. The whole result solves one triangular system ``M e = u``; its transpose is the same filter from the other end.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval
from funcgrad._core.bind import NO_PARAMS, bind, untraced
from funcgrad._core.lazy import LazyModule
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.derivative import PerOperand
from funcgrad._ops.contract.convolve import convolve
from funcgrad._ops.index.gather import slice_axis
from funcgrad._ops.index.join import concatenate
from funcgrad._ops.layout.broadcast import broadcast_to, reduce_sum, with_batch
from funcgrad._ops.layout.shape import expand_dims, flip
from funcgrad._types import Array, Lax, Value

_signal = LazyModule("scipy.signal")
# The number of samples in a block, and the fewest blocks that are worth it. Each sample costs as many multiplications.
_BLOCK = 32
_FEW = 8
# The greatest response to a unit for which blocks are exact enough. A filter of ninth order near 0 has a million.
_LARGE = 100
# Steps of XLA's loop that are unrolled. More steps compile longer and run no faster.
_UNROLL = 8


# Without this, SciPy's code would make traced arrays inside of ``fg.intercept()``.
@untraced()
def _recursion_numpy(b: Array, f: Array, x: Array, zi: Array) -> np.ndarray:
    e = np.empty((*x.shape[:-1], x.shape[-1] + f.shape[-1]), x.dtype)
    for i in np.ndindex(b.shape[:-1]):
        feedback = np.concatenate([np.ones(1, f.dtype), f[i]])
        # SciPy returns no state for an empty signal.
        if x[i].size:
            e[i][..., : x.shape[-1]], e[i][..., x.shape[-1] :] = _signal.lfilter(b[i], feedback, x[i], -1, zi[i])
        else:
            e[i] = zi[i]
    return e


def _recursion_xla(lax: Lax, b: Array, f: Array, x: Array, zi: Array) -> Array:
    if not x.size:
        return zi
    blocks = x.shape[-1] // _BLOCK
    if blocks < _FEW or f.shape[-1] > _BLOCK:
        return _by_steps(lax, b, f, x, zi)
    fast, size = _by_blocks(lax, b, f, x, zi, blocks)
    # Within a block, infinity or NaN would spread to earlier samples. And if a state's response is much larger than the
    # state, digits that cancel from step to step are lost from block to block.
    finite = lax.reduce_and(lax.is_finite(abs(fast)), tuple(range(fast.ndim)))
    return lax.cond(finite & (size <= _LARGE), lambda: fast, lambda: _by_steps(lax, b, f, x, zi))


def _by_steps(lax: Lax, b: Value, f: Value, x: Value, zi: Value) -> Value:
    """Compute one sample after the other, as SciPy does."""
    last = x.ndim - 1
    ys, zs = _steps(lax, b, f, x, zi, lambda y, z: y)
    return lax.concatenate([lax.transpose(ys, (*range(1, x.ndim), 0)), zs], last)


def _steps(lax: Lax, b: Value, f: Value, x: Value, zi: Value, shown: Value) -> tuple[Any, Any]:
    """Return ``shown(y, z)`` of each step, stacked along a new first axis, and the last state."""
    last = x.ndim - 1
    states = zi.shape
    coefficients = (*range(b.ndim - 1), last)
    b, f = (lax.broadcast_in_dim(c, (*states[:-1], c.shape[-1]), coefficients) for c in (b, f))
    first, rest = (lax.slice_in_dim(b, start, stop, axis=last) for start, stop in ((0, 1), (1, b.shape[-1])))
    nothing = lax.full((*states[:-1], 1), 0, x.dtype)

    def step(z: Value, each: Value) -> tuple[Any, Any]:
        each = lax.expand_dims(each, (last,))
        y = first * each + lax.slice_in_dim(z, 0, 1, axis=last)
        moved = lax.concatenate([lax.slice_in_dim(z, 1, None, axis=last), nothing], last)
        z = moved + rest * each - f * y
        return z, shown(lax.squeeze(y, (last,)), z)

    zf, ys = lax.scan(step, zi, lax.transpose(x, (last, *range(last))), unroll=_UNROLL)
    return ys, zf


def _by_blocks(lax: Lax, b: Value, f: Value, x: Value, zi: Value, blocks: int) -> tuple[Any, Any]:
    """Compute blocks of samples as matrix products. The matrices are the first block of the responses to units.

    Only the loop over blocks is sequential; it carries the state. The second result is the size of the responses.
    """
    order, filters = f.shape[-1], math.prod(b.shape[:-1])
    b, f = (lax.reshape(lax.convert_element_type(c, c.dtype), (filters, c.shape[-1])) for c in (b, f))
    shape, count = x.shape, blocks * _BLOCK
    signals = math.prod(zi.shape[:-1]) // max(filters, 1)
    z = lax.reshape(lax.convert_element_type(zi, x.dtype), (filters, signals, order))
    flat = lax.reshape(lax.convert_element_type(x, x.dtype), (filters, signals, shape[-1]))
    # A unit as the first sample, and a unit as each element of the state.
    units = np.zeros((filters, 1 + order, _BLOCK), x.dtype)
    units[:, 0, 0] = 1
    states = np.broadcast_to(np.eye(1 + order, order, -1, dtype=x.dtype), (filters, 1 + order, order))
    (ys, zs), _ = _steps(lax, b, f, units, lax.convert_element_type(states, x.dtype), lambda y, z: (y, z))
    back = np.arange(_BLOCK)[:, None] - np.arange(_BLOCK)
    response = lax.transpose(ys[:, :, 0], (1, 0))
    inputs = lax.select(
        np.broadcast_to(back >= 0, (filters, _BLOCK, _BLOCK)),
        response[:, np.maximum(back, 0)],
        lax.full((filters, _BLOCK, _BLOCK), 0, x.dtype),
    )
    outputs = lax.transpose(ys[:, :, 1:], (1, 0, 2))
    onward, kept = lax.transpose(zs[::-1, :, 0], (1, 2, 0)), lax.transpose(zs[-1, :, 1:], (0, 2, 1))

    def times(rows: Value, matrix: Value) -> Value:
        """Multiply each row by the transposed matrix of its filter."""
        return lax.dot_general(rows, matrix, (((rows.ndim - 1,), (2,)), ((0,), (0,))), precision="highest")

    pieces = lax.reshape(flat[..., :count], (filters, signals, blocks, _BLOCK))
    given = lax.transpose(times(pieces, onward), (2, 0, 1, 3))

    def block(z: Value, given: Value) -> tuple[Any, Any]:
        return times(z, kept) + given, z

    z, before = lax.scan(block, z, given)
    found = times(pieces, inputs) + lax.transpose(times(lax.transpose(before, (1, 2, 0, 3)), outputs), (0, 1, 2, 3))
    found = lax.reshape(found, (filters, signals, count))
    if shape[-1] == count:
        whole = lax.concatenate([found, z], 2)
    else:
        whole = lax.concatenate([found, _by_steps(lax, b, f, flat[..., count:], z)], 2)
    size = lax.reduce_max(abs(ys), (0, 1, 2)) + lax.reduce_max(abs(zs), (0, 1, 2, 3))
    return lax.reshape(whole, (*shape[:-1], shape[-1] + order)), size


def _results(e: Value, f_shape: tuple[int, ...]) -> Value:
    """Return the part of the result that is not the state."""
    return slice_axis(e, len(e.shape) - 1, 0, e.shape[-1] - f_shape[-1])


def _filled(value: int, x: Value, shape: tuple[int, ...]) -> Value:
    return broadcast_to(x.dtype.type(value), shape)


def _behind(value: int, f: Value) -> Value:
    """Return ``f`` with one number in front."""
    return concatenate([_filled(value, f, (*f.shape[:-1], 1)), f], len(f.shape) - 1)


def _state_of_nothing(x: Value, f: Value) -> Value:
    return _filled(0, x, (*x.shape[:-1], f.shape[-1]))


def _push_b(b_dot: Value, f: Value, x: Value) -> Value:
    return recursion(b_dot, f, x, _state_of_nothing(x, f))


def _push_f(f_dot: Value, f: Value, y: Value) -> Value:
    ys = _results(y, f.shape)
    return -recursion(_behind(0, f_dot), f, ys, _state_of_nothing(ys, f))


def _push_x(x_dot: Value, b: Value, f: Value) -> Value:
    return recursion(b, f, x_dot, _state_of_nothing(x_dot, f))


def _push_zi(zi_dot: Value, b: Value, f: Value, x: Value) -> Value:
    return recursion(b, f, _filled(0, x, x.shape), zi_dot)


def _pulled(y_bar: Value, f: Value) -> Value:
    """Return the cotangent of ``u``.

    It is the result of the same filter run from the end; the numbers behind the signal are the state before it.
    """
    last, order = len(y_bar.shape) - 1, f.shape[-1]
    turned = flip(y_bar, (last,))
    before = slice_axis(turned, last, 0, order)
    state = slice_axis(_convolved(before, _behind(0, f)), last, order, 2 * order)
    rest = slice_axis(turned, last, order, turned.shape[-1])
    alone = _behind(1, _filled(0, f, f.shape))
    return flip(concatenate([before, _results(recursion(alone, f, rest, -state), f.shape)], last), (last,))


def _spread_over(c: Value, x_shape: tuple[int, ...]) -> Value:
    """Return coefficients broadcast to the signals that share them."""
    axes = tuple(range(len(c.shape) - 1, len(x_shape) - 1))
    return broadcast_to(expand_dims(c, axes) if axes else c, (*x_shape[:-1], c.shape[-1]))


def _convolved(x: Value, c: Value) -> Value:
    return convolve(x, _spread_over(c, x.shape), full=True)


def _pull_b(y_bar: Value, f: Value, x: Value, b_shape: tuple[int, ...]) -> Value:
    return _correlated(_pulled(y_bar, f), x, b_shape)


def _correlated(u_bar: Value, x: Value, b_shape: tuple[int, ...]) -> Value:
    last = len(x.shape) - 1
    if not x.size:
        return _filled(0, x, b_shape)
    found = convolve(u_bar, flip(x, (last,)), full=False)
    return reduce_sum(found, tuple(range(len(b_shape) - 1, last)))


def _pull_f(y_bar: Value, f: Value, y: Value) -> Value:
    shape = (*f.shape[:-1], f.shape[-1] + 1)
    found = _correlated(_pulled(y_bar, f), _results(y, f.shape), shape)
    return -slice_axis(found, len(shape) - 1, 1, shape[-1])


def _pull_x(y_bar: Value, b: Value, f: Value, x_shape: tuple[int, ...]) -> Value:
    u_bar = _pulled(y_bar, f)
    if not x_shape[-1]:
        return slice_axis(u_bar, len(x_shape) - 1, 0, 0)
    return convolve(u_bar, _spread_over(flip(b, (len(b.shape) - 1,)), x_shape), full=False)


def _pull_zi(y_bar: Value, f: Value) -> Value:
    return slice_axis(_pulled(y_bar, f), len(y_bar.shape) - 1, 0, f.shape[-1])


def _batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> Array:
    """Signals of a batch share their coefficients, as signals of a stack do."""
    shared = not (batched[0] or batched[1]) and len(operands[0].shape) == 1
    flags = (True, True, False, False) if shared else (False,) * 4
    return bind(
        primitive,
        tuple(
            [x if kept else with_batch(x, size, flag) for x, flag, kept in zip(operands, batched, flags, strict=True)]
        ),
        params,
    )


recursion_p = Primitive(
    "recursion",
    operands=("b", "f", "x", "zi"),
    numpy=_recursion_numpy,
    xla=_recursion_xla,
    aval=lambda b, f, x, zi: Aval((*x.shape[:-1], x.shape[-1] + f.shape[-1]), x.dtype),
    derivative=PerOperand(
        ("b", "f", "x", "zi"), [_pull_b, _pull_f, _pull_x, _pull_zi], [_push_b, _push_f, _push_x, _push_zi]
    ),
    batch=_batch,
    cost=lambda y, b, f, x, zi: x.size * (b.shape[-1] + f.shape[-1]) * 2,
)


def recursion(b: Value, f: Value, x: Value, zi: Value) -> Value:
    """Filter ``x[..., ..., N]`` from the state ``zi[..., ..., K]`` by ``b[..., K + 1]`` and ``f[..., K]``.

    All have one dtype, and ``K`` is at least 1. The leading axes of ``b`` and ``f`` are the first axes of the signals;
    signals along further axes share their coefficients.
    """
    return bind(recursion_p, (b, f, x, zi), NO_PARAMS)
