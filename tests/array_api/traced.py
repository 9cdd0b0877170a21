"""``funcgrad.numpy`` as an array namespace of the standard with traced arrays only.

What the standard's creation functions make goes into a derivative, forwards or backwards, in which the whole of a test
runs: of floats and complex numbers it is a traced value that carries one, of integers and booleans an array of the
transform. Everything else is ``funcgrad.numpy`` as it is, but for ``float(x)`` and ``complex(x)``, by which the suite
asks for the numbers that it compares: they are refused where a derivative would be lost, and here they answer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

import funcgrad as fg
import funcgrad.numpy as fnp
from funcgrad._core.aval import is_inexact
from funcgrad._core.bind import Trace, Tracer
from funcgrad._core.trace.forward import ForwardTrace
from funcgrad._core.trace.place import settled
from funcgrad._core.trace.reverse import ReverseTrace

MAKERS = (
    *("arange", "asarray", "empty", "empty_like", "eye", "from_dlpack", "full", "full_like", "linspace", "ones"),
    *("ones_like", "zeros", "zeros_like"),
)


def traced(y: Any, trace: Trace) -> Any:
    """Return a plain array as a traced one."""
    if isinstance(settled(y), Tracer):
        return y
    y = np.asarray(y).copy()
    if not is_inexact(y.dtype):
        return fnp.array(y)
    if isinstance(trace, ForwardTrace):
        return trace.input(y, np.ones_like(y))
    assert isinstance(trace, ReverseTrace)
    return trace.input(y)


class Namespace(ModuleType):
    """The namespace of one transform."""

    def __init__(self, trace: Trace) -> None:
        super().__init__("funcgrad.numpy")
        self._trace = trace

    def __getattr__(self, name: str) -> Any:
        found = getattr(fnp, name)
        if name in MAKERS:
            found = self._making(name, found)
        setattr(self, name, found)
        return found

    def __dir__(self) -> list[str]:
        return dir(fnp)

    def _making(self, name: str, maker: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(maker)
        def make(*args: Any, **kwargs: Any) -> Any:
            y = maker(*args, **kwargs)
            # A result that shares memory with an array of the call is that array or a view of it.
            given = name in {"asarray", "from_dlpack"} and isinstance(args[0], Tracer)
            return y if given else traced(y, self._trace)

        return make


def _answering(kind: type) -> Callable[[Tracer], Any]:
    return lambda self: kind(np.asarray(fg.stop_gradient(self)))


def entered(mode: str) -> Namespace:
    """Return the namespace of a transform that this process does not leave."""
    trace = {"forward": ForwardTrace, "reverse": ReverseTrace}[mode]()
    trace.__enter__()
    kind: Any = Tracer
    kind.__float__, kind.__complex__ = _answering(float), _answering(complex)
    return Namespace(trace)
