"""Calls of NumPy's functions for the page of coverage: guesses for most of them, and a call for each other one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Call = Callable[..., Any]
Guess = Callable[[Call], tuple[Call, tuple[np.ndarray, ...]]]

X = np.array([0.3, 0.9, 0.6])
Y = np.array([0.5, 0.2, 0.7])
M = np.array([[0.3, 0.9, 0.6], [0.1, 0.4, 0.8]])
S = np.array([[2.0, 0.5, 0.3], [0.4, 3.0, 0.2], [0.1, 0.2, 1.5]])
PLACES = np.array([1, 0, 2])
CUBE = np.arange(8.0).reshape(2, 2, 2)


def _with(*args: np.ndarray) -> Callable[[Callable[..., Any]], Guess]:
    """A call ``call(f, *args)``."""
    return lambda call: lambda f: (lambda *xs: call(f, *xs), args)


x, xy, m, s, i, cube = (_with(X), _with(X, Y), _with(M), _with(S), _with(PLACES), _with(CUBE))

# In this order: one vector, one matrix, two of them, a list, a vector and a number.
GUESSES: tuple[Guess, ...] = (
    x(lambda f, x: f(x)),
    s(lambda f, x: f(x)),
    xy(lambda f, x, y: f(x, y)),
    xy(lambda f, x, y: f([x, y])),
    m(lambda f, x: f(x)),
    _with(S, S)(lambda f, x, y: f(x, y)),
    x(lambda f, x: f(x, 1)),
    m(lambda f, x: f(x, 1)),
    i(lambda f, x: f(x)),
    _with(PLACES, PLACES)(lambda f, x, y: f(x, y)),
)


def _written(call: Callable[..., Any]) -> Guess:
    """Return a call for a function that writes: it writes into a copy of the argument and returns the copy."""

    def run(f: Callable[..., Any], x: Any) -> Any:
        y = np.copy(x)
        call(f, y, x)
        return y

    return s(run)


CALLS: dict[str, Guess] = {
    "apply_along_axis": m(lambda f, x: f(np.cumsum, 1, x)),
    "apply_over_axes": m(lambda f, x: f(np.sum, x, 0)),
    "arange": x(lambda f, x: f(x[0], 3.0)),
    "astype": x(lambda f, x: f(x, np.float32)),
    "bincount": _with(X)(lambda f, w: f(np.array([0, 2, 2]), w)),
    "blackman": x(lambda f, x: f(3) * x),
    "bartlett": x(lambda f, x: f(3) * x),
    "hamming": x(lambda f, x: f(3) * x),
    "hanning": x(lambda f, x: f(3) * x),
    "kaiser": x(lambda f, x: f(3, x[0])),
    "broadcast_to": x(lambda f, x: f(x, (2, 3))),
    "choose": xy(lambda f, x, y: f(np.array([0, 1, 0]), [x, y])),
    "copyto": _written(lambda f, y, x: f(y, x * 2)),
    "digitize": x(lambda f, x: f(x, np.array([0.0, 0.5]))),
    "dsplit": cube(lambda f, x: f(x, 2)),
    "einsum": _with(S, M)(lambda f, x, y: f("ij,kj->ik", x, y)),
    "einsum_path": s(lambda f, x: len(f("ij,jk", x, x))),
    "empty": x(lambda f, x: f(3).shape),
    "eye": x(lambda f, x: f(3) * x),
    "identity": x(lambda f, x: f(3) * x),
    "ones": x(lambda f, x: f(3) * x),
    "zeros": x(lambda f, x: f(3) * x),
    "tri": x(lambda f, x: f(3) * x),
    "indices": x(lambda f, x: f((3,))[0] * x),
    "fill_diagonal": _written(lambda f, y, x: f(y, x[0, 0])),
    "fromfunction": x(lambda f, x: f(lambda i: i * x, (3,))),
    "frompyfunc": x(lambda f, x: f(lambda t: t * t, 1, 1)(x)),
    "fromiter": x(lambda f, x: f((t for t in x), float)),
    "full": x(lambda f, x: f(3, x[0])),
    "full_like": x(lambda f, x: f(np.ones(3), x[0])),
    "histogramdd": x(lambda f, w: f(np.stack([X, Y], 1), 2, weights=w)[0]),
    "histogram2d": x(lambda f, w: f(X, Y, 2, weights=w)[0]),
    "histogram": x(lambda f, w: f(X, 2, weights=w)[0]),
    "insert": x(lambda f, x: f(x, 1, x[0])),
    "interp": xy(lambda f, x, y: f(x, np.array([0.0, 0.5, 1]), y)),
    "intersect1d": x(lambda f, x: f(x, [0.3, 0.6])),
    "isin": x(lambda f, x: f(x, [0.3])),
    "left_shift": i(lambda f, x: f(x, 1)),
    "ldexp": x(lambda f, x: f(x, 2)),
    "moveaxis": m(lambda f, x: f(x, 0, 1)),
    "rollaxis": m(lambda f, x: f(x, 1)),
    "swapaxes": m(lambda f, x: f(x, 0, 1)),
    "packbits": i(lambda f, x: f(x.astype(np.uint8))),
    "unpackbits": i(lambda f, x: f(x.astype(np.uint8))),
    "pad": x(lambda f, x: f(x, 1)),
    "partition": x(lambda f, x: f(x, 1)),
    "argpartition": x(lambda f, x: f(x, 1)),
    "percentile": x(lambda f, x: f(x, 30)),
    "nanpercentile": x(lambda f, x: f(x, 30)),
    "quantile": x(lambda f, x: f(x, 0.3)),
    "nanquantile": x(lambda f, x: f(x, 0.3)),
    "piecewise": x(lambda f, x: f(x, [x > 0.5], [lambda t: t * t, lambda t: -t])),
    "place": _written(lambda f, y, x: f(y, np.eye(3) > 0, x[0])),
    "put": _written(lambda f, y, x: f(y, [0, 4], x[0, :2])),
    "putmask": _written(lambda f, y, x: f(y, np.eye(3) > 0, x * 2)),
    "put_along_axis": _written(lambda f, y, x: f(y, np.array([[0], [1], [2]]), x[:, :1], 1)),
    "polyfit": xy(lambda f, x, y: f(x, y, 1)),
    "ravel_multi_index": i(lambda f, x: f((x, x), (3, 3), mode="clip")),
    "unravel_index": i(lambda f, x: f(x, (3, 3))),
    "repeat": x(lambda f, x: f(x, 2)),
    "require": x(lambda f, x: f(x, requirements="C")),
    "reshape": m(lambda f, x: f(x, (3, 2))),
    "resize": x(lambda f, x: f(x, 5)),
    "right_shift": i(lambda f, x: f(x, 1)),
    "roll": x(lambda f, x: f(x, 1)),
    "searchsorted": xy(lambda f, x, y: f(np.sort(x), y)),
    "select": xy(lambda f, x, y: f([x > 0.5], [x], y)),
    "split": x(lambda f, x: f(x, 3)),
    "take": x(lambda f, x: f(x, [0, 2])),
    "take_along_axis": x(lambda f, x: f(x, np.array([0, 2]), 0)),
    "tile": x(lambda f, x: f(x, 2)),
    "tril_indices": s(lambda f, x: x[f(3)]),
    "triu_indices": s(lambda f, x: x[f(3)]),
    "diag_indices": s(lambda f, x: x[f(3)]),
    "mask_indices": s(lambda f, x: x[f(3, np.triu)]),
    "where": xy(lambda f, x, y: f(np.array([True, False, True]), x, y)),
    "clip": xy(lambda f, x, y: f(x, 0.4, 0.7)),
    "gcd": _with(PLACES, PLACES)(lambda f, x, y: f(x, y)),
    "lcm": _with(PLACES, PLACES)(lambda f, x, y: f(x, y)),
    "delete": x(lambda f, x: f(x, 1)),
    "cross": xy(lambda f, x, y: f(x, y)),
    # The contents of uninitialized memory are no result.
    "empty_like": x(lambda f, x: f(x).shape),
    "ix_": x(lambda f, x: x[f([0, 2])[0]]),
    "lexsort": xy(lambda f, x, y: f((x, y))),
    "unwrap": x(lambda f, x: f(9 * x)),
    "numpy.linalg.matrix_power": s(lambda f, x: f(x, 3)),
    "numpy.linalg.tensorinv": s(lambda f, x: f(x, 1)),
    "numpy.linalg.tensorsolve": _with(S, X)(lambda f, x, y: f(x, y)),
    "numpy.linalg.lstsq": _with(S, X)(lambda f, x, y: f(x, y)),
    "numpy.fft.fftfreq": x(lambda f, x: f(3, x[0])),
    "numpy.fft.rfftfreq": x(lambda f, x: f(3, x[0])),
    "numpy.lib.stride_tricks.sliding_window_view": x(lambda f, x: f(x, 2)),
    "numpy.lib.stride_tricks.as_strided": x(lambda f, x: f(x, (2, 2), (8, 8))),
}

_FAMILIES = {"polynomial": "poly", "chebyshev": "cheb", "legendre": "leg", "laguerre": "lag", "hermite": "herm"}
_SERIES: dict[str, Guess] = {
    "fit": xy(lambda f, x, y: f(x, y, 1)),
    "grid2d": s(lambda f, c: f(X, Y, c)),
    "grid3d": cube(lambda f, c: f(X, Y, X, c)),
    "line": x(lambda f, x: f(x[0], x[1])),
    "val2d": s(lambda f, c: f(X, Y, c)),
    "val3d": cube(lambda f, c: f(X, Y, X, c)),
    "vander2d": xy(lambda f, x, y: f(x, y, [1, 2])),
    "vander3d": xy(lambda f, x, y: f(x, y, x, [1, 2, 1])),
    "interpolate": x(lambda f, x: f(lambda t: t * x[0], 2)),
    **{name: x(lambda f, x: f(3)[0] * x) for name in ("pts1", "pts2", "gauss")},
}
CALLS |= {
    f"numpy.polynomial.{family}.{prefix}{name}": guess
    for family, prefix in (_FAMILIES | {"hermite_e": "herme"}).items()
    for name, guess in _SERIES.items()
}
_DRAWN: dict[str, Guess] = {
    "binomial": x(lambda f, x: f(3, x)),
    "bytes": x(lambda f, x: f(x[0])),
    "hypergeometric": i(lambda f, x: f(x, 2, 1)),
    "multinomial": x(lambda f, x: f(3, x / 2)),
    "multivariate_normal": _with(X, S)(lambda f, x, y: f(x, y)),
    "noncentral_f": xy(lambda f, x, y: f(x, y, 1.0)),
    "triangular": xy(lambda f, x, y: f(0, x, 1)),
    "zipf": x(lambda f, x: f(x + 1)),
    "rand": i(lambda f, x: f(*x[:1])),
    "randn": i(lambda f, x: f(*x[:1])),
}
CALLS |= {f"numpy.random.{name}": guess for name, guess in _DRAWN.items()}

# They read and print, or ask about types, dates and settings.
NO_ARRAYS = frozenset(
    """
    array2string array_repr array_str asmatrix base_repr binary_repr bmat broadcast_shapes busday_count busday_offset
    can_cast common_type datetime_as_string datetime_data format_float_positional format_float_scientific from_dlpack
    frombuffer fromfile fromregex fromstring genfromtxt get_include get_printoptions getbufsize geterr geterrcall info
    is_busday isdtype isfortran isnat issubdtype iterable load loadtxt may_share_memory min_scalar_type mintypecode
    nested_iters printoptions promote_types result_type save savetxt savez savez_compressed set_printoptions setbufsize
    seterr seterrcall shares_memory show_config show_runtime test typename default_rng get_bit_generator get_state
    set_bit_generator set_state seed
    """.split()  # noqa: SIM905  (a table of names)
)
