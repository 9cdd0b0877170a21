"""A call with plain arguments runs NumPy's own function; any other call runs ours."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad.autograd import tensor
from funcgrad.numpy._base.plain import shortcut

X, Y = np.array([1.0, 2.0, 4.0]), np.array([3.0, 1.0, 2.0])


def ours(a: Any, b: Any = None, *, axis: Any = None) -> str:
    """Ours."""
    return "ours"


def numpys(*args: Any, **options: Any) -> str:
    return "NumPy's"


@pytest.mark.parametrize(
    ("args", "options", "expected"),
    [
        ((X,), {}, "NumPy's"),
        ((2.0, [X, 1]), {"axis": (0, 1)}, "NumPy's"),
        ((np.float32(2), None), {"axis": None}, "NumPy's"),
        ((), {"a": X}, "NumPy's"),
        ((X.astype(object),), {}, "ours"),
        (([X, [X.astype(object)]],), {}, "ours"),
        ((X, X.astype(object)), {}, "ours"),
        ((X,), {"axis": X.astype(object)}, "ours"),
        ((tensor(X),), {}, "ours"),
        (([1.0, tensor(X)],), {}, "ours"),
        ((X.view(np.recarray),), {}, "ours"),
    ],
)
def test_who_is_called(args: tuple, options: dict[str, Any], expected: str) -> None:
    assert shortcut(ours, numpys)(*args, **options) == expected


def test_signatures_and_errors_are_ours() -> None:
    short = shortcut(ours, numpys)
    assert inspect.signature(short) == inspect.signature(ours)
    assert (short.__name__, short.__doc__) == ("ours", "Ours.")
    with pytest.raises(TypeError, match=r"ours\(\) missing 1 required positional argument: 'a'"):
        short()  # pyright: ignore[reportCallIssue]  (the error that is asked for)
    assert inspect.signature(fnp.where).parameters.keys() >= {"condition", "x", "y"}


def test_values_and_types_are_numpys() -> None:
    calls: dict[str, tuple] = {
        "add": (X, Y), "multiply": (X, 2), "power": (2.0, 3), "exp": (2.5,), "sum": (X,), "mean": ([1, 2],),
        "where": (X > 1, X, 0), "concatenate": ([X, Y],), "clip": (X, 1.5, None), "sort": (Y,), "dot": (X, Y),
        "einsum": ("i,i", X, Y), "zeros": (3,), "arange": (4,), "array": ([1, 2.5],), "full": (2, 1j),
    }  # fmt: skip
    for name, args in calls.items():
        found, expected = getattr(fnp, name)(*args), getattr(np, name)(*args)
        np.testing.assert_array_equal(found, expected)
        assert (type(found), found.dtype) == (type(expected), expected.dtype), name


def test_makers_ask_for_transforms() -> None:
    def f(x: Any) -> Any:
        made, copied = fnp.zeros(3), fnp.copy(X)
        made[0], copied[1] = x, x * x
        return np.sum(made) + np.sum(copied)

    assert type(fnp.zeros(3)) is np.ndarray
    assert fg.grad(f)(3.0) == 7.0


@pytest.mark.filterwarnings("ignore::funcgrad.errors.ObjectArrayWarning")
def test_traced_values_in_lists_and_objects() -> None:
    def f(x: Any) -> Any:
        inside = np.empty(2, object)
        inside[:] = [x, x * x]
        return (
            fnp.sum(fnp.multiply(inside, Y[:2])) + fnp.sum(fnp.stack([x, 1.0])) + fnp.maximum(a := fnp.abs(x), 0.0) + a
        )

    assert fg.grad(f)(3.0) == 3.0 + 6.0 + 1.0 + 2.0
