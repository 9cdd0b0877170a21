"""JAX's operations and its control flow: names of ``jax.lax`` for the library's functions."""

from funcgrad.jax._names import publish_as_jax as _publish
from funcgrad.jax.lax import linalg as linalg

# The imports are unformatted, because one name per line would take 200 lines.
# fmt: off
from funcgrad.jax.lax._collectives import (
    all_to_all as all_to_all, pbroadcast as pbroadcast, ppermute as ppermute, pshuffle as pshuffle,
    psum_scatter as psum_scatter, pswapaxes as pswapaxes,
)
from funcgrad.jax.lax._control import (
    all_gather as all_gather, associative_scan as associative_scan, axis_index as axis_index, axis_size as axis_size,
    pmax as pmax, pmean as pmean, pmin as pmin, psum as psum, cond as cond, fori_loop as fori_loop, map as map,
        optimization_barrier as optimization_barrier, platform_dependent as platform_dependent, scan as scan,
    stop_gradient as stop_gradient, switch as switch,
    while_loop as while_loop,
)
from funcgrad.jax.lax._elementwise import (
    Precision as Precision, RoundingMethod as RoundingMethod, bitcast_convert_type as bitcast_convert_type,
    clamp as clamp, clz as clz, complex as complex, convert_element_type as convert_element_type, div as div,
    integer_pow as integer_pow, polygamma as polygamma, population_count as population_count, round as round,
    rsqrt as rsqrt,
    shift_right_logical as shift_right_logical,
)
from funcgrad.jax.lax._of_jax import (
    approx_max_k as approx_max_k, approx_min_k as approx_min_k,
    conv_general_dilated_local as conv_general_dilated_local,
    conv_general_dilated_patches as conv_general_dilated_patches,
    fft as fft, gather as gather,
    igamma_grad_a as igamma_grad_a, mulhi as mulhi, ragged_dot as ragged_dot,

    reduce_precision as reduce_precision, scatter as scatter, scatter_add as scatter_add, scatter_max as scatter_max,
    scatter_min as scatter_min, scatter_mul as scatter_mul, scatter_sub as scatter_sub,
)
from funcgrad.jax.lax._shapes import (
    argmax as argmax, argmin as argmin, batch_matmul as batch_matmul, broadcast as broadcast,
    broadcast_in_dim as broadcast_in_dim, broadcast_like as broadcast_like, broadcast_to_rank as broadcast_to_rank,
    broadcasted_iota as broadcasted_iota, collapse as collapse, concatenate as concatenate, conj as conj,
    cumlogsumexp as cumlogsumexp, cummax as cummax, cummin as cummin, cumprod as cumprod, cumsum as cumsum, dot as dot,
    dot_general as dot_general, dtype as dtype, empty as empty, expand_dims as expand_dims, full as full,
    full_like as full_like, iota as iota, pad as pad, reduce as reduce, reduce_and as reduce_and,
    reduce_max as reduce_max, reduce_min as reduce_min, reduce_or as reduce_or, reduce_prod as reduce_prod,
        reduce_sum as reduce_sum, reduce_xor as reduce_xor, reshape as reshape, rev as rev, select as select,
    select_n as select_n, sort as sort,
    sort_key_val as sort_key_val, split as split, squeeze as squeeze, tile as tile, top_k as top_k,
    transpose as transpose,
)
from funcgrad.jax.lax._slices import (
    dynamic_index_in_dim as dynamic_index_in_dim, dynamic_slice as dynamic_slice,
    dynamic_slice_in_dim as dynamic_slice_in_dim, dynamic_update_index_in_dim as dynamic_update_index_in_dim,
    dynamic_update_slice as dynamic_update_slice, dynamic_update_slice_in_dim as dynamic_update_slice_in_dim,
    index_in_dim as index_in_dim, index_take as index_take, slice as slice, slice_in_dim as slice_in_dim,
)
from funcgrad.jax.lax._solvers import custom_linear_solve as custom_linear_solve, custom_root as custom_root
from funcgrad.jax.lax._windows import (
    ConvDimensionNumbers as ConvDimensionNumbers, conv as conv, conv_dimension_numbers as conv_dimension_numbers,
    conv_general_dilated as conv_general_dilated, conv_transpose as conv_transpose,
    conv_with_general_padding as conv_with_general_padding, padtype_to_pads as padtype_to_pads,
    reduce_window as reduce_window,
)
from funcgrad.jax.numpy import (
    abs as abs, acos as acos, acosh as acosh, add as add, asin as asin, asinh as asinh, atan as atan, atan2 as atan2,
    atanh as atanh, bitwise_and as bitwise_and, bitwise_not as bitwise_not, bitwise_or as bitwise_or,
    bitwise_xor as bitwise_xor, broadcast_shapes as broadcast_shapes, cbrt as cbrt, ceil as ceil, cos as cos,
    cosh as cosh, equal as eq, exp as exp, exp2 as exp2, expm1 as expm1, floor as floor, fmod as rem,
    greater as gt, greater_equal as ge, imag as imag, isfinite as is_finite, left_shift as shift_left,
    less as lt, less_equal as le, log as log, log1p as log1p, maximum as max, minimum as min, multiply as mul,
    negative as neg, nextafter as nextafter, not_equal as ne, power as pow, real as real, reciprocal as reciprocal,
    right_shift as shift_right_arithmetic, sign as sign, sin as sin, sinh as sinh, sqrt as sqrt, square as square,
    stack as stack, subtract as sub, tan as tan, tanh as tanh, unstack as unstack,
)
from funcgrad.scipy.special import (
    betainc as betainc, digamma as digamma, erf as erf, erfc as erfc, erfinv as erf_inv, expit as logistic,
    gammainc as igamma, gammaincc as igammac, gammaln as lgamma, i0e as bessel_i0e, i1e as bessel_i1e,
    zeta as zeta,
)
# fmt: on

__dir__, __getattr__ = _publish(
    __name__, jaxs=("FftType", "GatherDimensionNumbers", "GatherScatterMode", "ScatterDimensionNumbers")
)
