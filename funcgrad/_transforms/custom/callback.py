"""``call_numpy``: calls a function that no transform traces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._core.aval import Aval, aval_of
from funcgrad._core.tracebacks import folded
from funcgrad._ops.program.callback import callback_p
from funcgrad._transforms.base.arguments import check_callable, name_of
from funcgrad._types import PyTree
from funcgrad.numpy.extend import as_value
from funcgrad.tree import flatten, flatten_up_to, unflatten


@folded
def call_numpy(f: Callable[..., Any], result_shape_dtype: PyTree, *xs: Any) -> Any:
    """Call a pure function of plain NumPy arrays as a black box, which no transform traces.

    Under `jit` on XLA it is called when the program runs (``jax.pure_callback``). It has no derivative: call it inside
    a function declared with `custom_vjp` or `custom_jvp`.

    Args:
        f: takes NumPy arrays in the pytrees of ``xs`` and returns arrays; it must have no side effects.
        result_shape_dtype: the result's pytree, with an object that has a shape and a dtype for each array
            (`ShapeDtype`, or an array of that type).
        xs: pytrees of arrays.

    Returns:
        The result of ``f``.

    Raises:
        NotDifferentiableError: a derivative of it is needed.
        ValueError: ``f`` returns another shape, or a dtype that cannot be cast.

    Example:
        >>> import numpy as np
        >>> import scipy.special
        >>> import funcgrad as fg
        >>> @fg.custom_jvp
        ... def gammaln(x):
        ...     return fg.call_numpy(scipy.special.gammaln, x, x)
        >>> gammaln.defjvps(lambda x_dot, y, x: x_dot * fg.call_numpy(scipy.special.digamma, x, x))
        >>> print(np.round(fg.grad(gammaln)(2.5), 4))
        0.7032
    """
    check_callable("call_numpy", f)
    leaves, in_tree = flatten(xs)
    specs, out_tree = flatten(result_shape_dtype)
    name = name_of(f)

    def flat(*arrays: Any) -> Sequence[Any]:
        out = f(*unflatten(in_tree, arrays))
        return flatten_up_to(out_tree, out, f"call_numpy: the result of {name}")

    avals = tuple([_aval_of_spec(spec) for spec in specs])
    operands = [as_value(x) for x in leaves]
    return unflatten(out_tree, callback_p(*operands, function=flat, avals=avals, name=name))


def _aval_of_spec(spec: Any) -> Aval:
    if hasattr(spec, "shape") and hasattr(spec, "dtype"):
        return Aval(tuple(spec.shape), np.dtype(spec.dtype))
    return aval_of(as_value(spec))
