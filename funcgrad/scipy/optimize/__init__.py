"""Roots and minima that SciPy finds, with derivatives by the implicit function theorem."""

from funcgrad._public import publish
from funcgrad.scipy.optimize._fits import curve_fit as curve_fit
from funcgrad.scipy.optimize._fits import least_squares as least_squares
from funcgrad.scipy.optimize._lines import brent as brent
from funcgrad.scipy.optimize._lines import fminbound as fminbound
from funcgrad.scipy.optimize._lines import golden as golden
from funcgrad.scipy.optimize._minimize import minimize as minimize
from funcgrad.scipy.optimize._minimize import minimize_scalar as minimize_scalar
from funcgrad.scipy.optimize._roots import fixed_point as fixed_point
from funcgrad.scipy.optimize._roots import fsolve as fsolve
from funcgrad.scipy.optimize._roots import root as root
from funcgrad.scipy.optimize._rosen import rosen as rosen
from funcgrad.scipy.optimize._rosen import rosen_der as rosen_der
from funcgrad.scipy.optimize._rosen import rosen_hess as rosen_hess
from funcgrad.scipy.optimize._rosen import rosen_hess_prod as rosen_hess_prod
from funcgrad.scipy.optimize._scalars import bisect as bisect
from funcgrad.scipy.optimize._scalars import brenth as brenth
from funcgrad.scipy.optimize._scalars import brentq as brentq
from funcgrad.scipy.optimize._scalars import newton as newton
from funcgrad.scipy.optimize._scalars import ridder as ridder
from funcgrad.scipy.optimize._scalars import root_scalar as root_scalar
from funcgrad.scipy.optimize._scalars import toms748 as toms748

__all__ = [
    "bisect",
    "brent",
    "brenth",
    "brentq",
    "curve_fit",
    "fixed_point",
    "fminbound",
    "fsolve",
    "golden",
    "least_squares",
    "minimize",
    "minimize_scalar",
    "newton",
    "ridder",
    "root",
    "root_scalar",
    "rosen",
    "rosen_der",
    "rosen_hess",
    "rosen_hess_prod",
    "toms748",
]

# SciPy's own functions of these names use operators, and would process traced values element by element.
TAKE_ELEMENTS = frozenset({"rosen", "rosen_der", "rosen_hess", "rosen_hess_prod"})

# SciPy's own functions of these names compare the values of the user's function. A comparison carries no derivative, so
# that of golden's result would be 0, and that of brent's would depend on its last steps.
COMPARES = frozenset({"bisect", "brent", "brenth", "brentq", "fmin_powell", "fminbound", "golden", "ridder", "toms748"})
INSTEAD = {
    name: f"SciPy's older function has none. Call fg.scipy.optimize.minimize(..., method={method!r}), which has one."
    for name, method in {
        "fmin": "Nelder-Mead",
        "fmin_bfgs": "BFGS",
        "fmin_cg": "CG",
        "fmin_cobyla": "COBYLA",
        "fmin_l_bfgs_b": "L-BFGS-B",
        "fmin_ncg": "Newton-CG",
        "fmin_powell": "Powell",
        "fmin_slsqp": "SLSQP",
        "fmin_tnc": "TNC",
    }.items()
}

__dir__ = publish(__name__)
