"""Shard arrays over devices: the shardings that a user gives for trees of arrays, and those of an optimizer's state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.core
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec, Sharding

from funcgrad._engines.xla.modes import scope
from funcgrad._types import PyTree, Value

# The meshes that were used. On one device, a mesh with explicit axes is part of the types of arrays.
meshes: set[Mesh] = set()


class _Asked:
    """A sharding as a leaf of a tree, also if JAX takes it for a container."""

    __slots__ = ("sharding",)

    def __init__(self, sharding: Any) -> None:
        if sharding is not None and not isinstance(sharding, Sharding | PartitionSpec):
            raise TypeError(
                f"jit: a leaf of in_shardings or out_shardings is a {type(sharding).__name__}; needed a sharding, a "
                "PartitionSpec or None. Write NamedSharding(mesh, PartitionSpec('data')), say, of jax.sharding."
            )
        self.sharding = sharding


def spread_over(prefix: Any, tree: PyTree) -> list[Any]:
    """Return, for each leaf of a tree, the sharding at its position in a prefix of the tree."""
    asked = jax.tree.map(_Asked, prefix, is_leaf=lambda x: x is None or isinstance(x, Sharding | PartitionSpec))
    try:
        whole = jax.tree.broadcast(asked, tree)
    except ValueError as error:
        raise ValueError(
            "jit: in_shardings must be a prefix of the tuple of arguments, out_shardings one of the result. Arrived "
            f"{_shown(asked)}, needed a prefix of {_shown(tree)}. Write one sharding for all, or one for each part."
        ) from error
    return [x.sharding for x in jax.tree.leaves(whole)]


def put(x: Value, sharding: Any) -> Any:
    """Return an argument with a sharding.

    ``in_shardings`` of ``jax.jit`` would do the same. But on a mesh with explicit axes the type of an argument contains
    its
    sharding, and ``in_shardings`` do not change types (JAX 0.10).
    """
    if isinstance(x, jax.core.Tracer):
        return _laid_out(x, sharding)
    found = getattr(x, "sharding", None)
    if found is sharding or found == sharding:
        return x
    mesh = _mesh_of(sharding)
    if isinstance(mesh, Mesh):
        meshes.add(mesh)
    return jax.device_put(x, sharding)


def typed_at(x: Value, sharding: Any) -> Any:
    """Return the type of an argument with this sharding."""
    return jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=sharding)


def laid_out(values: Sequence[Any], shardings: Sequence[Any]) -> Sequence[Any]:
    """Return values of a traced program with these shardings; for ``None`` the compiler chooses."""
    return [y if sharding is None else _laid_out(y, sharding) for y, sharding in zip(values, shardings, strict=True)]


def _laid_out(y: Value, sharding: Any) -> Any:
    mesh = _mesh_of(sharding)
    if mesh is not None and AxisType.Explicit in mesh.axis_types:
        return jax.sharding.reshard(y, sharding)
    y = jax.jit(lambda y: y, out_shardings=sharding)(y)
    # ``out_shardings`` inside a trace ignores the kind of memory (JAX 0.10).
    kind = getattr(sharding, "memory_kind", None)
    return y if kind in (None, "device") else jax.device_put(y, sharding)


def _mesh_of(sharding: Any) -> Any:
    """Return the mesh of a sharding, or ``None``; for a ``PartitionSpec``, the mesh that is set."""
    if not isinstance(sharding, PartitionSpec):
        return getattr(sharding, "mesh", None)
    mesh = jax.sharding.get_abstract_mesh()
    if mesh.empty:
        raise ValueError(
            f"jit: in_shardings or out_shardings has {sharding}, which names axes of a mesh, and none is set; needed a "
            "mesh. Call it inside jax.set_mesh(mesh), or write NamedSharding(mesh, ...)."
        )
    return mesh


def _shown(tree: PyTree) -> str:
    """Return the outermost containers of a tree as text; a full state would be too long."""
    return str(jax.tree.structure(tree if type(tree) is not tuple else tuple([0] * len(tree))))


def check_mesh(mesh: Any, axis: Any, asked: str) -> None:
    """Raise if ``mesh`` is no mesh, or has no such axis."""
    if not isinstance(mesh, Mesh):
        raise TypeError(
            f"{asked}: mesh is a {type(mesh).__name__}; needed a jax.sharding.Mesh. Make one of all devices: "
            "jax.make_mesh((jax.device_count(),), ('data',))."
        )
    meshes.add(mesh)
    if axis not in mesh.axis_names:
        raise ValueError(
            f"{asked}: axis is {axis!r}; needed one of the mesh's axes, {mesh.axis_names}. Name the one of the data."
        )


def on_all(x: Value, mesh: Mesh) -> Any:
    """Return a value with a whole copy on each device of a mesh."""
    return _put(x, NamedSharding(mesh, PartitionSpec()))


def spread_one(x: Value, mesh: Mesh, axis: str) -> Any:
    """Return an array sharded over one more axis of a mesh; a value that is no array is returned as it is."""
    if not issubclass(type(x), np.ndarray | np.generic | jax.Array):
        return x
    sharding = getattr(x, "sharding", None)
    spec: list[Any] = [None] * x.ndim
    if isinstance(sharding, NamedSharding) and sharding.mesh == mesh:
        spec[: len(sharding.spec)] = sharding.spec
    used = [name for part in spec if part is not None for name in (part if isinstance(part, tuple) else (part,))]
    free = [i for i, part in enumerate(spec) if part is None and x.shape[i] > 0 and x.shape[i] % mesh.shape[axis] == 0]
    if axis not in used and free and x.dtype.kind in "fcV":
        spec[max(free, key=lambda i: x.shape[i])] = axis
    return _put(x, NamedSharding(mesh, PartitionSpec(*spec)))


def _put(x: Value, sharding: NamedSharding) -> Any:
    with scope():
        return jax.device_put(x, sharding)


def bytes_per_device(arrays: Sequence[Any]) -> dict[str, int]:
    """Return the bytes that arrays take on each device of this process, and in NumPy's memory."""
    found: dict[Any, int] = {}
    for x in arrays:
        parts = [(part.device, part.data.nbytes) for part in x.addressable_shards] if isinstance(x, jax.Array) else []
        for device, size in parts or [(None, x.nbytes)]:
            found[device] = found.get(device, 0) + size
    order = sorted(found, key=lambda device: -1 if device is None else device.id)
    return {"host" if device is None else str(device): found[device] for device in order}
