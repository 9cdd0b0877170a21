"""`jvp` with auxiliary data."""

from __future__ import annotations

from typing import Any

import pytest

import funcgrad as fg


def f(x: Any) -> Any:
    return x**2, {"cube": x**3, "name": "f"}


def test_jvp_with_auxiliary_data() -> None:
    assert fg.jvp(f, (2.0,), (1.0,), has_aux=True) == (4.0, 4.0, {"cube": 8.0, "name": "f"})
    compiled = fg.jit(lambda x: fg.jvp(lambda x: (x**2, x**3), (x,), (1.0,), has_aux=True), engine="numpy")
    assert compiled(2.0) == (4.0, 4.0, 8.0)
    slope = fg.grad(lambda x: fg.jvp(lambda x: (x**2, x**3), (x,), (1.0,), has_aux=True)[2])
    assert float(slope(3.0)) == 27.0
    with pytest.raises(TypeError, match=r"jvp: with has_aux=True, .* must return a pair"):
        fg.jvp(lambda x: x, (2.0,), (1.0,), has_aux=True)
