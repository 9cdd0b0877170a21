"""What the transforms share: arguments taken apart, checked and named in errors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from funcgrad._core.aval import aval_of, is_inexact
from funcgrad._core.bind import is_foreign, is_value
from funcgrad._engines import load_xla
from funcgrad.errors import NotDifferentiableError
from funcgrad.tree import flatten, flatten_with_path, key_path_str


def name_of(f: Callable[..., Any]) -> str:
    """The name of a function as it stands in messages and graphs."""
    return getattr(f, "__name__", None) or type(f).__name__


def argument_name(f: Callable[..., Any], number: int) -> str:
    """``argument 0 (x) of f``, without the parenthesis where the signature does not say."""
    try:
        names = [p.name for p in inspect.signature(f).parameters.values() if p.kind <= p.POSITIONAL_OR_KEYWORD]
    except (TypeError, ValueError):
        names = []
    label = f" ({names[number]})" if number < len(names) else ""
    return f"argument {number}{label} of {name_of(f)}"


def check_differentiable(transform: str, f: Callable[..., Any], number: int, arg: Any) -> None:
    """Refuse leaves that are no arrays, or of integer or boolean dtype, naming argument and path."""
    for leaf in flatten(arg)[0]:
        if not is_value(leaf) or not is_inexact(aval_of(leaf).dtype):
            _refuse(transform, f, number, arg)


def _refuse(transform: str, f: Callable[..., Any], number: int, arg: Any) -> NoReturn:
    for path, leaf in flatten_with_path(arg)[0]:
        text = key_path_str(path)
        where = f"{argument_name(f, number)}{f' at {text}' if text else ''}"
        if not is_value(leaf):
            raise TypeError(
                f"{transform}: {where} is a {type(leaf).__name__}, needed an array or a number. "
                "Pass arrays in pytrees, and other things as arguments that are not differentiated."
            )
        aval = aval_of(leaf)
        if not is_inexact(aval.dtype):
            raise NotDifferentiableError(
                f"{transform}: a derivative was asked by {where}. It has dtype {aval.dtype.name} ({aval}); needed a "
                "float or complex dtype. Convert it with .astype(float), or leave it out of argnums."
            )
    raise AssertionError("every leaf is differentiable")


def engine_scope(values: Sequence[Any]) -> Any:
    """The mode in which rules run on these values: JAX's 64-bit scope where one of them is a ``jax.Array``."""
    if any(is_foreign(value) for value in values):
        return load_xla().scope()
    return _NO_SCOPE


class _NoScope:
    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


_NO_SCOPE = _NoScope()
