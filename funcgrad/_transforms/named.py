"""``named``: gives a block of a program a name in graphs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextvars import Token
from typing import ParamSpec, Self, TypeVar

from funcgrad._core.bind import next_serial
from funcgrad._core.graph.line import Block, blocks
from funcgrad._transforms.base.pickled import picklable

P = ParamSpec("P")
T = TypeVar("T")


class named:  # noqa: N801  (called as a function, and entered as a context)
    """Name a block of a program. Graphs show its operations together under this name, forward and backward.

    Names change neither numbers nor compiled programs. Blocks nest, and each call is a new block. Transforms keep
    blocks: the equations of a gradient belong to the block of the function that they differentiate.

    Args:
        name: the name of the block.

    Returns:
        A decorator that names each call of a function; ``with fg.named(name):`` names statements.

    Raises:
        TypeError: ``name`` is no string, or the decorated object is no function.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> @fg.named("layer")
        ... def layer(w, x):
        ...     return np.tanh(x @ w)
        >>> graph = fg.make_graph(fg.grad(lambda w, x: np.sum(layer(w, x))))(np.ones((2, 3)), np.ones(2))
        >>> for equation in graph.equations:
        ...     line = equation.source
        ...     print(equation.primitive.name, [block.name for block in line.blocks], line.backward)
        matmul ['layer'] False
        tanh ['layer'] False
        ...

    Source: ``jax.named_scope``.
    """

    __slots__ = ("_tokens", "name")

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise TypeError(
                f"named: the name must be a string. Arrived {name!r} of type {type(name).__name__}. Pass the name "
                "first and then the function: fg.named('attention')(f)."
            )
        self.name = name
        # A token for each time that it was entered and not left.
        self._tokens: list[Token[tuple[Block, ...]]] = []

    def __getstate__(self) -> str:
        """Pickle the name alone: blocks end where they began."""
        return self.name

    def __setstate__(self, name: str) -> None:
        self.name, self._tokens = name, []

    @picklable
    def __call__(self, f: Callable[P, T]) -> Callable[P, T]:
        """Return the same function with named calls."""
        if not callable(f):
            raise TypeError(
                f"named: the name {self.name!r} was given to a {type(f).__name__}; needed a function. Pass the "
                "function itself, not its result. To name statements, write: with fg.named(name)."
            )
        name = self.name

        @functools.wraps(f)
        def block(*args: P.args, **kwargs: P.kwargs) -> T:
            token = blocks.set((*blocks.get(), Block(name, next_serial())))
            try:
                return f(*args, **kwargs)
            finally:
                blocks.reset(token)

        return block

    def __enter__(self) -> Self:
        self._tokens.append(blocks.set((*blocks.get(), Block(self.name, next_serial()))))
        return self

    def __exit__(self, *error: object) -> None:
        blocks.reset(self._tokens.pop())

    def __repr__(self) -> str:
        return f"named({self.name!r})"
