"""Tensors of JAX's values can be written to although the arrays never change, unless other values share the memory."""

import copy
import pickle
from typing import Any

import jax
import numpy as np
import pytest

from funcgrad import nn
from funcgrad.autograd import grad, no_grad, tensor
from funcgrad.errors import TracerAssignmentError
from funcgrad.optim import SGD
from tests.nn._loops import LOOPS, Library
from tests.nn.test_loops import GOLDEN


def on_jax(data: Any, dtype: Any = None, requires_grad: bool = False) -> Any:
    with jax.enable_x64(True):
        return tensor(jax.numpy.asarray(tensor(data, dtype).numpy()), requires_grad=requires_grad)


class Layers:
    """Return ``funcgrad.nn`` with linear layers of JAX's values."""

    def __getattr__(self, name: str) -> Any:
        return getattr(nn, name)

    @staticmethod
    def Linear(*args: Any, **kwargs: Any) -> Any:  # noqa: N802  (the name of the class)
        layer = nn.Linear(*args, **kwargs)
        for p in layer.parameters():
            p.data = on_jax(p.detach())
        return layer


@pytest.mark.long
@pytest.mark.parametrize("name", LOOPS)
def test_loops_are_the_same(name: str) -> None:
    found = LOOPS[name](Library(Layers(), on_jax, SGD, no_grad, grad))
    np.testing.assert_allclose(found, GOLDEN[name], rtol=1e-10, atol=1e-12)


WRITES: dict[str, tuple[Any, list[float]]] = {
    "add_": (lambda x: x.add_(1.0), [2.0, 3.0, 4.0]),
    "sub_ of a tensor": (lambda x: x.sub_(on_jax([1.0, 0.0, 1.0]), alpha=2), [-1.0, 2.0, 1.0]),
    "mul_ of an array": (lambda x: x.mul_(np.array([1.0, 2.0, 3.0])), [1.0, 4.0, 9.0]),
    "zero_": (lambda x: x.zero_(), [0.0, 0.0, 0.0]),
    "fill_": (lambda x: x.fill_(5), [5.0, 5.0, 5.0]),
    "copy_": (lambda x: x.copy_(np.array([7, 8, 9])), [7.0, 8.0, 9.0]),
    "an element": (lambda x: x.__setitem__(0, 9.0), [9.0, 2.0, 3.0]),
    "numbers": (lambda x: x.copy_([7, 8, 9]), [7.0, 8.0, 9.0]),
    "a slice": (lambda x: x.__setitem__(slice(1, None), 0.0), [1.0, 0.0, 0.0]),
    "a mask": (lambda x: x.__setitem__(x > 1.5, -1.0), [1.0, -1.0, -1.0]),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes(name: str) -> None:
    write, expected = WRITES[name]
    x, shared = on_jax(np.arange(1.0, 4.0)), on_jax(np.arange(1.0, 4.0), requires_grad=True)
    write(x)
    write(shared.detach())
    for one in (x, shared.detach()):
        assert isinstance(one._value, jax.Array)
        assert one.dtype == np.float64
        np.testing.assert_array_equal(one, expected)


def test_what_may_be_a_part_of_another_is_not_written_to() -> None:
    x = on_jax(np.arange(1.0, 4.0))
    with pytest.raises(TracerAssignmentError, match=r"cannot change, and may be a part of another\. .* clone\(\) it"):
        x[1:].zero_()
    x[1:].clone().zero_()
    stale = x.detach()
    x.add_(1.0)
    with pytest.raises(TracerAssignmentError, match="may be a part of another"):
        stale.add_(1.0)
    np.testing.assert_array_equal(x, [2.0, 3.0, 4.0])


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (lambda x: x.add_(np.ones((2, 3))), r"output with shape \[3\] doesn't match the broadcast shape \[2, 3\]"),
        (
            lambda x: x.to(np.int64).clone().add_(0.5),
            "result type Float can't be cast to the desired output type Long",
        ),
    ],
)
def test_results_that_do_not_fit_are_refused(write: Any, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        write(on_jax(np.arange(1.0, 4.0)))


def test_what_was_replaced_is_no_value_of_a_graph() -> None:
    x = on_jax([1.0, 2.0], requires_grad=True)
    y = (x**3).sum()
    with no_grad():
        x.mul_(2.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        grad(y, x, create_graph=True)


def test_values_given_to_data_replace_what_a_graph_reads() -> None:
    x = tensor(np.array([1.0, 2.0]), requires_grad=True)
    y = (x**3).sum()
    x.data = tensor(np.array([3.0, 4.0]))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()
    np.testing.assert_array_equal(x.detach(), [3.0, 4.0])


def test_copies_are_of_jax_values_and_pickles_of_numpys() -> None:
    x = on_jax(np.arange(3.0), requires_grad=True)
    copied, read = copy.deepcopy(x), pickle.loads(pickle.dumps(x))
    assert isinstance(copied._value, jax.Array)
    assert type(read._value) is np.ndarray
    for again in (copied, read):
        assert again.requires_grad
        assert again.dtype == np.float64
        np.testing.assert_array_equal(again.detach(), x.detach())
    SGD([x], lr=0.1).step(grads=[on_jax(np.ones(3))._value])
    np.testing.assert_array_equal(copied.detach(), np.arange(3.0))


def test_modules_of_jax_values_load_states() -> None:
    layer, weight = Layers.Linear(2, 1), np.array([[3.0, 4.0]])
    layer.load_state_dict({"weight": weight, "bias": np.zeros(1)})
    assert isinstance(layer.weight._value, jax.Array)
    np.testing.assert_array_equal(layer.weight.detach(), weight)
