"""Describe a tree as text and arrays: JSON for the structure, and named arrays.

A container is a JSON object with one of the keys ``list``, ``tuple`` and ``dict``. An array is an object that names a
tensor of the file, and plain values are JSON values. The name of a class is stored only to be compared. It is never
looked up, so a file cannot make the reader run code.
"""

from __future__ import annotations

import base64
import collections
import math
import re
from typing import Any

import ml_dtypes
import numpy as np

from funcgrad import tree
from funcgrad._core.bind import Tracer
from funcgrad._engines import engine_of
from funcgrad._types import PyTree
from funcgrad.autograd import Tensor
from funcgrad.errors import TracerArrayConversionError
from funcgrad.tree.extend import Level, one_level

# The dtypes that a file may hold. A file stores the name of a dtype, and this table has the dtype.
DTYPES = {
    np.dtype(kind).name: np.dtype(kind)
    for kind in (
        *(bool, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64),
        *(np.float16, np.float32, np.float64, np.complex64, np.complex128, ml_dtypes.bfloat16),
        *(ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float8_e4m3b11fnuz, ml_dtypes.float8_e4m3fnuz),
        *(ml_dtypes.float8_e5m2fnuz, ml_dtypes.int4, ml_dtypes.uint4),
    )
}
Node = Any  # a JSON value
PLAIN = (bool, int, float, complex, str, bytes)
SEQUENCES = {list: "list", tuple: "tuple", collections.deque: "list"}
MAPPINGS = (dict, collections.OrderedDict, collections.defaultdict)


class Description:
    """The description of a tree as JSON, and its arrays by their names in the file.

    Args:
        value: a pytree of arrays, tensors, numbers, strings, bytes and ``None``.
        asked: the name of the calling function, for messages.
    """

    def __init__(self, value: PyTree, asked: str) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        # Arrays of which no process has the whole.
        self.spread: dict[str, Any] = {}
        # Whether an array belongs to several processes, each with a part of it or a copy.
        self.is_shared = False
        # The position of each array in the tree, as a Python expression.
        self.paths: dict[str, str] = {}
        self._asked = asked
        tree.leaves(value)  # register containers that only JAX knew
        self.node = self._describe(value, "")

    def _describe(self, value: PyTree, path: str) -> Node:
        if value is None or type(value) in PLAIN:
            return _plain(value)
        if type(value) in SEQUENCES:
            parts = [self._describe(part, f"{path}[{i}]") for i, part in enumerate(value)]
            return {SEQUENCES[type(value)]: parts} | _class_of(value)
        if type(value) in MAPPINGS:
            pairs = [[self._key(key, path), self._describe(part, f"{path}[{key!r}]")] for key, part in value.items()]
            return {"dict": pairs} | _class_of(value)
        level = one_level(value)
        return self._array(value, path) if level is None else self._instance(value, level, path)

    def _instance(self, value: PyTree, level: Level, path: str) -> Node:
        named = list(zip(level.entries, level.children, strict=True))
        parts = [self._describe(part, f"{path}.{name}") for name, part in named]
        if isinstance(value, tuple):
            return {"tuple": parts} | _class_of(value)
        pairs = [[self._key(name, path), part] for (name, _), part in zip(named, parts, strict=True)]
        return {"dict": pairs} | _class_of(value) | _static(level.metadata)

    def _key(self, key: PyTree, path: str) -> Node:
        if type(key) is tuple:
            return {"tuple": [self._key(part, path) for part in key]}
        if key is None or type(key) in PLAIN:
            return _plain(key)
        raise TypeError(
            f"{self._asked}: the keys of a dict must be strings, numbers, None or tuples of these. Arrived the key "
            f"{key!r} of type {type(key).__name__} at tree{path}. Rename it."
        )

    def _array(self, value: PyTree, path: str) -> Node:
        array, said = self._numbers(value, path)
        name = re.sub(r"\W+", ".", path).strip(".") or "value"
        while name in self.paths:
            name += "_"
        (self.spread if said.get("kind") == "spread" else self.arrays)[name] = array
        self.paths[name] = path
        return {"array": name, "dtype": array.dtype.name, "shape": list(array.shape)} | said

    def _numbers(self, value: PyTree, path: str) -> tuple[Any, dict[str, str]]:
        """Return the numbers of a leaf, contiguous and in native byte order, and its other fields."""
        said = {}
        if isinstance(value, Tensor):
            value = value.detach().numpy()
        elif isinstance(value, np.generic):
            said = {"kind": "scalar"}
        elif engine_of(value) is not None:
            if not getattr(value, "is_fully_addressable", True):
                self.is_shared = True
                if not value.is_fully_replicated and value.dtype.name in DTYPES:
                    return value, {"kind": "spread"}
            if str(value.dtype).startswith("key<"):
                raise TypeError(
                    f"{self._asked}: a key of JAX is not an array of numbers. Arrived {value.dtype} at tree{path}. "
                    "Save jax.random.key_data(key), and make the key again with jax.random.wrap_key_data."
                )
            value = np.asarray(value)
        elif isinstance(value, Tracer):
            raise TracerArrayConversionError(
                f"{self._asked}: a file holds only numbers. Arrived a traced value {value.dtype.name}{[*value.shape]} "
                f"at tree{path}. Return it from the transform, and save it then."
            )
        elif type(value) not in (np.ndarray, np.memmap):
            raise TypeError(
                f"{self._asked}: the leaves of a tree must be arrays, tensors, numbers, strings, bytes or None. "
                f"Arrived {type(value).__module__}.{type(value).__qualname__} at tree{path}. Convert it with "
                "np.asarray, or register its class with fg.tree.register_dataclass."
            )
        array = np.asarray(value)
        native = DTYPES.get(array.dtype.name)
        if native is None:
            raise TypeError(
                f"{self._asked}: an array must have a dtype that every machine has. Arrived dtype {array.dtype} at "
                f"tree{path}, needed booleans, integers, floats or complex numbers of at most 64 bits a part. Convert "
                "it with .astype."
            )
        return np.require(array, native, "C").reshape(array.shape), said


def _plain(value: PyTree) -> Node:
    """Return a plain value as JSON that restores it exactly, infinities and NaN included."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, complex):
        return {"complex": [_plain(value.real), _plain(value.imag)]}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode("ascii")}
    return value


def described_class(cls: type) -> str:
    """Return the name of a container class for a file."""
    return cls.__qualname__


def _class_of(value: PyTree) -> dict[str, str]:
    """Return the class of a container, if the kind of JSON object does not determine it."""
    return {} if type(value) in (list, tuple, dict) else {"class": described_class(type(value))}


def static_text(metadata: PyTree) -> str:
    """Return the static data of a container as text to compare; empty if the text would contain a memory address."""
    text = repr(metadata)
    return "" if metadata is None or " at 0x" in text or " object at " in text else text


def _static(metadata: PyTree) -> dict[str, str]:
    text = static_text(metadata)
    return {"static": text} if text else {}
