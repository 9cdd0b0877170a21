"""A sparse matrix whose elements may be traced; their positions are plain numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import type_text
from funcgrad._core.bind import Tracer
from funcgrad._core.trace.place import settled
from funcgrad._ops.index.scatter import scatter_add_p
from funcgrad._ops.index.sparse import ROWS, sparse_product
from funcgrad._types import ArrayLike, DTypeLike
from funcgrad.numpy.extend import (
    as_value,
    concrete_value,
    elements_of_sparse,
    holds_tracer,
    is_intercepted,
    is_object_array,
    is_sparse,
    promote,
)

Shape = tuple[int, int]


class SparseArray:
    """A sparse matrix of elements row by row, each place once; made by `coo_array`, `csr_array` and `diags_array`.

    It has ``shape``, ``dtype``, ``nnz``, ``T``, ``a @ x``, ``x @ a``, ``a * number``, ``a + b``, ``a - b``,
    ``diagonal()`` and ``toarray()``.

    Args:
        data: f[nnz], the elements, which may be traced.
        places: their rows and columns, and where rows start.
        shape: the shape of the matrix.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> a = fg.scipy.sparse.coo_array((np.array([2.0, 3.0]), (np.array([0, 1]), np.array([1, 0]))), shape=(2, 2))
        >>> a @ np.array([1.0, 10.0])
        array([20.,  3.])
    """

    # NumPy and JAX then use this class's methods for operations with it.
    __array_ufunc__ = None

    def __init__(self, data: ArrayLike, places: tuple[Any, Any, Any], shape: Shape) -> None:
        self.data, self.places, self.shape = data, places, shape

    @property
    def dtype(self) -> np.dtype:
        """Return the dtype of the elements."""
        return self.data.dtype

    @property
    def nnz(self) -> int:
        """Return the number of stored elements."""
        return self.data.shape[0]

    @property
    def T(self) -> SparseArray:  # noqa: N802  (NumPy's name)
        """Return the transposed matrix."""
        rows, columns, _ = self.places
        return self._like(coo_array((self.data, (columns, rows)), shape=self.shape[::-1]))

    def _like(self, a: SparseArray) -> SparseArray:
        """Return a matrix as one of this class."""
        return type(self)(a.data, a.places, a.shape)

    def __repr__(self) -> str:
        return f"<sparse {type_text(self.shape, self.dtype)} of {self.nnz} elements>"

    def __matmul__(self, x: ArrayLike) -> Any:
        return self._product(as_value(x), turned=False)

    dot = __matmul__

    def __rmatmul__(self, x: ArrayLike) -> Any:
        return fnp.transpose(self._product(fnp.transpose(as_value(x)), turned=True))

    def _product(self, x: ArrayLike, *, turned: bool) -> Any:
        x = fnp.asarray(x)
        if not 0 < len(x.shape) < 3 or x.shape[0] != self.shape[not turned]:
            raise ValueError(
                f"{self!r} @ x: x (transposed, if it is the left operand) is {type_text(x.shape, x.dtype)}; needed a "
                "vector or matrix as long as the rows. Reshape it, or use fg.vmap for stacks."
            )
        data, x = promote(self.data, x)
        rows, columns, starts = self.places
        return sparse_product(data, rows, columns, starts, x, shape=self.shape, turned=turned)

    def __mul__(self, number: ArrayLike) -> SparseArray:
        number = as_value(number)
        if np.ndim(number):
            raise ValueError(
                f"{self!r} * x: x has shape {np.shape(number)}; needed a number. Write a @ x for the product."
            )
        return type(self)(self.data * number, self.places, self.shape)

    __rmul__ = __mul__

    def __neg__(self) -> SparseArray:
        return self * -1

    def __truediv__(self, number: ArrayLike) -> SparseArray:
        return self * (1 / as_value(number))

    def __add__(self, other: ArrayLike) -> SparseArray:
        other = as_sparse(other)
        if other.shape != self.shape:
            raise ValueError(f"{self!r} + {other!r}: the shapes differ; needed the same. Check which is transposed.")
        data = fnp.concatenate(promote(self.data, other.data))
        places = [np.concatenate([a, b]) for a, b in zip(self.places[:2], other.places[:2], strict=True)]
        return self._like(coo_array((data, tuple(places)), shape=self.shape))

    __radd__ = __add__

    def __sub__(self, other: ArrayLike) -> SparseArray:
        return self + -as_sparse(other)

    def __rsub__(self, other: ArrayLike) -> SparseArray:
        return -self + other

    def diagonal(self) -> Any:
        """Return the main diagonal."""
        rows, columns, _ = self.places
        shown = np.flatnonzero(rows == columns)
        zeros = np.zeros(min(self.shape), self.dtype)
        return scatter_add_p(zeros, self.data[shown], rows[shown], index=ROWS)

    def toarray(self) -> Any:
        """Return the whole matrix as an array."""
        rows, columns, _ = self.places
        zeros = np.zeros(self.shape[0] * self.shape[1], self.dtype)
        flat = scatter_add_p(zeros, self.data, rows.astype(np.int64) * self.shape[1] + columns, index=ROWS)
        return fnp.reshape(flat, self.shape)

    todense = toarray

    def copy(self) -> SparseArray:
        """Return the matrix, which never changes."""
        return self

    # There is one format, in which rows lie one after another.
    tocsr = tocsc = tocoo = copy

    def asformat(self, format: str | None, copy: bool = False) -> SparseArray:  # noqa: A002  (SciPy's name)
        """Return the matrix."""
        del format, copy
        return self


class SparseMatrix(SparseArray):
    """A sparse matrix whose ``a * x`` is the product with a vector or matrix, as SciPy's ``coo_matrix``.

    It is made by `coo_matrix`, `csr_matrix`, `csc_matrix` and `diags`.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> np.ones(2) * fg.scipy.sparse.diags(np.array([1.0, 2.0]))
        array([1., 2.])
    """

    def __mul__(self, x: ArrayLike) -> Any:
        """Return the product with a vector or matrix, or with a number."""
        return super().__mul__(x) if np.ndim(x) == 0 else self @ x

    def __rmul__(self, x: ArrayLike) -> Any:
        """Return the product of a vector or matrix, or of a number, with the matrix."""
        return super().__mul__(x) if np.ndim(x) == 0 else x @ self


def has_traced_elements(args: tuple, kwargs: dict[str, Any]) -> bool:
    """Return whether a call inside ``fg.intercept()`` makes a matrix of traced elements.

    SciPy makes those of plain numbers, which are constants. Arrays that take traced values may hold plain numbers.
    """
    return is_intercepted() and any(map(_holds_traced, (*args, *kwargs.values())))


def _holds_traced(x: ArrayLike) -> bool:
    if isinstance(x, list | tuple):
        return any(map(_holds_traced, x))
    return isinstance(settled(x), Tracer | SparseArray) or (is_object_array(x) and holds_tracer(x))


def as_sparse(a: ArrayLike) -> SparseArray:
    """Return a sparse matrix of SciPy's, or one of ours, as ours."""
    if isinstance(a, SparseArray):
        return a
    if not is_sparse(a):
        raise TypeError(
            f"scipy.sparse: a {type(a).__name__} was given; needed a sparse matrix, SciPy's or one of coo_array. "
            "Convert it with scipy.sparse.csr_array, or use fg.scipy.linalg for dense matrices."
        )
    data, places = elements_of_sparse(a)
    return SparseArray(data, places, (int(a.shape[0]), int(a.shape[1])))


def coo_array(
    arg1: ArrayLike, shape: Sequence[int] | None = None, dtype: DTypeLike = None, copy: bool = False
) -> SparseArray:
    """Make a sparse matrix of elements and their rows and columns; those in one place are summed.

    Args:
        arg1: ``(data, (rows, columns))``, with f[n], which may be traced, and plain i[n]; or a sparse matrix.
        shape: the shape of the matrix; by default the smallest that contains all positions.
        dtype: the dtype of the elements; by default that of the data.
        copy: SciPy's; a matrix never changes.

    Returns:
        the matrix.

    Raises:
        ValueError: the lengths differ, or a place is outside of the shape.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> ends = np.array([0, 0, 1]), np.array([0, 0, 1])
        >>> fg.scipy.sparse.coo_array((np.array([1.0, 2.0, 5.0]), ends)).toarray()
        array([[3., 0.],
               [0., 5.]])
    """
    del copy
    if not isinstance(arg1, tuple):
        a = as_sparse(arg1)
        return a if dtype is None else SparseArray(fnp.asarray(a.data, dtype), a.places, a.shape)
    data, where = arg1
    data = fnp.asarray(as_value(data), dtype)
    rows, columns = [np.asarray(concrete_value(i, "scipy.sparse.coo_array by places")) for i in where]
    found = (
        tuple(map(int, shape)) if shape is not None else tuple([int(i.max(initial=-1)) + 1 for i in (rows, columns)])
    )
    _check_places(data, rows, columns, found)
    keys = rows.astype(np.int64) * found[1] + columns
    each, to = np.unique(keys, return_inverse=True)
    if each.size != keys.size or not np.array_equal(each, keys):
        data = scatter_add_p(np.zeros(each.size, data.dtype), data, to, index=ROWS)
    kind = np.int32 if max(*found, each.size) < np.iinfo(np.int32).max else np.int64
    rows, columns = [i.astype(kind) for i in np.divmod(each, max(found[1], 1))]
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=found[0]))]).astype(kind)
    return SparseArray(data, (rows, columns, starts), (found[0], found[1]))


def _check_places(data: ArrayLike, rows: np.ndarray, columns: np.ndarray, shape: tuple[int, ...]) -> None:
    fits = data.shape == rows.shape == columns.shape and len(data.shape) == 1 and len(shape) == 2
    least, most = [
        [int(f(i)) for i in (rows, columns)] for f in (lambda i: i.min(initial=0), lambda i: i.max(initial=-1))
    ]
    if not fits or min(least) < 0 or most[0] >= shape[0] or most[1] >= shape[1]:
        raise ValueError(
            f"scipy.sparse.coo_array: the elements are {type_text(data.shape, data.dtype)}, their rows {rows.shape} up "
            f"to {most[0]} and their columns {columns.shape} up to {most[1]}, for the shape {shape}; needed vectors of "
            "one length, and places from 0 on within the shape. Check the order of (data, (rows, columns))."
        )


def csr_array(
    arg1: ArrayLike, shape: Sequence[int] | None = None, dtype: DTypeLike = None, copy: bool = False
) -> SparseArray:
    """Make a sparse matrix of elements row by row: ``(data, columns, starts)``, or as `coo_array`.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.sparse.csr_array((np.array([1.0, 2.0]), [1, 0], [0, 1, 2])).toarray()
        array([[0., 1.],
               [2., 0.]])
    """
    if not isinstance(arg1, tuple) or len(arg1) != 3:
        return coo_array(arg1, shape, dtype, copy)
    data, columns, starts = arg1
    starts = np.asarray(starts)
    rows = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    if shape is None:
        shape = (starts.size - 1, int(np.max(columns, initial=-1)) + 1)
    return coo_array((data, (rows, np.asarray(columns))), shape, dtype)


def csc_array(
    arg1: ArrayLike, shape: Sequence[int] | None = None, dtype: DTypeLike = None, copy: bool = False
) -> SparseArray:
    """Make a sparse matrix of elements column by column: ``(data, rows, starts)``, or as `coo_array`.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.sparse.csc_array((np.array([1.0, 2.0]), [1, 0], [0, 1, 2])).toarray()
        array([[0., 2.],
               [1., 0.]])
    """
    if not isinstance(arg1, tuple) or len(arg1) != 3:
        return coo_array(arg1, shape, dtype, copy)
    return csr_array(arg1, None if shape is None else tuple(shape)[::-1], dtype).T


def _matrix(of: Callable[..., SparseArray], name: str) -> Callable[..., SparseMatrix]:
    """Return SciPy's older function, whose matrix multiplies with ``*``."""

    def make(
        arg1: ArrayLike, shape: Sequence[int] | None = None, dtype: DTypeLike = None, copy: bool = False
    ) -> SparseMatrix:
        a = of(arg1, shape, dtype, copy)
        return SparseMatrix(a.data, a.places, a.shape)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""Make a sparse matrix whose ``a * x`` is ``a @ x``; otherwise as ``{of.__name__}``.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> a = fg.scipy.sparse.{name}((np.array([2.0, 3.0]), (np.array([0, 1]), np.array([1, 0]))))
        >>> a * np.array([1.0, 10.0])
        array([20.,  3.])
    """
    return make


coo_matrix, csr_matrix = _matrix(coo_array, "coo_matrix"), _matrix(csr_array, "csr_matrix")
csc_matrix = _matrix(csc_array, "csc_matrix")


def diags(
    diagonals: Sequence[Any],
    offsets: int | Sequence[int] = 0,
    shape: Sequence[int] | None = None,
    format: str | None = None,  # noqa: A002  (SciPy's name)
    dtype: DTypeLike = None,
) -> SparseMatrix:
    """Make a sparse matrix of its diagonals whose ``a * x`` is ``a @ x``; otherwise as `diags_array`.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> (fg.scipy.sparse.diags([np.array([1.0, 2.0])], [1]) * np.ones(3)).tolist()
        [1.0, 2.0, 0.0]
    """
    a = diags_array(diagonals, offsets=offsets, shape=shape, format=format, dtype=dtype)
    return SparseMatrix(a.data, a.places, a.shape)


def diags_array(
    diagonals: Sequence[Any],
    *,
    offsets: int | Sequence[int] = 0,
    shape: Sequence[int] | None = None,
    format: str | None = None,  # noqa: A002  (SciPy's name)
    dtype: DTypeLike = None,
) -> SparseArray:
    """Make a sparse matrix of its diagonals.

    Args:
        diagonals: f[n] each, which may be traced; one of them where ``offsets`` is a number.
        offsets: above the main one (positive) or below it.
        shape: the shape of the matrix; by default square, from the length of the first diagonal.
        format: SciPy's; there is one format.
        dtype: the dtype of the elements; by default that of the diagonals.

    Returns:
        the matrix.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.scipy.sparse.diags_array([np.array([1.0, 2.0]), np.array([5.0])], offsets=[0, 1]).toarray()
        array([[1., 5.],
               [0., 2.]])
    """
    del format
    offsets, diagonals = ([offsets], [diagonals]) if isinstance(offsets, int) else (list(offsets), list(diagonals))
    if any(np.ndim(each) > 1 for each in diagonals) or len(offsets) != len(diagonals):
        raise ValueError(
            f"diags: {len(diagonals)} diagonals and {len(offsets)} offsets were given; needed one offset for each "
            "diagonal, and a diagonal without a list around it for a single number. Different number of diagonals and "
            "offsets."
        )
    rows_of = [fnp.asarray(as_value(each)) for each in diagonals]
    if shape is None:
        size = rows_of[0].shape[0] + abs(offsets[0])
        shape = (size, size)
    data, rows, columns = [], [], []
    for numbers, k in zip(rows_of, offsets, strict=True):
        length = min(shape[0] + min(k, 0), shape[1] - max(k, 0))
        places = np.arange(length)
        data.append(fnp.broadcast_to(numbers, (length,)))
        rows.append(places + max(-k, 0))
        columns.append(places + max(k, 0))
    where = np.concatenate(rows), np.concatenate(columns)
    return coo_array((fnp.concatenate(promote(*data)), where), shape, dtype)
