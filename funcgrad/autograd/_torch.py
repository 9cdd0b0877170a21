"""The values of PyTorch's tensors, given as arguments. PyTorch is used if it is loaded, and never imported."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np

from funcgrad._types import PyTree, Tensor

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


def is_torchs(x: Tensor) -> bool:
    """Return whether a value is a PyTorch tensor."""
    torch: Any = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def array_of(x: Tensor) -> np.ndarray:
    """Return a copy of the value of a PyTorch tensor on any device."""
    torch: Any = sys.modules["torch"]
    plain = x.detach().cpu().resolve_conj().resolve_neg()
    # NumPy has no bfloat16 of its own, so the bits are copied.
    is_short = plain.dtype is torch.bfloat16
    return np.array(plain.view(torch.int16).numpy().view(_BFLOAT16) if is_short else plain.numpy())


def converted(tree: PyTree) -> Any:
    """Replace the PyTorch tensors in dicts, lists and tuples by arrays.

    Return the argument itself if there are none.
    """
    if "torch" not in sys.modules:
        return tree
    if is_torchs(tree):
        return array_of(tree)
    if isinstance(tree, Mapping):
        return {key: converted(value) for key, value in tree.items()}
    return type(tree)([converted(value) for value in tree]) if type(tree) in (list, tuple) else tree
