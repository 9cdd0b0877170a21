"""A call of each function of ``jax.lax`` and ``jax.ops``: the same text runs with JAX's module and with ours."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.jax.rows.numpy import B, I, J, P, Row, S, V, X, Y, call, names

Z = np.arange(24.0).reshape(2, 3, 4) / 7
IMAGE = np.sin(np.arange(2 * 4 * 7 * 6.0)).reshape(2, 4, 7, 6)
KERNEL = np.cos(np.arange(6 * 4 * 3 * 2.0)).reshape(6, 4, 3, 2)
NHWC = np.moveaxis(IMAGE, 1, -1)
HWIO = np.transpose(KERNEL, (2, 3, 1, 0))

_UNARY = names(
    """abs acos asin asinh atan atanh cbrt ceil conj cos cosh digamma erf erf_inv exp exp2 expm1 floor is_finite lgamma
    logistic neg reciprocal round sign sin sinh square tan tanh bessel_i0e bessel_i1e erfc"""
)
_POSITIVE = names("log log1p rsqrt sqrt")
_BINARY = names("add atan2 complex div eq ge gt le lt max min mul ne nextafter rem sub")
_INTEGER = names("bitwise_and bitwise_or bitwise_xor shift_left shift_right_arithmetic shift_right_logical")


def _tanh_root(lax: Any) -> Any:
    return lax.while_loop(lambda x: abs(x**2 - 2.0) > 1e-12, lambda x: x - (x**2 - 2.0) / (2 * x), 1.0)


def collective(f: Callable[[Any, Any], Any], times: int = 1) -> Row:
    """Return a function of elements of a named axis of length 3, each of shape (2, 3 * times)."""
    x = np.sin(np.arange(18.0 * times)).reshape(3, 2, 3 * times)
    return lambda m: sys.modules[m.__name__.removesuffix(".lax")].vmap(lambda x: f(m, x), axis_name="i")(x)


ROWS: dict[str, Row] = {
    **{name: call(name, X) for name in _UNARY},
    **{name: call(name, P) for name in _POSITIVE},
    **{name: call(name, X, Y) for name in _BINARY},
    **{name: call(name, I, J) for name in _INTEGER},
    **{name: call(name, X, (1,)) for name in names("reduce_max reduce_min reduce_prod reduce_sum")},
    **{name: call(name, B, (1,)) for name in names("reduce_and reduce_or")},
    **{name: call(name, X, 1) for name in names("cumlogsumexp cummax cummin cumprod cumsum")},
    "acosh": call("acosh", P + 1),
    "argmax": call("argmax", X, 1, np.int32),
    "argmin": call("argmin", X, 1, np.int32),
    "associative_scan": lambda m: m.associative_scan(m.add, Z, axis=1),
    "batch_matmul": call("batch_matmul", Z, np.swapaxes(Z, 1, 2)),
    "betainc": call("betainc", P, P + 1, np.abs(Y)),
    "bitcast_convert_type": call("bitcast_convert_type", np.array([1.5, -2.0], np.float32), np.int32),
    "bitcast_convert_type.narrower": call("bitcast_convert_type", np.array([1.5, -2.0], np.float32), np.int16),
    "bitcast_convert_type.wider": call("bitcast_convert_type", np.array([[1, 2], [3, 4]], np.int16), np.int32),
    "bitwise_not": call("bitwise_not", I),
    "broadcast": call("broadcast", V, (2, 3)),
    "broadcast_in_dim": call("broadcast_in_dim", V, (4, 3), (0,)),
    "broadcast_shapes": call("broadcast_shapes", (2, 1), (3,)),
    "broadcast_to_rank": call("broadcast_to_rank", V, 3),
    "broadcasted_iota": call("broadcasted_iota", np.int32, (2, 3), 1),
    "clamp": call("clamp", -0.5, X, 0.4),
    "clz": call("clz", np.array([1, 0, -5, 1000], np.int32)),
    "collapse": call("collapse", Z, 1, 3),
    "concatenate": lambda m: m.concatenate([m.sin(X), m.sin(Y)], 1),
    "cond": lambda m: m.cond(X[0, 0] > 0, lambda x: m.sin(x), lambda x: x, X),
    "conv": call("conv", IMAGE, KERNEL, (2, 1), "SAME"),
    "conv_dimension_numbers": lambda m: [
        tuple(each) for each in m.conv_dimension_numbers(NHWC.shape, HWIO.shape, ("NHWC", "HWIO", "NHWC"))
    ],
    "conv_general_dilated": call(
        "conv_general_dilated", NHWC, HWIO, (2, 1), ((1, 2), (0, -1)), (1, 2), (2, 1), ("NHWC", "HWIO", "NHWC")
    ),
    "conv_general_dilated.groups": call(
        "conv_general_dilated", IMAGE, KERNEL[:, :2], (1, 1), "SAME_LOWER", feature_group_count=2
    ),
    "conv_general_dilated.batch": call("conv_general_dilated", IMAGE, KERNEL, (1, 1), "VALID", batch_group_count=2),
    "conv_transpose": call("conv_transpose", NHWC, HWIO, (2, 1), "SAME"),
    "conv_transpose.kernel": call(
        "conv_transpose", NHWC, np.swapaxes(HWIO, 2, 3), (3, 2), "VALID", transpose_kernel=True
    ),
    "conv_with_general_padding": call(
        "conv_with_general_padding", IMAGE, KERNEL, (1, 2), ((0, 1), (2, 0)), None, (1, 2)
    ),
    "convert_element_type": call("convert_element_type", X, np.int32),
    "div.integers": call("div", np.array([7, -7, 7, -7, 6]), np.array([2, 2, -2, -2, -3])),
    "dot": call("dot", X, Y.T),
    "dot_general": call("dot_general", Z, Z, (((2,), (2,)), ((0,), (0,)))),
    "dynamic_index_in_dim": call("dynamic_index_in_dim", X, 5, 1, keepdims=False),
    "dynamic_slice": call("dynamic_slice", Z, (1, 2, 3), (1, 3, 2)),
    "dynamic_slice.all": call("dynamic_slice", Z, (0, -2, 9), (2, 2, 2)),
    "dynamic_slice_in_dim": call("dynamic_slice_in_dim", Z, 2, 2, axis=2),
    "dynamic_update_index_in_dim": call("dynamic_update_index_in_dim", Z, Z[:, 0] + 1, 2, 1),
    "dynamic_update_slice": call("dynamic_update_slice", Z, Z[:1, :2, :2] + 9, (1, 2, 1)),
    "dynamic_update_slice_in_dim": call("dynamic_update_slice_in_dim", Z, Z[:, :2] + 9, 2, 1),
    "empty": call("empty", (2, 3), np.float64),
    "expand_dims": call("expand_dims", X, (0, 2)),
    "fori_loop": lambda m: m.fori_loop(0, 5, lambda i, x: m.sin(x) + i, 0.5),
    "full": call("full", (2, 3), 2.5),
    "full_like": call("full_like", X, 2.5),
    "igamma": call("igamma", P, P + 1),
    "igammac": call("igammac", P, P + 1),
    "index_in_dim": call("index_in_dim", X, -1, 1),
    "index_take": call("index_take", Z, (np.array([0, 1]), np.array([2, 0])), (0, 2)),
    "integer_pow": call("integer_pow", X, 3),
    "iota": call("iota", np.float64, 4),
    "map": lambda m: m.map(lambda x: m.sin(x) * 2, X),
    "map.batches": lambda m: m.map(lambda x: m.sin(x) * 2, V, batch_size=3),
    "optimization_barrier": call("optimization_barrier", X),
    "pad": call("pad", X, 2.0, ((1, 0, 1), (-1, 2, 0))),
    "pad.cut": call("pad", X, 2.0, ((0, -1, 2), (1, -2, 1))),
    "padtype_to_pads": call("padtype_to_pads", (7, 6), (3, 2), (2, 1), "SAME"),
    "polygamma": call("polygamma", np.array([[0.0, 1.0, 2.0], [3.0, 1.0, 1.0]]), P),
    "population_count": call("population_count", np.array([1, 0, -5, 1000], np.int32)),
    "pow": call("pow", P, Y),
    "imag": call("imag", X + 1j * Y),
    "real": call("real", X + 1j * Y),
    "reduce": lambda m: m.reduce(Z, 0.0, m.add, (0, 2)),
    "reduce.max": lambda m: m.reduce(Z, -np.inf, m.max, (1,)),
    "reduce_window": lambda m: m.reduce_window(IMAGE, -np.inf, m.max, (1, 1, 3, 2), (1, 1, 2, 2), "SAME"),
    "reduce_window.sum": lambda m: m.reduce_window(
        IMAGE, 0.0, m.add, (1, 2, 3, 2), (1, 1, 2, 1), ((0, 0), (0, 0), (1, 1), (0, 2)), None, (1, 1, 2, 1)
    ),
    "reduce_window.base": lambda m: m.reduce_window(Z, 0.0, m.add, (1, 2, 2), (1, 1, 1), "VALID", (1, 2, 1)),
    "reshape": call("reshape", X, (3, 2), (1, 0)),
    "rev": call("rev", X, (0, 1)),
    "round.even": lambda m: m.round(np.array([0.5, 1.5, -2.5]), m.RoundingMethod.TO_NEAREST_EVEN),
    "round.away": call("round", np.array([0.5, 1.5, -2.5, -0.4])),
    "scan": lambda m: m.scan(lambda c, x: (c + x, c * x), 0.0, V),
    "scan.reverse": lambda m: m.scan(lambda c, x: (c + x["a"], c * x["a"]), 0.0, {"a": V}, reverse=True),
    "select": lambda m: m.select(m.gt(X, 0.0), m.sin(X), m.cos(X)),
    "select_n": call("select_n", np.array([0, 2, 1, 0], np.int32), V, 2 * V, 3 * V),
    "slice": call("slice", Z, (0, 1, 0), (2, 3, 4), (1, 1, 2)),
    "slice_in_dim": call("slice_in_dim", Z, 1, 4, 2, axis=2),
    "sort": call("sort", X),
    "sort.keys": lambda m: m.sort((np.array([2, 1, 2, 1]), np.array([3, 4, 1, 2]), V), num_keys=2),
    "sort_key_val": call("sort_key_val", V, np.arange(4)),
    "split": call("split", V, (1, 3)),
    "squeeze": call("squeeze", X[None, :, None], (0, 2)),
    "stack": lambda m: m.stack([m.sin(X), m.sin(Y)], axis=1),
    "stop_gradient": call("stop_gradient", X),
    "switch": lambda m: m.switch(2, [lambda x: x, lambda x: -x, lambda x: m.sin(x)], X),
    "tile": call("tile", X, (2, 3)),
    "custom_root": lambda m: m.custom_root(lambda x: x**3 - 8.0, 1.0, lambda f, x: x + 1.0, lambda g, y: y / g(1.0)),
    "custom_linear_solve": lambda m: m.custom_linear_solve(lambda x: 2.0 * x, V, lambda f, b: b / 2.0),
    "sub.names": lambda m: m.sub(x=X, y=Y),
    "dynamic_slice.positive": lambda m: m.dynamic_slice(V, (1,), (2,), allow_negative_indices=False),
    "ppermute": collective(lambda m, x: m.ppermute(x, "i", [(0, 1), (1, 2), (2, 0)])),
    "pshuffle": collective(lambda m, x: m.pshuffle(x, "i", [2, 0, 1])),
    "pbroadcast": collective(lambda m, x: m.psum(0.0 * x, "i") + m.pbroadcast(x, "i", 1)),
    "all_to_all": collective(lambda m, x: m.all_to_all(x, "i", 1, 0)),
    "all_to_all.tiled": collective(lambda m, x: m.all_to_all(x, "i", 1, 0, tiled=True), 2),
    "pswapaxes": collective(lambda m, x: m.pswapaxes(x, "i", 1)),
    "psum_scatter": collective(lambda m, x: m.psum_scatter(x, "i", scatter_dimension=1)),
    "psum_scatter.tiled": collective(lambda m, x: m.psum_scatter(x, "i", scatter_dimension=1, tiled=True), 2),
    "ragged_dot": call("ragged_dot", Y.T @ X, np.stack([X.T @ Y, X.T @ X])[:, :, :2], np.array([1, 2], np.int32)),
    "top_k": call("top_k", np.array([[1.0, 3.0, 3.0, 2.0], [0.0, -1.0, 0.0, 5.0]]), 3),
    "transpose": call("transpose", Z, (2, 0, 1)),
    "unstack": call("unstack", X),
    "while_loop": _tanh_root,
    "zeta": call("zeta", P + 2, P + 1),
    "cumsum.reverse": call("cumsum", X, 1, reverse=True),
}
_GATHERED = np.array([[0], [2]])


def _gathered(m: Any) -> Any:
    numbers = m.GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
    return m.gather(Z[:, 0].T, _GATHERED, numbers, (1, 2))


def _scattered(name: str) -> Row:
    def scatter(m: Any) -> Any:
        numbers = m.ScatterDimensionNumbers((1,), (0,), (0,))
        return getattr(m, name)(Z[0], _GATHERED, Z[1, :2] + 1, numbers)

    return scatter


def _over_axis(f: Any) -> Row:
    def call(lax: Any) -> Any:
        module = sys.modules[lax.__name__.removesuffix(".lax")]
        return module.vmap(lambda x: f(lax, x), axis_name="i")(X)

    return call


ROWS |= {
    "psum": _over_axis(lambda m, x: x / m.psum(x, "i")),
    "pmean": _over_axis(lambda m, x: x - m.pmean(x, "i")),
    "pmax": _over_axis(lambda m, x: x - m.pmax(x, "i")),
    "pmin": _over_axis(lambda m, x: x - m.pmin(x, "i")),
    "all_gather": _over_axis(lambda m, x: m.all_gather(x, "i") * x),
    "axis_index": _over_axis(lambda m, x: x * m.axis_index("i")),
    "axis_size": _over_axis(lambda m, x: x * m.axis_size("i")),
    **{name: _scattered(name) for name in names("scatter scatter_add scatter_max scatter_min scatter_mul scatter_sub")},
    "approx_max_k": call("approx_max_k", V, 2),
    "approx_min_k": call("approx_min_k", V, 2),
    "broadcast_like": call("broadcast_like", V[:3], X),
    "conv_general_dilated_local": call(
        "conv_general_dilated_local",
        IMAGE[:, :, :4, :3],
        np.ones((2, 4 * 3 * 2, 2 * 2)).reshape(2, 24, 2, 2),
        (1, 1),
        "VALID",
        (3, 2),
    ),
    "conv_general_dilated_patches": call("conv_general_dilated_patches", IMAGE, (3, 2), (2, 1), "VALID"),
    "fft": lambda m: m.fft(X + 0j, m.FftType.FFT, (3,)),
    "gather": _gathered,
    "igamma_grad_a": call("igamma_grad_a", P, P + 1),
    "mulhi": call("mulhi", np.array([1 << 20, -5], np.int32), np.array([1 << 20, 7], np.int32)),
    "platform_dependent": lambda m: m.platform_dependent(X, default=m.sin),
    "reduce_precision": call("reduce_precision", X, 5, 4),
    "reduce_xor": call("reduce_xor", I, (0,)),
}
LINALG: dict[str, Row] = {
    "cholesky": call("cholesky", S),
    "eigh": lambda m: [abs(each) for each in m.eigh(S)],
    "cholesky_update": call("cholesky_update", np.linalg.cholesky(S).T, V[:3]),
    "eig": lambda m: np.sort(np.real(m.eig(S)[0])),
    "hessenberg": call("hessenberg", S),
    "householder_product": lambda m: m.householder_product(*m.hessenberg(S)),
    "lu": call("lu", S),
    "lu_pivots_to_permutation": call("lu_pivots_to_permutation", np.array([2, 2, 2], np.int32), 4),
    "qdwh": lambda m: m.qdwh(S)[:2],
    "schur": lambda m: [abs(each) for each in m.schur(S)],
    "tridiagonal": call("tridiagonal", S),
    "qr": lambda m: [abs(each) for each in m.qr(X.T, full_matrices=False)],
    "svd": lambda m: [abs(each) for each in m.svd(X, full_matrices=False)],
    "symmetric_product": call("symmetric_product", S, S, alpha=2.0, beta=0.5),
    "triangular_solve": call("triangular_solve", S, X, lower=True),
    "triangular_solve.left": call("triangular_solve", S, X.T, left_side=True, transpose_a=True, unit_diagonal=True),
    "tridiagonal_solve": call("tridiagonal_solve", V, V + 3, V - 0.2, np.outer(V, V)),
}
IDS = np.array([0, 2, 2, 0, 5, -1])
OPS: dict[str, Row] = {
    name: call(name, np.outer(np.arange(1.0, 7.0), V), IDS, num_segments=4)
    for name in names("segment_max segment_min segment_prod segment_sum")
} | {
    "segment_max.integers": call("segment_max", np.arange(6), IDS[:4].repeat(2)[:6], num_segments=4),
    "segment_sum.count": call("segment_sum", V, IDS[:4]),
}
VALUES = frozenset(
    {"FftType", "GatherDimensionNumbers", "GatherScatterMode", "ScatterDimensionNumbers", "dtype", "linalg"}
)
IMAGES: dict[str, Row] = {
    "resize": call("resize", X, (5, 2), "bilinear"),
    "resize.cubic": call("resize", X, shape=(4, 6), method="cubic", antialias=False),
    "resize.nearest": call("resize", NHWC, (2, 3, 3, 4), method="nearest"),
    "scale_and_translate": lambda m: m.scale_and_translate(
        X, (4, 3), (0, 1), np.array([1.2, 0.8]), np.array([0.5, 0.0]), m.ResizeMethod.LANCZOS3
    ),
}
