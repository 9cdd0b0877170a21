"""einops on traced values: ``rearrange``, ``reduce``, ``repeat``, ``pack``, ``unpack`` and ``einsum``.

einops asks each subclass of its ``AbstractBackend`` whether it handles an array; `register` makes a subclass for ours.
"""

from __future__ import annotations

import functools
from typing import Any

from funcgrad import numpy as fnp
from funcgrad._core.bind import Tracer
from funcgrad._core.lazy import LazyModule
from funcgrad._public import publish

__all__ = ["register"]

_backends = LazyModule("einops._backends")


def register() -> None:
    """Make einops accept traced values in this process; a second call changes nothing.

    This function imports einops. einops' own backends still handle plain arrays and arrays of other libraries.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> import einops  # doctest: +SKIP
        >>> from funcgrad.interop.einops import register
        >>> register()  # doctest: +SKIP
        >>> fg.grad(lambda x: einops.reduce(x**2, "i j -> ", "sum"))(np.ones((2, 2)))  # doctest: +SKIP
        array([[2., 2.],
               [2., 2.]])
    """
    _backend()


@functools.cache
def _backend() -> type:
    """Make the subclass, which einops finds; the cache keeps it alive."""
    functions = {
        "is_appropriate_type": lambda self, x: isinstance(x, Tracer),
        "from_numpy": lambda self, x: fnp.asarray(x),
        "arange": lambda self, start, stop: fnp.arange(start, stop),
        "reshape": lambda self, x, shape: fnp.reshape(x, shape),
        "transpose": lambda self, x, axes: fnp.transpose(x, axes),
        "reduce": lambda self, x, operation, axes: _REDUCTIONS[operation](x, axis=axes),
        "stack_on_zeroth_dimension": lambda self, xs: fnp.stack(xs),
        "add_axis": lambda self, x, position: fnp.expand_dims(x, position),
        "tile": lambda self, x, repeats: fnp.tile(x, repeats),
        "concat": lambda self, xs, axis: fnp.concatenate(xs, axis),
        "is_float_type": lambda self, x: x.dtype.kind in "fcV",
        "einsum": lambda self, pattern, *xs: fnp.einsum(pattern, *xs),
    }
    # einops uses a backend only if a module of this name is imported.
    named: dict[str, Any] = {"framework_name": __name__, "__module__": __name__}
    return type("FuncgradBackend", (_backends.AbstractBackend,), named | functions)


_REDUCTIONS: dict[str, Any] = {name: getattr(fnp, name) for name in ("sum", "mean", "max", "min", "prod", "any", "all")}

__dir__ = publish(__name__)
