"""Random bad calls of every public callable. Errors that say nothing about the call are printed.

``python -m tests.laws.bad_calls [SECONDS] [SEED] [PART OF A NAME]``. What it finds belongs into the table beside it.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import itertools
import os
import random
import signal
import sys
import tempfile
import time
import traceback
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

import funcgrad as fg
from funcgrad._core.bind import active_trace, onlookers
from funcgrad.autograd import Tensor, tensor
from tests.laws.test_bad_calls import BARE, nested, squared

PACKAGE = str(Path(fg.__file__).parent)
A = np.arange(6.0).reshape(2, 3) + 1
# These stop for the user, and NumPy crashes on lists of objects that are no numbers.
LEFT_OUT = {"funcgrad.breakpoint", "funcgrad.full_tracebacks", "funcgrad.numpy.nancumprod", "funcgrad.numpy.nancumsum"}
ROUTES: dict[str, Callable[[Callable[[Any], Any]], Any]] = {
    "bare": lambda f: f(A.copy()),
    "grad": lambda f: fg.grad(f)(A.copy()),
    "jvp": lambda f: fg.jvp(f, (A.copy(),), (A.copy(),)),
    "vmap": lambda f: fg.vmap(f)(np.stack([A, A])),
    "jit": lambda f: fg.jit(f, engine="numpy")(A.copy()),
}


def targets(module: types.ModuleType, seen: set[str]) -> Iterator[tuple[str, Any]]:
    """Return every public callable, by its name."""
    seen.add(module.__name__)
    for name in module.__all__:
        value = getattr(module, name)
        if isinstance(value, types.ModuleType):
            if value.__name__.startswith("funcgrad") and value.__name__ not in seen:
                yield from targets(value, seen)
        elif callable(value) and "errors" not in module.__name__ and f"{module.__name__}.{name}" not in LEFT_OUT:
            yield f"{module.__name__}.{name}", value


def values(x: Any) -> list[Any]:
    """The arguments of calls. Most of them are ``x``, which may be traced."""
    cycle: list[Any] = []
    cycle.append(cycle)
    params = {"w": A.copy(), "b": None}
    odd = [None, "text", "", b"x", -1, 0, 1, 2, 7, 1.5, -2.0, float("nan"), 2 + 1j, True, 2**70, object(), object, int]
    arrays = [np.zeros(0), np.zeros((2, 0)), np.float64(2), np.array(3.0), np.array([1, 0, 2]), np.array([True, False])]
    strange = [
        np.array(["a"]),
        np.array([1.0, None], object),
        np.ma.masked_array([1.0], [True]),
        np.datetime64("2020-01-01"),
    ]
    lists = [[1.0, 2.0, 3.0], [], (), {}, params, [[1, 2], [3]], (0, 1), (-1,), (5, 5), {1}, iter([1.0]), range(3)]
    own = [tensor([1.0, 2.0], requires_grad=True), fg.random.key(0), fg.ShapeDtype((2,), float), fg.nn.Linear(3, 2)]
    own += [fg.sgd_init(params, lr=0.1), fg.tree.structure(params), nested(3000), cycle]
    others = [np.sin, squared, lambda *args: args, np.float32, "float64", "ij,jk->ik", slice(None), ..., np.dtype("S3")]
    return [*odd, *arrays, *strange, *lists, *own, *others, *[x] * 25, *[[x, x], {"w": x}, (x, 1.0)] * 2]


def drawn(draw: random.Random, function: Any, name: str, x: Any) -> tuple[list[Any], dict[str, Any]]:
    """Draw arguments for a call: mostly as many as it needs."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    pool = values(x)
    needed = [p for p in parameters if p.default is p.empty and p.kind <= p.POSITIONAL_OR_KEYWORD]
    args = draw.choices(pool, k=max(0, len(needed) + draw.choice([0, 0, 0, 0, -1, 1])))
    if name.startswith("Tensor."):
        args[:1] = [tensor(draw.choice([A, A[0], np.array(2.0)]), requires_grad=draw.random() < 0.5)]
    options = [p for p in parameters if p.default is not p.empty or p.kind is p.KEYWORD_ONLY]
    return args, {p.name: draw.choice(pool) for p in options if draw.random() < (0.9 if p.default is p.empty else 0.25)}


def says_nothing(error: BaseException) -> str | None:
    """Return the place of an error that no code raised on purpose for the caller; ``None`` for other errors."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if frame.filename.startswith(PACKAGE)]
    bare = isinstance(error, (*BARE, KeyError, SystemError, UnboundLocalError)) or "index out of range" in str(error)
    if not ours or not bare or (frames[-1] is ours[-1] and "raise" in (ours[-1].line or "")):
        return None
    return f"{Path(ours[-1].filename).relative_to(PACKAGE)}:{ours[-1].lineno}"


def _too_long(*_: Any) -> NoReturn:
    raise TimeoutError


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(seconds: float = 60, seed: int = 0, part: str = "") -> None:
    draw = random.Random(seed)
    tensors = [(f"Tensor.{name}", getattr(Tensor, name)) for name in dir(Tensor) if not name.startswith("_")]
    every = [each for each in itertools.chain(targets(fg, set()), tensors) if part in each[0] and callable(each[1])]
    signal.signal(signal.SIGALRM, _too_long)
    found: set[tuple[str, ...]] = set()
    end, count = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        count += 1
        name, function = draw.choice(every)
        route = "bare" if name.startswith("Tensor") else draw.choice(list(ROUTES))
        called: list[str] = []

        def body(x: Any, name: str = name, function: Any = function, called: list[str] = called) -> Any:
            args, options = drawn(draw, function, name, x)
            called[:] = [shortened(each) for each in args] + [f"{key}={shortened(x)}" for key, x in options.items()]
            function(*args, **options)
            return np.sum(x)

        signal.setitimer(signal.ITIMER_REAL, 4)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                ROUTES[route](body)
        except Exception as error:  # noqa: BLE001  (all of them are looked at)
            where = "no end" if isinstance(error, TimeoutError) else says_nothing(error)
            if where is not None and (name, where) not in found:
                found.add((name, where))
                say(f"{name}({', '.join(called)}) under {route}")
                say(f"    {type(error).__name__} at {where}: {str(error)[:150]}")
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        if active_trace() is not None or onlookers:
            say(f"{name}({', '.join(called)}) under {route}\n    leaves a transform open")
            return
    say(f"{count} calls of {len(every)} callables, {len(found)} findings")


def shortened(x: Any) -> str:
    try:
        return repr(x).replace("\n", " ")[:60]
    except RecursionError:
        return f"<{type(x).__name__}>"


if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp())
    asked = dict(zip(("seconds", "seed", "part"), sys.argv[1:], strict=False))
    main(float(asked.get("seconds", 60)), int(asked.get("seed", 0)), asked.get("part", ""))
