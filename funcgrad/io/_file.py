"""One tree, one file: written whole or not at all, and believed only after it was checked."""

from __future__ import annotations

import contextlib
import json
import math
import os
import secrets
import shutil
import zlib
from concurrent.futures import ThreadPoolExecutor
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from funcgrad._core.lazy import LazyModule
from funcgrad.errors import CheckpointError
from funcgrad.io._build import Match, arrays_of, built
from funcgrad.io._describe import DTYPES, Description, Node

safetensors = LazyModule("safetensors")
safetensors_numpy = LazyModule("safetensors.numpy")

# The layout of the file. It rises when a reader of before could not make sense of what is written.
VERSION = 1
# What safetensors takes along as text, by this name: the number of the layout, the checksum of the description, those
# of the arrays, and the description. One text alone: several would stand in an order that differs from file to file.
FORMAT = "funcgrad"
# What not every release of safetensors has a name for: what it is written as, and how many of these make a number.
_WRITTEN_AS: dict[str, tuple[type, tuple[int, ...]]] = {
    "complex64": (np.float32, (2,)),
    "complex128": (np.float64, (2,)),
    "int4": (np.uint8, ()),
    "uint4": (np.uint8, ()),
    "float8_e4m3fn": (np.uint8, ()),
    "float8_e5m2": (np.uint8, ()),
    "float8_e4m3b11fnuz": (np.uint8, ()),
    "float8_e4m3fnuz": (np.uint8, ()),
    "float8_e5m2fnuz": (np.uint8, ()),
}
_DIGITS = 8  # of a checksum
_PIECE = 1 << 23  # bytes, which stay in a cache until they are summed up


def write_file(target: Path, description: Description) -> None:
    """Write the file of a tree, whole or not at all."""
    _need_safetensors()
    if target.is_dir():
        raise IsADirectoryError(
            f"save: the path must be that of a file. Arrived the folder {target}. Add a name to it."
        )
    need_folder(target)
    # In a folder of its own: safetensors too begins with a file of another name, and both go with the folder.
    folder = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    temporary = folder / target.name
    text = json.dumps(description.node)
    # Checksums are made while the numbers are written, so their place in the header is filled in afterwards.
    begin = f"{VERSION} {checksum(text.encode())} "
    unknown = "0" * _DIGITS * len(description.arrays)
    folder.mkdir()
    try:
        with ThreadPoolExecutor(1, "funcgrad-save") as beside:
            sums = beside.submit(lambda: "".join(checksum(_bytes(array)) for array in description.arrays.values()))
            _write(temporary, description.arrays, f"{begin}{unknown} {text}")
            with temporary.open("r+b") as file:
                _fill_in(file, begin, unknown, sums.result())
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    sync_folder(target.parent)


def need_folder(target: Path) -> None:
    """Refuse a path in a folder that is not there."""
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"save: there is no folder {target.parent} for the file {target.name}. Make it first: "
            "path.parent.mkdir(parents=True)."
        )


def read_file(path: str | os.PathLike[str], where: str, match: Match | None = None) -> tuple[Node, dict[str, Any]]:
    """The description of the tree in a file, and its arrays by name, checked; what does not match is refused before."""
    with open(path, "rb") as file:  # what there is no file for is an error of the system's own
        header = _header(file, where)
        node = _node(header, where)
        if match is not None:
            match.check(node)
        return node, _arrays(file, header, node, where)


def check_path(asked: str, path: Any) -> None:
    """Refuse what names no file: mostly the tree, which comes second."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(
            f"{asked}: path is a {type(path).__name__}; needed the name of a file or folder. Pass it first: "
            "fg.save('run.safetensors', tree)."
        )


def _write(path: Path, arrays: dict[str, np.ndarray], about: str) -> None:
    try:
        safetensors_numpy.save_file({name: _as_written(array) for name, array in arrays.items()}, path, {FORMAT: about})
    except safetensors.SafetensorError as error:
        raise OSError(
            f"save: {path.parent} could not be written to: {error}. Free some room, or choose another folder."
        ) from error


def _fill_in(file: BinaryIO, begin: str, unknown: str, sums: str) -> None:
    """Put the checksums where the header has as many zeros."""
    header = file.read(int.from_bytes(file.read(8), "little"))
    before = f'"{FORMAT}":"{begin}'.encode()
    assert header.count(before + unknown.encode() + b" ") == 1
    file.seek(8 + header.index(before) + len(before))
    file.write(sums.encode())


class _Header(NamedTuple):
    """What stands before the numbers: what is said of the file, and the shape and the place of each tensor in it."""

    tree: str
    tree_checksum: str
    checksums: str
    shapes: dict[str, tuple[int, ...]]
    places: dict[str, tuple[int, int]]


def _header(file: BinaryIO, where: str) -> _Header:
    size = os.fstat(file.fileno()).st_size
    begin = int.from_bytes(file.read(8), "little")
    if size < 8 or begin > size - 8:
        raise CheckpointError(
            f"{where}: a checkpoint begins with a header. This file of {size} bytes is empty, cut short or of another "
            "kind. Take another copy of it."
        )
    try:
        said = json.loads(file.read(begin))
        about = str(said.pop("__metadata__", {}).get(FORMAT, ""))
        shapes = {name: tuple(map(int, tensor["shape"])) for name, tensor in said.items()}
        places = {}
        for name, tensor in said.items():
            first, last = tensor["data_offsets"]
            places[name] = (8 + begin + int(first), 8 + begin + int(last))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(
            f"{where}: the header cannot be read ({error}): the file is damaged, or of another kind. Take another copy "
            "of it."
        ) from error
    if not about:
        raise CheckpointError(
            f"{where}: the file was not written by fg.save: it says nothing of a tree. Its tensors can be read with "
            "safetensors.numpy.load_file."
        )
    version, tree_checksum, checksums, tree = [*about.split(" ", 3), "", "", ""][:4]
    if version != str(VERSION):
        raise CheckpointError(
            f"{where}: the file's layout is number {version}, and this release reads number {VERSION}. Read it with "
            "the release that wrote it, or a newer one."
        )
    end = max((last for _, last in places.values()), default=8 + begin)
    if size != end:
        kind = "cut short" if size < end else "longer than what was written"
        raise CheckpointError(f"{where}: the file is {kind}: {size} bytes, needed {end}. Take another copy of it.")
    return _Header(tree, tree_checksum, checksums, shapes, places)


def _node(header: _Header, where: str) -> Node:
    """The description of the tree, which has been checked against its checksum and against the tensors there are."""
    if checksum(header.tree.encode()) != header.tree_checksum:
        raise CheckpointError(f"{where}: the description of the tree is damaged. Take another copy of the file.")
    try:
        node = json.loads(header.tree)
        said = arrays_of(node)
        built(node, dict.fromkeys(said, np.empty(())).__getitem__)
        said = {name: x for name, x in said.items() if x.get("kind") != "spread"}
        shapes = {
            name: _as_written(np.empty((0, *x["shape"]), DTYPES[x["dtype"]])).shape[1:] for name, x in said.items()
        }
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{where}: the description of the tree makes no sense ({error!r}).") from error
    if shapes != header.shapes or len(header.checksums) != _DIGITS * len(said):
        at = [name for name in shapes if shapes[name] != header.shapes.get(name)] or "its checksums"
        raise CheckpointError(f"{where}: the header is damaged at {at}. Take another copy of the file.")
    return node


def _arrays(file: BufferedReader, header: _Header, node: Node, where: str) -> dict[str, np.ndarray]:
    """The arrays by their names, from the file that the header came from: meanwhile its name may be another file's.

    What has been read is summed up in a second thread, while the next piece is read.
    """
    arrays = {}
    for name, said in arrays_of(node).items():
        if said.get("kind") == "spread":
            continue
        dtype, (first, last) = DTYPES[said["dtype"]], header.places[name]
        # Before there is memory for it: a damaged header may ask for more than there is.
        if first > last or last - first != dtype.itemsize * math.prod(said["shape"]):
            raise CheckpointError(f"{where}: the header is damaged at {name}. Take another copy of the file.")
        arrays[name] = np.empty(said["shape"], dtype)
    sums = dict.fromkeys(arrays, 0)

    def add(name: str, piece: memoryview) -> None:
        sums[name] = zlib.crc32(piece, sums[name])

    with ThreadPoolExecutor(1, "funcgrad-load") as beside:
        for name, array in arrays.items():
            numbers = _bytes(array).data
            file.seek(header.places[name][0])
            for begin in range(0, array.nbytes, _PIECE):
                piece = numbers[begin : begin + _PIECE]
                if file.readinto(piece) != len(piece):
                    raise CheckpointError(f"{where}: the file was cut short while it was read. Read it again.")
                beside.submit(add, name, piece)
    for i, name in enumerate(arrays):
        arrived, needed = f"{sums[name]:0{_DIGITS}x}", header.checksums[i * _DIGITS : (i + 1) * _DIGITS]
        if arrived != needed:
            raise CheckpointError(
                f"{where}: the numbers of {name} are damaged: their checksum is {arrived}, needed {needed}. Take "
                "another copy of the file."
            )
    return arrays


def checksum(data: Any) -> str:
    """The checksum of bytes, CRC-32, which lets go of Python's lock."""
    return f"{zlib.crc32(data):0{_DIGITS}x}"


def _bytes(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1).view(np.uint8)


def _as_written(array: np.ndarray) -> np.ndarray:
    """An array in a dtype that safetensors has a name for."""
    kind, more = _WRITTEN_AS.get(array.dtype.name, (None, ()))
    return array if kind is None else array.reshape(-1).view(kind).reshape(array.shape + more)


def sync_folder(folder: Path) -> None:
    """Let the new name last as the numbers do; some systems have no such thing for folders."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _need_safetensors() -> None:
    try:
        _ = safetensors.safe_open
    except ModuleNotFoundError as error:
        raise ImportError(
            "save: files are safetensors', which is not installed. Install it: pip install 'funcgrad[io]'.",
            name=error.name,
        ) from error
