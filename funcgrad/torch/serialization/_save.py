"""``torch.save``: writes tensors, containers and modules in PyTorch's format; PyTorch reads all but modules."""

from __future__ import annotations

import io
import pickle
import sys
import zipfile
from collections import OrderedDict
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from funcgrad import nn
from funcgrad.autograd.extend import Shape, device, is_tensor

_STORAGES = {
    np.dtype(np.float32): "FloatStorage",
    np.dtype(np.float64): "DoubleStorage",
    np.dtype(np.float16): "HalfStorage",
    np.dtype(ml_dtypes.bfloat16): "BFloat16Storage",
    np.dtype(np.int64): "LongStorage",
    np.dtype(np.int32): "IntStorage",
    np.dtype(np.int16): "ShortStorage",
    np.dtype(np.int8): "CharStorage",
    np.dtype(np.uint8): "ByteStorage",
    np.dtype(bool): "BoolStorage",
    np.dtype(np.complex64): "ComplexFloatStorage",
    np.dtype(np.complex128): "ComplexDoubleStorage",
}
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


class _Global(NamedTuple):
    """A name of PyTorch's, which is written without importing PyTorch."""

    module: str
    name: str

    def __call__(self, *args: Any) -> Any:
        raise AssertionError("it is written, not called")


class _Storage(NamedTuple):
    """The memory of tensors: its record's name, and its elements."""

    key: str
    elements: np.ndarray


# The pickler in C checks that a name can be imported, so that of Python is used.
_Python: Any = vars(pickle)["_Pickler"]


class _Pickler(_Python):
    def __init__(self, file: Any) -> None:
        super().__init__(file, 2)
        self._keys: dict[int, _Storage] = {}

    @property
    def storages(self) -> list[_Storage]:
        return list(self._keys.values())

    def persistent_id(self, obj: Any) -> Any:
        if type(obj) is not _Storage:
            return None
        kind = _Global("torch", _STORAGES[obj.elements.dtype])
        return "storage", kind, obj.key, "cpu", obj.elements.size

    def save(self, obj: Any, save_persistent_id: bool = True) -> Any:
        if type(obj) is _Global:
            self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
        elif is_tensor(obj):
            self._save_tensor(obj)
        elif isinstance(obj, np.dtype):
            self.save(_Global("torch", obj.name))
        elif issubclass(type(obj), np.generic):
            self.save(obj.item())
        elif type(obj) is Shape:
            self.save_reduce(_Global("torch", "Size"), (tuple(obj),), obj=obj)
        elif type(obj) is device:
            self.save_reduce(_Global("torch", "device"), (str(obj),), obj=obj)
        else:
            _check(obj)
            super().save(obj, save_persistent_id)
        return None

    def _save_tensor(self, x: Any) -> None:
        if id(x) in self.memo:
            self.write(self.get(self.memo[id(x)][0]))
            return
        value = np.asarray(x.detach()._value)
        if value.dtype not in _STORAGES:
            raise TypeError(
                f"save: a tensor is of {value.dtype}, which PyTorch's files have not. Convert it with .to()."
            )
        storage, offset, strides = self._storage_of(value)
        args = (storage, offset, value.shape, strides, bool(x.requires_grad), OrderedDict())
        made = _Global("torch._utils", "_rebuild_tensor_v2")
        if not getattr(x, "_is_parameter", False):
            self.save_reduce(made, args, obj=x)
            return
        self.save(_Global("torch._utils", "_rebuild_parameter"))
        self.write(pickle.MARK)
        self.save_reduce(made, (*args[:4], False, args[5]))
        self.save(bool(x.requires_grad))
        self.save(OrderedDict())
        self.write(pickle.TUPLE + pickle.REDUCE)
        self.memoize(x)

    def _storage_of(self, value: np.ndarray) -> tuple[_Storage, int, tuple[int, ...]]:
        """Return the memory that an array shows, and where; a copy where PyTorch has no such view."""
        owner = value
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        fits = owner.dtype == value.dtype and owner.flags.c_contiguous and min(value.strides, default=0) >= 0
        if not fits:
            owner = value = np.ascontiguousarray(value)
        start = value.__array_interface__["data"][0] - owner.__array_interface__["data"][0]
        if value.itemsize and start % value.itemsize:
            owner = value = np.ascontiguousarray(value).copy()
            start = 0
        storage = self._keys.setdefault(id(owner), _Storage(str(len(self._keys)), owner.reshape(-1)))
        strides = tuple([n // value.itemsize for n in value.strides])
        return storage, start // value.itemsize if value.size else 0, strides


def _check(obj: Any) -> None:
    """Refuse objects that ``load`` would refuse whatever the program calls safe."""
    if isinstance(obj, (*_PLAIN, dict, list, tuple, set)):
        return
    if isinstance(obj, type) and obj in {OrderedDict, set, complex}:
        return
    if getattr(obj, "__module__", "") in {"_codecs", "builtins", "collections", "copyreg"} or _is_named(obj):
        return
    if not callable(obj) and _is_named(type(obj)) and type(obj).__reduce__ is object.__reduce__:
        return
    if isinstance(obj, nn.Module) and _is_named(type(obj)):
        return
    raise TypeError(
        f"save: a {type(obj).__name__} was given; needed tensors, numbers, texts, containers of them, and objects of "
        "classes that a module defines, because no other object is read again. Save a state_dict, and "
        "torch.from_numpy(array) for an array."
    )


def _is_named(x: Any) -> bool:
    """Return whether a class or function is found by its name in its module."""
    module, name = getattr(x, "__module__", None), getattr(x, "__name__", None)
    if not isinstance(x, type | FunctionType) or module == "builtins":
        return False
    return getattr(sys.modules.get(str(module)), str(name), None) is x


def save(obj: Any, f: Any, pickle_module: Any = None, pickle_protocol: int = 2, **options: Any) -> None:
    """``torch.save``: write tensors, numbers, texts, containers of them and modules, in PyTorch's format.

    A module is written by the name of its class, which has to exist when the file is read. `load` says which classes it
    reads. PyTorch reads files without modules.

    Args:
        obj: the object, such as a ``state_dict``, a dict with one, or a module.
        f: a path, or a file opened for writing bytes.
        pickle_module: accepted; the pickler is always this library's.
        pickle_protocol: accepted; it is always 2, PyTorch's.
        options: PyTorch's other options.

    Raises:
        TypeError: there is another object in it, which could not be read again. Nothing is written.

    Example:
        >>> import io
        >>> import funcgrad.torch as torch
        >>> file = io.BytesIO()
        >>> torch.save([torch.arange(3), "text"], file)
        >>> file.seek(0)
        0
        >>> torch.load(file)
        [tensor([0, 1, 2]), 'text']
    """
    del pickle_module, pickle_protocol, options
    pickled = io.BytesIO()
    pickler = _Pickler(pickled)
    pickler.dump(obj)
    target = Path(f) if isinstance(f, str) or hasattr(f, "__fspath__") else f
    name = target.stem if isinstance(target, Path) else "archive"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(f"{name}/data.pkl", pickled.getvalue())
        archive.writestr(f"{name}/byteorder", sys.byteorder)
        for storage in pickler.storages:
            archive.writestr(f"{name}/data/{storage.key}", storage.elements.tobytes())
        archive.writestr(f"{name}/version", "3\n")
