"""``torch.amp``: contexts that are off here, and scaled losses."""

from __future__ import annotations

import warnings as _warnings
from types import SimpleNamespace as _SimpleNamespace
from typing import Any as _Any

from funcgrad._public import publish as _publish
from funcgrad.torch import _names
from funcgrad.torch.amp._scaler import GradScaler as GradScaler
from funcgrad.torch.amp._scaler import of_cuda as _of_cuda


class autocast:  # noqa: N801  (PyTorch's name)
    """``torch.autocast``: a context or decorator that changes nothing; narrow dtypes are never chosen automatically.

    As in PyTorch without a GPU, a context for ``"cuda"`` warns and is off.

    Args:
        device_type: the kind of device.
        dtype: the narrow dtype, which is not used.
        enabled: whether the context is on.
        cache_enabled: has no effect.

    Raises:
        NotImplementedError: the context is on for the CPU. Convert with ``t.bfloat16()``.

    Example:
        >>> import funcgrad.torch as torch
        >>> with torch.autocast("cpu", enabled=False):
        ...     print((torch.ones(2) @ torch.ones(2)).dtype)
        float32
    """

    def __init__(
        self, device_type: str, dtype: _Any = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        del cache_enabled
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device, self.fast_dtype = device_type, dtype
        if enabled and device_type == "cpu":
            raise NotImplementedError(
                "autocast: narrow dtypes for the CPU were asked for; there is no automatic choice of dtypes here. "
                "Convert modules and tensors with .bfloat16(), or pass enabled=False."
            )
        if enabled:
            _warnings.warn(
                "CUDA is not available or torch_xla is imported. Disabling autocast.", UserWarning, stacklevel=2
            )

    def __enter__(self) -> _Any:
        return self

    def __exit__(self, *_: object) -> None:
        """Change nothing."""

    def __call__(self, func: _Any) -> _Any:
        """Return the function."""
        return func


# The deprecated names in ``torch.cuda.amp``.
of_cuda = _SimpleNamespace(GradScaler=_of_cuda(GradScaler, "GradScaler"), autocast=_of_cuda(autocast, "autocast"))


def __getattr__(name: str) -> _Any:
    return _names.refuse("torch.amp", name, globals())


__dir__ = _publish(__name__)
