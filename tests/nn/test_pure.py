"""A module as a pure function: arrays in and out, under every transform and on every engine."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import funcgrad as fg
from funcgrad import nn
from funcgrad.autograd import Tensor, no_grad, tensor
from funcgrad.errors import TracerAssignmentError

X = np.random.default_rng(0).normal(size=(5, 1, 4, 4))


def network() -> nn.Module:
    nn.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 3, 3, padding=1),
        nn.BatchNorm2d(3),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Dropout(0.4),
        nn.Linear(12, 4),
        nn.LayerNorm(4),
    ).double()


def arrays(named: Any) -> dict[str, np.ndarray]:
    return {name: np.array(x.detach().numpy()) for name, x in named}


def loss_of(model: nn.Module) -> Any:
    def loss(parameters: Any, buffers: Any, x: Any, key: Any) -> Any:
        y, after = nn.functional_call(model, (parameters, buffers), (x,), key=key, return_buffers=True)
        return np.mean(y * np.cos(np.arange(4)) * y), after

    return loss


@pytest.mark.parametrize("engine", ["numpy", "numba", "xla"])
def test_gradients_and_buffers_of_a_compiled_step(engine: str) -> None:
    model, key = network(), fg.random.key(3)
    parameters, buffers = arrays(model.named_parameters()), arrays(model.named_buffers())
    step = fg.grad(loss_of(model), has_aux=True)
    expected = step(parameters, buffers, X, key)
    with jax.enable_x64(True):
        found = fg.jit(step, engine=engine)(parameters, buffers, X, key)
        for ours, theirs in zip(found, expected, strict=True):
            assert set(ours) == set(theirs)
            for name in ours:
                np.testing.assert_allclose(np.asarray(ours[name]), theirs[name], rtol=1e-12, atol=1e-14)
    # The module, and the arrays that were passed, are as they were.
    assert not arrays(model.named_buffers())["1.running_mean"].any()
    assert not buffers["1.running_mean"].any()
    assert int(expected[1]["1.num_batches_tracked"]) == 1


LAYERS = {
    "lstm": (lambda: nn.LSTM(3, 4, 2, dropout=0.3, bidirectional=True), [(5, 2, 3)]),
    "gru": (lambda: nn.GRU(3, 4, batch_first=True), [(2, 5, 3)]),
    "encoder": (lambda: nn.TransformerEncoderLayer(4, 2, 5, dropout=0.2), [(3, 2, 4)]),
    "transformer": (lambda: nn.Transformer(4, 2, 1, 1, 5, 0.1, batch_first=True), [(2, 5, 4), (2, 3, 4)]),
    "group norm": (
        lambda: nn.Sequential(nn.Conv1d(2, 4, 3, padding="same"), nn.GroupNorm(2, 4), nn.GELU()),
        [(2, 2, 5)],
    ),
    "pools": (lambda: nn.Sequential(nn.AdaptiveAvgPool1d(4), nn.MaxPool1d(2), nn.Upsample(5)), [(2, 2, 7)]),
    "adaptive maxima": (lambda: nn.Sequential(nn.Conv2d(1, 2, 2), nn.AdaptiveMaxPool2d(2)), [(2, 1, 6, 6)]),
    "maxima with positions": (lambda: nn.Sequential(nn.Linear(6, 6), nn.MaxPool1d(2, return_indices=True)), [(2, 6)]),
    "slopes": (lambda: nn.Sequential(nn.Linear(4, 3), nn.RMSNorm(3), nn.AlphaDropout(0.3), nn.PReLU()), [(2, 4)]),
    "instance norm": (lambda: nn.InstanceNorm1d(2, affine=True, track_running_stats=True), [(3, 2, 5)]),
}


@pytest.mark.parametrize("engine", ["numpy", "numba", "xla"])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_on_each_engine(name: str, engine: str) -> None:
    """Output, buffers and gradients of a compiled call with a key are those of the eager call with this key."""
    make, shapes = LAYERS[name]
    nn.manual_seed(0)
    module, key = make().double(), fg.random.key(5)
    inputs = [np.random.default_rng(i).normal(size=shape) for i, shape in enumerate(shapes)]
    parameters, buffers = arrays(module.named_parameters()), arrays(module.named_buffers())

    def loss(parameters: Any, inputs: Any, buffers: Any, key: Any) -> Any:
        y, after = nn.functional_call(module, (parameters, buffers), tuple(inputs), key=key, return_buffers=True)
        return sum(np.sum(np.cos(z) * z) for z in fg.tree.leaves(y)), after

    step = fg.value_and_grad(loss, argnums=(0, 1), has_aux=True)
    expected = step(parameters, inputs, buffers, key)
    with jax.enable_x64(True):
        found = fg.jit(step, engine=engine)(parameters, inputs, buffers, key)
        assert fg.tree.structure(found) == fg.tree.structure(expected)
        for ours, theirs in zip(fg.tree.leaves(found), fg.tree.leaves(expected), strict=True):
            np.testing.assert_allclose(np.asarray(ours), theirs, rtol=1e-9, atol=1e-11)


def test_the_result_is_that_of_tensors() -> None:
    model = network().eval()
    values = {**arrays(model.named_parameters()), **arrays(model.named_buffers())}
    y = model(tensor(X))
    (y * y).sum().backward()
    gradients = fg.grad(lambda p: np.sum(nn.functional_call(model, {**values, **p}, (X,)) ** 2))(
        arrays(model.named_parameters())
    )
    for name, p in model.named_parameters():
        np.testing.assert_allclose(gradients[name], p.grad.numpy(), rtol=1e-10, atol=1e-12)


def test_one_gradient_for_each_sample() -> None:
    model = network().eval()
    parameters, buffers = arrays(model.named_parameters()), arrays(model.named_buffers())

    def loss(p: Any, x: Any) -> Any:
        return np.sum(nn.functional_call(model, (p, buffers), (x[None],)) ** 2)

    found = fg.vmap(fg.grad(loss), in_axes=(None, 0))(parameters, X)
    for i in range(len(X)):
        one = fg.grad(loss)(parameters, X[i])
        for name in one:
            np.testing.assert_allclose(found[name][i], one[name], rtol=1e-10, atol=1e-12)


def test_each_row_has_its_own_key() -> None:
    layer, keys = nn.Dropout(0.5), fg.random.split(fg.random.key(0), 20)
    found = fg.vmap(lambda x, key: nn.functional_call(layer, {}, (x,), key=key))(np.ones((20, 30)), keys)
    assert set(np.unique(found)) == {0, 2}
    assert len({row.tobytes() for row in found}) == 20
    again = [nn.functional_call(layer, {}, (np.ones(30),), key=key) for key in keys]
    np.testing.assert_array_equal(found, again)


def test_what_would_be_lost_is_refused() -> None:
    model = network()
    parameters, buffers = arrays(model.named_parameters()), arrays(model.named_buffers())
    before = arrays(model.named_buffers())
    with pytest.raises(TracerAssignmentError, match="BatchNorm2d: training updates the buffer running_mean under a"):
        fg.jit(lambda p: nn.functional_call(model, p, (X,)), engine="numpy")(parameters)
    with pytest.raises(RuntimeError, match="which is an array in this pure call, and the new value would be lost"):
        nn.functional_call(model, (parameters, buffers), (X,))
    with pytest.raises(RuntimeError, match="dropout: random numbers were asked for under jit without a key"):
        fg.jit(lambda p: nn.functional_call(model, p, (X,), return_buffers=True), engine="numpy")((parameters, buffers))
    with pytest.raises(RuntimeError, match="dropout: random numbers were asked for under vmap without a key"):
        fg.vmap(nn.functional.dropout)(np.ones((2, 3)))
    for name, value in arrays(model.named_buffers()).items():
        np.testing.assert_array_equal(value, before[name])
    assert all(isinstance(p, nn.Parameter) for p in model.parameters())


def test_tensors_as_values() -> None:
    """As in PyTorch, a buffer that is a tensor is written to, and gradients reach the values."""
    model = nn.BatchNorm1d(2).double()
    values = {name: x.detach().clone() for name, x in model.state_dict().items()}
    values["weight"].requires_grad_()
    nn.functional_call(model, values, tensor(np.array([[1.0, 2.0], [3.0, 5.0]]))).sum().backward()
    np.testing.assert_allclose(values["running_mean"], [0.2, 0.35])
    assert values["weight"].grad is not None
    assert model.weight.grad is None
    assert int(values["num_batches_tracked"]) == 1
    assert int(model.num_batches_tracked) == 0


def test_shared_parameters_get_one_value() -> None:
    class Tied(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Linear(2, 2, bias=False)
            self.b = nn.Linear(2, 2, bias=False)
            self.b.weight = self.a.weight

        def forward(self, x: Any) -> Any:
            return self.b(self.a(x))

    model, x, w = Tied(), np.ones((1, 2)), 2 * np.eye(2)
    np.testing.assert_array_equal(nn.functional_call(model, {"a.weight": w}, (x,)), 4 * x)
    with pytest.raises(ValueError, match=r"functional_call got multiple values for keys \['a.weight', 'b.weight'\]"):
        nn.functional_call(model, {"a.weight": w, "b.weight": w + 1}, (x,))
    y = nn.functional_call(model, {"a.weight": w, "b.weight": w + 1}, (x,), tie_weights=False)
    np.testing.assert_array_equal(y, x @ w @ (w + 1).T)


def test_bad_names_and_kinds() -> None:
    model, x = nn.Linear(2, 1), np.ones((1, 2))
    with pytest.raises(RuntimeError, match=r"Unexpected key\(s\): 'c'.\n\tMissing key\(s\): 'bias'"):
        nn.functional_call(model, {"weight": np.ones((1, 2)), "c": x}, (x,), strict=True)
    with pytest.raises(ValueError, match="Expected parameter_and_buffer_dicts to be a dict"):
        nn.functional_call(model, 3, (x,))
    with pytest.raises(ValueError, match=r"\['weight'\] appeared in multiple dictionaries"):
        nn.functional_call(model, ({"weight": x}, {"weight": x}), (x,))
    with pytest.raises(TypeError, match=r"needed an nn.Module"):
        nn.functional_call(np.sin, {}, (x,))  # pyright: ignore[reportArgumentType]  (what is refused)


def test_a_module_trains_in_one_compiled_step() -> None:
    """AdamW on tensors and the compiled pure step take the same path."""
    nn.manual_seed(1)
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1)).double()
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(16, 3)), rng.normal(size=(16, 1))
    parameters = arrays(model.named_parameters())
    state = fg.optim.adamw_init(parameters, lr=0.01)

    def step(parameters: Any, state: Any) -> Any:
        gradients = fg.grad(lambda p: nn.mse_loss(nn.functional_call(model, p, (x,)), y))(parameters)
        return fg.optim.adamw_update(gradients, state, parameters)

    compiled = fg.jit(step, engine="numpy")
    optimizer = fg.optim.AdamW(model.parameters(), lr=0.01)
    for _ in range(5):
        parameters, state = compiled(parameters, state)
        optimizer.zero_grad()
        nn.MSELoss()(model(tensor(x)), tensor(y)).backward()
        optimizer.step()
    for name, p in model.named_parameters():
        np.testing.assert_allclose(parameters[name], p.detach().numpy(), rtol=1e-10)


class Methods(nn.Module):
    """A module in PyTorch's own words."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 2, 3)
        self.act = nn.ReLU(inplace=True)
        self.out = nn.Linear(8, 3)
        self.register_buffer("scale", tensor(np.array([1.0, 2.0, 3.0])))

    def forward(self, x: Any) -> Any:
        stacked: Any = np.stack([self.act(self.conv(x))])
        y = stacked.squeeze(0).flatten(1)
        y = self.out(y.view(x.size(0), -1)).unsqueeze(1).mean(dim=1)
        with no_grad():
            largest = y.abs().sum(dim=1, keepdim=True)
        return (y * self.scale / largest).permute(1, 0).contiguous() + y.detach().sum()


@pytest.mark.parametrize("engine", ["numpy", "numba", "xla"])
def test_methods_of_tensors_in_a_pure_call(engine: str) -> None:
    nn.manual_seed(0)
    model = Methods().double()
    (model(tensor(X)) * tensor(np.arange(15.0).reshape(3, 5))).sum().backward()
    values = {**arrays(model.named_parameters()), **arrays(model.named_buffers())}

    def loss(parameters: Any, x: Any) -> Any:
        y = nn.functional_call(model, {**values, **parameters}, x)
        assert not isinstance(y, Tensor)
        return np.sum(y * np.arange(15.0).reshape(3, 5))

    step, parameters = fg.grad(loss), arrays(model.named_parameters())
    with jax.enable_x64(True):
        for found in (step(parameters, X), fg.jit(step, engine=engine)(parameters, X)):
            for name, p in model.named_parameters():
                np.testing.assert_allclose(np.asarray(found[name]), p.grad.numpy(), rtol=1e-10, atol=1e-12)
    assert type(nn.functional_call(model, values, X)) is np.ndarray


def test_a_write_into_a_traced_value() -> None:
    class Writes(nn.Module):
        def forward(self, x: Any) -> Any:
            y = x * 2
            y += x
            return y

    np.testing.assert_array_equal(nn.functional_call(Writes(), {}, np.ones(3)), [3, 3, 3])
    found = fg.grad(lambda x: np.sum(nn.functional_call(Writes(), {}, x)))(np.ones(3))
    np.testing.assert_array_equal(found, [3, 3, 3])
    found = fg.jit(lambda x: nn.functional_call(Writes(), {}, x), engine="numpy")(np.ones(3))
    np.testing.assert_array_equal(found, [3, 3, 3])


def test_what_detaches_ends_the_derivative() -> None:
    class Detached(nn.Module):
        def forward(self, x: Any) -> Any:
            with no_grad():
                a = x * 3
            return x.detach() * a * x.data * x

    x = np.array([2.0, 3.0])
    found = fg.grad(lambda x: np.sum(nn.functional_call(Detached(), {}, x)))(x)
    np.testing.assert_allclose(found, 3 * x**3)
