"""Filters along an axis, in linear time: SciPy's own code on NumPy, a loop of XLA's there.

Gradients go by the same filter from the other end: see ``_ops/reduce/recursion.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of
from funcgrad._ops.contract.convolve import convolve
from funcgrad._ops.layout.broadcast import broadcast_to
from funcgrad._ops.reduce.recursion import recursion
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy.extend import as_value, concrete_value, known_value, normalize_axis, promote


def lfilter(b: ArrayLike, a: ArrayLike, x: ArrayLike, axis: int = -1, zi: ArrayLike = None) -> Any:
    """``scipy.signal.lfilter``: filter along an axis, by a rational transfer function.

    ``a[0] y[n] = b[0] x[n] + ... + b[M] x[n - M] - a[1] y[n - 1] - ... - a[N] y[n - N]``

    Args:
        b: f[M + 1], the coefficients of the numerator.
        a: f[N + 1], the coefficients of the denominator; the first must not be 0.
        x: the signals.
        axis: the axis to work along.
        zi: the state before the first sample, in the shape of ``x`` but for the axis, which has the length
            ``max(M, N)``; others of its axes may have length 1. Without it there was nothing before.

    Returns:
        An array of the shape of ``x``; with ``zi`` given, that and the state behind the last sample.

    Raises:
        ValueError: ``b`` or ``a`` is no vector, ``x`` has no axis, or ``zi`` has another shape.
        NotImplementedError: all of them are integers.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> x = np.array([1.0, 0.0, 0.0, 0.0])
        >>> decay = lambda r: fg.scipy.signal.lfilter([1.0], np.stack([1.0, -r]), x)
        >>> decay(np.float64(0.5))
        array([1.   , 0.5  , 0.25 , 0.125])
        >>> fg.jacobian(decay)(np.float64(0.5))
        array([0.  , 1.  , 1.  , 0.75])

    Rule: the transpose of the triangular system that a filter solves is the filter from the other end.
    """
    b, a = _coefficients("b", b), _coefficients("a", a)
    x = fnp.asarray(as_value(x))
    if not x.shape:
        raise ValueError(
            "scipy.signal.lfilter: x is a number, and x must be at least 1-D. Give it an axis, as x[None]."
        )
    axis = normalize_axis(axis, len(x.shape))
    # SciPy's state has the length of the longer of both.
    order = max(a.shape[0], b.shape[0]) - 1
    state = None if zi is None else _state(zi, x.shape, axis, order)
    b, a, x, *given = promote(b, a, x, *([] if state is None else [state]))
    if x.dtype.char not in "fdFD":
        raise NotImplementedError(
            f"scipy.signal.lfilter: the arguments are {x.dtype} together, which is not supported; needed float32, "
            "float64, or complex numbers of these. Convert one of them with astype(float)."
        )
    _check_first(a)
    x, *given = [fnp.moveaxis(each, axis, -1) for each in (x, *given)]
    y, zf = _filtered(b, a, x, given[0] if given else None)
    y, zf = fnp.moveaxis(y, -1, axis), fnp.moveaxis(zf, -1, axis)
    return y if zi is None else (y, zf)


def _coefficients(name: str, given: Any) -> Array:
    c = fnp.atleast_1d(fnp.asarray(as_value(given)))
    if len(c.shape) != 1 or not c.shape[0]:
        raise ValueError(
            f"scipy.signal.lfilter: parameter {name} is not a non-empty 1d array, but {aval_of(c)}. Use fg.vmap for "
            "several filters at once."
        )
    return c


def _state(zi: ArrayLike, shape: tuple[int, ...], axis: int, order: int) -> Array:
    zi = fnp.asarray(as_value(zi))
    needed = tuple([order if i == axis else n for i, n in enumerate(shape)])
    fits = len(zi.shape) == len(needed) and zi.shape[axis] == order
    if not fits or any(m not in {1, n} for m, n in zip(zi.shape, needed, strict=True)):
        raise ValueError(
            f"scipy.signal.lfilter: unexpected shape for parameter zi: expected {needed}, found {zi.shape}. Reshape "
            "it; axes along which the states are equal may have length 1."
        )
    return fnp.broadcast_to(zi, needed)


def _check_first(a: ArrayLike) -> None:
    known = known_value(a)
    # If it is not known, a zero gives infinity or NaN.
    if known is not None and not known[0]:
        raise ValueError(
            "scipy.signal.lfilter: a[0] == 0, and a filter coefficient a[0] == 0 is not supported; needed another "
            "number. Leave out the zeros that a begins with."
        )


def _filtered(b: ArrayLike, a: ArrayLike, x: ArrayLike, zi: ArrayLike) -> tuple[Any, Any]:
    """Return the results along the last axis, and the last state."""
    n, order = x.shape[-1], max(a.shape[0], b.shape[0]) - 1
    b = fnp.divide(b, a[0])
    if a.shape[0] == 1:
        return _convolved(b, x, zi)
    feedback = fnp.divide(a[1:], a[0])
    b, feedback = fnp.pad(b, (0, order + 1 - b.shape[0])), fnp.pad(feedback, (0, order - feedback.shape[0]))
    if zi is None:
        zi = broadcast_to(x.dtype.type(0), (*x.shape[:-1], order))
    whole = recursion(b, feedback, x, zi)
    return whole[..., :n], whole[..., n:]


def _convolved(b: ArrayLike, x: ArrayLike, zi: ArrayLike) -> tuple[Any, Any]:
    n = x.shape[-1]
    whole = convolve(x, broadcast_to(b, (*x.shape[:-1], b.shape[0])), full=True)
    if zi is not None:
        whole = fnp.add(whole, fnp.pad(zi, [(0, 0)] * (len(zi.shape) - 1) + [(0, n)]))
    return whole[..., :n], whole[..., n:]


def lfilter_zi(b: ArrayLike, a: ArrayLike) -> Array:
    """``scipy.signal.lfilter_zi``: the state of `lfilter` that gives a constant result for an input of ones.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import signal
        >>> signal.lfilter_zi([0.25, 0.25], [1.0, -0.5])
        array([0.75])
    """
    b, a = promote(_coefficients("b", b), _coefficients("a", a))
    if a.dtype.kind not in "fc":
        b, a = fnp.astype(b, np.dtype(float)), fnp.astype(a, np.dtype(float))
    b, a = fnp.divide(b, a[0]), fnp.divide(a, a[0])
    order = max(a.shape[0], b.shape[0]) - 1
    b, a = fnp.pad(b, (0, order + 1 - b.shape[0])), fnp.pad(a, (0, order + 1 - a.shape[0]))
    moved = np.eye(order, dtype=a.dtype) - np.eye(order, k=1, dtype=a.dtype)
    column = np.zeros((1, order), a.dtype)
    column[:, :1] = 1
    system = fnp.add(moved, fnp.multiply(a[1:, None], column))
    return fnp.linalg.solve(system, fnp.subtract(b[1:], fnp.multiply(a[1:], b[0])))


def lfiltic(b: ArrayLike, a: ArrayLike, y: ArrayLike, x: ArrayLike = None) -> Array:
    """``scipy.signal.lfiltic``: the state of `lfilter` behind these results and samples, the last ones first.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import signal
        >>> signal.lfiltic([1.0], [1.0, -0.5], y=[2.0])
        array([1.])
    """
    b, a, y, x = promote(_coefficients("b", b), _coefficients("a", a), _samples(y), _samples(x))
    _check_first(a)
    order = max(a.shape[0], b.shape[0]) - 1
    b, a = fnp.divide(b, a[0]), fnp.divide(a, a[0])

    def beyond(c: ArrayLike, before: ArrayLike) -> Any:
        before = fnp.pad(before[:order], (0, max(order - before.shape[0], 0)))
        c = fnp.pad(c, (0, order + 1 - c.shape[0]))
        if not order:
            return fnp.zeros_like(before, shape=(0,), dtype=b.dtype)
        # The contribution of the earlier results and samples to the next results.
        return fnp.convolve(before[::-1], c)[order : 2 * order]

    return fnp.subtract(beyond(b, x), beyond(a, y))


def _samples(x: ArrayLike) -> Array:
    # Samples that are left out do not widen the dtype.
    return np.zeros(1, np.bool_) if x is None else fnp.atleast_1d(fnp.asarray(as_value(x)))


def deconvolve(signal: ArrayLike, divisor: ArrayLike) -> tuple[Any, Any]:
    """``scipy.signal.deconvolve``: the quotient and the remainder of polynomials, the inverse of `convolve`.

    Example:
        >>> from funcgrad.scipy import signal
        >>> signal.deconvolve([0.0, 1.0, 3.0, 2.0], [1.0, 2.0])
        (array([0., 1., 1.]), array([0., 0., 0., 0.]))
    """
    num, den = _coefficients("signal", signal), _coefficients("divisor", divisor)
    n, d = num.shape[0], den.shape[0]
    if d > n:
        return np.array([]), num
    pulse = np.zeros(n - d + 1)
    pulse[0] = 1.0
    quotient = lfilter(num, den, pulse)
    return quotient, fnp.subtract(num, fnp.convolve(den, quotient))


def filtfilt(  # noqa: PLR0917  (SciPy's arguments)
    b: ArrayLike,
    a: ArrayLike,
    x: ArrayLike,
    axis: int = -1,
    padtype: str | None = "odd",
    padlen: int | None = None,
    method: str = "pad",
    irlen: int | None = None,
) -> Array:
    """``scipy.signal.filtfilt``: `lfilter` forward and backward, which moves no phase.

    Args:
        b: f[M + 1], the coefficients of the numerator.
        a: f[N + 1], the coefficients of the denominator.
        x: the signals.
        axis: the axis to work along.
        padtype: how they are extended beyond their ends: ``'odd'``, ``'even'``, ``'constant'`` or ``None``.
        padlen: the number of samples to add; three times the length of the filter for ``None``.
        method: ``'pad'``; SciPy's ``'gust'`` is refused.
        irlen: SciPy's, for ``'gust'``.

    Returns:
        An array of the shape of ``x``.

    Raises:
        ValueError: the signals are too short to be extended so far.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import signal
        >>> signal.filtfilt([0.5, 0.5], [1.0], np.array([0.0, 1.0, 0.0, 0.0]), padlen=1)
        array([0.  , 0.5 , 0.25, 0.  ])
    """
    del irlen
    if method != "pad":
        raise ValueError(
            f"scipy.signal.filtfilt: method is {method!r}, which has no rules here; needed 'pad'. Pass method='pad'."
        )
    b, a, x = _coefficients("b", b), _coefficients("a", a), fnp.asarray(as_value(x))
    axis = normalize_axis(axis, len(x.shape))
    x, edge = _extended("filtfilt", fnp.moveaxis(x, axis, -1), padtype, padlen, max(a.shape[0], b.shape[0]))
    zi = lfilter_zi(b, a)
    y, _ = lfilter(b, a, x, -1, fnp.multiply(zi, x[..., :1]))
    y, _ = lfilter(b, a, y[..., ::-1], -1, fnp.multiply(zi, y[..., -1:]))
    return fnp.moveaxis(y[..., ::-1][..., edge : y.shape[-1] - edge], -1, axis)


def _extended(name: str, x: ArrayLike, padtype: str | None, padlen: int | None, taps: int) -> tuple[Any, int]:
    """Return the signals extended along the last axis, and the number of samples added at each end."""
    if padtype not in {"even", "odd", "constant", None}:
        raise ValueError(
            f"scipy.signal.{name}: unknown value {padtype!r} given to padtype; padtype must be 'even', 'odd', "
            "'constant', or None. Pass one of these."
        )
    edge = 0 if padtype is None else 3 * taps if padlen is None else padlen
    if x.shape[-1] <= edge:
        raise ValueError(
            f"scipy.signal.{name}: the length of the input vector x must be greater than padlen, which is {edge}, "
            f"and x has {x.shape[-1]} samples. Pass a smaller padlen."
        )
    if not edge:
        return x, 0
    first, last = x[..., :1], x[..., -1:]
    if padtype == "constant":
        before, after = (fnp.broadcast_to(end, (*x.shape[:-1], edge)) for end in (first, last))
    else:
        before, after = x[..., edge:0:-1], x[..., -2 : -edge - 2 : -1]
        if padtype == "odd":
            before, after = (fnp.subtract(2 * end, part) for end, part in ((first, before), (last, after)))
    return fnp.concatenate([before, x, after], -1), edge


def _sections(name: str, sos: ArrayLike) -> Array:
    sos = fnp.asarray(as_value(sos))
    if len(sos.shape) != 2 or sos.shape[1] != 6:
        raise ValueError(
            f"scipy.signal.{name}: sos array must be shape (n_sections, 6), and is {aval_of(sos)}. Give six "
            "coefficients for each section, b before a."
        )
    known = known_value(sos)
    # If its numbers are not known, each section is divided by its a[0].
    if known is not None and not (known[:, 3] == 1).all():
        raise ValueError(
            f"scipy.signal.{name}: sos[:, 3] should be all ones, and one of them is another number. Divide each "
            "section by it."
        )
    return sos


def sosfilt(sos: ArrayLike, x: ArrayLike, axis: int = -1, zi: ArrayLike = None) -> Any:
    """``scipy.signal.sosfilt``: filter along an axis by sections of second order, one after the other.

    Args:
        sos: f[sections, 6], of each section ``b`` and ``a`` of `lfilter`.
        x: the signals.
        axis: the axis to work along.
        zi: the states before the first sample, of the shape of ``x`` but with length 2 along the axis, and a first axis
            for the sections.

    Returns:
        An array of the shape of ``x``; with ``zi`` given, that and the states behind the last sample.

    Raises:
        ValueError: ``sos`` or ``zi`` has another shape.

    Example:
        >>> import numpy as np
        >>> from funcgrad.scipy import signal
        >>> signal.sosfilt([[1.0, 0, 0, 1, -0.5, 0], [1.0, 1, 0, 1, 0, 0]], np.array([1.0, 0.0, 0.0]))
        array([1.  , 1.5 , 0.75])
    """
    sos, x = _sections("sosfilt", sos), fnp.asarray(as_value(x))
    axis = normalize_axis(axis, len(x.shape))
    count = sos.shape[0]
    states: Any = [None] * count
    if zi is not None:
        zi = fnp.asarray(as_value(zi))
        needed = (count, *[2 if i == axis else n for i, n in enumerate(x.shape)])
        if zi.shape != needed:
            raise ValueError(
                f"scipy.signal.sosfilt: invalid zi shape: with axis={axis}, an input {aval_of(x)} and {count} sections "
                f"zi must have shape {needed}, got {zi.shape}. Reshape it."
            )
        states = list(zi)
    last = []
    for i, state in enumerate(states):
        x = lfilter(sos[i, :3], sos[i, 3:], x, axis, state)
        if state is not None:
            x, zf = x
            last.append(zf)
    return x if zi is None else (x, fnp.stack(last))


def sosfilt_zi(sos: ArrayLike) -> Array:
    """``scipy.signal.sosfilt_zi``: the states of `sosfilt` that give a constant result for an input of ones."""
    sos = _sections("sosfilt_zi", sos)
    states, scale = [], 1.0
    for i in range(sos.shape[0]):
        b, a = sos[i, :3], sos[i, 3:]
        states.append(fnp.multiply(scale, lfilter_zi(b, a)))
        scale = fnp.multiply(scale, fnp.divide(fnp.sum(b), fnp.sum(a)))
    return fnp.stack(states)


def sosfiltfilt(
    sos: ArrayLike, x: ArrayLike, axis: int = -1, padtype: str | None = "odd", padlen: int | None = None
) -> Array:
    """``scipy.signal.sosfiltfilt``: `sosfilt` forward and backward; the arguments are those of `filtfilt`.

    How far it extends the signals by itself depends on which coefficients are zero, so ``padlen`` is needed where
    these are not known.
    """
    sos, x = _sections("sosfiltfilt", sos), fnp.asarray(as_value(x))
    axis = normalize_axis(axis, len(x.shape))
    taps = 2 * sos.shape[0] + 1
    if padtype is not None and padlen is None:
        known = np.asarray(concrete_value(sos, "scipy.signal.sosfiltfilt without padlen"))
        taps -= min((known[:, 2] == 0).sum(), (known[:, 5] == 0).sum())
    x, edge = _extended("sosfiltfilt", fnp.moveaxis(x, axis, -1), padtype, padlen, taps)
    zi = fnp.reshape(sosfilt_zi(sos), (sos.shape[0], *[1] * (len(x.shape) - 1), 2))
    y, _ = sosfilt(sos, x, -1, fnp.multiply(zi, x[..., :1]))
    y, _ = sosfilt(sos, y[..., ::-1], -1, fnp.multiply(zi, y[..., -1:]))
    return fnp.moveaxis(y[..., ::-1][..., edge : y.shape[-1] - edge], -1, axis)
