"""``save`` and ``load``: choose between a file and a folder that several processes write and read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from funcgrad._types import PyTree
from funcgrad.io._build import Match, built
from funcgrad.io._describe import Description
from funcgrad.io._file import check_path, read_file, write_file
from funcgrad.io._spread import read_folder, write_folder, write_once


def save(path: str | os.PathLike[str], tree: PyTree) -> None:
    """Write a pytree to a file, completely or not at all.

    The file appears under its name when all of it is on the disk. If anything fails before, an existing file of this
    name is unchanged. It is a safetensors file, whose tensors other programs can read by their paths:
    ``layers.0.weight``. The same tree gives the same bytes.

    JAX's arrays that belong to several processes are saved by all these processes: each calls `save` with the same tree
    and the same path. If each process has the whole of every array, the first process writes the file, and the others
    wait. If some arrays are in parts, the path becomes a folder, in which orbax (``pip install orbax-checkpoint``)
    writes the parts of each process; `load` reads it on any number of processes.

    Args:
        path: The file, with any ending; its folder must exist.
        tree: A pytree of arrays (NumPy's and JAX's, of any shape; bfloat16 and complex too), tensors, Python's numbers,
            strings, bytes and ``None``: parameters, optimizers' states, schedules, ``state_dict`` s.

    Raises:
        TypeError: A leaf has another type; the message has its path, and no file has been written.
        OSError: The folder is missing, the disk is full, or this process or another may not write the file; no partial
            file is left.
        ImportError: safetensors is not installed (``pip install safetensors``), or orbax is not, if it is needed.

    Example:
        >>> import os, tempfile
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> path = os.path.join(tempfile.mkdtemp(), "params.safetensors")
        >>> fg.save(path, {"w": np.ones(2), "layers": [(3, None)]})
        >>> fg.load(path)
        {'w': array([1., 1.]), 'layers': [(3, None)]}

    The format of the numbers is that of safetensors (https://huggingface.co/docs/safetensors).
    """
    check_path("save", path)
    write(Path(path), Description(tree, "save"))


def write(path: Path, description: Description) -> None:
    """Write a described tree as a file, or as a folder if some arrays are spread over processes."""
    if description.spread:
        write_folder(path, description)
    elif description.is_shared:
        write_once(path, description)
    else:
        write_file(path, description)


def load(path: str | os.PathLike[str], like: PyTree = None) -> Any:
    """Read a pytree that `save` wrote, after checking all of it.

    The file cannot make this function load or run code, whoever wrote it. The checksums detect damage, not another
    author.

    Args:
        path: The file; or the folder of arrays that are spread over several processes, which all processes of the
            program read together.
        like: A tree of the classes, the structure, the shapes and the dtypes that are needed: for example, the first
            state of ``sgd_init``. Its numbers are not used. Each array is put on the device of the array in its
            position.

    Returns:
        Without `like`: dicts, lists and tuples of NumPy arrays and plain values; a namedtuple becomes a tuple, a
        dataclass a dict of its fields. With `like`: a tree of its classes. The arrays are the caller's own.

    Raises:
        CheckpointError: The file is cut short, damaged, of another program or of a newer release, or it does not match
            `like`; the message says which, and the position in the tree.
        OSError: There is no such file, or it may not be read.

    Example:
        >>> import os, tempfile
        >>> import numpy as np
        >>> import funcgrad as fg
        >>> path = os.path.join(tempfile.mkdtemp(), "state.safetensors")
        >>> params = {"w": np.ones(2)}
        >>> state = fg.sgd_init(params, lr=0.1, momentum=0.9)
        >>> fg.save(path, {"params": params, "state": state})
        >>> saved = fg.load(path, like={"params": params, "state": state})
        >>> type(saved["state"]).__name__, saved["params"]["w"]
        ('SGDState', array([1., 1.]))
    """
    check_path("load", path)
    if Path(path).is_dir():
        return read_folder(Path(path), like)
    where = f"load: {os.fspath(path)}"
    match = None if like is None else Match(like, where)
    node, arrays = read_file(path, where, match)
    return built(node, arrays.__getitem__) if match is None else match.build(node, arrays.__getitem__)
