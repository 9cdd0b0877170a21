"""The example of several processes: it equals one process, resumes from other numbers of processes, and survives kills.

Every run ends within a bounded time, on the loopback interface, and leaves no process behind.
"""

from __future__ import annotations

import os
import random
import re
import runpy
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import CheckpointError
from tests.examples.test_digits import ROOT

SCRIPT = ROOT / "examples" / "distributed.py"
# Seconds until any run must end, and until a run with a killed process must end.
LIMIT, PATIENCE = 120, 25


def start(folder: Path, count: int, steps: int, every: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "error", str(SCRIPT), "--folder", str(folder), "--local", str(count)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    return subprocess.Popen(
        [*command, "--steps", str(steps), "--every", str(every)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.long
def test_two_processes_equal_one_and_one_goes_on(tmp_path: Path) -> None:
    with start(tmp_path, 2, 6, 3) as run:
        out, errors = run.communicate(timeout=LIMIT)
    assert run.returncode == 0, errors
    # Each process has read half of six batches of 64 rows.
    said = sorted(re.findall(r"process (\d) of 2: step 6, loss [\d.]+, (\d+) rows", out))
    assert said == [("0", "192"), ("1", "192")]
    checkpoints = fg.CheckpointDir(tmp_path / "checkpoints")
    assert checkpoints.steps() == [3, 6]
    assert sorted(os.listdir(checkpoints.path)) == ["step_0000000003", "step_0000000006"]
    folder = checkpoints.path / "step_0000000006"
    assert sorted(os.listdir(folder)) == ["arrays", "sums.0.json", "sums.1.json", "tree.safetensors"]
    train = runpy.run_path(str(SCRIPT))["train"]
    by_two = fg.load(folder)
    equal(by_two, train(tmp_path / "alone", 6, 3)[0])
    equal(train(tmp_path, 9, 3)[0], train(tmp_path / "alone", 9, 3)[0])
    assert checkpoints.steps() == [3, 6, 9]
    assert type(by_two["state"]["slots"][0]["first"]) is np.ndarray
    faults_are_named(folder)


def faults_are_named(folder: Path) -> None:
    """Damage a folder that several processes wrote, and check that the error names the fault."""
    largest = max((path for path in (folder / "arrays").rglob("*") if path.is_file()), key=lambda x: x.stat().st_size)
    for path, change, error, pattern in (
        (largest, lambda data: bytes([data[0] ^ 1]) + data[1:], CheckpointError, "the file arrays/.* is damaged"),
        (largest, lambda data: data[:-1], CheckpointError, "the file arrays/.* is damaged"),
        (largest, None, CheckpointError, "it has [0-9]+ of the [0-9]+ files in arrays"),
        (folder / "sums.1.json", None, CheckpointError, "its checksums cannot be read"),
        (folder / "tree.safetensors", lambda data: data[:-1], CheckpointError, "the file is cut short"),
        (folder / "tree.safetensors", None, IsADirectoryError, "this folder is not a checkpoint"),
    ):
        data = path.read_bytes()
        path.unlink()
        if change is not None:
            path.write_bytes(change(data))
        with pytest.raises(error, match=pattern):
            fg.load(folder)
        path.write_bytes(data)
    assert fg.load(folder)["step"] == 6


def equal(one: dict[str, Any], other: dict[str, Any]) -> None:
    """Return whether two runs have the same parameters."""
    assert one["step"] == other["step"]
    for x, y in zip(fg.tree.leaves(one["params"]), fg.tree.leaves(other["params"]), strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-5)


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self").exists(), reason="processes are looked up in /proc")
def test_four_processes_of_which_some_are_killed_end_as_one_that_was_not(tmp_path: Path) -> None:
    steps, every = 120, 5
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    wanted = runpy.run_path(str(SCRIPT))["train"](whole, steps, every)[0]
    checkpoints = fg.CheckpointDir(stopped / "checkpoints")
    dice = random.Random(0)
    for count in (4, 2):
        begin = checkpoints.latest() or 0
        kill_one(stopped, count, dice.randrange(count), begin + dice.randint(5, 25), steps, every)
        assert begin < (checkpoints.latest() or 0) < steps
    with start(stopped, 4, steps, every) as last:
        out, errors = last.communicate(timeout=LIMIT)
    assert last.returncode == 0, errors
    assert len(re.findall(r"of 4: step 120", out)) == 4
    equal(checkpoints.load(), wanted)


def kill_one(folder: Path, count: int, victim: int, until: int, steps: int, every: int) -> None:
    """Kill a process when a step has been saved: the run ends soon after, and the other processes report the reason."""
    checkpoints = fg.CheckpointDir(folder / "checkpoints")
    run = start(folder, count, steps, every)
    assert run.stdout is not None
    pids = [int(x) for x in re.findall(r"\d+", run.stdout.readline())]
    deadline = time.monotonic() + LIMIT
    while (checkpoints.latest() or 0) < until and run.poll() is None and time.monotonic() < deadline:
        time.sleep(1e-3)
    os.kill(pids[victim], signal.SIGKILL)
    said = run.communicate(timeout=PATIENCE)[1]
    assert run.returncode == 1, said
    assert f"process {victim} ended with status -9" in said
    assert f"of {count} ends, since another one was lost" in said
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
