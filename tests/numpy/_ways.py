"""Every way to differentiate a function of one vector, for programs that write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import funcgrad as fg

X = np.array([0.5, 2.1, -1.1, 0.3, 0.7])
Loss = Callable[[Any], Any]

WAYS: dict[str, Callable[[Loss, np.ndarray], Any]] = {
    "grad": lambda f, x: fg.grad(f)(x),
    "jacfwd": lambda f, x: fg.jacfwd(f)(x),
    "jit": lambda f, x: fg.jit(fg.grad(f), engine="numpy")(x),
    "grad of jit": lambda f, x: fg.grad(fg.jit(f, engine="numpy"))(x),
    "vmap": lambda f, x: fg.vmap(fg.grad(f))(np.stack([x + 1, x]))[1],
    "linearize": lambda f, x: np.array([fg.linearize(f, x)[1](e) for e in np.eye(len(x))]),
}


def check(f: Loss, x: np.ndarray = X, ways: Any = WAYS, on_xla: bool = False) -> None:
    """The value is NumPy's, and the derivative that of central differences, by every way."""
    value = f(x.copy())
    moves = 1e-6 * np.eye(len(x))
    expected = np.array([(f(x + move) - f(x - move)) / 2e-6 for move in moves])
    before = x.copy()
    np.testing.assert_allclose(fg.value_and_grad(f)(x)[0], value, rtol=1e-13)
    for name in ways:
        np.testing.assert_allclose(WAYS[name](f, x), expected, rtol=1e-6, atol=1e-7, err_msg=name)
    if on_xla:
        np.testing.assert_allclose(fg.jit(fg.grad(f))(x), expected, rtol=1e-6, atol=1e-7)
    assert np.array_equal(before, x), "the caller's array was written to"
