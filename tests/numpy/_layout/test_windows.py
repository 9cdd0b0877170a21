"""Windows, functions along axes, and padding in all modes, beside NumPy and JAX."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import funcgrad as fg
from funcgrad.errors import ObjectArrayWarning, UnsupportedFunctionError
from tests.numpy._surface import check_surface, same

OF: Any = np


def check(f: Any, x: np.ndarray, order: int = 1) -> None:
    """Check a function that only NumPy has: its value, both engines, a batch, and differences."""
    expected = f(x)
    for run in (fg.make_graph(f)(x), fg.jit(f), fg.jit(f, engine="numpy"), lambda x: fg.vmap(f)(np.stack([x, x]))[1]):
        same(run(x), expected, 1e-14)
    if expected.dtype.kind in "fc":
        fg.check_grads(f, (x,), order=order)


@pytest.mark.parametrize("window", [(3,), (2, 2), (2, 1, 2)], ids=len)
def test_windows(window: tuple[int, ...], rng: np.random.Generator) -> None:
    x = rng.normal(size=(4, 3, 5)[-len(window) :])
    check(lambda x: sliding_window_view(x, window), x)
    if x.ndim > 1:
        check(lambda x: sliding_window_view(x, 2, axis=-1), x)
        check(lambda x: sliding_window_view(x, (2, 2), axis=(1, 1)), x)
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"window_shape": (2,) * 4}, "Must provide window_shape"),
        ({"window_shape": 9, "axis": 0}, "larger than input"),
        ({"window_shape": 2, "axis": 0, "writeable": True}, "cannot be written to"),
    ]
    for options, match in wrong:
        with pytest.raises(ValueError, match=match):
            fg.make_graph(lambda x, options=options: sliding_window_view(x, **options))(x)


def test_strides_are_refused() -> None:
    for dtype in (float, np.float32):
        with pytest.raises(UnsupportedFunctionError, match=r"as_strided.*sliding_window_view"):
            fg.make_graph(lambda x: as_strided(x, (2, 2), (8, 8)))(np.ones(4, dtype))


def test_a_function_of_a_users_may_be_called_as_strided() -> None:
    def as_strided(x: Any) -> Any:
        return np.sum(np.asarray(x) ** 2)

    def _mean(x: Any) -> Any:
        return np.sum(np.asarray(x) ** 2)

    for f in (as_strided, _mean):
        with pytest.warns(ObjectArrayWarning):
            same(fg.grad(f)(np.arange(3.0)), 2 * np.arange(3.0), 0)


def test_resized(rng: np.random.Generator) -> None:
    x = rng.normal(size=(2, 3))
    for shape in (4, (2, 2), (3, 5), (0, 2), (6,)):
        check_surface(lambda m, x, shape=shape: m.resize(x, shape), [x])
    same(fg.make_graph(lambda x: np.resize(x, 3))(np.zeros(0))(np.zeros(0)), np.zeros(3), 0)
    with pytest.raises(ValueError, match="non-negative"):
        fg.make_graph(lambda x: np.resize(x, (-1, 2)))(x)


def test_along_axes(rng: np.random.Generator) -> None:
    x = rng.normal(size=(2, 3, 4))
    for axis in (0, 1, -1):
        for f in (np.sum, np.cumsum, lambda v: np.outer(v, v[:2]), lambda v: v[0] > 0):
            check(lambda x, f=f, axis=axis: OF.apply_along_axis(f, axis, x), x)
    check(lambda x: np.apply_along_axis(lambda v, k, power: k * v**power, 1, x, 2.0, power=3), x)
    check(lambda x: np.apply_over_axes(np.sum, x, [0, -1]), x)
    check(lambda x: np.apply_over_axes(np.mean, x, 1), x)
    with pytest.raises(ValueError, match="iteration dimensions are 0"):
        fg.make_graph(lambda x: OF.apply_along_axis(np.sum, 0, x))(np.zeros((2, 0)))


PADS: dict[str, dict[str, Any]] = {
    "constant": {"constant_values": ((1, 2), (3, 4))},
    "edge": {},
    "empty": {},
    "linear_ramp": {"end_values": ((1, 2), (3, -1))},
    "maximum": {"stat_length": 2},
    "minimum": {},
    "mean": {"stat_length": ((1, 2), (3, 9))},
    "median": {"stat_length": ((4, 2), (3, 1))},
    "reflect": {},
    "symmetric": {},
    "wrap": {},
}


@pytest.mark.parametrize("mode", PADS)
def test_padding(mode: Any, rng: np.random.Generator) -> None:
    x, inside = rng.normal(size=(3, 4)), (slice(2, 5), slice(1, 5))
    shown = inside if mode == "empty" else ...
    for options in (PADS[mode], {}):
        check_surface(lambda m, x, options=options: m.pad(x, ((2, 1), (1, 3)), mode, **options)[shown], [x])
    for dtype in (int, np.float32, np.float16, complex):
        each = (5 * x).astype(dtype)
        f = lambda x: np.pad(x, ((2, 1), (1, 3)), mode, **PADS[mode])[shown]
        if dtype is not complex or mode not in {"maximum", "minimum", "median"}:
            same(fg.make_graph(f)(each)(each), f(each), 1e-3 if dtype is np.float16 else 1e-6)


@pytest.mark.parametrize("mode", ["reflect", "symmetric"])
def test_odd_reflections(mode: Any, rng: np.random.Generator) -> None:
    for shape, widths in (((4,), 2), ((3,), (5, 9)), ((1, 3), ((2, 1), (0, 7))), ((2, 2), ((0, 0), (3, 0)))):
        check(lambda x, widths=widths: np.pad(x, widths, mode, reflect_type="odd"), rng.normal(size=shape), order=2)
    check(lambda x: np.pad(x, (2, 6), mode, reflect_type="odd"), np.array([1, 5, 2, 2]))


def test_padding_is_refused() -> None:
    x = np.ones((2, 3))
    for error, match, f in (
        (UnsupportedFunctionError, "a function", lambda x: OF.pad(x, 1, lambda *_: None)),
        (ValueError, "not supported", lambda x: OF.pad(x, 1, "most")),
        (ValueError, "unsupported keyword", lambda x: OF.pad(x, 1, "edge", stat_length=2)),
        (ValueError, "stat_length of 0", lambda x: np.pad(x, 1, "maximum", stat_length=0)),
        (ValueError, "empty axis", lambda x: np.pad(x[:0], 1, "mean")),
    ):
        with pytest.raises(error, match=match):
            fg.make_graph(f)(x)


def test_windows_show_writes_and_refuse_them() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        windows, pairs = sliding_window_view(y, 2), sliding_window_view(y.reshape(2, 2), (2, 1))
        y[0] = 5.0
        y *= 2.0
        y[1:] += y[:-1]
        return np.sum(windows**2) + np.sum(pairs[..., 1:, 0] * pairs[..., :1, 0])

    x = np.arange(1.0, 5.0)
    expected = f(x.copy())
    for run in (fg.jit(f), fg.jit(f, engine="numpy"), lambda x: fg.value_and_grad(f)(x)[0]):
        same(run(x), expected, 1e-14)
    fg.check_grads(f, (x,), order=2)

    def written(x: Any) -> Any:
        sliding_window_view(x * 1.0, 2)[0, 0] = 1.0

    for run in (written, fg.make_graph(written)):
        with pytest.raises(ValueError, match="read-only"):
            run(x)


def test_the_result_of_a_function_along_an_axis_is_new() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        z = np.apply_along_axis(lambda v: v, 0, y)
        y *= 2.0
        return np.sum(z * y)

    x = np.arange(1.0, 5.0)
    for run in (fg.jit(f), lambda x: fg.value_and_grad(f)(x)[0]):
        same(run(x), f(x), 1e-14)
