"""Operations on pytrees of gradients before a step: the norm, and clipping by norm and by value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad import numpy as fnp
from funcgrad._core.aval import aval_of, is_inexact, is_real
from funcgrad._core.bind import is_value
from funcgrad._core.words import shown
from funcgrad._ops.elementwise.arithmetic import root_of_squares_p
from funcgrad._ops.elementwise.cast import cast
from funcgrad._ops.index.rows import Rows
from funcgrad._types import Array, ArrayLike, PyTree, ScalarLike
from funcgrad.errors import HyperparameterError
from funcgrad.optim._state.hyperparameters import number
from funcgrad.tree import flatten, key_paths, unflatten

_FLOAT32 = np.dtype(np.float32)


def global_norm(tree: PyTree) -> Array:
    """Return the Euclidean norm of a pytree as one vector: ``sqrt(sum(abs(x)**2))`` over all elements of all leaves.

    Args:
        tree: a pytree of float or complex arrays, such as gradients. ``None`` counts as zero, and `fg.sparse.Rows` as
            the array that it stands for. float16 and bfloat16 are summed in float32.

    Returns:
        The norm, f[], in the widest dtype of the leaves; 0.0 without leaves.

    Raises:
        TypeError: a leaf is no float or complex array.

    Example:
        >>> import numpy as np
        >>> from funcgrad.optim import global_norm
        >>> float(global_norm({"weight": np.array([3.0, 0.0]), "bias": np.array(4.0), "frozen": None}))
        5.0

    Source: ``optax.global_norm``.
    """
    squares = [_square(x) for x in _checked("global_norm", tree)[0]]
    if not squares:
        return np.float64(0.0)
    total = squares[0]
    for x in squares[1:]:
        total = total + x
    return root_of_squares_p(total)


def clip_by_global_norm(tree: PyTree, max_norm: ScalarLike) -> PyTree:
    """Scale all leaves of a pytree by one factor, so that its `global_norm` is at most ``max_norm``.

    If the norm is small enough, the leaves are returned unchanged, to the last bit. If the norm is NaN, every element
    becomes NaN; see `skip_nonfinite`.

    Args:
        tree: a pytree of float or complex arrays, such as gradients; ``None`` stays.
        max_norm: the greatest norm, zero or positive, in gradient units. It is data: a number or an array of shape
            ``[]``.

    Returns:
        A pytree like ``tree`` with the same dtypes; `fg.sparse.Rows` stay rows.

    Raises:
        HyperparameterError: ``max_norm`` is negative or NaN.
        TypeError: a leaf is no float or complex array.

    Example:
        >>> import numpy as np
        >>> from funcgrad.optim import clip_by_global_norm
        >>> clip_by_global_norm([np.array([3.0]), np.array([4.0])], 1.0)
        [array([0.6]), array([0.8])]

    Source: Pascanu, Mikolov and Bengio, *On the difficulty of training recurrent neural networks* (2013), algorithm 1,
    as in ``optax.clip_by_global_norm``. ``torch.nn.utils.clip_grad_norm_`` adds 1e-6 to the norm; `nn.utils` has it.
    """
    _check_limit("clip_by_global_norm", "max_norm", max_norm)
    norm = global_norm(tree)
    # A norm of NaN compares as false, so everything becomes NaN.
    factor = fnp.where(norm <= max_norm, 1.0, max_norm / fnp.where(norm == 0, 1.0, norm))
    return _mapped("clip_by_global_norm", tree, lambda x: x * cast(factor, _real(aval_of(x).dtype)))


def clip_by_value(tree: PyTree, max_value: ScalarLike) -> PyTree:
    """Clip each element of a pytree to ``[-max_value, max_value]``.

    Args:
        tree: a pytree of float arrays, such as gradients; ``None`` stays. The rows of `fg.sparse.Rows` are clipped one
            by one, so no row may occur twice.
        max_value: the greatest absolute value, zero or positive, in gradient units. It is data: a number or an array of
            shape ``[]``.

    Returns:
        A pytree like ``tree`` with the same dtypes.

    Raises:
        HyperparameterError: ``max_value`` is negative or NaN.
        TypeError: a leaf is no float array.

    Example:
        >>> import numpy as np
        >>> from funcgrad.optim import clip_by_value
        >>> clip_by_value({"weight": np.array([3.0, -0.5])}, 1.0)
        {'weight': array([ 1. , -0.5])}

    Source: ``optax.clip``, ``torch.nn.utils.clip_grad_value_``.
    """
    _check_limit("clip_by_value", "max_value", max_value)

    def clipped(x: ArrayLike) -> Array:
        limit = cast(np.float64(max_value) if issubclass(type(max_value), int | float) else max_value, aval_of(x).dtype)
        return fnp.minimum(fnp.maximum(x, -limit), limit)

    for x in _checked("clip_by_value", tree)[0]:
        if type(x) is not Rows and aval_of(x).dtype.kind == "c":
            raise TypeError(
                f"clip_by_value: a leaf is {aval_of(x)}; needed a float array, since complex numbers have no order. "
                "Use clip_by_global_norm."
            )
    return _mapped("clip_by_value", tree, clipped)


def all_finite(tree: PyTree) -> Array:
    """Return whether every element of every leaf is finite: bool[]."""
    found: Any = np.True_
    for x in _leaves(tree)[0]:
        values = x.values if type(x) is Rows else x
        if is_inexact(aval_of(values).dtype):
            found = found & fnp.all(fnp.isfinite(values))
    return found


def _leaves(tree: PyTree) -> tuple[list[Any], Any]:
    return flatten(tree, lambda x: type(x) is Rows)


def _checked(asked: str, tree: PyTree) -> tuple[list[Any], Any]:
    """Return the leaves, including rows, and check them."""
    leaves, treedef = _leaves(tree)
    for i, x in enumerate(leaves):
        values = x.values if type(x) is Rows else x
        if not is_value(values) or not is_inexact(aval_of(values).dtype):
            arrived = aval_of(values) if is_value(values) else f"a {type(values).__name__}"
            raise TypeError(
                f"{asked}: the leaf {key_paths(treedef)[i] or 'at the root'} is {arrived}; needed a float or complex "
                "array. Keep it out of the tree, or convert it with .astype(float)."
            )
    return leaves, treedef


def _mapped(asked: str, tree: PyTree, function: Callable[[Any], Any]) -> PyTree:
    leaves, treedef = _checked(asked, tree)
    made = [Rows(x.indices, function(x.values), x.shape) if type(x) is Rows else function(x) for x in leaves]
    return unflatten(treedef, made)


def _square(x: ArrayLike) -> Array:
    x = x.todense() if type(x) is Rows else x
    dtype = aval_of(x).dtype
    if dtype.itemsize == 2 or dtype.kind == "V":
        x = cast(x, _FLOAT32)
    return fnp.sum(fnp.real(x) ** 2 + fnp.imag(x) ** 2) if dtype.kind == "c" else fnp.sum(x * x)


def _real(dtype: np.dtype) -> np.dtype:
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


def _check_limit(asked: str, name: str, value: ScalarLike) -> None:
    if not is_value(value) or not is_real(aval_of(value).dtype):
        raise TypeError(f"{asked}: {name} is {shown(value)}; needed a real number. Pass {name}=1.0, say.")
    if aval_of(value).shape != ():
        raise TypeError(f"{asked}: {name} is {aval_of(value)}; needed a number. Pass one for the whole tree.")
    known = number(value)
    if known is not None and not known >= 0:
        raise HyperparameterError(f"{asked}: {name} is {value}; needed zero or more. NaN is out of range.")
