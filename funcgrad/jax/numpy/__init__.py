"""JAX's array functions: those of ``funcgrad.numpy``, with JAX's arguments and arrays that never change.

``empty`` makes zeros, as JAX's does. Dtypes are NumPy's, as in the whole library: 64 bits stay 64 bits, and
``float32`` with ``int64`` gives ``float64``.
"""

from numpy.exceptions import ComplexWarning as ComplexWarning

from funcgrad.jax._array import Array as ndarray  # noqa: N813  (the name that JAX has for it)
from funcgrad.jax._names import publish_as_jax as _publish
from funcgrad.jax.numpy import fft as fft, linalg as linalg
from funcgrad.jax.numpy._grids import c_ as c_, mgrid as mgrid, ogrid as ogrid, r_ as r_

# The imports are unformatted, because one name per line would take 400 lines.
# fmt: off
from funcgrad.jax.numpy._changed import (
    apply_along_axis as apply_along_axis, polydiv as polydiv, polymul as polymul, reciprocal as reciprocal,
    fill_diagonal as fill_diagonal, put as put, place as place, put_along_axis as put_along_axis, sort as sort,
    argsort as argsort, take as take, asarray as asarray, astype as astype, roots as roots, vectorize as vectorize,
    isscalar as isscalar, take_along_axis as take_along_axis,
)
from funcgrad.jax.numpy._sized import (
    nonzero as nonzero, flatnonzero as flatnonzero, argwhere as argwhere, where as where, compress as compress,
    extract as extract, unique as unique, unique_all as unique_all, unique_counts as unique_counts,
    unique_inverse as unique_inverse, unique_values as unique_values, union1d as union1d, setdiff1d as setdiff1d,
    bincount as bincount, repeat as repeat, mask_indices as mask_indices,
)
from funcgrad.numpy import (
    abs as abs, absolute as absolute, acos as acos, acosh as acosh, add as add, all as all, allclose as allclose,
        amax as amax, amin as amin, angle as angle, any as any, append as append,     apply_over_axes as
    apply_over_axes, arange as arange, arccos as arccos, arccosh as arccosh, arcsin as arcsin,
    arcsinh as arcsinh, arctan as arctan, arctan2 as arctan2, arctanh as arctanh, argmax as argmax,
    argmin as argmin, argpartition as argpartition, around as around, array as array, array_equal as array_equal,
    array_equiv as array_equiv, array_split as array_split, asin as asin, asinh as asinh, atan as atan,
    atan2 as atan2, atanh as atanh, atleast_1d as atleast_1d, atleast_2d as atleast_2d, atleast_3d as atleast_3d,
    average as average, bitwise_and as bitwise_and, bitwise_count as bitwise_count,
    bitwise_invert as bitwise_invert, bitwise_left_shift as bitwise_left_shift, bitwise_not as bitwise_not,
    bitwise_or as bitwise_or, bitwise_right_shift as bitwise_right_shift, bitwise_xor as bitwise_xor,
    block as block, bool as bool, bool_ as bool_, broadcast_arrays as broadcast_arrays,
    broadcast_shapes as broadcast_shapes, broadcast_to as broadcast_to, can_cast as can_cast, cbrt as cbrt,
    ceil as ceil, choose as choose, clip as clip, column_stack as column_stack, complex128 as complex128,
    complex64 as complex64, concat as concat, concatenate as concatenate, conj as conj, conjugate as conjugate,
    convolve as convolve, copy as copy, copysign as copysign, corrcoef as corrcoef, correlate as correlate,
    cos as cos, cosh as cosh, count_nonzero as count_nonzero, cov as cov, cross as cross, cumprod as cumprod,
    cumsum as cumsum, cumulative_prod as cumulative_prod, cumulative_sum as cumulative_sum, deg2rad as deg2rad,
    degrees as degrees, delete as delete, diag as diag, diag_indices as diag_indices,
    diag_indices_from as diag_indices_from, diagflat as diagflat, diagonal as diagonal, diff as diff,
    digitize as digitize, divide as divide, divmod as divmod, dot as dot, dsplit as dsplit, dstack as dstack,
    dtype as dtype, e as e, ediff1d as ediff1d, einsum as einsum, einsum_path as einsum_path, equal as equal,
    euler_gamma as euler_gamma, exp as exp, exp2 as exp2,
    expand_dims as expand_dims, expm1 as expm1, eye as eye, fabs as fabs, finfo as finfo, flip as flip,
    fliplr as fliplr, flipud as flipud, float16 as float16, float32 as float32, float64 as float64,
    float_power as float_power, floor as floor, floor_divide as floor_divide, fmax as fmax, fmin as fmin,
    fmod as fmod, frexp as frexp, from_dlpack as from_dlpack, full as full, full_like as full_like, gcd as gcd,
    geomspace as geomspace, gradient as gradient, greater as greater, greater_equal as greater_equal,
    heaviside as heaviside, histogram as histogram, histogram2d as histogram2d,
    histogram_bin_edges as histogram_bin_edges, histogramdd as histogramdd, hsplit as hsplit, hstack as hstack,
    hypot as hypot, i0 as i0, identity as identity, iinfo as iinfo, imag as imag, indices as indices, inf as inf,
    inner as inner, insert as insert, int16 as int16, int32 as int32, int64 as int64, int8 as int8,
    interp as interp, intersect1d as intersect1d, invert as invert, isclose as isclose, iscomplex as iscomplex,
    iscomplexobj as iscomplexobj, isdtype as isdtype, isfinite as isfinite, isin as isin, isinf as isinf,
    isnan as isnan, isneginf as isneginf, isposinf as isposinf, isreal as isreal, isrealobj as isrealobj,
    issubdtype as issubdtype, ix_ as ix_, kron as kron, lcm as lcm, ldexp as ldexp, left_shift as left_shift,
    less as less, less_equal as less_equal, lexsort as lexsort, linspace as linspace, log as log, log10 as log10,
    log1p as log1p, log2 as log2, logaddexp as logaddexp, logaddexp2 as logaddexp2, logical_and as logical_and,
    logical_not as logical_not, logical_or as logical_or, logical_xor as logical_xor, logspace as logspace,
    matmul as matmul, matrix_transpose as matrix_transpose, matvec as matvec, max as max, maximum as maximum,
    mean as mean, median as median, meshgrid as meshgrid, min as min, minimum as minimum, mod as mod, modf as modf,
    moveaxis as moveaxis, multiply as multiply, nan as nan, nan_to_num as nan_to_num, nanargmax as nanargmax,
    nanargmin as nanargmin, nancumprod as nancumprod, nancumsum as nancumsum, nanmax as nanmax, nanmean as nanmean,
    nanmedian as nanmedian, nanmin as nanmin, nanpercentile as nanpercentile, nanprod as nanprod,
    nanquantile as nanquantile, nanstd as nanstd, nansum as nansum, nanvar as nanvar, ndim as ndim,
    negative as negative, newaxis as newaxis, nextafter as nextafter, not_equal as not_equal, ones as ones,
    ones_like as ones_like, outer as outer, packbits as packbits, pad as pad, partition as partition,
    percentile as percentile, permute_dims as permute_dims, pi as pi, piecewise as piecewise, poly as poly,
    polyadd as polyadd, polyder as polyder, polyfit as polyfit, polyint as polyint,
    polysub as polysub, polyval as polyval, positive as positive, pow as pow, power as power,
    prod as prod, ptp as ptp, quantile as quantile, rad2deg as rad2deg, radians as radians, ravel as ravel,
    ravel_multi_index as ravel_multi_index, real as real, remainder as remainder,
    reshape as reshape, resize as resize, result_type as result_type, right_shift as right_shift, rint as rint,
    roll as roll, rollaxis as rollaxis, rot90 as rot90, round as round, searchsorted as searchsorted,
    select as select, setxor1d as setxor1d, shape as shape, sign as sign, signbit as signbit, sin as sin,
    sinc as sinc, sinh as sinh, size as size, sort_complex as sort_complex, spacing as spacing, split as split,
    sqrt as sqrt, square as square, squeeze as squeeze, stack as stack, std as std, subtract as subtract,
    sum as sum, swapaxes as swapaxes, tan as tan, tanh as tanh,
    tensordot as tensordot, tile as tile, trace as trace, transpose as transpose, trapezoid as trapezoid,
    tri as tri, tril as tril, tril_indices as tril_indices, tril_indices_from as tril_indices_from,
    trim_zeros as trim_zeros, triu as triu, triu_indices as triu_indices, triu_indices_from as triu_indices_from,
    true_divide as true_divide, trunc as trunc, uint16 as uint16, uint32 as uint32, uint64 as uint64,
    uint8 as uint8, unpackbits as unpackbits, unravel_index as unravel_index, unstack as unstack, unwrap as unwrap,
    vander as vander, var as var, vdot as vdot, vecdot as vecdot, vecmat as vecmat, vsplit as vsplit,
    vstack as vstack, zeros as zeros, zeros as empty, zeros_like as zeros_like, zeros_like as empty_like,
)
from ml_dtypes import (
    bfloat16 as bfloat16, float4_e2m1fn as float4_e2m1fn, float6_e2m3fn as float6_e2m3fn,
    float6_e3m2fn as float6_e3m2fn, float8_e3m4 as float8_e3m4, float8_e4m3 as float8_e4m3,
    float8_e4m3b11fnuz as float8_e4m3b11fnuz, float8_e4m3fn as float8_e4m3fn, float8_e4m3fnuz as float8_e4m3fnuz,
    float8_e5m2 as float8_e5m2, float8_e5m2fnuz as float8_e5m2fnuz, float8_e8m0fnu as float8_e8m0fnu, int2 as int2,
    int4 as int4, uint2 as uint2, uint4 as uint4,
)
from numpy import (
    cdouble as cdouble, character as character, complexfloating as complexfloating, csingle as csingle,
    double as double, flexible as flexible, floating as floating, generic as generic, inexact as inexact,
    int_ as int_, integer as integer, number as number, object_ as object_, signedinteger as signedinteger,
    single as single, uint as uint, unsignedinteger as unsignedinteger, array_repr as array_repr,
    array_str as array_str, bartlett as bartlett, blackman as blackman, frombuffer as frombuffer,
    fromfunction as fromfunction, fromstring as fromstring,
    get_printoptions as get_printoptions, hamming as hamming, hanning as hanning, index_exp as index_exp,
    iterable as iterable, kaiser as kaiser, load as load, printoptions as printoptions,
    promote_types as promote_types, s_ as s_, save as save, savez as savez, set_printoptions as set_printoptions,
    float64 as float_, complex128 as complex_,
)
# fmt: on

__dir__, __getattr__ = _publish(__name__)
