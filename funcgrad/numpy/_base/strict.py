"""``numpy_promotion``: a context in which an operation that widens a float raises an error."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from typing import Any, NoReturn

import numpy as np

from funcgrad._core.aval import Aval, is_inexact, result_dtype, short_dtype
from funcgrad._core.words import shown

_MODES = ("numpy", "strict")

# Called with the dtypes of the operands, their common dtype and the narrowest float's, if an operation widens a float.
OnWidening = Callable[[Sequence[np.dtype], np.dtype, np.dtype], object]
widening: ContextVar[OnWidening | None] = ContextVar("funcgrad_widening", default=None)


@contextlib.contextmanager
def numpy_promotion(mode: str) -> Iterator[None]:
    """Choose what happens if a traced float is combined with an array that widens it, such as float32 with float64.

    Only operations on traced values are checked, because NumPy does not call funcgrad for plain arrays. A compiled
    function is checked when it is staged. A program that was staged before is not checked.

    Args:
        mode: ``"numpy"``, NumPy's rules, which are always in force outside of this context; or ``"strict"``, where such
            an operation raises. Python numbers widen nothing in either mode.

    Returns:
        A context manager that is also a decorator.

    Raises:
        ValueError: there is no such mode.
        TypeError: inside, an operation would widen a float.

    Example:
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> x = np.ones(2, np.float32)
        >>> fg.jit(lambda x: x * np.linspace(0, 1, 2), engine="numpy")(x).dtype
        dtype('float64')
        >>> with fg.numpy_promotion("strict"):
        ...     fg.jit(lambda x: x * np.linspace(0, 1, 2, dtype=x.dtype), engine="numpy")(x).dtype
        dtype('float32')

    Source: ``jax.numpy_dtype_promotion``.
    """
    if mode not in _MODES:
        raise ValueError(f"numpy_promotion: mode is {shown(mode)}; needed 'numpy' or 'strict'. Write one of these.")
    token = widening.set(_refuse if mode == "strict" else None)
    try:
        yield
    finally:
        widening.reset(token)


def is_strict() -> bool:
    """Return whether `numpy_promotion` refuses what widens a float."""
    return widening.get() is _refuse


def check_widening(on_widening: OnWidening, kinds: Iterable[Any]) -> None:
    """Call a function if the common dtype of operands of these kinds is wider than one of the floats."""
    dtypes = [kind for kind in kinds if isinstance(kind, np.dtype)]
    floats = [dtype for dtype in dtypes if is_inexact(dtype)]
    if len(set(dtypes)) < 2 or not floats:
        return
    common = result_dtype(*[Aval((), dtype) for dtype in dtypes])
    narrow = min(floats, key=bits)
    if bits(narrow) < bits(common):
        on_widening(dtypes, common, narrow)


def _refuse(dtypes: Sequence[np.dtype], common: np.dtype, narrow: np.dtype) -> NoReturn:
    texts = " and ".join(dict.fromkeys(map(short_dtype, dtypes)))
    raise TypeError(
        f'numpy_promotion("strict"): an operation met operands of dtypes {texts}, and the result would be '
        f"{short_dtype(common)}; needed a result as narrow as {short_dtype(narrow)}. Make the other array with "
        f"dtype={narrow.name}, or convert one of them with astype."
    )


def bits(dtype: np.dtype) -> int:
    """Return the bits of one real number of an inexact dtype."""
    return 8 * dtype.itemsize // (2 if dtype.kind == "c" else 1)
