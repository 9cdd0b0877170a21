"""Runs the Array API's test suite on traced values: ``python -m tests.array_api``, or ``make array-api``.

The suite is cloned from where it is published, at one commit. What does not pass, and why, stands in ``xfails.txt``.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
ADDRESS = "https://github.com/data-apis/array-api-tests"
# A commit of 2026. The standard is its submodule.
COMMIT = "55fcc60179efa2680ddd6cd926ddf17b83530e2b"
# The version of the standard that NumPy implements. These arrays stand for NumPy's.
VERSION = "2024.12"
MODES = ("forward", "reverse")


def fetch(folder: Path) -> None:
    """Clone the suite and the standard in it, unless they are there."""
    if not (folder / "conftest.py").exists():
        _git("clone", "--quiet", "--no-checkout", ADDRESS, str(folder))
        _git("-C", str(folder), "checkout", "--quiet", COMMIT)
    if not any((folder / "array-api").iterdir()):
        _git("-C", str(folder), "submodule", "--quiet", "update", "--init", "--depth", "1")


def _git(*words: str) -> None:
    try:
        subprocess.run(("git", *words), check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        said = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1]
        raise SystemExit(f"array-api: the test suite of {ADDRESS} cannot be had: {said}") from error


def run(folder: Path, mode: str, examples: int, args: list[str]) -> int:
    """Run the suite once in a process of its own, with its configuration, and return the exit status."""
    environment = {
        **os.environ,
        "ARRAY_API_TESTS_MODULE": f"exec('from tests.array_api.traced import entered; xp = entered(\"{mode}\")')",
        "ARRAY_API_TESTS_VERSION": VERSION,
        # These are known to fail, and hypothesis would look for the smallest failing example of each.
        "ARRAY_API_TESTS_XFAIL_MARK": "skip",
        "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH")))),
    }
    options = ["-q", "-p", "no:cacheprovider", "--disable-warnings", "--hypothesis-disable-deadline"]
    options += [f"--hypothesis-max-examples={examples}", f"--xfails-file={HERE / 'xfails.txt'}"]
    words = [sys.executable, "-m", "pytest", *options, *(args or ["array_api_tests"])]
    sys.stdout.write(f"array-api: arrays traced by {mode} mode\n")
    sys.stdout.flush()
    return subprocess.run(words, cwd=folder, env=environment, check=False).returncode


def main() -> int:
    """Fetch the suite and run it in each mode."""
    parser = argparse.ArgumentParser(prog="python -m tests.array_api")
    parser.add_argument("--suite", type=Path, default=ROOT / "build" / "array-api-tests", help="where the suite lies")
    parser.add_argument("--mode", choices=MODES, action="append", help="how arrays are traced; in every way by default")
    parser.add_argument("--examples", type=int, default=20, help="how many random inputs each test tries")
    options, args = parser.parse_known_args()
    fetch(options.suite)
    return max(run(options.suite, mode, options.examples, args) for mode in options.mode or MODES)


if __name__ == "__main__":
    sys.exit(main())
