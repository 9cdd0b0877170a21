"""Layers and losses at the edges: extreme inputs, kinds of arguments, second derivatives, and what is refused."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import nn

LOGITS = np.array([[1.0, 2.0, 3.0], [0.5, 0.0, -1.0]])


def test_softmax_does_not_overflow() -> None:
    x = np.array([1e4, 0.0, -1e4])
    np.testing.assert_array_equal(nn.softmax(x), [1.0, 0.0, 0.0])
    np.testing.assert_array_equal(nn.log_softmax(x), [0.0, -1e4, -2e4])
    np.testing.assert_array_equal(fg.grad(lambda x: nn.log_softmax(x)[1])(x), [-1.0, 1.0, 0.0])


def test_sigmoid_keeps_its_precision_on_both_sides() -> None:
    np.testing.assert_allclose(nn.sigmoid(np.array([-40.0, 40.0])), [np.exp(-40.0), 1.0], rtol=1e-15)
    assert nn.sigmoid(np.float32(-1000.0)) == 0.0


def test_relu_passes_nan_and_has_derivative_0_at_0() -> None:
    x = np.array([-1.0, 0.0, 1.0, np.nan])
    np.testing.assert_array_equal(nn.relu(x), [0.0, 0.0, 1.0, np.nan])
    np.testing.assert_array_equal(fg.grad(lambda x: np.sum(nn.relu(x)))(x), [0.0, 0.0, 1.0, 1.0])


@pytest.mark.parametrize("f", [nn.relu, nn.tanh, nn.sigmoid, nn.gelu, nn.softmax, nn.log_softmax])
def test_lists_and_integers_count_as_float64(f: Any) -> None:
    for x in ([1, 2], np.array([1, 2]), (1.0, 2)):
        np.testing.assert_array_equal(f(x), f(np.array([1.0, 2.0])))


@pytest.mark.parametrize("f", [nn.relu, nn.tanh, nn.sigmoid, nn.gelu])
def test_numbers(f: Any) -> None:
    np.testing.assert_allclose(f(0.5), f(np.array([0.5]))[0])
    assert float(fg.grad(f)(0.5)) == pytest.approx((f(0.5 + 1e-6) - f(0.5 - 1e-6)) / 2e-6)


def test_softmax_over_several_axes() -> None:
    x = np.arange(6.0).reshape(2, 3)
    for axis in (None, (0, 1)):
        assert np.sum(nn.softmax(x, axis)) == pytest.approx(1.0)
        np.testing.assert_allclose(np.exp(nn.log_softmax(x, axis)), nn.softmax(x, axis))


def test_second_derivatives_of_cross_entropy() -> None:
    def loss(logits: Any) -> Any:
        return nn.cross_entropy(logits, np.array([2, 0]), label_smoothing=0.1)

    p = nn.softmax(LOGITS)
    v = np.array([[1.0, -1.0, 0.5], [0.0, 2.0, 1.0]])
    product = fg.grad(lambda x: np.sum(fg.grad(loss)(x) * v))(LOGITS)
    np.testing.assert_allclose(product, (p * v - p * np.sum(p * v, 1, keepdims=True)) / 2, atol=1e-15)


def test_targets_traced_by_jit() -> None:
    def loss(logits: Any, target: Any) -> Any:
        return nn.cross_entropy(logits, target, np.array([1.0, 2.0, 3.0]))

    for target in (np.array([2, 0]), np.array([-100, 1])):
        np.testing.assert_allclose(fg.jit(loss)(LOGITS, target), loss(LOGITS, target))
    assert fg.jit(loss)(LOGITS.astype(np.float32), np.array([2, -100])).dtype == np.float32


def test_a_single_target() -> None:
    assert float(nn.cross_entropy(LOGITS[0], 2)) == pytest.approx(-nn.log_softmax(LOGITS[0])[2])


def test_all_targets_ignored() -> None:
    ignored = np.full(2, -100)
    assert nn.cross_entropy(LOGITS, ignored, reduction="sum") == 0.0
    with pytest.warns(RuntimeWarning, match="invalid value"):
        assert np.isnan(nn.cross_entropy(LOGITS, ignored))


@pytest.mark.parametrize("target", [3, -1])
def test_a_target_out_of_bounds(target: int) -> None:
    with pytest.raises(IndexError, match=f"^Target {target} is out of bounds"):
        nn.cross_entropy(LOGITS, np.array([0, target]))


def _any(value: Any) -> Any:
    """Calls that a type checker would refuse already."""
    return value


REFUSALS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "reduction": (
        lambda: nn.mse_loss(1.0, 2.0, _any("average")),
        ValueError,
        "average is not a valid value for reduction",
    ),
    "mse shapes": (lambda: nn.mse_loss(np.ones(3), np.ones((3, 1))), ValueError, "x is f64[3] and target is f64[3,1]"),
    "linear": (
        lambda: nn.linear(np.ones((2, 3)), np.ones((3, 4))),
        ValueError,
        "weight is f64[3,4]; needed x of shape",
    ),
    "target shape": (lambda: nn.nll_loss(LOGITS, np.zeros(3, int)), ValueError, "the target is i64[3]"),
    "target dtype": (lambda: nn.nll_loss(LOGITS, np.zeros(2)), TypeError, "the target is f64[2]"),
    "weight": (
        lambda: nn.nll_loss(LOGITS, np.zeros(2, int), np.ones(2)),
        ValueError,
        "needed one for each of 3 classes",
    ),
    "smoothing": (
        lambda: nn.cross_entropy(LOGITS, np.zeros(2, int), label_smoothing=1.5),
        ValueError,
        "label_smoothing must be between 0.0 and 1.0. Got: 1.5",
    ),
    "no classes": (lambda: nn.cross_entropy(1.0, 0), ValueError, "the input is a scalar"),
    "approximate": (lambda: nn.gelu(1.0, _any("erf")), ValueError, "approximate is 'erf'"),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_refused(case: str) -> None:
    call, error, message = REFUSALS[case]
    with pytest.raises(error, match=re.escape(message)):
        call()


@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0)])
@pytest.mark.parametrize("f", [nn.softmax, nn.log_softmax])
def test_softmax_of_nothing(f: Any, shape: tuple[int, ...]) -> None:
    x = np.ones(shape, np.float32)
    for value in (f(x), fg.vjp(f, x)[0], f(fg.autograd.tensor(x)).numpy()):
        assert (value.shape, value.dtype) == (shape, np.float32)
    t = fg.autograd.tensor(x, requires_grad=True)
    t.softmax(0).sum().backward()
    assert t.grad.shape == shape


def test_padding_of_pools_changes_no_element() -> None:
    """Windows of one element and padding return the element, to its last bit, and give it the whole cotangent."""
    x = np.array([[[-0.0], [np.nan], [-np.inf], [np.inf], [5e-324]]])
    x = np.concatenate([x, np.full_like(x, -np.inf)], -1)
    y, pull = fg.vjp(lambda x: nn.max_pool1d(x, 2, 2, 1), x)
    np.testing.assert_array_equal(
        y, [[[-0.0, -np.inf], [np.nan, -np.inf], [-np.inf] * 2, [np.inf, -np.inf], [5e-324, -np.inf]]]
    )
    np.testing.assert_array_equal(
        np.signbit(y), [[[True, True], [False, True], [True, True], [False, True], [False, True]]]
    )
    compiled = fg.jit(lambda x: fg.vjp(lambda x: nn.max_pool1d(x, 2, 2, 1), x)[1](np.ones((1, 5, 2))), engine="numpy")
    # The padding before the first element is the first of two equal ones if that is -inf.
    np.testing.assert_array_equal(pull(np.ones((1, 5, 2)))[0], compiled(x)[0])
