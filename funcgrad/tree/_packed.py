"""Pack a pytree into a few flat arrays, so that one operation handles a thousand small tensors."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from funcgrad._public import public_module
from funcgrad._types import PyTree
from funcgrad.tree._flatten import TreeDef, flatten, unflatten
from funcgrad.tree._register import register_dataclass

Shapes = tuple[tuple[int, ...], ...]


class Layout(NamedTuple):
    """The position of each leaf of a tree in the flat arrays.

    Args:
        treedef: the structure of the tree.
        members: the indices of the leaves in each flat array, in order.
        shapes: the shapes of these leaves.
    """

    treedef: TreeDef
    members: tuple[tuple[int, ...], ...]
    shapes: tuple[Shapes, ...]

    def __repr__(self) -> str:
        return f"Layout({self.treedef.num_leaves} leaves in {len(self.members)} arrays)"


@register_dataclass(meta_fields=("layout",), when_made=True)
@dataclasses.dataclass(frozen=True, eq=False)
class Packed:
    """A pytree whose leaves lie one after the other in flat arrays. It is itself a pytree, with these arrays as leaves.

    Args:
        arrays: one flat array for each dtype and device.
        layout: the position of each leaf in the arrays; static.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> packed = fg.tree.ravel({"a": np.ones(2), "b": np.zeros((1, 2))})
        >>> packed.arrays
        (array([1., 1., 0., 0.]),)
        >>> packed.unpack()
        {'a': array([1., 1.]), 'b': array([[0., 0.]])}
    """

    arrays: tuple[Any, ...]
    layout: Layout

    def unpack(self) -> Any:
        """Split the flat arrays into the leaves, reshape each, and return the tree.

        Each flat array is split once. The transpose of a split is a single concatenation, so the gradient with respect
        to a packed tree is packed. NumPy's leaves are views of the flat arrays.
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


def ravel(tree: PyTree) -> Packed:
    """Pack a pytree of arrays: all leaves of one dtype and device lie in one flat array.

    Operations on a packed tree are dispatched, compiled and launched once, instead of once for each leaf. Write the
    loss as ``lambda packed, x: loss(packed.unpack(), x)``; then gradients, momentum buffers and steps are packed too.

    Args:
        tree: a pytree of arrays and numbers.

    Returns:
        The packed tree, with its own memory; `Packed.unpack` returns the tree.

    Raises:
        TypeError: a leaf is not an array.

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

        For SciPy, the arrays of one dtype are one vector. ``unravel`` makes the tree of another vector:

        >>> import dataclasses
        >>> unravel = lambda v: dataclasses.replace(packed, arrays=(v,)).unpack()
        >>> (vector,) = packed.arrays
        >>> unravel(2 * vector)["weight"]
        array([[2., 2.],
               [2., 2.]])
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
    """The array operations that packing needs.

    Arrays are in a layer above pytrees, so ``_ops.split`` sets these functions.
    """

    join: Callable[[Sequence[Any]], Any]
    split: Callable[[Any, Shapes], Sequence[Any]]
    place: Callable[[Any], Any]
    array: Callable[[Any], Any]

    def __getattr__(self, name: str) -> Any:
        """Load the optimizers, which import the functions and set them, before the first of them is used."""
        if name not in type(self).__annotations__:
            raise AttributeError(name)
        public_module("optim")
        return vars(self)[name]


_packing = _Packing()


def set_packing(
    join: Callable[[Sequence[Any]], Any],
    split: Callable[[Any, Shapes], Sequence[Any]],
    place: Callable[[Any], Any],
    array: Callable[[Any], Any],
) -> None:
    """Set the functions that concatenate, split, group (by dtype and device) and convert arrays.

    Args:
        join: concatenates arrays to one flat array.
        split: cuts a flat array into arrays of the given shapes.
        place: returns what arrays must have in common to be joined: dtype and device.
        array: converts a leaf to an array.
    """
    _packing.join, _packing.split, _packing.place, _packing.array = join, split, place, array
