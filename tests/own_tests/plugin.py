"""Pytest's plugin: records the calls of a suite while its tests run."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.own_tests import rewrite
from tests.own_tests.recorder import OutOfTime, Recorder, ring

# Seconds of the processor that a test may take.
_TEST = 20.0


class Recording:
    """Records while a test runs, and ends one that takes too long."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        if time.time() > self._recorder.until:
            self._recorder.counts["tests not run, out of time"] += 1
            pytest.skip("out of time")
        self._recorder.test, self._recorder.active = item.nodeid, True
        self._recorder.counts["tests"] += 1
        signal.setitimer(signal.ITIMER_PROF, _TEST)
        try:
            return (yield)
        except OutOfTime:
            pytest.fail(f"more than {_TEST} s")
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            self._recorder.active = False

    def pytest_sessionfinish(self) -> None:
        """Write the counts."""
        self._recorder.add(counts=dict(self._recorder.counts))


def pytest_configure(config: pytest.Config) -> None:
    """Begin to change test modules, as the settings in the environment say."""
    settings = json.loads(os.environ["OWN_TESTS"])
    out = Path(settings.pop("folder")) / f"{os.getpid()}.jsonl"
    recorder = Recorder(out, **settings)
    rewrite.install(recorder.called)
    signal.signal(signal.SIGPROF, ring)
    config.pluginmanager.register(Recording(recorder))
