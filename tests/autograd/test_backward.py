"""The contract of backward, grad and the recording modes, without PyTorch."""

import copy
import gc
import pickle
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad import autograd
from funcgrad.autograd import Tensor, backward, enable_grad, is_grad_enabled, no_grad, set_grad_enabled, tensor


def leaf(*numbers: float) -> Tensor:
    return tensor(np.array(numbers), requires_grad=True)


def test_the_first_example_of_every_tutorial() -> None:
    a, b = tensor([2.0, 3.0], requires_grad=True), tensor([6.0, 4.0], requires_grad=True)
    (3 * a**3 - b**2).backward(gradient=tensor([1.0, 1.0]))
    np.testing.assert_array_equal(a.grad, [36, 81])
    np.testing.assert_array_equal(b.grad, [-12, -8])
    assert a.grad.dtype == np.float32


def test_numpy_functions_and_mixed_operands() -> None:
    x = leaf(0.5, 1.0)
    y = np.concatenate([np.exp(x), np.ones(2) * x, x[:1]])
    assert type(y) is Tensor
    y.sum().backward()
    np.testing.assert_allclose(x.grad, np.exp([0.5, 1.0]) + 1 + np.array([1, 0]))


def test_results_without_derivative_are_tensors_that_serve_as_indices() -> None:
    x = leaf(3.0, -1.0, 2.0)
    positive = x > 0
    assert type(positive) is Tensor
    assert not positive.requires_grad
    x[positive].sum().backward()
    np.testing.assert_array_equal(x.grad, [1, 0, 1])
    assert x.argmax().item() == 0


def test_gradients_own_their_memory() -> None:
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    seed = np.ones(2)
    (x + y).backward(tensor(seed))
    x.grad.zero_()
    np.testing.assert_array_equal(y.grad, [1, 1])
    given = tensor(seed)
    z = leaf(1.0, 2.0)
    z.backward(given)
    assert z.grad is not given
    z.grad.zero_()
    np.testing.assert_array_equal(given, [1, 1])


def test_grad_keeps_its_identity_when_it_accumulates() -> None:
    x = leaf(1.0, 2.0)
    (x * 2).sum().backward()
    first = x.grad
    (x * 3).sum().backward()
    assert x.grad is first
    np.testing.assert_array_equal(first, [5, 5])


def test_inputs_alone_are_filled() -> None:
    x, y = leaf(1.0), leaf(2.0)
    (x * y).backward(inputs=[x])
    assert x.grad is not None
    assert y.grad is None
    hidden = x * 2
    (hidden * y).backward(inputs=hidden)
    np.testing.assert_array_equal(hidden._gradient, [2.0])


def test_a_graph_may_be_cut_in_two() -> None:
    x = leaf(3.0)
    hidden = x * x
    (bar,) = autograd.grad(hidden * 5, hidden)
    hidden.backward(bar)
    np.testing.assert_array_equal(x.grad, [30.0])


def test_retain_grad() -> None:
    x = leaf(3.0)
    hidden = x * x
    y = hidden * 2
    hidden.retain_grad()
    assert hidden.retains_grad
    assert not x.retains_grad
    y.backward()
    np.testing.assert_array_equal(hidden.grad, [2.0])
    np.testing.assert_array_equal(x.grad, [12.0])


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x - x,
        lambda x: -(x + 1),
        lambda x: x[:, 0],
        lambda x: x[None, ..., 1:].T,
        lambda x: x.sum(0),
        lambda x: x.expand(2, 2, 3).reshape(-1),
        lambda x: x.cumsum(1).clone(),
        lambda x: x.float(),
    ],
)
def test_what_keeps_no_values_serves_a_further_pass(f: Any) -> None:
    x = tensor(np.arange(6.0).reshape(2, 3), requires_grad=True)
    y = f(x)
    y.sum().backward()
    once = x.grad.numpy().copy()
    y.sum().backward()
    np.testing.assert_array_equal(x.grad, 2 * once)
    for freed in (x * x, x * 2, x[[0, 0]], x.exp()):
        z = freed.sum()
        z.backward()
        with pytest.raises(RuntimeError, match="a second time"):
            z.backward()


@pytest.mark.parametrize("create", [False, True])
def test_grad_fills_what_retains_its_gradient(create: bool) -> None:
    x = leaf(3.0)
    hidden = x * 2
    aside = x * 5
    y = hidden * hidden
    for each in (hidden, aside, y):
        each.retain_grad()
    (slope,) = autograd.grad((y + aside).sum(), hidden, create_graph=create)
    np.testing.assert_array_equal(slope.detach(), [12.0])
    assert x.grad is aside.grad is None
    np.testing.assert_array_equal(hidden.grad.detach(), [12.0])
    np.testing.assert_array_equal(y.grad.detach(), [1.0])
    y = x * x
    y.retain_grad()
    y.backward(inputs=[y])
    np.testing.assert_array_equal(y.grad, [1.0])


def test_data_of_another_shape_is_refused_where_there_is_a_history() -> None:
    x = leaf(1.0, 2.0)
    y = x * 2
    with pytest.raises(RuntimeError, match=r"data of a tensor with a history, f64\[2\], was to become f64\[\]"):
        y.data = tensor(np.array(1.0))
    x.data = tensor(np.array(1.0))
    assert x.shape == ()


def test_unused_inputs_may_be_allowed() -> None:
    x, y = leaf(1.0), leaf(2.0, 3.0)
    assert autograd.grad(x * 2, [x, y], allow_unused=True)[1] is None
    np.testing.assert_array_equal(autograd.grad(x * 2, [x, y], materialize_grads=True)[1], [0, 0])
    named = autograd.grad(x * 2, {"x": x})
    np.testing.assert_array_equal(named["x"], [2.0])


def test_grad_variables_warns() -> None:
    x = leaf(1.0, 2.0)
    with pytest.warns(FutureWarning, match="`grad_variables` is deprecated. Use `grad_tensors` instead."):
        backward(x * 2, grad_variables=tensor(np.ones(2)))
    np.testing.assert_array_equal(x.grad, [2, 2])


@pytest.mark.parametrize("count", [1, 3])
def test_gradients_of_another_number_are_refused(count: int) -> None:
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match=f"got 2 tensors and {count} gradients"):
        backward([x * 2, x * 3], [tensor(np.ones(1))] * count)


def test_create_graph_makes_no_reference_cycle() -> None:
    gc.collect()
    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        (np.tanh(x) ** 3).sum().backward(create_graph=True)
        assert x.grad.requires_grad
        dying = weakref.ref(x), weakref.ref(x.grad)
        del x
        assert [ref() for ref in dying] == [None, None]
    finally:
        gc.enable()


def test_derivatives_of_any_order() -> None:
    x = leaf(0.3)
    value = np.sin(x)
    for order in range(1, 6):
        (value,) = autograd.grad(value, x, create_graph=True)
        np.testing.assert_allclose(value.detach(), [np.sin(0.3 + order * np.pi / 2)], rtol=1e-12)


def test_second_derivatives_through_operations_with_several_results() -> None:
    f = fg.jit(lambda x: np.sin(x) * x, engine="numpy")
    x = leaf(0.3, 0.7)
    (first,) = autograd.grad(f(x).sum(), x, create_graph=True)
    (second,) = autograd.grad(first.sum(), x)
    point = x.detach().numpy()
    np.testing.assert_allclose(first.detach(), np.sin(point) + point * np.cos(point))
    np.testing.assert_allclose(second, 2 * np.cos(point) - point * np.sin(point))


def test_jitted_functions_take_tensors() -> None:
    x = leaf(0.3, 0.7)
    fg.jit(lambda x: np.sin(x).sum())(x).backward()
    np.testing.assert_allclose(x.grad, np.cos([0.3, 0.7]))


def test_transforms_take_tensors_and_see_closed_over_ones_as_constants() -> None:
    x = leaf(2.0, 3.0)
    inner = fg.grad(lambda w: np.sum(w**2 * x**2))(tensor(np.ones(2)))
    np.testing.assert_array_equal(inner.detach(), [8.0, 18.0])
    inner.sum().backward()
    np.testing.assert_array_equal(x.grad, [8.0, 12.0])
    _, tangent = fg.jvp(lambda w: w * x, (np.ones(2),), (np.ones(2),))
    assert type(tangent) is Tensor


CALLS: dict[str, Any] = {
    "backward": lambda x: (x * 2).backward(),
    "autograd.backward": lambda x: backward([x * 2], inputs=[x]),
    "autograd.grad": lambda x: autograd.grad(x * 2, x),
}
TRANSFORMS: dict[str, Any] = {
    "grad": lambda f: fg.grad(f)(np.ones(2)),
    "vjp": lambda f: fg.vjp(f, np.ones(2)),
    "jvp": lambda f: fg.jvp(f, (np.ones(2),), (np.ones(2),)),
    "linearize": lambda f: fg.linearize(f, np.ones(2)),
    "vmap": lambda f: fg.vmap(f)(np.ones((3, 2))),
    "jit": lambda f: fg.jit(f)(np.ones(2)),
    "compiled NumPy": lambda f: fg.jit(f, engine="numpy")(np.ones(2)),
    "make_graph": lambda f: fg.make_graph(f)(np.ones(2)),
    "scan": lambda f: fg.scan(lambda c, x: (c + f(x), c), 0.0, np.ones((3, 2))),
}


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.parametrize("call", CALLS)
def test_calls_inside_a_transform_are_refused(call: str, transform: str) -> None:
    x = leaf(1.0)
    with pytest.raises(RuntimeError, match=r"called inside a functional transform .* use fg.grad or fg.vjp"):
        TRANSFORMS[transform](lambda w: (CALLS[call](x), np.sum(w))[1])
    assert x.grad is None


def test_no_grad_as_context_and_decorator() -> None:
    x = leaf(1.0)

    @no_grad()
    def with_parentheses() -> Tensor:
        return x * 2

    @no_grad
    def without() -> Tensor:
        with enable_grad():
            assert is_grad_enabled()
        return x * 2

    assert not with_parentheses().requires_grad
    assert not without().requires_grad
    assert is_grad_enabled()
    with no_grad():
        assert not (x * 2).requires_grad
        with enable_grad():
            assert (x * 2).requires_grad
        assert not is_grad_enabled()
    with set_grad_enabled(False):
        assert not is_grad_enabled()
    set_grad_enabled(False)
    assert not is_grad_enabled()
    set_grad_enabled(True)
    with pytest.raises(ZeroDivisionError), no_grad():
        raise ZeroDivisionError
    assert is_grad_enabled()


def test_no_grad_around_a_generator() -> None:
    def numbers() -> Any:
        """A generator returns the values that are sent to it and handles errors that are thrown into it."""
        got = yield is_grad_enabled()
        try:
            yield got, is_grad_enabled()
        except KeyError:
            yield "caught", is_grad_enabled()
        return 7

    generator = no_grad()(numbers)()
    seen = [next(generator), is_grad_enabled(), generator.send(3), generator.throw(KeyError()), is_grad_enabled()]
    assert seen == [False, True, (3, False), ("caught", False), True]
    with pytest.raises(StopIteration) as stop:
        next(generator)
    assert stop.value.value == 7
    assert is_grad_enabled()


def test_recording_is_per_thread() -> None:
    seen = []
    with no_grad():
        thread = threading.Thread(target=lambda: seen.append(is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_in_place_where_nothing_is_recorded() -> None:
    w = leaf(1.0, 2.0)
    (w * w).sum().backward()
    memory = w.detach().numpy()
    with no_grad():
        w -= 0.5 * w.grad
        w[0] = 7.0
    np.testing.assert_array_equal(memory, [7.0, 0.0])
    assert w.is_leaf
    total = tensor([0.0])
    total += 1.0
    assert total.item() == 1.0
    total += w.sum()
    assert total.grad_fn.name() == "AddBackward0"
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in an in-place operation"):
        w += 1


def test_copies() -> None:
    w = leaf(1.0, 2.0)
    for again in (copy.deepcopy(w), pickle.loads(pickle.dumps(w))):
        assert again.requires_grad
        np.testing.assert_array_equal(again.detach(), w.detach())
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(w * 2)
    cut = (w * 2).clone().detach()
    assert cut.is_leaf
    assert not cut.requires_grad


def test_functions_of_the_graph() -> None:
    x = tensor([1.0], requires_grad=True)
    y = (2 * x).sum()
    assert y.grad_fn.name() == "SumBackward0"
    (product, _), *_ = y.grad_fn.next_functions
    assert product.name() == "MulBackward0"
    (accumulate, index), nothing = product.next_functions
    assert nothing == (None, 0)
    assert (accumulate.name(), index) == ("torch::autograd::AccumulateGrad", 0)
    assert accumulate.variable is x
    assert x.grad_fn is None
    assert (x + 1).grad_fn.next_functions == ((accumulate, 0), (None, 0))


def test_dtypes() -> None:
    assert tensor(1.0).dtype == np.float32
    assert tensor([1, 2]).dtype == np.int64
    assert tensor([True]).dtype == np.bool_
    assert tensor(np.ones(2)).dtype == np.float64
    assert tensor([1.0], dtype=np.float64).dtype == np.float64
    assert tensor([tensor(1.0), tensor(2.0)]).shape == (2,)
    source = np.ones(2)
    tensor(source).zero_()
    assert source[0] == 1
    with pytest.raises(TypeError, match="makes no array of numbers"):
        tensor([object()])


def test_values_of_the_other_engine() -> None:
    jax = pytest.importorskip("jax")
    x = tensor(jax.numpy.array([1.0, 2.0]), requires_grad=True)
    (x * np.sin(x)).sum().backward()
    assert isinstance(x.grad._value, jax.Array)
    np.testing.assert_allclose(x.grad, np.sin([1, 2]) + [1, 2] * np.cos([1, 2]), rtol=1e-6)


def test_long_chains_need_no_recursion() -> None:
    x = leaf(1.0)
    y = x
    for _ in range(20_000):
        y = y + x
    y.backward()
    np.testing.assert_array_equal(x.grad, [20_001])
    del y


def test_subclasses_are_refused() -> None:
    with pytest.raises(TypeError, match="cannot be subclassed"):
        type("Special", (Tensor,), {})
