"""Register classes as nodes or leaves, the same in optree and in JAX."""

from __future__ import annotations

import dataclasses
import functools
import operator
import threading
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any, TypeVar, overload

import numpy as np
import optree

from funcgrad.tree._bridge import FLAX, JAX
from funcgrad.tree._flax import register_with_flax

T = TypeVar("T")

NAMESPACE = "funcgrad"

# Classes known to be leaves. `flatten` of such a value skips optree (30 ns instead of 500), and a tree of them is not
# looked up in JAX's registry.
LEAF_TYPES: set[type] = {bool, int, float, complex, str, np.ndarray, *np.sctypeDict.values()}

# Array types of these packages stay leaves, so JAX's registry is asked about each of them once. Any other class may be
# registered with JAX later, so it is looked up every time.
_PACKAGES_OF_LEAVES = frozenset({"jax", "jaxlib", "ml_dtypes"})

_adopting = threading.Lock()

# A class may define the class method ``_of_fields(meta fields, data fields)``, which builds an instance.
_OF_FIELDS = "_of_fields"

# The data and meta fields of dataclasses registered here.
_fields: dict[type, tuple[tuple[str, ...], tuple[str, ...]]] = {}


def register_leaf(cls: type[T]) -> type[T]:
    """Declare that instances of a class are leaves, which makes flattening them faster; usable as a decorator.

    Args:
        cls: the class.

    Returns:
        The class itself.

    Example:
        >>> import funcgrad as fg
        >>> @fg.tree.register_leaf
        ... class Measured:
        ...     pass
        >>> len(fg.tree.leaves([Measured(), Measured()]))
        2
    """
    LEAF_TYPES.add(cls)
    return cls


def once(register: Callable[[], object]) -> None:
    """Register a class with JAX. If its author did so before, that registration stays."""
    try:
        register()
    except ValueError as error:
        if "uplicate" not in str(error):
            raise


@overload
def register_dataclass(
    cls: type[T],
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] = (),
    *,
    when_made: bool = False,
) -> type[T]: ...
@overload
def register_dataclass(
    cls: None = None,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] = (),
    *,
    when_made: bool = False,
) -> Callable[[type[T]], type[T]]: ...
def register_dataclass(
    cls: type | None = None,
    data_fields: Sequence[str] | None = None,
    meta_fields: Sequence[str] = (),
    *,
    when_made: bool = False,
) -> Any:
    """Make a dataclass a pytree node, here and in JAX; usable as a decorator.

    The fields are children, in the order of their declaration, and key paths name them ``.field``. Fields named in
    `meta_fields`, or declared with ``field(metadata={"static": True})`` as in JAX, are static: hashable values that
    belong to the structure, by type and value. Unflattening calls the class. So ``__post_init__`` also gets the values
    that a transform puts in place of the arrays, and must not check them.

    Args:
        cls: The dataclass, frozen or not. Omitted if the decorator is called with options.
        data_fields: Names of the fields that are children. If they are given, `data_fields` and `meta_fields` together
            name all fields of the class. It may then be a class that is no dataclass, whose constructor takes its
            attributes by these names.
        meta_fields: Names of the static fields.
        when_made: Register with JAX when the first instance is made, not at once. Then the declaration changes nothing
            in a process that never makes an instance. Such a class is also registered with ``flax.serialization`` if
            that is imported, before or later.

    Returns:
        The class itself.

    Raises:
        TypeError: `cls` is not a dataclass, and there are no `data_fields`.
        ValueError: `meta_fields` names no field of it, `data_fields` leaves a field out, or the class is registered
            already.

    Example:
        >>> import dataclasses
        >>> import funcgrad as fg
        >>> @fg.tree.register_dataclass(meta_fields=["name"])
        ... @dataclasses.dataclass(frozen=True)
        ... class Layer:
        ...     weight: float
        ...     bias: float
        ...     name: str
        >>> fg.tree.map(lambda x: 10 * x, Layer(1.0, 2.0, "first"))
        Layer(weight=10.0, bias=20.0, name='first')

    Source: ``jax.tree_util.register_dataclass``.
    """
    if cls is None:
        return lambda decorated: register_dataclass(decorated, data_fields, meta_fields, when_made=when_made)
    data, meta = _split_fields(cls, meta_fields) if data_fields is None else _both(cls, data_fields, meta_fields)

    get_data, get_meta = _tuple_getter(data), _tuple_getter(meta)
    of_fields = getattr(cls, _OF_FIELDS, None)

    def unflatten(meta_values: Any, children: Iterable[Any]) -> Any:
        if of_fields is not None:
            return of_fields(meta_values, children)
        return cls(**dict(zip(data, children, strict=True)), **dict(zip(meta, meta_values, strict=True)))

    optree.register_pytree_node(
        cls,
        lambda node: (get_data(node), get_meta(node), data),
        unflatten,
        path_entry_type=optree.GetAttrEntry,
        namespace=NAMESPACE,
    )
    LEAF_TYPES.discard(cls)
    _fields[cls] = data, meta
    tell_jax = functools.partial(JAX.when_loaded, lambda tree_util: _register_with_jax(tree_util, cls, data, meta))
    if not when_made:
        tell_jax()
        return cls

    def tell_all() -> None:
        tell_jax()
        FLAX.when_loaded(lambda serialization: register_with_flax(serialization, cls, data, meta, NAMESPACE))

    _before_first_instance(cls, tell_all)
    return cls


def dataclass_fields(cls: Any) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the data and meta fields of a class registered by `register_dataclass`; ``None`` for any other class."""
    return _fields.get(cls)


def _before_first_instance(cls: Any, action: Callable[[], None]) -> None:
    """Run an action once, when the first instance of a class is made."""
    original = cls.__init__

    @functools.wraps(original)
    def first(self: Any, *args: Any, **kwargs: Any) -> None:
        cls.__init__ = original
        action()
        original(self, *args, **kwargs)

    cls.__init__ = first


def _split_fields(cls: type, meta_fields: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of the data fields and of the meta fields, each in the order of declaration."""
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise TypeError(
            f"tree.register_dataclass: the class must be a dataclass. Arrived {cls!r}. "
            "Put @dataclasses.dataclass below the decorator."
        )
    fields = [field for field in dataclasses.fields(cls) if field.init]
    unknown = [name for name in meta_fields if name not in {field.name for field in fields}]
    if unknown:
        raise ValueError(
            f"tree.register_dataclass: meta_fields must name fields of {cls.__name__}. Arrived {unknown}, "
            f"needed some of {[field.name for field in fields]}. Correct the names."
        )
    meta = tuple(field.name for field in fields if field.name in meta_fields or field.metadata.get("static"))
    return tuple(field.name for field in fields if field.name not in meta), meta


def _both(cls: type, data: Sequence[str], meta: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the data fields and the meta fields that were given by name; refuse an incomplete list."""
    twice = len({*data, *meta}) < len(data) + len(meta)
    names = {field.name for field in dataclasses.fields(cls) if field.init} if dataclasses.is_dataclass(cls) else None
    if twice or (names is not None and names != {*data, *meta}):
        needed = "names that differ" if names is None else f"each of {sorted(names)} once"
        raise ValueError(
            f"tree.register_dataclass: the fields of {cls.__name__} are data_fields={list(data)} and "
            f"meta_fields={list(meta)}; needed {needed}. Name each field in one of the two."
        )
    return tuple(data), tuple(meta)


def _tuple_getter(names: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    if not names:
        return lambda _: ()
    getter = operator.attrgetter(*names)
    return getter if len(names) > 1 else lambda node: (getter(node),)


def _register_with_jax(tree_util: ModuleType, cls: type, data: tuple[str, ...], meta: tuple[str, ...]) -> None:
    of_fields = getattr(cls, _OF_FIELDS, None)
    if of_fields is None:
        once(lambda: tree_util.register_dataclass(cls, data_fields=data, meta_fields=meta))
        return
    get_data, get_meta = _tuple_getter(data), _tuple_getter(meta)
    keys = [tree_util.GetAttrKey(name) for name in data]

    def flatten_with_keys(node: Any) -> tuple[list[tuple[Any, Any]], tuple[Any, ...]]:
        return list(zip(keys, get_data(node), strict=True)), get_meta(node)

    def flatten(node: Any) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        return get_data(node), get_meta(node)

    once(lambda: tree_util.register_pytree_with_keys(cls, flatten_with_keys, of_fields, flatten))


def adopt_from_jax(leaves: Sequence[Any]) -> bool:
    """Register with optree the classes of these leaves that JAX knows as nodes; return whether there was one."""
    tree_util = JAX.loaded()
    if tree_util is None:
        return False
    JAX.run_pending()
    found = False
    for leaf in leaves:
        cls = type(leaf)
        if cls in LEAF_TYPES or not optree.tree_is_leaf(leaf, namespace=NAMESPACE):
            continue
        if _is_jax_node(tree_util, leaf):
            _adopt(tree_util, cls)
            found = True
        elif cls.__module__.partition(".")[0] in _PACKAGES_OF_LEAVES:
            LEAF_TYPES.add(cls)
    return found


def _is_jax_node(tree_util: ModuleType, value: Any) -> bool:
    children = tree_util.tree_leaves(value, is_leaf=lambda part: part is not value)
    return not (len(children) == 1 and children[0] is value)


def _adopt(tree_util: ModuleType, cls: type) -> None:
    def flatten_one_level(node: Any) -> tuple[list[Any], Any, tuple[str, ...]]:
        pairs, treedef = tree_util.tree_flatten_with_path(node, is_leaf=lambda part: part is not node)
        return [child for _, child in pairs], treedef, tuple(str(path[0]) for path, _ in pairs)

    with _adopting:
        if optree.register_pytree_node.get(cls, namespace=NAMESPACE) is None:
            optree.register_pytree_node(
                cls,
                flatten_one_level,
                tree_util.tree_unflatten,
                path_entry_type=KeyEntry,
                namespace=NAMESPACE,
            )


class KeyEntry(optree.PyTreeEntry):
    """A step of a key path whose text is that of a key of JAX's, or of a user's."""

    __slots__ = ()

    def codify(self, /, node: str = "") -> str:
        """Append this step to the path so far."""
        return f"{node}{self.entry}"
