"""Four processes of the distributed example, of which some are killed, beside one that was never stopped.

``make processes`` runs it: half a minute of two cores. Every run ends within a bounded time, and nothing is left.
"""

from __future__ import annotations

import os
import random
import re
import runpy
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import funcgrad as fg

ROOT = Path(__file__).parents[1]
SCRIPT = ROOT / "examples" / "distributed.py"
STEPS, EVERY = 120, 5
# Seconds: until a run ends after one of its processes was killed, and until any run ends.
PATIENCE, LIMIT = 25, 120


def start(folder: Path, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, str(SCRIPT), "--folder", str(folder), "--local", str(count)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    return subprocess.Popen(
        [*command, "--steps", str(STEPS), "--every", str(EVERY)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def killed(folder: Path, count: int, victim: int, until: int) -> float:
    """Start a run, kill a process of it when it has saved a step, and return how long it then takes to end."""
    checkpoints = fg.CheckpointDir(folder / "checkpoints")
    run = start(folder, count)
    assert run.stdout is not None
    pids = [int(x) for x in re.findall(r"\d+", run.stdout.readline())]
    deadline = time.monotonic() + LIMIT
    while (checkpoints.latest() or 0) < until and run.poll() is None and time.monotonic() < deadline:
        time.sleep(1e-3)
    os.kill(pids[victim], signal.SIGKILL)
    begin = time.monotonic()
    _, said = run.communicate(timeout=PATIENCE)
    took = time.monotonic() - begin
    assert run.returncode == 1, said
    assert f"process {victim} ended with status -9" in said, said
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]
    return took


def main() -> None:
    train = runpy.run_path(str(SCRIPT))["train"]
    dice = random.Random(0)
    with tempfile.TemporaryDirectory() as name:
        whole, stopped = Path(name) / "whole", Path(name) / "stopped"
        wanted, value, _ = train(whole, STEPS, EVERY)
        checkpoints = fg.CheckpointDir(stopped / "checkpoints")
        for count in (4, 2):
            until = (checkpoints.latest() or 0) + dice.randint(5, 25)
            took = killed(stopped, count, dice.randrange(count), until)
            sys.stdout.write(f"one of {count} killed: the run ended after {took:.1f} s at {checkpoints.latest()}\n")
        with start(stopped, 4) as last:
            said = last.communicate(timeout=LIMIT)
        assert last.returncode == 0, said
        found = checkpoints.load(like=None)
        for x, y in zip(fg.tree.leaves(found["params"]), fg.tree.leaves(wanted["params"]), strict=True):
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-5)
        losses = [float(x) for x in re.findall(r"loss ([\d.]+)", said[0])]
        assert len(losses) == 4
        assert all(abs(x - value) < 1e-5 for x in losses), (losses, value)
        sys.stdout.write(f"four processes, after two runs that were killed, equal one: loss {value:.6f}\n")


if __name__ == "__main__":
    main()
