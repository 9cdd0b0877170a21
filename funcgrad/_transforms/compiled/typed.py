"""The type of a compiled function, for type checkers: `jit` returns it for a function of type ``F``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, Self, TypeVar, overload

from funcgrad._core.graph.ir import Graph

F = TypeVar("F", bound=Callable[..., Any])
P = ParamSpec("P")
R = TypeVar("R")


class Compiled(Generic[F]):
    """A function that is called like one of type ``F``, and has the methods that `jit` adds.

    It exists for type checkers only. Objects that `jit` returns are of the class `Jitted`.
    """

    __name__: str
    __qualname__: str
    __wrapped__: Callable[..., Any]

    # An attribute keeps the overloads of the function. A method with a `ParamSpec` keeps only the first one.
    __call__: F

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(
        self: Compiled[Callable[Concatenate[Any, P], R]], instance: object, owner: type | None = None
    ) -> Callable[P, R]: ...
    def __get__(self, instance: object, owner: type | None = None) -> Any: ...

    # Each method takes arguments of these types. The engines "numpy" and "numba" have `source`, and "xla" has `lower`.
    def graph(self, *args: Any, **kwargs: Any) -> Graph: ...
    def source(self, *args: Any, **kwargs: Any) -> str: ...
    def lower(self, *args: Any, **kwargs: Any) -> Any: ...
    def cache_size(self) -> int: ...
    def clear_cache(self) -> None: ...


class Decorator(Protocol):
    """`jit` with options and without a function."""

    def __call__(self, f: F, /) -> Compiled[F]: ...
