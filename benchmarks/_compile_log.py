"""The parts of the time of a first call: tracing, lowering and compiling, as JAX itself reports them."""

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax

PHASES = {
    "/jax/core/compile/jaxpr_trace_duration": "JAX tracing",
    "/jax/core/compile/jaxpr_to_mlir_module_duration": "lowering",
    "/jax/core/compile/backend_compile_duration": "XLA compiling",
}


class CompileLog:
    """The phases of every first call of one contender, in seconds."""

    def __init__(self) -> None:
        self._calls: list[dict[str, float]] = []

    @contextmanager
    def call(self) -> Iterator[None]:
        """Record the phases of one first call; what JAX does not report is "the rest": staging, binding and the run."""
        spans: dict[str, list[tuple[float, float]]] = {phase: [] for phase in PHASES.values()}

        def listen(event: str, seconds: float, **_: Any) -> None:
            if event in PHASES:
                now = time.perf_counter()
                spans[PHASES[event]].append((now - seconds, now))

        jax.monitoring.register_event_duration_secs_listener(listen)
        start = time.perf_counter()
        try:
            yield
        finally:
            total = time.perf_counter() - start
            jax.monitoring.unregister_event_duration_listener(listen)
        phases = {phase: _union(intervals) for phase, intervals in spans.items()}
        self._calls.append({**phases, "the rest": total - sum(phases.values())})

    def medians(self) -> dict[str, float]:
        """Return the median seconds of each phase; the first call of all, which warms up, is left out."""
        return {phase: statistics.median(call[phase] for call in self._calls[1:]) for phase in self._calls[0]}


def _union(intervals: list[tuple[float, float]]) -> float:
    """Return the length that the intervals cover together: a trace within a trace counts once."""
    covered, end = 0.0, float("-inf")
    for a, b in sorted(intervals):
        covered += max(0.0, b - max(a, end))
        end = max(end, b)
    return covered
