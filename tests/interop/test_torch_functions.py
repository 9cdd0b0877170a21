"""Functions across PyTorch and this library: values and derivatives agree on both sides."""

from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.autograd import grad, no_grad, tensor
from funcgrad.interop.torch import differentiable, from_torch_function

X = np.array([0.3, 0.7])
W = np.array([1.0, 2.0, 3.0])


def test_pytorch_differentiates_a_function_of_arrays(torch: Any) -> None:
    f = differentiable(lambda x, y, power=2: {"sum": np.sum(np.sin(x) * y**power), "product": x * y})
    x, y = (torch.tensor(values, dtype=torch.float64, requires_grad=True) for values in ([0.3, 0.7], [1.5, 2.0]))
    assert torch.autograd.gradcheck(lambda x, y: tuple(f(x, y).values()), (x, y))
    assert torch.autograd.gradgradcheck(lambda x, y: tuple(f(x, y, power=3).values()), (x, y))
    (f(x, y)["sum"] + (x * x).sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.cos(X) * np.array([1.5, 2.0]) ** 2 + 2 * X)
    assert not f(x.detach(), y.detach())["sum"].requires_grad
    np.testing.assert_array_equal(differentiable(lambda x, n: x * n)(x, torch.tensor([1, 2])).detach(), X * [1, 2])
    single = torch.tensor([0.3], requires_grad=True)
    assert differentiable(np.tanh)(single).dtype == torch.float32


def test_a_function_of_pytorchs_with_one_number_as_its_result(torch: Any) -> None:
    f = from_torch_function(lambda x: (x * x).sum())
    np.testing.assert_allclose(fg.grad(f)(X), 2 * X)
    np.testing.assert_allclose(fg.jit(fg.grad(f), engine="numpy")(X), 2 * X)


def test_complex_derivatives_are_each_librarys_own(torch: Any) -> None:
    z = np.array([1 + 2j, 0.5 - 1j])
    theirs = torch.tensor(z, requires_grad=True)
    assert torch.autograd.gradcheck(differentiable(lambda z: z * z * np.conj(z)), (theirs,))
    g = from_torch_function(lambda z: z * z.conj() * z)
    ours = fg.grad(lambda z: np.sum(np.real(z * np.conj(z) * z)))(z)
    np.testing.assert_allclose(fg.grad(lambda z: np.sum(np.real(g(z))))(z), ours)


def test_a_function_of_pytorchs_under_our_transforms(torch: Any) -> None:
    g = from_torch_function(lambda a, b: torch.sin(a) * b.sum())
    fg.check_grads(g, (X, W), modes=("rev",), order=1)
    wanted = np.cos(X) * 6
    gradient = fg.grad(lambda a: np.sum(g(a, W)))
    np.testing.assert_allclose(gradient(X), wanted)
    for engine in ("numpy", "xla"):
        np.testing.assert_allclose(fg.jit(gradient, engine=engine)(X), wanted)
    unused = from_torch_function(lambda a, b: a * 2.0)
    np.testing.assert_array_equal(fg.grad(lambda b: np.sum(unused(X, b)))(W), [0, 0, 0])
    back = differentiable(lambda x: np.sum(g(x, W)))
    x = torch.tensor(X, requires_grad=True)
    back(x).backward()
    np.testing.assert_allclose(x.grad.numpy(), wanted)


OPERATORS = {
    "+": (lambda a, b: a + b, lambda c, x: np.ones_like(x)),
    "-": (lambda a, b: a - b, lambda c, x: -np.ones_like(x)),
    "*": (lambda a, b: a * b, lambda c, x: c),
    "/": (lambda a, b: a / b, lambda c, x: -c / x**2),
    "**": (lambda a, b: a**b, lambda c, x: np.log(c) * c**x),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_a_tensor_of_pytorchs_on_the_left(torch: Any, name: str) -> None:
    operator, slope = OPERATORS[name]
    c = np.array([2.0, 3.0])
    left = torch.tensor(c)
    np.testing.assert_allclose(fg.grad(lambda x: np.sum(operator(left, x)))(X), slope(c, X))
    np.testing.assert_allclose(fg.jit(lambda x: operator(left, x), engine="numpy")(X), operator(c, X))
    ours = tensor(X, requires_grad=True)
    operator(left, ours).sum().backward()
    np.testing.assert_allclose(ours.grad.numpy(), slope(c, X))
    with pytest.raises(RuntimeError, match="requires grad"):
        fg.grad(lambda x: np.sum(operator(torch.tensor(c, requires_grad=True), x)))(X)


def tenfold_by_vjp() -> Any:
    f = fg.custom_vjp(lambda a, b: np.sum(a**2) * b)
    f.defvjp(lambda a, b: (np.sum(a**2) * b, (a, b)), lambda kept, y_bar: (10 * kept[0] * kept[1] * y_bar, None))
    return f


def tenfold_by_jvp() -> Any:
    f = fg.custom_jvp(lambda a, b: np.sum(a**2) * b)
    f.defjvp(lambda xs, dots: (np.sum(xs[0] ** 2) * xs[1], 10 * np.sum(xs[0] * dots[0]) * xs[1]))
    return f


@pytest.mark.parametrize("make", [tenfold_by_vjp, tenfold_by_jvp])
def test_custom_rules_on_tensors(make: Any) -> None:
    f = make()
    x, b = tensor(X, requires_grad=True), tensor(np.array(3.0))
    f(x, b).backward()
    np.testing.assert_allclose(x.grad.numpy(), 30 * X)
    (first,) = grad(f(x, b), x, create_graph=True)
    np.testing.assert_allclose(grad(first.sum(), x)[0].numpy(), [30.0, 30.0])
    with no_grad():
        y = f(x, b)
    assert not y.requires_grad
    assert y.item() == pytest.approx(3 * np.sum(X * X))
    hidden = tensor(np.array(2.0), requires_grad=True)
    closed = fg.custom_vjp(lambda a: np.sum(a) * hidden)
    closed.defvjp(lambda a: (np.sum(a) * hidden, None), lambda _, y_bar: (y_bar,))
    with pytest.raises(fg.errors.NotDifferentiableError, match="closes over a value that is being differentiated"):
        closed(x)
