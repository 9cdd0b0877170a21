"""``fg.extend``: what a third party declares with it is differentiated, batched, staged and compiled as ours."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import extend
from funcgrad._core.primitive import primitives


@pytest.fixture
def declared() -> Iterator[None]:
    """What a test declares is gone after it."""
    before = dict(primitives)
    yield
    primitives.clear()
    primitives.update(before)


def _turned(x: Any) -> Any:
    return np.roll(np.flip(x, -1), 1, -1)


def circular_convolution(**changed: Any) -> extend.Primitive:
    def xla(lax: Any, a: Any, b: Any) -> Any:
        length = a.shape[-1:]
        return lax.fft(lax.mul(lax.fft(a, "RFFT", length), lax.fft(b, "RFFT", length)), "IRFFT", length)

    fields: dict[str, Any] = {
        "operands": ("a", "b"),
        "numpy": lambda a, b: np.fft.irfft(np.fft.rfft(a) * np.fft.rfft(b), a.shape[-1]).astype(a.dtype),
        "xla": xla,
        "aval": lambda a, b: a,
        "derivative": extend.Multilinear(
            ("a", "b"), [lambda y_bar, b: primitive(y_bar, _turned(b)), lambda y_bar, a: primitive(y_bar, _turned(a))]
        ),
        "batch": extend.batch_all(),
        "cost": lambda y, a, b: 8 * y.size,
    }
    primitive = extend.Primitive("circular_convolution", **{**fields, **changed})
    return primitive


@pytest.mark.usefixtures("declared")
def test_a_primitive_from_outside_on_both_engines_under_nested_transforms(rng: np.random.Generator) -> None:
    convolve = circular_convolution()
    a, b = rng.standard_normal((2, 4, 5))
    loop = np.stack([[sum(x[j] * y[i - j] for j in range(5)) for i in range(5)] for x, y in zip(a, b, strict=True)])

    def loss(a: Any, b: Any) -> Any:
        return np.sum(convolve(a, b) ** 2)

    gradients = [fg.grad(loss)(x, y) for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(fg.vmap(convolve)(a, b), loop)
    fg.check_grads(convolve, (a[0], b[0]))
    for engine in ("numpy", "xla"):
        np.testing.assert_allclose(fg.jit(convolve, engine=engine)(a, b), loop)
        np.testing.assert_allclose(fg.jit(fg.vmap(fg.grad(loss)), engine=engine)(a, b), gradients)
    with jax.enable_x64(True):
        np.testing.assert_allclose(convolve(jax.numpy.asarray(a), jax.numpy.asarray(b)), loop)


@pytest.mark.usefixtures("declared")
def test_a_wrong_transpose_from_outside_is_noticed(rng: np.random.Generator) -> None:
    wrong = [lambda y_bar, b: y_bar * b, lambda y_bar, a: y_bar * a]
    convolve = circular_convolution(derivative=extend.Multilinear(("a", "b"), wrong))
    with pytest.raises(fg.errors.GradientMismatchError, match="argument 0"):
        fg.check_grads(convolve, tuple(rng.standard_normal((2, 5))))


@pytest.mark.usefixtures("declared")
def test_what_has_no_batching_rule_is_refused_by_name() -> None:
    convolve = circular_convolution(batch=None)
    with pytest.raises(NotImplementedError, match="the primitive circular_convolution has no batching rule"):
        fg.vmap(convolve)(np.ones((2, 3)), np.ones((2, 3)))


@pytest.mark.parametrize("name", extend.__all__)
def test_each_name_says_what_it_is(name: str) -> None:
    value = getattr(extend, name)
    if inspect.isfunction(value) or inspect.isclass(value):
        assert value.__doc__
        assert not value.__doc__.startswith(f"{name}(")
