"""Build a tree from its description in a file, as dicts, lists, tuples and arrays or in the classes of a given tree."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from funcgrad._engines import engine_of
from funcgrad._types import PyTree
from funcgrad.autograd import Tensor, tensor
from funcgrad.errors import CheckpointError
from funcgrad.interop.jax import array_like
from funcgrad.io._describe import MAPPINGS, PLAIN, SEQUENCES, Node, described_class, static_text
from funcgrad.nn import Parameter
from funcgrad.tree.extend import COMPLETED, EARLIER, one_level

Arrays = Callable[[str], np.ndarray]
_NUMBERS = (bool, int, float, complex)


def arrays_of(node: Node) -> dict[str, Node]:
    """Return the description of each array, by its name in the file."""
    if not isinstance(node, dict):
        return {}
    if "array" in node:
        return {node["array"]: node}
    parts = [part for _, part in node["dict"]] if "dict" in node else node.get("list", node.get("tuple", ()))
    found: dict[str, Node] = {}
    for part in parts:
        found |= arrays_of(part)
    return found


def built(node: Node, arrays: Arrays) -> Any:
    """Return the tree as dicts, lists, tuples, plain values and NumPy arrays.

    Dataclasses become dicts of their fields.
    """
    if not isinstance(node, dict):
        if isinstance(node, list):
            raise TypeError("a list says nothing of itself")
        return node
    if "array" in node:
        array = arrays(node["array"])
        return array[()] if node.get("kind") == "scalar" else array
    if "list" in node or "tuple" in node:
        parts = [built(part, arrays) for part in node.get("list", node.get("tuple", ()))]
        return parts if "list" in node else tuple(parts)
    if "dict" in node:
        return {built(key, arrays): built(part, arrays) for key, part in node["dict"]}
    return _value(node)


def _value(node: Node) -> float | complex | bytes:
    """Return a plain value that JSON cannot represent directly."""
    if "float" in node:
        return float(node["float"])
    if "complex" in node:
        real, imag = (float(part["float"] if isinstance(part, dict) else part) for part in node["complex"])
        return complex(real, imag)
    return base64.b64decode(node["bytes"])


class Match:
    """A description from a file, matched with a tree of the same structure.

    Args:
        like: a tree of the structure that is needed; only the shapes, dtypes and devices of its arrays are used.
        where: the file and the calling function, for messages.
    """

    def __init__(self, like: PyTree, where: str) -> None:
        self.like = like
        self.where = where
        # The arrays of `like`, by the names of the file's arrays at the same positions. `check` fills it.
        self.places: dict[str, Any] = {}

    def check(self, node: Node) -> None:
        """Raise the errors that `build` would raise, before any array is read."""
        self._build(node, self.like, "", None)

    def build(self, node: Node, arrays: Arrays) -> Any:
        """Return the tree with these arrays."""
        return self._build(node, self.like, "", arrays)

    def _differs(self, path: str, arrived: str, needed: str) -> CheckpointError:
        return CheckpointError(
            f"{self.where}: the file must match `like`. At tree{path} it holds {arrived}, needed {needed}. Pass a "
            "`like` with the structure of the saved tree, or none to get dicts and arrays."
        )

    def _build(self, node: Node, like: PyTree, path: str, arrays: Arrays | None) -> Any:
        kind = type(like)
        if like is None or kind in PLAIN:
            return self._plain(node, like, path, arrays)
        if kind in SEQUENCES:
            said = self._parts(node, SEQUENCES[kind], kind, len(like), path)
            parts = [self._build(x, y, f"{path}[{i}]", arrays) for i, (x, y) in enumerate(zip(said, like, strict=True))]
            return parts if kind is list or arrays is None else _again(like, parts)
        if kind in MAPPINGS:
            said = self._pairs(node, kind, list(like), path)
            found = {key: self._build(said[key], x, f"{path}[{key!r}]", arrays) for key, x in like.items()}
            return found if kind is dict or arrays is None else _again(like, found)
        level = one_level(like)
        if level is None:
            return self._array(node, like, path, arrays)
        if isinstance(like, tuple):
            said = self._parts(node, "tuple", kind, len(like), path)
        else:
            pairs = self._pairs(node, kind, list(level.entries), path)
            said = [pairs[name] for name in level.entries]
            static = static_text(level.metadata)
            if static and node.get("static", static) != static and hasattr(kind, EARLIER):
                found = self._build_earlier(node, like, path, arrays)
                if found is not None:
                    return found[0]
            if static and "static" in node and static != node["static"]:
                raise self._differs(path, *_distinct(node["static"], static))
        triples = zip(level.entries, said, level.children, strict=True)
        found = [self._build(x, y, f"{path}.{name}", arrays) for name, x, y in triples]
        return found if arrays is None else level.rebuild(level.metadata, found)

    def _build_earlier(self, node: Node, like: PyTree, path: str, arrays: Arrays | None) -> tuple[Any] | None:
        """Return the tree of an earlier release, whose class had fewer fields; ``None`` if the file differs."""
        for form in getattr(like, EARLIER)():
            level = one_level(form)
            if level is None or static_text(level.metadata) != node["static"]:
                continue
            try:
                made = self._build(node, form, path, arrays)
            except CheckpointError:
                continue
            return (None if arrays is None else getattr(made, COMPLETED)(like),)
        return None

    def _parts(self, node: Node, key: str, kind: type, size: int, path: str) -> Sequence[Node]:
        self._check_class(node, key, kind, path)
        if len(node[key]) != size:
            raise self._differs(path, f"{len(node[key])} parts", f"{size}")
        return node[key]

    def _pairs(self, node: Node, kind: type, keys: list[Any], path: str) -> Mapping[Any, Node]:
        self._check_class(node, "dict", kind, path)
        said = {built(key, _no_arrays): part for key, part in node["dict"]}
        if said.keys() != set(keys):
            more, less = [k for k in said if k not in keys], [k for k in keys if k not in said]
            raise self._differs(path, f"{more} beside the rest" if more else f"no {less}", f"{keys}")
        return said

    def _check_class(self, node: Node, key: str, kind: type, path: str) -> None:
        name = {"list": "list", "tuple": "tuple", "dict": "dict"}[key]
        arrived = node.get("class", name) if isinstance(node, dict) and key in node else described(node)
        if arrived != described_class(kind):
            raise self._differs(path, arrived, described_class(kind))

    def _plain(self, node: Node, like: PyTree, path: str, arrays: Arrays | None) -> Any:
        if _is_array(node) and type(like) in _NUMBERS and node["shape"] == []:
            return None if arrays is None else built(node, arrays)
        value = built(node, _no_arrays) if _is_plain(node) else node
        if type(value) is not type(like) and not (type(value) in _NUMBERS and type(like) in _NUMBERS):
            raise self._differs(path, described(node), type(like).__name__.removesuffix("Type"))
        return value

    def _array(self, node: Node, like: PyTree, path: str, arrays: Arrays | None) -> Any:
        shape, dtype = getattr(like, "shape", None), getattr(like, "dtype", None)
        if shape is None or dtype is None:
            raise CheckpointError(
                f"{self.where}: the leaves of `like` must be arrays, numbers, strings, bytes or None. Arrived "
                f"{type(like).__module__}.{type(like).__qualname__} at tree{path}. Register its class with "
                "fg.tree.register_dataclass, or put an array there."
            )
        if _is_plain(node) and tuple(shape) == () and type(number := built(node, _no_arrays)) in _NUMBERS:
            return number  # a number of a state may be a Python number or an array
        arrived, needed = described(node), f"{np.dtype(dtype).name}[{','.join(map(str, shape))}]"
        if arrived != needed:
            raise self._differs(path, arrived, needed)
        if arrays is None:
            self.places[node["array"]] = like
            return None
        array = arrays(node["array"])
        if engine_of(array) is not None:
            return array
        if isinstance(like, Tensor):
            make = Parameter if isinstance(like, Parameter) else tensor
            return make(array, requires_grad=like.requires_grad)
        if isinstance(like, np.generic):
            return array[()]
        return array if engine_of(like) is None else array_like(array, like)


def described(node: Node) -> str:
    """Describe one node of a file's tree in a few words."""
    if _is_array(node):
        return f"{node['dtype']}[{','.join(map(str, node['shape']))}]"
    if _is_plain(node):
        return "None" if node is None else f"the value {built(node, _no_arrays)!r}"
    return node.get("class") or next(key for key in ("list", "tuple", "dict") if key in node)


def _distinct(arrived: str, needed: str) -> tuple[str, str]:
    """Return the parts of two texts from shortly before their first difference."""
    same = next((i for i, (x, y) in enumerate(zip(arrived, needed, strict=False)) if x != y), 0)
    begin = max(0, same - 40)
    before = "..." if begin else ""
    return before + arrived[begin : same + 40], before + needed[begin : same + 40]


def _is_array(node: Node) -> bool:
    return isinstance(node, dict) and "array" in node


def _is_plain(node: Node) -> bool:
    return not isinstance(node, dict) or not {"array", "list", "tuple", "dict"} & node.keys()


def _again(like: PyTree, parts: Any) -> Any:
    """Build a container of the class of `like`, with the static data of `like`."""
    kind = type(like)
    if hasattr(like, "default_factory"):
        return kind(like.default_factory, parts)
    return kind(parts, like.maxlen) if hasattr(like, "maxlen") else kind(parts)


def _no_arrays(name: str) -> np.ndarray:
    raise CheckpointError(f"the array {name!r} is at the position of a plain value")
