"""Fresh interpreters, for what only a process of its own can tell: cold starts and peak memory."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def output_of(code: str) -> str:
    """Return what `code` prints in a fresh interpreter that finds this working tree first."""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"a fresh process ended with status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout
