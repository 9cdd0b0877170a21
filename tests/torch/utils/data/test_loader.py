"""Loaders refuse what PyTorch's refuse, with the same class and the same text."""

from __future__ import annotations

from typing import Any

import pytest

import funcgrad.torch
from tests._recorded import PyTorch

REFUSED = """
d.DataLoader([1], batch_size=0)
d.DataLoader([1], batch_size=-1)
d.DataLoader([1], num_workers=-1)
d.DataLoader([1], timeout=-1)
d.DataLoader([1], shuffle=True, sampler=[0])
d.DataLoader([1], batch_sampler=[[0]], batch_size=2)
d.DataLoader([1], batch_sampler=[[0]], drop_last=True)
d.DataLoader([1], batch_size=None, drop_last=True)
d.DataLoader([1], prefetch_factor=2)
d.DataLoader([1], persistent_workers=True)
d.DataLoader([], shuffle=True)
d.DataLoader(d.ChainDataset([[1]]), shuffle=True)
d.DataLoader(d.ChainDataset([[1]]), sampler=[0])
d.RandomSampler([1], num_samples=0)
d.RandomSampler([1], replacement=1)
d.BatchSampler([1], 0, False)
d.BatchSampler([1], 1, 2)
d.WeightedRandomSampler([1.0], 0)
d.WeightedRandomSampler([[1.0]], 1)
d.random_split([1, 2], [1])
d.random_split([1, 2], [1.5, -0.5])
d.TensorDataset(torch.zeros(2), torch.zeros(3))
d.ConcatDataset([])
d.ConcatDataset([[1, 2]])[-3]
d.StackDataset([1], [1, 2])
d.default_collate([object()])
d.default_collate([[1], [1, 2]])
next(iter(d.DataLoader(d.Dataset(), batch_size=None, sampler=[0])))
""".strip().splitlines()


def refusal(torch: Any, text: str) -> list[str]:
    try:
        eval(text, {"torch": torch, "d": torch.utils.data})
    except Exception as error:  # noqa: BLE001  (the class is compared)
        return [type(error).__name__, str(error).split("<")[0]]
    return ["accepted", ""]


@pytest.mark.parametrize("text", REFUSED)
def test_refusals(text: str, pytorch: PyTorch) -> None:
    theirs = pytorch(lambda torch: refusal(torch, text))
    ours = refusal(funcgrad.torch, text)
    assert ours[0] == theirs[0]
    assert ours[1][:40] == theirs[1][:40]


def test_the_length_and_the_last_batch() -> None:
    d = funcgrad.torch.utils.data
    assert [len(b) for b in d.DataLoader(range(5), batch_size=2)] == [2, 2, 1]
    assert [len(b) for b in d.DataLoader(range(5), batch_size=2, drop_last=True)] == [2, 2]
    assert len(d.DataLoader(range(5), batch_size=2)) == 3
    assert list(d.DataLoader(range(3), batch_size=None)) == [0, 1, 2]
    assert [b.tolist() for b in d.DataLoader(range(4), batch_sampler=[[3, 0], [1]])] == [[3, 0], [1]]


def test_an_iterable_data_set() -> None:
    d = funcgrad.torch.utils.data

    class Counted(d.IterableDataset):
        def __iter__(self) -> Any:
            return iter(range(5))

    assert [b.tolist() for b in d.DataLoader(Counted(), batch_size=2)] == [[0, 1], [2, 3], [4]]
    assert [b.tolist() for b in d.DataLoader(Counted() + Counted(), batch_size=4, drop_last=True)] == [
        [0, 1, 2, 3],
        [4, 0, 1, 2],
    ]


def test_an_item_function_of_many() -> None:
    d = funcgrad.torch.utils.data

    class Many(d.Dataset):
        def __len__(self) -> int:
            return 3

        def __getitems__(self, positions: list[int]) -> list[int]:
            return [10 * i for i in positions]

    assert [b.tolist() for b in d.DataLoader(Many(), batch_size=2)] == [[0, 10], [20]]
