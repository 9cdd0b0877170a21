"""autograd's checks of derivatives, implemented with `funcgrad.check_grads`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from funcgrad._public import publish
from funcgrad._types import PyTree
from funcgrad.interop.autograd.wrap_util import unary
from funcgrad.testing import check_grads as check
from funcgrad.tree import leaves, structure

__all__ = ["check_equivalent", "check_grads", "check_jvp", "check_vjp", "combo_check"]

# The step that autograd uses. It is so small that few functions have a kink inside it.
_TOLERANCE = 1e-6
_STEP = 1e-6


def check_grads(
    f: Callable[..., Any], argnum: int | Sequence[int] = 0, modes: Sequence[str] = ("fwd", "rev"), order: int = 2
) -> Callable[..., None]:
    """Make the function that compares derivatives at a point with differences.

    Args:
        f: any function.
        argnum: the position of the argument, or several positions.
        modes: ``"fwd"``, ``"rev"``, or both.
        order: the highest order.

    Returns:
        A function of the arguments of ``f`` that raises a ``GradientMismatchError``, an ``AssertionError``, if a
        derivative is wrong.

    Example:
        >>> import numpy as np
        >>> from funcgrad.interop.autograd.test_util import check_grads
        >>> check_grads(lambda x, y: np.sin(x) * y, argnum=(0, 1))(np.array([1.0, 2.0]), 3.0)
    """

    def at(*args: Any, **kwargs: Any) -> None:
        g, x = unary(f, argnum, args, kwargs)
        check(g, (x,), order=order, modes=modes, eps=_STEP, rtol=_TOLERANCE, atol=_TOLERANCE)

    return at


def check_vjp(f: Callable[[Any], Any], x: PyTree) -> None:
    """Check the first derivative of a function of one argument by reverse mode.

    Args:
        f: a function of one argument.
        x: the point.

    Raises:
        GradientMismatchError: the derivative is wrong.

    Example:
        >>> import numpy as np
        >>> from funcgrad.interop.autograd.test_util import check_vjp
        >>> check_vjp(np.sin, np.array([1.0, 2.0]))
    """
    check_grads(f, modes=["rev"], order=1)(x)


def check_jvp(f: Callable[[Any], Any], x: PyTree) -> None:
    """Check the first derivative of a function of one argument by forward mode.

    Args:
        f: a function of one argument.
        x: the point.

    Raises:
        GradientMismatchError: the derivative is wrong.

    Example:
        >>> import numpy as np
        >>> from funcgrad.interop.autograd.test_util import check_jvp
        >>> check_jvp(np.sin, np.array([1.0, 2.0]))
    """
    check_grads(f, modes=["fwd"], order=1)(x)


def check_equivalent(x: PyTree, y: PyTree) -> None:
    """Check that two trees are equal, up to a relative and an absolute error of 1e-6.

    Args:
        x: a tree of arrays and numbers.
        y: a tree of arrays and numbers.

    Raises:
        AssertionError: they differ.

    Example:
        >>> from funcgrad.interop.autograd.test_util import check_equivalent
        >>> check_equivalent({"w": [1.0, 2.0]}, {"w": [1.0, 2.0 + 1e-9]})
    """
    if structure(x) != structure(y):
        raise AssertionError(f"check_equivalent: the structures {structure(x)} and {structure(y)} differ.")
    for a, b in zip(leaves(x), leaves(y), strict=True):
        np.testing.assert_allclose(a, b, rtol=_TOLERANCE, atol=_TOLERANCE)


def combo_check(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., None]:
    """Make the function that checks derivatives for each combination of the arguments in lists.

    Args:
        fun: any function.
        args: as for `check_grads`.
        kwargs: as for `check_grads`.

    Returns:
        A function of one list for each argument, positional and named.

    Example:
        >>> import numpy as np
        >>> from funcgrad.interop.autograd.test_util import combo_check
        >>> combo_check(lambda x, y: np.sin(x) * y, (0, 1), order=1)([0.5, 1.0], [2.0, 3.0])
    """
    checked = check_grads(fun, *args, **kwargs)

    def over_all(*lists: Sequence[Any], **named: Sequence[Any]) -> None:
        for chosen in _products([*lists, *named.values()]):
            checked(*chosen[: len(lists)], **dict(zip(named, chosen[len(lists) :], strict=True)))

    return over_all


def _products(lists: Sequence[Sequence[Any]]) -> list[list[Any]]:
    found: list[list[Any]] = [[]]
    for choices in lists:
        found = [[*chosen, choice] for chosen in found for choice in choices]
    return found


__dir__ = publish(__name__)
