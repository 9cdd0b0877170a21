"""Read and write the file of one tree: written completely or not at all, and checked before use."""

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
from funcgrad._types import ArrayLike
from funcgrad.errors import CheckpointError
from funcgrad.io._build import Match, arrays_of, built
from funcgrad.io._describe import DTYPES, Description, Node

safetensors = LazyModule("safetensors")
safetensors_numpy = LazyModule("safetensors.numpy")

# The version of the layout. It rises when an older reader could not read the file.
VERSION = 1
# The name of the metadata text in the safetensors header: the layout's version, the checksum of the description, the
# checksums of the arrays, and the description. It is a single text, because safetensors does not keep the order of
# several.
FORMAT = "funcgrad"
# dtypes that some releases of safetensors lack: the dtype to write instead, and the number of its elements per number.
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
_DIGITS = 8  # digits of a checksum
_PIECE = 1 << 23  # bytes per read; a piece stays in a cache until its checksum is computed


def write_file(target: Path, description: Description) -> None:
    """Write the file of a tree, completely or not at all."""
    _need_safetensors()
    if target.is_dir():
        raise IsADirectoryError(
            f"save: the path must be the name of a file. Arrived the folder {target}. Add a file name to it."
        )
    need_folder(target)
    # Write in a temporary folder: safetensors makes another temporary file next to the target, and both are removed
    # with the folder.
    folder = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    temporary = folder / target.name
    text = json.dumps(description.node)
    # Checksums are computed while the numbers are written, so they are put into the header afterwards.
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
    """Refuse a path in a folder that does not exist."""
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"save: there is no folder {target.parent} for the file {target.name}. Make it first: "
            "path.parent.mkdir(parents=True)."
        )


def read_file(path: str | os.PathLike[str], where: str, match: Match | None = None) -> tuple[Node, dict[str, Any]]:
    """Return the description of a file's tree and its arrays by name, after checking both."""
    with open(path, "rb") as file:  # a missing file raises the system's own error
        header = _header(file, where)
        node = _node(header, where)
        if match is not None:
            match.check(node)
        return node, _arrays(file, header, node, where)


def check_path(asked: str, path: Any) -> None:
    """Refuse a path that is no file name: usually the tree, which is the second argument."""
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
    """Replace the zeros in the header by the checksums."""
    header = file.read(int.from_bytes(file.read(8), "little"))
    before = f'"{FORMAT}":"{begin}'.encode()
    assert header.count(before + unknown.encode() + b" ") == 1
    file.seek(8 + header.index(before) + len(before))
    file.write(sums.encode())


class _Header(NamedTuple):
    """The header of a file: its metadata, and the shape and the position of each tensor."""

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
            f"{where}: the file was not written by fg.save: it has no description of a tree. Its tensors can be read "
            "with safetensors.numpy.load_file."
        )
    version, tree_checksum, checksums, tree = [*about.split(" ", 3), "", "", ""][:4]
    if version != str(VERSION):
        raise CheckpointError(
            f"{where}: the file has layout version {version}, and this release reads version {VERSION}. Read it with "
            "the release that wrote it, or a newer one."
        )
    end = max((last for _, last in places.values()), default=8 + begin)
    if size != end:
        kind = "cut short" if size < end else "longer than its header says"
        raise CheckpointError(f"{where}: the file is {kind}: {size} bytes, needed {end}. Take another copy of it.")
    return _Header(tree, tree_checksum, checksums, shapes, places)


def _node(header: _Header, where: str) -> Node:
    """Return the description of the tree, after comparing it with its checksum and with the tensors in the file."""
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
        raise CheckpointError(f"{where}: the description of the tree is not valid ({error!r}).") from error
    if shapes != header.shapes or len(header.checksums) != _DIGITS * len(said):
        at = [name for name in shapes if shapes[name] != header.shapes.get(name)] or "its checksums"
        raise CheckpointError(f"{where}: the header is damaged at {at}. Take another copy of the file.")
    return node


def _arrays(file: BufferedReader, header: _Header, node: Node, where: str) -> dict[str, np.ndarray]:
    """Return the arrays by name, from the open file whose header was read. Its path may name another file by now.

    A second thread computes the checksum of each piece while the next piece is read.
    """
    arrays = {}
    for name, said in arrays_of(node).items():
        if said.get("kind") == "spread":
            continue
        dtype, (first, last) = DTYPES[said["dtype"]], header.places[name]
        # Check the sizes before memory is allocated: a damaged header may ask for more than there is.
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


def checksum(data: ArrayLike) -> str:
    """Return the checksum of bytes (CRC-32). zlib releases Python's lock."""
    return f"{zlib.crc32(data):0{_DIGITS}x}"


def _bytes(array: np.ndarray) -> np.ndarray:
    return array.reshape(-1).view(np.uint8)


def _as_written(array: np.ndarray) -> np.ndarray:
    """Return a view of an array in a dtype that safetensors has a name for."""
    kind, more = _WRITTEN_AS.get(array.dtype.name, (None, ()))
    return array if kind is None else array.reshape(-1).view(kind).reshape(array.shape + more)


def sync_folder(folder: Path) -> None:
    """Flush a folder to the disk, so that a new name in it survives a crash. Some systems cannot flush folders."""
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
            "save: files are written by safetensors, which is not installed. Install it: pip install safetensors.",
            name=error.name,
        ) from error
