"""Samplers: the order in which a loader reads a data set."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np

from funcgrad.autograd.extend import TRACE, Generator, default_generator

T_co = TypeVar("T_co", covariant=True)


def drawn_seed(generator: Any = None) -> int:
    """Draw a seed, as PyTorch's loaders and samplers do."""
    return int((default_generator if generator is None else generator).long_words(1)[0] % np.uint64(2**63))


class Sampler(Generic[T_co]):
    """``torch.utils.data.Sampler``: positions in a data set. A subclass has ``__iter__``, and most have ``__len__``."""

    def __init__(self, data_source: Any = None) -> None:
        del data_source

    def __iter__(self) -> Iterator[T_co]:
        raise NotImplementedError("Subclasses of Sampler should implement __iter__.")


class SequentialSampler(Sampler[int]):
    """``torch.utils.data.SequentialSampler``: all positions in order."""

    def __init__(self, data_source: Any) -> None:
        super().__init__()
        self.data_source = data_source

    def __iter__(self) -> Iterator[int]:
        return iter(range(len(self.data_source)))

    def __len__(self) -> int:
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """``torch.utils.data.RandomSampler``: positions in random order, or drawn with replacement."""

    def __init__(
        self, data_source: Any, replacement: bool = False, num_samples: int | None = None, generator: Any = None
    ) -> None:
        super().__init__()
        if not isinstance(replacement, bool):
            raise TypeError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.data_source, self.replacement, self.generator = data_source, replacement, generator
        self._count = num_samples
        if not isinstance(self.num_samples, int) or self.num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={self.num_samples}")

    @property
    def num_samples(self) -> int:
        """The number of positions."""
        return len(self.data_source) if self._count is None else self._count

    def __iter__(self) -> Iterator[int]:
        source = self.generator if self.generator is not None else Generator().manual_seed(drawn_seed())
        n, count = len(self.data_source), self.num_samples
        if self.replacement:
            # PyTorch draws 32 positions at a time.
            for start in range(0, count, 32):
                yield from source.integers(0, n, (min(32, count - start),)).tolist()
            return
        for start in range(0, count, n):
            yield from source.permutation(n).tolist()[: count - start]

    def __len__(self) -> int:
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """``torch.utils.data.SubsetRandomSampler``: given positions in random order."""

    def __init__(self, indices: Sequence[int], generator: Any = None) -> None:
        super().__init__()
        self.indices, self.generator = indices, generator

    def __iter__(self) -> Iterator[int]:
        source = default_generator if self.generator is None else self.generator
        for i in source.permutation(len(self.indices)).tolist():
            yield self.indices[i]

    def __len__(self) -> int:
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """``torch.utils.data.WeightedRandomSampler``: positions drawn with probabilities."""

    def __init__(self, weights: Any, num_samples: int, replacement: bool = True, generator: Any = None) -> None:
        super().__init__()
        if not isinstance(num_samples, int) or isinstance(num_samples, bool) or num_samples <= 0:
            raise ValueError(f"num_samples should be a positive integer value, but got num_samples={num_samples}")
        if not isinstance(replacement, bool):
            raise ValueError(f"replacement should be a boolean value, but got replacement={replacement}")
        self.weights = TRACE.constant(np.asarray(weights, np.float64))
        if len(self.weights.shape) != 1:
            raise ValueError(
                f"weights should be a 1d sequence but given weights have shape {tuple(self.weights.shape)}"
            )
        self.num_samples, self.replacement, self.generator = num_samples, replacement, generator

    def __iter__(self) -> Iterator[int]:
        yield from self.weights.multinomial(self.num_samples, self.replacement, generator=self.generator).tolist()

    def __len__(self) -> int:
        return self.num_samples


class DistributedSampler(Sampler[int]):
    """``torch.utils.data.DistributedSampler``: the positions that one of several processes reads.

    Example:
        >>> import funcgrad.torch as torch
        >>> list(torch.utils.data.DistributedSampler([1, 2, 3], num_replicas=2, rank=1, shuffle=False))
        [1, 0]
    """

    def __init__(
        self,
        dataset: Any,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        super().__init__()
        if num_replicas is None or rank is None:
            raise ValueError(
                "Default process group has not been initialized, please make sure to call init_process_group."
            )
        if rank >= num_replicas or rank < 0:
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {num_replicas - 1}]")
        self.dataset, self.num_replicas, self.rank = dataset, num_replicas, rank
        self.shuffle, self.seed, self.drop_last, self.epoch = shuffle, seed, drop_last, 0
        count = len(dataset)
        self.num_samples = count // num_replicas if drop_last else -(-count // num_replicas)
        self.total_size = self.num_samples * num_replicas

    def __iter__(self) -> Iterator[int]:
        count = len(self.dataset)
        order = list(range(count))
        if self.shuffle:
            order = Generator().manual_seed(self.seed + self.epoch).permutation(count).tolist()
        order = list(itertools.islice(itertools.cycle(order), self.total_size))
        return iter(order[self.rank :: self.num_replicas])

    def __len__(self) -> int:
        return self.num_samples

    def set_epoch(self, epoch: int) -> None:
        """Set the number of the pass over the data, from which the next order is drawn."""
        self.epoch = epoch


class BatchSampler(Sampler[list[int]]):
    """``torch.utils.data.BatchSampler``: lists of positions, each of one length but for the last."""

    def __init__(self, sampler: Iterable[int], batch_size: int, drop_last: bool) -> None:
        super().__init__()
        if not isinstance(batch_size, int) or isinstance(batch_size, bool) or batch_size <= 0:
            raise ValueError(f"batch_size should be a positive integer value, but got batch_size={batch_size}")
        if not isinstance(drop_last, bool):
            raise ValueError(f"drop_last should be a boolean value, but got drop_last={drop_last}")
        self.sampler, self.batch_size, self.drop_last = sampler, batch_size, drop_last

    def __iter__(self) -> Iterator[list[int]]:
        positions = iter(self.sampler)
        while batch := list(itertools.islice(positions, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self) -> int:
        count = len(self.sampler)  # pyright: ignore[reportArgumentType]  (a sampler with a length)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
