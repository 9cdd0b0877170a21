"""Find the definitions of functions in their source files, without annotations and docstrings."""

from __future__ import annotations

import ast
import builtins
import functools
import inspect
import sys
from collections.abc import Iterator
from types import FunctionType
from typing import Any

Node = ast.FunctionDef | ast.Lambda


@functools.cache
def _module(name: str) -> ast.Module:
    return ast.parse(inspect.getsource(sys.modules[name]))


def definition(function: FunctionType) -> Node | None:
    """Return the function's node in the source of its module, without annotations; ``None`` if it is not found."""
    code = function.__code__
    # A public function has the name of the module that exports it, which is not the module that defines it.
    nodes = ast.walk(_module(function.__globals__["__name__"]))
    if code.co_name != "<lambda>":
        for node in nodes:
            if isinstance(node, ast.FunctionDef) and node.name == code.co_name and _first(node) == code.co_firstlineno:
                return _Bare().visit(ast.parse(ast.unparse(node)).body[0])
        return None
    found = [node for node in nodes if isinstance(node, ast.Lambda) and node.lineno == code.co_firstlineno]
    if len(found) > 1:
        # If several functions are on one line, choose the one that contains an instruction of this code.
        places = set(code.co_positions())
        found = [node for node in found if _place(node.body) in places]
    return _Bare().visit(ast.parse(ast.unparse(found[0]), mode="eval").body) if len(found) == 1 else None


def _first(node: ast.FunctionDef) -> int:
    return min([node.lineno, *[each.lineno for each in node.decorator_list]])


def _place(node: ast.expr) -> tuple[Any, ...]:
    return node.lineno, node.end_lineno, node.col_offset, node.end_col_offset


class _Bare(ast.NodeTransformer):
    """Removes annotations, docstrings and decorators."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        self.generic_visit(node)
        return node if node.value is None else ast.Assign([node.target], node.value, lineno=node.lineno)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.body = [each for each in node.body if not isinstance(each, ast.Expr)]
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        node.returns = None
        node.decorator_list = [each for each in node.decorator_list if ast.unparse(each) == "property"]
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            node.body = node.body[1:] or [ast.Pass()]
        return node


def names_read(node: ast.AST, function: FunctionType) -> Iterator[tuple[str, Any]]:
    """Return the names that a function reads from its globals and its closure, with their values."""
    closure = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    found = {each.id: None for each in ast.walk(node) if isinstance(each, ast.Name)}
    bound = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    bound |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    bound |= {str(each.name) for each in ast.walk(node) if isinstance(each, ast.FunctionDef | ast.ExceptHandler)}
    for name in found:
        if name in closure:
            yield name, closure[name].cell_contents
        elif name not in bound and name in function.__globals__:
            yield name, function.__globals__[name]
        elif name not in bound and not hasattr(builtins, name) and name != function.__name__:
            raise LookupError(name)


def class_definition(kind: type) -> tuple[ast.ClassDef, list[tuple[str, Any]]]:
    """Return the same for a class at the top of a module: its methods, and the names they read."""
    # A public class has the name of the module that exports it. Its methods have the name of the defining module.
    functions = [each for each in vars(kind).values() if isinstance(each, FunctionType)]
    homes = [each.__globals__["__name__"] for each in functions if each.__module__.startswith("funcgrad.")]
    body = _module((homes or [kind.__module__])[0]).body
    found = next(each for each in body if isinstance(each, ast.ClassDef) and each.name == kind.__name__)
    node: ast.ClassDef = _Bare().visit(ast.parse(ast.unparse(found)).body[0])
    methods = {each.name: each for each in node.body if isinstance(each, ast.FunctionDef)}
    node.body, node.bases = [*methods.values()] or [ast.Pass()], []
    read: dict[str, Any] = {}
    for each in vars(kind).values():
        method = getattr(each, "fget", each)
        if isinstance(method, FunctionType) and method.__name__ in methods:
            read.update(names_read(methods[method.__name__], method))
    return node, list(read.items())
