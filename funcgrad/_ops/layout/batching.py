"""Batching rules that many primitives share: ``rule(primitive, size, operands, batched, params)``.

The operands flagged in ``batched`` have the batch of ``size`` in their leading axis, and so must the result.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from funcgrad._core.bind import bind
from funcgrad._core.primitive import Primitive

BatchRule = Callable[[Primitive, int, tuple, tuple[bool, ...], dict], Any]


def batch_same(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> Any:
    """For one array operand whose parameters do not speak of axes or shapes."""
    return bind(primitive, operands, params)


def batch_axes(*names: str) -> BatchRule:
    """For one array operand whose parameters of these names are axes: they move up by one."""

    def rule(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> Any:
        moved = {name: moved_axes(value) if name in names else value for name, value in params.items()}
        return bind(primitive, operands, moved)

    return rule


def moved_axes(axes: Any) -> Any:
    """Axes of the unbatched array, in the batched one."""
    return axes + 1 if isinstance(axes, int) else tuple([axis + 1 for axis in axes])
