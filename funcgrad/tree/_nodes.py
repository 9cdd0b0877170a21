"""Register classes of users as nodes by functions, or as nodes without leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any, TypeVar

import optree

from funcgrad.tree._bridge import JAX
from funcgrad.tree._register import LEAF_TYPES, NAMESPACE, KeyEntry, once

T = TypeVar("T")


def register_node(
    cls: type[T],
    flatten: Callable[[Any], tuple[Iterable[Any], Any]] | None = None,
    unflatten: Callable[[Any, Any], Any] | None = None,
    flatten_with_keys: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None = None,
) -> type[T]:
    """Make a class a pytree node, here and in JAX; usable as a decorator.

    Args:
        cls: The class.
        flatten: Takes an instance and returns its children and a hashable value, which belongs to the structure.
            Without it the class has a method ``tree_flatten`` that does this, and a class method
            ``tree_unflatten(value, children)``.
        unflatten: Takes this value and the children, and returns an instance. Transforms call it with other objects
            than arrays as children, so it must not check them.
        flatten_with_keys: Like `flatten`, with a pair of a key and a child for each child. Key paths show the keys.

    Returns:
        The class itself.

    Raises:
        TypeError: There are no functions, and the class has no such methods.
        ValueError: The class is registered already.

    Example:
        >>> import funcgrad as fg
        >>> @fg.tree.register_node
        ... class Interval:
        ...     def __init__(self, low, high):
        ...         self.low, self.high = low, high
        ...     def tree_flatten(self):
        ...         return (self.low, self.high), None
        ...     @classmethod
        ...     def tree_unflatten(cls, _, children):
        ...         return cls(*children)
        >>> wider = fg.tree.map(lambda x: 2 * x, Interval(-1.0, 3.0))
        >>> wider.low, wider.high
        (-2.0, 6.0)

    Source: ``jax.tree_util.register_pytree_node``, ``register_pytree_node_class``, ``register_pytree_with_keys``.
    """
    if flatten is not None and unflatten is not None:
        register_here(cls, flatten, unflatten, flatten_with_keys)()
        return cls
    methods: Any = cls
    if not (isinstance(cls, type) and hasattr(cls, "tree_flatten") and hasattr(cls, "tree_unflatten")):
        raise TypeError(
            f"tree.register_node: {cls!r} came without flatten and unflatten; needed these two functions, or a class "
            "with the methods tree_flatten and tree_unflatten. Pass fg.tree.register_node(cls, flatten, unflatten)."
        )
    register_here(
        cls, methods.tree_flatten, methods.tree_unflatten, getattr(cls, "tree_flatten_with_keys", flatten_with_keys)
    )()
    return cls


def register_here(
    cls: type, flatten: Callable[..., Any], unflatten: Callable[..., Any], with_keys: Callable[..., Any] | None = None
) -> Callable[[], None]:
    """Make a class a pytree node here, and return the function that makes it one in JAX."""

    def flatten_one_level(node: Any) -> tuple[Any, ...]:
        if with_keys is None:
            children, value = flatten(node)
            return list(children), value
        pairs, value = with_keys(node)
        pairs = list(pairs)
        return [child for _, child in pairs], value, tuple(str(key) for key, _ in pairs)

    def rebuild(value: Any, children: Any) -> Any:
        return unflatten(value, tuple(children))

    def tell(tree_util: ModuleType) -> None:
        if with_keys is None:
            once(lambda: tree_util.register_pytree_node(cls, flatten, rebuild))
        else:
            once(lambda: tree_util.register_pytree_with_keys(cls, with_keys, rebuild, flatten))

    _register(cls, flatten_one_level, rebuild, KeyEntry if with_keys else optree.FlattenedEntry)
    return lambda: JAX.when_loaded(tell)


def register_static(cls: type[T]) -> type[T]:
    """Make instances of a class pytrees without leaves, here and in JAX; usable as a decorator.

    An instance belongs to the structure, so a compiled function is compiled again for an instance that equals no
    earlier one.

    Args:
        cls: The class. Its instances have a hash and are compared with ``==``.

    Returns:
        The class itself.

    Raises:
        ValueError: The class is registered already.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> @fg.tree.register_static
        ... class Name(str):
        ...     pass
        >>> fg.tree.leaves({"name": Name("first"), "w": 1.0})
        [1.0]

    Source: ``jax.tree_util.register_static``.
    """
    _register(cls, lambda node: ((), node), lambda node, _: node, optree.FlattenedEntry)
    JAX.when_loaded(lambda tree_util: once(lambda: tree_util.register_static(cls)))
    return cls


def _register(cls: Any, flatten: Any, unflatten: Any, entry: Any) -> None:
    if not isinstance(cls, type):
        raise TypeError(
            f"tree: {cls!r} was to become a pytree node; needed a class. Pass the class itself, not an instance."
        )
    try:
        optree.register_pytree_node(cls, flatten, unflatten, path_entry_type=entry, namespace=NAMESPACE)
    except ValueError:
        raise ValueError(
            f"tree: the class {cls.__name__} was to become a pytree node, and is one already; needed a class that is "
            "none. Register each class once."
        ) from None
    LEAF_TYPES.discard(cls)
