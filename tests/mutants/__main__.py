"""Plant faults and count those that the tests notice: `make mutants`, or with words of their names in `ARGS`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.mutants.table import MUTANTS, Mutant

CHECKOUT = Path(__file__).parents[2]
_NOTICED = 1  # pytest's exit status if a test failed


def is_noticed(mutant: Mutant, limit: float = 900.0) -> bool:
    """Plant a fault into a copy of the package, and return whether one of its tests fails.

    Raises:
        ValueError: the file does not contain the text once, or the tests do not run.
    """
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name)
        for folder in ("funcgrad", "tests"):
            shutil.copytree(CHECKOUT / folder, copy / folder, ignore=shutil.ignore_patterns("__pycache__"))
        for file in ("conftest.py", "pyproject.toml"):
            shutil.copy(CHECKOUT / file, copy / file)
        path = copy / "funcgrad" / mutant.file
        text = path.read_text()
        if text.count(mutant.right) != 1:
            raise ValueError(f"{mutant.file} contains {text.count(mutant.right)} times: {mutant.right!r}; needed once.")
        path.write_text(text.replace(mutant.right, mutant.wrong))
        command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-m", "not long", *mutant.tests]
        environment = {**os.environ, "PYTHONPATH": name}
        done = subprocess.run(
            command, check=False, cwd=name, env=environment, timeout=limit, capture_output=True, text=True
        )
    if done.returncode not in (0, _NOTICED):
        raise ValueError(f"the tests did not run: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode == _NOTICED


def main(words: list[str]) -> int:
    """Run the faults whose names contain one of the words; the exit status tells whether one was not noticed."""
    chosen = {name: each for name, each in MUTANTS.items() if not words or any(word in name for word in words)}
    noticed = 0
    for name, mutant in chosen.items():
        found = is_noticed(mutant)
        noticed += found
        sys.stdout.write(f"{'noticed' if found else 'NOT NOTICED'}: {name}\n")
        sys.stdout.flush()
    sys.stdout.write(f"{noticed} of {len(chosen)} faults were noticed\n")
    return int(noticed < len(chosen))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
