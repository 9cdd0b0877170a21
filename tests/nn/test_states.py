"""States, hooks, copies and pickles of modules; what a refused state leaves behind."""

from __future__ import annotations

import copy
import pickle
from collections import OrderedDict
from typing import Any

import numpy as np
import pytest

from funcgrad import nn
from funcgrad.autograd import no_grad, tensor
from tests._recorded import PyTorch
from tests.nn._compared import Library, numbers, plain


def model_of(library: Any) -> Any:
    return library.nn.Sequential(
        library.nn.Linear(3, 2), library.nn.BatchNorm1d(2), library.nn.Linear(2, 1, bias=False)
    )


def values(module: nn.Module) -> dict[str, np.ndarray]:
    return {name: np.array(x.detach().numpy()) for name, x in module.state_dict().items()}


BAD_STATES: dict[str, dict[str, Any]] = {
    "all kinds": {"0.weight": np.ones((2, 2)), "0.bias": None, "1.running_mean": np.ones(3), "extra": np.ones(1)},
    "no number of batches": {"1.num_batches_tracked": None},
    "a list": {"0.bias": [1.0, 2.0]},
    "another rank": {"2.weight": np.ones(2)},
}


def loading(library: Library, name: str) -> str:
    """Return the error of a state that differs from the module's own, or the result."""
    module = model_of(library)
    state = {key: library.tensor(np.ones(tuple(x.shape))) for key, x in module.state_dict().items()}
    for key, value in BAD_STATES[name].items():
        if value is None:
            del state[key]
        else:
            state[key] = value if isinstance(value, list) else library.tensor(value)
    try:
        return str(module.load_state_dict(state))
    except RuntimeError as error:
        return str(error).replace("torch.", "")


@pytest.mark.parametrize("name", BAD_STATES)
def test_all_that_does_not_fit_is_listed(name: str, pytorch: PyTorch) -> None:
    assert loading(Library(), name) == pytorch(lambda torch: loading(Library(torch), name))


@pytest.mark.parametrize("name", [name for name in BAD_STATES if name != "no number of batches"])
@pytest.mark.parametrize("assign", [False, True])
def test_a_refused_state_changes_nothing(name: str, assign: bool) -> None:
    module = model_of(Library())
    before, tensors = values(module), dict(module.named_parameters())
    state: dict[str, Any] = {key: tensor(7 + x) for key, x in before.items()}
    for key, value in BAD_STATES[name].items():
        if value is None:
            del state[key]
        else:
            state[key] = value
    with pytest.raises(RuntimeError, match="loading state_dict for Sequential"):
        module.load_state_dict(state, assign=assign)
    for key, value in values(module).items():
        np.testing.assert_array_equal(value, before[key])
    assert all(p is tensors[key] for key, p in module.named_parameters())


def test_assigned_states_share_memory() -> None:
    layer, state = nn.Linear(2, 1), {"weight": tensor(np.ones((1, 2))), "bias": tensor(np.zeros(1))}
    layer.load_state_dict(state, assign=True)
    assert layer.weight.dtype == np.float64
    assert [name for name, _ in layer.named_parameters()] == ["weight", "bias"]
    state["weight"].fill_(3)
    np.testing.assert_array_equal(layer.weight.detach(), [[3, 3]])


def test_buffers_that_are_not_saved() -> None:
    module = nn.Module()
    module.register_buffer("kept", tensor([1.0]))
    module.register_buffer("left", tensor([2.0]), persistent=False)
    module.marked = nn.Buffer(tensor([3.0]), persistent=False)
    assert list(module.state_dict()) == ["kept"]
    assert [name for name, _ in module.named_buffers()] == ["kept", "left", "marked"]
    assert module.load_state_dict({"kept": np.zeros(1)}) == ([], [])
    module.register_buffer("left", tensor([2.0]))
    assert list(module.state_dict()) == ["kept", "left"]
    del module.kept
    assert list(module.state_dict()) == ["left"]


def test_state_dict_options() -> None:
    layer, held = nn.Linear(2, 1), OrderedDict()
    assert layer.state_dict(destination=held, prefix="a.", keep_vars=True) is held
    assert held["a.weight"] is layer.weight


def test_pytorchs_states_load(torch: Any) -> None:
    theirs, ours = model_of(Library(torch)), model_of(Library())
    theirs(torch.randn(5, 3))
    assert ours.load_state_dict(theirs.state_dict()) == ([], [])
    x = numbers(4, 3).astype(np.float32)
    found = ours.eval()(tensor(x)).detach().numpy()
    np.testing.assert_allclose(found, theirs.eval()(torch.tensor(x)).detach().numpy(), rtol=1e-5, atol=1e-6)
    state = theirs.state_dict()
    del state["1.num_batches_tracked"]
    with pytest.raises(RuntimeError, match="Missing key"):
        ours.load_state_dict(state)


def test_copies_and_pickles_are_apart() -> None:
    module = nn.Sequential(nn.Linear(3, 2), nn.LSTM(2, 2), nn.MultiheadAttention(2, 1))
    for made in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert repr(made) == repr(module)
        for (name, p), (other, q) in zip(module.named_parameters(), made.named_parameters(), strict=True):
            assert name == other
            assert p is not q
            np.testing.assert_array_equal(p.detach(), q.detach())
        with no_grad():
            made[0].weight.fill_(5)
        assert not (module[0].weight == 5).any()


def recorded_hooks(library: Library) -> list[Any]:
    """Register hooks of every kind, and return what they get."""
    module, seen = library.nn.Linear(2, 2).double(), []
    module.load_state_dict({"weight": library.tensor(numbers(2, 2)), "bias": library.tensor(numbers(2))})
    handles = [
        module.register_forward_pre_hook(lambda m, args: seen.append(["pre", plain(args[0])])),
        module.register_forward_pre_hook(lambda m, args, kwargs: (args, kwargs), with_kwargs=True),
        module.register_forward_pre_hook(lambda m, args: args[0] * 2, prepend=True),
        module.register_forward_hook(lambda m, args, y: seen.append(["post", plain(args[0]), plain(y)])),
        module.register_forward_hook(lambda m, args, kwargs, y: y + 1, with_kwargs=True),
        module.register_full_backward_pre_hook(lambda m, g: (g[0] * 3,)),
        module.register_full_backward_hook(lambda m, g, h: seen.append(["back", plain(g[0]), plain(h[0])])),
        module.register_full_backward_hook(lambda m, g, h: (g[0] * 10,)),
    ]
    x = library.tensor(numbers(3, 2, seed=4), requires_grad=True)
    (module(x) ** 2).sum().backward()
    seen.append([plain(x.grad), plain(module.weight.grad)])
    for handle in handles:
        handle.remove()
    seen.append(plain(module(x)))
    # Without a gradient by the input.
    module.register_full_backward_hook(lambda m, g, h: seen.append([g[0] is None, plain(h[0])]))
    module(x.detach()).sum().backward()
    return seen


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
def test_hooks_get_what_pytorchs_get(pytorch: PyTorch) -> None:
    found, expected = recorded_hooks(Library()), pytorch(lambda torch: recorded_hooks(Library(torch)))
    assert [row[0] for row in found if isinstance(row[0], str)] == ["pre", "post", "back"]
    for ours, theirs in zip(found, expected, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            if isinstance(b, np.ndarray):
                np.testing.assert_allclose(a, b, rtol=1e-12)
            else:
                assert a == b


def test_a_hook_that_is_always_called() -> None:
    module, seen = nn.Linear(2, 2), []
    module.register_forward_hook(lambda m, args, y: seen.append(y), always_call=True)
    with pytest.raises(RuntimeError, match="mat1 and mat2"):
        module(tensor(np.ones((1, 3), np.float32)))
    assert seen == [None]
    broken = nn.Identity()
    broken.register_forward_pre_hook(lambda m, args, kwargs: 3, with_kwargs=True)
    with pytest.raises(RuntimeError, match="forward pre-hook must return None or a tuple"):
        broken(1)


def test_names_with_duplicates() -> None:
    layer = nn.Linear(1, 1)
    model = nn.Sequential(layer, layer)
    assert [name for name, _ in model.named_modules(remove_duplicate=False)] == ["", "0", "1"]
    assert len(list(model.named_parameters(remove_duplicate=False))) == 4
    assert len(list(model.children())) == 1
    assert list(model.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert model.get_submodule("1") is layer
    assert model.get_parameter("1.weight") is layer.weight
    assert "weight" in dir(layer)


def test_dtypes_of_modules() -> None:
    module = nn.BatchNorm1d(2)
    assert {str(x.dtype) for x in module.half().parameters()} == {"float16"}
    assert {str(x.dtype) for x in module.bfloat16().buffers()} == {"bfloat16", "int64"}
    assert {str(x.dtype) for x in module.to("cpu", np.float64).parameters()} == {"float64"}
    assert module.cpu() is module
    assert nn.Linear(2, 2, device="cpu", dtype=np.float64).weight.dtype == np.float64
    with pytest.raises(RuntimeError, match="the device 'cuda' was asked for"):
        nn.Linear(2, 2, device="cuda")
    with pytest.raises(TypeError, match="needed a floating or complex"):
        nn.Linear(2, 2, dtype=np.int64)
