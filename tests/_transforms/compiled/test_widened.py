"""The warning about float32 arrays of JAX that a program widens."""

from __future__ import annotations

import warnings
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import WideningWarning


def ramp(x: Any) -> Any:
    return np.sin(x) * np.linspace(0, 1, 2)


def test_it_names_the_line_once() -> None:
    f = fg.jit(ramp)
    line = ramp.__code__.co_firstlineno + 1
    with pytest.warns(WideningWarning, match=rf"arguments of ramp .* at test_widened.py:{line}\. Make .*strict"):
        assert f(jnp.ones(2, jnp.float32)).dtype == np.float64
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(jnp.ones((3, 2), jnp.float32))


def test_no_warning_without_cause() -> None:
    """Float64 was an argument, requested, computed from other numbers, or is not returned."""
    x = jnp.ones(2, jnp.float32)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fg.jit(lambda x, y: x * y)(x, np.ones(2))
        fg.jit(ramp)(np.ones(2, np.float32))
        fg.jit(lambda x: x.astype(float))(x)
        fg.jit(lambda x: (x, np.linspace(0, 1, 2)))(x)
        fg.jit(lambda x: ramp(x).astype(x.dtype))(x)
        fg.jit(lambda x, y: x * y * 2.5)(x, 3)
