"""``np.ndarray(n)`` in code that is named to ``fg.intercept``: it makes arrays that take traced values.

`docs/decisions/0023-the-type-of-arrays.md` says why the type is replaced in named code only.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import linecache
import threading
from collections.abc import Callable, Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from funcgrad._types import ArrayLike, DTypeLike, ShapeLike
from funcgrad.numpy._layout import makers

_CHECKS = ("isinstance", "issubclass")
_lock = threading.Lock()
# Namespaces by their identity, with the number of contexts that replace their names, and the values before.
_replaced: dict[int, tuple[dict[str, Any], int, dict[str, Any]]] = {}


class ArrayType:
    """Stands for ``numpy.ndarray``: calls make arrays that take traced values, and checks are those of the type."""

    def __init__(self, is_intercepted: Callable[[], bool]) -> None:
        self._is_intercepted = is_intercepted

    def __call__(
        self,
        shape: ShapeLike,
        dtype: DTypeLike = float,
        buffer: Any = None,
        offset: int = 0,
        strides: Any = None,
        order: Any = None,
    ) -> Any:
        if self._is_intercepted() and buffer is None and not offset and strides is None:
            return makers.empty(shape, dtype, order or "C")
        return np.ndarray(shape, dtype, buffer, offset, strides, order)

    def __instancecheck__(self, x: ArrayLike) -> bool:
        return isinstance(x, np.ndarray)

    def __subclasscheck__(self, kind: type) -> bool:
        return issubclass(kind, np.ndarray)

    # Functions that are defined inside of the context evaluate their annotations.
    def __or__(self, other: Any) -> Any:
        return np.ndarray | other

    def __ror__(self, other: Any) -> Any:
        return other | np.ndarray

    def __getitem__(self, item: Any) -> Any:
        return np.ndarray[item]


class _Numpy:
    """Stands for ``numpy``, with another ``ndarray``."""

    def __init__(self, ndarray: ArrayType) -> None:
        self.ndarray = ndarray

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)


@contextlib.contextmanager
def made_in(code: Iterable[FunctionType | ModuleType], is_intercepted: Callable[[], bool]) -> Iterator[None]:
    """Let ``np.ndarray(n)`` make arrays that take traced values, in the modules of functions, inside a context."""
    namespaces = {id(namespace): namespace for namespace in map(_namespace, code)}
    for namespace in namespaces.values():
        _check(namespace)
    stand_in = ArrayType(is_intercepted)
    with _lock:
        for key, namespace in namespaces.items():
            _, count, before = _replaced.get(key, (namespace, 0, {}))
            if not count:
                before = {name: value for name, value in namespace.items() if value is np or value is np.ndarray}
                namespace.update({name: _Numpy(stand_in) if x is np else stand_in for name, x in before.items()})
            _replaced[key] = namespace, count + 1, before
    try:
        yield
    finally:
        with _lock:
            for key, namespace in namespaces.items():
                _, count, before = _replaced.pop(key)
                if count > 1:
                    _replaced[key] = namespace, count - 1, before
                else:
                    namespace.update(before)


def _namespace(code: Any) -> dict[str, Any]:
    """Return the names of the module that a function belongs to."""
    if isinstance(code, ModuleType):
        return vars(code)
    while not isinstance(code, FunctionType) and hasattr(code, "__wrapped__"):
        code = code.__wrapped__
    if not isinstance(code, FunctionType):
        raise TypeError(
            f"intercept: an argument is of type {type(code).__name__}; needed a function or a module whose code calls "
            "np.ndarray(n). Name the function that contains the call."
        )
    return code.__globals__


def _check(namespace: dict[str, Any]) -> None:
    """Refuse code that would notice the stand-in, as ``type(x) is np.ndarray`` does."""
    with _lock:
        before = _replaced.get(id(namespace), (namespace, 0, namespace))[2]
    modules = frozenset([name for name, value in before.items() if value is np])
    types = frozenset([name for name, value in before.items() if value is np.ndarray])
    for file in sorted(_files(namespace)):
        lines = linecache.getlines(file, namespace)
        if not lines:
            raise ValueError(
                f"intercept: the source of {file} is not there, which shows how the code uses np.ndarray. Call "
                "np.empty(n) in the code, or give its source file."
            )
        line = _other_use("".join(lines), modules, types)
        if line:
            raise ValueError(
                f"intercept: {file}:{line} uses NumPy's type of arrays, or NumPy, other than by calls and isinstance: "
                f"{lines[line - 1].strip()}. There, the function that stands for np.ndarray would be noticed. Call "
                "np.empty(n) in place of np.ndarray(n), and leave the argument of fg.intercept() out."
            )


def _files(namespace: dict[str, Any]) -> set[str]:
    """Return the files whose code uses a namespace. A notebook has one for each cell."""
    if namespace.get("__file__"):
        return {namespace["__file__"]}
    values = [*namespace.values()]
    values += [each for kind in values if isinstance(kind, type) for each in vars(kind).values()]
    return {inspect.getfile(x) for x in values if isinstance(x, FunctionType) and x.__globals__ is namespace}


# A context that is entered in each call reads the source once.
@functools.lru_cache(maxsize=256)
def _other_use(source: str, modules: frozenset[str], types: frozenset[str]) -> int:
    """Return the first line that uses NumPy or its type of arrays in a way that the stand-ins do not support, or 0."""
    known: set[ast.AST] = set()
    found: list[ast.Name | ast.Attribute] = []
    for node in ast.walk(ast.parse(source)):
        known.update(_supported(node, modules))
        if isinstance(node, ast.Name):
            found += [node] if node.id in modules | types else []
        elif isinstance(node, ast.Attribute) and node.attr == "ndarray" and isinstance(node.value, ast.Name):
            found += [node] if node.value.id in modules else []
    return min((node.lineno for node in found if node not in known), default=0)


def _supported(node: ast.AST, modules: frozenset[str]) -> Iterator[ast.AST]:
    """Yield the parts of an expression that may be a stand-in: what is called, checked, read from, or annotated."""
    if isinstance(node, ast.Call):
        # ``np(n)`` is no call that works, whatever ``np`` is.
        yield node.func
        if isinstance(node.func, ast.Name) and node.func.id in _CHECKS:
            for kind in node.args[1:]:
                yield from kind.elts if isinstance(kind, ast.Tuple) else [kind]
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
        yield from [node.value] if isinstance(node.value, ast.Name) and node.value.id in modules else []
    for note in (getattr(node, "annotation", None), getattr(node, "returns", None)):
        if isinstance(note, ast.AST):
            yield from ast.walk(note)
