"""Gradients of tensors to second order, accumulation, texts and refusals are PyTorch's.

What PyTorch gives is in ``golden_autograd.npz``; where it is installed, the file is held to it.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from funcgrad import autograd, optim
from funcgrad.autograd import tensor
from tests._recorded import read_golden
from tests.autograd._overwritten import ALLOWED, REFUSED
from tests.autograd._programs import (
    CALLS,
    PRINTED,
    PROGRAMS,
    accumulated,
    asked,
    complex_gradients,
    derivatives,
    refusal,
    texts,
)
from tests.autograd.make_golden import golden

GOLDEN = read_golden(Path(__file__).with_name("golden_autograd.npz"))


def leaf(x: np.ndarray) -> Any:
    return tensor(x, requires_grad=True)


def check(kind: str, name: str, found: list[np.ndarray]) -> None:
    for i, mine in enumerate(found):
        np.testing.assert_allclose(mine, GOLDEN[f"{kind}/{name}/{i}"], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives(name: str) -> None:
    check("derivatives", name, derivatives(leaf, autograd.grad, name))


@pytest.mark.parametrize("name", PROGRAMS)
def test_accumulation(name: str) -> None:
    check("accumulated", name, accumulated(leaf, name))


def test_complex_gradients() -> None:
    for i, mine in enumerate(complex_gradients(leaf, autograd.grad)):
        np.testing.assert_allclose(mine, GOLDEN[f"complex/{i}"], rtol=1e-13, err_msg=str(i))


def test_sizes_and_kinds() -> None:
    assert asked(tensor) == GOLDEN["asked"]


@pytest.mark.parametrize("name", PRINTED)
def test_text(name: str) -> None:
    assert texts(tensor, name) == GOLDEN[f"text/{name}"].tolist()


@pytest.mark.parametrize("name", CALLS | REFUSED)
@pytest.mark.filterwarnings("ignore:`grad_variables` is deprecated:FutureWarning")
def test_errors_are_torchs(name: str) -> None:
    assert (
        refusal((CALLS | REFUSED)[name], autograd, tensor, optim) == GOLDEN[f"refusal/{name}"].item() != "not refused"
    )


@pytest.mark.parametrize("name", ALLOWED)
def test_writes_that_harm_nothing(name: str) -> None:
    for i, found in enumerate(ALLOWED[name](autograd, tensor, optim)):
        np.testing.assert_allclose(found, GOLDEN[f"overwritten/{name}/{i}"], rtol=1e-14)


def test_the_golden_file_is_what_torch_computes(torch: Any) -> None:
    found = golden(torch)
    assert set(found) == set(GOLDEN)
    for name, x in found.items():
        if x.dtype.kind == "U":
            np.testing.assert_array_equal(x, GOLDEN[name], err_msg=name)
        else:
            np.testing.assert_allclose(x, GOLDEN[name], rtol=1e-14, atol=1e-14, err_msg=name)
