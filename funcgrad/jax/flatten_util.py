"""``ravel_pytree``: a pytree of arrays as one vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._types import ArrayLike, PyTree
from funcgrad.jax._array import arrays, plain, tree_of_arrays
from funcgrad.jax._names import publish_as_jax
from funcgrad.tree import flatten, unflatten

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: PyTree) -> tuple[Any, Callable[[Any], Any]]:
    """``jax.flatten_util.ravel_pytree``: the elements of all leaves in one vector, and the function that goes back.

    Leaves of several dtypes are promoted to a common one; the function gives each its own dtype back.
    """
    leaves, treedef = flatten(pytree)
    parts = [fnp.asarray(plain(x)) for x in leaves]
    ends = np.cumsum([x.size for x in parts]).tolist()
    vector = fnp.concatenate([fnp.ravel(x) for x in parts]) if parts else np.zeros(0)

    def unravel(v: ArrayLike) -> Any:
        pieces = [
            fnp.reshape(plain(v)[end - x.size : end], x.shape).astype(x.dtype)
            for x, end in zip(parts, ends, strict=True)
        ]
        return tree_of_arrays(unflatten(treedef, pieces))

    return arrays(vector), unravel


__dir__, __getattr__ = publish_as_jax(__name__, arrays=False)
