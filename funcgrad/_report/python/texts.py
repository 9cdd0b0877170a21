"""Write values as source text: numbers, arrays, NumPy's functions, and the package's with all that they call."""

from __future__ import annotations

import ast
import base64
import builtins
import contextlib
import functools
import re
import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from funcgrad._core.aval import aval_of
from funcgrad._core.bind import Tracer, bind, untraced
from funcgrad._core.graph.ir import Graph
from funcgrad._core.lazy import LazyModule, load
from funcgrad._core.primitive import Primitive
from funcgrad._core.threads import each as each_of
from funcgrad._core.threads import together
from funcgrad._ops.index.plan import ArraySlot, Index
from funcgrad._ops.program.branch import Branches, While, cond_p, while_p
from funcgrad._ops.program.call import call_p
from funcgrad._ops.program.checkpoint import checkpoint_p
from funcgrad._ops.program.custom import custom_jvp_p, custom_vjp_p
from funcgrad._ops.program.effect import effect_p
from funcgrad._ops.program.scan import Loop, scan_p
from funcgrad._ops.program.tap import tap_p
from funcgrad._report.python import runtime
from funcgrad._report.python.definitions import class_definition, definition, names_read
from funcgrad._types import Value

# Longer arrays are written as bytes.
_SPELLED = 24
_MODULES = (
    "numpy",
    "numpy.linalg",
    "numpy.fft",
    "scipy.special",
    "scipy.linalg",
    "scipy.fft",
    "scipy.signal",
    "numpy.lib.stride_tricks",
    "contextlib",
)
_INSTEAD: dict[Any, Any] = {
    scan_p.numpy: runtime.scan,
    while_p.numpy: runtime.while_loop,
    cond_p.numpy: runtime.cond,
    call_p.numpy: runtime.call,
    checkpoint_p.numpy: runtime.call,
    custom_jvp_p.numpy: runtime.call,
    custom_vjp_p.numpy: runtime.call,
    each_of: runtime.each,
    together: runtime.together,
    aval_of: np.asarray,
    bind: runtime.bind,
    untraced: contextlib.nullcontext,
    Index: runtime.IndexEntries,
}
_UNREAD: dict[Any, str] = {call_p: "compiler", custom_jvp_p: "rule", custom_vjp_p: "rule"}


class RefusedError(Exception):
    """A value that cannot be written, described in a few words."""


class Texts:
    """The definitions that a file needs, in order, and the expressions that refer to them.

    Args:
        written: a function that writes a graph as a function of the file, and returns its name.
    """

    def __init__(self, written: Callable[[Graph, str], str]) -> None:
        self._written = written
        self.lines: list[str] = []
        self.imports: dict[str, None] = {}
        self._known: dict[int, tuple[Any, str]] = {}
        self._names: set[str] = set()

    def unread(self, graph: Graph) -> None:
        """Mark parameters that no result depends on; they need no text."""
        for equation in graph.equations:
            value = equation.params.get(_UNREAD.get(equation.primitive, ""))
            if value is not None:
                self._known[id(value)] = value, "None"

    def text(self, value: Value) -> str:
        """Return the expression of a value in the file."""
        if value is None or value is Ellipsis or isinstance(value, bool | str | int):
            return "..." if value is Ellipsis else repr(value)
        simple = _simple(value)
        if simple is not None:
            return simple
        if id(value) in self._known:
            return self._known[id(value)][1]
        if isinstance(value, tuple | list | slice | dict | frozenset | set):
            return self._container(value)
        made = self._made(value)
        return self._known.setdefault(id(value), (value, made))[1]

    def _container(self, value: Value) -> str:
        if isinstance(value, slice):
            return f"slice({self.text(value.start)}, {self.text(value.stop)}, {self.text(value.step)})"
        if isinstance(value, dict):
            return "{" + ", ".join(f"{self.text(key)}: {self.text(each)}" for key, each in value.items()) + "}"
        if isinstance(value, frozenset | set):
            return f"{type(value).__name__}([{', '.join(sorted(map(self.text, value)))}])"
        if isinstance(value, Loop):
            stacks = [(aval.shape, aval.dtype) for aval in value.avals[value.carry :]]
            return self._container((value.body, value.constants, value.carry, value.length, value.reverse, stacks))
        if isinstance(value, Branches):
            value = value[:2]
        if type(value) in (While, tuple, list):
            parts = "".join(f"{self.text(each)}, " for each in value)
            return f"[{parts}]" if isinstance(value, list) else f"({parts})"
        if hasattr(value, "_fields"):
            return f"{self._class(type(value))}({', '.join(map(self.text, value))})"
        raise RefusedError(f"a {type(value).__name__}")

    def _index(self, index: Index) -> str:
        return f"{self.text(Index)}({self.text(index.entries)}, {index.unique}, {index.windows})"

    def _made(self, value: Value) -> str:
        kinds: list[tuple[Any, Callable[[Any], str]]] = [
            (np.dtype, self._dtype),
            (np.ndarray, self._array),
            (Graph, lambda graph: self._define(graph)),
            (Primitive, lambda primitive: self.text(primitive.numpy)),
            (ModuleType, lambda module: self._imported(module.__name__)),
            (LazyModule, lambda module: self._imported(module.module_name)),
            (ArraySlot, lambda slot: self.text(runtime.SLOT)),
            (Index, self._index),
            (type(runtime.SLOT), lambda slot: self._constant("SLOT", "object()")),
            (type, self._type),
        ]
        for kind, made in kinds:
            # Every object is an instance of object, so only a value whose type is exactly object is the marker.
            if type(value) is kind if kind is object else isinstance(value, kind):
                return made(value)
        return self._function(value)

    def _dtype(self, value: np.dtype) -> str:
        if value.num >= 256:
            self.imports["import ml_dtypes"] = None
            return f"np.dtype(ml_dtypes.{value.name})"
        return f"np.dtype({value.name if value.isnative else value.str!r})"

    def _array(self, value: np.ndarray) -> str:
        if value.dtype.hasobject:
            raise RefusedError("an array of objects")
        dtype = self.text(value.dtype)
        if value.dtype.kind in "biuf" and value.dtype.num < 256 and 0 < value.size <= _SPELLED:
            items = re.sub(r"\b(nan|inf)\b", r"np.\1", repr(value.tolist()))
            plain = value.dtype in (np.dtype(float), np.dtype(int), np.dtype(bool))
            return f"np.array({items})" if plain else f"np.array({items}, {dtype})"
        order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
        data = base64.b85encode(value.tobytes(order)).decode()
        self.imports["import base64"] = None
        made = f"np.frombuffer(base64.b85decode({data!r}), {dtype}).reshape({value.shape}, order={order!r})"
        return self._constant("constant", f"{made}.copy({'K'!r})")

    def _type(self, value: type) -> str:
        if value is Tracer:
            # The file has no tracers, so an isinstance check against an empty tuple gives the same answer.
            return "()"
        if value.__module__ == "builtins":
            return value.__name__
        return self._public(value) or self._class(value)

    def _public(self, value: Value) -> str | None:
        """Return the name under which NumPy or SciPy exports it."""
        name, module_name = getattr(value, "__name__", ""), str(getattr(value, "__module__", ""))
        # Ufuncs have no module name; those of SciPy are all in scipy.special.
        rooms = ("numpy", "scipy.special") if isinstance(value, np.ufunc) else _MODULES
        for module in rooms:
            known = isinstance(value, np.ufunc) or module_name.split(".")[:1] == module.split(".")[:1]
            if known and getattr(load(module), name, None) is value:
                return f"{self._imported(module)}.{name}"
        if module_name in sys.stdlib_module_names and getattr(load(module_name), name, None) is value:
            return f"{self._imported(module_name)}.{name}"
        return None

    def _imported(self, module: str) -> str:
        if module == "numpy" or module.startswith("numpy."):
            return "np" + module.removeprefix("numpy")
        if module.startswith("scipy."):
            self.imports[f"import {module}"] = None
            return module
        if module == "ml_dtypes" or module.partition(".")[0] in sys.stdlib_module_names:
            self.imports[f"import {module}"] = None
            return module
        raise RefusedError(f"the module {module}")

    def _function(self, value: Value) -> str:
        value = _INSTEAD.get(value, value)
        if isinstance(value, functools.partial):
            self.imports["import functools"] = None
            given = [*map(self.text, value.args), *[f"{k}={self.text(v)}" for k, v in value.keywords.items()]]
            return f"functools.partial({', '.join([self.text(value.func), *given])})"
        value = getattr(value, "__wrapped__", value) if _is_wrapper(value) else value
        owner = getattr(value, "__self__", None)
        if isinstance(owner, np.ufunc):
            return f"{self.text(owner)}.{value.__name__}"
        public = self._public(value)
        if public is not None:
            return public
        if getattr(builtins, getattr(value, "__name__", ""), None) is value:
            return value.__name__
        if isinstance(value, FunctionType) and value.__module__.startswith("funcgrad.") and value not in _OUTSIDE:
            return self._defined(value)
        raise RefusedError(
            f"{getattr(value, '__module__', None) or ''}.{getattr(value, '__qualname__', repr(value))}".strip(".")
        )

    def _defined(self, function: FunctionType) -> str:
        """Return the name of one of the package's own functions, after writing it and all functions that it calls."""
        node = definition(function)
        if node is None:
            raise RefusedError(f"{function.__module__}.{function.__qualname__}, whose source was not found")
        hint = "function" if function.__name__ == "<lambda>" else function.__name__
        name = self._new(hint)
        # Assign the name before the function is written, because it may call itself.
        self._known[id(function)] = function, name
        try:
            read = [(each, self.text(x)) for each, x in names_read(node, function) if x is not function]
        except LookupError as error:
            raise RefusedError(f"{function.__module__}.{function.__qualname__}") from error
        if isinstance(node, ast.FunctionDef):
            _rename(node, name)
        text = ast.unparse(node)
        return self._placed(name, text if isinstance(node, ast.FunctionDef) else f"{name} = {text}", read)

    def _class(self, value: type) -> str:
        if issubclass(value, Exception):
            # The file does not have the class. Its base class does the same there.
            return next(base.__name__ for base in value.__mro__ if base.__module__ == "builtins")
        value = _INSTEAD.get(value, value)
        fields = getattr(value, "_fields", None)
        if not value.__module__.startswith("funcgrad.") or value.__bases__ not in ((object,), (tuple,)):
            raise RefusedError(f"the class {value.__module__}.{value.__qualname__}")
        name = self._new(value.__name__)
        node, read = class_definition(value)
        node.name = name
        if fields is not None:
            made = f"{self._imported('collections')}.namedtuple({value.__name__!r}, {fields!r})"
            node.bases = [ast.parse(made, mode="eval").body]
        return self._placed(name, ast.unparse(node), [(each, self.text(x)) for each, x in read if x is not value])

    def _placed(self, name: str, text: str, read: list[tuple[str, str]]) -> str:
        """Put a definition into the file, inside a function that binds the names it reads."""
        if all(each == other for each, other in read):
            self.lines.append(text)
        else:
            head = f"def _make{name}({', '.join(each for each, _ in read)}):"
            self.lines.append(f"{head}\n{_indented(text)}\n    return {name}")
            self.lines.append(f"{name} = _make{name}({', '.join(other for _, other in read)})")
        return name

    def _constant(self, hint: str, text: str) -> str:
        name = self._new(hint)
        self.lines.append(f"{name} = {text}")
        return name

    def _define(self, graph: Graph) -> str:
        """Write a graph as a function, and return its name."""
        name = self._new(graph.name)
        self.lines.append(self._written(graph, name))
        return name

    def taken(self, name: str) -> None:
        """Reserve a name."""
        self._names.add(name)

    def _new(self, hint: str) -> str:
        """Return an unused name; all new names begin with an underscore."""
        base = "_" + re.sub(r"\W+", "_", hint).strip("_")
        name, count = base, 1
        while name in self._names:
            count += 1
            name = f"{base}_{count}"
        self._names.add(name)
        return name


# Primitives that call Python from a program, or mark it, are not part of the program.
_OUTSIDE = (effect_p.numpy, tap_p.numpy)


def _rename(node: ast.FunctionDef, name: str) -> None:
    """Rename a function, also in its recursive calls."""
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and each.id == node.name:
            each.id = name
    node.name = name


def _is_wrapper(function: Any) -> bool:
    """Return whether a function caches another function's results or runs it in a context.

    The file needs only the other one.
    """
    code = getattr(function, "__code__", None)
    return hasattr(function, "cache_info") or (code is not None and code.co_filename == contextlib.__file__)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else "" for line in text.split("\n"))


def _simple(value: Value) -> str | None:
    """Return a number's text; ``None`` for any other value."""
    kind = f"np.{value.dtype.name}" if issubclass(type(value), np.generic) else ""
    if issubclass(type(value), np.bool_):
        return f"np.bool_({bool(value)})"
    if isinstance(value, np.integer):
        return f"{kind}({int(value)})"
    if issubclass(type(value), float) or (issubclass(type(value), np.floating) and value.dtype.itemsize <= 8):
        return f"{kind}({_float(float(value))})" if kind else _float(float(value))
    if issubclass(type(value), complex) or (issubclass(type(value), np.complexfloating) and value.dtype.itemsize <= 16):
        parts = f"complex({_float(float(value.real))}, {_float(float(value.imag))})"
        return f"{kind}({parts})" if kind else parts
    return None


def _float(value: float) -> str:
    text = repr(value)
    return text if text not in ("nan", "inf", "-inf") else f"float({text!r})"
