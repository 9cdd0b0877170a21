"""The example of several processes: two of them equal one, which goes on from what they have saved together.

``make processes`` runs four of them, and kills some (``tests/processes.py``).
"""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import funcgrad as fg
from funcgrad.errors import CheckpointError
from tests.examples.test_digits import ROOT

SCRIPT = ROOT / "examples" / "distributed.py"
LIMIT = 120  # seconds


def test_two_processes_equal_one_and_one_goes_on(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", str(SCRIPT), "--local", "2", "--folder", str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [*command, "--steps", "6", "--every", "3"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    # Each has read its half of six batches of 64 rows.
    assert sorted(re.findall(r"process (\d) of 2: step 6, loss [\d.]+, (\d+) rows", done.stdout)) == [
        ("0", "192"),
        ("1", "192"),
    ]
    checkpoints = fg.CheckpointDir(tmp_path / "checkpoints")
    assert checkpoints.steps() == [3, 6]
    assert sorted(os.listdir(checkpoints.path)) == ["step_0000000003", "step_0000000006"]
    folder = checkpoints.path / "step_0000000006"
    assert sorted(os.listdir(folder)) == ["arrays", "sums.0.json", "sums.1.json", "tree.safetensors"]
    train = runpy.run_path(str(SCRIPT))["train"]
    by_two = fg.load(folder)
    for steps, run in ((6, by_two), (9, None)):
        whole, value, _ = train(tmp_path / "alone", steps, 3)
        found, other, _ = (run, value, 0) if run else train(tmp_path, steps, 3)
        assert abs(value - other) < 1e-5
        pairs = (fg.tree.leaves(tree["params"]) for tree in (whole, found))
        for x, y in zip(*pairs, strict=True):
            np.testing.assert_allclose(x, y, rtol=0, atol=1e-5)
    assert checkpoints.steps() == [3, 6, 9]
    assert type(by_two["state"]["slots"][0]["first"]) is np.ndarray
    faults_are_named(folder)


def faults_are_named(folder: Path) -> None:
    """What is wrong with a folder that several processes wrote."""
    largest = max((path for path in (folder / "arrays").rglob("*") if path.is_file()), key=lambda x: x.stat().st_size)
    for path, change, error, pattern in (
        (largest, lambda data: bytes([data[0] ^ 1]) + data[1:], CheckpointError, "the file arrays/.* is damaged"),
        (largest, lambda data: data[:-1], CheckpointError, "the file arrays/.* is damaged"),
        (largest, None, CheckpointError, "of [0-9]+ files in arrays [0-9]+ are there"),
        (folder / "sums.1.json", None, CheckpointError, "its checksums cannot be read"),
        (folder / "tree.safetensors", lambda data: data[:-1], CheckpointError, "the file is cut short"),
        (folder / "tree.safetensors", None, IsADirectoryError, "a folder, and no checkpoint"),
    ):
        data = path.read_bytes()
        path.unlink()
        if change is not None:
            path.write_bytes(change(data))
        with pytest.raises(error, match=pattern):
            fg.load(folder)
        path.write_bytes(data)
    assert fg.load(folder)["step"] == 6
