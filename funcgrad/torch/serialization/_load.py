"""``torch.load``: reads PyTorch's files by an unpickler that knows tensors, containers and modules.

A pickle can name any function and have it called. Here it can call only the rows of `_KNOWN`, and each row checks its
arguments. It can make objects of this library's modules, which only hold what it gives, and use the classes and
functions that the program itself calls safe. A hostile file is refused before anything of it runs.
"""

from __future__ import annotations

import math
import pickle
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from funcgrad.autograd.extend import Shape, device, rebuild
from funcgrad.torch.serialization._unpickler import Known, Unpickler, damaged

_STORAGES = {
    "FloatStorage": np.dtype(np.float32),
    "DoubleStorage": np.dtype(np.float64),
    "HalfStorage": np.dtype(np.float16),
    "BFloat16Storage": np.dtype(ml_dtypes.bfloat16),
    "LongStorage": np.dtype(np.int64),
    "IntStorage": np.dtype(np.int32),
    "ShortStorage": np.dtype(np.int16),
    "CharStorage": np.dtype(np.int8),
    "ByteStorage": np.dtype(np.uint8),
    "BoolStorage": np.dtype(bool),
    "ComplexFloatStorage": np.dtype(np.complex64),
    "ComplexDoubleStorage": np.dtype(np.complex128),
    "UntypedStorage": np.dtype(np.uint8),
}
DTYPES = {
    name: np.dtype(getattr(ml_dtypes, name, name))
    for name in (
        *("float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32"),
        *("uint64", "bool", "complex64", "complex128"),
    )
}


def _tensor(storage: Any, offset: Any, size: Any, stride: Any, *rest: Any) -> Any:
    """Return a tensor over a part of a storage, if the part is inside it."""
    if not isinstance(storage, np.ndarray) or storage.ndim != 1:
        raise damaged(f"a tensor has a {type(storage).__name__} as its storage")
    numbers = (offset, *size, *stride)
    if len(size) != len(stride) or not all(type(n) is int and 0 <= n < 2**62 for n in numbers):
        raise damaged(f"a tensor of size {tuple(size)} has the strides {tuple(stride)} and the offset {offset}")
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if math.prod(size) and last >= storage.size:
        raise damaged(f"a tensor reads element {last} of a storage of {storage.size}")
    steps = tuple([n * storage.itemsize for n in stride])
    memory = storage.view(np.uint8)
    value = np.ndarray(tuple(size), storage.dtype, memory, offset * storage.itemsize if math.prod(size) else 0, steps)
    return rebuild(value, bool(rest and rest[0]))


def _parameter(data: Any, requires_grad: Any, *rest: Any) -> Any:
    del rest
    return rebuild(data._value, bool(requires_grad), is_parameter=True)


def _parameter_with_state(data: Any, requires_grad: Any, *rest: Any) -> Any:
    return _parameter(data, requires_grad, *rest[:1])


def _bytes(text: Any, encoding: Any) -> bytes:
    """Return bytes, which protocol 2 writes as text."""
    if type(text) is not str or encoding != "latin1":
        raise damaged("bytes are described in another way than by their text")
    return text.encode("latin-1")


_KNOWN: dict[tuple[str, str], Any] = {
    ("torch._utils", "_rebuild_tensor_v2"): Known(_tensor),
    ("torch._utils", "_rebuild_parameter"): Known(_parameter),
    ("torch._utils", "_rebuild_parameter_with_state"): Known(_parameter_with_state),
    ("collections", "OrderedDict"): Known(lambda pairs=(): OrderedDict(pairs)),
    ("collections", "Counter"): Known(lambda *pairs: Counter(*pairs)),
    ("collections", "defaultdict"): Known(lambda *_: {}),
    ("_codecs", "encode"): Known(_bytes),
    ("torch", "Size"): Known(lambda size=(): Shape(size)),
    ("torch", "device"): Known(lambda *name: device(*name)),
    ("builtins", "set"): Known(lambda values=(): set(values)),
    ("__builtin__", "set"): Known(lambda values=(): set(values)),
    ("builtins", "complex"): Known(lambda real, imag=0.0: complex(real, imag)),
    ("__builtin__", "complex"): Known(lambda real, imag=0.0: complex(real, imag)),
    **{("torch", name): dtype for name, dtype in _STORAGES.items()},
    **{("torch.storage", name): dtype for name, dtype in _STORAGES.items()},
    **{("torch", name): dtype for name, dtype in DTYPES.items()},
}


class _Storages:
    """The memory of an archive's tensors: each record is read once."""

    def __init__(self, read: Callable[[str], bytes]) -> None:
        self._read = read
        self._storages: dict[str, np.ndarray] = {}

    def __call__(self, pid: Any) -> np.ndarray:
        """Return the memory of a tensor: a record of the archive."""
        if not isinstance(pid, tuple) or len(pid) != 5 or pid[0] != "storage" or not isinstance(pid[1], np.dtype):
            raise damaged("a storage is described in another way than PyTorch's")
        _, dtype, key, _, count = pid
        if type(key) is not str or type(count) is not int or count < 0:
            raise damaged("a storage has no name or no length")
        if key not in self._storages:
            data = self._read(key)
            if len(data) < count * dtype.itemsize:
                raise damaged(f"the storage {key} has {len(data)} bytes for {count} elements of {dtype}")
            self._storages[key] = np.frombuffer(bytearray(data), dtype, count)
        return self._storages[key]


def load(
    f: Any,
    map_location: Any = None,
    pickle_module: Any = None,
    *,
    weights_only: bool = True,
    mmap: bool | None = None,
    **options: Any,
) -> Any:
    """``torch.load``: read what ``torch.save`` of PyTorch or of this library wrote.

    Only tensors, numbers, texts, containers of them and this library's modules are read, for any ``weights_only``, so
    a hostile file runs nothing. A file with objects of other classes is read once the program calls these classes safe
    (``torch.serialization.add_safe_globals``). Whole modules that PyTorch wrote are not read.

    Args:
        f: a path, or a file opened for reading bytes.
        map_location: the device, ``"cpu"``.
        pickle_module: accepted; the unpickler is always this library's.
        weights_only: accepted; it is always in effect.
        mmap: accepted; the file is read.
        options: PyTorch's other options.

    Returns:
        The object, with tensors as leaves. Tensors that shared memory share it again.

    Raises:
        FileNotFoundError: there is no such file.
        pickle.UnpicklingError: the file names anything else, or is damaged.
        RuntimeError: the file is in the format of PyTorch before version 1.6, or no file of PyTorch's.

    Example:
        >>> import io
        >>> import funcgrad.torch as torch
        >>> file = io.BytesIO()
        >>> torch.save({"w": torch.ones(2)}, file)
        >>> torch.load(io.BytesIO(file.getvalue()))
        {'w': tensor([1., 1.])}
    """
    del map_location, pickle_module, weights_only, mmap, options
    source = Path(f) if isinstance(f, str) or hasattr(f, "__fspath__") else f
    try:
        with zipfile.ZipFile(source) as archive:
            return _from_archive(archive)
    except zipfile.BadZipFile:
        raise RuntimeError(
            "load: the file is no archive of PyTorch's; needed one that torch.save of version 1.6 or later wrote. Load "
            "it in PyTorch and save it again."
        ) from None


def _from_archive(archive: zipfile.ZipFile) -> Any:
    names = [name for name in archive.namelist() if name.endswith("data.pkl") and name.count("/") <= 1]
    if len(names) != 1:
        raise RuntimeError("load: the archive has no record data.pkl; needed a file that torch.save wrote.")
    prefix = names[0].removesuffix("data.pkl")
    byteorder = f"{prefix}byteorder"
    if byteorder in archive.namelist() and archive.read(byteorder).strip() != b"little":
        raise RuntimeError(
            "load: the file was written in another byte order; needed little-endian numbers. Save it on this machine."
        )

    def read(key: str) -> bytes:
        try:
            return archive.read(f"{prefix}data/{key}")
        except KeyError:
            raise damaged(f"the archive has no record data/{key}") from None

    try:
        return Unpickler(archive.read(names[0]), _KNOWN, _Storages(read)).load()
    except pickle.UnpicklingError:
        raise
    except (ValueError, TypeError, AttributeError, KeyError, IndexError, EOFError, UnicodeDecodeError) as error:
        raise damaged(f"{type(error).__name__}: {error}") from None
