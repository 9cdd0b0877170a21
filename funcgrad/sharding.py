"""Spread an optimizer's state over the devices of a mesh, and measure the memory it takes on each device.

JAX spreads the arrays (``jax.device_put``, ``jax.sharding``, the shardings of ``jax.jit``), and a step keeps each array
on its devices. This module selects the arrays of a state to spread.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeVar

from funcgrad._engines.xla.record import shardings
from funcgrad._public import publish
from funcgrad._types import PyTree
from funcgrad.optim.extend import State
from funcgrad.tree import flatten, leaves, unflatten

S = TypeVar("S")

__all__ = ["memory_per_device", "shard_state"]


def shard_state(state: S, mesh: Any, axis: str) -> S:
    """Spread the buffers of an optimizer's state, and its master copies, over an axis of a mesh.

    Parameters may be whole on every device while the buffers are not: each device steps its part, and the compiler
    gathers the new parameters. With n devices along the axis, each holds 1/n of a buffer, and the numbers are the same.
    A step keeps this layout, so one call before the first step is enough.

    Args:
        state: the result of an ``init``, or a tree of such results; moving averages and wrapped states too. Its arrays
            may be NumPy's.
        mesh: a ``jax.sharding.Mesh``, with explicit or automatic axes.
        axis: the name of the axis, usually the axis of the data. A buffer is split along its longest axis that divides
            evenly and is not yet spread; a buffer without such an axis is whole on each device.

    Returns:
        The same state, on the devices of the mesh.

    Raises:
        TypeError: `mesh` is no mesh.
        ValueError: the mesh has no such axis.

    Example:
        >>> import jax
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> mesh = jax.make_mesh((jax.device_count(),), ("data",))
        >>> params = {"weight": np.ones((64, 8), np.float32)}
        >>> state = fg.sharding.shard_state(fg.sgd_init(params, lr=0.1, momentum=0.9), mesh, "data")
        >>> state.buffers["weight"].sharding.spec == jax.sharding.PartitionSpec("data", None)
        True

    Source: Rajbhandari, Rasley, Ruwase and He, *ZeRO: memory optimizations toward training trillion parameter models*
    (2020), stage 1; Xu et al., *Automatic cross-replica sharding of weight update in data-parallel training* (2020).
    """
    shardings.check_mesh(mesh, axis, "shard_state")
    found, treedef = flatten(state, is_leaf=lambda x: isinstance(x, State))
    return unflatten(treedef, [_spread(x, mesh, axis) for x in found])


def _spread(part: Any, mesh: Any, axis: str) -> Any:
    """Spread a leaf, or a whole state: its buffers and master copies are split, its numbers go to all devices."""
    if not isinstance(part, State):
        return shardings.spread_one(part, mesh, axis)
    data = (part.numbers, part.step, part.taken)
    numbers, step, taken = [x if x is None else shardings.on_all(x, mesh) for x in data]
    slots, masters = [_each(tree, mesh, axis) for tree in (part.slots, part.masters)]
    return dataclasses.replace(part, numbers=numbers, step=step, taken=taken, slots=slots, masters=masters)


def _each(tree: PyTree, mesh: Any, axis: str) -> Any:
    found, treedef = flatten(tree)
    return unflatten(treedef, [shardings.spread_one(x, mesh, axis) for x in found])


def memory_per_device(tree: PyTree) -> dict[str, int]:
    """Return the number of bytes that the arrays of a tree take on each device of this process.

    Args:
        tree: a pytree of arrays: parameters, a state, both in a tuple. Other leaves count as 0 bytes.

    Returns:
        Bytes by device, in the order of the devices; NumPy's arrays under ``"host"``.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> fg.sharding.memory_per_device({"weight": np.ones((64, 8), np.float32)})
        {'host': 2048}
    """
    return shardings.bytes_per_device(_arrays(tree))


def _arrays(tree: PyTree) -> Sequence[Any]:
    return [x for x in leaves(tree) if hasattr(x, "nbytes")]


__dir__ = publish(__name__)
