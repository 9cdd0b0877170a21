"""The PyTorch-style loop learns to read, and the diff in the porting guide is the difference of the two loops."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run(*arguments: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *arguments], env=environment, capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_it_learns() -> None:
    found = re.search(r"not seen: (0\.\d+)", run("examples/imperative_digits.py"))
    assert found is not None
    assert float(found[1]) >= 0.96


def test_the_ported_loop_of_the_guide_runs() -> None:
    text = (ROOT / "docs" / "start" / "from_pytorch.md").read_text()
    (diff,) = re.findall(r"```diff\n(.*?)```", text, re.DOTALL)
    ported = [line[1:] for line in diff.splitlines() if not line.startswith("-")]
    assert re.search(r"loss 0\.\d+", run("-c", "\n".join(ported)))
