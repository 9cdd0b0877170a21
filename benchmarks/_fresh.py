"""Fresh interpreters, for what only a process of its own can tell: cold starts and peak memory."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def output_of(code: str) -> str:
    """Return what `code` prints in a fresh interpreter that finds this working tree first, and may keep bytecode."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"a fresh process ended with status {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout
