"""Interleaved timing: contenders of one case take turns within one process, so that drift hits all of them alike."""

import gc
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Effort:
    """How long to measure. A sample is the mean over as many calls as fill `sample_seconds`."""

    rounds: int = 120
    sample_seconds: float = 0.01
    quick: bool = False

    def at_most(self, rounds: int) -> "Effort":
        """Return the same effort with no more than `rounds` rounds, for cases that take seconds each."""
        return Effort(min(self.rounds, rounds), self.sample_seconds, self.quick)


FULL = Effort()
QUICK = Effort(rounds=4, quick=True)


@dataclass(frozen=True)
class Samples:
    """Seconds per call of one contender, one entry per round."""

    seconds: tuple[float, ...]
    calls: int = 1

    @property
    def best(self) -> float:
        """Fastest round, in seconds per call."""
        return min(self.seconds)

    @property
    def median(self) -> float:
        """Median round, in seconds per call."""
        return statistics.median(self.seconds)

    def ratio_to(self, other: "Samples") -> float:
        """Return this contender's best time over the other's: what else the machine does only ever adds to a time."""
        return self.best / other.best

    def paired_ratio_to(self, other: "Samples") -> float:
        """Return the median over rounds of this contender's time over the other's in the same round."""
        return statistics.median(a / b for a, b in zip(self.seconds, other.seconds, strict=True))


@dataclass(frozen=True)
class Case:
    """One thing measured for several contenders. `ours` is compared with every other; `limits` names the targets."""

    name: str
    samples: Mapping[str, Samples]
    ours: str = "funcgrad"
    limits: Mapping[str, float] = field(default_factory=dict[str, float])

    def ratio(self, contender: str) -> float:
        """Return our best time over the contender's, dimensionless."""
        return self.samples[self.ours].ratio_to(self.samples[contender])

    def paired_ratio(self, contender: str) -> float:
        """Return the median over rounds of our time over the contender's, dimensionless."""
        return self.samples[self.ours].paired_ratio_to(self.samples[contender])

    def reached(self, contender: str) -> bool | None:
        """Tell whether the target against this contender is met; None where there is no target."""
        limit = self.limits.get(contender)
        return None if limit is None else self.ratio(contender) <= limit


@dataclass(frozen=True)
class Check:
    """A number, other than a ratio of two contenders, and the most that it may be (None: only reported)."""

    name: str
    value: float
    unit: str
    limit: float | None = None

    @property
    def reached(self) -> bool | None:
        """Tell whether the target is met; None where there is no target."""
        return None if self.limit is None else self.value <= self.limit


@dataclass(frozen=True)
class Breakdown:
    """The parts of a time: seconds per phase, for each contender."""

    name: str
    phases: Mapping[str, Mapping[str, float]]


@dataclass
class Suite:
    """The results of one benchmark module. `accelerator` names the GPU that it ran on; None on the CPU."""

    name: str
    cases: list[Case] = field(default_factory=list[Case])
    checks: list[Check] = field(default_factory=list[Check])
    breakdowns: list[Breakdown] = field(default_factory=list[Breakdown])
    notes: list[str] = field(default_factory=list[str])
    accelerator: str | None = None


def interleave(contenders: Mapping[str, Callable[[], object]], effort: Effort) -> dict[str, Samples]:
    """Time every contender once per round, in an order that turns round from one round to the next.

    Each contender is warmed up first, and calibrated to a number of calls that fills a sample. The garbage collector
    stays on, as it is for users.
    """
    calls = {name: _calibrate(call, effort.sample_seconds) for name, call in contenders.items()}
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    names: Sequence[str] = list(contenders)
    gc.collect()
    for _ in range(effort.rounds):
        for name in names:
            seconds[name].append(_sample(contenders[name], calls[name]))
        names = names[::-1]
    return {name: Samples(tuple(seconds[name]), calls[name]) for name in contenders}


def interleave_once(contenders: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, Samples]:
    """Like `interleave`, for contenders that time themselves and return seconds; one unrecorded round warms up."""
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    names: Sequence[str] = list(contenders)
    for index in range(rounds + 1):
        for name in names:
            gc.collect()
            elapsed = contenders[name]()
            if index > 0:
                seconds[name].append(elapsed)
        names = names[::-1]
    return {name: Samples(tuple(values)) for name, values in seconds.items()}


def joined(batches: Sequence[Samples]) -> Samples:
    """Return the rounds of several batches of one contender, one after the other."""
    return Samples(tuple(seconds for batch in batches for seconds in batch.seconds), batches[-1].calls)


def _calibrate(call: Callable[[], object], sample_seconds: float) -> int:
    """Return how many calls fill a sample, from the second call on (the first one warms up)."""
    call()
    count = 1
    while True:
        elapsed = _sample(call, count) * count
        if elapsed >= sample_seconds / 2:
            return max(1, round(count * sample_seconds / elapsed))
        count *= 4


def _sample(call: Callable[[], object], calls: int) -> float:
    """Return the mean seconds per call over `calls` calls."""
    repeat = range(calls)
    start = time.perf_counter()
    for _ in repeat:
        call()
    return (time.perf_counter() - start) / calls
