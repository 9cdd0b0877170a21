"""Test modules of NumPy and SciPy whose calls and operators go through one function of ours.

The modules are changed as they are imported: ``f(x)`` becomes ``__own_call__(f, x)`` and ``a + b`` becomes
``__own_call__(operator.add, a, b)``. NumPy and SciPy themselves stay as they are, so what they call inside is not seen.
"""

from __future__ import annotations

import ast
import importlib.machinery
import operator
import sys
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

CALL = "__own_call__"
# Their results depend on the frame that calls them.
_BY_FRAME = {"super", "locals", "globals", "vars", "dir", "eval", "exec"}
_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow, ast.MatMult: operator.matmul,
    ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor, ast.LShift: operator.lshift,
    ast.RShift: operator.rshift, ast.UAdd: operator.pos, ast.USub: operator.neg, ast.Invert: operator.inv,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt,
    ast.GtE: operator.ge, ast.Subscript: operator.getitem,
}  # fmt: skip
OPERATORS = frozenset(_OPERATORS.values())
# The test modules, and modules of helpers that call the functions under test.
_HELPERS = ("scipy.special._testutils", "scipy.special._mptestutils", "scipy._lib._gcutils")


def is_test_module(name: str, path: str) -> bool:
    """Whether the calls of a module are recorded. Pytest may import a file of tests under its short name."""
    parts = Path(path).parts
    inside = "numpy" in parts or "scipy" in parts
    return name in _HELPERS or (inside and parts[-2] == "tests" and parts[-1].startswith("test_"))


class _Calls(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id in _BY_FRAME:
            return node
        return ast.copy_location(ast.Call(ast.Name(CALL, ast.Load()), [node.func, *node.args], node.keywords), node)

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return _operation(node, type(node.op), node.left, node.right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        if type(node.op) not in _OPERATORS or isinstance(node.operand, ast.Constant):
            return node
        return _operation(node, type(node.op), node.operand)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        if len(node.ops) > 1 or type(node.ops[0]) not in _OPERATORS:
            return node
        return _operation(node, type(node.ops[0]), node.left, node.comparators[0])

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or any(isinstance(each, ast.Starred) for each in ast.walk(node.slice)):
            return node
        return _operation(node, ast.Subscript, node.value, _index(node.slice))

    def visit_MatchValue(self, node: ast.MatchValue) -> ast.AST:
        return node


def _operation(node: ast.expr, kind: type[ast.AST], *operands: ast.expr) -> ast.AST:
    function = ast.Name(f"__own_{_OPERATORS[kind].__name__}__", ast.Load())
    return ast.copy_location(ast.Call(ast.Name(CALL, ast.Load()), [function, *operands], []), node)


def _index(node: ast.expr) -> ast.expr:
    """An index as an expression of its own: slices are calls of ``slice``."""
    if isinstance(node, ast.Tuple):
        return ast.copy_location(ast.Tuple([_index(each) for each in node.elts], ast.Load()), node)
    if isinstance(node, ast.Slice):
        ends = [each or ast.Constant(None) for each in (node.lower, node.upper, node.step)]
        return ast.copy_location(ast.Call(ast.Name("__own_slice__", ast.Load()), ends, []), node)
    return node


def rewritten(tree: ast.Module) -> ast.Module:
    """A module whose calls and operators go to ``__own_call__``."""
    return ast.fix_missing_locations(_Calls().visit(tree))


def names(called: Callable[..., Any]) -> dict[str, Any]:
    """The names that a changed module needs, for calls that go to ``called(f, *args, **kwargs)``."""
    return {CALL: called, "__own_slice__": slice, **{f"__own_{each.__name__}__": each for each in OPERATORS}}


class _Loader(importlib.machinery.SourceFileLoader):
    """Compiles a test module from its changed source; the plain module that Python keeps compiled is left alone."""

    called: Callable[..., Any]

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return compile(rewritten(ast.parse(self.get_data(path), path)), path, "exec", dont_inherit=True)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__.update(names(self.called))
        super().exec_module(module)


class _Finder(MetaPathFinder):
    def __init__(self, called: Callable[..., Any]) -> None:
        self._called = called

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if fullname not in _HELPERS and not fullname.rpartition(".")[2].startswith("test_"):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or not isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            return None
        if is_test_module(fullname, spec.loader.path):
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
            spec.loader.called = self._called
        return spec


def install(called: Callable[..., Any]) -> None:
    """From now on the calls in test modules go to ``called(f, *args, **kwargs)``."""
    sys.meta_path.insert(0, _Finder(called))
