"""Convert an operator on functions of one argument into an operator with ``argnum``."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

from funcgrad._public import publish
from funcgrad._transforms.base.arguments import name_of
from funcgrad._types import PyTree

__all__ = ["positions", "unary", "unary_to_nary", "wraps"]


def positions(argnum: int | Sequence[int]) -> int | tuple[int, ...]:
    """Convert autograd's ``argnum``, in which a list is allowed, to ours.

    Args:
        argnum: the position of an argument, or a list or tuple of positions.

    Returns:
        An int or a tuple.

    Example:
        >>> from funcgrad.interop.autograd.wrap_util import positions
        >>> positions(1), positions([0, 2])
        (1, (0, 2))
    """
    return tuple(argnum) if isinstance(argnum, list | tuple) else operator.index(argnum)  # pyright: ignore[reportArgumentType]  (other sequences are refused)


def unary(
    fun: Callable[..., Any], argnum: int | Sequence[int], args: tuple, kwargs: dict
) -> tuple[Callable[[Any], Any], Any]:
    """Return the function of the arguments in ``argnum`` only, and these arguments.

    Args:
        fun: any function.
        argnum: a position, or several: then the one argument is a tuple.
        args: the positional arguments.
        kwargs: the named arguments.

    Returns:
        ``(f, x)``, so that ``f(x)`` is ``fun(*args, **kwargs)``.

    Raises:
        IndexError: there is no such argument.

    Example:
        >>> from funcgrad.interop.autograd.wrap_util import unary
        >>> f, x = unary(lambda a, b: a - b, 1, (10, 3), {})
        >>> x, f(4)
        (3, 6)
    """
    numbers = positions(argnum)
    chosen = (numbers,) if isinstance(numbers, int) else numbers

    @functools.wraps(fun)
    def of_one(x: PyTree) -> Any:
        whole = list(args)
        for number, each in zip(chosen, (x,) if isinstance(numbers, int) else x, strict=True):
            whole[number] = each
        return fun(*whole, **kwargs)

    return of_one, args[numbers] if isinstance(numbers, int) else tuple([args[number] for number in numbers])


def unary_to_nary(unary_operator: Callable[..., Any]) -> Callable[..., Any]:
    """Convert an operator ``(f, x, ...)`` on functions of one argument into an operator with an ``argnum``.

    Args:
        unary_operator: an operator on a function of one argument, that argument, and options.

    Returns:
        ``nary(fun, argnum=0, *options)``, a function of the arguments of ``fun``.

    Example:
        >>> from funcgrad.interop.autograd.wrap_util import unary_to_nary
        >>> @unary_to_nary
        ... def twice(f, x):
        ...     return f(f(x))
        >>> twice(lambda x, y: x + y, 1)(1, 10)
        12
    """

    @functools.wraps(unary_operator)
    def nary_operator(fun: Callable[..., Any], argnum: int | Sequence[int] = 0, *options: Any, **named: Any) -> Any:
        @functools.wraps(fun)
        def of_several(*args: Any, **kwargs: Any) -> Any:
            return unary_operator(*unary(fun, argnum, args, kwargs), *options, **named)

        of_several.__name__ = f"{name_of(unary_operator)}_of_{name_of(fun)}_wrt_argnum_{argnum}"
        return of_several

    return nary_operator


def wraps(
    fun: Callable[..., Any], namestr: str = "{fun}", docstr: str = "{doc}", **kwargs: Any
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a decorator that gives a function another one's name and docstring.

    Args:
        fun: the other function.
        namestr: the name; ``{fun}`` is replaced by the name of ``fun``.
        docstr: the docstring; ``{fun}`` and ``{doc}`` are replaced by name and docstring of ``fun``.
        kwargs: further replacements for names in braces.

    Returns:
        The decorator.

    Example:
        >>> from funcgrad.interop.autograd.wrap_util import wraps
        >>> wraps(abs, "{how}_{fun}", how="slow")(lambda x: x).__name__
        'slow_abs'
    """

    def named(f: Callable[..., Any]) -> Callable[..., Any]:
        words = {"fun": name_of(fun), "doc": getattr(fun, "__doc__", None) or "", **kwargs}
        f.__name__, f.__doc__ = namestr.format(**words), docstr.format(**words)
        return f

    return named


__dir__ = publish(__name__)
