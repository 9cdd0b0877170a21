"""Call functions of JAX by `funcgrad.from_jax`. JAX is imported at the first call of one of them."""

from __future__ import annotations

import inspect
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._core.bind import is_value
from funcgrad._engines.xla.record import XLA, jax_names, xla
from funcgrad._types import Array, ArrayLike
from funcgrad.interop.jax import from_jax
from funcgrad.jax._array import tree_of_arrays
from funcgrad.numpy.extend import as_value
from funcgrad.tree import map as tree_map
from funcgrad.tree.extend import static_key

# The functions for the latest options. All are dropped when there are more of them.
_functions: dict[Any, Callable[..., Any]] = {}
_LIMIT = 1024


def of_jax(path: str, *names: str) -> Callable[..., Any]:
    """Return a function of JAX's as a function of ours.

    Args:
        path: its name, for example ``"random.binomial"``.
        names: the arguments that are arrays; all others are part of the program, which is compiled for each of them.

    Returns:
        A function with JAX's arguments, which every transform accepts.
    """

    def call(*args: Any, **options: Any) -> Any:
        bound = inspect.signature(jax_names.lookup(path)).bind(*args, **options)
        given = {name: as_value(bound.arguments.pop(name)) for name in names if _is_given(bound.arguments, name)}
        fixed = tuple([(name, _hashable(x)) for name, x in bound.arguments.items()])
        return _function(path, tuple(given), fixed)(*[_array(x) for x in given.values()])

    call.__name__ = call.__qualname__ = path.rpartition(".")[2]
    # JAX's function takes all of its options, such as the method of jax.scipy.stats.rankdata.
    vars(call)["is_of_jax"] = True
    call.__doc__ = f"``jax.{path}``: JAX's own function, as one operation."
    return call


def _is_given(arguments: dict[str, Any], name: str) -> bool:
    return arguments.get(name) is not None


def _array(x: ArrayLike) -> Array:
    return x if hasattr(x, "shape") or not is_value(x) else np.asarray(x)


def _hashable(x: ArrayLike) -> Any:
    return tuple(map(_hashable, x)) if isinstance(x, list) else x


def _function(path: str, names: tuple[str, ...], fixed: tuple) -> Callable[..., Any]:
    key = static_key((path, names, fixed))
    found = _functions.get(key)
    if found is None:
        if len(_functions) >= _LIMIT:
            _functions.clear()
        found = _functions[key] = _made(path, names, fixed)
    return found


def _made(path: str, names: tuple[str, ...], fixed: tuple) -> Callable[..., Any]:
    function = jax_names.lookup(path)

    signature = inspect.signature(function)

    def apply(*arrays: Any) -> Any:
        given = dict(zip(names, arrays, strict=True))
        bound = inspect.BoundArguments(signature, OrderedDict({**given, **dict(fixed)}))
        return function(*bound.args, **bound.kwargs)

    apply.__name__ = path.rpartition(".")[2]
    return from_jax(apply)


def run_as_jax(path: str, *args: Any, **options: Any) -> Any:
    """Call a function of JAX's that takes functions, in 64-bit mode.

    It refuses traced values of ours. The function that a transform of ours calls runs under `from_jax` then.
    """
    with xla.scope():
        given = tree_map(lambda x: xla.as_arrays([x])[0] if is_value(x) and type(x) is not bool else x, args)
        found = jax_names.lookup(path)(*given, **options)
    return tree_of_arrays(tree_map(lambda y: y if not is_value(y) or XLA.is_abstract(y) else np.asarray(y), found))
