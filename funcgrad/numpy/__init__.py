"""NumPy's functions for arrays of either engine and for tracers; NumPy's protocols dispatch here."""

from typing import Any as _Any

from funcgrad._core.lazy import LazyModule as _LazyModule
from funcgrad._public import publish as _publish
from funcgrad.numpy._base.plain import shortcuts as _shortcuts
from funcgrad.numpy._base.rest import array_api as _array_api, of_numpys as _of_numpys
from funcgrad.numpy._array import attach as _protocols, ufunc_methods as _ufunc_methods
from funcgrad.numpy._math import scimath as _scimath
from funcgrad.numpy import fft as fft, linalg as linalg

# The imports are unformatted, because one name per line would take 300 lines.
# fmt: off
from funcgrad.numpy._choose.at import at as at
from funcgrad.numpy._reduce.calculus import (
    diff as diff, ediff1d as ediff1d, gradient as gradient, interp as interp, trapezoid as trapezoid, unwrap as unwrap,
)
from funcgrad.numpy._choose.where import (
    clip as clip, nan_to_num as nan_to_num, select as select, where as where,
)
from funcgrad.numpy._math.complex import (
    angle as angle, conj as conj, conjugate as conjugate, imag as imag, real as real, real_if_close as real_if_close,
)
from funcgrad.numpy._contract.products import (
    cross as cross, diagonal_ as diagonal, dot as dot, inner as inner, kron as kron, matmul as matmul, matvec as matvec,
    multi_dot as multi_dot, outer as outer, tensordot as tensordot, trace as trace, vdot as vdot, vecdot as vecdot,
    vecmat as vecmat,
)
from funcgrad.numpy._layout.creation import (
    triu_indices as triu_indices, tril_indices as tril_indices, ix_ as ix_, diag_indices as diag_indices,
    broadcast_shapes as broadcast_shapes, astype as astype, can_cast as can_cast, copy as copy,
    empty_like as empty_like, full_like as full_like, geomspace as geomspace, indices as indices, linspace as linspace,
    mask_indices as mask_indices, logspace as logspace, meshgrid as meshgrid, ones_like as ones_like,
    result_type as result_type, zeros_like as zeros_like,
)
from funcgrad.numpy._layout.makers import (
    arange as arange, array as array, asarray as asarray, empty as empty, eye as eye, from_dlpack as from_dlpack,
    full as full, identity as identity, ones as ones, tri as tri, zeros as zeros,
)
from funcgrad.numpy._reduce.cumulative import (
    cumprod as cumprod, cumsum as cumsum, cumulative_prod as cumulative_prod, cumulative_sum as cumulative_sum,
)
from funcgrad.numpy._contract.convolutions import convolve as convolve, correlate as correlate
from funcgrad.numpy._contract.einsum import einsum as einsum, einsum_path as einsum_path
from funcgrad.numpy._math.elementwise import (
    absolute as abs, absolute as absolute, add as add, divide as divide, divmod_ as divmod, equal as equal,
    float_power as float_power, greater as greater, greater_equal as greater_equal, less as less,
    less_equal as less_equal, log as log, maximum as maximum, minimum as minimum, multiply as multiply,
    negative as negative, not_equal as not_equal, positive as positive, power as pow, power as power, sign as sign,
    sqrt as sqrt, subtract as subtract, true_divide as true_divide,
)
from funcgrad.numpy._layout.joining import (
    append as append, array_split as array_split, block as block, column_stack as column_stack, concat as concat,
    concatenate as concatenate, dsplit as dsplit, dstack as dstack, hsplit as hsplit, hstack as hstack, split as split,
    stack as stack, unstack as unstack, vsplit as vsplit, vstack as vstack,
)
from funcgrad.numpy._math.integer import bitwise_count as bitwise_count, gcd as gcd, lcm as lcm
from funcgrad.numpy._math.integer import packbits as packbits, unpackbits as unpackbits
from funcgrad.numpy._math.logic import (
    allclose as allclose, array_equal as array_equal, array_equiv as array_equiv, bitwise_and as bitwise_and,
    bitwise_invert as bitwise_invert, bitwise_left_shift as bitwise_left_shift, bitwise_not as bitwise_not,
    bitwise_or as bitwise_or, bitwise_right_shift as bitwise_right_shift, bitwise_xor as bitwise_xor, fmax as fmax,
    fmin as fmin, heaviside as heaviside, invert as invert, isclose as isclose, iscomplex as iscomplex,
    iscomplexobj as iscomplexobj, isfinite as isfinite, isinf as isinf, isnan as isnan, isneginf as isneginf,
    isposinf as isposinf, isreal as isreal, isrealobj as isrealobj, left_shift as left_shift,
    logical_and as logical_and, logical_not as logical_not, logical_or as logical_or, logical_xor as logical_xor,
    right_shift as right_shift,
)
from funcgrad.numpy._reduce.nan_reductions import (
    nanargmax as nanargmax, nanargmin as nanargmin, nancumprod as nancumprod, nancumsum as nancumsum, nanmax as nanmax,
    nanmean as nanmean, nanmin as nanmin, nanprod as nanprod, nanstd as nanstd, nansum as nansum, nanvar as nanvar,
)
from funcgrad.numpy._layout.padding import delete as delete, insert as insert, pad as pad
from funcgrad.numpy._layout.rearrange import (
    flip as flip, fliplr as fliplr, flipud as flipud, repeat as repeat, roll as roll, rot90 as rot90, tile as tile,
)
from funcgrad.numpy._contract.polynomials import (
    polyadd as polyadd, polyder as polyder, polydiv as polydiv, polyint as polyint, polymul as polymul,
    polysub as polysub, polyval as polyval, trim_zeros as trim_zeros, vander as vander,
)
from funcgrad.numpy.linalg._polynomials import poly as poly, polyfit as polyfit, roots as roots
from funcgrad.numpy._reduce.covariance import corrcoef as corrcoef, cov as cov
from funcgrad.numpy._reduce.histograms import (
    bincount as bincount, digitize as digitize, histogram as histogram, histogram2d as histogram2d,
    histogram_bin_edges as histogram_bin_edges, histogramdd as histogramdd,
)
from funcgrad.numpy._reduce.quantiles import (
    median as median, nanmedian as nanmedian, nanpercentile as nanpercentile, nanquantile as nanquantile,
    percentile as percentile, quantile as quantile,
)
from funcgrad.numpy._reduce.reductions import (
    all_ as all, any_ as any, argmax as argmax, argmin as argmin, count_nonzero as count_nonzero, max_ as amax,
    max_ as max, min_ as amin, min_ as min, prod as prod, ptp as ptp, sum_ as sum,
)
from funcgrad.numpy._math.rounding import (
    around as around, ceil as ceil, copysign as copysign, fix as fix, floor as floor, floor_divide as floor_divide,
    fmod as fmod, frexp as frexp, ldexp as ldexp, mod as mod, modf as modf, nextafter as nextafter,
    remainder as remainder, rint as rint, round_ as round, signbit as signbit, spacing as spacing, trunc as trunc,
)
from funcgrad.numpy._choose.take import (
    argwhere as argwhere, choose as choose, compress as compress, diag as diag, diagflat as diagflat,
    extract as extract, flatnonzero as flatnonzero, nonzero as nonzero, take as take,
    take_along_axis as take_along_axis, tril as tril, triu as triu,
)
from funcgrad.numpy._layout.windows import apply_along_axis as apply_along_axis, apply_over_axes as apply_over_axes
from funcgrad.numpy._layout.places import (
    diag_indices_from as diag_indices_from, ravel_multi_index as ravel_multi_index,
    tril_indices_from as tril_indices_from, triu_indices_from as triu_indices_from, unravel_index as unravel_index,
)
from funcgrad.numpy._choose.piecewise import piecewise as piecewise
from funcgrad.numpy._choose.flat import resize as resize
from funcgrad.numpy._choose.sets import (
    intersect1d as intersect1d, isin as isin, setdiff1d as setdiff1d, setxor1d as setxor1d, union1d as union1d,
    unique as unique, unique_all as unique_all, unique_counts as unique_counts, unique_inverse as unique_inverse,
    unique_values as unique_values,
)
from funcgrad.numpy._layout.shape import (
    atleast_1d as atleast_1d, atleast_2d as atleast_2d, atleast_3d as atleast_3d, broadcast_arrays as broadcast_arrays,
    broadcast_to as broadcast_to, expand_dims as expand_dims, matrix_transpose as matrix_transpose,
    moveaxis as moveaxis, ndim as ndim, permute_dims as permute_dims, ravel as ravel, reshape as reshape,
    rollaxis as rollaxis, shape as shape, size as size, squeeze as squeeze, swapaxes as swapaxes,
    transpose as transpose,
)
from funcgrad.numpy._reduce.sorting import (
    argpartition as argpartition, argsort as argsort, lexsort as lexsort, partition as partition,
    searchsorted as searchsorted, sort as sort, sort_complex as sort_complex,
)
from funcgrad.numpy._reduce.statistics import average as average, mean as mean, std as std, var as var
from funcgrad.numpy._math.transcendental import (
    acos as acos, acosh as acosh, arccos as arccos, arccosh as arccosh, arcsin as arcsin, arcsinh as arcsinh,
    arctan as arctan, arctan2 as arctan2, arctanh as arctanh, asin as asin, asinh as asinh, atan as atan,
    atan2 as atan2, atanh as atanh, cbrt as cbrt, cos as cos, cosh as cosh, deg2rad as deg2rad, degrees as degrees,
    exp as exp, exp2 as exp2, expm1 as expm1, fabs as fabs, hypot as hypot, i0 as i0, log1p as log1p, log2 as log2,
    log10 as log10, logaddexp as logaddexp, logaddexp2 as logaddexp2, rad2deg as rad2deg, radians as radians,
    reciprocal as reciprocal, sin as sin, sinc as sinc, sinh as sinh, square as square, tan as tan, tanh as tanh,
)
from numpy import (
    bool_ as bool, e as e, euler_gamma as euler_gamma, inf as inf, nan as nan,
    newaxis as newaxis, pi as pi, bool_ as bool_, complex64 as complex64, complex128 as complex128, float16 as float16,
    float32 as float32, float64 as float64, int8 as int8, int16 as int16, int32 as int32, int64 as int64,
    uint8 as uint8, uint16 as uint16, uint32 as uint32, uint64 as uint64, dtype as dtype, finfo as finfo,
    iinfo as iinfo, isdtype as isdtype, issubdtype as issubdtype,
)
# fmt: on

globals().update(_shortcuts(globals()) | _array_api)
polynomial = _LazyModule("funcgrad.numpy.polynomial")  # NumPy loads its own when it is first used, too: 11 ms.


def __getattr__(name: str) -> _Any:
    return _of_numpys(name)


__dir__ = _publish(__name__)
