"""Losses that are scaled before the backward pass, so that gradients of half precision do not vanish."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from funcgrad._types import PyTree
from funcgrad.autograd import Tensor, no_grad
from funcgrad.tree import map as tree_map


class GradScaler:
    """Multiply losses by a factor, and divide the gradients by it before a step.

    A step whose gradients are infinite or NaN is skipped, and the factor becomes smaller. After many good steps the
    factor grows. As in PyTorch without a GPU, a scaler for ``"cuda"`` warns and is off.

    Args:
        device: the kind of device.
        init_scale: the first factor, dimensionless.
        growth_factor: what the factor is multiplied by when it grows.
        backoff_factor: what the factor is multiplied by after a skipped step.
        growth_interval: the number of good steps after which it grows.
        enabled: whether the scaler is on. One that is off hands everything through.

    Raises:
        RuntimeError: methods were called in a wrong order.

    Example:
        >>> import funcgrad.torch as torch
        >>> w = torch.ones(1, requires_grad=True)
        >>> optimizer, scaler = torch.optim.SGD([w], lr=0.5), torch.amp.GradScaler("cpu")
        >>> scaler.scale((2 * w).sum()).backward()
        >>> scaler.step(optimizer)
        >>> scaler.update()
        >>> w
        tensor([0.], requires_grad=True)

    Source: ``torch.amp.GradScaler``; Micikevicius et al., *Mixed precision training* (2018), section 3.2.
    """

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and device == "cuda":
            warnings.warn(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
                UserWarning,
                stacklevel=2,
            )
            enabled = False
        if enabled and not growth_factor > 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if enabled and not backoff_factor < 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._enabled = enabled
        self._scale, self._growth_tracker = float(init_scale), 0
        self._growth_factor, self._backoff_factor = growth_factor, backoff_factor
        self._growth_interval = growth_interval
        # For each optimizer since the last `update`: whether its gradients are finite, and whether it has stepped.
        self._finite: dict[int, bool] = {}
        self._stepped: set[int] = set()

    def scale(self, outputs: PyTree) -> Any:
        """Return a loss, or several, times the factor."""
        return tree_map(lambda x: x * self._scale, outputs) if self._enabled else outputs

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients of an optimizer's parameters by the factor, in place."""
        if not self._enabled:
            return
        if id(optimizer) in self._finite:
            raise RuntimeError("unscale_() has already been called on this optimizer since the last update().")
        finite = True
        with no_grad():
            for p in (p for group in optimizer.param_groups for p in group["params"]):
                if p.grad is not None:
                    p.grad.mul_(1.0 / self._scale)
                    finite = finite and bool(np.isfinite(p.grad.numpy()).all())
        self._finite[id(optimizer)] = finite

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Run ``optimizer.step()`` if its gradients are finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        if id(optimizer) in self._stepped:
            raise RuntimeError("step() has already been called since the last update().")
        if id(optimizer) not in self._finite:
            self.unscale_(optimizer)
        self._stepped.add(id(optimizer))
        return optimizer.step(*args, **kwargs) if self._finite[id(optimizer)] else None

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Choose the factor of the next step."""
        if not self._enabled:
            return
        if new_scale is not None:
            self._scale = float(new_scale) if isinstance(new_scale, int | float) else new_scale.item()
        else:
            if not self._finite:
                raise AssertionError("No inf checks were recorded prior to update.")
            if not all(self._finite.values()):
                self._scale, self._growth_tracker = self._scale * self._backoff_factor, 0
            else:
                self._growth_tracker += 1
                if self._growth_tracker == self._growth_interval:
                    self._scale, self._growth_tracker = self._scale * self._growth_factor, 0
        self._finite.clear()
        self._stepped.clear()

    def is_enabled(self) -> bool:
        """Return whether the scaler is on."""
        return self._enabled

    def get_scale(self) -> float:
        """Return the factor; 1 if the scaler is off."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """Return what the factor is multiplied by when it grows."""
        return self._growth_factor

    def get_backoff_factor(self) -> float:
        """Return what the factor is multiplied by after a skipped step."""
        return self._backoff_factor

    def get_growth_interval(self) -> int:
        """Return the number of good steps after which the factor grows."""
        return self._growth_interval

    def state_dict(self) -> dict[str, Any]:
        """Return the state, for a checkpoint; an empty dictionary if the scaler is off."""
        if not self._enabled:
            return {}
        names = ("scale", "growth_factor", "backoff_factor", "growth_interval", "_growth_tracker")
        return {name: getattr(self, name if name.startswith("_") else f"_{name}") for name in names}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take the state of a checkpoint."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled instance of GradScaler."
            )
        for name, value in state_dict.items():
            setattr(self, name if name.startswith("_") else f"_{name}", value)


def of_cuda(make: Callable[..., Any], name: str) -> Callable[..., Any]:
    """Return the deprecated maker of ``torch.cuda.amp``, which warns as PyTorch does."""

    def made(*args: Any, **options: Any) -> Any:
        warnings.warn(
            f"`torch.cuda.amp.{name}(args...)` is deprecated. Please use `torch.amp.{name}('cuda', args...)` instead.",
            FutureWarning,
            stacklevel=2,
        )
        return make("cuda", *args, **options)

    made.__name__ = made.__qualname__ = name
    made.__doc__ = f"``torch.cuda.amp.{name}``: the deprecated name of ``torch.amp.{name}``."
    return made
