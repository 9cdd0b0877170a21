"""Windows of ``scipy.signal.windows`` with continuous parameters, for traced parameters too.

All other windows have no such parameters, and are SciPy's own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.lazy import LazyModule
from funcgrad._public import publish
from funcgrad._types import Array, ArrayLike
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.numpy.extend import as_value, holds_tracer
from funcgrad.scipy.signal._scipys import scipys
from funcgrad.scipy.special import i0

__all__ = [
    "exponential",
    "gaussian",
    "general_cosine",
    "general_gaussian",
    "general_hamming",
    "get_window",
    "kaiser",
    "kaiser_bessel_derived",
    "tukey",
]

_windows = LazyModule("scipy.signal.windows")


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(_windows, name)


def _places(name: str, M: int) -> int:  # noqa: N803  (SciPy's name)
    if int(M) != M or M < 0:
        raise ValueError(
            f"scipy.signal.windows.{name}: window length M must be a non-negative integer, and is {M}. Pass the number "
            "of points."
        )
    return int(M)


def _made(name: str, M: int, sym: bool, formula: Callable[[np.ndarray, int], Any]) -> Array:  # noqa: N803  (SciPy's name)
    """Return ``formula(places, length)``; a periodic window is a symmetric one without its last point."""
    M = _places(name, M)  # noqa: N806  (SciPy's name)
    if M <= 1:
        return np.ones(M)
    length = M if sym else M + 1
    return formula(np.arange(length, dtype=float), length)[:M]


def general_cosine(M: int, a: ArrayLike, sym: bool = True) -> Any:  # noqa: N803  (SciPy's name)
    """``scipy.signal.windows.general_cosine``: a sum of cosines with the weights ``a``."""
    a = fnp.asarray(as_value(a))

    def formula(n: np.ndarray, length: int) -> Any:
        phase = np.linspace(-np.pi, np.pi, length)
        return fnp.matmul(np.cos(phase[:, None] * np.arange(a.shape[0])), a)

    return _made("general_cosine", M, sym, formula)


def general_hamming(M: int, alpha: ArrayLike, sym: bool = True) -> Any:  # noqa: N803  (SciPy's name)
    """``scipy.signal.windows.general_hamming``: ``alpha`` and a cosine of the rest."""
    alpha = as_value(alpha)
    return general_cosine(M, fnp.stack([alpha, fnp.subtract(1.0, alpha)]), sym)


def kaiser(M: int, beta: ArrayLike, sym: bool = True) -> Array:  # noqa: N803  (SciPy's name)
    """``scipy.signal.windows.kaiser``.

    Args:
        M: the number of points.
        beta: the parameter of its shape.
        sym: whether it is symmetric, or periodic.

    Returns:
        f64[M].

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> windows = fg.scipy.signal.windows
        >>> windows.kaiser(5, 2.0).round(4)
        array([0.4387, 0.8348, 1.    , 0.8348, 0.4387])
        >>> fg.jacobian(lambda beta: windows.kaiser(5, beta))(2.0).round(4)
        array([-0.3061, -0.1137,  0.    , -0.1137, -0.3061])
    """
    beta = as_value(beta)

    def formula(n: np.ndarray, length: int) -> Array:
        middle = (length - 1) / 2
        return fnp.divide(i0(fnp.multiply(beta, np.sqrt(1 - ((n - middle) / middle) ** 2))), i0(beta))

    return _made("kaiser", M, sym, formula)


def kaiser_bessel_derived(M: int, beta: ArrayLike, *, sym: bool = True) -> Any:  # noqa: N803  (SciPy's name)
    """``scipy.signal.windows.kaiser_bessel_derived``: of an even number of points, and symmetric."""
    if not sym:
        raise ValueError(
            "scipy.signal.windows.kaiser_bessel_derived: sym is False, and Kaiser-Bessel Derived windows are only "
            "defined for symmetric shapes. Leave sym out."
        )
    M = _places("kaiser_bessel_derived", M)  # noqa: N806  (SciPy's name)
    if M < 1:
        return np.array([])
    if M % 2:
        raise ValueError(
            f"scipy.signal.windows.kaiser_bessel_derived: M is {M}, and these windows are only defined for even number "
            "of points. Take one more."
        )
    sums = fnp.cumsum(kaiser(M // 2 + 1, beta))
    half = fnp.sqrt(fnp.divide(sums[:-1], sums[-1]))
    return fnp.concatenate([half, half[::-1]])


def gaussian(M: int, std: ArrayLike, sym: bool = True) -> Array:  # noqa: N803  (SciPy's name)
    """``scipy.signal.windows.gaussian``.

    Args:
        M: the number of points.
        std: the standard deviation, in points.
        sym: whether it is symmetric, or periodic.

    Returns:
        f64[M].

    Example:
        >>> import funcgrad as fg
        >>> fg.scipy.signal.windows.gaussian(3, 1.0).round(4)
        array([0.6065, 1.    , 0.6065])
    """
    std = as_value(std)

    def formula(n: np.ndarray, length: int) -> Array:
        return fnp.exp(fnp.divide(-((n - (length - 1) / 2) ** 2), fnp.multiply(2, fnp.multiply(std, std))))

    return _made("gaussian", M, sym, formula)


def general_gaussian(M: int, p: ArrayLike, sig: ArrayLike, sym: bool = True) -> Any:  # noqa: N803  (SciPy's name)
    """``scipy.signal.windows.general_gaussian``: `gaussian` with another power than ``2 p = 2``."""
    p, sig = as_value(p), as_value(sig)

    def formula(n: np.ndarray, length: int) -> Any:
        far = np.abs(n - (length - 1) / 2)
        # The middle is 1 for every power.
        power = fnp.power(fnp.absolute(fnp.divide(np.where(far, far, 1.0), sig)), fnp.multiply(2, p))
        return fnp.where(far == 0, 1.0, fnp.exp(fnp.multiply(-0.5, power)))

    return _made("general_gaussian", M, sym, formula)


def exponential(M: int, center: ArrayLike = None, tau: ArrayLike = 1.0, sym: bool = True) -> Any:  # noqa: N803  (SciPy's name)
    """``scipy.signal.windows.exponential``: it falls to both sides of its centre by ``tau``."""
    if sym and center is not None:
        raise ValueError(
            "scipy.signal.windows.exponential: a center was given and sym is True; if sym==True, center must be None. "
            "Pass sym=False for another center."
        )
    middle, tau = None if center is None else as_value(center), as_value(tau)

    def formula(n: np.ndarray, length: int) -> Any:
        at = (length - 1) / 2 if middle is None else middle
        return fnp.exp(fnp.divide(fnp.negative(fnp.absolute(fnp.subtract(n, at))), tau))

    return _made("exponential", M, sym, formula)


def tukey(M: int, alpha: ArrayLike = 0.5, sym: bool = True) -> Any:  # noqa: N803  (SciPy's name)
    """``scipy.signal.windows.tukey``: ones between two halves of a cosine, which take the share ``alpha``."""
    alpha = as_value(alpha)

    def formula(n: np.ndarray, length: int) -> Any:
        nearer = np.minimum(n, length - 1 - n)
        flat = fnp.less_equal(alpha, 0)
        width = fnp.divide(fnp.multiply(fnp.minimum(fnp.where(flat, 1.0, alpha), 1.0), length - 1), 2)
        slope = fnp.multiply(0.5, fnp.add(1, fnp.cos(fnp.multiply(np.pi, fnp.subtract(fnp.divide(nearer, width), 1)))))
        return fnp.where(fnp.logical_or(flat, fnp.greater(nearer, width)), 1.0, slope)

    return _made("tukey", M, sym, formula)


def get_window(window: ArrayLike, Nx: int, fftbins: bool = True) -> Array:  # noqa: N803  (SciPy's name)
    """``scipy.signal.get_window``: a window by its name, and parameters if need be.

    Args:
        window: a name, a name with parameters, or the ``beta`` of `kaiser`.
        Nx: the number of points.
        fftbins: whether it is periodic, or symmetric.

    Returns:
        f64[Nx].

    Raises:
        UnsupportedFunctionError: a parameter is traced, and the window has no rule.

    Example:
        >>> import funcgrad as fg
        >>> fg.scipy.signal.windows.get_window(("gaussian", 1.0), 4).round(4)
        array([0.1353, 0.6065, 1.    , 0.6065])
    """
    if not holds_tracer(list(window) if isinstance(window, tuple) else window):
        return scipys("get_window", window, Nx, fftbins)
    name, parameters = (window[0], window[1:]) if isinstance(window, tuple) else ("kaiser", (window,))
    sym = not fftbins
    for ending, kind in (("_symmetric", True), ("_periodic", False)):
        if name.endswith(ending):
            name, sym = name.removesuffix(ending), kind
    function = _TRACED.get(name)
    if function is None:
        raise UnsupportedFunctionError(
            f"scipy.signal.get_window: the window {name!r} has no rule for a traced parameter. Use one of "
            f"{', '.join(_TRACED)}, or take the parameter with fg.stop_gradient."
        )
    return function(Nx, *parameters, sym=sym)


# The functions by SciPy's names for the windows.
_TRACED: dict[str, Callable[..., Any]] = {
    name: function
    for function, names in (
        (exponential, ("exponential", "poisson")),
        (gaussian, ("gaussian", "gauss", "gss")),
        (general_cosine, ("general cosine", "general_cosine")),
        (general_gaussian, ("general gaussian", "general_gaussian", "general gauss", "general_gauss", "ggs")),
        (general_hamming, ("general hamming", "general_hamming")),
        (kaiser, ("kaiser", "ksr")),
        (kaiser_bessel_derived, ("kaiser bessel derived", "kaiser_bessel_derived", "kbd")),
        (tukey, ("tukey", "tuk")),
    )
    for name in names
}

__dir__ = publish(__name__)
