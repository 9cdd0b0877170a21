"""Pytrees: nested containers of arrays, flattened and rebuilt at C speed.

A pytree is a leaf (an array, a number, any object that is not a known container) or a container of pytrees: tuple,
list, dict, namedtuple, `OrderedDict`, `defaultdict`, a registered dataclass, or `None`, which is an empty container.
Dict keys are sorted. optree does the work, in a namespace of our own. A class registered here is registered with JAX
too as soon as JAX is imported, and classes registered with JAX are accepted here.
"""

from funcgrad._public import publish
from funcgrad.tree._align import (
    broadcast_prefix,
    flatten_up_to,
    map,  # noqa: A004  (the public name is `fg.tree.map`, as in `jax.tree.map`)
)
from funcgrad.tree._combine import (
    all,  # noqa: A004  (the public name is `fg.tree.all`, as in `jax.tree.all`)
    broadcast,
    map_with_path,
    reduce,
    transpose,
)
from funcgrad.tree._flatten import (
    LEAF,
    KeyPath,
    TreeDef,
    flatten,
    flatten_with_path,
    key_path_str,
    key_paths,
    leaves,
    structure,
    unflatten,
)
from funcgrad.tree._nodes import register_node, register_static
from funcgrad.tree._packed import Packed, ravel, set_packing
from funcgrad.tree._partial import Partial
from funcgrad.tree._register import register_dataclass, register_leaf

__all__ = [
    "LEAF",
    "KeyPath",
    "Packed",
    "Partial",
    "TreeDef",
    "all",
    "broadcast",
    "broadcast_prefix",
    "flatten",
    "flatten_up_to",
    "flatten_with_path",
    "key_path_str",
    "key_paths",
    "leaves",
    "map",
    "map_with_path",
    "ravel",
    "reduce",
    "register_dataclass",
    "register_leaf",
    "register_node",
    "register_static",
    "set_packing",
    "structure",
    "transpose",
    "unflatten",
]

__dir__ = publish(__name__)
