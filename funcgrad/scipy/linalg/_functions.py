"""Functions of matrices of ``scipy.linalg``: not of their elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.bind import NO_PARAMS, bind
from funcgrad._ops.linalg import exponential, general, logarithm, root
from funcgrad._ops.linalg.matrices import product, scaled_columns
from funcgrad._ops.linalg.solve import solve
from funcgrad._ops.program.barrier import stop_gradient_p
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy.extend import as_value, concrete_value, known_value, promote
from funcgrad.scipy.linalg._arguments import array, refuse, refuse_infinite, squares


def expm(A: ArrayLike) -> Array:  # noqa: N803  (SciPy's name)
    """Compute the exponential of a square matrix, the sum of ``A^k / k!``.

    Args:
        A: f[..., n, n]. On XLA the result is NaN where its 1-norm is beyond 350,000.

    Returns:
        f[..., n, n].

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> turn = lambda angle: fg.scipy.linalg.expm(angle * np.array([[0.0, -1.0], [1.0, 0.0]]))
        >>> np.round(turn(np.pi / 2), 6) + 0.0
        array([[ 0., -1.],
               [ 1.,  0.]])
        >>> print(round(float(fg.grad(lambda angle: turn(angle)[1, 0])(0.0)), 6))
        1.0

    Rule: Najfeld and Havel, "Derivatives of the matrix exponential and their computation", 1995: a block of the
    exponential of a matrix twice as large.
    """
    return exponential.expm(squares("scipy.linalg.expm", A, "A"))


def expm_frechet(
    A: ArrayLike,  # noqa: N803  (SciPy's name)
    E: ArrayLike,  # noqa: N803  (SciPy's name)
    method: str | None = None,
    compute_expm: bool = True,
    check_finite: bool = True,
) -> Any:
    """Compute the exponential of a matrix and its derivative along another one.

    Args:
        A: f[..., n, n].
        E: f[..., n, n], the direction.
        method: SciPy's; there is one way here.
        compute_expm: whether to return the exponential too.
        check_finite: whether infinities and NaN raise ``ValueError``; not checked under `jit` and `vmap`.

    Returns:
        f[..., n, n] twice, or only the derivative.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.expm_frechet(np.zeros((2, 2)), np.eye(2), compute_expm=False)
        array([[1., 0.],
               [0., 1.]])

    Source: Najfeld and Havel, "Derivatives of the matrix exponential and their computation", 1995, equation 10.
    """
    del method
    refuse_infinite("expm_frechet", check_finite, A, E)
    name = "scipy.linalg.expm_frechet"
    # SciPy computes in double precision.
    a, e, _ = promote(squares(name, A, "A"), squares(name, E, "E"), np.empty(0))
    a, e = fnp.broadcast_arrays(a, e)
    along = exponential.frechet(e, a)
    return (exponential.expm(a), along) if compute_expm else along


def _principal(function: Any, x: ArrayLike) -> Array:
    """Compute a function that may have no real value for a real matrix.

    If the numbers are known, the result is then complex.
    """
    y = function(x)
    if x.dtype.kind != "c":
        known, given = known_value(y), known_value(x)
        if known is not None and given is not None and np.isnan(known).any() and np.isfinite(given).all():
            return function(fnp.astype(x, np.result_type(x.dtype, 1j if x.dtype == float else np.complex64)))
    return y


def sqrtm(A: ArrayLike) -> Array:  # noqa: N803  (SciPy's name)
    """Compute the principal square root of a square matrix, ``X X = A``.

    Args:
        A: f[..., n, n]. The root of a real matrix with known numbers is complex if there is no real one. Under ``jit``
            it is real, or NaN if there is no real one: write ``A.astype(complex)`` for the complex one. XLA has it on
            CPUs.

    Returns:
        f[..., n, n], or complex.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.sqrtm(np.array([[4.0, 0.0], [0.0, 9.0]]))
        array([[2., 0.],
               [0., 3.]])

    Rule: Higham, "Functions of matrices", 2008, section 6.1: the derivative solves a Sylvester equation.
    """
    refuse_infinite("sqrtm", True, A)
    return _principal(root.sqrtm, squares("scipy.linalg.sqrtm", A, "A"))


def logm(A: ArrayLike) -> Array:  # noqa: N803  (SciPy's name)
    """Compute the principal logarithm of a square matrix, ``expm(X) = A``.

    Args:
        A: f[..., n, n]. The logarithm of a real matrix with known numbers is complex if there is no real one. Under
            ``jit`` it is real, or NaN if there is no real one: write ``A.astype(complex)`` for the complex one. XLA has
            it on CPUs.

    Returns:
        f64[..., n, n], or c128[..., n, n]: in double precision, as SciPy's.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> log_det = lambda a: np.trace(fg.scipy.linalg.logm(a))
        >>> fg.grad(log_det)(np.array([[2.0, 0.0], [0.0, 4.0]])).round(6)
        array([[0.5 , 0.  ],
               [0.  , 0.25]])

    Rule: Higham, "Functions of matrices", 2008, theorem 3.6: a block of the logarithm of a matrix twice as large.
    """
    refuse_infinite("logm", True, A)
    return _principal(logarithm.logm, _double(squares("scipy.linalg.logm", A, "A")))


def _double(x: ArrayLike) -> Array:
    return fnp.astype(x, np.result_type(x.dtype, float))


def fractional_matrix_power(A: ArrayLike, t: ArrayLike) -> Array:  # noqa: N803  (SciPy's name)
    """Compute a power of a square matrix, ``expm(t logm(A))``; by products where ``t`` is a plain whole number.

    Args:
        A: f[..., n, n], which is not singular unless ``t`` is whole; see `logm`.
        t: a number; it has a derivative too.

    Returns:
        f[..., n, n], or complex.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.fractional_matrix_power(np.array([[4.0, 0.0], [0.0, 9.0]]), 0.5).round(6)
        array([[2., 0.],
               [0., 3.]])
    """
    a = squares("scipy.linalg.fractional_matrix_power", A, "A")
    if issubclass(type(t), int | float | np.integer | np.floating) and float(t).is_integer():
        return fnp.linalg.matrix_power(a, int(t))
    refuse_infinite("fractional_matrix_power", True, a)
    return exponential.expm(as_value(t) * _principal(logarithm.logm, _double(a)))


def _turned(a: ArrayLike) -> Array:
    """Return ``exp(i a)``."""
    return exponential.expm(1j * a)


def cosm(A: ArrayLike) -> Array:  # noqa: N803  (SciPy's name)
    """Compute the cosine of a square matrix.

    Args:
        A: f[..., n, n].

    Returns:
        f[..., n, n].

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.cosm(np.zeros((1, 1)))
        array([[1.]])
    """
    a = squares("scipy.linalg.cosm", A, "A")
    return 0.5 * (_turned(a) + _turned(-a)) if a.dtype.kind == "c" else fnp.real(_turned(a))


def sinm(A: ArrayLike) -> Array:  # noqa: N803  (SciPy's name)
    """Compute the sine of a square matrix; as `cosm`."""
    a = squares("scipy.linalg.sinm", A, "A")
    return -0.5j * (_turned(a) - _turned(-a)) if a.dtype.kind == "c" else fnp.imag(_turned(a))


def tanm(A: ArrayLike) -> Array:  # noqa: N803  (SciPy's name)
    """Compute the tangent of a square matrix; as `cosm`."""
    return solve(cosm(A), sinm(A))


def _grown(name: str, x: ArrayLike) -> tuple[Any, Any]:
    a = squares(f"scipy.linalg.{name}", x, "A")
    return exponential.expm(a), exponential.expm(-a)


def coshm(A: ArrayLike) -> Array:  # noqa: N803  (SciPy's name)
    """Compute the hyperbolic cosine of a square matrix; as `cosm`."""
    grown, fallen = _grown("coshm", A)
    return 0.5 * (grown + fallen)


def sinhm(A: ArrayLike) -> Array:  # noqa: N803  (SciPy's name)
    """Compute the hyperbolic sine of a square matrix; as `cosm`."""
    grown, fallen = _grown("sinhm", A)
    return 0.5 * (grown - fallen)


def tanhm(A: ArrayLike) -> Array:  # noqa: N803  (SciPy's name)
    """Compute the hyperbolic tangent of a square matrix; as `cosm`."""
    grown, fallen = _grown("tanhm", A)
    return solve(grown + fallen, grown - fallen)


def funm(A: ArrayLike, func: Any, disp: bool = True) -> Array:  # noqa: N803  (SciPy's name)
    """Compute a function of a square matrix from the function of its eigenvalues.

    Args:
        A: f[..., n, n], with distinct eigenvalues: where eigenvectors are (almost) missing the result is NaN, and
            where eigenvalues are equal the derivative is. Prefer the functions that have names.
        func: an elementwise function of an array of complex numbers.
        disp: refused but for True.

    Returns:
        f[..., n, n] or c[..., n, n]: of a real matrix the numbers have to be known, on which SciPy's dtype depends.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.funm(np.array([[1.0, 2.0], [0.0, 3.0]]), np.square).round(6)
        array([[1., 8.],
               [0., 9.]])

    Source: Higham, "Functions of matrices", 2008, section 4.5: by diagonalisation.
    """
    if not disp:
        refuse("funm", "disp=False asks for an estimate of the error", "Leave it out.")
    refuse_infinite("funm", True, A)
    a = squares("scipy.linalg.funm", A, "A")
    w, v = general.eig(a)
    inverse = fnp.linalg.inv(v)
    y = product(scaled_columns(v, func(w)), inverse)
    again = product(scaled_columns(v, w), inverse)
    eps = float(np.finfo(v.dtype).eps)
    missed = fnp.amax(fnp.absolute(again - a), axis=(-2, -1), initial=0, keepdims=True)
    y = fnp.where(missed > 1e4 * eps * fnp.amax(fnp.absolute(a), axis=(-2, -1), initial=0, keepdims=True), np.nan, y)
    if a.dtype.kind == "c":
        return y
    known = concrete_value(
        y, "scipy.linalg.funm of a real matrix, whose dtype depends on them (A.astype(complex) has one),"
    )
    is_real = abs(np.imag(known)).max(initial=0) <= 1e3 * eps * abs(known).max(initial=0)
    return fnp.real(y) if is_real else y


def norm(
    a: ArrayLike,
    ord: Any = None,  # noqa: A002  (SciPy's name)
    axis: Any = None,
    keepdims: bool = False,
    check_finite: bool = True,
) -> Array:
    """Compute the norm of a vector or matrix, as ``numpy.linalg.norm``.

    The Euclidean norm of a whole array does not overflow or underflow on the way, as in SciPy.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.grad(fg.scipy.linalg.norm)(np.array([3.0, 4.0]))
        array([0.6, 0.8])
    """
    refuse_infinite("norm", check_finite, a)
    a = array(a)
    euclidean = ord is None or ord == "fro" or (ord == 2 and len(a.shape) == 1)
    if not euclidean or axis is not None or keepdims or 0 in a.shape or a.dtype.kind not in "fc":
        return fnp.linalg.norm(a, ord, axis, keepdims)
    largest = bind(stop_gradient_p, (fnp.max(fnp.absolute(a)),), NO_PARAMS)
    info = np.finfo(a.dtype)
    # Between these bounds the squares and their sum are normal numbers.
    low, high = float(info.tiny) ** 0.5 / float(info.eps), float(info.max) ** 0.5 * float(info.eps)
    usual = (largest == 0) | ((largest > low) & (largest < high)) | ~fnp.isfinite(largest)
    scale = fnp.where(usual, fnp.ones_like(largest), largest)
    return fnp.linalg.norm(a / scale, ord) * scale
