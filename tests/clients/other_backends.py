"""A plugin for pytest: pymanopt's tests import TensorFlow and PyTorch, whose part of them is not run.

Where one of them is not installed an empty module stands for it, with what a fixture calls to seed it.
"""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType, SimpleNamespace


def stand_in(name: str, **attributes: object) -> None:
    """Have ``import name`` give an empty module, unless there is a real one."""
    if name not in sys.modules and importlib.util.find_spec(name) is None:
        module = ModuleType(name)
        vars(module).update(attributes)
        sys.modules[name] = module


def seeded(seed: int) -> None:
    """Nothing has numbers to seed."""
    del seed


if __name__ == "other_backends":
    stand_in("tensorflow", random=SimpleNamespace(set_seed=seeded))
    stand_in("torch", manual_seed=seeded, autograd=SimpleNamespace())
