"""Hooks of tensors: their arguments, their effects and refused results, as in PyTorch."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import autograd
from funcgrad.autograd import grad, tensor
from funcgrad.autograd._tape.hooks import registered
from tests._recorded import PyTorch

Program = Callable[[Any], Any]


class Ours:
    tensor = staticmethod(tensor)
    grad = staticmethod(grad)


class Theirs:
    def __init__(self, torch: Any) -> None:
        self.tensor, self.grad = torch.tensor, torch.autograd.grad


@pytest.fixture
def theirs(pytorch: PyTorch) -> Program:
    """Run a program on PyTorch's tensors."""
    return lambda program: pytorch(lambda torch: program(Theirs(torch)))


def _leaf(m: Any, *values: complex) -> Any:
    return m.tensor(np.array(values), requires_grad=True)


def of_a_result(m: Any) -> list[Any]:
    x = _leaf(m, 1.0, 2.0)
    y = x * 2
    y.retain_grad()
    doubled = y.register_hook(lambda g: g * 2)
    y.register_hook(lambda g: g + 1)
    y.register_hook(lambda g: None)
    (y * 3).sum().backward(retain_graph=True)
    doubled.remove()
    doubled.remove()
    (y * 3).sum().backward()
    return [y.grad, x.grad]


def of_a_leaf(m: Any) -> list[Any]:
    x = _leaf(m, 1.0, 2.0)
    x.register_hook(lambda g: g * 10)
    loss = (x * x).sum() + x.sum()
    loss.backward(retain_graph=True)
    return [x.grad.clone(), *m.grad(loss, x)]


def before_a_write(m: Any) -> list[Any]:
    x, seen = _leaf(m, 1.0, 2.0), []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.clone()))
    y.mul_(3)
    y.sum().backward()
    return [*seen, x.grad]


def of_a_recorded_pass(m: Any) -> list[Any]:
    x = _leaf(m, 1.0, 2.0)
    y = x**3
    y.register_hook(lambda g: g * x)
    (first,) = m.grad(y.sum(), x, create_graph=True)
    return [first, *m.grad(first.sum(), x)]


def of_parts(m: Any) -> list[Any]:
    x = _leaf(m, 1.0, 2.0, 3.0)
    y = x * 2
    part = y[1:]
    part.register_hook(lambda g: g * 7)
    y.register_hook(lambda g: g * 0.5)
    (part**2).sum().backward(retain_graph=True)
    (y[0] * y[1]).backward()
    return [x.grad]


def of_complex_numbers(m: Any) -> list[Any]:
    x, seen = _leaf(m, 1.0 + 2j, 2.0), []
    y = x * (1 + 1j)
    y.register_hook(lambda g: (seen.append(g.clone()), g * 1j)[1])
    (y.real * 3 + y.imag).sum().backward()
    return [*seen, x.grad]


def for_a_while(m: Any) -> list[Any]:
    x = _leaf(m, 1.0, 2.0)
    with x.register_hook(lambda g: g * 7):
        x.sum().backward()
    x.sum().backward()
    return [x.grad]


PROGRAMS = [of_a_result, of_a_leaf, before_a_write, of_a_recorded_pass, of_parts, of_complex_numbers, for_a_while]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_hooks(theirs: Program, program: Callable[[Any], list[Any]]) -> None:
    def found(m: Any) -> list[np.ndarray]:
        return [np.asarray(x.detach()) for x in program(m)]

    for mine, other in zip(found(Ours), theirs(found), strict=True):
        np.testing.assert_allclose(mine, other, rtol=1e-12)


# Results of a hook that are no gradient of two doubles.
WRONG: dict[str, Callable[[Any], Any]] = {
    "a number": lambda m: 1.0,
    "another dtype": lambda m: m.tensor(np.ones(2, np.float32)),
    "another shape": lambda m: m.tensor(np.ones(3)),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_refused(theirs: Program, wrong: Callable[[Any], Any]) -> None:
    def said(m: Any) -> str:
        x = _leaf(m, 1.0, 2.0)
        x.register_hook(lambda g: wrong(m))
        with pytest.raises((TypeError, RuntimeError)) as raised:
            x.sum().backward()
        return f"{raised.type.__name__} {raised.value}".replace("torch.", "")

    assert said(Ours) == theirs(said)
    with pytest.raises(RuntimeError, match="cannot register a hook on a tensor that doesn't require gradient"):
        tensor([1.0]).register_hook(print)


def test_a_hook_may_write_to_its_own_copy() -> None:
    x = tensor([1.0, 2.0], requires_grad=True)
    bar = tensor([3.0, 4.0])
    (x * 2).register_hook(print)
    x.register_hook(lambda g: g.mul_(10))
    x.backward(bar)
    np.testing.assert_array_equal(x.grad, [30, 40])
    np.testing.assert_array_equal(bar, [3, 4])


def test_hooks_go_with_their_tensors() -> None:
    x = autograd.tensor([1.0], requires_grad=True)
    x.register_hook(print)
    assert len(registered) > 0
    del x
    gc.collect()
    assert len(registered) == 0
