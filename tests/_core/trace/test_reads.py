"""A result that depends on its argument through branches or rounding alone: one warning, and no false one."""

from __future__ import annotations

import bisect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import HiddenDependenceWarning

SEARCH = "if mid * mid > a:"


def caught(x: Any) -> Any:
    try:
        return float(x) ** 2
    except TypeError:
        return 0.0


def bisection(a: Any) -> Any:
    low, high = 0.0, 10.0
    mid = 5.0
    while high - low > 1e-9:
        mid = 0.5 * (low + high)
        if mid * mid > a:
            high = mid
        else:
            low = mid
    return mid


def golden(a: Any) -> Any:
    low, high = 0.0, 5.0
    for _ in range(40):
        first, second = low + 0.382 * (high - low), low + 0.618 * (high - low)
        if (first - a) ** 2 < (second - a) ** 2:
            high = second
        else:
            low = first
    return low


def hits(a: Any) -> Any:
    return sum(1.0 if u * u + a * a < 1 else 0.0 for u in np.linspace(0, 1, 20)) / 20


HIDDEN: dict[str, tuple[Callable[[], Any], str]] = {
    "grad": (lambda: fg.grad(bisection)(4.0), SEARCH),
    "value_and_grad": (lambda: fg.value_and_grad(bisection)(4.0)[1], SEARCH),
    "vjp": (lambda: fg.vjp(bisection, 4.0)[1](1.0)[0], SEARCH),
    "jvp": (lambda: fg.jvp(bisection, (4.0,), (1.0,))[1], SEARCH),
    "jacfwd": (lambda: fg.jacfwd(bisection)(4.0), SEARCH),
    "hessian": (lambda: fg.hessian(bisection)(4.0), SEARCH),
    "a path": (lambda: fg.jit(fg.grad(bisection), paths=4, engine="numpy")(4.0), SEARCH),
    "golden section": (lambda: fg.grad(golden)(2.0), "if (first - a)"),
    "counts": (lambda: fg.grad(hits)(0.5), "return sum("),
    "one of two": (lambda: fg.grad(lambda a, b: bisection(a) * b, argnums=(0, 1))(4.0, 2.0)[0], SEARCH),
    "table": (lambda: fg.grad(lambda x: [1.0, 2.0, 3.0][bisect.bisect([1.0, 2.0], x)])(1.5), "bisect"),
    "a caught error": (lambda: fg.grad(caught)(2.0), "asked for float() at"),
    "round": (lambda: fg.grad(lambda x: round(x * x, 8))(2.0), "rounded at"),
    "rounded in part": (lambda: fg.grad(lambda x, y: round(x, 8) * y)(2.0, 3.0), "rounded at"),
    "np.round": (lambda: fg.grad(lambda x: np.sum(np.round(x * x, 8)))(np.ones(2)), "rounded at"),
    "x.round": (lambda: fg.grad(lambda x: (x * x).round(-1).sum())(np.ones(2)), "rounded at"),
    "round, jvp": (lambda: fg.jvp(lambda x: round(x * x, 8), (2.0,), (1.0,))[1], "rounded at"),
    "round, jit": (lambda: fg.jit(fg.grad(lambda x: np.sum(np.round(x, 8))), engine="numpy")(np.ones(2)), "rounded"),
}


@pytest.mark.parametrize("case", HIDDEN)
def test_a_hidden_dependence_warns_once(case: str) -> None:
    compute, text = HIDDEN[case]
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        assert not np.any(compute())
    assert [each.category for each in given] == [HiddenDependenceWarning]
    assert text in str(given[0].message)
    assert "test_reads.py:" in str(given[0].message)
    assert given[0].filename == __file__


def newton(a: Any) -> Any:
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x


def piece(x: Any) -> Any:
    """Go through knots until one is larger."""
    for knot in range(10):
        if x < knot:
            return (x - knot) * knot
    return x


RIGHT: dict[str, tuple[Callable[[Any], Any], Any, Any]] = {
    "newton": (newton, 4.0, 0.25),
    "below a hinge": (lambda x: max(0.0, x), -1.0, 0.0),
    "hinges": (lambda x: sum(max(0.0, x - c) for c in (1.0, 2.0, 3.0)), 0.5, 0.0),
    "a bound": (lambda x: min(max(x, -1.0), 1.0), 3.0, 0.0),
    "between bounds": (lambda x: x if -1 < x < 1 else np.copysign(1.0, x), 0.5, 1.0),
    "a choice of constants": (lambda x: 1.0 if x > 0 else 2.0, 3.0, 0.0),
    "a piece": (piece, 3.5, 4.0),
    "the largest": (lambda x: max([x, 2 * x, 1.0]), 3.0, 2.0),
    "the largest of several": (lambda x: max(x[0], x[1], x[2]), np.array([1.0, 3.0, 2.0]), np.array([0.0, 1.0, 0.0])),
    "sorted": (lambda x: sorted([x, 3.0, 1.0, 2.0])[1], 1.5, 1.0),
    "a text": (lambda x: x * x if round(x, 3) > 0 else x, 2.0, 4.0),
    "whole numbers": (lambda x: np.round(x * 1.5), 2.0, 0.0),
    "the rest": (lambda x: x - np.round(x, 1), 2.0, 1.0),
    "a constant": (lambda x: bisection(fg.stop_gradient(x)), 4.0, 0.0),
    "no argument": (lambda x: bisection(4.0) + 0.0 * fg.stop_gradient(x), 4.0, 0.0),
}


@pytest.mark.parametrize("case", RIGHT)
def test_a_right_derivative_does_not_warn(case: str) -> None:
    f, x, slope = RIGHT[case]
    np.testing.assert_allclose(fg.grad(f)(x), slope, rtol=1e-9)
    np.testing.assert_allclose(fg.jacfwd(f)(x), slope, rtol=1e-9)


def test_of_several_arguments_one_is_chosen() -> None:
    assert fg.grad(lambda x, y, z: max(x, y, z), argnums=(0, 1, 2))(1.0, 3.0, 2.0) == (0.0, 1.0, 0.0)


def test_the_first_comparisons_alone_are_kept() -> None:
    kept: list[Any] = []

    def slow(a: Any) -> Any:
        x = a
        for _ in range(100):
            x = x * 0.99 + 0.01
            if x > 1.5:
                kept.append(x)
        trace = x._owner
        assert sum(len(nodes) for place in trace.reads.values() for nodes in place.nodes.values()) <= 2
        return x

    fg.grad(slow)(2.0)
