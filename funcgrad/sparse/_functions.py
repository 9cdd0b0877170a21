"""The public functions of `funcgrad.sparse`; they check the options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.words import shown
from funcgrad._engines import engine_named
from funcgrad._transforms.base.arguments import check_callable, checked_argnums
from funcgrad.sparse._matrix import SparseDerivative
from funcgrad.sparse._plan import Request

# The most entries of a pattern: 250 MB of column numbers and bools.
_MOST_NONZEROS = 50_000_000


def _request(
    transform: str,
    f: Callable[..., Any],
    argnums: Any,
    max_nonzeros: Any,
    *,
    of_gradient: bool,
    mode: str | None = None,
    engine: str = "numpy",
) -> Request:
    """Return the request, after checking its options."""
    check_callable(transform, f)
    number = checked_argnums(transform, f, argnums)
    if not isinstance(number, int):
        raise TypeError(
            f"{transform}: argnums is {shown(argnums)}; needed one position, since a matrix has the columns of one "
            "argument. Call it once for each argument, or join them with fg.tree.ravel."
        )
    if mode not in (None, "forward", "reverse", "both"):
        raise ValueError(
            f"{transform}: mode is {shown(mode)}; needed 'forward' for columns, 'reverse' for rows, 'both', or None, "
            "which takes the fewest products. Name one."
        )
    if isinstance(max_nonzeros, bool) or not isinstance(max_nonzeros, int | np.integer):
        raise TypeError(
            f"{transform}: max_nonzeros is a {type(max_nonzeros).__name__}; needed the most entries of a pattern, an "
            "integer. Leave it out for 50 million."
        )
    if max_nonzeros < 1:
        raise ValueError(
            f"{transform}: max_nonzeros is {max_nonzeros}; needed the most entries of a pattern, 1 or more. Leave it "
            "out for 50 million."
        )
    engine_named(engine)
    return Request(transform, f, number, of_gradient, mode, engine, int(max_nonzeros))


def jacobian(
    f: Callable[..., Any],
    argnums: int = 0,
    *,
    mode: str | None = None,
    engine: str = "numpy",
    max_nonzeros: int = _MOST_NONZEROS,
) -> SparseDerivative:
    """Make the function that computes a Jacobian as a sparse matrix, from its pattern and few products.

    The pattern comes from the program of ``f``: which elements each operation reads. Columns that share no row are
    computed together, by one product of the Jacobian with a vector; a tridiagonal Jacobian of any size takes three. All
    products are one batched evaluation, compiled once. Where the program of a product only moves, scales and adds
    elements, the elements of the Jacobian are computed directly.

    Args:
        f: a function that returns one float array. It may have other arguments, which may be pytrees.
        argnums: the position of the argument to differentiate by, one float array ``x``.
        mode: ``"forward"`` (products with columns), ``"reverse"`` (products with rows), ``"both"`` (the longest rows by
            products with rows, the others by columns), or ``None``, which takes the fewest products, or none where the
            elements can be computed directly.
        engine: the engine that compiles the products: ``"numpy"``, ``"numba"`` or ``"xla"``.
        max_nonzeros: the most entries of a pattern, also of intermediate arrays. Each takes 5 to 9 bytes.

    Returns:
        A `SparseDerivative` ``J``. ``J(x)`` is a ``scipy.sparse.csr_array`` of shape ``(f(x).size, x.size)``, with the
        elements of both arrays in C order. It has the same structure for all arguments of the same shapes and dtypes,
        so elements that are zero at this point are stored, too. ``J.pattern(x)``, ``J.colors(x)`` and
        ``J.structure(x)`` describe it.

    Raises:
        NotDifferentiableError: the argument is not of a real float dtype, or the result is of integer or boolean dtype.
        PatternSizeError: when called: a pattern has more than ``max_nonzeros`` entries.
        TracerArrayConversionError: when called with traced values; see `jacobian_values`.
        TypeError: ``argnums`` is no integer, or the argument or the result is no array.
        ValueError: ``mode`` or ``engine`` is unknown, or ``max_nonzeros`` is below 1.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> J = fg.sparse.jacobian(lambda x: x[1:] * x[:-1])
        >>> J(np.array([1.0, 2.0, 3.0])).toarray()
        array([[2., 1., 0.],
               [0., 3., 2.]])
        >>> J.colors(np.ones(1000)).products
        2

        SciPy's solvers take it as their ``jac``:

        >>> from scipy.optimize import least_squares
        >>> def broyden(x):
        ...     y = np.pad(x, 1)
        ...     return (3 - 2 * x) * x + 1 - y[:-2] - 2 * y[2:]
        >>> found = least_squares(broyden, -np.ones(500), jac=fg.sparse.jacobian(broyden))
        >>> bool(np.abs(found.fun).max() < 1e-6)
        True

    An index array that ``f`` closes over is part of the pattern. An index that is an argument, or is computed from one,
    may select any element. Arrays that ``f`` closes over are read once, as by `jit`.

    Source: Curtis, Powell and Reid, *On the Estimation of Sparse Jacobian Matrices* (1974); Gebremedhin, Manne and
    Pothen, *What Color Is Your Jacobian?*, SIAM Review 47 (2005).
    """
    return SparseDerivative(
        _request("sparse.jacobian", f, argnums, max_nonzeros, of_gradient=False, mode=mode, engine=engine)
    )


def jacobian_pattern(
    f: Callable[..., Any], argnums: int = 0, *, max_nonzeros: int = _MOST_NONZEROS
) -> Callable[..., Any]:
    """Make the function that computes which elements of a Jacobian may be nonzero.

    Args:
        f: as for `jacobian`.
        argnums: as for `jacobian`.
        max_nonzeros: as for `jacobian`.

    Returns:
        A function of the arguments of ``f``, of which only shapes and dtypes are used (`ShapeDtype` is enough). It
        returns a ``scipy.sparse.csr_array`` of bools that holds for all numbers: for both sides of a choice, and for
        all elements that an index may select.

    Raises:
        NotDifferentiableError: as for `jacobian`.
        PatternSizeError: when called: a pattern has more than ``max_nonzeros`` entries.
        TypeError: as for `jacobian`.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.sparse.jacobian_pattern(lambda x: x[1:] * x[:-1])(np.ones(3)).toarray().astype(int)
        array([[1, 1, 0],
               [0, 1, 1]])

    The rules of the operations are fields of the primitives. An operation without a rule is dense.
    """
    return SparseDerivative(_request("sparse.jacobian_pattern", f, argnums, max_nonzeros, of_gradient=False)).pattern


def jacobian_values(
    f: Callable[..., Any], argnums: int = 0, *, mode: str | None = None, max_nonzeros: int = _MOST_NONZEROS
) -> Callable[..., Any]:
    """Make the function that computes the elements of a sparse Jacobian as an array, which composes with transforms.

    Args:
        f: as for `jacobian`.
        argnums: as for `jacobian`.
        mode: as for `jacobian`.
        max_nonzeros: as for `jacobian`.

    Returns:
        A function of the arguments of ``f``. It returns the elements, a vector, in the order of
        ``fg.sparse.jacobian(f).structure(x)``. The arguments may be traced: it works under `jit`, `vmap`, `grad` and
        inside itself.

    Raises:
        NotDifferentiableError: as for `jacobian`.
        PatternSizeError: as for `jacobian`.
        TypeError: as for `jacobian`.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> values = fg.sparse.jacobian_values(lambda x: x[1:] * x[:-1])
        >>> values(np.array([1.0, 2.0, 3.0]))
        array([2., 1., 3., 2.])
        >>> fg.grad(lambda x: np.sum(values(x) ** 2))(np.array([1.0, 2.0, 3.0]))
        array([2., 8., 6.])
    """
    return SparseDerivative(
        _request("sparse.jacobian_values", f, argnums, max_nonzeros, of_gradient=False, mode=mode)
    ).values


def hessian(
    f: Callable[..., Any], argnums: int = 0, *, engine: str = "numpy", max_nonzeros: int = _MOST_NONZEROS
) -> SparseDerivative:
    """Make the function that computes a Hessian as a sparse matrix, from its pattern and few products.

    The pattern is that of the second derivatives: a sum of functions of few elements each has few. Columns are grouped
    by a star colouring, which reads each element from one of two products.

    Args:
        f: a function that returns a real scalar.
        argnums: as for `jacobian`.
        engine: as for `jacobian`.
        max_nonzeros: as for `jacobian`.

    Returns:
        A `SparseDerivative` ``H``, as for `jacobian`. ``H(x)`` has both triangles.

    Raises:
        NonScalarOutputError: when called: the result is not a real scalar.
        NotDifferentiableError: as for `jacobian`.
        PatternSizeError: as for `jacobian`.
        TracerArrayConversionError: when called with traced values; see `hessian_values`.
        TypeError: as for `jacobian`.
        ValueError: ``engine`` is unknown, or ``max_nonzeros`` is below 1.

    Example:
        >>> import numpy as np
        >>> from scipy.optimize import minimize, rosen
        >>> import funcgrad as fg
        >>> def f(x):
        ...     return np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)
        >>> H = fg.sparse.hessian(f)
        >>> H(np.ones(3)).toarray()
        array([[ 802., -400.,    0.],
               [-400., 1002., -400.],
               [   0., -400.,  200.]])
        >>> H.colors(np.ones(1000)).products
        3
        >>> found = minimize(f, np.zeros(50), method="trust-constr", jac=fg.grad(f), hess=H)
        >>> bool(np.abs(found.x - 1).max() < 1e-4)
        True

    If a part of ``f`` has a rule of its own (`custom_jvp`, `custom_vjp`), the matrix need not be
    symmetric. Then it is computed column by column, as `fg.hessian` is.

    Source: Gebremedhin, Tarafdar, Manne and Pothen, *New Acyclic and Star Coloring Algorithms with Application to
    Computing Hessians*, SIAM Journal on Scientific Computing 29 (2007).
    """
    return SparseDerivative(_request("sparse.hessian", f, argnums, max_nonzeros, of_gradient=True, engine=engine))


def hessian_pattern(
    f: Callable[..., Any], argnums: int = 0, *, max_nonzeros: int = _MOST_NONZEROS
) -> Callable[..., Any]:
    """Make the function that computes which elements of a Hessian may be nonzero.

    Args:
        f: as for `hessian`.
        argnums: as for `jacobian`.
        max_nonzeros: as for `jacobian`.

    Returns:
        A function of the arguments of ``f``, as `jacobian_pattern` returns.

    Raises:
        NonScalarOutputError: when called: the result is not a real scalar.
        NotDifferentiableError: as for `jacobian`.
        PatternSizeError: as for `jacobian`.
        TypeError: as for `jacobian`.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.sparse.hessian_pattern(lambda x: x[0] * x[1] + x[2] ** 3 + x[1])(np.ones(3)).toarray().astype(int)
        array([[0, 1, 0],
               [1, 0, 0],
               [0, 0, 1]])
    """
    return SparseDerivative(_request("sparse.hessian_pattern", f, argnums, max_nonzeros, of_gradient=True)).pattern


def hessian_values(
    f: Callable[..., Any], argnums: int = 0, *, max_nonzeros: int = _MOST_NONZEROS
) -> Callable[..., Any]:
    """Make the function that computes the elements of a sparse Hessian as an array, which composes with transforms.

    Args:
        f: as for `hessian`.
        argnums: as for `jacobian`.
        max_nonzeros: as for `jacobian`.

    Returns:
        A function of the arguments of ``f``, which may be traced. It returns the elements in the order of
        ``fg.sparse.hessian(f).structure(x)``.

    Raises:
        NonScalarOutputError: the result is not a real scalar.
        NotDifferentiableError: as for `jacobian`.
        PatternSizeError: as for `jacobian`.
        TypeError: as for `jacobian`.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.sparse.hessian_values(lambda x: np.sum(x[1:] * x[:-1] ** 2))(np.array([1.0, 2.0, 3.0]))
        array([4., 2., 2., 6., 4., 4.])
    """
    return SparseDerivative(_request("sparse.hessian_values", f, argnums, max_nonzeros, of_gradient=True)).values
