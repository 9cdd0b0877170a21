"""``torch.utils.data.DataLoader``: batches of a data set, read in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from funcgrad.autograd import tensor
from funcgrad.autograd.extend import TRACE, is_tensor
from funcgrad.torch._joined import stack
from funcgrad.torch.utils.data._samplers import BatchSampler, RandomSampler, SequentialSampler, drawn_seed
from funcgrad.torch.utils.data._sets import IterableDataset


def default_collate(batch: Sequence[Any]) -> Any:
    """``torch.utils.data.default_collate``: join elements to a batch, along a new first axis.

    Tensors, arrays and numbers are stacked; tuples, lists and dicts of them keep their form; texts stay in a list.
    """
    first = batch[0]
    if isinstance(first, str | bytes):
        return batch
    if isinstance(first, Mapping):
        return {key: default_collate([each[key] for each in batch]) for key in first}
    if isinstance(first, Sequence):
        if any(len(each) != len(first) for each in batch):
            raise RuntimeError("each element in list of batch should be of equal size")
        parts = [default_collate(part) for part in zip(*batch, strict=True)]
        made: Any = type(first)
        return made(*parts) if hasattr(first, "_fields") else parts
    return _stacked(batch)


def _stacked(batch: Sequence[Any]) -> Any:
    """Return tensors, arrays or numbers along a new first axis."""
    first = batch[0]
    if is_tensor(first):
        return stack(list(batch))
    if issubclass(type(first), np.ndarray | np.generic) and first.dtype.kind in "biufc":
        return TRACE.constant(np.stack([np.asarray(x) for x in batch]))
    if issubclass(type(first), float | int):
        return tensor(list(batch), dtype=np.float64 if issubclass(type(first), float) else None)
    raise TypeError(
        "default_collate: batch must contain tensors, numpy arrays, numbers, dicts or lists; found "
        f"{getattr(first, 'dtype', type(first))}"
    )


def default_convert(data: Any) -> Any:
    """``torch.utils.data.default_convert``: make tensors of the arrays in an element, and a list of a tuple."""
    if issubclass(type(data), np.ndarray | np.generic) and data.dtype.kind not in "SUO":
        return TRACE.constant(np.asarray(data))
    if isinstance(data, Mapping):
        return {key: default_convert(value) for key, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*[default_convert(each) for each in data])
    if isinstance(data, list | tuple):
        return [default_convert(each) for each in data]
    return data


class DataLoader:
    """``torch.utils.data.DataLoader``: batches of a data set.

    The arguments are PyTorch's. This process reads all data, for any ``num_workers``; the order of a
    shuffled data set is PyTorch's for the same seed.

    Args:
        dataset: a `Dataset`, an `IterableDataset`, or a sequence.
        batch_size: elements in a batch; ``None`` for elements without batches.
        shuffle: read in random order.
        sampler: the order of the positions.
        batch_sampler: lists of positions, one for each batch.
        num_workers: a number of processes, of which none is started.
        collate_fn: makes a batch of a list of elements.
        pin_memory: accepted; there is one memory.
        drop_last: leave out a last batch that is shorter.
        timeout: seconds that a process may take, 0 or more.
        worker_init_fn: accepted, and not called.
        multiprocessing_context: accepted if ``num_workers`` is above 0.
        generator: the source of random numbers.
        prefetch_factor: accepted if ``num_workers`` is above 0.
        persistent_workers: accepted if ``num_workers`` is above 0.
        pin_memory_device: accepted.
        in_order: accepted.

    Raises:
        ValueError: arguments exclude each other, or a number is negative.

    Example:
        >>> import funcgrad.torch as torch
        >>> from funcgrad.torch.utils.data import DataLoader, TensorDataset
        >>> loader = DataLoader(TensorDataset(torch.arange(5)), batch_size=2)
        >>> [batch for (batch,) in loader]
        [tensor([0, 1]), tensor([2, 3]), tensor([4])]
    """

    def __init__(  # noqa: PLR0913, PLR0917  (PyTorch's signature)
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[list[Any]], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        del pin_memory_device, in_order
        if multiprocessing_context is not None and not num_workers:
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
                f"num_workers={num_workers}"
            )
        _check_numbers(num_workers, timeout, prefetch_factor, persistent_workers)
        self.dataset, self.num_workers, self.timeout = dataset, num_workers, timeout
        self.pin_memory, self.worker_init_fn, self.generator = pin_memory, worker_init_fn, generator
        self.prefetch_factor, self.persistent_workers = prefetch_factor, persistent_workers
        self.sampler: Any
        self.batch_sampler: Any
        self._is_iterable = isinstance(dataset, IterableDataset)
        if self._is_iterable:
            _check_iterable(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None and not self._is_iterable:
            sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            # The sampler of an iterable data set gives no positions, but the batch size is checked.
            positions: Any = [] if self._is_iterable else sampler
            batch_sampler = BatchSampler(positions, batch_size, drop_last)
        self.batch_size, self.drop_last, self.sampler, self.batch_sampler = (
            batch_size,
            drop_last,
            sampler,
            batch_sampler,
        )
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)

    def __iter__(self) -> Iterator[Any]:
        # PyTorch draws a seed for its processes, so later random numbers agree.
        drawn_seed(self.generator)
        return self._from_iterable() if self._is_iterable else self._by_position()

    def _by_position(self) -> Iterator[Any]:
        if self.batch_sampler is None:
            for position in self.sampler:
                yield self.collate_fn(self.dataset[position])
            return
        many = getattr(self.dataset, "__getitems__", None)
        for positions in self.batch_sampler:
            yield self.collate_fn(many(positions) if many else [self.dataset[i] for i in positions])

    def _from_iterable(self) -> Iterator[Any]:
        if self.batch_size is None:
            yield from map(self.collate_fn, self.dataset)
            return
        batch = []
        for each in self.dataset:
            batch.append(each)
            if len(batch) == self.batch_size:
                yield self.collate_fn(batch)
                batch = []
        if batch and not self.drop_last:
            yield self.collate_fn(batch)

    def __len__(self) -> int:
        if self._is_iterable:
            count = len(self.dataset)
            if self.batch_size is None:
                return count
            return count // self.batch_size if self.drop_last else -(-count // self.batch_size)
        return len(self.sampler if self.batch_sampler is None else self.batch_sampler)


def _check_numbers(num_workers: int, timeout: float, prefetch_factor: int | None, persistent: bool) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if not num_workers and prefetch_factor is not None:
        raise ValueError(
            "prefetch_factor option could only be specified in multiprocessing.let num_workers > 0 to enable "
            "multiprocessing, otherwise set prefetch_factor to None."
        )
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    if persistent and not num_workers:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_iterable(shuffle: bool | None, sampler: Any, batch_sampler: Any) -> None:
    for name, given in (("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)):
        if given is not None:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={given}"
            )


def get_worker_info() -> None:
    """``torch.utils.data.get_worker_info``: return ``None``, because data are read in the main process."""
    return
