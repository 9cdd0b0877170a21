"""Arguments that do not fit: PyTorch's classes of errors and its words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcgrad.torch
from tests._recorded import PyTorch

CALLS = [
    "torch.zeros(2) + torch.zeros(3)",
    "torch.zeros(2, 3) * torch.zeros(4, 5)",
    "torch.maximum(torch.zeros(2), torch.zeros(3))",
    "torch.zeros(2).add_(torch.zeros(3))",
    "torch.where(torch.zeros(2) > 0, torch.zeros(3), torch.zeros(2))",
    "torch.zeros(2).reshape(3)",
    "torch.zeros(2, 3).view(4, -1)",
    "torch.zeros(2, 3) @ torch.zeros(2, 3)",
    "torch.zeros(5, 2, 3) @ torch.zeros(2, 3)",
    "torch.zeros(2, 3) @ torch.zeros(4)",
    "torch.zeros(3) @ torch.zeros(4)",
    "torch.mm(torch.zeros(2, 3), torch.zeros(2, 3))",
    "torch.bmm(torch.zeros(1, 2, 3), torch.zeros(1, 2, 3))",
    "torch.zeros(2, 3).sum(dim=2)",
    "torch.zeros(2, 3).transpose(0, 2)",
    "torch.zeros(2, 3).squeeze(5)",
    "torch.zeros(2, 3)[2]",
    "torch.zeros(2, 3)[0, 0, 0]",
    "torch.zeros(2, 3).unsqueeze(4)",
    "torch.zeros(2, 3).unsqueeze(-5)",
    "torch.zeros(2, 3).permute(0)",
    "torch.zeros(2, 3).permute(0, 0)",
    "torch.zeros(2, 3).permute(0, 3)",
    "torch.zeros(2, 3).expand(3, 3)",
    "torch.zeros(2, 3).expand(3)",
    "torch.zeros(2, 3).expand(-1, 2, 3)",
    'torch.einsum("ij,jk", torch.zeros(2, 3), torch.zeros(4, 5))',
    'torch.einsum("ijk", torch.zeros(2, 3))',
    'torch.einsum("ij,jk->il", torch.zeros(2, 3), torch.zeros(3, 2))',
    'torch.einsum("ij", torch.zeros(2, 3), torch.zeros(3))',
    'torch.einsum("ii", torch.zeros(2, 3))',
    'torch.einsum("ij,jk", torch.zeros(2, 3))',
    "torch.tensor([[1], [1, 2]])",
    "torch.tensor([[1, 2], 3])",
    'torch.tensor([1, "a"])',
    "torch.tensor([[1.0, 2.0], [3.0]])",
    "torch.cat([torch.zeros(2, 3), torch.zeros(2)])",
    "torch.cat([torch.zeros(2, 3), torch.zeros(2, 4)])",
    "torch.cat([torch.zeros(2, 3), torch.zeros(3, 3)], dim=1)",
    "torch.cat([torch.zeros(2, 3)], dim=2)",
    "torch.cat([])",
    "torch.cat(torch.zeros(2, 3))",
    "torch.stack([torch.zeros(2, 3), torch.zeros(2)])",
    "torch.stack([torch.zeros(2, 3)], dim=3)",
    "torch.stack([])",
    "torch.zeros(2, 3).view(5)",
    "torch.zeros(2, 3).view(-1, -1)",
    "torch.zeros(2, 3).view(-1, 4)",
    "torch.zeros(2, 3).reshape(7, -1)",
    "torch.zeros(2, 3).reshape(-1, 0)",
    "torch.zeros(2, 3).t().view(6)",
    "torch.zeros(2, 3).squeeze(2)",
    "torch.zeros(2, 3).chunk(0)",
    "torch.zeros(2, 3).split(-1)",
    "torch.zeros(2, 3).split([1, 2])",
    "torch.zeros(2, 3).narrow(1, 2, 3)",
    "torch.zeros(2, 3).index_select(0, torch.tensor([5]))",
    "torch.zeros(2, 3).gather(1, torch.tensor([[5]]))",
    "torch.zeros(2, 3).scatter(1, torch.tensor([[5]]), 1.0)",
    "torch.zeros(2, 3).unbind(2)",
    "torch.zeros(2, 3).argmax(dim=2)",
    "torch.zeros(2, 3).cumsum(2)",
    "torch.zeros(2, 3).softmax(dim=2)",
    "torch.zeros(2, 3).max(dim=3)",
    "torch.zeros(2, 3)[torch.tensor([7])]",
    'torch.full((2,), "a")',
    "torch.nn.Embedding(3, 2)(torch.tensor([5]))",
    "torch.nn.CrossEntropyLoss()(torch.zeros(2, 3), torch.tensor([0, 5]))",
    "torch.nn.CrossEntropyLoss()(torch.zeros(2, 3), torch.tensor([0]))",
    "torch.nn.functional.one_hot(torch.tensor([5]), 3)",
    "torch.utils.data.DataLoader([1], batch_size=0)",
    "torch.utils.data.DataLoader([1], batch_size=-1)",
    "torch.utils.data.DataLoader([1], batch_size=1.5)",
    "torch.utils.data.DataLoader([1], num_workers=-1)",
    "torch.utils.data.DataLoader([1], shuffle=True, sampler=torch.utils.data.SequentialSampler([1]))",
    "torch.utils.data.DataLoader([1], batch_sampler=[[0]], batch_size=2)",
    "torch.utils.data.DataLoader([1], batch_size=None, drop_last=True)",
    "torch.utils.data.DataLoader([1], timeout=-1)",
    "torch.utils.data.DataLoader([1], prefetch_factor=2)",
    "torch.utils.data.DataLoader([1], persistent_workers=True)",
    "torch.utils.data.DataLoader([])",
    "torch.utils.data.TensorDataset(torch.zeros(2), torch.zeros(3))",
    "torch.utils.data.random_split([1, 2], [1, 2])",
    "torch.utils.data.random_split([1, 2], [0.5, 0.6])",
    "torch.utils.data.RandomSampler([1], num_samples=0)",
    "torch.utils.data.WeightedRandomSampler([1.0], 0)",
    "torch.utils.data.BatchSampler([0], 0, False)",
    "torch.utils.data.default_collate([torch.zeros(2), torch.zeros(3)])",
    "torch.utils.data.default_collate([[1, 2], [1]])",
    "torch.utils.data.default_collate([object()])",
    "torch.utils.data.ConcatDataset([])",
    'torch.nn.Linear(2, 1).load_state_dict({"weight": torch.zeros(1, 3), "nope": torch.zeros(1)})',
    "torch.nn.Linear(2, 1).load_state_dict([1])",
    "torch.nn.Sequential(torch.nn.Linear(2, 1)).load_state_dict({})",
    "torch.nn.Linear(2, 1).to(torch.int32)",
    "torch.tensor([1, 2], requires_grad=True)",
    "torch.multinomial(torch.tensor([1.0, -1.0]), 1)",
    "torch.multinomial(torch.tensor([1.0, 1.0]), 3)",
    "torch.normal(0.0, -1.0, (2,))",
    "torch.bincount(torch.tensor([-1]))",
    "torch.zeros(2, 3).diagonal(0, 0, 0)",
    "torch.zeros(2, 3).roll(1, 5)",
    "torch.zeros(2, 3).flip(4)",
    "torch.nn.functional.nll_loss(torch.zeros(2, 3), torch.tensor([0, 3]))",
    "-torch.tensor([True])",
    "torch.neg(torch.tensor([True]))",
    "torch.tensor([True]).neg_()",
    "torch.tensor([True]) - torch.tensor([False])",
    "torch.tensor([True]) - True",
    "True - torch.tensor(True)",
    "torch.tensor([True]).sub_(torch.tensor([True]))",
    "torch.rsub(torch.tensor([True]), torch.tensor([True]))",
]


def refusal(torch: Any, call: str, requires_grad: bool) -> list[str]:
    """Return class and first line of the error of a call, with or without tensors that require gradients."""
    text = call.replace("torch.zeros(2, 3)", "torch.zeros(2, 3, requires_grad=True)", 1) if requires_grad else call
    try:
        eval(text, {"torch": torch})
    except Exception as error:  # noqa: BLE001  (the class is compared)
        return [type(error).__name__, str(error).splitlines()[0]]
    return []


@pytest.mark.parametrize("call", CALLS)
def test_words_of_pytorch(call: str, pytorch: PyTorch) -> None:
    def both(torch: Any) -> list[list[str]]:
        return [refusal(torch, call, requires_grad) for requires_grad in (False, True)]

    assert both(funcgrad.torch) == pytorch(both)


# Calls of modules and functions of ``nn`` with arguments of wrong dtypes, shapes, axes and sizes.
MISUSE = Path(__file__).with_name("misuse.txt").read_text().splitlines()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("call", MISUSE)
def test_misuse_of_modules(call: str, pytorch: PyTorch) -> None:
    """Class and text of the error are PyTorch's; a call that PyTorch accepts has PyTorch's shape and dtype."""
    assert outcome(funcgrad.torch, call) == pytorch(lambda torch: outcome(torch, call))


def outcome(torch: Any, call: str) -> list[str]:
    torch.manual_seed(0)
    names = {"torch": torch, "nn": torch.nn, "F": torch.nn.functional, "i": torch.tensor([1, 2])}
    try:
        y = eval(call, {**names, "f": lambda *shape: torch.ones(*shape) / 2})
    except Exception as error:  # noqa: BLE001  (the class is compared)
        return [type(error).__name__, str(error)]
    return [str(tuple(getattr(y, "shape", ()))), str(getattr(y, "dtype", "")).replace("torch.", "")]


def test_a_refused_state_changes_nothing() -> None:
    nn = funcgrad.torch.nn
    model = nn.Sequential(nn.Linear(2, 1), nn.Linear(1, 1))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state = {
        "0.weight": funcgrad.torch.ones(1, 2),
        "1.weight": funcgrad.torch.ones(3, 3),
        "other": funcgrad.torch.ones(1),
    }
    with pytest.raises(RuntimeError) as refused:
        model.load_state_dict(state)
    for part in ("Missing key(s)", '"0.bias", "1.bias"', 'Unexpected key(s) in state_dict: "other"', "size mismatch"):
        assert part in str(refused.value)
    assert all(np.array_equal(value.numpy(), before[name].numpy()) for name, value in model.state_dict().items())


def test_an_error_of_a_matrix_is_a_runtime_error() -> None:
    torch = funcgrad.torch
    with pytest.raises(RuntimeError, match=r"linalg\.cholesky"):
        torch.linalg.cholesky(-torch.eye(2))
    assert issubclass(torch.linalg.LinAlgError, RuntimeError)


def test_errors_of_others_stay() -> None:
    def raises(*_: Any) -> Any:
        raise ValueError("operands could not be found")

    x = funcgrad.torch.zeros(2, requires_grad=True)
    x.register_hook(raises)
    with pytest.raises(ValueError, match="could not be found"):
        (x * 2).sum().backward()
