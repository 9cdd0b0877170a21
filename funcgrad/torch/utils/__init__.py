"""``torch.utils``: data sets and loaders, and checkpoints of activations."""

from funcgrad._public import publish as _publish
from funcgrad.torch.utils import checkpoint as checkpoint
from funcgrad.torch.utils import data as data

__dir__ = _publish(__name__)
