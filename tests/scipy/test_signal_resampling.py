"""Resampling, trends, smoothing and windows, against SciPy and differences."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.signal

import funcgrad as fg
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.scipy import signal
from funcgrad.scipy.signal import windows
from tests.numpy._surface import same
from tests.scipy._cases import Call, agree

theirs: Any = scipy.signal


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "c16"])
def test_values_are_scipys(dtype: str, rng: np.random.Generator) -> None:  # noqa: C901  (a loop for each option)
    tolerance = 1e-5 if dtype == "f4" else 1e-11

    def check(name: str, *args: Any, **options: Any) -> None:
        expected = np.asarray(getattr(scipy.signal, name)(*args, **options))
        same(getattr(signal, name)(*args, **options), expected, tolerance)

    for n in (2, 7, 8):
        x = np.asarray(9 * (rng.normal(size=n) + (1j * rng.normal(size=n) if dtype == "c16" else 0))).astype(dtype)
        for num in (1, 4, 5, 7, 8, 12):
            check("resample", x, num)
            check("resample", x, num, window="hann")
            check("resample", x, num, window=rng.normal(size=n))
            if dtype == "c16":
                check("resample", x, num, domain="freq")
        for rates in ((1, 2), (2, 1), (4, 6), (3, 3)):
            for padtype in ("constant", "edge", "wrap", "symmetric", "reflect", "mean", "median", "minimum"):
                check("resample_poly", x, *rates, padtype=padtype)
            check("resample_poly", x, *rates, cval=1.5)
            check("resample_poly", x, *rates, window=[1.0, 2.0, 3.0, 1.0])
            for taps, mode in itertools.product((1, 6), ("constant", "reflect", "wrap")):
                check("upfirdn", rng.normal(size=taps), x, *rates, mode=mode)
        check("detrend", x)
        check("detrend", x, type="constant")
        check("detrend", x, bp=[1])
        if dtype != "c16":
            check("hilbert", x)
            check("hilbert", x, n + 3)
            for mode in ("interp", "mirror", "constant", "nearest", "wrap") if n > 2 else ():
                check("savgol_filter", x, 5, 2, 1, 0.5, mode=mode, cval=0.3)
                check("savgol_filter", x, 4, 1, mode=mode)
    x = rng.normal(size=(4, 60, 2)).astype(dtype)
    for ftype, zero_phase in itertools.product(("iir", "fir"), (True, False)):
        check("decimate", x, 3, ftype=ftype, zero_phase=zero_phase, axis=1)
    check("resample", x, 7, axis=1)
    check("resample_poly", x, 3, 2, axis=1)


def test_windows_are_scipys() -> None:
    parameters: dict[str, list[tuple[Any, ...]]] = {
        "kaiser": [(3.0,), (0,)],
        "gaussian": [(2.0,)],
        "general_gaussian": [(1.5, 2.0)],
        "general_hamming": [(0.6,)],
        "general_cosine": [([0.5, 0.3, 0.2],)],
        "exponential": [(None, 2.0), (1.3, 2.0)],
        "tukey": [(0.5,), (0,), (1.0,), (2.0,), (-1.0,)],
    }
    for name, given in parameters.items():
        for args, length, sym in itertools.product(given, (0, 1, 2, 6, 9), (True, False)):
            if args[0] == 1.3 and sym:
                continue
            expected = getattr(theirs.windows, name)(length, *args, sym=sym)
            same(getattr(windows, name)(length, *args, sym=sym), expected, 1e-13)
    same(windows.kaiser_bessel_derived(8, 2.0), theirs.windows.kaiser_bessel_derived(8, 2.0), 1e-13)
    same(windows.hann(5), theirs.windows.hann(5), 0)
    for traced in (("gauss", 1.3), ("tukey_symmetric", 0.4), 2.5):
        value = fg.make_graph(lambda p, w=traced: signal.get_window((w[0], p) if isinstance(w, tuple) else p, 7))
        number = traced[1] if isinstance(traced, tuple) else traced
        same(value(number)(number), theirs.get_window(traced, 7), 1e-13)


def test_windows_are_differentiated() -> None:
    formulas: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
        (lambda beta: windows.kaiser(6, beta), (2.0,)),
        (lambda beta: windows.kaiser_bessel_derived(6, beta), (2.0,)),
        (lambda std: windows.gaussian(6, std, False), (2.0,)),
        (lambda p, sig: windows.general_gaussian(5, p, sig), (1.2, 2.0)),
        (lambda alpha: windows.tukey(9, alpha), (0.6,)),
        (lambda center, tau: windows.exponential(9, center, tau, sym=False), (1.2, 0.6)),
        (lambda a: windows.general_cosine(5, a), (np.array([0.3, 0.6]),)),
        (lambda alpha: windows.general_hamming(5, alpha), (0.3,)),
    ]
    for formula, args in formulas:
        fg.check_grads(formula, args)


def test_programs(rng: np.random.Generator) -> None:
    x, h = rng.normal(size=(2, 9)), rng.normal(size=4)
    calls: dict[str, Call] = {
        "resample": (lambda m, x: m.resample(x, 6, axis=1), (x,)),
        "resample by a window": (lambda m, x, w: m.resample(x, 12, window=w), (x[0] + 1j * x[1], x[0] ** 2)),
        "upfirdn": (lambda m, h, x: m.upfirdn(h, x, 3, 2, mode="symmetric"), (h, x)),
        "resample_poly": (lambda m, x, h: m.resample_poly(x, 2, 3, 1, h, padtype="mean"), (x, h)),
        "detrend": (lambda m, x: m.detrend(x, bp=4), (x,)),
        "hilbert": (lambda m, x: m.hilbert(x, axis=0), (x,)),
        "savgol_filter": (lambda m, x: m.savgol_filter(x, 5, 2, 1), (x,)),
    }
    agree(signal, scipy.signal, calls, on_xla=("resample", "upfirdn", "hilbert"))


def test_refused(rng: np.random.Generator) -> None:
    x = rng.normal(size=(5, 6))
    mistakes: list[tuple[Callable[[], Any], type[Exception], str]] = [
        (lambda: signal.resample(x, 3, domain="odd"), ValueError, "domain is 'odd'"),
        (lambda: signal.resample(x, 3, window=x[0]), ValueError, r"f64\[6\].*frequency bins, 5"),
        (lambda: signal.upfirdn(x, x), ValueError, "1-D with non-zero length"),
        (lambda: signal.upfirdn(x[0], x, mode="smooth"), UnsupportedFunctionError, "mode 'smooth'"),
        (lambda: signal.upfirdn(x[0], x, 0), ValueError, "must be >= 1"),
        (lambda: signal.resample_poly(x, vars(np)["pi"], 1), ValueError, "integers"),
        (lambda: signal.resample_poly(x, 2, 1, padtype="edge", cval=1), ValueError, "cval has no effect"),
        (lambda: signal.resample_poly(x, 2, 1, window=x), ValueError, "window must be 1-D"),
        (lambda: signal.decimate(x, 2, ftype="odd"), ValueError, "invalid ftype"),
        (lambda: signal.detrend(x, type="odd"), ValueError, "trend type"),
        (lambda: signal.detrend(x, bp=9), ValueError, "breakpoints must be less"),
        (lambda: signal.hilbert(x + 1j), ValueError, "must be real"),
        (lambda: signal.hilbert(x, 0), ValueError, "N must be positive"),
        (lambda: signal.savgol_filter(x, 7, 2), ValueError, "window_length must be less"),
        (lambda: signal.savgol_filter(x, 3, 2, mode="odd"), ValueError, "'odd'"),
        (lambda: signal.savgol_filter(x * 1j, 3, 2), ValueError, "real signals"),
        (lambda: windows.kaiser(-1, 2.0), ValueError, "non-negative integer"),
        (lambda: windows.kaiser_bessel_derived(3, 2.0), ValueError, "even number"),
        (lambda: windows.kaiser_bessel_derived(4, 2.0, sym=False), ValueError, "symmetric"),
        (lambda: windows.exponential(4, 1.0), ValueError, "center must be None"),
        (lambda: fg.jit(lambda a: signal.get_window(("chebwin", a), 5))(50.0), UnsupportedFunctionError, "'chebwin'"),
    ]
    for f, error, words in mistakes:
        with pytest.raises(error, match=words):
            f()
