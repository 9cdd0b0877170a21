"""Save trees with arrays that are spread over several processes: a folder that all processes write and read together.

In it, ``tree.safetensors`` is the file that `funcgrad.save` writes of any tree, without the arrays of which no process
has the whole. These are in ``arrays``, where orbax writes the parts of each process. ``sums.0.json``, ... have a
checksum of each of orbax's files. Any number of processes can read the folder.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from funcgrad._core.lazy import LazyModule
from funcgrad._engines import engine_of
from funcgrad._engines.xla.record import processes, xla
from funcgrad._types import PyTree
from funcgrad.errors import CheckpointError
from funcgrad.io._build import Match, arrays_of, built
from funcgrad.io._describe import DTYPES, Description, Node
from funcgrad.io._file import need_folder, read_file, sync_folder, write_file

orbax: Any = LazyModule("orbax.checkpoint")

_TREE, _ARRAYS = "tree.safetensors", "arrays"
_PIECE = 1 << 23  # bytes


def write_once(path: Path, description: Description) -> None:
    """Write the file of a tree of which every process has the whole: the first process writes, and the others wait."""
    _together(lambda: write_file(path, description) if processes.index() == 0 else None)


def _together(work: Callable[[], Any]) -> None:
    """Run a function in all processes.

    If one raises, it raises there, and the other processes raise that another failed.
    """
    error = None
    try:
        work()
    except Exception as raised:
        error = raised
        raise
    finally:
        well = processes.all_agree(error is None)
    if not well:
        raise OSError(
            f"save: another process than this one, which is number {processes.index()} of {processes.count()}, could "
            "not write its part. No existing checkpoint was replaced. The message of that process says why."
        )


def write_folder(path: Path, description: Description) -> None:
    """Write a tree with spread arrays, completely or not at all."""
    _need_orbax("save")
    # All processes use this one name. `_begin` removes the remains of a killed run.
    folder = path.with_name(f".{path.name}.part")
    first = processes.index() == 0
    _together(lambda: _begin(folder, path) if first else None)
    try:
        _together(lambda: write_file(folder / _TREE, description) if first else None)
        with xla.scope():
            orbax.PyTreeCheckpointer().save(folder.absolute() / _ARRAYS, _keyed(description.spread))
        _together(lambda: _write_sums(folder))
        _together(lambda: _replace(folder, path) if first else None)
    finally:
        if first:
            shutil.rmtree(folder, ignore_errors=True)


def _begin(folder: Path, path: Path) -> None:
    need_folder(path)
    if path.exists() and not path.is_dir():
        raise FileExistsError(
            f"save: some arrays are spread over several processes, so they need a folder. Arrived the file {path}. "
            "Remove it, or choose another name."
        )
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()


def _keyed(arrays: dict[str, Any]) -> dict[str, Any]:
    """Return the arrays by their numbers: a file system may not accept their names."""
    return {str(i): x for i, x in enumerate(arrays.values())}


def _replace(folder: Path, path: Path) -> None:
    old = path.with_name(f".{path.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if path.is_dir():
        os.replace(path, old)
    os.replace(folder, path)
    sync_folder(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def _write_sums(folder: Path) -> None:
    """Write the checksums of this process's share of orbax's files."""
    names = _names(folder)[processes.index() :: processes.count()]
    said = {"of": processes.count(), "files": {name: _checksum(folder / _ARRAYS / name) for name in names}}
    with (folder / f"sums.{processes.index()}.json").open("w") as file:
        json.dump(said, file)
        file.flush()
        os.fsync(file.fileno())


def _names(folder: Path) -> list[str]:
    root = folder / _ARRAYS
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


def _checksum(path: Path) -> list[int]:
    """Return the size and CRC-32 of a file, and flush it to the disk."""
    size = total = 0
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            size, total = size + len(piece), zlib.crc32(piece, total)
        os.fsync(file.fileno())
    return [size, total]


def read_folder(path: Path, like: PyTree) -> Any:
    """Read what `write_folder` wrote, on as many processes as there are now."""
    where = f"load: {os.fspath(path)}"
    if not (path / _TREE).exists():
        raise IsADirectoryError(
            f"{where}: this folder is not a checkpoint, because it has no {_TREE}. Pass the path of a file in it."
        )
    _need_orbax("load")
    node, arrays = read_file(path / _TREE, where)
    match = None if like is None else Match(like, where)
    if match is not None:
        match.check(node)
    _check_sums(path, where)
    spread = [name for name, said in arrays_of(node).items() if said.get("kind") == "spread"]
    places = {} if match is None else match.places
    arrays |= _restored(path, spread, arrays_of(node), places, where)
    return built(node, arrays.__getitem__) if match is None else match.build(node, arrays.__getitem__)


def _restored(
    path: Path, names: Sequence[str], said: dict[str, Node], places: dict[str, Any], where: str
) -> dict[str, Any]:
    """Return the spread arrays, each with the sharding of its counterpart in `like`, or as NumPy arrays without one."""
    given = {}
    for i, name in enumerate(names):
        place = places.get(name)
        sharding = None if engine_of(place) is None else getattr(place, "sharding", None)
        kind = orbax.RestoreArgs(np.ndarray) if sharding is None else orbax.ArrayRestoreArgs(sharding=sharding)
        given[str(i)] = kind
    try:
        with xla.scope():
            found = orbax.PyTreeCheckpointer().restore(path.absolute() / _ARRAYS, restore_args=given)
    except (ValueError, KeyError, OSError) as error:
        raise CheckpointError(f"{where}: orbax cannot read the arrays: {error}. Take another copy of it.") from error
    arrays = {name: found[str(i)] for i, name in enumerate(names)}
    for name, x in arrays.items():
        if x.dtype != DTYPES[said[name]["dtype"]] or list(x.shape) != said[name]["shape"]:
            raise CheckpointError(
                f"{where}: {name} is {x.dtype}{list(x.shape)} in orbax's files, needed {said[name]['dtype']}"
                f"{said[name]['shape']}. Take another copy of it."
            )
    return arrays


def _check_sums(path: Path, where: str) -> None:
    """Compare orbax's files with their checksums; each process checks a share of them."""
    fault = _fault(path)
    well = processes.all_agree(fault is None)
    if fault is not None:
        raise CheckpointError(f"{where}: {fault}. Take another copy of it.")
    if not well:
        raise CheckpointError(
            f"{where}: a file of it is damaged; another process names the file. Take another copy of it."
        )


def _fault(path: Path) -> str | None:
    try:
        first = json.loads((path / "sums.0.json").read_text())
        parts = [json.loads((path / f"sums.{i}.json").read_text()) for i in range(first["of"])]
        sums: dict[str, list[int]] = {name: said for part in parts for name, said in part["files"].items()}
    except (OSError, ValueError, LookupError, TypeError) as error:
        return f"its checksums cannot be read ({error})"
    names = _names(path)
    if sorted(sums) != names:
        return f"it has {len(names)} of the {len(sums)} files in {_ARRAYS}"
    mine = names[processes.index() :: processes.count()]
    damaged = next((name for name in mine if _checksum(path / _ARRAYS / name) != sums[name]), None)
    return None if damaged is None else f"the file {_ARRAYS}/{damaged} is damaged"


def _need_orbax(asked: str) -> None:
    try:
        _ = orbax.PyTreeCheckpointer
    except ModuleNotFoundError as error:
        raise ImportError(
            f"{asked}: arrays that are spread over several processes need orbax, which is not installed. Install it: "
            "pip install orbax-checkpoint.",
            name=error.name,
        ) from error
