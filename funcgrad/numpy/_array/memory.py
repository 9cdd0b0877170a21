"""Attributes of ``ndarray`` about its memory, for traced arrays, which have no memory to show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from funcgrad._core.bind import Tracer, is_engine_value
from funcgrad._core.trace.place import settled
from funcgrad._core.words import shown
from funcgrad._types import DeviceLike
from funcgrad.errors import TracerArrayConversionError, UnsupportedFunctionError
from funcgrad.numpy._base.concrete import innermost, refuse


def device(self: Tracer) -> Any:
    """Return ``x.device``, the device of the value; ``"cpu"`` for NumPy's."""
    value = innermost(self)
    return value.device if is_engine_value(value) else "cpu"


def to_device(self: Tracer, device: DeviceLike, /, *, stream: None = None) -> Tracer:
    """Return ``x.to_device(device)`` for the device where it is; refuse others."""
    del stream
    if device != self.device:
        raise ValueError(
            f"x.to_device: a traced array {self.aval} is on {self.device!r}, and was asked to go to "
            f"{shown(device)}. Move "
            "the arguments of the transformed function before the call."
        )
    return self


def dlpack(
    self: Tracer, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None
) -> Any:
    """Return ``x.__dlpack__`` of plain numbers, which other libraries get as a copy; refuse traced values."""
    plain = settled(self)
    if isinstance(plain, Tracer):
        raise TracerArrayConversionError(
            f"x.__dlpack__: another library asked for the memory of a traced array {self.aval}, whose derivative it "
            "would lose. Pass fg.stop_gradient(x) where it is meant as a constant, or wrap the call by fg.call_numpy."
        )
    return np.array(plain).__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)


def dlpack_device(self: Tracer) -> tuple[int, int]:
    """Return ``x.__dlpack_device__``: NumPy's."""
    return np.empty(0).__dlpack_device__()


def _hidden(name: str, remedy: str) -> Callable[[Tracer], NoReturn]:
    def attribute(self: Tracer) -> NoReturn:
        # hasattr, and getattr with a default, must find no attribute: libraries use them to look for memory.
        raise AttributeError(
            f"x.{name}: a traced array {self.aval} has no memory of its own that could be shown. {remedy}"
        )

    return attribute


def getfield(self: Tracer, *_: Any, **__: Any) -> NoReturn:
    """Refuse ``x.getfield``."""
    raise UnsupportedFunctionError(
        f"x.getfield: it reads the bytes of a traced array {self.aval}, which have no derivative. Use x.real, x.imag "
        "or x.astype."
    )


_SHARES = "Ask numpy.may_share_memory of the arguments before the transform."
_LAYOUT = "Write np.ascontiguousarray(x) if the layout matters, and leave the test out."
HIDDEN: dict[str, Callable[[Tracer], NoReturn]] = {
    "base": _hidden("base", _SHARES),
    "ctypes": _hidden("ctypes", "Call functions in C by fg.call_numpy."),
    "data": _hidden("data", "Call functions that read memory by fg.call_numpy."),
    "flags": _hidden("flags", _LAYOUT),
    "strides": _hidden("strides", _LAYOUT),
}
METHODS: dict[str, Any] = {
    "to_device": to_device,
    "__dlpack__": dlpack,
    "__dlpack_device__": dlpack_device,
    "getfield": getfield,
    "tobytes": refuse("tobytes()", np.ndarray.tobytes),
    "tofile": refuse("tofile()", np.ndarray.tofile),
    "dump": refuse("dump()", np.ndarray.dump),
    "dumps": refuse("dumps()", np.ndarray.dumps),
}
