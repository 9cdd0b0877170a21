"""Questions about devices, which programs ask before they choose the CPU: there is no other device."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from funcgrad.autograd.extend import default_generator


def _no(*_: Any, **__: Any) -> bool:
    return False


def _nothing(*_: Any, **__: Any) -> None:
    return None


def _none(*_: Any, **__: Any) -> int:
    return 0


def _seed(seed: int) -> None:
    default_generator.manual_seed(seed)


_ABSENT = {"is_available": _no, "device_count": _none, "is_initialized": _no, "synchronize": _nothing}
_SEEDED = {"current_device": _none, "manual_seed": _seed, "manual_seed_all": _seed, "empty_cache": _nothing}
cuda = SimpleNamespace(**_ABSENT, **_SEEDED, is_bf16_supported=_no)
mps = SimpleNamespace(**_ABSENT, **_SEEDED)
xpu = SimpleNamespace(**_ABSENT, **_SEEDED)
accelerator = SimpleNamespace(**_ABSENT, current_accelerator=_nothing)
backends = SimpleNamespace(
    cuda=SimpleNamespace(is_built=_no),
    mps=SimpleNamespace(is_available=_no, is_built=_no),
    cudnn=SimpleNamespace(is_available=_no, enabled=False, benchmark=False, deterministic=True),
)
NAMESPACES = {"cuda": cuda, "mps": mps, "xpu": xpu, "accelerator": accelerator, "backends": backends}
