"""``numpy_promotion("strict")``: which operations widen a float, and which do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

X = np.ones(2, np.float32)
WIDENING: dict[str, Callable[[Any], Any]] = {
    "product": lambda x: x * np.linspace(0, 1, 2),
    "stack": lambda x: np.stack([x, np.ones(2)]),
    "matmul": lambda x: x @ np.ones(2),
    "where": lambda x: np.where(x > 0, x, np.zeros(2)),
    "integers": lambda x: x + np.arange(2),
    "NumPy's number": lambda x: x * np.float64(2),
    "complex": lambda x: x * np.ones(2, complex),
}
KEEPING: dict[str, Callable[[Any], Any]] = {
    "Python numbers": lambda x: 2 * x + 1.5,
    "float32": lambda x: x * np.float32(2),
    "small integers": lambda x: x + np.arange(2, dtype=np.int16),
    "float16": lambda x: x * np.ones(2, np.float16) if x.dtype == np.float64 else x,
    "conversion": lambda x: x.astype(float),
    "complex64": lambda x: x * np.complex64(1j),
}


@pytest.mark.parametrize("name", WIDENING)
def test_widening_raises(name: str) -> None:
    f = WIDENING[name]
    assert fg.make_graph(f)(X).outputs[0].aval.dtype.itemsize >= 8
    transformed: tuple[Callable[[Any], Any], ...] = (
        fg.jit(f, engine="numpy"),
        fg.make_graph(f),
        lambda x: fg.vmap(f)(x[np.newaxis]),
        fg.grad(lambda x: np.sum(f(x)).real),
    )
    for g in transformed:
        with fg.numpy_promotion("strict"), pytest.raises(TypeError, match=r"needed a result as narrow as f32\. Make"):
            g(X)


@pytest.mark.parametrize("name", KEEPING)
def test_what_keeps_the_dtype_passes(name: str) -> None:
    with fg.numpy_promotion("strict"):
        fg.make_graph(KEEPING[name])(X)


def test_the_context_ends() -> None:
    with fg.numpy_promotion("strict"), fg.numpy_promotion("numpy"):
        assert fg.make_graph(WIDENING["product"])(X).outputs[0].aval.dtype == np.float64
    with pytest.raises(ZeroDivisionError), fg.numpy_promotion("strict"):
        raise ZeroDivisionError
    assert fg.make_graph(WIDENING["product"])(X).outputs[0].aval.dtype == np.float64
    with pytest.raises(ValueError, match="mode is 'loose'; needed 'numpy' or 'strict'"), fg.numpy_promotion("loose"):
        pass
