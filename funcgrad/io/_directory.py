"""``CheckpointDir``: a folder of checkpoints by step, of which the latest are kept."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

from funcgrad._engines.xla.door import processes
from funcgrad._public import published_as
from funcgrad.errors import CheckpointError
from funcgrad.io._describe import Description
from funcgrad.io._file import check_path
from funcgrad.io._save import load, write

# A file, or the folder of arrays that are spread over processes.
_NAME = re.compile(r"step_(\d{10,})(?:\.safetensors)?")
_LEFT_OVER = re.compile(r"\.step_\d{10,}(?:\.safetensors\.[0-9a-f]{8}\.part|\.part|\.old)")


@published_as("funcgrad")
class CheckpointDir:
    """A folder of checkpoints, one file a step, of which the latest are kept.

    One process writes, or all of one program together, of which the folder is then the same (`funcgrad.save` says what
    is written how); any number may read meanwhile. A checkpoint is there whole, under its name, or not at all, and
    an older one goes only when the newer ones are on the disk.

    Args:
        path: The folder; made, with those above it, when the first checkpoint is saved.
        keep: How many checkpoints to keep; ``None`` keeps all.

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
                f"CheckpointDir: keep must be how many checkpoints are kept. Arrived {keep!r}, needed a whole number "
                "from 1 on, or None for all. Pass keep=3, say."
            )
        check_path("CheckpointDir", path)
        self.path = Path(path)
        if self.path.exists() and not self.path.is_dir():
            raise NotADirectoryError(
                f"CheckpointDir: path is the file {self.path}; needed a folder, which is made where there is "
                "none. Name one."
            )
        self.keep = keep

    def __repr__(self) -> str:
        return f"CheckpointDir({os.fspath(self.path)!r}, keep={self.keep})"

    def steps(self) -> list[int]:
        """The steps there are checkpoints of, in rising order; none where the folder does not exist yet."""
        try:
            names = os.listdir(self.path)
        except FileNotFoundError:
            return []
        return sorted({int(found[1]) for found in map(_NAME.fullmatch, names) if found})

    def latest(self) -> int | None:
        """The last step there is a checkpoint of, or ``None``."""
        return max(self.steps(), default=None)

    def save(self, step: int, tree: Any) -> None:
        """Write the checkpoint of a step, then remove those that are not kept.

        Args:
            step: How far the run has come: a whole number from 0 on. A checkpoint of the same step is replaced.
            tree: What to write, as for `funcgrad.save`.

        Raises:
            ValueError: `step` is negative or no whole number.
            TypeError, OSError: as `funcgrad.save`; the checkpoints that were there before stay.
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

    def load(self, step: int | None = None, like: Any = None) -> Any:
        """Read a checkpoint, the latest unless a step is named.

        A damaged checkpoint is an error, never skipped in silence: name an earlier step to go on from that.

        Args:
            step: One of `steps`.
            like: A tree of the structure and classes that are needed, as for `funcgrad.load`.

        Returns:
            The tree.

        Raises:
            FileNotFoundError: There is no checkpoint, or none of this step.
            CheckpointError: The file is damaged, or does not hold what `like` is made of.
        """
        if step is None:
            return self._load_latest(like)
        file = self._file(step, "load")
        try:
            return load(file.with_suffix("") if file.with_suffix("").is_dir() else file, like)
        except FileNotFoundError:
            raise FileNotFoundError(
                f"CheckpointDir.load: there is no checkpoint of step {step} in {self.path}. There are {self.steps()}. "
                "Name one of these, or none for the latest."
            ) from None
        except CheckpointError as error:
            earlier = [known for known in self.steps() if known != step]
            if earlier:
                error.add_note(f"The other checkpoints in {self.path} are of the steps {earlier}.")
            raise

    def _load_latest(self, like: Any) -> Any:
        while True:
            step = self.latest()
            if step is None:
                raise FileNotFoundError(
                    f"CheckpointDir.load: there is no checkpoint in {self.path}. Save one first; `latest()` tells "
                    "whether there is one."
                )
            try:
                return self.load(step, like)
            except FileNotFoundError:
                # Whoever writes has removed it since for a later one, which is then read.
                if self.latest() == step:
                    raise

    def _file(self, step: int, asked: str) -> Path:
        try:
            number = step.__index__()
        except AttributeError:
            number = -1
        if number < 0 or isinstance(step, bool):
            raise ValueError(
                f"CheckpointDir.{asked}: step must say how far the run has come. Arrived {step!r}, needed a whole "
                "number from 0 on. Pass the number of steps taken."
            )
        return self.path / f"step_{number:010d}.safetensors"

    def _sweep(self) -> None:
        """Remove what a writer that was killed has left: there is one writer, and it has just finished."""
        for name in os.listdir(self.path):
            if _LEFT_OVER.fullmatch(name):
                shutil.rmtree(self.path / name, ignore_errors=True)


def _remove(path: Path) -> None:
    """Remove a checkpoint; a folder is out of sight before its files go."""
    if path.is_dir():
        old = path.with_name(f".{path.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        path.replace(old)
        shutil.rmtree(old, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
