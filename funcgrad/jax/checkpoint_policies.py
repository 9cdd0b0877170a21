"""Policies that choose the values `jax.checkpoint` keeps for the backward pass, with JAX's names."""

from __future__ import annotations

from funcgrad._transforms.control.checkpoint import (
    dots_saveable,
    everything_saveable,
    nothing_saveable,
    save_only_these_names,
)
from funcgrad.jax._names import publish_as_jax

__all__ = ["checkpoint_dots", "dots_saveable", "everything_saveable", "nothing_saveable", "save_only_these_names"]

checkpoint_dots = dots_saveable

__dir__, __getattr__ = publish_as_jax(__name__, arrays=False)
