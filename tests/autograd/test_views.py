"""Tensors that share memory and tensors that must not; the gradients of a pass; PyTorch's tensors as arguments."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from funcgrad import nn
from funcgrad.autograd import Function, backward, grad, is_grad_enabled, no_grad, tensor
from funcgrad.optim import SGD


def leaf(*numbers: float) -> Any:
    return tensor(np.array(numbers), requires_grad=True)


def shares(a: Any, b: Any) -> bool:
    return bool(np.shares_memory(a.detach().numpy(), b.detach().numpy()))


def test_a_view_that_changes_nothing_is_another_tensor() -> None:
    t = leaf(1.0, 2.0)
    views: list[Any] = [t.reshape(-1), t.view(2), t.t(), t.T, t.ravel(), np.reshape(t, 2), np.transpose(t), t.expand(2)]
    for u in views:
        assert u is not t
        assert shares(u, t)
        u.data = u.data * 2
    np.testing.assert_array_equal(t.detach(), [1.0, 2.0])


# NumPy's functions that return copies do so even if there is nothing to compute.
COPIES: dict[str, Callable[[Any], Any]] = {
    "copy": np.copy,
    "method": lambda t: t.copy(),
    "concatenate": lambda t: np.concatenate([t]),
    "stack": lambda t: np.stack([t]),
    "tile": lambda t: np.tile(t, 1),
    "tile along a new axis": lambda t: np.tile(t, (1, 1)),
    "roll": lambda t: np.roll(t, 0),
    "pad": lambda t: np.pad(t, 0),
    "repeat": lambda t: np.repeat(t, 1),
    "clip": lambda t: np.clip(t, None, None),
    "clip method": lambda t: t.clip(None, None),
    "astype": lambda t: t.astype(np.float64),
    "sum over no axes": lambda t: np.sum(t, axis=()),
    "to": lambda t: t.to(np.float64, copy=True),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_are_copies(name: str) -> None:
    t = leaf(1.0, 2.0)
    u = COPIES[name](t)
    assert not shares(u, t)
    (g,) = grad(u.sum(), t)
    np.testing.assert_array_equal(g, [1.0, 1.0])


def test_an_element_and_an_expanded_tensor_follow_what_is_written() -> None:
    t = tensor([1.0, 2.0])
    element, row, (first, _) = t[tensor(1)], t.expand(3, 2), t
    element.mul_(10.0)
    first.zero_()
    np.testing.assert_array_equal(t, [0.0, 20.0])
    np.testing.assert_array_equal(row, [[0.0, 20.0]] * 3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor refers to a single memory"):
        row.add_(1.0)
    t.expand(1, 2).add_(1.0)
    np.testing.assert_array_equal(t, [1.0, 21.0])


def test_results_without_axes_can_be_written_to_through_what_is_cut_off() -> None:
    s = leaf(1.0, 2.0).sum()
    s.detach().add_(1.0)
    assert s.item() == 4.0
    a = tensor(2.0)
    a[...] = 4.0
    a += 1
    assert a.item() == 5.0
    x = leaf(1.0)
    y = x[0].exp()
    with no_grad():
        y.mul_(2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_second_derivatives_through_results_without_axes() -> None:
    x = leaf(0.5)
    y = x[0].exp() * x.sum()
    (first,) = grad(y, x, create_graph=True)
    (second,) = grad(first.sum(), x)
    np.testing.assert_allclose(second, [2.5 * np.exp(0.5)])


def test_a_view_is_on_the_way_of_its_own() -> None:
    x = leaf(3.0)
    u = x.reshape(-1)
    (first,) = grad((x * u).sum(), x, create_graph=True)
    np.testing.assert_array_equal(first.detach(), [6.0])
    np.testing.assert_array_equal(grad(first.sum(), x)[0], [2.0])


def test_copies_of_a_tensor() -> None:
    x = leaf(1.0, 2.0)
    shallow = copy.copy(x)
    assert shallow is not x
    assert shallow.is_leaf
    assert shallow.requires_grad
    assert shares(shallow, x)


def test_a_plain_pass_keeps_the_history_of_a_recorded_gradient() -> None:
    x = leaf(3.0)
    (x**3).sum().backward(create_graph=True)
    recorded = x.grad
    (x**2).sum().backward()
    assert x.grad is recorded
    assert recorded.requires_grad
    np.testing.assert_allclose(recorded.detach(), [27.0 + 6.0])
    (second,) = grad(recorded.sum(), x)
    np.testing.assert_allclose(second, [18.0])


def test_recorded_gradients_of_two_leaves_are_apart() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (x + y).sum().backward(create_graph=True)
    x.sum().backward()
    np.testing.assert_array_equal(x.grad.detach(), [2.0, 2.0])
    np.testing.assert_array_equal(y.grad.detach(), [1.0, 1.0])


def test_recording_is_as_before_when_an_accumulation_fails() -> None:
    x = leaf(1.0, 2.0)
    x.grad = tensor(np.ones(2))
    x.grad._value = np.ones((2, 3))
    y = x.sum()
    with no_grad():
        with pytest.raises(ValueError, match="broadcast"):
            backward(y, create_graph=True)
        assert not is_grad_enabled()
    assert is_grad_enabled()


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda c, x: c * x, [False, True]),
        (lambda c, x: x * c, [True, False]),
        (lambda c, x: 2 * x, [True, False]),
        (lambda c, x: x + 1, [True, False]),
        (lambda c, x: x**2, [True]),
        (lambda c, x: c @ x, [False, True]),
        (lambda c, x: np.concatenate([c, x, c]), [False, True, False]),
        (lambda c, x: np.where(c > 1, c, x), [False, True]),
    ],
    ids=["constant first", "constant second", "number", "sum", "power", "product", "concatenation", "choice"],
)
def test_operands_without_gradient_are_shown(call: Callable[..., Any], expected: list[bool]) -> None:
    y = call(tensor(np.array([1.0, 2.0])), leaf(3.0, 4.0))
    assert [type(function) is Function for function, _ in y.grad_fn.next_functions] == expected
    assert all(index == 0 for _, index in y.grad_fn.next_functions)


def test_norms() -> None:
    zeros = leaf(0.0, 0.0)
    zeros.norm().backward()
    np.testing.assert_array_equal(zeros.grad, [0.0, 0.0])
    assert tensor([1j, 1]).norm().item() == pytest.approx(2**0.5)
    assert tensor(np.array([3e20, 4e20], np.float32)).norm().item() == pytest.approx(5e20)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda t: t.to("cuda"),
            RuntimeError,
            r"the device 'cuda' was asked for, and the tensor f32\[2,3\] is on 'cpu'",
        ),
        (lambda t: t.to(None), TypeError, "the dtype None was asked for; needed one of NumPy's"),
        (lambda t: t.to(str), TypeError, "needed one of numbers"),
        (lambda t: tensor([1.0], dtype="foo"), TypeError, "tensor: the dtype 'foo' was asked for"),
        (lambda t: t.max(5), IndexError, "Dimension out of range"),
        (lambda t: t.std(wrong=1), TypeError, r"std\(\) got an unexpected keyword argument 'wrong'"),
        (lambda t: t.repeat(2), RuntimeError, "Number of dimensions of repeat dims can not be smaller"),
        (lambda t: t.sum(0, np.float64), TypeError, "needed True or False, for keepdim"),
        (lambda t: t.sum(0, axis=1), TypeError, "needed one of the two"),
        (lambda t: t.T.view(-1), RuntimeError, "view size is not compatible"),
        (lambda t: t.expand(2, 4), RuntimeError, r"expanded size of the tensor \(4\) must match"),
        (lambda t: setattr(t, "data", 3), TypeError, "Variable data has to be a tensor, but got int"),
        (lambda t: t.norm("x"), RuntimeError, "needed a number, 'fro' or 'nuc'"),
    ],
)
def test_refusals(call: Callable[[Any], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        call(tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))


def test_what_the_call_says_is_done() -> None:
    t = tensor(np.array([[1.0, 5.0], [2.0, 4.0]]))
    np.testing.assert_allclose(t.std(0, correction=1), np.std(t.numpy(), 0, ddof=1))
    np.testing.assert_allclose(t.var(unbiased=False), np.var(t.numpy()))
    np.testing.assert_array_equal(t.max(axis=0), [2.0, 5.0])
    np.testing.assert_array_equal(t.repeat(2, axis=1), np.repeat(t.numpy(), 2, 1))
    np.testing.assert_array_equal(t.flatten(1), t)
    assert t.T.contiguous().view(-1).tolist() == [1.0, 2.0, 5.0, 4.0]


def test_tensors_of_pytorch_are_taken(torch: Any) -> None:
    given = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    made = tensor(given)
    assert (made.dtype, made.requires_grad) == (np.dtype(np.float32), False)
    made.zero_()
    assert given[0, 0].item() == 1.0
    assert tensor(given.bfloat16()).dtype.name == "bfloat16"
    assert tensor([given[0], given[1]]).shape == (2, 3)
    data = torch.utils.data.TensorDataset(given.detach(), torch.tensor([0, 1]))
    model = nn.Linear(3, 2)
    model.load_state_dict(torch.nn.Linear(3, 2).state_dict())
    for x, target in torch.utils.data.DataLoader(data, batch_size=2):
        nn.CrossEntropyLoss()(model(x), target).backward()
        np.testing.assert_array_equal(made[target], np.zeros((2, 3)))
    assert model.weight.grad.shape == (2, 3)


def test_states_of_pytorchs_optimizers_are_taken(torch: Any) -> None:
    theirs = torch.nn.Parameter(torch.tensor([1.0, 2.0], dtype=torch.float64))
    optimizer = torch.optim.SGD([theirs], lr=0.1, momentum=0.9)
    (theirs**2).sum().backward()
    optimizer.step()
    ours = tensor(theirs, requires_grad=True)
    continued = SGD([ours], lr=0.5)
    continued.load_state_dict(optimizer.state_dict())
    for one, step in ((theirs, optimizer), (ours, continued)):
        one.grad = None
        (one**2).sum().backward()
        step.step()
    np.testing.assert_allclose(ours.detach(), theirs.detach().numpy(), rtol=1e-15)


@pytest.mark.parametrize(
    ("shape", "positions", "expected"),
    [
        ((0, 3), (slice(None), [5]), (0, 1)),
        ((3, 0), ([5],), (1, 0)),
        ((2, 0, 3), ([7, 1], slice(None), [1, 9]), (2, 0)),
        ((2, 3), (slice(0, 0), [7]), (0, 1)),
    ],
)
def test_positions_of_a_result_without_elements_are_not_checked(shape: Any, positions: Any, expected: Any) -> None:
    x = tensor(np.zeros(shape))
    given = tuple([tensor(np.array(each)) if isinstance(each, list) else each for each in positions])
    assert x[given].shape == expected
    assert x[positions].shape == expected


@pytest.mark.parametrize(("shape", "positions"), [((0,), [5]), ((0, 3), [2]), ((3,), [5])])
def test_positions_of_a_result_with_elements_are_checked(shape: Any, positions: Any) -> None:
    with pytest.raises(IndexError, match="out of bounds"):
        tensor(np.zeros(shape))[tensor(np.array(positions))]
