"""autograd's vector spaces: zeros, unit vectors and arithmetic for values of one structure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

import funcgrad.numpy as fnp
from funcgrad._core.aval import aval_of, is_inexact
from funcgrad._types import ArrayLike, PyTree, Value
from funcgrad.errors import UnsupportedFunctionError
from funcgrad.tree import flatten, leaves, unflatten
from funcgrad.tree import map as tree_map


class VSpace:
    """The space of all values with the structure, shapes and dtypes of one value: an array, or a tree of arrays.

    ``shape``, ``ndim``, ``size``, ``dtype`` and ``iscomplex`` exist for the space of an array only.

    Args:
        value: an array, a number, or a tree of them; integers are treated as float64.
    """

    def __init__(self, value: Value) -> None:
        found, self.tree = flatten(value)
        self.avals = [
            (aval.shape, aval.dtype if is_inexact(aval.dtype) else np.dtype(float)) for aval in map(aval_of, found)
        ]

    def __getattr__(self, name: str) -> Any:
        shape, dtype = self.avals[0] if len(self.avals) == 1 else ((), np.dtype(float))
        if len(self.avals) == 1 or name in ("size", "iscomplex"):
            known = {"shape": shape, "ndim": len(shape), "dtype": dtype}
            known["size"] = sum(int(np.prod(shape)) * (1 + (dtype.kind == "c")) for shape, dtype in self.avals)
            known["iscomplex"] = any(dtype.kind == "c" for _, dtype in self.avals)
            if name in known:
                return known[name]
        raise AttributeError(f"{self!r} has no {name}: only the space of an array has it. Use the space of a leaf.")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VSpace) and self.tree == other.tree and self.avals == other.avals

    def __hash__(self) -> int:
        return hash(tuple(self.avals))

    def __repr__(self) -> str:
        return f"VSpace({', '.join(f'{dtype}{list(shape)}' for shape, dtype in self.avals)})"

    def _of(self, make: Callable[[tuple[int, ...], np.dtype], Any]) -> Any:
        return unflatten(self.tree, [make(shape, dtype) for shape, dtype in self.avals])

    def zeros(self) -> Any:
        """Return the zero of the space."""
        return self._of(np.zeros)

    def ones(self) -> Any:
        """Return ones; ``1 + 1j`` for complex numbers."""
        return self._of(lambda shape, dtype: np.full(shape, 1 + 1j if dtype.kind == "c" else 1, dtype))

    def randn(self) -> Any:
        """Return normally distributed numbers."""

        def drawn(shape: tuple[int, ...], dtype: np.dtype) -> Any:
            x = np.random.randn(*shape)  # noqa: NPY002  (autograd uses this generator, so its seed applies)
            y = 1j * np.random.randn(*shape) if dtype.kind == "c" else 0  # noqa: NPY002  (as above)
            return np.asarray(x + y, dtype)

        return self._of(drawn)

    def standard_basis(self) -> Iterator[Any]:
        """Yield the unit vectors, one after the other; for complex numbers the imaginary ones too."""
        for i, (shape, dtype) in enumerate(self.avals):
            for place in np.ndindex(*shape):
                for unit in (1, 1j) if dtype.kind == "c" else (1,):
                    found = leaves(self.zeros())
                    found[i] = np.asarray(found[i])
                    found[i][place] = unit
                    yield unflatten(self.tree, found)

    def add(self, x_prev: ArrayLike, x_new: ArrayLike) -> Any:
        """Return the sum of two vectors; ``None`` is zero."""
        return x_new if x_prev is None else tree_map(fnp.add, x_prev, x_new)

    mut_add = add

    def scalar_mul(self, x: PyTree, a: ArrayLike) -> Any:
        """Return a vector times a number."""
        return tree_map(lambda leaf: fnp.multiply(leaf, a), x)

    def inner_prod(self, x: PyTree, y: PyTree) -> Any:
        """Return the inner product, a real number."""
        parts = [fnp.sum(fnp.real(fnp.conj(a) * b)) for a, b in zip(leaves(x), leaves(y), strict=True)]
        total: Any = 0.0
        for part in parts:
            total = total + part
        return total

    def covector(self, x: PyTree) -> Any:
        """Return the cotangent of a tangent: its conjugate."""
        return tree_map(fnp.conj, x)

    @classmethod
    def register(cls, value_type: type, vspace_maker: Any = None) -> NoReturn:
        """Raise an error: user types are registered as trees."""
        del vspace_maker
        raise UnsupportedFunctionError(
            f"VSpace.register: a space was declared for {value_type.__name__}; needed an array type or a tree. "
            "Register the type with fg.tree.register_dataclass, or with JAX."
        )


def vspace(value: Value) -> VSpace:
    """Return the vector space of a value.

    Args:
        value: an array, a number, or tuples, lists and dicts of them; they may be traced.

    Returns:
        The space, with ``zeros()``, ``ones()``, ``standard_basis()``, ``randn()``, ``add``, ``scalar_mul``,
        ``inner_prod`` and ``covector``.

    Example:
        >>> import numpy as np
        >>> from funcgrad.interop.autograd.extend import vspace
        >>> vspace({"a": np.array([3.0, 4.0]), "b": 1.0}).zeros()
        {'a': array([0., 0.]), 'b': array(0.)}
        >>> vspace(np.ones((2, 3))).size
        6
    """
    return VSpace(value)
