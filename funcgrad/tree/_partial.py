"""``Partial``: a function with arguments that are leaves of a pytree."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Self

from funcgrad._public import published_as
from funcgrad.tree._nodes import register_here


@published_as("funcgrad.tree")
class Partial(functools.partial):
    """A ``functools.partial`` that is a pytree: its arguments are children, and its function belongs to the structure.

    Transforms and loops take it as they take an array: a compiled function compiles once for all arguments of the same
    types.

    Args:
        func: The function. If it is a plain ``functools.partial``, the arguments in it belong to the structure, too.
        args: Its first arguments, pytrees.
        keywords: Its keyword arguments, pytrees.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> times = fg.tree.Partial(np.multiply, 3.0)
        >>> fg.tree.leaves(times)
        [3.0]
        >>> float(fg.jit(lambda f, x: f(x), engine="numpy")(times, 2.0))
        6.0

    Source: ``jax.tree_util.Partial``.
    """

    def __new__(cls, func: Callable[..., Any], /, *args: Any, **keywords: Any) -> Self:
        _tell_jax()
        # ``functools.partial`` merges the arguments of an inner partial function into its own.
        plain = isinstance(func, functools.partial) and not isinstance(func, Partial)
        return super().__new__(cls, _Whole(func) if plain else func, *args, **keywords)


class _Whole:
    """A plain partial function, of which nothing is a leaf."""

    def __init__(self, func: Callable[..., Any]) -> None:
        self._func = func

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._func(*args, **kwargs)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Whole) and self._func == other._func

    def __hash__(self) -> int:
        return hash(self._func)

    def __repr__(self) -> str:
        return repr(self._func)


def _flatten(x: Partial) -> tuple[tuple[Any, Any], Any]:
    return (x.args, x.keywords), x.func


def _unflatten(func: Any, children: Any) -> Partial:
    args, keywords = children
    return Partial(func, *args, **keywords)


# Importing this module changes nothing in JAX: the first instance does.
_tell_jax = functools.cache(register_here(Partial, _flatten, _unflatten))
