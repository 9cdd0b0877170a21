"""Gradients of tensors are PyTorch's, of first and second order, and accumulate as PyTorch's do."""

from typing import Any

import numpy as np
import pytest

from funcgrad import autograd
from funcgrad.autograd import tensor
from tests.autograd._programs import PROGRAMS, derivatives, leaves_of

torch = pytest.importorskip("torch")


@pytest.mark.parametrize("name", PROGRAMS)
def test_derivatives(name: str) -> None:
    ours = derivatives(lambda x: tensor(x, requires_grad=True), autograd.grad, name)
    theirs = derivatives(lambda x: torch.tensor(x, requires_grad=True), torch.autograd.grad, name)
    if len(ours) > len(theirs):
        # PyTorch records nothing where a gradient is constant; ours may be recorded, with zero derivatives.
        theirs += [np.zeros_like(x) for x in leaves_of(name)]
    for mine, its in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", PROGRAMS)
def test_accumulation(name: str) -> None:
    def run(make: Any) -> list[np.ndarray]:
        leaves = [make(x) for x in leaves_of(name)]
        for _ in range(2):
            PROGRAMS[name][0](*leaves).sum().backward()
        y = PROGRAMS[name][0](*leaves).sum()
        y.backward(retain_graph=True)
        y.backward()
        return [leaf.grad.numpy() for leaf in leaves]

    ours = run(lambda x: tensor(x, requires_grad=True))
    theirs = run(lambda x: torch.tensor(x, requires_grad=True))
    for mine, its in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-12, atol=1e-12)


RNG = np.random.default_rng(0)
PRINTED: dict[str, Any] = {
    "halves": [1.0, 2.5],
    "integers": [1.0, 2.0],
    "scalar": 3.25,
    "whole scalar": 3.0,
    "not a number": [1.0, float("nan"), float("inf"), -2.5],
    "only infinite": [float("inf"), float("nan")],
    "wide range": [1e-5, 1.0],
    "great": [1e9, 2e9],
    "matrix": [[1.0, -2.0], [3.25, 4.0]],
    "cube": np.arange(24, dtype=np.float32).reshape(2, 3, 4),
    "long": np.arange(40, dtype=np.float32),
    "longer": np.arange(2000, dtype=np.float32),
    "large matrix": RNG.standard_normal((40, 50)).astype(np.float32),
    "large cube": RNG.standard_normal((8, 9, 20)).astype(np.float32),
    "ints": [[1, -20], [300, 4]],
    "int32": np.array([1, 2], np.int32),
    "bools": [True, False],
    "empty": [],
    "empty matrix": np.zeros((2, 0), np.float32),
    "zeros": [0.0, 0.0],
    "complex": np.array([1 + 2j, 3.5 - 1j], np.complex64),
    "float64": np.array([0.1, 0.2]),
    "wrapped suffix": np.linspace(0, 1, 11),
}


@pytest.mark.parametrize("name", PRINTED)
def test_text(name: str) -> None:
    ours, theirs = tensor(PRINTED[name]), torch.tensor(PRINTED[name])
    assert repr(ours) == repr(theirs).replace("torch.", "")
    if theirs.is_floating_point():
        assert repr(ours.requires_grad_()) == repr(theirs.requires_grad_()).replace("torch.", "")
        assert repr(ours * 2) == repr(theirs * 2).replace("torch.", "")


CALLS: dict[str, Any] = {
    "vector without gradient": lambda m, t: (t([1.0, 2.0], requires_grad=True) * 2).backward(),
    "no gradient required": lambda m, t: t([1.0]).sum().backward(),
    "integers": lambda m, t: t([1, 2], requires_grad=True),
    "integers later": lambda m, t: t([1, 2]).requires_grad_(),
    "flag of a result": lambda m, t: (t([1.0], requires_grad=True) * 2).requires_grad_(False),
    "numpy with history": lambda m, t: t([1.0], requires_grad=True).numpy(),
    "item of many": lambda m, t: t([1.0, 2.0]).item(),
    "truth of many": lambda m, t: bool(t([1.0, 2.0])),
    "empty inputs": lambda m, t: m.backward(t(1.0, requires_grad=True) * 2, inputs=[]),
    "empty inputs of grad": lambda m, t: m.grad(t(1.0, requires_grad=True) * 2, []),
    "input without gradient": lambda m, t: m.grad(t(1.0, requires_grad=True) * 2, t(1.0)),
    "unused input": lambda m, t: m.grad(t(1.0, requires_grad=True) * 2, t(1.0, requires_grad=True)),
    "both names": lambda m, t: m.backward(t(1.0, requires_grad=True) * 2, grad_tensors=t(1.0), grad_variables=t(1.0)),
    "too few gradients": lambda m, t: m.backward([t(1.0, requires_grad=True) * i for i in range(2)], [t(1.0)]),
    "a number as gradient": lambda m, t: m.backward([t(1.0, requires_grad=True) * 2], [1.0]),
    "other shape": lambda m, t: m.backward(t([1.0, 2.0], requires_grad=True) * 2, t([1.0])),
    "leaf in place": lambda m, t: t([1.0], requires_grad=True).add_(1.0),
    "materialize and unused": lambda m, t: m.grad(
        t(1.0, requires_grad=True), t(1.0, requires_grad=True), materialize_grads=True, allow_unused=False
    ),
    "retain_grad without gradient": lambda m, t: t([1.0]).retain_grad(),
    "second time": lambda m, t: [(y := (t([2.0], requires_grad=True) ** 2).sum()).backward(), y.backward()],
    "subset second time": lambda m, t: [
        (y := ((x := t([2.0], requires_grad=True)) ** 2).sum()).backward(),
        y.backward(inputs=[x]),
    ],
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore:`grad_variables` is deprecated:FutureWarning")
def test_errors_are_torchs(name: str) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011  (whatever PyTorch raises)
        CALLS[name](torch.autograd, torch.tensor)
    with pytest.raises(type(theirs.value)) as ours:
        CALLS[name](autograd, tensor)
    assert _words(ours.value) == _words(theirs.value)


def _words(error: BaseException) -> str:
    return str(error).replace("torch.Size", "Size").replace("torch.", "").strip().rstrip(".")
