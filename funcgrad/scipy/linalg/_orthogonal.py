"""Orthonormal columns in ``scipy.linalg``: the polar form, the nearest rotation, angles between subspaces."""

from __future__ import annotations

from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import type_text
from funcgrad._ops.linalg.matrices import adjoint, hermitian_part, product
from funcgrad._ops.linalg.polar import unitary_factor
from funcgrad._types import Array, ArrayLike
from funcgrad.numpy.extend import promote
from funcgrad.scipy.linalg._arguments import lapack, refuse_infinite


def _matrices(name: str, *xs: ArrayLike) -> list[Any]:
    found = [lapack(x) for x in xs]
    for x in found:
        if len(x.shape) < 2:
            raise ValueError(f"scipy.linalg.{name}: an argument is {type_text(x.shape, x.dtype)}; needed matrices.")
    return list(promote(*found))


def _nearest(a: ArrayLike) -> Array:
    """Return the nearest matrix with orthonormal columns, or rows."""
    return unitary_factor(a) if a.shape[-2] >= a.shape[-1] else adjoint(unitary_factor(adjoint(a)))


def polar(a: ArrayLike, side: str = "right") -> tuple[Any, Any]:
    """Factor a matrix into one with orthonormal columns or rows, and a Hermitian positive semidefinite one.

    Args:
        a: f[..., m, n]. There is a derivative where its rank is full, also where singular values are equal.
        side: 'right' for ``a = u p``, 'left' for ``a = p u``.

    Returns:
        ``u``, f[..., m, n], and ``p``, f[..., n, n] or f[..., m, m].

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> u, p = fg.scipy.linalg.polar(np.array([[0.0, -2.0], [3.0, 0.0]]))
        >>> p.round(6)
        array([[3., 0.],
               [0., 2.]])

    Rule: Kenney and Laub, "Polar decomposition and matrix sign function condition estimates", 1991.
    """
    if side not in ("right", "left"):
        raise ValueError(f"scipy.linalg.polar: side is {side!r}; `side` must be either 'right' or 'left'. Pass one.")
    refuse_infinite("polar", True, a)
    (a,) = _matrices("polar", a)
    u = _nearest(a)
    return u, hermitian_part(product(adjoint(u), a) if side == "right" else product(a, adjoint(u)))


def orthogonal_procrustes(
    A: ArrayLike,  # noqa: N803  (SciPy's name)
    B: ArrayLike,  # noqa: N803  (SciPy's name)
    check_finite: bool = True,
) -> tuple[Any, Any]:
    """Find the orthogonal matrix that maps one matrix nearest to another: the least ``norm(A R - B)``.

    Args:
        A: f[m, n].
        B: f[m, n].
        check_finite: whether infinities and NaN raise ``ValueError``; not checked under `jit` and `vmap`.

    Returns:
        ``R``, f[n, n], and the sum of the singular values of ``A.T B``.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> a = np.array([[1.0, 0.0], [0.0, 2.0]])
        >>> fg.scipy.linalg.orthogonal_procrustes(a, a[:, ::-1])[0].round(6) + 0.0
        array([[0., 1.],
               [1., 0.]])
    """
    refuse_infinite("orthogonal_procrustes", check_finite, A, B)
    a, b = _matrices("orthogonal_procrustes", A, B)
    if a.shape != b.shape:
        raise ValueError(
            f"scipy.linalg.orthogonal_procrustes: the shapes of A and B differ ({a.shape} vs {b.shape}); needed the "
            "same. Leave out what has no counterpart."
        )
    along = product(adjoint(a), b)
    return _nearest(along), fnp.sum(fnp.linalg.svdvals(along), axis=-1)


def subspace_angles(A: ArrayLike, B: ArrayLike) -> Array:  # noqa: N803  (SciPy's names)
    """Find the angles between the spaces of the columns of two matrices, in descending order.

    Args:
        A: f[m, n], of full rank.
        B: f[m, k], of full rank.

    Returns:
        f[min(n, k)], in radians.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.linalg.subspace_angles(np.array([[1.0], [0.0]]), np.array([[1.0], [1.0]])).round(6)
        array([0.785398])

    Source: Knyazev and Argentati, "Principal angles between subspaces in an A-based scalar product", 2002.
    """
    refuse_infinite("subspace_angles", True, A, B)
    a, b = [fnp.linalg.qr(x)[0] for x in _matrices("subspace_angles", A, B)]
    batch = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    a, b = [fnp.broadcast_to(x, batch + x.shape[-2:]) for x in (a, b)]
    along = product(adjoint(a), b)
    cosines = fnp.linalg.svdvals(along)
    rest = b - product(a, along) if a.shape[-1] >= b.shape[-1] else a - product(b, adjoint(along))
    sines = fnp.linalg.svdvals(rest)[..., : cosines.shape[-1]]
    near = cosines[..., ::-1] ** 2 >= 0.5
    by_sine = fnp.arcsin(fnp.where(near, fnp.clip(sines, -1.0, 1.0), 0.0))
    return fnp.where(near, by_sine, fnp.arccos(fnp.where(near, 0.0, cosines[..., ::-1])))
