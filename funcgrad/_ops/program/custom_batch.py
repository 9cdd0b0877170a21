"""A user's derivative rule mapped over a batch: it is a rule of the batched function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol, TypeAlias

from funcgrad._ops.layout.broadcast import with_batch
from funcgrad._ops.program.batch import mapped
from funcgrad._ops.program.derived import Mask
from funcgrad._ops.reduce.reduce import reduce_sum
from funcgrad._types import Value
from funcgrad.errors import NotDifferentiableError

# Takes residuals and the cotangents of the results. Returns a cotangent or ``None`` per operand.
Backward: TypeAlias = Callable[[Sequence[Any], Sequence[Any]], list[Any]]


class VjpRule(Protocol):
    """A user's rule for reverse mode, on flat lists."""

    name: str
    arity: int
    # The rule for forward mode, or ``None``.
    pushes: JvpRule | None
    # Whether the backward function needs zeros in place of absent cotangents.
    instantiate: bool

    def forward(self, xs: Sequence[Any]) -> tuple[list, list, Backward]:
        """Return results, residuals, and the backward function of these residuals.

        Another call may return residuals of another structure: the rule runs again whenever its graph does.
        """
        ...


class JvpRule(Protocol):
    """A user's rule for forward mode, on flat lists."""

    name: str
    arity: int

    def push(self, xs: Sequence[Any], x_dots: Sequence[Any]) -> tuple[list, list]:
        """Return results and their tangents."""
        ...


class _MappedRule:
    """The common part of both kinds; ``batched`` flags the operands, with values that the function closes over last."""

    # The rule belongs to one call, like the user's rule. Programs with different rules must not count as equal.
    __hash__: Any = None

    def __init__(self, rule: Any, size: int, batched: Mask) -> None:
        self.name: str = rule.name
        self.arity: int = rule.arity
        self._rule = rule
        self._size = size
        self._batched = batched

    def _refuse_captured(self) -> None:
        if any(self._batched[self.arity :]):
            raise NotDifferentiableError(
                f"{self.name}: the function closes over a value that vmap maps, and a derivative was asked of it; its "
                "rule sees its arguments only. Pass the value as an argument."
            )

    def _whole(self, ys: Sequence[Any], flags: Sequence[bool]) -> list[Any]:
        return [with_batch(y, self._size, flag) for y, flag in zip(ys, flags, strict=True)]


class MappedVjp(_MappedRule):
    """The mapped rule of ``custom_vjp``; the cotangent of a value that is not batched is summed over the batch."""

    instantiate = True

    def __init__(self, rule: VjpRule, size: int, batched: Mask) -> None:
        super().__init__(rule, size, batched)
        self.pushes = None if rule.pushes is None else MappedJvp(rule.pushes, size, batched)

    def forward(self, xs: Sequence[Any]) -> tuple[list, list, Backward]:
        self._refuse_captured()
        count = 0
        of_element: Any = None

        def flat(*xs: Value) -> list:
            nonlocal count, of_element
            ys, residuals, of_element = self._rule.forward(xs)
            count = len(ys)
            return [*ys, *residuals]

        results, flags = mapped(flat, self._size, xs, self._batched[: self.arity])
        backward = partial(self._backward, of_element, flags[count:])
        return self._whole(results[:count], flags[:count]), results[count:], backward

    def _backward(self, of_element: Backward, mask: Mask, residuals: Sequence[Any], y_bars: Sequence[Any]) -> list[Any]:
        kept, present = len(residuals), []

        def flat(*values: Value) -> list:
            bars = of_element(values[:kept], list(values[kept:]))
            present[:] = [bar is not None for bar in bars]
            return [bar for bar in bars if bar is not None]

        values = [*residuals, *y_bars]
        bars, flags = mapped(flat, self._size, values, (*mask, *[True] * len(y_bars)))
        found = iter(self._whole(bars, flags))
        whole = [next(found) if is_present else None for is_present in present]
        pairs = zip(whole, self._batched, strict=False)
        return [bar if flag or bar is None else reduce_sum(bar, (0,)) for bar, flag in pairs]


class MappedJvp(_MappedRule):
    """The mapped rule of ``custom_jvp``."""

    def push(self, xs: Sequence[Any], x_dots: Sequence[Any]) -> tuple[list, list]:
        self._refuse_captured()
        own = self._batched[: self.arity]

        def flat(*values: Value) -> list:
            ys, y_dots = self._rule.push(values[: self.arity], values[self.arity :])
            return [*ys, *y_dots]

        results, flags = mapped(flat, self._size, [*xs, *x_dots], (*own, *own))
        whole = self._whole(results, flags)
        return whole[: len(whole) // 2], whole[len(whole) // 2 :]
