"""Calls of NumPy's functions on traced values: value, shape and dtype of NumPy's plain call, or its class of error."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

# NumPy, whose stubs know neither all that it takes nor what is refused here.
UNTYPED: Any = np
X = np.array([0.5, 2.1, -1.1, 0.3])
NARROW = X.astype(np.float32)


def _into(shape: tuple[int, ...], call: Callable[[Any, Any], Any]) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        out = np.zeros_like(x, shape=shape)
        assert call(x, out) is out
        return out

    return f


def _put(indices: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        y = x.copy()
        np.put(y, indices, [7.0, 8.0])
        y.put(indices, [8.0, 7.0])
        return y

    return f


CASES: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "a Python number is weak in a flat join": (lambda x: np.concatenate([x, 1.5], axis=None), NARROW),
    "a complex Python number in a flat join": (lambda x: np.concatenate([1j, x], axis=None), NARROW),
    "an array without axes is not weak": (lambda x: np.concatenate([x, np.float64(1.5)], axis=None), NARROW),
    "a stack in another byte order": (lambda x: np.stack([x, x], dtype=">f8"), X),
    "a join in another byte order": (lambda x: np.concatenate([x, x], dtype=">f8"), X),
    "a join that narrows": (lambda x: np.concatenate([x, x], dtype="f4"), X),
    "a join that must not narrow": (lambda x: np.concatenate([x, x], dtype="f4", casting="safe"), X),
    "a stack that must not narrow": (lambda x: np.stack([x, x], dtype="f4", casting="equiv"), X),
    "rows that must not widen": (lambda x: UNTYPED.vstack([x, X], casting="no"), NARROW),
    "an unknown rule of casting": (lambda x: UNTYPED.hstack([x, x], casting="other"), X),
    "the median of nothing": (np.median, np.zeros(0)),
    "medians of nothing along an axis": (lambda x: np.median(x, axis=1, keepdims=True), np.zeros((2, 0))),
    "no medians": (lambda x: np.median(x, axis=0), np.zeros((2, 0))),
    "a quantile of nothing": (lambda x: np.quantile(x, 0.5), np.zeros(0)),
    "a percentile into an array of one": (_into((1,), lambda x, out: np.percentile(x, 30, out=out)), X),
    "percentiles into rows": (_into((3, 2), lambda x, out: np.percentile(x, [30, 60], out=out)), X),
    "a percentile into nothing that fits": (_into((3,), lambda x, out: np.nanpercentile(x, [30, 60], out=out)), X),
    "booleans are positions": (_put([True, False]), X),
    "an array of booleans is positions": (_put(np.array([True, False, True])), X),
    "booleans are positions to take": (lambda x: np.take(x, [True, False]), X),
    "a float is no position": (lambda x: np.put(x.copy(), np.array([1.5]), 1.0), X),
    "clip with casting": (lambda x: x.clip(0, 1, casting="unsafe", dtype="f4"), X),
    "clip that must not narrow": (lambda x: x.clip(0, 1, casting="no", dtype="f4"), X),
    "a plain array clipped by a traced bound": (lambda x: np.ones(4, np.float32).clip(x, 2.0), X),
    "a plain array clipped from above": (lambda x: np.ones(4).clip(max=x), X),
    "a number with a sign is weak": (lambda x: np.where(NARROW != 0, np.array(-np.inf, np.float32), +x), 2.0),
    "the parts of a number are weak": (lambda x: NARROW * x.real + NARROW * x.imag, 1 + 2j),
    "the conjugate of a number is weak": (lambda x: NARROW * x.conjugate(), 1 + 2j),
    "NumPy's conjugate of a number is not weak": (lambda x: NARROW * np.conj(x), 1 + 2j),
    "conjugate into an array": (_into((4,), lambda x, out: x.conjugate(out)), X + 1j),
    "conjugate of a real array into an array": (_into((4,), lambda x, out: x.conj(out)), X),
}


def _ran(f: Callable[[Any], Any], x: Any) -> Any:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return np.asarray(f(x))
        except Exception as error:  # noqa: BLE001  (its class is compared)
            return error


@pytest.mark.parametrize("name", CASES)
def test_is_numpys(name: str) -> None:
    f, x = CASES[name]
    expected = _ran(f, x)
    for run in (lambda x: fg.vjp(f, x)[0], fg.jit(f, engine="numpy")):
        got = _ran(run, x)
        if isinstance(expected, Exception):
            # NumPy's private classes of TypeError stand for their base.
            kinds = (type(expected), *(kind for kind in type(expected).__mro__ if kind in (TypeError, ValueError)))
            assert isinstance(got, kinds), got
            continue
        assert isinstance(got, np.ndarray), got
        assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(got, expected, rtol=1e-6 if expected.dtype == np.float32 else 1e-14)
