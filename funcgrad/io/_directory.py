"""``CheckpointDir``: a folder with one checkpoint per step, which keeps the latest ones."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

from funcgrad._engines.xla.record import processes
from funcgrad._public import published_as
from funcgrad._types import PyTree
from funcgrad.errors import CheckpointError
from funcgrad.io._describe import Description
from funcgrad.io._file import check_path
from funcgrad.io._save import load, write

# Match a file, or a folder of arrays that are spread over processes.
_NAME = re.compile(r"step_(\d{10,})(?:\.safetensors)?")
_LEFT_OVER = re.compile(r"\.step_\d{10,}(?:\.safetensors\.[0-9a-f]{8}\.part|\.part|\.old)")


@published_as("funcgrad")
class CheckpointDir:
    """A folder of checkpoints, one file per step, which keeps the latest ones.

    One process writes; or all processes of one program write together, with the same path (see `funcgrad.save`). Any
    number of processes may read at the same time. A checkpoint appears under its name only when it is complete. An
    older one is removed only after the newer ones are on the disk.

    Args:
        path: The folder. The first `save` makes it, with its parents.
        keep: The number of checkpoints to keep; ``None`` keeps all.

    Raises:
        ValueError: `keep` is not a positive whole number.

    Example:
        >>> import os, tempfile
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> checkpoints = fg.CheckpointDir(os.path.join(tempfile.mkdtemp(), "run"), keep=2)
        >>> print(checkpoints.latest())
        None
        >>> for step in (100, 200, 300):
        ...     checkpoints.save(step, {"w": np.full(2, step)})
        >>> checkpoints.steps()
        [200, 300]
        >>> checkpoints.load()
        {'w': array([300, 300])}
    """

    def __init__(self, path: str | os.PathLike[str], keep: int | None = 3) -> None:
        if keep is not None and (isinstance(keep, bool) or not isinstance(keep, int) or keep < 1):
            raise ValueError(
                f"CheckpointDir: keep must be the number of checkpoints to keep. Arrived {keep!r}, needed a whole "
                "number from 1 on, or None for all. Pass keep=3, for example."
            )
        check_path("CheckpointDir", path)
        self.path = Path(path)
        if self.path.exists() and not self.path.is_dir():
            raise NotADirectoryError(
                f"CheckpointDir: path is the file {self.path}; needed a folder, or a name that does not exist yet. "
                "Choose another name."
            )
        self.keep = keep

    def __repr__(self) -> str:
        return f"CheckpointDir({os.fspath(self.path)!r}, keep={self.keep})"

    def steps(self) -> list[int]:
        """Return the steps that have a checkpoint, in rising order; an empty list if the folder does not exist yet."""
        try:
            names = os.listdir(self.path)
        except FileNotFoundError:
            return []
        return sorted({int(found[1]) for found in map(_NAME.fullmatch, names) if found})

    def latest(self) -> int | None:
        """Return the last step that has a checkpoint, or ``None``."""
        return max(self.steps(), default=None)

    def save(self, step: int, tree: PyTree) -> None:
        """Write the checkpoint of a step, then remove the old checkpoints.

        Args:
            step: The number of steps taken so far: a whole number from 0 on. A checkpoint of the same step is replaced.
            tree: The tree to write, as for `funcgrad.save`.

        Raises:
            ValueError: `step` is negative or no whole number.
            TypeError, OSError: As for `funcgrad.save`; the existing checkpoints stay.
        """
        file = self._file(step, "save")
        self.path.mkdir(parents=True, exist_ok=True)
        description = Description(tree, "save")
        target, other = (file.with_suffix(""), file) if description.spread else (file, file.with_suffix(""))
        write(target, description)
        if description.is_shared and processes.index() != 0:
            return
        _remove(other)
        if self.keep is not None:
            for old in self.steps()[: -self.keep]:
                if old != step:
                    _remove(self._file(old, "save"))
                    _remove(self._file(old, "save").with_suffix(""))
        self._sweep()

    def load(self, step: int | None = None, like: PyTree = None) -> Any:
        """Read a checkpoint, the latest one by default.

        A damaged checkpoint raises and is never skipped. Pass an earlier step to continue from that one.

        Args:
            step: One of `steps`.
            like: A tree of the needed structure and classes, as for `funcgrad.load`.

        Returns:
            The tree.

        Raises:
            FileNotFoundError: There is no checkpoint, or none of this step.
            CheckpointError: The file is damaged, or does not match `like`.
        """
        if step is None:
            return self._load_latest(like)
        file = self._file(step, "load")
        try:
            return load(file.with_suffix("") if file.with_suffix("").is_dir() else file, like)
        except FileNotFoundError:
            raise FileNotFoundError(
                f"CheckpointDir.load: there is no checkpoint of step {step} in {self.path}. There are {self.steps()}. "
                "Pass one of these, or none for the latest."
            ) from None
        except CheckpointError as error:
            earlier = [known for known in self.steps() if known != step]
            if earlier:
                error.add_note(f"The other checkpoints in {self.path} are of the steps {earlier}.")
            raise

    def _load_latest(self, like: PyTree) -> Any:
        while True:
            step = self.latest()
            if step is None:
                raise FileNotFoundError(
                    f"CheckpointDir.load: there is no checkpoint in {self.path}. Save one first; `latest()` returns "
                    "None if there is none."
                )
            try:
                return self.load(step, like)
            except FileNotFoundError:
                # The writer has removed this checkpoint since, because there is a later one. Read that.
                if self.latest() == step:
                    raise

    def _file(self, step: int, asked: str) -> Path:
        try:
            number = step.__index__()
        except AttributeError:
            number = -1
        if number < 0 or isinstance(step, bool):
            raise ValueError(
                f"CheckpointDir.{asked}: step must be the number of steps taken. Arrived {step!r}, needed a whole "
                "number from 0 on. Pass the number of steps taken."
            )
        return self.path / f"step_{number:010d}.safetensors"

    def _sweep(self) -> None:
        """Remove the temporary files of writers that were killed.

        There is only one writer, and it has just finished.
        """
        for name in os.listdir(self.path):
            if _LEFT_OVER.fullmatch(name):
                shutil.rmtree(self.path / name, ignore_errors=True)


def _remove(path: Path) -> None:
    """Remove a checkpoint. A folder is renamed first, so that no reader sees it without some of its files."""
    if path.is_dir():
        old = path.with_name(f".{path.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        path.replace(old)
        shutil.rmtree(old, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
