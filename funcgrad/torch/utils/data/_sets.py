"""Data sets: elements by their number, or one after the other."""

from __future__ import annotations

import bisect
import itertools
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

from funcgrad.autograd.extend import default_generator

T_co = TypeVar("T_co", covariant=True)


class Dataset(Generic[T_co]):
    """``torch.utils.data.Dataset``: elements by their number.

    A subclass has ``__getitem__``, and most have ``__len__``.
    """

    def __getitem__(self, index: Any) -> T_co:
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")

    def __add__(self, other: Dataset[Any]) -> ConcatDataset:
        """Return both data sets, one after the other."""
        return ConcatDataset([self, other])


class IterableDataset(Dataset[T_co]):
    """``torch.utils.data.IterableDataset``: elements one after the other. A subclass has ``__iter__``."""

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError("Subclasses of IterableDataset should implement __iter__.")

    def __add__(self, other: Any) -> Any:
        return ChainDataset([self, other])


class TensorDataset(Dataset[tuple[Any, ...]]):
    """``torch.utils.data.TensorDataset``: the slices of tensors along their first axis.

    Args:
        tensors: tensors of one length.
    """

    def __init__(self, *tensors: Any) -> None:
        if not tensors or any(x.shape[0] != tensors[0].shape[0] for x in tensors):
            raise AssertionError("Size mismatch between tensors")
        self.tensors = tensors

    def __getitem__(self, index: Any) -> tuple[Any, ...]:
        return tuple([x[index] for x in self.tensors])

    def __len__(self) -> int:
        return self.tensors[0].shape[0]


class StackDataset(Dataset[Any]):
    """``torch.utils.data.StackDataset``: tuples, or dicts, of elements of several data sets."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if not args and not kwargs:
            raise ValueError("At least one dataset should be passed")
        if args and kwargs:
            raise ValueError(
                "Supported either ``tuple``- (via ``args``) or ``dict``- (via ``kwargs``) like input/output"
            )
        self.datasets: Any = kwargs or args
        lengths = {len(d) for d in (kwargs.values() if kwargs else args)}
        if len(lengths) != 1:
            raise ValueError("Size mismatch between datasets")
        (self._length,) = lengths

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.datasets, dict):
            return {name: each[index] for name, each in self.datasets.items()}
        return tuple([each[index] for each in self.datasets])

    def __len__(self) -> int:
        return self._length


class ConcatDataset(Dataset[Any]):
    """``torch.utils.data.ConcatDataset``: several data sets, one after the other."""

    def __init__(self, datasets: Iterable[Dataset[Any]]) -> None:
        self.datasets = list(datasets)
        if not self.datasets:
            raise AssertionError("datasets should not be an empty iterable")
        for each in self.datasets:
            if isinstance(each, IterableDataset):
                raise AssertionError("ConcatDataset does not support IterableDataset")
        self.cumulative_sizes = list(itertools.accumulate(len(each) for each in self.datasets))  # pyright: ignore[reportArgumentType]  (their subclasses have a length)

    def __len__(self) -> int:
        return self.cumulative_sizes[-1]

    def __getitem__(self, index: int) -> Any:
        if index < 0:
            if -index > len(self):
                raise ValueError("absolute value of index should not exceed dataset length")
            index += len(self)
        place = bisect.bisect_right(self.cumulative_sizes, index)
        return self.datasets[place][index - (self.cumulative_sizes[place - 1] if place else 0)]


class ChainDataset(IterableDataset[Any]):
    """``torch.utils.data.ChainDataset``: several iterable data sets, one after the other."""

    def __init__(self, datasets: Iterable[Any]) -> None:
        self.datasets = datasets

    def __iter__(self) -> Iterator[Any]:
        for each in self.datasets:
            yield from each

    def __len__(self) -> int:
        return sum(len(each) for each in self.datasets)


class Subset(Dataset[Any]):
    """``torch.utils.data.Subset``: the elements of a data set at some positions."""

    def __init__(self, dataset: Any, indices: Sequence[int]) -> None:
        self.dataset, self.indices = dataset, indices

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, list):
            return self.dataset[[self.indices[i] for i in index]]
        return self.dataset[self.indices[index]]

    def __len__(self) -> int:
        return len(self.indices)


def random_split(dataset: Any, lengths: Sequence[float], generator: Any = None) -> list[Subset]:
    """``torch.utils.data.random_split``: split a data set at random into parts of given lengths, or shares.

    Raises:
        ValueError: the lengths do not sum to that of the data set, or a share is outside of 0 and 1.
    """
    if math.isclose(sum(lengths), 1) and sum(lengths) <= 1:
        counts = []
        for i, share in enumerate(lengths):
            if not 0 <= share <= 1:
                raise ValueError(f"Fraction at index {i} is not between 0 and 1")
            counts.append(math.floor(len(dataset) * share))
        for i in range(len(dataset) - sum(counts)):
            counts[i % len(counts)] += 1
        for i, count in enumerate(counts):
            if not count:
                warnings.warn(
                    f"Length of split at index {i} is 0. This might result in an empty dataset.", stacklevel=2
                )
    else:
        counts = [int(n) for n in lengths]
    if sum(counts) != len(dataset):
        raise ValueError("Sum of input lengths does not equal the length of the input dataset!")
    order = (default_generator if generator is None else generator).permutation(sum(counts)).tolist()
    ends = list(itertools.accumulate(counts))
    return [Subset(dataset, order[end - count : end]) for end, count in zip(ends, counts, strict=True)]
