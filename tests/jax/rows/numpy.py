"""A call of each function of ``jax.numpy``: the same text runs with JAX's module and with ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

X = np.array([[0.3, -0.7, 0.9], [0.2, 0.5, -0.4]])
Y = np.array([[0.8, 0.1, -0.6], [0.4, -0.3, 0.7]])
P = np.abs(X) + 0.1
V = np.array([0.9, 0.1, 0.5, 0.3])
I = np.array([[3, 1, 2], [0, 2, 5]])  # noqa: E741  (integers)
J = np.array([[1, 4, 2], [6, 2, 3]])
B = np.array([[True, False, True], [False, False, True]])
C = X + 1j * Y
N = np.array([[0.3, np.nan, 0.9], [0.2, 0.5, np.nan]])
S = np.array([[2.0, 0.5, 0.1], [0.5, 3.0, 0.2], [0.1, 0.2, 1.5]])
Row = Callable[[Any], Any]


def names(text: str) -> list[str]:
    """Return the words of a text."""
    return text.split()


_UNARY = names(
    """abs absolute acos arccos asin arcsin asinh arcsinh atan arctan atanh arctanh cbrt ceil conj conjugate cos cosh
    deg2rad degrees exp exp2 expm1 fabs floor i0 imag isfinite isinf isnan isneginf isposinf isreal iscomplex modf
    nan_to_num negative positive rad2deg radians real reciprocal rint round sign signbit sin sinc sinh spacing
    square tan tanh trunc angle around logical_not frexp"""
)
_POSITIVE = names("log log10 log1p log2 sqrt")
_BINARY = names(
    """add arctan2 atan2 copysign divide divmod equal float_power floor_divide fmax fmin fmod greater greater_equal
    heaviside hypot less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor maximum minimum mod
    multiply nextafter not_equal remainder subtract true_divide"""
)
_INTEGER = names(
    """bitwise_and bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift left_shift right_shift gcd lcm"""
)
_REDUCE = names(
    """all any amax amin max min argmax argmin mean median prod std sum var ptp count_nonzero cumsum cumprod
    cumulative_sum cumulative_prod nancumsum nancumprod"""
)
_NANS = names("""nanmax nanmin nanmean nanmedian nanprod nanstd nansum nanvar nanargmax nanargmin""")
_SHAPES = names(
    """atleast_1d atleast_2d atleast_3d copy diff ediff1d empty_like flatnonzero fliplr flipud flip isrealobj
    iscomplexobj matrix_transpose ndim ones_like zeros_like ravel shape size sort argsort squeeze transpose nonzero
    rot90 argwhere sort_complex unique unique_values diagonal trace tril triu gradient array_str array_repr isscalar
    iterable"""
)
_WINDOWS = names("bartlett blackman hamming hanning")


def call(name: str, *args: Any, **options: Any) -> Row:
    return lambda m: getattr(m, name)(*args, **options)


ROWS_OF_I = np.array([[1, 2], [0, 1], [1, 2], [0, 0]])
ROWS: dict[str, Row] = {
    **{name: call(name, X) for name in _UNARY},
    **{name: call(name, P) for name in _POSITIVE},
    **{name: call(name, X, Y) for name in _BINARY},
    **{name: call(name, I, J) for name in _INTEGER},
    **{name: call(name, X, axis=1) for name in _REDUCE},
    **{name: call(name, N, axis=1) for name in _NANS},
    **{name: call(name, X) for name in _SHAPES},
    **{name: call(name, 5) for name in _WINDOWS},
    "acosh": call("acosh", P + 1),
    "arccosh": call("arccosh", P + 1),
    "allclose": call("allclose", X, X + 1e-9),
    "append": call("append", X, Y, axis=0),
    "apply_along_axis": lambda m: m.apply_along_axis(lambda row: m.sum(row**2), 1, X),
    "apply_over_axes": lambda m: m.apply_over_axes(m.sum, X, (0, 1)),
    "arange": call("arange", 1.0, 4.0, 0.5),
    "argpartition": lambda m: V[np.asarray(m.argpartition(V, 1))[:2]].sum(),
    "array": call("array", [[1.0, 2.0], [3.0, 4.0]]),
    "array_equal": call("array_equal", X, X),
    "array_equiv": call("array_equiv", X, X[0]),
    "array_split": call("array_split", V, 3),
    "asarray": call("asarray", [1, 2, 3]),
    "astype": call("astype", X, np.float32),
    "average": call("average", X, axis=1, weights=V[:3]),
    "bincount": call("bincount", I.ravel(), length=4),
    "bitwise_count": call("bitwise_count", I),
    "bitwise_invert": call("bitwise_invert", I),
    "bitwise_not": call("bitwise_not", I),
    "block": lambda m: m.block([[m.asarray(X), m.asarray(Y)], [m.asarray(Y), m.asarray(X)]]),
    "broadcast_arrays": call("broadcast_arrays", X, V[:3]),
    "broadcast_shapes": call("broadcast_shapes", (2, 1), (3,)),
    "broadcast_to": call("broadcast_to", V, (2, 4)),
    "c_": lambda m: m.c_[V, V],
    "can_cast": call("can_cast", np.float32, np.float64),
    "choose": call("choose", np.array([0, 1, 0, 1]), [V, -V]),
    "clip": call("clip", X, -0.5, 0.4),
    "column_stack": call("column_stack", (V, V)),
    "compress": call("compress", np.array([True, False, True]), X, axis=1),
    "concat": call("concat", [X, Y], axis=1),
    "concatenate": call("concatenate", [X, Y], axis=0),
    "convolve": call("convolve", V, V[:2]),
    "corrcoef": call("corrcoef", X),
    "correlate": call("correlate", V, V[:2]),
    "cov": call("cov", X),
    "cross": call("cross", X, Y),
    "delete": call("delete", X, 1, axis=1),
    "diag": call("diag", V),
    "diag_indices": call("diag_indices", 3),
    "diag_indices_from": call("diag_indices_from", S),
    "diagflat": call("diagflat", V),
    "digitize": call("digitize", V, np.array([0.2, 0.4])),
    "dot": call("dot", X, Y.T),
    "dsplit": call("dsplit", np.arange(8.0).reshape(2, 2, 2), 2),
    "dstack": call("dstack", (V, V)),
    "einsum": call("einsum", "ij,kj->ik", X, Y),
    "empty": call("empty", (2, 3)),
    "exp_of_integers": lambda m: m.exp(m.arange(3)),
    "expand_dims": call("expand_dims", X, (0, 2)),
    "extract": call("extract", B, X),
    "eye": call("eye", 3, k=1),
    "fill_diagonal": call("fill_diagonal", S, 7.0, inplace=False),
    "from_dlpack": lambda m: m.from_dlpack(np.ones(2)),
    "frombuffer": call("frombuffer", b"\x01\x02", dtype=np.uint8),
    "fromfunction": lambda m: m.fromfunction(lambda i, j: i + 2 * j, (2, 3)),
    "fromstring": call("fromstring", "1 2 3", float, sep=" "),
    "full": call("full", (2, 2), 3.0),
    "full_like": call("full_like", X, 2.0),
    "geomspace": call("geomspace", 1.0, 8.0, 4),
    "histogram": lambda m: tuple(m.histogram(V, 3)),
    "histogram2d": lambda m: tuple(m.histogram2d(V, V, 2)),
    "histogram_bin_edges": call("histogram_bin_edges", V, 3),
    "histogramdd": call("histogramdd", np.stack([V, V], 1), 2),
    "hsplit": call("hsplit", V, 2),
    "hstack": call("hstack", (V, V)),
    "identity": call("identity", 2),
    "indices": call("indices", (2, 3)),
    "inner": call("inner", X, Y),
    "insert": call("insert", V, 1, 9.0),
    "interp": call("interp", np.array([0.5, 1.5]), np.arange(4.0), V),
    "intersect1d": call("intersect1d", I, J),
    "invert": call("invert", B),
    "isclose": call("isclose", X, X + 1e-9),
    "isdtype": call("isdtype", np.float64, "real floating"),
    "isin": call("isin", I, J[0]),
    "issubdtype": call("issubdtype", np.float64, np.floating),
    "ix_": call("ix_", np.array([0, 1]), np.array([1, 2])),
    "kaiser": call("kaiser", 5, 3.0),
    "kron": call("kron", V, V),
    "ldexp": call("ldexp", X, I),
    "lexsort": call("lexsort", (V, V[::-1])),
    "linspace": call("linspace", 0.0, 1.0, 5),
    "logspace": call("logspace", 0.0, 1.0, 3),
    "mask_indices": lambda m: m.mask_indices(3, m.triu),
    "matmul": call("matmul", X, Y.T),
    "matvec": call("matvec", S, V[:3]),
    "meshgrid": call("meshgrid", V, V[:2]),
    "mgrid": lambda m: m.mgrid[0:2, 0:3],
    "moveaxis": call("moveaxis", X, 0, 1),
    "nanpercentile": call("nanpercentile", N, 30.0, axis=1),
    "nanquantile": call("nanquantile", N, 0.3, axis=1),
    "ogrid": lambda m: m.ogrid[0:2, 0:3],
    "ones": call("ones", (2, 2)),
    "outer": call("outer", V, V),
    "packbits": call("packbits", B),
    "pad": call("pad", X, ((1, 0), (0, 2)), constant_values=1.0),
    "partition": lambda m: np.sort(np.asarray(m.partition(V, 1))[:2]),
    "permute_dims": call("permute_dims", X, (1, 0)),
    "percentile": call("percentile", X, 30.0, axis=1),
    "piecewise": lambda m: m.piecewise(m.asarray(V), [V < 0.4, V >= 0.4], [lambda t: -t, lambda t: t**2]),
    "place": call("place", X, B, np.array([7.0, 8.0]), inplace=False),
    "poly": call("poly", V),
    "polyadd": call("polyadd", V, V[:2]),
    "polyder": call("polyder", V),
    "polydiv": call("polydiv", V, V[:2]),
    "polyfit": call("polyfit", np.arange(4.0), V, 2),
    "polyint": call("polyint", V),
    "polymul": call("polymul", V, V[:2]),
    "polysub": call("polysub", V, V[:2]),
    "polyval": call("polyval", V, X),
    "pow": call("pow", P, Y),
    "power": call("power", P, 3),
    "printoptions": lambda m: m.printoptions(precision=3).__enter__() is None,
    "promote_types": call("promote_types", np.float32, np.float64),
    "put": call("put", X, np.array([0, 4]), np.array([7.0, 8.0]), inplace=False),
    "put_along_axis": call("put_along_axis", X, np.array([[0], [2]]), 9.0, axis=1, inplace=False),
    "quantile": call("quantile", X, 0.3, axis=1),
    "r_": lambda m: m.r_[V, V],
    "ravel_multi_index": call("ravel_multi_index", (np.array([1, 0]), np.array([2, 1])), (2, 3), mode="clip"),
    "repeat": call("repeat", V, np.array([1, 2, 0, 1]), total_repeat_length=6),
    "reshape": call("reshape", X, (3, -1)),
    "resize": call("resize", V, (2, 3)),
    "result_type": call("result_type", np.float32, np.float64),
    "roll": call("roll", V, 1),
    "rollaxis": call("rollaxis", X, 1),
    "roots": lambda m: np.sort_complex(np.asarray(m.roots(np.array([1.0, -3.0, 2.0])))),
    "searchsorted": call("searchsorted", np.sort(V), X),
    "select": call("select", [V < 0.2, V < 0.6], [V, -V], 5.0),
    "setdiff1d": call("setdiff1d", I, J),
    "setxor1d": call("setxor1d", I, J),
    "split": call("split", V, 2),
    "stack": call("stack", [V, V], axis=1),
    "swapaxes": call("swapaxes", X, 0, 1),
    "take": call("take", V, np.array([0, 3, 9])),
    "take_along_axis": call("take_along_axis", X, np.array([[0], [2]]), axis=1),
    "tensordot": call("tensordot", X, Y, axes=((1,), (1,))),
    "tile": call("tile", V, (2, 2)),
    "trapezoid": call("trapezoid", V),
    "tri": call("tri", 3),
    "tril_indices": call("tril_indices", 3),
    "tril_indices_from": call("tril_indices_from", S),
    "trim_zeros": call("trim_zeros", np.array([0.0, 1.0, 2.0, 0.0])),
    "triu_indices": call("triu_indices", 3),
    "triu_indices_from": call("triu_indices_from", S),
    "union1d": call("union1d", I, J, size=8, fill_value=-1),
    "unique_all": call("unique_all", I),
    "unique_counts": call("unique_counts", I, size=5),
    "unique_inverse": call("unique_inverse", I),
    "unpackbits": call("unpackbits", np.array([3, 5], np.uint8)),
    "unravel_index": call("unravel_index", np.array([1, 5]), (2, 3)),
    "unstack": call("unstack", X),
    "unwrap": call("unwrap", 5 * V),
    "vander": call("vander", V, 3),
    "vdot": call("vdot", V, V),
    "vecdot": call("vecdot", X, Y),
    "vecmat": call("vecmat", V[:3], S),
    "vectorize": lambda m: m.vectorize(lambda a, b: m.dot(a, b), signature="(n),(n)->()")(X, Y[:, None]),
    "vsplit": call("vsplit", X, 2),
    "vstack": call("vstack", (V, V)),
    "where": call("where", B, X, Y),
    "zeros": call("zeros", (2, 2)),
    # Arguments that NumPy's functions do not have.
    "argsort.descending": call("argsort", np.array([1.0, 2.0, 1.0, 2.0]), descending=True),
    "sort.descending": call("sort", X, axis=0, descending=True),
    "nonzero.size": call("nonzero", B, size=5, fill_value=-1),
    "argwhere.size": call("argwhere", B, size=2),
    "flatnonzero.size": call("flatnonzero", B, size=5),
    "where.size": call("where", B, size=4, fill_value=(7, 8)),
    "extract.size": call("extract", B, X, size=5, fill_value=9.0),
    "compress.size": call("compress", np.array([True, False, True]), X, axis=1, size=1, fill_value=9.0),
    "unique.size": call(
        "unique", np.array([3, 1, 3, 2]), size=5, return_index=True, return_inverse=True, return_counts=True
    ),
    "unique.cut": call("unique", np.array([3, 1, 3, 2]), size=2, return_counts=True),
    "unique.axis": call(
        "unique", ROWS_OF_I, axis=0, size=4, return_index=True, return_inverse=True, return_counts=True
    ),
    "unique.columns": call("unique", ROWS_OF_I, axis=1, size=1, return_counts=True),
    "unique.filled": call("unique", ROWS_OF_I, axis=0, size=5, fill_value=9),
    "take_along_axis.fill": call("take_along_axis", X, np.array([[0, 5], [-1, -7]]), axis=1, mode="fill"),
    "take_along_axis.value": call("take_along_axis", X, np.array([9, -1]), axis=None, mode="fill", fill_value=1.0),
    "take_along_axis.clip": call("take_along_axis", X, np.array([[0, 5], [-1, -7]]), axis=1, mode="clip"),
    "take_along_axis.integers": call("take_along_axis", ROWS_OF_I, np.array([[4, -5]]), axis=0, mode="fill"),
    "matmul.names": lambda m: m.matmul(a=X, b=X.T),
    "arange.names": lambda m: m.arange(start=1, stop=7, step=2),
    "setdiff1d.size": call("setdiff1d", I, J, size=4, fill_value=-1),
    "bincount.weights": call("bincount", I.ravel(), weights=X.ravel(), length=8),
    "repeat.cut": call("repeat", X, np.array([2, 3]), axis=0, total_repeat_length=4),
    "take.integers": call("take", I, np.array([0, 9]), axis=1),
    "take.wrap": call("take", V, np.array([0, 5, -1]), mode="wrap"),
    "take.clip": call("take", V, np.array([0, 9]), mode="clip"),
    "dot.preferred": call("dot", X, Y.T, precision="highest", preferred_element_type=np.float32),
    "vectorize.outer": lambda m: m.vectorize(lambda a, b: a * b)(X[:, :, None], V),
    "vectorize.excluded": lambda m: m.vectorize(lambda a, k: a * k, excluded={1})(X, 3.0),
    "fill_diagonal.wide": call("fill_diagonal", X.T, V[:2], inplace=False),
    "put.wrap": call("put", X, np.array([7, -1]), 5.0, mode="wrap", inplace=False),
    "isscalar.array": lambda m: m.isscalar(m.asarray(2.0)),
    "squeeze.axis": call("squeeze", X[None], axis=0),
    "reciprocal.integers": call("reciprocal", np.array([3, -2, 5])),
    "polymul.zeros": call("polymul", np.array([0.0, 1.0]), V),
    "sum.where": call("sum", X, where=B, axis=0, keepdims=True),
}
SKEWED = S + np.triu(S, 1)
LINALG: dict[str, Row] = {
    "cholesky.skewed": call("cholesky", SKEWED),
    "cholesky.triangle": call("cholesky", SKEWED, upper=True, symmetrize_input=False),
    "eigh.skewed": lambda m: m.eigh(SKEWED)[0],
    "eigvalsh.skewed": call("eigvalsh", SKEWED),
    "eigvalsh.triangle": call("eigvalsh", SKEWED, "U", symmetrize_input=False),
    **{
        name: call(name, S)
        for name in names(
            "cholesky cond det eigvalsh inv matrix_norm matrix_rank pinv slogdet svdvals trace norm diagonal "
            "matrix_transpose "
        )
    },
    "cross": call("cross", X, Y),
    "eig": lambda m: np.sort(np.real(m.eig(S)[0])),
    "eigh": lambda m: (m.eigh(S)[0], abs(m.eigh(S).eigenvectors)),
    "eigvals": lambda m: np.sort(np.real(m.eigvals(S))),
    "lstsq": lambda m: m.lstsq(X.T, V[:3])[0],
    "matmul": call("matmul", X, S),
    "matrix_power": call("matrix_power", S, 3),
    "multi_dot": call("multi_dot", [X, S, Y.T]),
    "outer": call("outer", V, V),
    "qr": lambda m: [abs(each) for each in m.qr(S)],
    "solve": call("solve", S, V[:3]),
    "svd": lambda m: [abs(each) for each in m.svd(X, full_matrices=False)],
    "tensordot": call("tensordot", X, S, axes=1),
    "tensorinv": call("tensorinv", S, ind=1),
    "tensorsolve": call("tensorsolve", S, V[:3]),
    "vecdot": call("vecdot", X, Y),
    "vector_norm": call("vector_norm", X, axis=1, ord=1),
}
FFT: dict[str, Row] = {
    **{
        name: call(name, X)
        for name in names("fft fft2 fftn ifft ifft2 ifftn rfft rfft2 rfftn ihfft fftshift ifftshift")
    },
    **{name: call(name, C) for name in names("hfft irfft irfft2 irfftn")},
    "fftfreq": call("fftfreq", 5, 0.1),
    "rfftfreq": call("rfftfreq", 5, 0.1),
}
# Names that stand for no function of arrays, and files and settings, which are NumPy's own.
VALUES = frozenset(
    names(
        """ComplexWarning dtype e euler_gamma fft finfo get_printoptions iinfo index_exp inf linalg load nan
        newaxis pi s_
    save savez set_printoptions einsum_path LinAlgError"""
    )
)
# Calls whose dtype differs from JAX's.
DTYPES = {
    "pascal": "JAX's numbers are floats, SciPy's integers",
    "invpascal": "JAX's numbers are floats, SciPy's integers",
    "funm": "JAX's numbers are always complex, SciPy's where they have to be",
    "sqrtm": "JAX's numbers are always complex, SciPy's where they have to be",
    "histogram2d": "JAX counts in the dtype of the numbers",
    "histogramdd": "JAX counts in the dtype of the numbers",
    "digitize": "NumPy's places are int64",
    "searchsorted": "NumPy's places are int64",
    "histogram": "NumPy's counts are integers",
    "tri": "JAX's is float32 in 64-bit mode, NumPy's float64",
}
