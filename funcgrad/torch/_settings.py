"""Modes, seeds, settings and devices of the process, with PyTorch's names."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np

from funcgrad import nn
from funcgrad.autograd.extend import (
    CPU,
    PRINT_OPTIONS,
    TRACE,
    default_generator,
    device,
    inference_mode,
    inferring,
)

_DEFAULTS = {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80}
_PROFILES: dict[str, dict[str, Any]] = {
    "default": _DEFAULTS,
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def is_inference_mode_enabled() -> bool:
    """``torch.is_inference_mode_enabled``: return whether `inference_mode` is on."""
    return inferring.get()


def manual_seed(seed: int) -> Any:
    """``torch.manual_seed``: start the random numbers of tensors and modules from a seed, as PyTorch's start."""
    generator = default_generator.manual_seed(seed)
    nn.manual_seed(seed)
    return generator


def seed() -> int:
    """``torch.seed``: start the random numbers from a seed of the operating system, and return it."""
    chosen = default_generator.seed()
    nn.manual_seed(chosen)
    return chosen


def initial_seed() -> int:
    """``torch.initial_seed``: return the seed that the random numbers started from."""
    return default_generator.initial_seed()


def get_rng_state() -> Any:
    """``torch.get_rng_state``: return the state of the random numbers, a tensor of bytes."""
    return TRACE.constant(default_generator.get_state())


def set_rng_state(new_state: Any) -> None:
    """``torch.set_rng_state``: continue the random numbers from a state."""
    default_generator.set_state(np.asarray(new_state))


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """``torch.set_printoptions``: set how tensors are printed.

    Raises:
        ValueError: the profile is none of PyTorch's.
    """
    if profile is not None and profile not in _PROFILES:
        raise ValueError(f"set_printoptions: the profile is {profile!r}; needed one of {', '.join(_PROFILES)}.")
    chosen = dict(_PROFILES[profile]) if profile is not None else {}
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    chosen.update({name: value for name, value in given.items() if value is not None})
    for name, value in chosen.items():
        setattr(PRINT_OPTIONS, name, value)
    PRINT_OPTIONS.sci_mode = sci_mode


def set_default_device(device: Any) -> None:
    """``torch.set_default_device``: accept the CPU, where all tensors are made.

    Raises:
        RuntimeError: another device was named.
    """
    if device is not None and str(device).partition(":")[0] != "cpu":
        raise RuntimeError(
            f"set_default_device: {str(device)!r} was asked for; tensors are made on 'cpu'. For another device make "
            "them of a JAX array: torch.tensor(jax.device_put(array, device))."
        )


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """``torch.use_deterministic_algorithms``: change nothing, because every function is deterministic."""
    del mode, warn_only


def are_deterministic_algorithms_enabled() -> bool:
    """``torch.are_deterministic_algorithms_enabled``: return ``True``, because every function is deterministic."""
    return True


def compile(model: Any = None, **options: Any) -> Any:  # noqa: A001  (PyTorch's name)
    """``torch.compile``: return the function or module itself; ``fg.jit`` compiles functions of arrays."""
    del options
    return (lambda function: function) if model is None else model


def get_default_device() -> device:
    """``torch.get_default_device``: return the CPU."""
    return CPU


def set_float32_matmul_precision(precision: str) -> None:
    """``torch.set_float32_matmul_precision``: change nothing, because products keep all digits of float32."""
    if precision not in {"highest", "high", "medium"}:
        raise RuntimeError(f"Float32 matmul precision {precision!r} is none of 'highest', 'high' and 'medium'.")


def get_float32_matmul_precision() -> str:
    """``torch.get_float32_matmul_precision``: return ``"highest"``, because products keep all digits of float32."""
    return "highest"


def get_num_threads() -> int:
    """``torch.get_num_threads``: return the number of processors, which NumPy's libraries may use."""
    return os.cpu_count() or 1


def set_num_threads(threads: int) -> None:
    """``torch.set_num_threads``: check the number and change nothing.

    NumPy's libraries read the number of threads from the environment, such as ``OMP_NUM_THREADS``, when they load.

    Raises:
        RuntimeError: the number is not positive.
        TypeError: it is no integer.
    """
    if not isinstance(threads, int):
        raise TypeError(f"set_num_threads expects an int, but got {type(threads).__name__}")
    if threads <= 0:
        raise RuntimeError("set_num_threads expects a positive integer")


def _no_effect(name: str, why: str) -> Callable[[Any], None]:
    def function(mode: Any) -> None:
        del mode

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``torch.{name}``: change nothing, because {why}."
    return function


def _constant(name: str, value: Any, why: str) -> Callable[[], Any]:
    def function() -> Any:
        return value

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"``torch.{name}``: return ``{value!r}``, because {why}."
    return function


_QUIET = (
    _no_effect("set_warn_always", "Python's warnings decide how often a warning is shown"),
    _constant("is_warn_always_enabled", False, "Python's warnings decide how often a warning is shown"),
    _no_effect("set_deterministic_debug_mode", "every function is deterministic"),
    _constant("get_deterministic_debug_mode", 0, "no function has to be refused"),
    _constant("is_deterministic_algorithms_warn_only_enabled", False, "no function has to be warned of"),
    _no_effect("set_num_interop_threads", "operations run one after the other"),
    _constant("get_num_interop_threads", 1, "operations run one after the other"),
    _constant("is_autocast_enabled", False, "there is no automatic choice of narrow dtypes"),
)
FUNCTIONS = (
    *_QUIET,
    *(get_num_threads, set_num_threads),
    *(inference_mode, is_inference_mode_enabled, manual_seed, seed, initial_seed, get_rng_state, set_rng_state),
    *(set_printoptions, set_default_device, use_deterministic_algorithms, are_deterministic_algorithms_enabled),
    *(compile, get_default_device, set_float32_matmul_precision, get_float32_matmul_precision),
)


# Questions about devices, which programs ask before they choose the CPU: there is no other device.
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


class Missing(SimpleNamespace):
    """A namespace of PyTorch's that programs import, whose functions are missing here.

    Asking for a function says why it is missing.
    """

    def __init__(self, path: str, why: str, **answers: Any) -> None:
        super().__init__(__doc__=f"``{path}``: {why}", __name__=path, **answers)
        self._why = why

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise AttributeError(f"module 'funcgrad.{self.__name__}' has no attribute '{name}': {self._why}")


def namespaces(amp: SimpleNamespace) -> dict[str, Any]:
    """Return PyTorch's namespaces of devices; ``amp`` is ``torch.cuda.amp``."""
    return {
        "cuda": SimpleNamespace(**_ABSENT, **_SEEDED, is_bf16_supported=_no, amp=amp),
        "mps": SimpleNamespace(**_ABSENT, **_SEEDED),
        "xpu": SimpleNamespace(**_ABSENT, **_SEEDED),
        "onnx": Missing(
            "torch.onnx", "ONNX files are not written here; docs/graphs.md shows how a graph becomes StableHLO."
        ),
        "distributed": Missing(
            "torch.distributed",
            "several processes are JAX's; see docs/clusters.md.",
            is_available=_no,
            is_initialized=_no,
        ),
        "accelerator": SimpleNamespace(**_ABSENT, current_accelerator=_nothing),
        "backends": SimpleNamespace(
            cuda=SimpleNamespace(is_built=_no, matmul=SimpleNamespace(allow_tf32=False)),
            mps=SimpleNamespace(is_available=_no, is_built=_no),
            cudnn=SimpleNamespace(
                is_available=_no, enabled=False, benchmark=False, deterministic=True, allow_tf32=False
            ),
        ),
    }


def paths(namespaces: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield each namespace with its path, and the namespaces in it."""
    for name, each in namespaces.items():
        if isinstance(each, SimpleNamespace):
            yield name, each
            yield from ((f"{name}.{path}", inner) for path, inner in paths(vars(each)))
