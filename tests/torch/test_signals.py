"""Short-time Fourier transforms, histograms and factors beside PyTorch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
import funcgrad.torch
from tests._recorded import PyTorch

X = np.random.default_rng(0).normal(size=(2, 40))


def transforms(torch: Any) -> dict[str, Any]:
    x: Any = torch.tensor(X, requires_grad=True)
    w = torch.hann_window(16, dtype=torch.float64)
    ones = torch.ones(15, dtype=torch.float64)
    y = torch.stft(x, 16, window=w, return_complex=True)
    two = torch.stft(x, 15, 3, window=ones, onesided=False, pad_mode="replicate", return_complex=True)
    found = {
        "hann": y,
        "real": torch.stft(x[0], 16, 4, 12, torch.ones(12), center=False, normalized=True, return_complex=False),
        "two sides": two,
        "back": torch.istft(y, 16, window=w, length=40),
        "normalized": torch.istft(y, 16, window=w, normalized=True),
        "back from two sides": torch.istft(two, 15, 3, window=ones, onesided=False, length=30),
    }
    (y.abs() ** 2 * torch.arange(11)).sum().backward(retain_graph=True)
    found["gradient"] = x.grad.clone()
    x.grad = None
    (found["back"] ** 3).sum().backward()
    found["gradient back"] = x.grad
    return {name: y.detach().numpy() for name, y in found.items()}


def others(torch: Any) -> dict[str, Any]:
    x = torch.tensor(X)
    a = torch.tensor(X[:, :4].reshape(2, 2, 2))
    edges = torch.tensor([-1.0, 0.0, 2.0], dtype=torch.float64)
    counted, weighted = (
        torch.histogram(x.float(), 5, range=(-1.0, 1.0)),
        torch.histogram(x, edges, weight=x**2, density=True),
    )
    found = [*counted, *weighted, *torch.linalg.lu_factor(a), *torch.linalg.solve_ex(a, a + 1)]
    return {str(i): y.numpy() for i, y in enumerate(found)}


@pytest.mark.filterwarnings("ignore:stft with return_complex=False:UserWarning")
@pytest.mark.parametrize("made", [transforms, others])
def test_results_and_gradients(made: Any, pytorch: PyTorch) -> None:
    expected, ours = pytorch(made), made(funcgrad.torch)
    for name, theirs in expected.items():
        assert ours[name].dtype == theirs.dtype
        rtol = 1e-6 if "32" in theirs.dtype.name else 1e-10
        np.testing.assert_allclose(ours[name], theirs, rtol=rtol, atol=1e-12, err_msg=name)


def test_a_compiled_transform_of_an_array() -> None:
    torch = funcgrad.torch

    def loss(x: Any) -> Any:
        return np.sum(np.abs(torch.stft(x, 8, return_complex=True)) ** 2)

    np.testing.assert_allclose(fg.jit(fg.grad(loss), engine="numpy")(X), fg.grad(loss)(X), rtol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_fft": 16}, "requires the return_complex parameter be given"),
        ({"n_fft": 100, "center": False, "return_complex": True}, r"expected 0 < n_fft <= 40, but got n_fft=100"),
        ({"n_fft": 16, "win_length": 20, "return_complex": True}, r"expected 0 < win_length <= n_fft"),
        ({"n_fft": 16, "hop_length": 0, "return_complex": True}, r"expected hop_length > 0"),
    ],
)
def test_bad_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        funcgrad.torch.stft(funcgrad.torch.tensor(X), **options)


def test_what_cannot_be_inverted() -> None:
    torch = funcgrad.torch
    with pytest.raises(RuntimeError, match="istft requires a complex-valued input"):
        torch.istft(torch.tensor(X), 16)
    y = torch.stft(torch.tensor(X), 8, 8, window=torch.hann_window(8), return_complex=True)
    with pytest.raises(RuntimeError, match="Choose a smaller hop_length"):
        torch.istft(y, 8, 8, window=torch.hann_window(8))
