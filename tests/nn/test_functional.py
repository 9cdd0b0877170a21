"""``funcgrad.nn.functional`` beside PyTorch: values, and gradients by all float arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.nn import functional
from tests._recorded import PyTorch
from tests.nn._compared import Library, assert_close, outcome
from tests.nn._rows import FUNCTIONS


@pytest.mark.parametrize("text", FUNCTIONS)
def test_values_and_gradients(text: str, pytorch: PyTorch) -> None:
    expected = pytorch(lambda torch: outcome(Library(torch), text))
    assert_close(outcome(Library(), text), expected, 1e-6)


@pytest.mark.parametrize(
    ("loss", "at", "second"),
    [
        (lambda x: functional.huber_loss(x, 0 * x), 0.0, 1.0),
        (lambda x: functional.smooth_l1_loss(x, 0 * x, beta=0.5), 0.0, 2.0),
        (lambda x: functional.mse_loss(x, 0 * x), 0.0, 2.0),
        (lambda x: functional.binary_cross_entropy_with_logits(x, 0 * x + 0.3), 0.0, 0.25),
        (lambda x: functional.soft_margin_loss(x, 0 * x + 1), 0.0, 0.25),
        (functional.softplus, 0.0, 0.25),
        (functional.logsigmoid, 0.0, -0.25),
    ],
)
def test_second_derivatives_where_formulas_change(loss: Any, at: float, second: float) -> None:
    assert fg.grad(fg.grad(loss))(np.float64(at)) == pytest.approx(second, rel=1e-14)
