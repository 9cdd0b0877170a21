"""Records the calls that the tests make. Each call is made once more with traced values."""

from __future__ import annotations

import json
import signal
import threading
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np

import funcgrad.errors
from tests.own_tests import routes
from tests.own_tests.compare import difference
from tests.own_tests.routes import Call, is_written
from tests.own_tests.targets import Target, target_of
from tests.own_tests.trees import as_array, copied, described, is_suited, leaves, shares_memory, signature

# Seconds: of a plain call that is made again, of one way of making it again.
_PLAIN, _AGAIN = 1.0, 5.0
# They call the function that they are given as their second argument.
_CALLING = {"assert_raises", "assert_raises_regex", "raises", "assert_warns"}
_REFUSALS = tuple([getattr(funcgrad.errors, name) for name in funcgrad.errors.__all__])


class OutOfTime(BaseException):
    """A test or a call took too long."""


class _Caught:
    """The exception that leaves the body of a ``with``, if it is no ``BaseException``."""

    error: Exception | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> bool:
        self.error = error if isinstance(error, Exception) else None
        return self.error is not None


class Recorder:
    """The record of one process.

    Args:
        out: the file that findings are added to, a line each.
        per_function: calls of a function that are made again, in each file of tests.
        per_kind: of these, calls with arguments of the same types.
        every_for_xla: one in so many calls is made on XLA too.
        until: when no further call is made again.
    """

    def __init__(self, out: Path, per_function: int, per_kind: int, every_for_xla: int, until: float) -> None:
        self._out = out
        self._limits = per_function, per_kind
        self._every_for_xla = every_for_xla
        self.until = until
        self._seen: set[Any] = set()
        self._made: Counter[Any] = Counter()
        self.counts: Counter[str] = Counter()
        self.test = ""
        self.active = False

    def called(self, f: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Call ``f`` for a test, and compare what our functions do with it."""
        if not self.active or threading.current_thread() is not threading.main_thread():
            return f(*args, **kwargs)
        if getattr(f, "__name__", "") in _CALLING and len(args) > 1 and callable(args[1]):
            inner = args[1]
            return f(args[0], lambda *a, **k: self.called(inner, *a, **k), *args[2:], **kwargs)
        found = target_of(f, args)
        if found is None:
            return f(*args, **kwargs)
        target, given = found
        if self._is_fresh(target, given, kwargs):
            self.compare(target, given, kwargs)
        return f(*args, **kwargs)

    def _is_fresh(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Return whether the call is made again: the number of similar calls is below the limit."""
        file = self.test.partition("::")[0]
        if self._made[file, target.name] >= self._limits[0] or not is_suited((args, kwargs)):
            return False
        kind = file, target.name, signature((args, kwargs))
        bits = [x.tobytes() if isinstance(x, np.ndarray | np.generic) else repr(x) for x in leaves((args, kwargs))]
        key = kind, zlib.crc32(repr(bits).encode())
        if key in self._seen or self._made[kind] >= self._limits[1]:
            return False
        self._seen.add(key)
        self._made[file, target.name] += 1
        self._made[kind] += 1
        return True

    def compare(self, target: Target, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Make the call in each way, and write down what differs."""
        if time.time() > self.until:
            self.counts["calls not made again, out of time"] += 1
            return
        self.active = False
        drawn = np.random.get_state()  # noqa: NPY002  (the state that legacy functions draw from)
        try:
            call = self._answered(Call(target, *copied((tuple(map(as_array, args)), kwargs))))
            if call is None:
                return
            if not routes.inputs(call, call.is_traced):
                return
            self.counts["calls"] += 1
            self.counts[f"function {target.name}"] += 1
            if routes.inputs(call, call.is_differentiated) and not call.is_method_of_plain:
                self._way(call, "eager")
            self._way(call, "numpy")
            if self.counts["calls"] % self._every_for_xla == 0:
                self._way(call, "xla")
        finally:
            np.random.set_state(drawn)  # noqa: NPY002  (as above)
            self.active = True

    def _answered(self, call: Call) -> Call | None:
        """The call with what NumPy or SciPy does, or None where that is too slow or is no value."""
        args, kwargs = copied((call.args, call.kwargs))
        # NumPy's operators write into a large array to which there is no second reference.
        held = leaves((args, kwargs))
        result = None
        try:
            with limit(_PLAIN), warnings.catch_warnings(), _Caught() as caught:
                warnings.simplefilter("ignore")
                result = call.target.theirs(*args, **kwargs)
        except OutOfTime:
            return None
        if caught.error is not None:
            raised = isinstance(caught.error, Warning | FloatingPointError)
            return None if raised else call._replace(error=caught.error)
        if isinstance(result, Iterator):
            return None
        del held
        after = args, kwargs
        if not is_written(call, after):
            return call._replace(result=result)
        return None if shares_memory(after) else call._replace(result=result, changed=True, after=after)

    def _way(self, call: Call, way: str) -> None:
        self.counts[f"made on {way}"] += 1
        try:
            with limit(_AGAIN), warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                again: Any = None
                with _Caught() as caught:
                    again = routes.eagerly(call) if way == "eager" else (routes.staged(call, way),)
                if caught.error is not None:
                    self._error(call, way, caught.error)
                    return
                if call.error is not None:
                    self._write(call, way, "answer", f"{type(call.error).__name__}: {call.error}")
                    return
                found = difference(
                    again[0], call.expected, by_elements=call.target.by_elements, precision=routes.precision(call)
                )
                if found is not None:
                    self._write(call, way, *found)
                elif way == "eager" and not call.changed:
                    self._derivative(call, *again[1:])
        except OutOfTime:
            self._write(call, way, "time", f"more than {_AGAIN} s")

    def _error(self, call: Call, way: str, error: Exception) -> None:
        """Ours raised: an error of the class that NumPy's has, a refusal of ours, or another."""
        text = f"{type(error).__name__}: {error}"
        if call.error is None:
            self._write(call, way, "refusal" if isinstance(error, _REFUSALS) else "crash", text)
        elif isinstance(error, type(call.error)) or isinstance(call.error, type(error)):
            self.counts["errors alike"] += 1
        elif not isinstance(error, _REFUSALS):
            self._write(call, way, "error", f"{text} for {type(call.error).__name__}: {call.error}")

    def _derivative(self, call: Call, pullback: Any, outputs: list[Any]) -> None:
        name = f"derivatives of {call.target.name}"
        if not outputs or self._made[name] >= 2 * self._limits[1] or not routes.is_smooth_type(call, outputs):
            return
        self._made[name] += 1
        found = None
        with _Caught() as caught:
            found = routes.derivative_difference(call, pullback, outputs)
        if caught.error is not None:
            self.counts["derivatives that differences say nothing of"] += 1
            if isinstance(caught.error, _REFUSALS):
                self._write(call, "derivative", "refusal", f"{type(caught.error).__name__}: {caught.error}")
            return
        self.counts["derivatives"] += 1
        if found:
            self._write(call, "derivative", "value", found)

    def _write(self, call: Call, way: str, kind: str, text: str) -> None:
        self.counts[f"{kind} on {way}"] += 1
        arguments = described((call.args, call.kwargs))
        text = " ".join(text.split())[:300]
        self.add(function=call.target.name, way=way, kind=kind, text=text, call=arguments, test=self.test)

    def add(self, **line: Any) -> None:
        """Write a line."""
        with self._out.open("a") as file:
            file.write(json.dumps(line) + "\n")


@contextmanager
def limit(seconds: float) -> Iterator[None]:
    """Raise ``OutOfTime`` in the body after this many seconds of the processor. An outer limit stays in force.

    Seconds of the clock would depend on what else the machine does.
    """
    start, outer = time.process_time(), signal.setitimer(signal.ITIMER_PROF, seconds)[0]
    try:
        yield
    finally:
        left = max(outer - (time.process_time() - start), 0.01) if outer else 0.0
        signal.setitimer(signal.ITIMER_PROF, left)


def ring(*_: Any) -> None:
    """Handle the alarm."""
    raise OutOfTime
