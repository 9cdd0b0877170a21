"""Pytrees packed into few flat arrays: a thousand small tensors are then handled as one."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcgrad.tree._flatten import TreeDef, flatten, unflatten
from funcgrad.tree._register import register_dataclass

Shapes = tuple[tuple[int, ...], ...]


class Layout(NamedTuple):
    """Where the leaves of a tree lie in the flat arrays.

    Args:
        treedef: the structure of the tree.
        members: per flat array the numbers of the leaves in it, in order.
        shapes: their shapes.
    """

    treedef: TreeDef
    members: tuple[tuple[int, ...], ...]
    shapes: tuple[Shapes, ...]

    def __repr__(self) -> str:
        return f"Layout({self.treedef.num_leaves} leaves in {len(self.members)} arrays)"


@register_dataclass(meta_fields=("layout",), when_made=True)
@dataclasses.dataclass(frozen=True, eq=False)
class Packed:
    """A pytree whose leaves lie one after the other in flat arrays: itself a pytree, with these arrays as leaves.

    Args:
        arrays: one flat array for each dtype and device.
        layout: static: what lies where.
    """

    arrays: tuple[Any, ...]
    layout: Layout

    def unpack(self) -> Any:
        """Cut the flat arrays into the leaves again, each in its shape, and return the tree.

        One split for each flat array. Its transpose is a single concatenation, so the gradient by a packed tree is
        packed. NumPy's leaves are views of the flat arrays.
        """
        layout = self.layout
        leaves: list[Any] = [None] * layout.treedef.num_leaves
        for array, members, shapes in zip(self.arrays, layout.members, layout.shapes, strict=True):
            for i, part in zip(members, _packing.split(array, shapes), strict=True):
                leaves[i] = part
        return unflatten(layout.treedef, leaves)

    def __repr__(self) -> str:
        sizes = [sum(math.prod(shape) for shape in shapes) for shapes in self.layout.shapes]
        return f"Packed({self.layout.treedef.num_leaves} leaves in arrays of {sizes})"


def ravel(tree: Any) -> Packed:
    """Pack a pytree of arrays: all leaves of one dtype and device lie in one flat array.

    What is dispatched, compiled and launched leaf by leaf is done once for a packed tree: write the loss as
    ``lambda packed, x: loss(packed.unpack(), x)``, and gradients, momentum buffers and steps are packed too.

    Args:
        tree: a pytree of arrays and numbers.

    Returns:
        The packed tree, with memory of its own; `Packed.unpack` gives back the tree.

    Raises:
        TypeError: a leaf is no array.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> packed = fg.tree.ravel({"weight": np.ones((2, 2)), "bias": np.zeros(2)})
        >>> packed.arrays
        (array([0., 0., 1., 1., 1., 1.]),)
        >>> packed.unpack()["bias"]
        array([0., 0.])
        >>> grads = fg.grad(lambda packed: np.sum(packed.unpack()["weight"] ** 2))(packed)
        >>> grads.unpack()
        {'weight': array([[2., 2.],
               [2., 2.]]), 'bias': array([0., 0.])}
    """
    leaves, treedef = flatten(tree)
    leaves = [_packing.array(leaf) for leaf in leaves]
    groups: dict[Any, list[int]] = {}
    for i, leaf in enumerate(leaves):
        groups.setdefault(_packing.place(leaf), []).append(i)
    members = tuple([tuple(group) for group in groups.values()])
    shapes = tuple([tuple([tuple(leaves[i].shape) for i in group]) for group in members])
    arrays = tuple([_packing.join([leaves[i] for i in group]) for group in members])
    return Packed(arrays, Layout(treedef, members, shapes))


class _Packing:
    """What packing asks of arrays. They lie above pytrees, so ``_ops.split`` hands it down."""

    join: Callable[[Sequence[Any]], Any]
    split: Callable[[Any, Shapes], Sequence[Any]]
    place: Callable[[Any], Any]
    array: Callable[[Any], Any]


_packing = _Packing()


def set_packing(
    join: Callable[[Sequence[Any]], Any],
    split: Callable[[Any, Shapes], Sequence[Any]],
    place: Callable[[Any], Any],
    array: Callable[[Any], Any],
) -> None:
    """Say how arrays are joined into a flat one and split again, which may lie together, and what is an array."""
    _packing.join, _packing.split, _packing.place, _packing.array = join, split, place, array
