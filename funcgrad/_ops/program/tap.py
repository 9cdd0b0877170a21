"""The identity that reports values on the forward pass and cotangents on the backward pass to recorders."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from funcgrad._core.forms import Forms
from funcgrad._core.primitive import Primitive
from funcgrad._core.trace.batch import Shared
from funcgrad._ops.layout.depends import same
from funcgrad._types import Array, Lax, Value

VALUE, COTANGENT = "value", "cotangent"


class Seen(NamedTuple):
    """The last value and cotangent at a place; ``None`` where nothing was recorded."""

    value: Any = None
    cotangent: Any = None


# The open recorders of all threads, because a compiled program reports from threads of its own.
_open: list[dict[str, Seen]] = []
_lock = threading.Lock()


def open_for(seen: dict[str, Seen]) -> None:
    """Start recording into ``seen``."""
    with _lock:
        _open.append(seen)


def close(seen: dict[str, Seen]) -> None:
    """Stop recording into ``seen``."""
    with _lock:
        _open[:] = [each for each in _open if each is not seen]


def is_open() -> bool:
    """Return whether any recorder is open."""
    return bool(_open)


def _report(*xs: Value, name: str, part: str) -> None:
    found = dict(zip((part, VALUE), [np.array(x) for x in xs], strict=False))
    with _lock:
        for seen in _open:
            seen[name] = seen.get(name, Seen())._replace(**found)


class _TapDerivative:
    """Tangents pass unchanged; a cotangent is reported, together with the value that it belongs to."""

    __slots__ = ()

    def record(self, primitive: Primitive, primals: tuple, active: int, params: dict) -> tuple[list, Any, tuple]:
        if not active & 1:
            return primitive(*primals, **params), None, ()
        name = params["name"]

        def pull(bars: Sequence[Any], value: Value) -> list[Any]:
            reported = [None if bar is None else tap_p(bar, value, name=name, part=COTANGENT)[0] for bar in bars]
            return reported if active == 1 else [*reported, None]

        return primitive(*primals, **params), pull, (primals[0],)

    def jvp(self, primitive: Primitive, primals: tuple, tangents: list, params: dict) -> tuple[list, list]:
        return primitive(*primals, **params), [tangents[0]]


def _run(*xs: Value, name: str, part: str) -> list[Any]:
    _report(*xs, name=name, part=part)
    return [xs[0]]


def _run_xla(lax: Lax, *xs: Array, name: str, part: str) -> list[Any]:
    lax.debug_callback(lambda *xs: _report(*xs, name=name, part=part), *xs)
    return [xs[0]]


def _batch(primitive: Primitive, size: int, operands: tuple, batched: tuple[bool, ...], params: dict) -> list[Any]:
    ys = primitive(*operands, **params)
    return ys if batched[0] else [Shared(ys[0])]


tap_p = Primitive(
    "tap",
    operands=("*xs",),
    numpy=_run,
    xla=_run_xla,
    aval=lambda *xs, name, part: [xs[0]],
    derivative=_TapDerivative(),
    batch=_batch,
    cost=lambda y, *xs, name, part: 0,
    multiple_results=True,
    forms=Forms(depends=same),
)
