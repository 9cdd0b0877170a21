"""``scan(..., checkpoint=k)``: the numbers of the plain scan, with less memory for the gradient."""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import funcgrad as fg

X = np.linspace(-1, 1, 33).reshape(11, 3)


def _step(c: Any, x: Any) -> Any:
    h = np.tanh(c["h"] + x)
    return {"h": h, "n": c["n"] + 1}, (h * 2, c["n"])


def _loss(x: Any, **options: Any) -> Any:
    last, (ys, ns) = fg.scan(_step, {"h": x[0] * 0.5, "n": 0}, x, **options)
    return np.sum(last["h"] ** 2) + np.sum(np.sin(ys) * ns[:, None])


@pytest.mark.parametrize("engine", [None, "numpy", "numba", "xla"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("segment", [1, 3, 4, 11])
def test_values_and_gradients_are_those_of_the_plain_scan(segment: int, reverse: bool, engine: str | None) -> None:
    g = fg.value_and_grad(lambda x: _loss(x, reverse=reverse, checkpoint=segment))
    compiled = g if engine is None else fg.jit(g, engine=engine)
    for a, b in zip(compiled(X), fg.value_and_grad(lambda x: _loss(x, reverse=reverse))(X), strict=True):
        np.testing.assert_allclose(a, b, 1e-13)


def test_results_keep_their_types_and_structure() -> None:
    plain = fg.scan(_step, {"h": X[0], "n": 0}, X)
    cut = fg.scan(_step, {"h": X[0], "n": 0}, X, checkpoint=4)
    fg.tree.map(np.testing.assert_array_equal, cut, plain)
    assert fg.tree.structure(cut) == fg.tree.structure(plain)
    assert cut[1][1].dtype == plain[1][1].dtype


def test_a_scan_without_rows() -> None:
    def f(x: Any) -> Any:
        return fg.scan(lambda c, _: (np.sin(c), c), x, length=7, checkpoint=3)[1].sum()

    np.testing.assert_allclose(fg.grad(f)(0.3), fg.grad(lambda x: _sines(x))(0.3), 1e-14)


def _sines(x: Any) -> Any:
    total = 0.0
    for _ in range(7):
        total, x = total + x, np.sin(x)
    return total


def test_an_empty_scan() -> None:
    last, ys = fg.scan(lambda c, x: (c + x, c), 1.0, np.zeros(0), checkpoint=1)
    assert last == 1.0
    assert ys.shape == (0,)


def test_the_gradient_keeps_less() -> None:
    x = np.zeros((400, 2000))

    def peak(**options: Any) -> int:
        g = fg.jit(
            fg.grad(lambda x: np.sum(fg.scan(lambda c, r: (np.tanh(np.sin(c) * r), None), x[0], x, **options)[0])),
            engine="numpy",
        )
        g(x)
        tracemalloc.start()
        g(x)
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    assert peak(checkpoint=20) < 0.6 * peak()


@pytest.mark.parametrize("segment", [0, -1, 12])
def test_a_segment_without_rounds_or_with_too_many_is_refused(segment: int) -> None:
    with pytest.raises(ValueError, match=f"scan: checkpoint is {segment}.*from 1 to the number of rounds, 11"):
        _loss(X, checkpoint=segment)


@pytest.mark.parametrize("segment", [2.5, "2", True])
def test_a_segment_that_is_no_integer_is_refused(segment: Any) -> None:
    with pytest.raises(TypeError, match="scan: checkpoint is"):
        _loss(X, checkpoint=segment)
