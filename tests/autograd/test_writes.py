"""Writes in place are counted as long as the array lives, whoever writes, and through whichever view."""

import gc
from typing import Any

import numpy as np
import pytest

from funcgrad import nn
from funcgrad.autograd import no_grad, tensor
from funcgrad.autograd._tape.writes import WRITES
from funcgrad.optim import SGD


def leaf(*numbers: float) -> Any:
    return tensor(np.array(numbers), requires_grad=True)


def test_writes_are_noted_and_forgotten_with_the_array() -> None:
    gc.collect()
    before = len(WRITES)
    x = tensor([1.0, 2.0])
    view = x[1:]
    for _ in range(100):
        x.add_(1.0)
        view.zero_()
    assert len(WRITES) == before + 1
    del x, view
    assert len(WRITES) == before


@pytest.mark.parametrize("reads", [False, True])
def test_a_pass_checks_no_node_after_zero_grad_unless_gradients_were_read(reads: bool) -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
    optimizer = SGD(model.parameters(), lr=0.1, momentum=0.9)
    for i in range(3):
        loss = (model(tensor([[1.0, 2.0]])) ** 2).sum()
        optimizer.zero_grad()
        node: Any = loss._node
        assert (WRITES.last > node[0]) is (reads and i > 0)
        loss.backward()
        if reads:
            assert all(p.grad is not None for p in model.parameters())
        optimizer.step()


def test_a_gradient_that_a_graph_keeps_may_not_be_cleared() -> None:
    x = leaf(1.0, 2.0)
    optimizer = SGD([x], lr=0.1)
    for clear in (optimizer.zero_grad, lambda: (x * x).sum().backward()):
        x.grad = None
        (x * x).sum().backward()
        assert x.grad is not None
        y = (x.grad * leaf(1.0, 1.0)).sum()
        clear()
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.backward()


def test_each_kind_of_holder_of_a_value_sees_a_write() -> None:
    def kept_by_name(x: Any) -> Any:
        return x._value

    def kept_by_a_view(x: Any) -> Any:
        return x._value[:1]

    def kept_by_another_tensor(x: Any) -> Any:
        return x.detach()

    def kept_by_a_node(x: Any) -> Any:
        return x * tensor([1.0, 2.0], requires_grad=True)

    for keep in (kept_by_name, kept_by_a_view, kept_by_another_tensor, kept_by_a_node):
        x = tensor([1.0, 2.0])
        held = keep(x)
        before = WRITES.last
        x.add_(1.0)
        assert WRITES.last > before, keep.__name__
        del held


def test_memory_that_a_compiled_step_takes_counts_as_written() -> None:
    jax = pytest.importorskip("jax")
    start = jax.numpy.ones(2)
    x = tensor(start, requires_grad=True)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    SGD([x], lr=0.5).step()
    with pytest.raises(RuntimeError, match=r"\[FloatTensor \[2\]\] is at version 1; expected version 0"):
        y.backward()
    np.testing.assert_array_equal(start, [1, 1])


def test_many_writes_say_no_version_that_is_not_known() -> None:
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    for _ in range(100):
        x.detach().add_(1.0)
    with pytest.raises(RuntimeError, match="is at version 100; expected an earlier version instead"):
        y.backward()


def test_data_is_no_way_around() -> None:
    x = leaf(1.0, 2.0)
    y = (x * x).sum()
    x.data -= 1.0
    with pytest.raises(
        RuntimeError, match=r"Hint: compute a new value \(x = x \+ y\), write to a copy \(x.clone\(\)\)"
    ):
        y.backward()


def test_other_values_than_the_written_one_are_as_good_as_before() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    product = (x * x).sum() + (y * y).sum()
    with no_grad():
        x.zero_()
    (y * y).sum().backward()
    np.testing.assert_array_equal(y.grad, [6, 8])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward(inputs=[x])


def test_loading_a_state_is_a_write() -> None:
    model = nn.Sequential(nn.Linear(2, 2), nn.Tanh(), nn.Linear(2, 1))
    loss = (model(tensor([[1.0, 2.0]])) ** 2).sum()
    model.load_state_dict(model.state_dict())
    with pytest.raises(RuntimeError, match=r"\[FloatTensor \[.*\]\] is at version 2; expected version 1"):
        loss.backward()


def test_a_momentum_buffer_is_a_value_too() -> None:
    x = leaf(1.0, 2.0)
    optimizer = SGD([x], lr=0.1, momentum=0.9)
    (x**2).sum().backward()
    optimizer.step()
    y = (optimizer.state[x]["momentum_buffer"] * leaf(1.0, 1.0)).sum()
    optimizer.step()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_half_precision_is_stepped_in_place() -> None:
    x = tensor(np.ones(2, np.float16), requires_grad=True)
    y = (x * x).sum()
    y.backward(retain_graph=True)
    SGD([x], lr=0.5).step()
    with pytest.raises(RuntimeError, match=r"\[HalfTensor \[2\]\] is at version 1"):
        y.backward()


def test_functions_with_several_results_keep_what_they_read() -> None:
    x = leaf(3.0, 1.0, 2.0)
    y = np.sort(x * 1.0) * x
    with no_grad():
        x.mul_(2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
