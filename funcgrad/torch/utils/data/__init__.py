"""``torch.utils.data``: data sets, samplers, and loaders that read in this process."""

from typing import Any as _Any

from funcgrad._public import publish as _publish
from funcgrad.torch import _names
from funcgrad.torch.utils.data._loader import DataLoader as DataLoader
from funcgrad.torch.utils.data._loader import default_collate as default_collate
from funcgrad.torch.utils.data._loader import default_convert as default_convert
from funcgrad.torch.utils.data._loader import get_worker_info as get_worker_info
from funcgrad.torch.utils.data._samplers import BatchSampler as BatchSampler
from funcgrad.torch.utils.data._samplers import DistributedSampler as DistributedSampler
from funcgrad.torch.utils.data._samplers import RandomSampler as RandomSampler
from funcgrad.torch.utils.data._samplers import Sampler as Sampler
from funcgrad.torch.utils.data._samplers import SequentialSampler as SequentialSampler
from funcgrad.torch.utils.data._samplers import SubsetRandomSampler as SubsetRandomSampler
from funcgrad.torch.utils.data._samplers import WeightedRandomSampler as WeightedRandomSampler
from funcgrad.torch.utils.data._sets import ChainDataset as ChainDataset
from funcgrad.torch.utils.data._sets import ConcatDataset as ConcatDataset
from funcgrad.torch.utils.data._sets import Dataset as Dataset
from funcgrad.torch.utils.data._sets import IterableDataset as IterableDataset
from funcgrad.torch.utils.data._sets import StackDataset as StackDataset
from funcgrad.torch.utils.data._sets import Subset as Subset
from funcgrad.torch.utils.data._sets import TensorDataset as TensorDataset
from funcgrad.torch.utils.data._sets import random_split as random_split


def __getattr__(name: str) -> _Any:
    return _names.refuse("torch.utils.data", name, globals())


__dir__ = _publish(__name__)
