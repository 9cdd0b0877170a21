"""`grad` of holomorphic functions."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg

Z = np.array([1.0 + 2.0j, -0.5j])


def f(np: Any, z: Any) -> Any:
    return np.sum(np.exp(z) * z**2)


@pytest.mark.parametrize("engine", [None, "numpy", "numba", "xla"])
def test_holomorphic_as_in_jax(engine: str | None) -> None:
    """The gradient is the complex derivative."""
    with jax.enable_x64(True):
        expected = jax.grad(lambda z: f(jax.numpy, z), holomorphic=True)(Z)
    ours: Any = fg.value_and_grad(lambda z: f(np, z), holomorphic=True)
    value, slope = (ours if engine is None else fg.jit(ours, engine=engine))(Z)
    np.testing.assert_allclose(value, f(np, Z), rtol=1e-14)
    np.testing.assert_allclose(slope, expected, rtol=1e-12)


def test_holomorphic_nested_and_with_auxiliary_data() -> None:
    cube = fg.grad(fg.grad(lambda z: z**3, holomorphic=True), holomorphic=True)
    assert cube(1.0 + 1.0j) == 6.0 + 6.0j
    assert fg.grad(lambda z: 1.0j, holomorphic=True)(1.0j) == 0
    assert fg.grad(lambda z: (z * z, "aux"), has_aux=True, holomorphic=True)(1.0j) == (2.0j, "aux")
    assert fg.grad(lambda z: z, holomorphic=True)(np.complex64(1)).dtype == np.complex64


def test_what_is_no_holomorphic_function() -> None:
    with pytest.raises(TypeError, match=r"grad: with holomorphic=True an argument of .* is f64\[\]; needed a complex"):
        fg.grad(lambda x: x, holomorphic=True)(1.0)
    functions: tuple[Any, ...] = (np.abs, lambda z: np.stack([z, z]), lambda z: "text")
    for g in functions:
        with pytest.raises(fg.errors.NonScalarOutputError, match="must return a complex scalar"):
            fg.value_and_grad(g, holomorphic=True)(1.0j)
