"""einops on traced values, compared with the same functions on plain arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.interop.einops import register

einops: Any = pytest.importorskip("einops", reason="einops comes with the extra 'test'")
X, W = np.random.default_rng(0).normal(size=(4, 6, 3)), np.random.default_rng(1).normal(size=(3, 2))
CALLS: dict[str, Callable[[Any], Any]] = {
    "rearrange": lambda x: einops.rearrange(x, "b (h w) c -> c h w b", h=2),
    "a list": lambda x: einops.rearrange([x[0], x[1]], "b i c -> i (b c)"),
    "repeat": lambda x: einops.repeat(x, "b h c -> b (h r) c s", r=2, s=3),
    "einsum": lambda x: einops.einsum(x, W, "b h c, c d -> h b d"),
    "pack": lambda x: einops.pack([x, x[:, 0]], "b * c")[0],
    "unpack": lambda x: einops.unpack(x, [[2], [2, 2]], "b * c")[1],
    **{
        name: lambda x, name=name: einops.reduce(x, "b (h s) c -> h c", name, s=2)
        for name in ("sum", "mean", "max", "min", "prod")
    },
}


@pytest.mark.parametrize("case", CALLS)
def test_values_and_derivatives(case: str) -> None:
    register()
    call = CALLS[case]
    expected = call(X)
    np.testing.assert_allclose(fg.jit(call, engine="numpy")(X), expected, rtol=1e-14, strict=True)
    np.testing.assert_allclose(fg.vmap(call)(np.stack([X, 2 * X]))[0], expected, rtol=1e-14, strict=True)
    fg.check_grads(call, (X,), order=1)


def test_integers_are_not_averaged() -> None:
    register()
    with pytest.raises(Exception, match="reduce_mean is not available for non-floating"):
        fg.jit(lambda x: einops.reduce(x, "i j -> i", "mean"))(np.ones((2, 2), int))
