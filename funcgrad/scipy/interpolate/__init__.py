"""``scipy.interpolate`` for arrays of either engine and for tracers, as queries and as data.

SciPy's classes hold plain numbers; use the classes here for traced values, coefficients, positions and points. Under
``jit`` the order of points is not known, and they are assumed to increase.
"""

from funcgrad._public import publish
from funcgrad.scipy.interpolate._bsplines import BSpline
from funcgrad.scipy.interpolate._cubic import Akima1DInterpolator, CubicHermiteSpline, CubicSpline, PchipInterpolator
from funcgrad.scipy.interpolate._grids import RegularGridInterpolator, interpn
from funcgrad.scipy.interpolate._lines import interp1d
from funcgrad.scipy.interpolate._polynomials import PPoly
from funcgrad.scipy.interpolate._through import make_interp_spline

__all__ = [
    "Akima1DInterpolator",
    "BSpline",
    "CubicHermiteSpline",
    "CubicSpline",
    "PPoly",
    "PchipInterpolator",
    "RegularGridInterpolator",
    "interp1d",
    "interpn",
    "make_interp_spline",
]
__dir__ = publish(__name__)
