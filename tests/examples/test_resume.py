"""The example that is killed and resumes: its bits equal those of a run that was never stopped."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import funcgrad as fg
from tests.examples.test_digits import ROOT

SCRIPT = ROOT / "examples" / "resume.py"
STEPS, EVERY, KILLS = 400, 2, 15


def start(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, str(SCRIPT), "--folder", str(folder), "--steps", str(STEPS), "--every", str(EVERY)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.Popen([*command, "--quiet"], env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.long
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="the system has no SIGKILL")
def test_killed_at_random_moments_it_ends_with_the_bits_of_a_run_that_was_not(tmp_path: Path) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    with start(whole) as first:
        said = first.communicate(timeout=120)[0]
    assert first.returncode == 0
    dice = random.Random(0)
    for _ in range(KILLS):
        begin = reached(stopped)
        further = begin + dice.randint(1, 20)
        with start(stopped) as running:
            deadline = time.monotonic() + 60
            while reached(stopped) < further and running.poll() is None and time.monotonic() < deadline:
                time.sleep(1e-3)
            # A step takes about as long as saving it, so the kill may fall into either.
            time.sleep(dice.uniform(0, 5e-3))
            running.kill()
        assert running.returncode == -signal.SIGKILL
        assert begin < reached(stopped) < STEPS
    with start(stopped) as last:
        assert last.communicate(timeout=120)[0] == said
    one, other = (fg.CheckpointDir(folder) for folder in (whole, stopped))
    assert one.steps() == other.steps() == [STEPS - EVERY, STEPS]
    files = [folder / f"step_{STEPS:010d}.safetensors" for folder in (whole, stopped)]
    assert files[0].read_bytes() == files[1].read_bytes()


def reached(folder: Path) -> int:
    """Return the step of the latest checkpoint."""
    return fg.CheckpointDir(folder).latest() or 0
