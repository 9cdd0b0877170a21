"""The example runs as a user runs it, for a few epochs. It learns and draws, and needs no JAX on NumPy."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EPOCHS = 4

# This text is put before the script on the NumPy engine: importing JAX ends the program.
WITHOUT_JAX = """
import runpy, sys
sys.modules["jax"] = None
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def run(*command: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "MPLBACKEND": "Agg"}
    done = subprocess.run(
        [sys.executable, "-W", "error", *command],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("engine", ["numpy", pytest.param("xla", marks=pytest.mark.long)])
def test_learns_and_draws(engine: str, tmp_path: Path) -> None:
    script = str(ROOT / "examples" / "digits.py")
    before = ["-c", WITHOUT_JAX] if engine == "numpy" else []
    picture = tmp_path / "pictures" / "digits.png"
    out = run(*before, script, "--engine", engine, "--epochs", str(EPOCHS), "--seed", "1", "--output", str(picture))
    accuracy = re.search(r"test accuracy: (0\.\d+) on 360 digits", out)
    assert accuracy is not None, out
    assert float(accuracy[1]) >= 0.95
    assert f"picture: {picture}" in out
    assert picture.read_bytes().startswith(b"\x89PNG")
